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

import numpy as np

from goodstein.types import Array

ORDERS = 4
"""L-moments: location, spread, skewness, tail weight."""


def l_quantities(x: Array, *, trimmed: bool = False, influence: bool = True) -> tuple[Array, Array]:
    """λ₁, log λ₂, λ₃/λ₂ and λ₄/λ₂ of each column, (4, d), and their influences, (n, 4, d).

    λ₂ of a column that does not vary is zero and its logarithm −inf.
    """
    n, d = x.shape
    order = np.argsort(x, axis=0, kind="stable")
    ordered = np.take_along_axis(x, order, axis=0)
    moments = _estimator(n, trimmed) @ ordered / n
    spread = np.where(moments[1] > 0, moments[1], np.nan)
    with np.errstate(divide="ignore"):
        values = np.stack([moments[0], np.log(moments[1]), moments[2] / spread, moments[3] / spread])
    if not influence:
        return values, np.empty((0, ORDERS, d))
    share = np.arange(1, n) / n
    pieces = _weights(share, trimmed)[:, :, None] * np.diff(ordered, axis=0)  # (4, n − 1, d)
    tail = np.zeros((ORDERS, n, d))
    tail[:, :-1] = np.cumsum(pieces[:, ::-1], axis=1)[:, ::-1]
    raw = np.einsum("k,okd->od", share, pieces)[:, None] - tail
    psi = np.empty((ORDERS, n, d))
    np.put_along_axis(psi, np.broadcast_to(order, psi.shape), raw, axis=1)
    psi[2:] -= values[2:, None] * psi[1]
    psi[1:] /= spread
    return values, np.moveaxis(psi, 0, 1)


def _weights(u: Array, trimmed: bool) -> Array:
    """J at u, (4, k)."""
    v = 2.0 * u - 1.0
    if not trimmed:
        return np.stack([np.ones_like(v), v, 1.5 * v**2 - 0.5, 2.5 * v**3 - 1.5 * v])
    bell = 6.0 * u * (1.0 - u)
    return np.stack([bell, bell * v, bell * (5 * v**2 - 1), bell * (7 * v**3 - 3 * v)])


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


def ranks(x: Array) -> Array:
    """Ranks of each column over n, ties in the middle, (n, d)."""
    n = len(x)
    out = np.empty(x.shape)
    for j, column in enumerate(x.T):
        ordered = np.sort(column)
        low, high = (np.searchsorted(ordered, column, side) for side in ("left", "right"))
        out[:, j] = (low + high + 1) / (2.0 * n)
    return out


def rank_correlations(
    x: Array, pairs: Sequence[tuple[int, int]], *, influence: bool = True
) -> tuple[Array, Array]:
    """Spearman's correlation of each pair of columns, (p,), and its influences, (n, p)."""
    n = len(x)
    u = ranks(x)
    first, second = (np.array([pair[k] for pair in pairs], dtype=np.intp) for k in (0, 1))
    # In units in which the correlation of a column with itself is exactly one, ties or not.
    centred = u - u.mean(axis=0)
    size = np.sqrt(np.maximum((centred**2).mean(axis=0), 1e-12))
    product = (centred.T @ centred / n)[first, second]
    scale = size[first] * size[second]
    values = product / scale
    if not influence:
        return values, np.empty((0, len(pairs)))
    psi = centred[:, first] * centred[:, second] - 3.0 * product
    for j in range(x.shape[1]):
        order = np.argsort(-u[:, j], kind="stable")
        above = np.empty(x.shape)
        above[order] = np.cumsum(centred[order], axis=0) / n
        # Rows with the same value share what is above them.
        for side, other in ((first, second), (second, first)):
            which = np.flatnonzero(side == j)
            psi[:, which] += above[:, other[which]]
    psi -= psi.mean(axis=0)
    return values, psi / scale


def mean_rank_correlation(x: Array, *, influence: bool = True) -> tuple[float, Array]:
    """The mean of :func:`rank_correlations` over all pairs, and its influences, (n,), in linear time."""
    n, d = x.shape
    u = ranks(x)
    centred = u - u.mean(axis=0)
    size = np.sqrt(np.maximum((centred**2).mean(axis=0), 1e-12))
    centred /= size
    pairs = d * (d - 1) / 2.0
    total = centred.sum(axis=1)
    psi = 0.5 * (total**2 - (centred**2).sum(axis=1))
    value = float(psi.mean()) / pairs
    if not influence:
        return value, np.empty(0)
    for j in range(d):
        order = np.argsort(-u[:, j], kind="stable")
        psi[order] += np.cumsum((total - centred[:, j])[order]) / (n * size[j])
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
    turned = np.einsum("ij,jk,ik->i", z, slope, z) - np.trace(slope)
    psi = radius - radius.mean() - 0.5 * turned - z @ (z / radius[:, None]).mean(axis=0)
    return value, np.asarray(psi / np.sqrt(d)), radius / np.sqrt(d)
