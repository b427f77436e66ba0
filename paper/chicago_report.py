"""What chicago.py has measured: its section of the report."""

from __future__ import annotations

import numpy as np
from chicago import (
    AGGREGATED,
    ALL_2020,
    BY_EM,
    DISTINCT,
    FLOOR,
    LIKE_2020,
    MEDIAN,
    PART,
    PART_2020,
    PUBLISHED,
    SCALES,
    SOURCES,
    TESTS,
    TIES,
    TITLE,
    TWENTY,
    TWO,
    YEAR,
)
from chicago_figures import mapped
from setting import Row, Setting
from verdicts import DIFFERS, REPRODUCED, printed
from writing import figure, table


def report(setting: Setting) -> str:
    rows = setting.read(PART)
    checks = {
        (row["case"], row["law_of"], row["model"], row["test"], row["n"]): row
        for row in setting.read(f"{PART}_checks")
    }
    two, twenty = (printed(PART, model, MEDIAN) for model in (TWO, TWENTY))
    data, _ = mapped(setting)
    sections = [
        f"## {TITLE}",
        "**The paper** takes robberies of 2020 from the City's portal, fits Gaussian mixtures to one "
        "half by truncated score matching with g the distance to the boundary, tests them on the other "
        f"half with the same g, and reports p = {two.value:g} for 2 components, an inadequate fit, and "
        f"p = {twenty.value:g} for 20, in its view a good one. How many rows, which boundary, "
        "coordinates, covariances, starts and bandwidth, and which split, is not said.",
        "**Here** locations and boundary are projected to a plane in kilometres by "
        "`gs.datasets.crime_locations` (a degree of longitude is shorter than one of latitude); "
        f"components are spherical with a scale of at least {FLOOR:g} km, because the objective "
        "has no lower bound as a component shrinks onto an observation; the best of three starts counts; the "
        "test is the paper's, with a Gaussian kernel at the median and the wild bootstrap. goodstein's "
        "default test (another kernel, the same g) and its aggregated test, which also compares the data "
        "with draws of the model, stand beside it.",
        _data_table(setting.read(f"{PART}_data")),
        "**It is not the same extract.** The portal cannot be asked for what it said in 2021: cases are "
        f"added and reclassified. We have a part of 2020, {_rows_of(setting, PART_2020)} of about {ALL_2020} "
        "robberies, nearly complete in three blocks of days; and public copies of the whole years 2016 "
        "and 2017. Thinned at random to as many as there were in 2020, the year 2017 is the best "
        "stand-in for what the paper had. A reader with the City's export can put it at "
        f"`chicago/{SOURCES['2020, whole year'].file}` and run `make paper` again.",
        figure(
            f"{PART}_map",
            f"{data}, first split. Left: the densities fitted to one half, and the points of the other. "
            "Right: where they fail, in squares of 2 km: orange holds more robberies than the model "
            "says, purple fewer.",
        ),
        "### The printed p-values, over many splits",
        _pvalue_table(rows),
        _verdict(rows),
        figure(
            f"{PART}_pvalues",
            "Every split is a point. Dashed: the printed value. The thin line is .05; the least possible "
            "p-values are .001 and, for the aggregated test, .0005.",
        ),
    ]
    if checks:
        sections += ["### What such a p-value means", _check_table(checks), _check_text(rows, checks)]
    if any(row["data"] == YEAR for row in rows):
        sections += [
            "### How many observations it takes",
            figure(
                f"{PART}_sizes",
                "p-values of parts of the test half of 2017; the fit is to the whole other half.",
            ),
            _size_text(rows),
            "### What was chosen, chosen otherwise",
            _choice_table(rows),
            _choice_text(rows, setting.read(f"{PART}_data")),
        ]
    return "\n\n".join(sections)


def _rows_of(setting: Setting, data: str) -> int:
    return next(row["rows"] for row in setting.read(f"{PART}_data") if row["data"] == data)


