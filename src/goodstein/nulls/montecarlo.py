"""Null distributions by simulating the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from goodstein.engine.executors import Workers, run
from goodstein.errors import BandwidthError, InputError, ScoreError
from goodstein.nulls.base import Calibration, JointCalibration, draw_seed
from goodstein.problems.collection import Collection
from goodstein.problems.problem import Problem
from goodstein.types import Array
from goodstein.validation import check_count


@dataclass(frozen=True)
class MonteCarlo:
    """Simulate the model: the p-value is exact at every sample size.

    Every simulated sample goes through the same steps as the data, bandwidth rules included, so
    the observed and the simulated statistics are exchangeable under the null. The model must be
    able to draw independent samples.

    Parameters
    ----------
    n_resamples
        Number of simulated samples; the level is exact when level·(n_resamples + 1) is a whole
        number.

    Examples
    --------
    >>> import goodstein as gs
    >>> x = gs.families.Normal(0, 1).sample(50, rng=1)
    >>> gs.ksd_test(x, gs.families.Normal(1, 1), null=gs.MonteCarlo(99), rng=1).pvalue
    0.01
    """

    n_resamples: int = 999

    simulates = True  # no annotation: not a field

    def __post_init__(self) -> None:
        check_count(self.n_resamples, "n_resamples")

    def calibrate(self, problem: Problem, *, workers: Workers, rng: np.random.Generator) -> Calibration:
        """The statistic of the data and of every simulated sample."""
        require_sampler(problem.model, "MonteCarlo")
        task = _Simulated(problem, draw_seed(rng))
        statistic = problem.statistic(workers)
        draws = run(task, range(self.n_resamples), workers, size=problem.form.n * self.n_resamples)
        return Calibration(statistic, np.array(draws))

    def calibrate_jointly(
        self, collection: Collection, *, workers: Workers, rng: np.random.Generator
    ) -> JointCalibration:
        """The statistics of several tests, of the data and of every simulated sample."""
        require_sampler(collection.model, "MonteCarlo")
        task = _SimulatedJointly(collection, draw_seed(rng))
        statistics = collection.statistics(workers)
        draws = run(task, range(self.n_resamples), workers, size=len(collection.data) * self.n_resamples)
        return JointCalibration(statistics, np.array(draws).T)


@dataclass(frozen=True)
class _SimulatedJointly:
    """The statistics of the k-th simulated sample."""

    collection: Collection
    seed: int

    def __call__(self, k: int) -> Array:
        sample = self.collection.simulate(np.random.default_rng([self.seed, k]))
        try:
            return self.collection.with_data(sample).statistics()
        except (InputError, ScoreError) as error:
            raise type(error)(
                f"Simulated sample {k} of {self.collection.model.name}: {str(error).removeprefix('`data`: ')}"
            ) from None


@dataclass(frozen=True)
class _Simulated:
    """The statistic of the k-th simulated sample; its random numbers depend on (seed, k) alone."""

    problem: Problem
    seed: int

    def __call__(self, k: int) -> float:
        sample = self.problem.simulate(np.random.default_rng([self.seed, k]))
        simulated = self.problem.with_data(sample)
        try:
            try:
                return simulated.statistic()
            except BandwidthError:
                # A sample of equal points, such as durations that all end with the study, has no scale of
                # its own and takes that of the data.
                return replace(simulated, kernel=self.problem.fitted_kernel).statistic()
        except (InputError, ScoreError) as error:
            raise type(error)(
                f"Simulated sample {k} of {self.problem.model.name}: {str(error).removeprefix('`data`: ')}"
            ) from None


def require_sampler(model: Any, method: str) -> None:
    """Raise where the model cannot be simulated."""
    if not model.has_sample:
        # A subclass takes the sampler itself; other kinds of models say how theirs is called.
        own = f"Pass {type(model).__name__}(..., sample=function of (n, rng))"
        advice = getattr(model, "sampler_advice", own)
        raise InputError(
            f"{method} simulates the model, but {model.name} has no sampler. {advice}, or use "
            "null=WildBootstrap()."
        )
