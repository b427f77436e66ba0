"""The tests of a collection, as its result lists them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from goodstein.text import Line, Table, plain, readable, storable

HIDDEN = ("evidence", "critical", "spread")
"""Numbers of a member that a record does without."""

HEAD = ("looks at", "operator", "kernel", "weight", "KSD²", "p", "adjusted p")

DEFAULTS = ("metric=", "bandwidth=", ", exponent=-0.5", "power=1.0", "transform=")
"""What a reader of a narrow table can do without; a record keeps it."""


@dataclass(frozen=True)
class Member:
    """One test of a collection, with everything fixed that was taken from the data.

    Attributes
    ----------
    weight
        Its share; all shares add up to one.
    statistic, pvalue
        U-statistic of KSD², and the p-value that this test would have had alone.
    adjusted_pvalue
        Probability that any member shows as much evidence as this one, or the p-value of the whole test if
        that is larger. The model is what is rejected; of single members it says where to look, no more.
    evidence
        −log of its p-value, beyond the draws extrapolated, plus the log of its weight relative to the
        average.
    critical, spread
        How far above the mean of its null distribution the statistic of this member alone makes the whole
        test reject at level .05, and the standard deviation of that distribution.
    """

    operator: Any
    kernel: Any
    weight: float
    statistic: float
    pvalue: float
    adjusted_pvalue: float
    evidence: float
    critical: float = math.nan
    spread: float = math.nan
    looks_at: str = ""
    """What it looks at, in a few words."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: storable(value) for name, value in self.__dict__.items()}

    def line(self) -> Line:
        """A line of the table of members."""
        numbers = (f"{number:.4g}" for number in (self.statistic, self.pvalue, self.adjusted_pvalue))
        names = (self.looks_at, _column(self.operator), _column(self.kernel))
        return (*names, f"{self.weight:.3g}", *numbers)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and strings."""
        return {name: plain(value) for name, value in self.__dict__.items() if name not in HIDDEN}


def table(members: Sequence[Member]) -> Table:
    """All members, one on each line."""
    return Table(HEAD, [member.line() for member in members])


def by_evidence(member: Member) -> float:
    """That of a member; of several with the smallest p-value that there is, rounding must not choose one."""
    return round(member.evidence, 9)


def _column(part: Any) -> str:
    """An operator or a kernel in few words."""
    text = readable(part)
    for default in DEFAULTS:
        text = text.replace(default, "")
    return text
