r"""Quantities of a sample, each with the influence of every row on it.

A quantity is T(P̂), a smooth function of the empirical distribution, and T(P̂) ≈ T(P) + mean ψ(x_i) with the
influence ψ. Those here are about one thing alone, whatever else is wrong: the spread does not change with the
mean, nor skewness and tail weight with mean and spread, nor rank correlations with any margin.

*L-moments* (Hosking 1990): λ_r = ∫ x(u) J_r(u) du with x(u) the quantiles and J_r the shifted Legendre
polynomials. λ₁ is the mean, λ₂ half of Gini's mean difference, λ₃/λ₂ the L-skewness and λ₄/λ₂ the
L-kurtosis, both between −1 and 1. They exist where the mean does, rows far out count linearly and not by
powers, and they lose little where the data are normal. For models with heavier tails the weights are
Gegenbauer's, J_r(u)·6u(1 − u) and the like, which take extremes away. The influence of a value x is

.. math:: \psi(x) = -\int (1\{x \le y\} - F(y))\, J(F(y))\, dy.

*Spearman's correlation* 12 E[F(X)G(Y)] − 3 has ψ(x, y) = 12 (F(x)G(y) + E[1{X ≥ x}G(Y)] + E[1{Y ≥ y}F(X)]
− 3 E[F(X)G(Y)]). *The mean radius* E‖z‖/√d is that of rows z in units of their own covariance: it is 1 where
all have the same radius, and smaller the heavier the tails.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from goodstein.lazy import cached_property
from goodstein.numerics.ranges import cut
from goodstein.numerics.ranks import doubled_ranks
from goodstein.types import Array

AT_ONCE = 1 << 14
"""Numbers of a table of cumulative sums that is held at a time: more leave the cache."""

ORDERS = 4
"""L-moments: location, spread, skewness, tail weight."""


class Sorted:
    """Columns (n, d) in their order, and their ranks, which several quantities are made of."""

    def __init__(self, x: Array) -> None:
        self._x = x
        self.order = np.argsort(x, axis=0)
        self.values = np.take_along_axis(x, self.order, axis=0)

    @cached_property
    def _twice(self) -> npt.NDArray[np.intp]:
        return doubled_ranks(self._x, self.order)

    @cached_property
    def ranks(self) -> Array:
        """Ranks over n less their mean, (n, d)."""
        u = self._twice / (2.0 * len(self.values))
        return np.asarray(u - u.mean(axis=0))

    @cached_property
    def size(self) -> Array:
        """Their standard deviations, (d,): the units in which a column's correlation with itself is one."""
        return np.asarray(np.sqrt(np.maximum((self.ranks**2).mean(axis=0), 1e-12)))

    @cached_property
    def downwards(self) -> npt.NDArray[np.intp]:
        """The rows of each column from the largest on, rows with the same value in their order, (n, d)."""
        if (self.values[1:] != self.values[:-1]).all():
            return self.order[::-1]
        # Small numbers are sorted by their digits, in linear time.
        fits = 2 * len(self.values) < np.iinfo(np.int16).max
        small = (-self._twice).astype(np.int16 if fits else np.int32)
        return np.argsort(small, axis=0, kind="stable")


def l_quantities(columns: Sorted, *, trimmed: bool = False, influence: bool = True) -> tuple[Array, Array]:
    """λ₁, log λ₂, λ₃/λ₂ and λ₄/λ₂ of each column, (4, d), and their influences, (n, 4, d).

    λ₂ of a column that does not vary is zero and its logarithm −inf.
    """
    order, ordered = columns.order, columns.values
    n, d = ordered.shape
    moments = _estimator(n, trimmed) @ ordered / n
    spread = np.where(moments[1] > 0, moments[1], np.nan)
    with np.errstate(divide="ignore"):
        values = np.stack([moments[0], np.log(moments[1]), moments[2] / spread, moments[3] / spread])
    if not influence:
        return values, np.empty((0, ORDERS, d))
    falls = np.diff(ordered[::-1], axis=0)  # from the largest value on
    raw = np.zeros((n, ORDERS, d))
    np.cumsum(_at_shares(n, trimmed)[:, :, None] * falls[:, None], axis=0, out=raw[1:])
    raw -= raw.mean(axis=0)
    raw[:, 2:] -= values[2:] * raw[:, 1:2]
    raw[:, 1:] /= spread
    psi = np.empty((n, ORDERS, d))
    psi[order[::-1, None], np.arange(ORDERS)[:, None], np.arange(d)] = raw
    return values, psi


