"""The pieces of work of a study, as workers do them: trials of tests, and draws of likelihood ratios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from goodstein.power.cell import Cell
from goodstein.power.laws import Law
from goodstein.power.ratio import Pair
from goodstein.power.trials import FIRST, Outcome, digest, drawn, fingerprint, run_trials, seed_of
from goodstein.types import Array

CHUNK = 10
"""Trials that a worker takes at a time."""
BLOCK = 1000
"""Data sets for the bound that a worker draws at a time, from one generator."""

Test = Callable[..., Any]
"""(data, model, *, rng) -> result or p-value."""


@dataclass(frozen=True)
class Source:
    """One law of the data, with the model that tests are given."""

    name: str
    kind: str
    """null or alternative."""
    model: Any
    law: Law
    n: int
    tests: tuple[str, ...]
    """Those that apply."""

    @property
    def names(self) -> tuple[str, str]:
        """What seeds the trials."""
        return self.name, self.kind

    @property
    def label(self) -> str:
        """What the record calls the law."""
        return " | ".join(self.names)


@dataclass(frozen=True)
class Work:
    """Everything that any piece of work needs."""

    sources: tuple[Source, ...]
    tests: Mapping[str, Test]
    cells: tuple[Cell, ...]
    seed: int

    def first(self, source: int) -> tuple[dict[str, str], list[dict[str, Outcome]]]:
        """The first trials of all tests of a source, and the fingerprints that they make.

        A p-value alone would not tell two tests apart that both find the smallest one there is, so the
        statistics and the data go into the fingerprint as well.
        """
        one = self.sources[source]
        found = self.trials(source, one.tests, range(FIRST))
        data = [digest(drawn(one.law, one.n, one.names, k, (self.seed,))) for k in range(FIRST)]
        marks = {}
        for test in one.tests:
            values = [(outcome[test].pvalue, outcome[test].statistic) for outcome in found]
            marks[test] = fingerprint(f"{self.seed} {one.label} {test}", [*np.ravel(values), *data])
        return marks, found

    def trials(self, source: int, tests: Sequence[str], numbers: Sequence[int]) -> list[dict[str, Outcome]]:
        """Some tests in some trials."""
        one = self.sources[source]
        functions = {test: partial(_call, self.tests[test], one.model) for test in tests}
        return run_trials(one.law, one.n, functions, numbers, one.names, (self.seed,))

    def first_ratios(self, cell: int) -> str:
        """The fingerprint of the likelihood ratio of a cell."""
        values = [self.ratios(cell, which, -1, FIRST) for which in ("null", "alternative")]
        return fingerprint(f"{self.seed} {self.cells[cell].name} bound", np.ravel(values))

    def ratios(self, cell: int, which: str, block: int, count: int) -> Array:
        """The log likelihood ratios of one block of data sets."""
        one = self.cells[cell]
        pair = one.pair
        assert isinstance(pair, Pair)
        name = one.null_name if which == "null" else one.name
        # Other draws than those of the trials, so that the bound does not err with them.
        rng = np.random.default_rng([self.seed, seed_of(name, which, "bound"), block + 1])
        try:
            return pair.ratios(which, count, rng)
        except Exception as error:
            raise RuntimeError(f"{one.name} | Neyman–Pearson bound: {error}") from error


def _call(test: Test, model: Any, data: Any, rng: np.random.Generator) -> Any:
    return test(data, model, rng=rng)
