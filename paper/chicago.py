"""Robberies in Chicago: the p-values of many splits, and what such a p-value means."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import chicago_figures
import chicago_fits as fits
import numpy as np
from chicago_fits import AGGREGATED, BY_EM, LIKE_2020, MEDIAN, PART, PART_2020, PUBLISHED, TWENTY, TWO, YEAR
from setting import Row, Rows, Setting
from verdicts import agrees, printed
from words import Span, put, table

from goodstein.power.rates import wilson

draw = chicago_figures.draw


@dataclass(frozen=True)
class Plan:
    """Which splits to run: of the first replicates the aggregated test as well."""

    data: str
    models: tuple[str, ...]
    splits: int
    aggregated: int
    ties: tuple[str, ...] = (PUBLISHED,)


PLANS = (
    Plan(PART_2020, (TWO, TWENTY), 20, 20),
    Plan(PART_2020, (BY_EM,), 10, 10),
    Plan(fits.WHOLE_2020, (TWO, TWENTY), 20, 3),
    Plan(LIKE_2020, (TWO, TWENTY), 15, 5),
    Plan(YEAR, (TWO, TWENTY), 10, 3),
    Plan(YEAR, (BY_EM,), 2, 2),
    Plan(fits.EARLIER, (TWO, TWENTY), 5, 2),
    Plan(PART_2020, (TWENTY,), 10, 10, fits.TIES[1:]),
    Plan(YEAR, (TWENTY,), 3, 3, fits.TIES[1:]),
    Plan(PART_2020, fits.SCALES, 10, 0),
    Plan(YEAR, fits.SCALES, 2, 0),
)
QUICK = (Plan(PART_2020, (TWO,), 1, 1),)
KNOWN = {PART_2020: (331, 300, 25), YEAR: (fits.ALL_2020 // 2, 20, 2)}
"""Of the law fitted to these data: size of the samples, how many, and how many in one task."""
REFITTED = {PART_2020: ((331, 331, 60), (596, 66, 60)), YEAR: ((fits.ALL_2020 // 2, fits.ALL_2020 // 2, 16),)}
"""How many draws to fit, how many to test, and how often."""
BOOTSTRAP = {TWO: 199, TWENTY: 99}


def run(setting: Setting) -> None:
    folder = fits.folder_of(setting.data)
    if folder is None:
        print(f"{PART}: no data in {setting.data}; what was measured before stays", file=sys.stderr)
        return
    plans = [
        plan for plan in setting.choose(PLANS, QUICK) if (folder / fits.SOURCES[plan.data].file).exists()
    ]
    tasks = {
        f"{plan.data} | {ties} | {model} | {k}": (str(folder), plan.data, ties, model, k, k < plan.aggregated)
        for plan in plans
        for ties in plan.ties
        for model in plan.models
        for k in range(plan.splits)
    }
    # The longest first, so that no worker waits for them at the end.
    order = sorted(tasks, key=lambda name: (tasks[name][3] != BY_EM, tasks[name][1] == PART_2020))
    found = setting.each(PART, fits.split, {name: tasks[name] for name in order})
    _write_splits(setting, tasks, found)
    _write_data(setting, folder, list(dict.fromkeys(plan.data for plan in plans)))
    if not setting.quick:
        _write_checks(setting, str(folder), {name: value["law"] for name, value in found.items()})


def _write_splits(setting: Setting, tasks: dict[str, Any], found: dict[str, Any]) -> None:
    splits: list[Row] = []
    groups: dict[tuple[Any, ...], list[tuple[Row, Row]]] = {}
    laws: list[Row] = []
    for name, (_, data, ties, model, k, _) in tasks.items():
        case, outcome = {"data": data, "ties": ties, "model": model}, found[name]["outcome"]
        rank: dict[str, int] = {}
        for row in found[name]["rows"]:
            here = {**case, "test": row["test"], "n": row["n"]}
            splits.append({**here, "split": k, "pvalue": row["pvalue"]})
            # Halves after thinning or of places differ by a few points; what is alike is the rank of n.
            rank[row["test"]] = rank.get(row["test"], -1) + 1
            groups.setdefault((*case.values(), row["test"], rank[row["test"]]), []).append(
                (splits[-1], outcome)
            )
        law = found[name]["law"]
        if law is not None and ties == PUBLISHED and model in (TWO, TWENTY, BY_EM):
            for weight, mean, cov in zip(law["weights"], law["means"], law["covs"], strict=True):
                place = {"east": mean[0], "north": mean[1], "xx": cov[0][0], "xy": cov[0][1], "yy": cov[1][1]}
                laws.append({"data": data, "model": model, "weight": weight, **place})
    setting.write(f"{PART}_splits", splits)
    setting.write(f"{PART}_laws", laws)
    setting.write(PART, [_summary(values) for values in groups.values()])


def _summary(values: list[tuple[Row, Row]]) -> Row:
    """The p-values of all splits of one case, and how their fits ended."""
    first, pvalues = values[0][0], np.array([row["pvalue"] for row, _ in values if row["pvalue"] is not None])
    outcomes = {key: [outcome[key] for _, outcome in values] for key in values[0][1]}
    return {
        **{key: first[key] for key in ("data", "ties", "model", "test", "n")},
        "splits": len(pvalues),
        "no_draws": len(values) - len(pvalues),
        "least": float(pvalues.min()),
        "median": float(np.median(pvalues)),
        "most": float(pvalues.max()),
        "below_05": float(np.mean(pvalues <= 0.05 + 1e-9)),
        "gain": float(np.median(outcomes["gain"])),
        "at_floor": float(np.mean(outcomes["at_floor"])),
        "outside": float(np.mean(outcomes["outside"])),
        "stopped_early": len(values) - sum(outcomes["converged"]),
        "seconds": float(np.mean(outcomes["seconds"])),
    }


def _write_data(setting: Setting, folder: Path, names: Sequence[str]) -> None:
    """What the loader says of every table."""
    rows = []
    for data in (name for name in names if fits.SOURCES[name].size is None):
        places = fits.load(str(folder), data)
        left_out = {key: getattr(places, key) for key in ("unlocated", "outside", "other_parts")}
        rows.append(
            {"data": data, "rows": places.rows_read, **left_out, "locations": len(places)}
            | {"distinct": places.n_distinct, "tied": places.n_tied, "area": places.domain.geometry.area}
        )
    setting.write(f"{PART}_data", rows)


def _write_checks(setting: Setting, folder: str, laws: dict[str, Any]) -> None:
    tasks: dict[str, tuple[Any, ...]] = {}
    rows: dict[str, Row] = {}
    for model, draws in BOOTSTRAP.items():
        name = f"family | {model} | {draws}"
        tasks[f"{name} | 0"] = ("family", folder, model, draws)
        rows[name] = {"case": "family", "law_of": PART_2020, "model": model, "draws": draws}
    for data, (n, repetitions, step) in KNOWN.items():
        law, name = laws[f"{data} | {PUBLISHED} | {TWENTY} | 0"], f"known | {data} | {n}"
        for start in range(0, repetitions, step):
            tasks[f"{name} | {start}"] = ("known", folder, law, data, n, start, start + step)
        rows[name] = {"case": "known", "law_of": data, "model": TWENTY, "fitted": 0, "n": n}
    for data, plans in REFITTED.items():
        for model in (TWO, TWENTY):
            law = laws[f"{data} | {PUBLISHED} | {model} | 0"]
            for fit, test, repetitions in plans:
                name = f"refitted | {data} | {model} | {fit} | {test}"
                for k in range(repetitions):
                    tasks[f"{name} | {k}"] = ("refitted", folder, law, data, model, fit, test, k)
                rows[name] = {"case": "refitted", "law_of": data, "model": model, "fitted": fit, "n": test}
    # The longest first, so that no worker waits for them at the end.
    cost = {name: 0 if task[0] == "family" else 1 if task[3] == YEAR else 2 for name, task in tasks.items()}
    found = setting.each(
        f"{PART}_checks", fits.check, {name: tasks[name] for name in sorted(tasks, key=cost.get)}
    )
    outcomes: dict[str, list[Row]] = {}
    for name in tasks:
        outcomes.setdefault(name.rpartition(" | ")[0], []).extend(found[name])
    done = [
        {**rows[name], "test": test, **_rates([value[test] for value in values])}
        for name, values in outcomes.items()
        for test in values[0]
    ]
    setting.write(f"{PART}_checks", done)


def _rates(values: list[float | None]) -> Row:
    pvalues = np.array([value for value in values if value is not None])
    below = float(np.mean(pvalues <= 0.05 + 1e-9))
    low, high = wilson(below, len(pvalues))
    return {
        "repetitions": len(pvalues),
        "no_draws": len(values) - len(pvalues),
        "least": float(pvalues.min()),
        "median": float(np.median(pvalues)),
        "rejected": below,
        "lower": low,
        "upper": high,
    }


# What is said


def values(setting: Setting) -> dict[str, Any]:
    rows, checks, data = (setting.read(name) for name in (PART, f"{PART}_checks", f"{PART}_data"))
    for row in [*rows, *checks]:
        row |= {f"{key}_p": _p(row[key]) for key in ("least", "median", "most") if key in row}
    for row in rows:
        row["three"] = "{least_p} / {median_p} / {most_p}".format(**row)
        row["floor"] = row["at_floor"] if "least" in row["model"] or row["model"] == TWENTY else None
    year = bool(rows.where(data=YEAR))
    return {
        "printed": {model: printed(PART, model, MEDIAN)["value"] for model in (TWO, TWENTY)},
        "floor": fits.FLOOR,
        "all_2020": fits.ALL_2020,
        "file": fits.SOURCES[fits.WHOLE_2020].file,
        "tables": data,
        "area": data[0]["area"],
        "part_2020": data.by("data")[PART_2020]["rows"],
        "map": chicago_figures.mapped(setting)[0],
        "pvalues": [
            _beside(rows, data, model, PUBLISHED)
            for data in fits.SOURCES
            for model in (TWO, TWENTY, BY_EM)
            if whole(rows, data, model)
        ],
        **_verdicts(rows, checks),
        "checks": bool(checks),
        **(_checked(rows, checks) if checks else {}),
        "year": year,
        **(_chosen(rows, data) if year else {}),
    }


def _p(value: float) -> str:
    return f"{value:.4f}" if value < 0.001 else f"{value:.3f}"


def whole(rows: Rows, data: str, model: str, test: str = MEDIAN, ties: str = PUBLISHED) -> Row | None:
    """The row of all observations of the test half."""
    here = rows.where(data=data, model=model, test=test, ties=ties)
    return max(here, key=lambda row: row["n"]) if here else None


def _beside(rows: Rows, data: str, model: str, ties: str) -> Row:
    """The row of the paper's test, with the p-values of all tests."""
    tests = {test: put("{three}", whole(rows, data, model, test, ties)) for test in fits.TESTS}
    entry = printed(PART, model, MEDIAN)
    return whole(rows, data, model, MEDIAN, ties) | {"tests": tests, "printed": entry and entry["value"]}


