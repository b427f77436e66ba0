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


def text(setting: Setting, parts: Sequence[str]) -> str:
    """The report, from the results that there are."""
    modules = [import_module(part) for part in parts if setting.read(part)]
    pieces = [
        HEAD.format(version=gs.__version__),
        "## At a glance",
        printed_rates.glance(setting),
        "\n".join(f"- **{one.TITLE}:** {one.summary(setting)}" for one in modules if hasattr(one, "summary")),
        *(module.report(setting) for module in modules),
        printed_rates.section(setting),
    ]
    return "\n\n".join(piece.strip() for piece in pieces) + "\n"


def write_report(setting: Setting, parts: Sequence[str]) -> Path:
    """Write it."""
    path = setting.folder / "REPORT.md"
    path.write_text(text(setting, parts), encoding="utf-8", newline="\n")
    return path