def _data_table(rows: list[Row]) -> str:
    header = [
        "data",
        "rows",
        "without a location",
        "outside the boundary",
        "used",
        "different locations",
        "points that share theirs",
    ]
    keys = ("unlocated", "outside", "locations", "distinct", "tied")
    lines = [[row["data"], row["rows"], *(row[key] for key in keys)] for row in rows]
    note = (
        f"The region is the largest part of the city's boundary, {rows[0]['area']:.1f} km². What lies "
        "outside does so by centimetres: the border runs along streets."
    )
    return f"{table(header, lines)}\n\n{note}"


def whole(rows: list[Row], data: str, model: str, test: str = MEDIAN, ties: str = PUBLISHED) -> Row | None:
    """The row of all observations of the test half."""
    here = [
        row
        for row in rows
        if (row["data"], row["model"], row["test"], row["ties"]) == (data, model, test, ties)
    ]
    return max(here, key=lambda row: row["n"]) if here else None


def _three(row: Row) -> str:
    return f"{_p(row['least'])} / {_p(row['median'])} / {_p(row['most'])}"


def _p(value: float) -> str:
    return f"{value:.4f}" if value < 0.001 else f"{value:.3f}"


def _pvalue_table(rows: list[Row]) -> str:
    header = ["data", "model", "n tested", "splits", "printed", *TESTS, f"{MEDIAN} ≤ .05", "gain"]
    lines = []
    for data in SOURCES:
        for model in (TWO, TWENTY, BY_EM):
            main = whole(rows, data, model)
            if main is None:
                continue
            entry = printed(PART, model, MEDIAN)
            others = [whole(rows, data, model, test) for test in TESTS]
            lines.append(
                [
                    data,
                    model,
                    main["n"],
                    main["splits"],
                    "–" if entry is None else f"{entry.value:.3f}",
                    *("–" if row is None else _three(row) for row in others),
                    f"{main['below_05']:.0%}",
                    f"{main['gain']:+.2f}",
                ]
            )
    note = (
        "p-values: *least / median / largest* over splits (fewer for the aggregated test). *Gain*: mean "
        "log density of the points that were not fitted, above that of the uniform law; median over "
        "splits. *By EM*: the likelihood of an untruncated mixture with full covariances "
        "(`GaussianMixture.fit`), then truncated."
    )
    return f"{table(header, lines)}\n\n{note}"


def judged(rows: list[Row], model: str) -> tuple[str, Row]:
    """Whether a split of as many data as the paper's can give what is printed."""
    row = whole(rows, LIKE_2020, model) or whole(rows, PART_2020, model)
    if row["data"] != LIKE_2020:
        return "not measured in this run", row
    inside = row["least"] <= printed(PART, model, MEDIAN).value <= row["most"]
    return (REPRODUCED if inside else DIFFERS), row


def _verdict(rows: list[Row]) -> str:
    found = []
    for model in (TWO, TWENTY):
        if whole(rows, PART_2020, model) is None:
            continue
        verdict, row = judged(rows, model)
        many = "one split gives" if row["splits"] == 1 else f"{row['splits']} splits give"
        found.append(
            f"**{model}: {verdict}.** Printed {printed(PART, model, MEDIAN).value:g}; with {row['n']} "
            f"tested observations ({row['data']}) {many} {_p(row['least'])} to {_p(row['most'])}, median "
            f"{_p(row['median'])}."
        )
    found.append(
        "*Reproduced* means here no more than that the printed value lies within the range of the splits."
    )
    return " ".join(found)


def summary(setting: Setting) -> str:
    """One line for the top of the report."""
    rows, said = setting.read(PART), []
    for model in (TWO, TWENTY):
        if whole(rows, PART_2020, model) is None:
            continue
        verdict, row = judged(rows, model)
        said.append(
            f"p = {printed(PART, model, MEDIAN).value:g} for {model}: {verdict}, {row['splits']} splits of "
            f"other data ({row['data']}) give {_p(row['least'])} to {_p(row['most'])}"
        )
    checks = [
        row["rejected"]
        for row in setting.read(f"{PART}_checks")
        if row["case"] == "refitted" and row["fitted"] == row["n"] and row["test"] == MEDIAN
    ]
    if checks:
        said.append(
            "with half fitted and half tested, a mixture with the right number of components is rejected at "
            f"level .05 in {min(checks):.0%} to {max(checks):.0%} of simulated samples"
        )
    return "; ".join(said) + "."


