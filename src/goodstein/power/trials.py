"""Trials of tests and draws of likelihood ratios: seeded by names and numbers, and by nothing else."""

from __future__ import annotations

import pickle
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from goodstein.engine.shares import SLICE
from goodstein.errors import CalibrationWarning, ResourceError, TrialError, quiet
from goodstein.power.cell import Cell
from goodstein.power.laws import Law
from goodstein.power.neyman_pearson import Pair
from goodstein.types import Array

FIRST = 3
"""Trials that identify the behaviour of a test."""
CHUNK = 10
"""Trials that a worker takes at a time."""
BLOCK = 1000
"""Data sets for the bound that a worker draws at a time, from one generator."""

Test = Callable[..., Any]
"""(data, model, *, rng) -> result or p-value."""


class Outcome(NamedTuple):
    """What one test said in one trial."""

    pvalue: float
    seconds: float
    statistic: float
    """NaN where the test returned a p-value alone."""


def seed_of(*names: str) -> int:
    """A seed that depends on names alone, in every process."""
    return zlib.crc32("|".join(names).encode())


def fingerprint(name: str, values: Iterable[float]) -> str:
    """A hash of what something is called and of what it does."""
    return f"{zlib.crc32(' '.join([name, *(f'{value:.6g}' for value in values)]).encode()):08x}"


@dataclass(frozen=True, eq=False)
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
    def label(self) -> str:
        """What the record calls the law."""
        return f"{self.name} | {self.kind}"

    def data(self, k: int, seed: int) -> Any:
        """The data of trial k."""
        return self.law(self.n, np.random.default_rng([seed, seed_of(self.name, self.kind), k]))

    def trial(self, k: int, tests: Mapping[str, Test], seed: int) -> dict[str, Outcome]:
        """Trial k of some tests, on the same data; it depends on no other trial or test."""
        try:
            data = self.data(k, seed)
        except Exception as error:
            raise failed(f"{self.label}, draw {k}", error) from error
        outcomes = {}
        for name, test in tests.items():
            rng = np.random.default_rng([seed, seed_of(name, self.name, self.kind), k])
            # No test may spoil the data of the next.
            own = data.copy(order="K") if isinstance(data, np.ndarray) else data
            start = time.perf_counter()
            try:
                # A study counts what the warnings are about.
                with quiet(CalibrationWarning):
                    result = test(own, self.model, rng=rng)
                seconds = time.perf_counter() - start
                pvalue = pvalue_of(result)
            except Exception as error:
                raise failed(f"{self.label} | {name}, trial {k}", error) from error
            statistic = getattr(result, "statistic", np.nan)
            outcomes[name] = Outcome(pvalue, seconds, float(statistic) if _is_number(statistic) else np.nan)
        return outcomes


def digest(data: Any) -> float:
    """A number that changes with the data; 0 for data that cannot be pickled."""
    try:
        return float(zlib.crc32(pickle.dumps(data)))
    except Exception:  # whatever an object's own pickling may raise
        return 0.0


def pvalue_of(result: Any) -> float:
    """The p-value of whatever a test returned."""
    value = getattr(result, "pvalue", result)
    if not _is_number(value):
        got = type(result).__name__
        raise TypeError(f"a test must return a p-value, or a result with an attribute pvalue; got {got}.")
    if not 0.0 <= float(value) <= 1.0 + 1e-12:  # a count over a count may exceed one by rounding
        raise ValueError(f"{float(value)} is no p-value.")
    return min(float(value), 1.0)


def medians(values: Iterable[Array]) -> float:
    """The median of several arrays together; NaN where there is nothing."""
    joined = np.concatenate([np.empty(0), *values])
    return float(np.median(joined)) if len(joined) else float("nan")


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iuf"
    return isinstance(value, Real) and not isinstance(value, bool)


def failed(where: str, error: Exception) -> RuntimeError:
    """What to raise where something went wrong."""
    if isinstance(error, ResourceError):
        return error.told(before=f"{where}: ")
    if isinstance(error, MemoryError):
        found = f" ({error})" if str(error) else ""
        return ResourceError(f"{where}: memory is exhausted{found}.", remedy="Use fewer workers.")
    return TrialError(f"{where}: {type(error).__name__}: {error}")


@dataclass(frozen=True)
class Work:
    """Everything that any piece of work needs."""

    sources: tuple[Source, ...]
    tests: Mapping[str, Test]
    cells: tuple[Cell, ...]
    seed: int

    def first(self, source: int) -> tuple[dict[str, str], list[dict[str, Outcome]]]:
        """The first trials of all tests of a source, and the fingerprints that they make."""
        # p-values alone would not tell two tests apart that both find the smallest one there is.
        one = self.sources[source]
        found = [
            one.trial(k, {test: self.tests[test] for test in one.tests}, self.seed) for k in range(FIRST)
        ]
        data = [digest(one.data(k, self.seed)) for k in range(FIRST)]
        marks = {}
        for test in one.tests:
            values = [(outcome[test].pvalue, outcome[test].statistic) for outcome in found]
            marks[test] = fingerprint(f"{self.seed} {one.label} {test}", [*np.ravel(values), *data])
        return marks, found

    def trials(self, source: int, tests: Sequence[str], numbers: Sequence[int]) -> list[dict[str, Outcome]]:
        """Some tests in some trials, as many of the first of them as there is time for."""
        functions, start = {test: self.tests[test] for test in tests}, time.monotonic()
        found = []
        for k in numbers:
            found.append(self.sources[source].trial(k, functions, self.seed))
            if time.monotonic() - start > SLICE:
                break
        return found

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
            raise failed(f"{one.name} | Neyman–Pearson bound", error) from error
