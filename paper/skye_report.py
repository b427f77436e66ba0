"""What the report says of the Skye lavas."""

from __future__ import annotations

import numpy as np
from setting import Row, Setting
from skye import (
    CELLS,
    FAMILIES,
    FITTED,
    JITTER,
    KNOWN,
    LAVAS,
    LEVEL,
    LOGISTIC,
    OWN,
    PART,
    QUANTILES,
    QUESTIONS,
    REPEATED,
    ROWS,
    SMOOTH,
    SPLITS,
    TITLE,
    TWELVE,
    published_pvalue,
)
from skye_estimates import MAIN, TESTS
from verdicts import DIFFERS, REPRODUCED, rate
from writing import figure, table

from goodstein.power.rates import wilson

Array = np.ndarray


def rejected(row: Row) -> float:
    """How often a test of level .05 rejects."""
    return row["power"] if row["size"] is None else row["size"]


def summary(setting: Setting) -> str:
    """What the head of the report says."""
    rows = setting.read(PART)
    found = {(row["cell"], row["test"]): row for row in rows}
    lavas, data, again = found[LAVAS, MAIN], found[LOGISTIC, MAIN], found[REPEATED, MAIN]
    return (
        f"p = {published_pvalue():.3f} is printed for one split; over {lavas['trials']} random splits the "
        f"median is {lavas['quantile_0.5']:.2f}, and {lavas['below_004']:.1%} are as small. At level .05 "
        f"the procedure rejects {rejected(lavas):.0%} of splits of the lavas and {rejected(data):.0%} "
        "of samples of a logistic normal fitted to them, among which the lavas are "
        f"{'' if again['pvalue'] <= 0.05 else 'not '}unusual (p = {again['pvalue']:.2f}). "
        f"{_families_said(rows)}"
    )


CONSISTENT = 0.025
"""A split with a p-value that fewer splits than this reach would be no ordinary one."""


def report(setting: Setting) -> str:
    rows = setting.read(PART)
    found = {(row["cell"], row["test"]): row for row in rows}
    return "\n\n".join(
        [
            f"## {TITLE}",
            "**The paper** fits a Gaussian kernel density estimate to half of the 23 compositions (A: "
            "alkalis Na₂O + K₂O, there printed Na₂ + K₂O; F: iron as Fe₂O₃; M: MgO), tests it "
            "on the other half with the distance to the nearest face as g, reports p = "
            f"{published_pvalue():.3f} and concludes that the fit is not good enough. Which split, which "
            "bandwidth matrix and which coordinates are not said. (Its published code estimates a "
            "p-value as a share of 500 draws; .004 is 2 of 500.)",
            _setup_text(found),
            figure(
                "skye_triangles",
                "Left: the first split; contours of the smallest regions with 50 % (thick) and 90 % "
                "(thin) of the mass of the density estimated from the 11 filled points, in the plane of "
                "the triangle and in log-ratios. Right: the two families fitted to all 23.",
            ),
            "### One split decides nothing",
            _splits_table(found),
            _splits_text(found),
            "### What the procedure does when nothing is wrong",
            _level_table(found),
            _level_text(found),
            figure(
                "skye_pvalues",
                "Distribution functions of the p-values. On the grey curve a test has its level at every "
                "level.",
            ),
            "### Better questions",
            _family_table(rows),
            _family_text(rows),
        ]
    )


def _setup_text(found: dict[tuple[str, str], Row]) -> str:
    return (
        f"**Here** a random {FITTED} of the 23 are fitted and the other {ROWS - FITTED} tested, in "
        f"{found[LAVAS, MAIN]['trials']} random splits, with a Gaussian kernel at the median and the wild "
        "bootstrap. The reference that the paper gives for its estimate (Chacón, Duong & Wand 2011) has a "
        "full bandwidth matrix in closed form, the normal-scale one; for a density in two dimensions it "
        "is exactly SciPy's `gaussian_kde` (Scott's and Silverman's rules coincide there), and for its "
        "gradient, which is what a score needs, it has another constant and power of n. Beside these two "
        "stands likelihood cross-validation over all full matrices. Plug-in selectors of full matrices "
        "are in R's ks and, as far as we know, in no Python library; the cross-validation of statsmodels "
        "is over diagonal matrices only. *Plane*: the estimate lives in the plane of the triangle and is "
        "cut off at its edge, which leaves the score as it is. (Other affine coordinates, such as two of "
        "the three parts, give the same estimate, because these selectors are affine equivariant.) "
        "*Log-ratios*: estimate and test in isometric log-ratio coordinates, which have no edge. *As "
        "coded*: derivatives in all three parts and the p-value of the published code."
    )


def _splits_table(found: dict[tuple[str, str], Row]) -> str:
    header = [
        "estimate and test",
        "5 %",
        "25 %",
        "median",
        "75 %",
        "95 %",
        "p ≤ .05",
        "p ≤ .004",
        "printed .004",
    ]
    lines = []
    for cell in (LAVAS, TWELVE, JITTER):
        for test in CELLS[cell]:
            row = found[cell, test]
            name = test if cell == LAVAS else f"{test}: {cell.split(', ')[1]}"
            lines.append(
                [
                    name,
                    *(rate(row[f"quantile_{q:g}"]) for q in QUANTILES),
                    f"{rejected(row):.1%}",
                    f"{row['below_004']:.1%}",
                    _verdict(row),
                ]
            )
    return table(header, lines)


def _verdict(row: Row) -> str:
    if row["below_004"] >= CONSISTENT:
        return REPRODUCED
    return DIFFERS if wilson(row["below_004"], row["trials"])[1] < CONSISTENT else "borderline"