def _check_table(checks: dict[tuple[str, ...], Row]) -> str:
    header = ["tested", "draws of the law fitted to", "fitted", "tested on", "repetitions", *TESTS]
    lines = []
    cases = dict.fromkeys((case, data, model, n) for case, data, model, _, n in checks if case != "family")
    for case, data, model, n in cases:
        here = [checks[case, data, model, test, n] for test in TESTS]
        name = "the law itself" if case == "known" else f"{model}, fitted"
        lines.append(
            [
                name,
                data,
                here[0]["fitted"] or "–",
                n,
                here[0]["repetitions"],
                *(f"{row['rejected']:.2f} ({row['lower']:.2f}–{row['upper']:.2f})" for row in here),
            ]
        )
    note = (
        "Rejections at level .05, with 95 % intervals. The data are drawn from a mixture with as many "
        "components as the one that is fitted, so nothing is wrong with the model."
    )
    return f"{table(header, lines)}\n\n{note}"


def _check_text(rows: list[Row], checks: dict[tuple[str, ...], Row]) -> str:
    right = [row for row in checks.values() if row["case"] == "refitted" and row["fitted"] == row["n"]]
    tenth = [
        f"{row['rejected']:.0%} ({row['model']})"
        for row in checks.values()
        if row["case"] == "refitted" and row["fitted"] != row["n"] and row["test"] == MEDIAN
    ]
    half = {(row["law_of"], row["model"]): row for row in right if row["test"] == MEDIAN}
    drawn = [row["rejected"] for row in right if row["test"] == AGGREGATED]
    size = [row["rejected"] for row in checks.values() if row["case"] == "known"]
    two, twenty = (whole(rows, LIKE_2020, model) for model in (TWO, TWENTY))
    small = {model: whole(rows, PART_2020, model) for model in (TWO, TWENTY)}
    alike = half[YEAR, TWENTY]["lower"] <= twenty["below_05"] <= half[YEAR, TWENTY]["upper"]
    return "\n\n".join(
        [
            "**The tests keep their level** when the model is known: "
            f"{min(size):.2f}–{max(size):.2f} at .05. But a fitted law is an estimate, not the law of the "
            "data, and a test with as many "
            "observations as the fit sees the difference: with half fitted and half tested, a model *of "
            f"the right kind* is rejected at level .05 in {half[PART_2020, TWO]['rejected']:.0%} (2 "
            f"components) and {half[PART_2020, TWENTY]['rejected']:.0%} (20) of samples as large as the "
            f"part of 2020, and in {half[YEAR, TWO]['rejected']:.0%} and "
            f"{half[YEAR, TWENTY]['rejected']:.0%} of samples as large as the whole year 2020 (only "
            f"{half[YEAR, TWENTY]['repetitions']} of them: see the intervals). The p-value of "
            "a split is a statement about one fitted law, not about mixtures of so many components. Nine "
            f"parts fitted and one tested bring the rate to {' and '.join(tenth)}, at the price of power.",
            f"**What remains.** The rejection of 2 components stands: of {half[YEAR, TWO]['repetitions']} "
            "samples for which 2 components are right the smallest p-value is "
            f"{_p(half[YEAR, TWO]['least'])}, while {two['splits']} splits of the data give at most "
            f"{_p(two['most'])}. 20 components are rejected in {twenty['below_05']:.0%} of splits, which "
            f"{'cannot be told from' if alike else 'differs from'} the "
            f"{half[YEAR, TWENTY]['rejected']:.0%} of {half[YEAR, TWENTY]['repetitions']} samples for which "
            f"they are right{ALIKE if alike else ''}. A better question is whether *any* mixture of so "
            "many components fits, by the parametric bootstrap with every sample fitted anew; for all "
            "locations of the part of 2020: "
            + "; ".join(
                f"p = {_p(row['least'])} for {row['model']} ({row['draws']} draws)"
                for row in checks.values()
                if row["case"] == "family"
            )
            + ".",
            "**A large p-value is not a good fit.** In the part of 2020, 20 components have larger "
            f"p-values than 2 (median {_p(small[TWENTY]['median'])} against {_p(small[TWO]['median'])}) "
            "and describe new points worse: their gain over the uniform law is "
            f"{small[TWENTY]['gain']:+.2f} against {small[TWO]['gain']:+.2f}. Score matching hardly sees "
            "how much mass lies in components that are apart, and neither does a Stein test; a "
            "comparison with draws does. The aggregated test, which has both, rejects the fits by score "
            f"matching nearly always, here and in {min(drawn):.0%} to {max(drawn):.0%} of the samples for "
            "which the model is right. 20 components by EM, with full covariances, have the largest gain "
            "in the whole year, though in few splits: see the table above.",
        ]
    )


