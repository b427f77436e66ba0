"""Coordinates in which kernels see points, such that neither units nor correlations count."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.kernels.bandwidth import Median
from goodstein.numerics.ranks import medians
from goodstein.types import Array, BoolArray

MANY = 50
"""Rows for each coordinate from which on the metric of the score is taken as it is."""
LINEAR = 5
"""Rows for each coordinate from which on the linear part of a score is found by regression."""
MOVED = 0.05
"""By how many standard deviations a metric about the mean may move the upper quantile of the statistic."""
MARGIN = 1.05
"""How far beyond the range of the eigenvalues of noise, in theory, others begin."""
CONSTANT = 1e-9
"""Weights of mean square one that differ by less are rounding errors apart."""
FAR_OUT = 1e8
"""Rows with values so many times the usual ones are a matter of slips and fill values, not of units."""
SQUARED = float(np.sqrt(np.finfo(float).tiny))
"""Values of which smaller ones are too small to be squared."""
DEPENDENT = 1e-3
"""Share of a column, at least, that those before it leave unexplained, for products to lose few digits."""
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
    def shared(self) -> Located | None:
        """What kernels look at in the place of these, where it is the same object whatever the data are."""
        return None

    @property
    def frame(self) -> Frame | None:
        """The coordinates of choice; None: as they are."""
        return None if self.shared is None else self.shared.frame

    @cached_property
    def median_distance(self) -> float:
        """The median distance between two points."""
        return Median()(self.points) if self.shared is None else self.shared.median_distance

    def stacked(self, count: int) -> Any:
        """These as `count` samples of the same size, one after another; None where that is of no use."""
        return None

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
    Dividing by an M that comes from the same data costs level or power, as Hotelling's T² does, and more of
    it the more coordinates there are. Three things keep the cost small.

    1. For G = 1 and n ≥ 5m the score is split into its regression on the points and a rest, s = −B(y − ȳ) +
       s̄ + e. Under the model E ssᵀ = E(B + Bᵀ)/2 + E eeᵀ, and the first term has no noise where the score is
       linear, as that of a normal distribution is. With ϱ the share of the second, n/ϱ² stands for n below.
    2. With n < 50m only those eigenvalues of the correlations count that independent coordinates would
       hardly have, beyond :math:`(1 \pm \sqrt{m/n})^2`; others are set to one.
    3. A mean ā that is not zero, which is what a test looks for, makes M larger, and power is lost. But M
       about the mean makes large statistics of a true model larger: with k eigenvalues that count, by about
       Q²/n at a standard deviation of √(2m), Q the upper quantile of χ² with k degrees of freedom.
       (In 20 dimensions, n = 200, .17 were rejected at the level .05.) So c·āāᵀ is taken off, with c as large
       as moves that quantile by a twentieth of a standard deviation, or one.
    """
    if weight is not None and weight.ndim == 3:
        return None
    near = _near(value)
    if near is not None:
        points, value, weight = points[near], value[near], None if weight is None else weight[near]
    n, m = points.shape
    if weight is not None and weight.ndim == 1:
        # A multiple of g is the same g; a constant one is none.
        mean_weight = float(root_mean_square(weight)) or 1.0
        value, weight = value / mean_weight, weight / mean_weight
        weight = None if np.ptp(weight) <= CONSTANT else weight
    unit = weight_unit(weight)
    value = value * unit
    size = root_mean_square(value)
    seeing = size > SQUARED
    if not seeing.all():
        # A coordinate in which nothing is seen has no unit but that of the points.
        size = np.where(seeing, size, 1.0 / _spread(points))
    free = np.arange(m)
    if weight is not None and weight.ndim == 2:
        free = np.flatnonzero(np.ptp(weight * unit, axis=0) <= CONSTANT)
    seen = value / size
    mean = seen.mean(axis=0)
    moments, noise = seen.T @ seen / n, 1.0
    if weight is None and n >= LINEAR * m:
        moments, noise = _regressed((points - points.mean(axis=0)) * size, seen, moments)
    rows = n / max(noise, SINGULAR) ** 2
    block = np.ix_(free, free)
    _, counting = _correlations(moments[block], rows)
    quantile = counting + 1.65 * np.sqrt(2.0 * counting)
    share = min(1.0, MOVED * np.sqrt(2.0 * m) * rows / (quantile**2 + 5.0 * (m - counting)))
    moments -= share * np.outer(mean, mean)
    diagonal = np.diag(moments)
    size = size * np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    correlation, counting = _correlations(moments[block], rows)
    if len(free) < 2 or not counting:
        return Frame(size, unit)
    linear = np.diag(size)
    linear[block] = size[free, None] * _factor(correlation)
    return Frame(linear, unit)


