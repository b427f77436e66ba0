"""What the numbers of the level table mean, and how they are printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from scipy.stats import binom
from size_row import Row
from size_rows import ABOUT, DEFAULTS, INVALID, explanation

LEVELS = (0.01, 0.05, 0.10)
CONFIDENCE = 0.999


@dataclass(frozen=True)
class Measured:
    """The result of a row."""

    row: Row
    fingerprint: str
    trials: int
    rejections: tuple[int, ...]
    """One number per level."""

    @property
    def checks(self) -> list[Check]:
        """The rejections at every level against the binomial distribution."""
        return [
            Check(attainable(level, self.row.null.n_resamples), count, self.trials)
            for level, count in zip(LEVELS, self.rejections, strict=True)
        ]

    @property
    def verdict(self) -> str:
        """Either "ok" or the levels at which the rate is too high or too low."""
        return verdict(self.checks)

    @property
    def remark(self) -> str:
        """Why the row is marked, if it is."""
        return "" if self.verdict == "ok" else explanation(self.row) or "**Not explained.**"

    def record(self) -> dict[str, Any]:
        """The row of the CSV file."""
        record: dict[str, Any] = {
            "name": self.row.name,
            "group": self.row.group,
            "case": self.row.case,
            "test": self.row.test_name,
            "null": self.row.null_name,
            "n": self.row.n,
            "trials": self.trials,
        }
        for level, check in zip(LEVELS, self.checks, strict=True):
            lower, upper = check.limits
            record |= {
                f"rejections_{level:.2f}": check.rejections,
                f"rate_{level:.2f}": f"{check.rate:.5f}",
                f"lower_{level:.2f}": f"{lower / check.trials:.5f}",
                f"upper_{level:.2f}": f"{upper / check.trials:.5f}",
                f"verdict_{level:.2f}": check.verdict,
            }
        return record | {"explanation": self.remark, "fingerprint": self.fingerprint}


@dataclass(frozen=True)
class Check:
    """A number of rejections against the level of the test."""

    level: float
    rejections: int
    trials: int

    @property
    def rate(self) -> float:
        return self.rejections / self.trials

    @property
    def limits(self) -> tuple[int, int]:
        """Between these a test that keeps the level stays with probability 0.999 (exact binomial)."""
        tail = (1 - CONFIDENCE) / 2
        lower, upper = binom.ppf([tail, 1 - tail], self.trials, self.level)
        return int(lower), int(upper)

    @property
    def verdict(self) -> str:
        lower, upper = self.limits
        return "high" if self.rejections > upper else "low" if self.rejections < lower else "ok"


def attainable(level: float, draws: int) -> float:
    """The largest multiple of 1/(draws + 1), the step of the p-value, that is not above the level."""
    return float(np.floor(level * (draws + 1) + 1e-9) / (draws + 1))


def verdict(checks: Sequence[Check]) -> str:
    """In words: "ok", or for example "high at .01 .05"."""
    found = []
    for word in ("high", "low"):
        levels = [_short(level) for level, check in zip(LEVELS, checks, strict=True) if check.verdict == word]
        if levels:
            found.append(f"{word} at {' '.join(levels)}")
    return ", ".join(found) or "ok"


def _short(rate: float, digits: int = 2) -> str:
    return f"{rate:.{digits}f}".removeprefix("0")


def summary_line(measured: Measured) -> str:
    """One line for the terminal."""
    rates = "  ".join(_short(check.rate, 4) for check in measured.checks)
    return f"{rates}  {measured.verdict:<19} {measured.row.name} ({measured.trials} trials)"


def markdown(results: Sequence[Measured], missing: int = 0) -> str:
    """The whole report."""
    parts = [INTRODUCTION.format(limits=_limit_table(results)), _overview(results)]
    if missing:
        parts.append(f"**{missing} rows have not been measured yet.**\n")
    for group, rows in groupby(results, key=lambda measured: measured.row.group):
        parts.append(f"## {group}\n\n{ABOUT[group]}\n\n{_table(list(rows))}")
    return "\n".join(parts)


INTRODUCTION = """# Do the tests keep their level?

