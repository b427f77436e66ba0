"""What an explanation says, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from goodstein.text import Report, Table, plain

PLACES = "places"
"""The kind of view of which neighbours tell the same."""

SHOWN = 10
"""Findings that are printed."""


@dataclass(frozen=True)
class Finding:
    """One view of the data, and what was found there.

    Attributes
    ----------
    view
        Its name.
    kind
        What it is one of: mean, spread, correlation, and the like.
    statement
        What was found, in words.
    pvalue, adjusted
        The p-value of this view alone, and the one that all findings together keep the level with.
    fails
        Whether the model fails here: the adjusted p-value is at most the level.
    effect, low, high
        The quantity in the data, and limits of it, for this view alone.
    model
        The same quantity of the model; of a ratio one.
    unit
        What the effect is measured in.
    columns
        Names of the columns that it is about.
    """

    view: str
    kind: str
    statement: str
    pvalue: float
    adjusted: float
    fails: bool
    effect: float
    low: float
    high: float
    model: float
    unit: str
    columns: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and strings."""
        return {name: plain(value) for name, value in self.__dict__.items()}


@dataclass(frozen=True)
class Explanation(Report):
    """Which views the model fails in, and what was looked at.

    Attributes
    ----------
    findings
        All views, those in which the model fails first, each in the order of the evidence.
    level
        The family-wise error: with at most this probability any view is said to fail in which data and model
        agree, asymptotically, whatever is wrong elsewhere.
    n
        Number of observations.
    model
        The model in words.
    notes
        What a reader should know.
    """

    findings: tuple[Finding, ...]
    level: float
    n: int
    model: str
    notes: tuple[str, ...] = ()

    @property
    def failing(self) -> tuple[Finding, ...]:
        """The views in which the model fails."""
        return tuple(finding for finding in self.findings if finding.fails)

    def beside(self, pvalue: float) -> Explanation:
        """The same, with what to do next where a test has found what no view shows."""
        if self.failing:
            return self
        told = (
            f"The test found evidence against the model, p = {pvalue:.2g}, that none of these views shows by "
            "itself: contributions() of the result and witness(points) say where."
        )
        return replace(self, notes=(told, *self.notes))

    def __len__(self) -> int:
        return len(self.findings)

    def table(self) -> str:
        """All views, one on each line, in order."""
        return "\n".join(line[2:] for line in _table(self.findings).text())

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, strings and lists."""
        return super().to_dict() | {"findings": [finding.to_dict() for finding in self.findings]}

    def _title(self) -> str:
        failing = self.failing
        if not failing:
            return f"Nothing found in {len(self)} views of {self.n} observations and {self.model}"
        return f"{self.model} fails in {len(failing)} of {len(self)} views of {self.n} observations"

    def _tables(self) -> Sequence[Table]:
        shown = self._shown()[:SHOWN]
        lines = [(f"{k}.", finding.statement, _p(finding.adjusted)) for k, finding in enumerate(shown, 1)]
        return [Table(("", "what is wrong", "adjusted p"), lines)] if lines else []

    def _notes(self) -> Sequence[str]:
        more = len(self.failing) - len(self._shown()[:SHOWN])
        said = [f"and {more} more, see .table()."] if more > 0 else []
        if orderly := self._in_order():
            said.append(f"In order: {orderly}.")
        said.append(
            f"The list has a family-wise error of {self.level:.2g}; each interval by itself one of "
            f"{self.level:.2g}."
        )
        return [*said, *self.notes]

    def _shown(self) -> list[Finding]:
        """Those that fail, but of places the first with too many rows and the first with too few alone."""
        seen: set[bool] = set()
        shown = []
        for finding in self.failing:
            more = finding.effect > finding.model
            if finding.kind == PLACES and more in seen:
                continue
            if finding.kind == PLACES:
                seen.add(more)
            shown.append(finding)
        return shown

    def _in_order(self) -> str:
        """Kinds of views in which nothing was found, with their numbers and smallest adjusted p-values."""
        kinds: dict[str, list[Finding]] = {}
        for finding in self.findings:
            kinds.setdefault(finding.kind, []).append(finding)
        fine = {kind: found for kind, found in kinds.items() if not any(one.fails for one in found)}
        told = []
        for kind, found in fine.items():
            least = min(one.adjusted for one in found)
            told.append(f"{kind} ({_views(len(found))}, p {_p(least)})")
        return ", ".join(told)


def _views(count: int) -> str:
    return "1 view" if count == 1 else f"{count} views"


def _p(pvalue: float) -> str:
    return "< .001" if pvalue < 0.001 else f"{pvalue:.3f}".lstrip("0") if pvalue < 0.9995 else "1"


def _table(findings: Sequence[Finding]) -> Table:
    header = ("view", "data", "low", "high", "model", "p", "adjusted p", "fails")
    lines = [
        (
            one.view,
            *(
                f"{number:.4g}"
                for number in (one.effect, one.low, one.high, one.model, one.pvalue, one.adjusted)
            ),
            "yes" if one.fails else "no",
        )
        for one in findings
    ]
    return Table(header, lines)