@lru_cache(maxsize=4)
def _at_shares(n: int, trimmed: bool) -> Array:
    """J at (n − 1)/n, …, 1/n, (n − 1, 4)."""
    return np.ascontiguousarray(_weights(np.arange(n - 1, 0, -1) / n, trimmed).T)


def _weights(u: Array, trimmed: bool) -> Array:
    """J at u, (4, k)."""
    v = 2.0 * u - 1.0
    if not trimmed:
        return np.stack([np.ones_like(v), v, 1.5 * v**2 - 0.5, 2.5 * v**3 - 1.5 * v])
    bell = 6.0 * u * (1.0 - u)
    return np.stack([bell, bell * v, bell * (5 * v**2 - 1), bell * (7 * v**3 - 3 * v)])


@lru_cache(maxsize=4)
def _estimator(n: int, trimmed: bool) -> Array:
    """Weights of the order statistics, (4, n); those of plain L-moments make them unbiased."""
    if trimmed:
        return _weights((np.arange(n) + 0.5) / n, True)
    i = np.arange(n, dtype=np.float64)
    b = [np.ones(n)]
    for r in range(1, ORDERS):
        b.append(b[-1] * (i - r + 1) / max(n - r, 1))
    rows = [b[0], 2 * b[1] - b[0], 6 * b[2] - 6 * b[1] + b[0], 20 * b[3] - 30 * b[2] + 12 * b[1] - b[0]]
    return np.stack(rows)


def rank_correlations(
    columns: Sorted, pairs: Sequence[tuple[int, int]], *, influence: bool = True
) -> tuple[Array, Array]:
    """Spearman's correlation of each pair of columns, (p,), and its influences, (n, p)."""
    centred, size = columns.ranks, columns.size
    n, d = centred.shape
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    product = (centred.T @ centred / n)[first, second]
    scale = size[first] * size[second]
    values = product / scale
    if not influence:
        return values, np.empty((0, len(pairs)))
    # A column after the other in memory, where sums along it are fast.
    rows, down = np.ascontiguousarray(centred.T), columns.downwards
    place = np.empty_like(down)
    place[down, np.arange(d)] = np.arange(n)[:, None]
    psi = rows[first] * rows[second]
    for some in cut(0, d, max(1, AT_ONCE // (n * d))):
        many = some.stop - some.start
        above = np.cumsum(rows.take(down[:, some].T, axis=1), axis=2).reshape(d, many * n)
        back = place[:, some].T + n * np.arange(many)[:, None]
        above = above.take(back, axis=1).reshape(d * many, n) / n
        for side, other in ((first, second), (second, first)):
            which = np.flatnonzero((some.start <= side) & (side < some.stop))
            psi[which] += above[other[which] * many + side[which] - some.start]
    psi -= psi.mean(axis=1, keepdims=True)
    return values, (psi / scale[:, None]).T


def mean_rank_correlation(columns: Sorted, *, influence: bool = True) -> tuple[float, Array]:
    """The mean of :func:`rank_correlations` over all pairs, and its influences, (n,), in linear time."""
    size, centred = columns.size, columns.ranks / columns.size
    n, d = centred.shape
    pairs = d * (d - 1) / 2.0
    total = centred.sum(axis=1)
    psi = 0.5 * (total**2 - (centred**2).sum(axis=1))
    value = float(psi.mean()) / pairs
    if not influence:
        return value, np.empty(0)
    order = columns.downwards
    above = np.empty((n, d))
    others = np.take_along_axis(total[:, None] - centred, order, axis=0)
    np.put_along_axis(above, order, np.cumsum(others, axis=0) / (n * size), axis=0)
    for column in above.T:
        psi += column
    return value, np.asarray((psi - psi.mean()) / pairs)


def mean_radius(x: Array, *, influence: bool = True) -> tuple[float, Array, Array]:
    """E‖z‖/√d in units of the rows' own covariance, its influences, (n,), and the radii over √d, (n,)."""
    n, d = x.shape
    centred = x - x.mean(axis=0)
    covariance = centred.T @ centred / n
    try:
        root = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:  # rows in a plane have no radius
        return np.nan, np.zeros(n if influence else 0), np.zeros(n)
    z = np.linalg.solve(root, centred.T).T
    radius = np.maximum(np.linalg.norm(z, axis=1), 1e-12)
    value = float(radius.mean()) / np.sqrt(d)
    if not influence:
        return value, np.empty(0), radius / np.sqrt(d)
    slope = (z / radius[:, None]).T @ z / n
    turned = ((z @ slope) * z).sum(axis=1) - np.trace(slope)
    psi = radius - radius.mean() - 0.5 * turned - z @ (z / radius[:, None]).mean(axis=0)
    return value, np.asarray(psi / np.sqrt(d)), radius / np.sqrt(d)