Written by `make validate` (`validation/size.py`); all numbers are in `size.csv`.

Every row draws data from a model, tests that same model, and counts how often the test rejects it at
the levels .01, .05 and .10. A valid test does so with just these probabilities, up to the error of a finite
number of trials: a rate is marked **↑** (too high, liberal) or **↓** (too low, conservative) if it lies
outside the central 99.9 % of the binomial distribution. Of a thousand rates one is marked by chance alone.
A liberal test reports effects that do not exist; a conservative one keeps its promise, but finds less.

{limits}
"""


def _limit_table(results: Sequence[Measured]) -> str:
    lines = ["| trials | .01 | .05 | .10 |", "|--:|:-:|:-:|:-:|"]
    for trials in sorted({measured.trials for measured in results}):
        cells = []
        for level in LEVELS:
            lower, upper = Check(level, 0, trials).limits
            cells.append(f"{_short(lower / trials, 4)} – {_short(upper / trials, 4)}")
        lines.append(f"| {trials} | {' | '.join(cells)} |")
    return "Rates within these limits are not marked:\n\n" + "\n".join(lines)


def _overview(results: Sequence[Measured]) -> str:
    """Rows pooled, so that small deviations shared by many rows show."""
    valid = [measured for measured in results if measured.row.group != INVALID]
    liberal = sum("high" in measured.verdict for measured in valid)
    conservative = sum("low" in measured.verdict for measured in valid)
    unexplained = sum("Not explained" in measured.remark for measured in valid)
    lines = [
        "## Summary",
        "",
        f"{len(valid)} rows: {liberal} marked as liberal, {conservative} as conservative, "
        f"{unexplained or 'none'} of them without explanation; {len(results) - len(valid)} further rows are "
        "warning examples. The default tests taken together, where the error is smallest:",
        "",
        "| rows | trials | .01 | .05 | .10 |",
        "|:--|--:|--:|--:|--:|",
    ]
    defaults = [measured for measured in results if measured.row.group == DEFAULTS]
    for n in sorted({measured.row.n for measured in defaults}):
        chosen = [measured for measured in defaults if measured.row.n == n]
        lines.append(f"| all default tests, n = {n} | {_pooled(chosen)} |")
    return "\n".join(lines) + "\n"


def _pooled(results: Iterable[Measured]) -> str:
    results = list(results)
    trials = sum(measured.trials for measured in results)
    counts = np.sum([measured.rejections for measured in results], axis=0)
    checks = [Check(level, int(count), trials) for level, count in zip(LEVELS, counts, strict=True)]
    return " | ".join([str(trials), *map(_cell, checks)])


def _table(results: Sequence[Measured]) -> str:
    """The rows of a group, with the explanations as numbered notes below."""
    notes = list(dict.fromkeys(measured.remark for measured in results if measured.remark))
    head = ["model", "test", "null distribution", "n", "trials", ".01", ".05", ".10"]
    rule = [":--", ":--", ":--", "--:", "--:", "--:", "--:", "--:"]
    if notes:
        head, rule = [*head, "note"], [*rule, ":-:"]
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join(rule)}|"]
    for measured in results:
        row = measured.row
        cells = [row.case, row.test_name, row.null_name, str(row.n), str(measured.trials)]
        cells += map(_cell, measured.checks)
        if notes:
            cells.append(str(1 + notes.index(measured.remark)) if measured.remark else "")
        lines.append(f"| {' | '.join(cells)} |")
    if notes:
        lines += ["", *(f"{number}. {note}" for number, note in enumerate(notes, 1))]
    return "\n".join(lines) + "\n"


def _cell(check: Check) -> str:
    rate = _short(check.rate, 4)
    return {"ok": rate, "high": f"**{rate}** ↑", "low": f"**{rate}** ↓"}[check.verdict]