def _verdicts(rows: Rows, checks: Rows) -> dict[str, str]:
    """Whether a split of as many data as the paper's can give what is printed; here and in the summary."""
    verdicts, summary = [], []
    for model in (TWO, TWENTY):
        if whole(rows, PART_2020, model) is None:
            continue
        row, value = whole(rows, LIKE_2020, model), printed(PART, model, MEDIAN)["value"]
        verdict = agrees(row["least"] <= value <= row["most"]) if row else "not measured in this run"
        row = (row or whole(rows, PART_2020, model)) | {"verdict": verdict, "value": value}
        row["many"] = "one split gives" if row["splits"] == 1 else f"{row['splits']} splits give"
        verdicts.append(put(VERDICT, row))
        summary.append(put(SUMMARY, row))
    half = [
        row["rejected"]
        for row in checks
        if row["fitted"] and row["fitted"] == row["n"] and row["test"] == MEDIAN
    ]
    summary += [put(REJECTED, {"low": min(half), "high": max(half)})] if half else []
    return {"verdicts": " ".join(verdicts), "summary": "; ".join(summary)}


VERDICT = (
    "**{model}: {verdict}.** Printed {value:g}; with {n} tested observations ({data}) {many} {least_p} to "
    "{most_p}, median {median_p}."
)
SUMMARY = (
    "p = {value:g} for {model}: {verdict}, {splits} splits of other data ({data}) give {least_p} to {most_p}"
)
REJECTED = (
    "with half fitted and half tested, a mixture with the right number of components is rejected at level "
    ".05 in {low:.0%} to {high:.0%} of simulated samples"
)


