"""The spectral null distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goodstein.engine.executors import Workers
from goodstein.nulls.base import Calibration
from goodstein.problems.problem import Problem
from goodstein.validation import check_count


@dataclass(frozen=True)
class Spectral:
    """The limit law: n·U ⇒ Σ_j λ_j(Z_j² − 1), with λ_j the eigenvalues of H/n.

    Parameters
    ----------
    n_resamples
        Number of draws from the limit law.
    max_points
        Beyond this many observations the eigenvalues are those of a random subsample of this
        size, which bounds time and memory.

    Notes
    -----
    The eigenvalues of H itself, which some papers print, are n times too large.

    Examples
    --------
    >>> import goodstein as gs
    >>> x = gs.families.Normal(0, 1).sample(100, rng=1)
    >>> gs.ksd_test(x, gs.families.Normal(1, 1), null=gs.Spectral(), rng=1).pvalue < 0.01
    True
    """

    n_resamples: int = 9999
    max_points: int = 1000

    def __post_init__(self) -> None:
        check_count(self.n_resamples, "n_resamples")
        check_count(self.max_points, "max_points", least=2)

    def calibrate(self, problem: Problem, *, workers: Workers, rng: np.random.Generator) -> Calibration:
        """The statistic, and draws from the limit law divided by n."""
        form = problem.form
        n = form.n
        if n > self.max_points:
            form = form.take(np.sort(rng.choice(n, self.max_points, replace=False)))
        eigenvalues = np.linalg.eigvalsh(form.matrix()) / form.n
        eigenvalues = eigenvalues[eigenvalues > 1e-12 * eigenvalues[-1]]
        draws = np.empty(self.n_resamples)
        for start in range(0, self.n_resamples, 512):
            stop = min(start + 512, self.n_resamples)
            draws[start:stop] = (
                rng.standard_normal((stop - start, len(eigenvalues))) ** 2 - 1.0
            ) @ eigenvalues
        return Calibration(problem.statistic(workers), draws / n)
