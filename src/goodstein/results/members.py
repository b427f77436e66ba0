"""What an aggregated test returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from goodstein.results.result import TestResult
from goodstein.text import as_text, readable


@dataclass(frozen=True)
class Member:
    """One test of a collection.

    Attributes
    ----------
    operator, kernel
        What it is, with everything fixed that was taken from the data.
    weight
        Its share; all shares add up to one.
    statistic
        U-statistic of KSD².
    pvalue
        The p-value that this test would have had alone.
    adjusted_pvalue
        Probability that any member shows as much evidence as this one.
    evidence
        −log of its p-value, beyond the draws extrapolated, plus the log of its weight relative to the
        average; the largest of them is the statistic of the test.
    """

    operator: Any
    kernel: Any
    weight: float
    statistic: float
    pvalue: float
    adjusted_pvalue: float
    evidence: float


@dataclass(frozen=True, eq=False)
class AggregatedResult(TestResult):
    """The outcome of an aggregated test.

    ``statistic`` is the largest evidence of a member, −log of its p-value with its weight, and ``pvalue``
    belongs to the whole collection. ``operator`` and ``kernel`` are those of the member with the most
    evidence.

    Attributes
    ----------
    members
        All members, in the order in which they were given.
    """

    _statistic_name = "largest weighted −log p of a member"

    members: tuple[Member, ...] = ()

    @property
    def best(self) -> Member:
        """The member with the most evidence against the model."""
        return max(self.members, key=lambda member: member.evidence)

    def table(self) -> str:
        """All members, one on each line."""
        head = ("operator", "kernel", "weight", "KSD²", "p", "adjusted p")
        rows = [
            (
                _column(member.operator),
                _column(member.kernel),
                f"{member.weight:.3g}",
                f"{member.statistic:.4g}",
                f"{member.pvalue:.4g}",
                f"{member.adjusted_pvalue:.4g}",
            )
            for member in self.members
        ]
        return "\n".join(line[2:] for line in as_text(head, rows))

    def summary(self) -> str:
        """The result as a short text, with the table of members."""
        lines = [*super().summary().split("\n"), "", *(f"  {line}" for line in self.table().split("\n"))]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, strings and lists."""
        members = [
            {
                "operator": repr(member.operator),
                "kernel": repr(member.kernel),
                "weight": float(member.weight),
                "statistic": float(member.statistic),
                "pvalue": float(member.pvalue),
                "adjusted_pvalue": float(member.adjusted_pvalue),
            }
            for member in self.members
        ]
        return {**super().to_dict(), "members": members}


DEFAULTS = ("bandwidth=", ", exponent=-0.5", "power=1.0", "transform=")
"""What a reader of a narrow table can do without; a record keeps it."""


def _column(part: Any) -> str:
    """An operator or a kernel in few words."""
    text = readable(part)
    for default in DEFAULTS:
        text = text.replace(default, "")
    return text
