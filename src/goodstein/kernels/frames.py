"""Coordinates in which kernels see points, such that neither units nor correlations count."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.kernels.bandwidth import Median
from goodstein.types import Array

MANY = 50
"""Rows for each coordinate from which on the metric of the score is taken as it is."""
MOVED = 0.1
"""By how many standard deviations a metric about the mean may move the statistic of a true model, at most."""
SKEW = 2.0
MARGIN = 1.05
"""How far beyond the range of the eigenvalues of noise, in theory, others begin."""
CONSTANT = 1e-9
"""Weights of mean square one that differ by less are rounding errors apart."""
SINGULAR = 1e-10
"""Added to a correlation matrix that is not positive definite in floating point numbers."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates z = Lᵀy, and test functions f(y) = diag(u) L⁻ᵀf̃(z) there.

    Attributes
    ----------
    linear_map
        L: (m, m), or (m,) for a diagonal matrix.
    unit
        u: one number for each test function, (m,), or 1 where the weights of an operator need no unit.
    """

    linear_map: Array
    unit: Array | float = 1.0

    def coordinates(self, points: Array) -> Array:
        """z = Lᵀy, (n, m)."""
        linear = self.linear_map
        return np.asarray(points * linear if linear.ndim == 1 else points @ linear)

    def back(self, coordinates: Array) -> Array:
        """y, (n, m), from z."""
        linear = self.linear_map
        return np.asarray(coordinates / linear if linear.ndim == 1 else coordinates @ self._inverse)

    def values(self, value: Array) -> Array:
        """L⁻¹(u∘a), (n, m)."""
        linear, scaled = self.linear_map, value * self.unit
        return np.asarray(scaled / linear if linear.ndim == 1 else scaled @ self._inverse.T)

    def weights(self, weight: Array | None) -> Array | None:
        """LᵀG diag(u) L⁻ᵀ, in as few numbers as G has wherever it commutes with L."""
        if weight is None or weight.ndim == 1:
            return weight
        linear, scaled = self.linear_map, weight * self.unit
        if weight.ndim == 2:
            if linear.ndim == 1 or _alike(scaled, linear):
                return np.asarray(scaled)
            scaled = scaled[:, :, None] * np.eye(len(linear))
        if linear.ndim == 1:
            return np.asarray(linear[:, None] * scaled / linear)
        return np.asarray(linear.T @ scaled @ self._inverse.T)

    def of_functions(self, weight: Array) -> Array:
        """LᵀG, (n, m, J), for test functions that belong to no coordinate and stay as they are."""
        linear = self.linear_map
        return np.asarray(linear[:, None] * weight if linear.ndim == 1 else linear.T @ weight)

    @cached_property
    def _inverse(self) -> Array:
        return np.asarray(np.linalg.inv(self.linear_map), dtype=np.float64)


def _alike(weight: Array, linear: Array) -> bool:
    """Whether coordinates that L, lower triangular, mixes have the same diagonal weight in every row."""
    rows, cols = np.nonzero(np.tril(linear, -1))
    return not len(rows) or bool(np.allclose(weight[:, rows], weight[:, cols], rtol=1e-9, atol=0.0))


class Located:
    """Points at which kernels look, and what all kernels alike take from them."""

    if TYPE_CHECKING:  # a property here would be taken for the default value of a field

        @property
        def points(self) -> Any:
            """Where kernels look, (n, m)."""

    @property
    def frame(self) -> Frame | None:
        """The coordinates of choice; None: as they are."""
        return None

    @cached_property
    def median_distance(self) -> float:
        """The median distance between two points."""
        return Median()(self.points)

    def seen_in(self, frame: Frame) -> Located:
        """The same in other coordinates."""
        return _Seen(frame.coordinates(self.points))


@dataclass(frozen=True, eq=False)
class _Seen(Located):
    """Points alone."""

    points: Array


def spread_frame(points: Array) -> Frame:
    """Every coordinate in units of its median absolute deviation."""
    return Frame(1.0 / _spread(points))


def score_frame(points: Array, value: Array, weight: Array | None) -> Frame | None:
    r"""Coordinates in which neither units nor correlations of the values a of an operator count.

    For G = g·1 the metric is :math:`M = \overline{a a^\top} = LL^\top`, on R^d the mean of
    :math:`s s^\top` with the score s, whatever linear map is applied to data and model. For a diagonal G both
    a_j and G_jj are first divided by the root mean square of G_jj, after which G has no unit, and M is
    the diagonal of that matrix; but coordinates in which G_jj is constant, as in the directions in which a
    domain has no boundary, keep their correlations. None for full matrices G, from which no metric follows.

    Notes
    -----
    With fewer than 50 rows for each coordinate only those eigenvalues of the correlations count that
    independent coordinates would hardly have, beyond :math:`(1 \pm \sqrt{m/n})^2`; others are set to one.

    A mean ā that is not zero, which is what a test looks for, makes M larger, and power is lost. But M about
    the mean makes the statistic of a true model larger, by about b/n, b = k(k + 1) + 2(m − k) with k the
    eigenvalues that count, at a standard deviation of √(2m): in 20 dimensions with n = 200 and
    all correlations .17 were rejected at the level .05. So M is about c·ā, with c² as large as moves
    the statistic by a tenth of its standard deviation, or one.
    """
    if weight is not None and weight.ndim == 3:
        return None
    n, m = points.shape
    unit = weight_unit(weight)
    value = value * unit
    size = root_mean_square(value)
    # A coordinate in which nothing is seen has no unit but that of the points.
    size = np.where(size > 0, size, 1.0 / _spread(points))
    free = np.arange(m)
    if weight is not None and weight.ndim == 2:
        free = np.flatnonzero(np.ptp(weight * unit, axis=0) <= CONSTANT)
    seen = value / size
    about_zero, mean = seen.T @ seen / n, seen.mean(axis=0)
    many = n >= MANY * m
    _, counting = _correlations(about_zero[np.ix_(free, free)], n, many)
    excess = counting * (counting + 1) + 2 * (m - counting) + SKEW * float(_skewness(seen) @ _skewness(seen))
    share = min(1.0, MOVED * np.sqrt(2.0 * m) * n / excess)
    moments = about_zero - share * np.outer(mean, mean)
    size = size * np.sqrt(np.where(np.diag(moments) > 0, np.diag(moments), 1.0))
    linear = np.diag(size)
    linear[np.ix_(free, free)] = size[free, None] * _factor(
        _correlations(moments[np.ix_(free, free)], n, many)[0]
    )
    return Frame(linear if linear[~np.eye(m, dtype=bool)].any() else size, unit)


def _skewness(unit: Array) -> Array:
    """Third over second moments of every column, about the mean."""
    centred = unit - unit.mean(axis=0)
    variance = np.mean(centred**2, axis=0)
    return np.asarray(np.mean(centred**3, axis=0) / np.where(variance > 0, variance, 1.0) ** 1.5)


def _correlations(moments: Array, n: int, many: bool) -> tuple[Array, int]:
    """Correlations, with those eigenvalues set to one that n rows do not tell from it, and how many count."""
    m = len(moments)
    size = np.sqrt(np.diag(moments))
    size = np.where(size > 0, size, 1.0)
    unit = moments / np.outer(size, size)
    np.fill_diagonal(unit, 1.0)
    if many or m < 2:
        return unit, m
    eigenvalues, vectors = np.linalg.eigh(unit)
    share = np.sqrt(m / n)
    low = 0.0 if share >= 1.0 else (1.0 - share) ** 2 / MARGIN
    noise = (eigenvalues >= low) & (eigenvalues <= MARGIN * (1.0 + share) ** 2)
    noise |= (share >= 1.0) & (eigenvalues < 1.0)
    counting = m - int(noise.sum())
    if not counting:
        return np.eye(m), 0
    return np.asarray((vectors * np.where(noise, 1.0, eigenvalues)) @ vectors.T), counting


def weight_unit(weight: Array | None) -> Array | float:
    """One over the root mean square of each diagonal weight, (m,); 1 for weights of another kind."""
    if weight is None or weight.ndim != 2:
        return 1.0
    size = root_mean_square(weight)
    return np.asarray(1.0 / np.where(size > 0, size, 1.0))


def _factor(correlation: Array) -> Array:
    """Lower triangular L with LLᵀ = R."""
    try:
        return np.asarray(np.linalg.cholesky(correlation))
    except np.linalg.LinAlgError:
        eigenvalues, vectors = np.linalg.eigh(correlation)
        root = np.sqrt(np.maximum(eigenvalues, SINGULAR))
        upper: Array = np.linalg.qr((vectors * root).T, mode="r")  # type: ignore[assignment]
        return upper.T


def root_mean_square(values: Array) -> Array:
    """Of every column, without overflow."""
    largest = np.abs(values).max(axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    return np.asarray(largest * np.sqrt(np.mean((values / largest) ** 2, axis=0)))


def _spread(points: Array) -> Array:
    """The median absolute deviation of every column; where it is zero, the standard deviation; else 1."""
    spread = np.median(np.abs(points - np.median(points, axis=0)), axis=0)
    spread = np.where(spread > 0, spread, np.std(points, axis=0))
    return np.asarray(np.where(spread > 0, spread, 1.0))
