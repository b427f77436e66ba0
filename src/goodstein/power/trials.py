"""One trial of a test: seeded by what it is called and its number, and by nothing else."""

from __future__ import annotations

import pickle
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from goodstein.types import Array

FIRST = 3
"""Trials that identify the behaviour of a test."""

Draw = Callable[[int, np.random.Generator], Any]
"""n observations."""
DataTest = Callable[[Any, np.random.Generator], Any]
"""The p-value of data, or a result that has one."""


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


def drawn(draw: Draw, n: int, names: Sequence[str], k: int, prefix: Sequence[int] = ()) -> Any:
    """The data of trial k."""
    return draw(n, np.random.default_rng([*prefix, seed_of(*names), k]))


def digest(data: Any) -> float:
    """A number that changes with the data; 0 for data that cannot be pickled."""
    try:
        return float(zlib.crc32(pickle.dumps(data)))
    except Exception:  # whatever an object's own pickling may raise
        return 0.0


def run_trials(
    draw: Draw,
    n: int,
    tests: Mapping[str, DataTest],
    numbers: Iterable[int],
    names: Sequence[str],
    prefix: Sequence[int] = (),
) -> list[dict[str, Outcome]]:
    """All tests on the same draws, in some trials.

    Parameters
    ----------
    draw, n
        The law of the data, and how many.
    tests
        Functions of data and a generator.
    numbers
        The trials.
    names
        What the law is called; with the names of the tests they seed everything random, so that no trial
        depends on which others are run, where and in which order.
    prefix
        More numbers for the seeds.
    """
    found = []
    for k in numbers:
        try:
            data = drawn(draw, n, names, k, prefix)
        except Exception as error:
            raise RuntimeError(f"{' | '.join(names)}, draw {k}: {_said(error)}") from error
        outcomes = {}
        for test, function in tests.items():
            rng = np.random.default_rng([*prefix, seed_of(test, *names), k])
            # No test may spoil the data of the next.
            own = data.copy(order="K") if isinstance(data, np.ndarray) else data
            start = time.perf_counter()
            try:
                result = function(own, rng)
                seconds = time.perf_counter() - start
                pvalue = pvalue_of(result)
            except Exception as error:
                raise RuntimeError(f"{' | '.join(names)} | {test}, trial {k}: {_said(error)}") from error
            statistic = getattr(result, "statistic", np.nan)
            outcomes[test] = Outcome(pvalue, seconds, float(statistic) if _is_number(statistic) else np.nan)
        found.append(outcomes)
    return found


def pvalue_of(result: Any) -> float:
    """The p-value of whatever a test returned."""
    value = getattr(result, "pvalue", result)
    if not _is_number(value):
        raise TypeError(
            "a test must return a p-value, or a result with an attribute pvalue; got "
            f"{type(result).__name__}."
        )
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


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
