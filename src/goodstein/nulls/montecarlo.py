"""Null distributions by simulating the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goodstein.constraints import check_count
from goodstein.errors import InputError
from goodstein.nulls.base import Simulating
from goodstein.problems.problem import Collection
from goodstein.types import Array


@dataclass(frozen=True)
class MonteCarlo(Simulating):
    """Simulate the model: the p-value is exact at every sample size.

    Every simulated sample goes through the same steps as the data, bandwidth rules included, so
    the observed and the simulated statistics are exchangeable under the null. The model must be
    able to draw independent samples.

    Parameters
    ----------
    n_resamples
        Number of simulated samples; the level is exact when level·(n_resamples + 1) is a whole number.

    Examples
    --------
    >>> import goodstein as gs
    >>> x = gs.families.Normal(0, 1).sample(50, rng=1)
    >>> gs.ksd_test(x, gs.families.Normal(1, 1), null=gs.MonteCarlo(99), rng=1).pvalue
    0.01
    """

    n_resamples: int = 999

    def __post_init__(self) -> None:
        check_count(self.n_resamples, "n_resamples")

    def task(self, collection: Collection, seed: int) -> Simulated:
        return Simulated(collection, seed)


@dataclass(frozen=True)
class Simulated:
    """The statistics of the k-th simulated sample."""

    collection: Collection
    seed: int

    def __call__(self, k: int) -> Array:
        """They depend on the seed and on k alone."""
        sample = self.collection.simulate(np.random.default_rng([self.seed, k]))
        try:
            return self.collection.with_data(sample).statistics()
        except InputError as error:
            raise error.told(before=f"Simulated sample {k} of {self.collection.model.name}: ") from None