def _checked(rows: Rows, checks: Rows) -> dict[str, Any]:
    """How often models that are right are rejected."""
    lines = []
    for row in checks.where(test=MEDIAN):
        if row["case"] != "family":
            case = {key: row[key] for key in ("case", "law_of", "model", "fitted", "n")}
            here = [checks.where(test=test, **case)[0] for test in fits.TESTS]
            name = "the law itself" if row["case"] == "known" else f"{row['model']}, fitted"
            shares = [put("{rejected:.2f} ({lower:.2f}–{upper:.2f})", one) for one in here]
            lines.append([name, row["law_of"], row["fitted"] or None, row["n"], row["repetitions"], *shares])
    again = checks.where(case="refitted")
    half = Rows(row for row in again if row["fitted"] == row["n"])
    tenth = [row for row in again.where(test=MEDIAN) if row["fitted"] != row["n"]]
    right, twenty = half.where(test=MEDIAN).by("law_of", "model"), whole(rows, LIKE_2020, TWENTY)
    alike = right[YEAR][TWENTY]["lower"] <= twenty["below_05"] <= right[YEAR][TWENTY]["upper"]
    header = ["tested", "draws of the law fitted to", "fitted", "tested on", "repetitions", *fits.TESTS]
    return {
        "check_table": table(header, lines),
        "size": Span(checks.where(case="known").all("rejected")),
        "half": right,
        "tenth": " and ".join(put("{rejected:.0%} ({model})", row) for row in tenth),
        "two": whole(rows, LIKE_2020, TWO),
        "twenty": twenty,
        "small": {model: whole(rows, PART_2020, model) for model in (TWO, TWENTY)},
        "alike": "cannot be told from" if alike else "differs from",
        "neither": NEITHER if alike else "",
        "family": "; ".join(
            put("p = {least_p} for {model} ({draws} draws)", row) for row in checks.where(case="family")
        ),
        "drawn": Span(half.where(test=AGGREGATED).all("rejected")),
    }


