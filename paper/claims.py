"""What the paper says of its figures, judged by what we measured.

The figures are not to be had as numbers. What can be compared is what the text says of them: which test has
more power than which, and whether power grows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from setting import Row
from verdicts import DIFFERS, LIMIT, REPRODUCED, error, published

VISIBLE = 0.1
"""Where no test can have more power than this, no curve of a figure can be told from another."""
UNDECIDED = "not decided by this run"
"""Where nothing differs beyond chance, or nothing was measured, as in a quick run."""

DECISIVE = 100
"""So many trials can show a trend if there is one."""


class Finding(NamedTuple):
    """A verdict and its reason."""

    verdict: str
    reason: str


def listed(part: str, findings: Mapping[tuple[str, str], Finding]) -> str:
    """All claims of a part that published.csv has, with their verdicts."""
    claims = [entry for entry in published().values() if entry.part == part and entry.quantity == "claim"]
    lines = []
    for entry in claims:
        verdict, reason = findings[entry.cell, entry.test]
        lines.append(f"- {entry.where}: *{entry.text}* **{verdict.capitalize()}.** {reason}".rstrip())
    return "\n".join(lines)


def percent(shares: Iterable[float], digits: int = 0) -> str:
    """The range of some shares."""
    ends = sorted(shares)
    low, high = (f"{100 * share:.{digits}f}" for share in (ends[0], ends[-1]))
    return f"{low} %" if low == high else f"{low}–{high} %"


def distance(one: Row, other: Row) -> float:
    """How many standard errors the power of one row is above that of another."""
    trials = one["trials"], other["trials"]
    pooled = (one["power"] * trials[0] + other["power"] * trials[1]) / sum(trials)
    return (one["power"] - other["power"]) / math.hypot(*(error(pooled, count) for count in trials))


@dataclass(frozen=True)
class Order:
    """In how many cells one test has more power than another beyond chance, and in how many less."""

    more: int
    less: int
    of: int

    @classmethod
    def among(cls, pairs: Iterable[tuple[Row, Row]]) -> Order:
        found = [distance(*pair) for pair in pairs]
        return cls(sum(d > LIMIT for d in found), sum(d < -LIMIT for d in found), len(found))

    @property
    def verdict(self) -> str:
        if not self.more and not self.less:
            return UNDECIDED
        return DIFFERS if self.less else REPRODUCED

    def __str__(self) -> str:
        return f"more power in {self.more} and less in {self.less} of {self.of} comparisons"


def trend(rows: Sequence[Row]) -> str:
    """Whether power grows, falls, stays or does both along rows, beyond chance; or is full, 1 throughout."""
    if min(row["power"] for row in rows) > 0.99:
        return "full"
    steps = [distance(after, before) for before, after in pairwise(rows)]
    whole = distance(rows[-1], rows[0])
    up, down = max([whole, *steps]) > LIMIT, min([whole, *steps]) < -LIMIT
    return "both" if up and down else "grows" if up else "falls" if down else "stays"


def judge_trends(lines: Mapping[str, Sequence[Row]], expected: str) -> Finding:
    """Whether the power of all tests grows, or falls, and of which it does not; lines by test."""
    trends = {test: trend(rows) for test, rows in lines.items() if len(rows) > 1}
    fulfilled = ("grows", "full") if expected == "grows" else (expected,)
    good = [test for test, one in trends.items() if one in fulfilled]
    still = [test for test, one in trends.items() if one in ("stays", "full") and test not in good]
    against = [test for test in trends if test not in good and test not in still]
    few = not trends or min(row["trials"] for rows in lines.values() for row in rows) < DECISIVE
    verdict = DIFFERS if against or (still and not few) else UNDECIDED if still or not trends else REPRODUCED
    words = [f"True of {len(good)} of {len(trends)} tests"]
    if against:
        words.append(f"not of {_joined(against)}")
    if still:
        words.append(f"no change beyond chance for {_joined(still)}")
    return Finding(verdict, "; ".join(words) + ".")


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
