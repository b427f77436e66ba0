"""The spectral null distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goodstein.constraints import check_count
from goodstein.engine.executors import Workers
from goodstein.nulls.base import Calibration, Null
from goodstein.problems.problem import Problem
from goodstein.types import Array

ROWS = 512
"""Draws that are made at a time."""


@dataclass(frozen=True)
class Spectral(Null):
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
        form = problem.form
        n = form.n
        if n > self.max_points:
            form = form.take(np.sort(rng.choice(n, self.max_points, replace=False)))
        eigenvalues = np.linalg.eigvalsh(form.matrix()) / form.n
        count = self.n_resamples
        parts = [slice(start, min(start + ROWS, count)) for start in range(0, count, ROWS)]
        return Calibration(problem.statistic(workers), limit_law(eigenvalues, parts, rng) / n)


def limit_law(eigenvalues: Array, parts: Sequence[slice], rng: np.random.Generator) -> Array:
    """Draws of Σ_j λ_j(Z_j² − 1), some at a time.

    Of the eigenvalues λ, ascending, those that are rounding errors are left out.
    """
    eigenvalues = eigenvalues[eigenvalues > 1e-12 * eigenvalues[-1]]
    normal = (rng.standard_normal((part.stop - part.start, len(eigenvalues))) for part in parts)
    return np.concatenate([(z**2 - 1.0) @ eigenvalues for z in normal])