NEITHER = ": neither .162 nor a value below .05 speaks for or against 20 components"


def _chosen(rows: Rows, data: Rows) -> dict[str, Any]:
    """Splits by the number of observations, and what other choices of ties and scales give."""
    sizes = []
    for model, test in product((TWO, TWENTY), (MEDIAN, AGGREGATED)):
        here = rows.where(data=YEAR, model=model, test=test, ties=PUBLISHED).sorted("n")
        shares = ", ".join(put("{below_05:.0%} of {splits} at n = {n}", row) for row in here)
        sizes.append(f"- {model}, {test}: {shares}")
    cases = [(ties, TWENTY) for ties in fits.TIES] + [(PUBLISHED, model) for model in fits.SCALES]
    fixed = [
        whole(rows, YEAR, model)
        for model in fits.SCALES
        if model.startswith("20 components, scale") and "least" not in model
    ]
    moved = [whole(rows, YEAR, TWENTY, AGGREGATED, ties) for ties in fits.TIES[2:]]
    return {
        "sizes": "\n".join(sizes),
        "choices": [
            _beside(rows, data, model, ties)
            for data in (PART_2020, YEAR)
            for ties, model in cases
            if whole(rows, data, model, MEDIAN, ties)
        ],
        "in_2017": data.by("data")[YEAR],
        "moved": _p(max(row["most"] for row in moved)),
        "distinct": whole(rows, YEAR, TWENTY, AGGREGATED, fits.DISTINCT),
        "fixed": {
            "most": _p(max(row["most"] for row in fixed)),
            "splits": fixed[0]["splits"],
            "outside": float(np.mean([row["outside"] for row in fixed])),
        },
    }
