"""Null distributions by simulating the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goodstein.constraints import check_count
from goodstein.data.base import Data
from goodstein.errors import InputError
from goodstein.nulls.base import Simulating
from goodstein.problems.problem import Collection
from goodstein.types import Array

TOGETHER, ROWS = 10, 2000
"""Simulated samples that are looked at together, and their rows, at most: with small samples calls take
longer than the work, and with more rows arrays leave the cache."""


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

    def together(self, data: Data) -> int:
        if data.stacked([data]) is None:  # one by one anyway
            return 1
        return max(1, min(TOGETHER, ROWS // len(data)))

    def task(self, collection: Collection, seed: int) -> Simulated:
        return Simulated(collection, seed)


@dataclass(frozen=True)
class Simulated:
    """The statistics of some simulated samples."""

    collection: Collection
    seed: int

    def __call__(self, batch: range) -> Array:
        """Those of the k-th depend on the seed and on k alone."""
        samples = [self.collection.simulate(np.random.default_rng([self.seed, k])) for k in batch]
        try:
            return self.collection.statistics_of(samples)
        except InputError:
            return np.array([self._alone(k, sample) for k, sample in zip(batch, samples, strict=True)])

    def _alone(self, k: int, sample: Data) -> Array:
        """Those of one sample, or what is wrong with it."""
        try:
            return self.collection.with_data(sample).statistics()
        except InputError as error:
            raise error.told(before=f"Simulated sample {k} of {self.collection.model.name}: ") from None
