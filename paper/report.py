"""REPORT.md: what the paper prints, what we find, and why they differ."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import printed_rates
from setting import Setting

import goodstein as gs

HEAD = """\
# The paper, reproduced and corrected

W. Xu, *Standardisation-function Kernel Stein Discrepancy: A Unifying View on Kernel Stein Discrepancy
Tests for Goodness-of-fit*, AISTATS 2022. Every table, figure and data set of the paper, run again with
goodstein {version}; `make paper` writes this file. The numbers are in `results/`, what is printed in
`published.csv`.
"""

READING = """\
## How to read the tables

A *trial* is a new data set of n observations. *Size* is the share of trials with data from the null model
that a test rejects, *power* the share with data from the alternative; the level is .01 unless another is
named. *Most possible*, or the *bound*, is the power of the likelihood-ratio test that knows both laws: by
Neyman and Pearson no test of that level has more.

| test | what it is |
| --- | --- |
| bd-KSD(g) | the paper's test with the auxiliary function g: Gaussian kernel at the median distance, wild \
bootstrap with 999 draws |
| bd-KSD(p=…) | the same with g = 1 − ‖x‖ᵖ, in the unit ball |
| g1, g2 (also g⁽¹⁾, g⁽²⁾) | in the ball p = 1 and p = 2; on the simplex the geometric mean of the parts and \
the distance to the nearest face; in Chicago g2 is the distance to the boundary |
| MMD | the data against as many draws of the model, Gaussian kernel at the median, permutations |
| M3D | moderated MMD; the paper does not give its grid of regularisations, this is goodstein's; the null \
distribution is simulated |
| MSD | mirrored Stein discrepancy with the entropy, on the simplex |
| as coded | what the code in the paper's published supplement computes |
| goodstein default | `gs.ksd_test` without options: inverse multiquadric kernel, the domain's own operator \
(log-ratio coordinates on the simplex) |
| goodstein aggregated | `gs.aggregated_test` without options: many kernels and operators, some of which \
compare the data with draws of the model, at one level |

A printed rate is *reproduced* if it and ours differ by no more than three standard errors, *impossible as
printed* if it exceeds the bound by more than three standard errors of its trials, and otherwise *differs*.
(Of a hundred comparisons of equal rates about 0.3 would differ by so much.)
What the paper says without numbers is put into our own words, in italics.
"""


def text(setting: Setting, parts: Sequence[str]) -> str:
    """The report, from the results that there are."""
    modules = [import_module(part) for part in parts if setting.read(part)]
    pieces = [
        HEAD.format(version=gs.__version__),
        "## At a glance",
        printed_rates.glance(setting),
        "\n".join(f"- **{one.TITLE}:** {one.summary(setting)}" for one in modules if hasattr(one, "summary")),
        READING,
        *(module.report(setting) for module in modules),
        printed_rates.section(setting),
    ]
    return "\n\n".join(piece.strip() for piece in pieces) + "\n"


def write_report(setting: Setting, parts: Sequence[str]) -> Path:
    """Write it."""
    path = setting.folder / "REPORT.md"
    path.write_text(text(setting, parts), encoding="utf-8", newline="\n")
    return path
