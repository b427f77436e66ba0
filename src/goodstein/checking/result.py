"""What a check returns."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from goodstein.auditing.report import AuditReport
from goodstein.engine.files import as_path, write_whole
from goodstein.errors import InputError
from goodstein.explain.explanation import Explanation
from goodstein.report.page import page
from goodstein.results.detectable import Detectable, Move
from goodstein.results.result import TestResult
from goodstein.results.tolerance import Tolerance
from goodstein.text import Report, Table, cut, plain, short, visible
from goodstein.version import __version__

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCHEMA = 1
"""Version of what :meth:`CheckResult.to_dict` returns; docs/check.md says what is in it."""

WIDTH = 96
"""Columns of the text."""

NEARLY_NONE = 1e-5
"""Bounds of a share below this are none: where features are heavy they shrink without end."""

SHOWN = 5
"""Findings that are printed."""


def _versions() -> dict[str, str]:
    return {
        "goodstein": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


@dataclass(frozen=True, eq=False)
class CheckResult(Report):
    """Whether a model fits data, what fails, how wrong it is, and what could have been found.

    Attributes
    ----------
    test
        The :class:`TestResult` of the aggregated test.
    audit
        What was found out about the validity of the test, more thoroughly than before every test.
    explanation
        What fails, by views of the data; None where there are none of such data.
    tolerance
        A lower bound of the share of the population that the model cannot explain; None where none is known.
    detectable
        What such a sample shows in four of five cases, at level .05; None where no moves of such data are
        known.
    level
        The level of the verdict.
    seed
        With it as ``rng`` everything comes out the same again.
    missing
        Why a part is None, by its name.
    options
        Arguments of the call that were not left out, in words.
    versions
        Of what the numbers depend on.
    """

    test: TestResult
    audit: AuditReport
    explanation: Explanation | None
    tolerance: Tolerance | None
    detectable: Detectable | None
    level: float
    seed: int
    missing: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=_versions)

    @property
    def data(self) -> str:
        """The data in words."""
        return self.test.data or f"{self.test.n} observations on {self.test.domain!r}"

    @property
    def pvalue(self) -> float:
        """That of the test."""
        return self.test.pvalue

    @property
    def decision(self) -> str:
        """One of "rejected", "not rejected", "undecided" and "invalid"."""
        if self.audit.refused:
            return "invalid"
        if self.test.undecided(self.level):
            return "undecided"
        return "rejected" if self.test.pvalue <= self.level else "not rejected"

    @property
    def rejected(self) -> bool:
        """Whether the test rejects the model at the level, and is valid."""
        return self.decision == "rejected"

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        p = f"p = {self.test.pvalue:.2g} (level {self.level:g})"
        if self.decision == "invalid":
            return f"The p-value is not valid: the audit refused this test and was overruled; {p}."
        if self.decision == "undecided":
            return f"Cannot decide at level {self.level:g}: {self.test.undecided(self.level)}"
        return f"The model does not fit: {p}." if self.rejected else f"No evidence against the model: {p}."

    @property
    def notes(self) -> tuple[str, ...]:
        """Everything that a reader of the p-value should know."""
        return self.test.notes

    def explain(self) -> Explanation:
        """What fails, in words; printed it is a table."""
        if self.explanation is None:
            raise InputError(self.missing.get("explanation", "Nothing is known of what fails."))
        return self.explanation

    def plot(self, kind: str | None = None, *, ax: Axes | None = None) -> Any:
        """A picture of the test, as :meth:`TestResult.plot` draws it; needs ``goodstein[plot]``."""
        return self.test.plot(kind, ax=ax)

    def to_html(self, path: str | PathLike[str]) -> None:
        """Write a report of one page, which needs nothing else; the file is written whole or not at all.

        Pictures are drawn where ``goodstein[plot]`` is installed. The data are not in it.
        """
        as_path(path)  # before anything is drawn
        write_whole(path, page(self))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, strings and lists, as docs/check.md says."""
        test = self.test.to_dict()
        del test["null_distribution"]  # thousands of numbers, which .test.to_dict() has
        return {
            "schema": SCHEMA,
            "decision": self.decision,
            "verdict": self.verdict,
            "level": self.level,
            "pvalue": plain(float(self.test.pvalue)),
            "model": self.test.model,
            "data": self.data,
            "audit": self.audit.to_dict(),
            "test": test,
            "explanation": None if self.explanation is None else self.explanation.to_dict(),
            "tolerance": None if self.tolerance is None else self.tolerance.to_dict(),
            "detectable": None if self.detectable is None else _found(self.detectable),
            "missing": dict(self.missing),
            "notes": list(self.notes),
            "reproduce": {
                "seed": self.seed,
                "options": dict(self.options),
                "versions": dict(self.versions),
            },
        }

    def rows(self) -> list[tuple[str, str]]:
        """What there is to say, by name; a further line of the same has no name."""
        failed = [f for f in self.audit.checks if f.status == "warn"]
        audit = f"{self.audit.verdict}, {len(self.audit.checks)} checks"
        audit += f", {len(failed)} with a warning (.audit)" if failed else ""
        return [
            ("model", cut(self.test.model)),
            ("data", cut(self.data)),
            *_named("what fails", self._what_fails()),
            ("how wrong", self._how_wrong()),
            ("could find", self._could_find()),
            ("audit", audit),
            ("test", f"{self.test.title}, {short(self.test.null)}, seed {self.seed}"),
        ]

    def _what_fails(self) -> list[str]:
        if self.explanation is None:
            return [f"not known: {self.missing['explanation']}"]
        # The explanation knows which findings say the same.
        lines = [line for table in self.explanation._tables() for line in table.lines]
        found = [f"{statement} (adjusted p {p})" for _, statement, p in lines]
        if not found:
            return [f"none of {len(self.explanation)} views of the data by itself"]
        if not self.rejected:
            found.insert(0, "nothing for certain, since the test does not reject; by itself would fail:")
        more = len(self.explanation.failing) - len(lines[:SHOWN])
        return [*found[:SHOWN], *([f"and {more} more (.explain())"] if more > 0 else [])]

    def _how_wrong(self) -> str:
        if self.tolerance is None:
            return f"not known: {self.missing['tolerance']}"
        confidence = f"({self.tolerance.level:.0%} confidence)"
        share = self.tolerance.share
        if share < NEARLY_NONE and self.rejected:
            return f"not known: the share that is not explained has no lower bound above zero {confidence}"
        if share < NEARLY_NONE:
            return f"perhaps not at all: the model may explain the whole population {confidence}"
        least = f"{share:.1%}" if share >= 5e-4 else f"{100 * share:.1g}%"
        return f"at least {least} of the population is not explained {confidence}"

    def _could_find(self) -> str:
        if self.detectable is None:
            return f"not known: {self.missing['detectable']}"
        if not any(math.isfinite(move.size) for move in self.detectable.moves):
            return "no shift or change of scale that was tried: the sample is small for that"
        level = f" at level {self.detectable.level:g}" if self.detectable.level != self.level else ""
        # A fit follows what is moved.
        fitted = ", were the model not fitted to them" if self.detectable.notes else ""
        return f"in four of five such samples{level}{fitted}: {'; '.join(_grouped(self.detectable.moves))}"

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows) + 4
        lines = [*wrap(visible(self.verdict), WIDTH), ""]
        for name, text in rows:
            lines += wrap(
                visible(text),
                WIDTH,
                initial_indent=f"  {name}".ljust(width),
                subsequent_indent=" " * width,
                break_on_hyphens=False,
            )
        for note in self.notes:
            lines += ["", *wrap(visible(f"Note: {note}"), WIDTH, initial_indent="  ", subsequent_indent="  ")]
        return "\n".join(lines)

    def _title(self) -> str:
        return self.verdict

    def _tables(self) -> list[Table]:
        return [Table((), self.rows())]

    def _notes(self) -> list[str]:
        return [f"Note: {note}" for note in self.notes]


def _found(detectable: Detectable) -> dict[str, Any]:
    moves = [{"change": m.change, "size": plain(m.size), "unit": m.unit} for m in detectable.moves]
    return {**detectable.to_dict(), "moves": moves}


def _named(name: str, texts: list[str]) -> Iterator[tuple[str, str]]:
    for k, text in enumerate(texts):
        yield (name if k == 0 else "", text)


def _grouped(moves: tuple[Move, ...]) -> list[str]:
    """Moves of one kind together: the smallest and the largest of them."""
    kinds: dict[str, list[Move]] = {}
    for move in moves:
        kinds.setdefault(move.kind, []).append(move)
    found = []
    for kind, alike in kinds.items():
        least, most = (end(alike, key=lambda move: move.size) for end in (min, max))
        if least.words() == most.words():
            which = least.column if len(alike) == 1 else "any column"
            found.append(f"{kind} {which} by {least.words()}")
        else:
            ends = f"{least.words()} ({least.column}) to {most.words()} ({most.column})"
            found.append(f"{kind} one column by {ends}")
    return found
