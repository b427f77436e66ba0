r"""A near-linear test: the same null hypothesis by a statistic that takes O(n) and not O(n²).

The approximation is a sum of Stein kernels, so that its mean is zero under the model, exactly and at every n,
and random signs on the same features give its null distribution. What is lost is power, which
``validation/power.md`` has beside that of the exact test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.auditing.serial import Dependence
from goodstein.constraints import check_count
from goodstein.engine.executors import Workers
from goodstein.engine.thin import thin_forms
from goodstein.errors import InputError, ScoreError, must
from goodstein.nulls.base import Calibration, Null
from goodstein.nulls.wild import WildBootstrap
from goodstein.problems.problem import Collection, Problem
from goodstein.stein.forms import BlockForm
from goodstein.types import Array

MOST = 1000
"""Landmarks of the default rule at most: with more the cost of projecting on them is that of all else."""

RESOLVED = 1e-10
"""Eigenvalues of the landmarks' matrix below this share of the largest are rounding errors."""


@dataclass(frozen=True)
class Nystrom:
    r"""Project the Stein features on those of m landmarks: O(nm² + m³) time, in little memory.

    With landmarks z, m of the observations, and :math:`H_m(x) = (h(z_1, x), \dots, h(z_m, x))^\top`,

    .. math:: \psi(x) = H_{mm}^{+1/2} H_m(x), \qquad
              U = \frac{1}{n(n-1)} \sum_{i \ne j} \psi(x_i)^\top \psi(x_j),

    and a draw of the wild bootstrap has the features ±ψ(x_i). ψ(x)·ψ(x′) is the inner product of the features
    projected on the span of the landmarks', so that U sees a discrepancy as far as it lies there: with all
    observations as landmarks this is the exact test.

    Parameters
    ----------
    landmarks
        m, drawn from the rows without replacement; None takes min(⌈4√n⌉, 1000).

    Notes
    -----
    Given the landmarks the mean of h(z, x) over the model is zero for every z, and so is that of
    ψ(x)·ψ(x′) over pairs of different rows. The level is that of :class:`WildBootstrap`: asymptotic, and
    measured in ``validation/size.md``.

    References
    ----------
    Kalinke, Szabó, Sriperumbudur (2025), Nyström kernel Stein discrepancy.

    Examples
    --------
    >>> import goodstein as gs
    >>> x = gs.families.StudentT(10.0, [0.0, 0.0]).sample(5000, rng=1)
    >>> gs.ksd_test(x, gs.families.Normal([0, 0]), approximate=gs.Nystrom(), rng=1).pvalue < 0.01
    True
    """

    landmarks: int | None = None

    def __post_init__(self) -> None:
        if self.landmarks is not None:
            check_count(self.landmarks, "landmarks", 2, of="Nystrom")

    def count(self, n: int) -> int:
        """m."""
        wanted = min(math.ceil(4.0 * math.sqrt(n)), MOST) if self.landmarks is None else self.landmarks
        return min(wanted, n)

    def calibrate(
        self, problem: Problem, signs: WildBootstrap, *, workers: Workers, rng: np.random.Generator
    ) -> Calibration:
        """The approximate statistic and draws of it by random signs."""
        form = problem.form
        weights = signs.weights(problem, form.n, rng)
        chosen = np.sort(rng.choice(form.n, self.count(form.n), replace=False))
        rows = Projected(form, chosen, inverse_root(form.take(chosen).matrix()))
        return Calibration(*thin_forms(rows, form.n, weights, workers=workers))

    def told(self, n: int) -> str:
        """What was done with n observations, in words."""
        return f"{self.count(n)} landmarks (Nyström)"


def inverse_root(matrix: Array) -> Array:
    """W, (m, r), such that H_m(x) ↦ Wᵀ H_m(x) are coordinates of the projection, from H_mm.

    Features are first brought to length one, which leaves their span as it is: beside one that is very long,
    others would pass for rounding errors.
    """
    lengths = np.sqrt(matrix.diagonal())
    scales = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
    scaled = scales[:, None] * matrix * scales
    if not np.isfinite(scaled).all():
        raise ScoreError("The Stein kernel between landmarks is not finite. Check the units of the data.")
    values, vectors = np.linalg.eigh(scaled)
    kept = values > RESOLVED * max(values[-1], 0.0)
    return np.asarray(scales[:, None] * vectors[:, kept] / np.sqrt(values[kept]))


@dataclass(frozen=True)
class Projected:
    """ψ of some rows: their columns in the landmarks' rows of H, times W."""

    form: BlockForm
    landmarks: Any
    root: Array

    def __call__(self, index: Any) -> Array:
        """Only factors of these rows and of the landmarks are ever made."""
        m = len(self.landmarks)
        rows = np.arange(index.start, index.stop) if isinstance(index, slice) else index
        joint = self.form.take(np.concatenate([self.landmarks, rows]))
        return np.asarray(joint.block(slice(0, m), slice(m, m + len(rows))).T @ self.root)


@dataclass(frozen=True)
class Approximated(Null):
    """Random signs for an approximate statistic."""

    signs: WildBootstrap
    approximation: Nystrom

    def calibrate(self, problem: Problem, *, workers: Workers, rng: np.random.Generator) -> Calibration:
        if problem.form.factor is not None:
            raise InputError(
                f"{problem.operator!r} has finitely many features, so that its exact test is linear in n "
                "already. Leave `approximate` out.",
                argument="approximate",
            )
        return self.approximation.calibrate(problem, self.signs, workers=workers, rng=rng)

    def smallest_pvalue(self, asked: Problem | Collection, n: int) -> float:
        return self.signs.smallest_pvalue(asked, n)

    def allows(self, dependence: Dependence) -> bool:
        return self.signs.allows(dependence)

    @property
    def given(self) -> Any:
        return self.signs


def approximated(null: Null, approximation: Any) -> Approximated:
    """The null method of an approximate statistic, from the one of the exact statistic."""
    if not isinstance(approximation, Nystrom):
        raise must("approximate", "Nystrom() or None", approximation)
    if null.refits:
        raise InputError(
            "does not take account of a fit to these very data, which FittedWildBootstrap and "
            "ParametricBootstrap do for exact statistics.",
            argument="approximate",
            predicate=True,
            remedy="Fit the model to some of the rows and test it on the others: "
            "first, second = gs.split(data, rng=0).",
        )
    if not isinstance(null, WildBootstrap):
        raise InputError(
            f"must be a WildBootstrap where the statistic is approximate, got {null.given!r}.",
            argument="null",
            predicate=True,
        )
    return Approximated(null, approximation)
