"""What a null method is, and the one place where a p-value is computed."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from goodstein.auditing.serial import Dependence
from goodstein.constraints import asked
from goodstein.data.base import Data
from goodstein.engine.executors import Workers, run, several
from goodstein.engine.progress import unwatched
from goodstein.errors import InputError, ScoreError, given, must, safe_repr, shown, warn
from goodstein.foreign import Own
from goodstein.problems.problem import Collection, Problem
from goodstein.types import Array
from goodstein.validation import draw_seed


def rounding(draws: Array) -> float:
    """How far draws may be apart that differ by rounding only: 1e-5 of their root mean square."""
    scale = float(np.abs(draws).max()) or 1.0
    return 1e-5 * scale * float(np.sqrt(np.mean((draws / scale) ** 2)))


@dataclass(frozen=True)
class Calibration:
    """The statistic and draws of it under the null."""

    statistic: float
    draws: Array

    def __post_init__(self) -> None:
        _require_finite(self.statistic, self.draws)

    @property
    def pvalue(self) -> float:
        """(1 + #{draws ≥ statistic}) / (1 + #draws), which is never zero.

        Draws that fall short of the statistic by rounding only count as ties: products with signs are taken
        in single precision, which moves a draw by about 1e-6 of their spread.
        """
        exceed = int(np.count_nonzero(self.draws >= self.statistic - rounding(self.draws)))
        return (1 + exceed) / (1 + len(self.draws))


@dataclass(frozen=True)
class JointCalibration:
    """Statistics of several tests of the same data, (tests,), and joint draws of them, (tests, draws)."""

    statistics: Array
    draws: Array

    def __post_init__(self) -> None:
        _require_finite(self.statistics, self.draws)

    def __getitem__(self, k: int) -> Calibration:
        """The test by itself."""
        return Calibration(float(self.statistics[k]), self.draws[k])


def _require_finite(statistic: float | Array, draws: Array) -> None:
    if not (np.isfinite(statistic).all() and np.isfinite(draws).all()):
        # A NaN exceeds no draw and would pass for the smallest p-value there is.
        raise ScoreError(
            "The statistic or its null distribution is not finite, because the score or the operator's "
            "weight is too large to be squared. Check the score, or rescale the data and the model."
        )


class Null(ABC):
    """A null method: how the statistic would be distributed if the model were true.

    Only :meth:`calibrate` is required, and an object of yours with that method alone can be passed as
    `null` as it is.
    """

    simulates: ClassVar[bool] = False
    """Whether it simulates the model, so that warnings about large samples do not concern it."""

    refits: ClassVar[bool] = False
    """Whether it fits the model anew, so that a model may have been fitted to the same data."""

    bears_skewness: ClassVar[bool] = False
    """Whether it keeps its level where few observations carry the statistic."""

    @abstractmethod
    def calibrate(self, problem: Problem, *, workers: Workers, rng: np.random.Generator) -> Calibration:
        """The statistic of the problem and draws of it under the null."""

    def calibrate_jointly(
        self, collection: Collection, *, workers: Workers, rng: np.random.Generator
    ) -> JointCalibration:
        """The statistics of several tests of the same data, and joint draws of them."""
        raise InputError(
            f"{self!r} cannot draw the statistics of several tests jointly. Use WildBootstrap(), "
            "MonteCarlo() or ParametricBootstrap(fit).",
            argument="null",
        )

    def smallest_pvalue(self, asked: Problem | Collection, n: int) -> float:
        """The smallest p-value that n observations can have, however many draws are made."""
        return 0.0

    def allows(self, dependence: Dependence) -> bool:
        """Whether it keeps its level for rows that depend on each other in this way; most do not."""
        return False

    @property
    def given(self) -> Any:
        """What the user handed in."""
        return self


class OwnNull(Own, Null):
    """A user's plain object with a method ``calibrate``."""

    taken_over = ("simulates", "refits", "bears_skewness", "calibrate_jointly", "smallest_pvalue", "allows")

    def calibrate(self, problem: Problem, *, workers: Workers, rng: np.random.Generator) -> Calibration:
        ask = partial(self._own.calibrate, problem, workers=workers, rng=rng)
        found = asked(ask, f"`calibrate` of {self!r}")
        if not isinstance(found, Calibration):
            raise InputError(f"`calibrate` of {self!r} must return a Calibration, got {shown(found)}.")
        return found


def as_null(null: Any) -> Null:
    """A null method from itself, or from a user's object with a method ``calibrate``."""
    if isinstance(null, Null):
        return null
    if isinstance(null, type) or not callable(getattr(null, "calibrate", None)):
        raise must("null", "a null method such as WildBootstrap() or MonteCarlo()", null)
    if hasattr(null, "told"):  # an approximation, which a null method calibrates
        raise must("null", f"a null method; pass approximate={safe_repr(null)}", null)
    return OwnNull(null)


ROUNDS = 8
"""How often two simulated samples are looked at by two threads at the same time."""

PAUSE, CHANCE, PAUSES = 5e-4, 0.2, 400
"""Seconds of a pause in a user's functions meanwhile, for the other thread to overtake this one; the chance
of one at each step, and how many there are at most."""

LIBRARIES = {"goodstein", "numpy", "scipy", *sys.stdlib_module_names}
"""Packages within which there are no pauses."""


class _Paused:
    """A task with pauses between the steps of a user's functions, so that two threads take turns in them."""

    def __init__(self, task: Callable[[range], Array]) -> None:
        self.task, self.left = task, PAUSES

    def __call__(self, samples: range) -> Array:
        chance = np.random.default_rng([samples.start, self.left])

        def entered(frame: Any, event: str, argument: Any) -> Any:
            frame.f_trace_opcodes = True
            return None if str(frame.f_globals.get("__name__")).partition(".")[0] in LIBRARIES else pause

        def pause(frame: Any, event: str, argument: Any) -> Any:
            if self.left > 0 and chance.random() < CHANCE:
                self.left -= 1
                time.sleep(PAUSE)
            return pause

        before = sys.gettrace()
        sys.settrace(entered)
        try:
            return self.task(samples)
        finally:
            sys.settrace(before)


def _same_at_once(task: Callable[[range], Array]) -> bool:
    """Whether two samples have the same statistics in two threads at once as one after the other."""
    samples = [range(0, 1), range(1, 2)]
    with unwatched():
        alone = run(task, samples, 1, size=0)
        at_once = run(_Paused(task), samples * ROUNDS, 2, size=0)
    return np.array_equal(alone * ROUNDS, at_once)


class Simulating(Null):
    """A null method that computes the statistics of simulated samples."""

    simulates = True

    n_resamples: int

    @abstractmethod
    def task(self, collection: Collection, seed: int) -> Callable[[range], Array]:
        """The statistics of some simulated samples, (samples, tests); the k-th depends on (seed, k) alone."""

    def together(self, data: Data) -> int:
        """How many samples of the size of the data a task is given at a time."""
        return 1

    def calibrate(self, problem: Problem, *, workers: Workers, rng: np.random.Generator) -> Calibration:
        return self.calibrate_jointly(Collection.of(problem), workers=workers, rng=rng)[0]

    def calibrate_jointly(
        self, collection: Collection, *, workers: Workers, rng: np.random.Generator
    ) -> JointCalibration:
        model = collection.model
        if not model.has_sample:
            raise InputError(
                f"{type(self).__name__} simulates the model, but {model.name} has no sampler. "
                f"{model.sampler_advice}, or use {given('null', 'WildBootstrap()')}."
            )
        task = self.task(collection, draw_seed(rng))
        statistics = collection.statistics(workers)
        n, count = len(collection.data), self.n_resamples
        # Always the same samples together, whoever works: products of more rows may round otherwise.
        step = self.together(collection.data)
        batches = [range(first, min(first + step, count)) for first in range(0, count, step)]
        doubtful = not model.trusted and model.repeats is not False
        if doubtful and several(workers, n * count, len(batches)) and not _same_at_once(task):
            warn(
                f"{model.name} cannot be used by several threads at once: two found other statistics than "
                "one. One was used, as with workers=1. Its functions must keep nothing between calls."
            )
            workers = 1
        found = run(task, batches, workers, size=n * count, costs=[float(len(batch)) for batch in batches])
        return JointCalibration(statistics, np.concatenate(found).T)
