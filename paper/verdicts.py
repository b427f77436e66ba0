"""Is what the paper prints, or says of its figures, what we find; and could it have been found at all?

The figures are not to be had as numbers. What can be compared is what the text says of them: which test has
more power than which, and whether power grows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from setting import HERE, Row, Rows, read_table

from goodstein.power.rates import size_mark

PUBLISHED_TRIALS = {"power": 200, "size": 500}
LIMIT = 3.0
"""Standard errors within which two rates agree."""
VISIBLE = 0.1
"""Where no test can have more power than this, no curve of a figure can be told from another."""
DECISIVE = 100
"""So many trials can show a trend if there is one."""

REPRODUCED, DIFFERS, IMPOSSIBLE = "reproduced", "differs", "impossible as printed"
UNDECIDED = "not decided by this run"
"""Where nothing differs beyond chance, or nothing was measured, as in a quick run."""


@lru_cache(maxsize=1)
def published() -> Rows:
    """What the paper prints."""
    rows = read_table(HERE / "published.csv")
    assert len({(row["part"], row["cell"], row["test"]) for row in rows}) == len(rows), "an entry is double"
    return rows


def printed(part: str, cell: str, test: str) -> Row | None:
    """The entry of a cell and test."""
    return next(iter(published().where(part=part, cell=cell, test=test)), None)


def agrees(holds: bool) -> str:
    """The verdict on something that holds or does not."""
    return REPRODUCED if holds else DIFFERS


def judge(entry: Row, row: Row) -> str:
    """The verdict on a printed rate, beside ours and the most that any test of its level can reach.

    Parameters
    ----------
    entry
        What is printed, one of `published`.
    row
        What we measured, as :meth:`Setting.study` returns it.
    """
    value, ours, most = entry["value"], row[entry["quantity"]], row["bound"]
    trials = PUBLISHED_TRIALS[entry["quantity"]]
    # Of 200 trials at the bound so many may reject by chance, and no more.
    if entry["quantity"] == "power" and most is not None and value - most > LIMIT * error(most, trials):
        return IMPOSSIBLE
    return agrees(abs(distance(value, trials, ours, row["trials"])) <= LIMIT + 1e-9)


def error(rate: float, trials: int) -> float:
    """Standard error of a rate; not zero at 0 and 1, where one trial more or less would be no surprise."""
    rate = min(max(rate, 0.5 / trials), 1 - 0.5 / trials)
    return math.sqrt(rate * (1 - rate) / trials)


def distance(one: float, trials: int, other: float, others: int) -> float:
    """How many standard errors a rate is above another one."""
    pooled = (one * trials + other * others) / (trials + others)
    return (one - other) / math.hypot(error(pooled, trials), error(pooled, others))


def keeps_level(row: Row) -> bool:
    """Whether the measured size is below the upper 99.95 % limit of the binomial distribution."""
    return size_mark(round(row["size"] * row["trials"]), row["trials"], row["level"]) != "↑"


@dataclass(frozen=True)
class Order:
    """In how many cells one test has more power than another beyond chance, and in how many less."""

    more: int
    less: int
    of: int

    @classmethod
    def among(cls, pairs: Iterable[tuple[Row, Row]]) -> Order:
        found = [above(*pair) for pair in pairs]
        return cls(sum(d > LIMIT for d in found), sum(d < -LIMIT for d in found), len(found))

    def __add__(self, other: Order) -> Order:
        return Order(self.more + other.more, self.less + other.less, self.of + other.of)

    @property
    def verdict(self) -> str:
        return agrees(not self.less) if self.more or self.less else UNDECIDED

    def __str__(self) -> str:
        return f"more power in {self.more} and less in {self.less} of {self.of} comparisons"


def above(one: Row, other: Row) -> float:
    """How many standard errors the power of one row is above that of another."""
    return distance(one["power"], one["trials"], other["power"], other["trials"])


def trend(rows: Sequence[Row]) -> str:
    """Whether power grows, falls, stays or does both along rows, beyond chance; or is full, 1 throughout."""
    if min(row["power"] for row in rows) > 0.99:
        return "full"
    steps = [above(rows[-1], rows[0]), *(above(after, before) for before, after in pairwise(rows))]
    up, down = max(steps) > LIMIT, min(steps) < -LIMIT
    return "both" if up and down else "grows" if up else "falls" if down else "stays"


def judge_trends(lines: Mapping[str, Sequence[Row]], expected: str) -> tuple[str, str]:
    """Whether the power of all tests grows, or falls: verdict, and of which it does not; lines by test."""
    trends = {test: trend(rows) for test, rows in lines.items() if len(rows) > 1}
    fulfilled = ("grows", "full") if expected == "grows" else (expected,)
    good = [test for test, one in trends.items() if one in fulfilled]
    still = [test for test, one in trends.items() if one in ("stays", "full") and test not in good]
    against = [test for test in trends if test not in good and test not in still]
    few = not trends or min(row["trials"] for rows in lines.values() for row in rows) < DECISIVE
    verdict = DIFFERS if against or (still and not few) else UNDECIDED if still or not trends else REPRODUCED
    words = [f"True of {len(good)} of {len(trends)} tests"]
    words += [f"not of {joined(against)}"] if against else []
    words += [f"no change beyond chance for {joined(still)}"] if still else []
    return verdict, "; ".join(words) + "."


def joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