ALIKE = ": neither .162 nor a value below .05 speaks for or against 20 components"


def _mean(rows: list[Row], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))


def _size_text(rows: list[Row]) -> str:
    found = []
    for model in (TWO, TWENTY):
        for test in (MEDIAN, AGGREGATED):
            here = sorted(
                (
                    row
                    for row in rows
                    if (row["data"], row["model"], row["test"], row["ties"]) == (YEAR, model, test, PUBLISHED)
                ),
                key=lambda row: row["n"],
            )
            shares = ", ".join(f"{row['below_05']:.0%} of {row['splits']} at n = {row['n']}" for row in here)
            found.append(f"- {model}, {test}: {shares}")
    return "Splits with p ≤ .05:\n\n" + "\n".join(found)


def _choice_table(rows: list[Row]) -> str:
    header = [
        "data",
        "ties",
        "model",
        "splits",
        "n tested",
        MEDIAN,
        AGGREGATED,
        "gain",
        "components at the floor",
    ]
    lines = []
    for data in (PART_2020, YEAR):
        cases = [(ties, TWENTY) for ties in TIES] + [(PUBLISHED, model) for model in SCALES]
        for ties, model in cases:
            row, other = (whole(rows, data, model, test, ties) for test in (MEDIAN, AGGREGATED))
            if row is None:
                continue
            lines.append(
                [
                    data,
                    ties,
                    model,
                    row["splits"],
                    row["n"],
                    _three(row),
                    "–" if other is None else _three(other),
                    f"{row['gain']:+.2f}",
                    f"{row['at_floor']:.1f}" if "least" in model or model == TWENTY else "–",
                ]
            )
    return table(header, lines)


def _choice_text(rows: list[Row], data: list[Row]) -> str:
    year = next(row for row in data if row["data"] == YEAR)
    fixed = [
        whole(rows, YEAR, model)
        for model in SCALES
        if model.startswith("20") and ", scale " in model and "least" not in model
    ]
    distinct = whole(rows, YEAR, TWENTY, AGGREGATED, DISTINCT)
    jitter = [whole(rows, YEAR, TWENTY, AGGREGATED, ties) for ties in TIES[2:]]
    return "\n\n".join(
        [
            f"**Ties.** The City publishes the block, not the address: {year['tied']} of "
            f"{year['locations']} points of 2017 share their location with another, which under a density "
            "has probability zero. A kernel as wide as the median distance (11 km) does not notice; "
            "taking one point for each location, or moving every point at random within half a block or "
            "a block, changes p-values about as much as another split does. Nor are ties why the aggregated "
            f"test rejects: its p-value is at most {_p(max(row['most'] for row in jitter))} after moving "
            f"the points and {_p(distinct['most'])} with one point for each location.",
            "**Scales.** The floor decides how many components sit on it and where the others go; "
            "p-values move with it as with the split. The authors of truncated score matching fix the "
            "scale, in their own study of Chicago at 0.06° (5.0 km from west to east, 6.7 km from south "
            "to north). With such a scale 20 components gain little on 2, p is at most "
            f"{_p(max(row['most'] for row in fixed))} in {fixed[0]['splits']} splits of 2017, and on average "
            f"{_mean(fixed, 'outside'):.0f} of the 20 have their centre outside the city. With as many "
            "observations the printed .162 would need narrower components; with as few as in the part of "
            "2020 it would not.",
        ]
    )
