"""Is a printed number what we find, and could it have been found at all?"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from setting import HERE, Row

from goodstein.power.rates import size_mark

PUBLISHED_TRIALS = {"power": 200, "size": 500}
LIMIT = 3.0
"""Standard errors within which two rates agree."""

REPRODUCED = "reproduced"
IMPOSSIBLE = "impossible as printed"
DIFFERS = "differs"


@dataclass(frozen=True)
class Published:
    """One entry of published.csv."""

    part: str
    cell: str
    test: str
    quantity: str
    value: float | None
    where: str
    text: str


@lru_cache(maxsize=1)
def published() -> dict[tuple[str, str, str], Published]:
    """What the paper prints, by part, cell and test."""
    with (HERE / "published.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            Published(**{**row, "value": float(row["value"]) if row["value"] else None})
            for row in csv.DictReader(file)
        ]
    found = {(row.part, row.cell, row.test): row for row in rows}
    assert len(found) == len(rows), "two entries of published.csv are of the same cell and test"
    return found


def printed(part: str, cell: str, test: str) -> Published | None:
    return published().get((part, cell, test))


def judge(entry: Published, row: Row) -> str:
    """The verdict on a printed rate, beside ours and the most that any test of its level can reach.

    Parameters
    ----------
    entry
        What is printed.
    row
        What we measured, as :meth:`Setting.study` returns it.
    """
    assert entry.value is not None
    ours, most = row[entry.quantity], row["bound"]
    trials = PUBLISHED_TRIALS[entry.quantity]
    # Of 200 trials at the bound so many may reject by chance, and no more.
    if entry.quantity == "power" and most is not None and entry.value - most > LIMIT * error(most, trials):
        return IMPOSSIBLE
    pooled = (entry.value * trials + ours * row["trials"]) / (trials + row["trials"])
    spread = math.hypot(error(pooled, trials), error(pooled, row["trials"]))
    return REPRODUCED if abs(entry.value - ours) <= LIMIT * spread + 1e-12 else DIFFERS


def error(rate: float, trials: int) -> float:
    """Standard error of a rate; not zero at 0 and 1, where one trial more or less would be no surprise."""
    rate = min(max(rate, 0.5 / trials), 1 - 0.5 / trials)
    return math.sqrt(rate * (1 - rate) / trials)


def keeps_level(row: Row) -> bool:
    """Whether the measured size is below the upper 99.95 % limit of the binomial distribution."""
    return size_mark(round(row["size"] * row["trials"]), row["trials"], row["level"]) != "↑"


def rate(value: Any, digits: int = 3) -> str:
    """A rate as tables write it."""
    return "–" if value is None else f"{value:.{digits}f}"