def _splits_text(found: dict[tuple[str, str], Row]) -> str:
    row = found[LAVAS, MAIN]
    return (
        "Quantiles of the p-values over random splits of the same 23 rows. The printed .004 counts as "
        f"reproduced if {CONSISTENT:.1%} of splits or more reach it, and as borderline if fewer do but the "
        f"95 % interval of that share contains {CONSISTENT:.1%}. With the same data, estimate and test a "
        f"split can give {rate(row['quantile_0.05'])} or {rate(row['quantile_0.95'])}; half are above "
        f"{rate(row['quantile_0.5'], 2)}. If 12 are fitted and 11 tested, "
        f"{rejected(found[TWELVE, MAIN]):.1%} of splits reject at level .05; if the rounding to whole "
        f"per cents is undone by uniform noise, {rejected(found[JITTER, MAIN]):.1%}. All 23 rows are "
        "distinct, although many share a value in one part."
    )


LEVELS = {
    LAVAS: "the lavas",
    LOGISTIC: "a logistic normal, fitted to the lavas",
    SMOOTH: "the plane's density estimate of all 23",
    OWN: "the very estimate that is tested",
    KNOWN: "a logistic normal, which is tested itself",
}


def _level_table(found: dict[tuple[str, str], Row]) -> str:
    names = ["data", *TESTS]
    lines = []
    for cell, name in LEVELS.items():
        line = [name]
        for test in TESTS:
            row = found.get((cell, test))
            line.append("–" if row is None else f"{rejected(row):.3f} ({row['below_004']:.3f})")
        lines.append(line)
    note = (
        "*Share of p-values ≤ .05 (≤ .004), in as many samples or splits as above. In the first three lines "
        "the estimate is of 11 rows and tested on the other 12.*"
    )
    return f"{table(names, lines)}\n\n{note}"


def _level_text(found: dict[tuple[str, str], Row]) -> str:
    own, data, known_ = found[OWN, MAIN], found[LOGISTIC, MAIN], found[KNOWN, MAIN]
    lavas, again = found[LAVAS, MAIN], found[REPEATED, MAIN]
    kept = max(own["lower"], known_["lower"]) <= LEVEL
    coded = found[OWN, "plane, normal scale, as coded"]
    special = again["pvalue"] <= 0.05
    if special:
        end = "So the lavas fit worse than samples of that law do."
    else:
        end = (
            "A small p-value here says that 11 points are few for a density estimate, of draws from a "
            "smooth law as of the lavas; it does not set the lavas apart."
        )
    return "\n\n".join(
        [
            f"**The test {'keeps' if kept else 'exceeds'} its level with 12 observations**: of draws from "
            f"the very estimate that is tested it rejects {rejected(own):.1%} at level .05, of draws from "
            f"a known logistic normal {rejected(known_):.1%}. (As coded it rejects "
            f"{rejected(coded):.1%} of the draws from its own model.)",
            "**The procedure has no level to keep.** Its null hypothesis, that half the data come from a "
            "density estimate of the other half, is false whatever the data: an estimate from 11 points is "
            "not the law they come from. When 23 draws of a logistic normal are treated like the lavas, "
            f"{rejected(data):.1%} of the tests reject at level .05 and {data['below_004']:.1%} give .004 "
            f"or less; for the lavas it is {rejected(lavas):.1%} and {lavas['below_004']:.1%}.",
            "**The conclusion that the estimate does not fit well enough: "
            f"{REPRODUCED if special else DIFFERS}.** Of {again['trials']} such simulated samples, each "
            f"split {SPLITS} times, the share of splits with p ≤ .05 ranges from "
            f"{again['quantile_0.05']:.3f} to {again['quantile_0.95']:.3f} (5 % and 95 % quantiles); for "
            f"as many splits of the lavas it is {again['lavas']:.3f}. By the mean p-value over the "
            f"splits the lavas are {'' if special else 'not '}unusual among them (p = "
            f"{again['pvalue']:.2f}). {end}",
        ]
    )


def _family_rows(rows: list[Row]) -> dict[tuple[str, str], Row]:
    return {
        (row["cell"].removeprefix("all 23, "), row["test"]): row
        for row in rows
        if row["cell"].startswith("all 23, ")
    }


def _family_table(rows: list[Row]) -> str:
    found = _family_rows(rows)
    lines = [[name, *(rate(found[name, test]["pvalue"]) for test in QUESTIONS)] for name in FAMILIES]
    return table(["family, fitted to all 23", *QUESTIONS], lines)


def _families_said(rows: list[Row]) -> str:
    """Which families the tests on all 23 lavas refute."""
    found = _family_rows(rows)
    refuted = [name for name in FAMILIES if all(found[name, test]["pvalue"] <= 0.05 for test in QUESTIONS)]
    kept = [name for name in FAMILIES if all(found[name, test]["pvalue"] > 0.05 for test in QUESTIONS)]
    unclear = [name for name in FAMILIES if name not in refuted + kept]
    said = []
    if refuted:
        said.append(f"all tests refute the {' and the '.join(refuted)} family at level .05")
    if kept:
        said.append(f"no test speaks against the {' or the '.join(kept)} family")
    if unclear:
        said.append(f"the tests disagree on the {' and the '.join(unclear)} family")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}."


def _family_text(rows: list[Row]) -> str:
    draws = next(iter(_family_rows(rows).values()))["trials"]
    return (
        "Does a family of laws describe the lavas? That question uses all 23 rows and has a null "
        f"hypothesis that can be true; the parametric bootstrap ({draws} samples, each fitted anew) "
        f"calibrates it; the table has its p-values. {_families_said(rows)} The lavas lie along a band "
        "that is bent in the triangle, where the fitted Dirichlet law has convex contours, and straight in "
        "log-ratios. The data are rounded to whole per cents and "
        "the models are not; with parts of 4 % and more that is a small error beside the spread of the "
        "data."
    )