def _near(value: Array) -> BoolArray | None:
    """Rows without values that are far beyond the usual ones, which would be all of M; None: all rows."""
    size = np.abs(value)
    largest = size.max(axis=0)
    # The smallest, which is quickly found, usually tells.
    if (largest <= FAR_OUT * size.min(axis=0)).all():
        return None
    usual = medians(size)
    if not (largest > FAR_OUT * usual).any():
        return None
    # Where most values are zero, there is no usual one.
    near = np.asarray(((size <= FAR_OUT * usual) | (usual == 0.0)).all(axis=1))
    return None if near.all() else near


def _regressed(points: Array, value: Array, moments: Array) -> tuple[Array, float]:
    """Moments by regression, (B + Bᵀ)/2 + mean eeᵀ + āāᵀ, and ϱ; as they are where that is not positive."""
    n, m = points.shape
    if not np.isfinite(points).all():  # too large to be squared, which the bandwidth will tell
        return moments, 1.0
    mean = value.mean(axis=0)
    centred = value - mean
    slopes = _slopes(points, centred)
    rest = centred - points @ slopes
    spread = rest.T @ rest / (n - m)
    found = -0.5 * (slopes + slopes.T) + spread
    try:
        np.linalg.cholesky(found)
        noise = min(1.0, float(np.trace(np.linalg.solve(found, spread))) / m)
    except np.linalg.LinAlgError:
        return moments, 1.0
    return found + np.outer(mean, mean), noise


def _slopes(points: Array, value: Array) -> Array:
    """Least squares of values on points, both centred: by products unless columns nearly depend on others."""
    products = points.T @ points
    size = np.sqrt(np.diag(products))
    if (size > 0).all():
        unit = products / np.outer(size, size)
        try:
            if np.diag(np.linalg.cholesky(unit)).min() > DEPENDENT:
                return np.asarray(np.linalg.solve(unit, points.T @ value / size[:, None]) / size[:, None])
        except np.linalg.LinAlgError:
            pass
    return np.asarray(np.linalg.lstsq(points, value, rcond=None)[0])


def _correlations(moments: Array, rows: float) -> tuple[Array, int]:
    """Correlations, eigenvalues that so many rows do not tell from one set to it, and how many count."""
    m = len(moments)
    size = np.sqrt(np.diag(moments))
    size = np.where(size > 0, size, 1.0)
    unit = moments / np.outer(size, size)
    np.fill_diagonal(unit, 1.0)
    if m < 2 or rows >= MANY * m:
        return unit, m
    eigenvalues, vectors = np.linalg.eigh(unit)
    share = np.sqrt(m / rows)
    low = 0.0 if share >= 1.0 else (1.0 - share) ** 2 / MARGIN
    noise = (eigenvalues >= low) & (eigenvalues <= MARGIN * (1.0 + share) ** 2)
    noise |= (share >= 1.0) & (eigenvalues < 1.0)
    counting = m - int(noise.sum())
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
    spread = medians(np.abs(points - medians(points)))
    spread = np.where(spread > 0, spread, np.std(points, axis=0))
    return np.asarray(np.where(spread > 0, spread, 1.0))
