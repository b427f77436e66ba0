"""The coordinates of the default kernels, from the values of an operator, of one or several samples."""

from __future__ import annotations

import numpy as np

from goodstein.kernels.frames import Frame, absolute_deviations
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
    frames = score_frames(points[None], value[None], None if weight is None else weight[None])
    return None if frames is None else frames[0]


def score_frames(points: Array, value: Array, weight: Array | None) -> list[Frame] | None:
    """Those of several samples of one size, (k, n, m), each by itself."""
    if weight is not None and weight.ndim == 4:
        return None
    try:
        return _frames(points, value, weight)
    except _Differ:
        parts = [None] * len(points) if weight is None else weight
        each = zip(points, value, parts, strict=True)
        return [_frames(p[None], v[None], None if w is None else w[None])[0] for p, v, w in each]


class _Differ(Exception):
    """Not all samples are as usual, so that they go one by one."""


def _unusual(samples: Array) -> None:
    """Where a sample is not as most are: to be done by itself."""
    if len(samples) > 1:
        raise _Differ


def _frames(points: Array, value: Array, weight: Array | None) -> list[Frame]:
    near = _near(value)
    if near is not None:
        points, value, weight = points[:, near], value[:, near], None if weight is None else weight[:, near]
    n, m = points.shape[1:]
    if weight is not None and weight.ndim == 2:
        # A multiple of g is the same g; a constant one is none.
        mean_weight = root_mean_square(weight, axis=1)[:, None]
        mean_weight = np.where(mean_weight > 0, mean_weight, 1.0)
        value, weight = value / mean_weight[:, :, None], weight / mean_weight
        constant = np.ptp(weight, axis=1) <= CONSTANT
        if constant.any() and not constant.all():
            raise _Differ
        weight = None if constant.all() else weight
    unit = _weight_units(weight)
    value = value * unit
    size = root_mean_square(value, axis=1)
    seeing = size > SQUARED
    if not seeing.all():
        _unusual(points)
        # A coordinate in which nothing is seen has no unit but that of the points.
        size = np.where(seeing, size, 1.0 / absolute_deviations(points[0]))
    free = np.arange(m)
    if weight is not None and weight.ndim == 3:
        alike = np.ptp(weight * unit, axis=1) <= CONSTANT
        if (alike != alike[0]).any():
            raise _Differ
        free = np.flatnonzero(alike[0])
    seen = value / size[:, None]
    mean = seen.mean(axis=1)
    moments, noise = seen.swapaxes(1, 2) @ seen / n, np.ones(len(points))
    if weight is None and n >= LINEAR * m:
        centred = (points - points.mean(axis=1, keepdims=True)) * size[:, None]
        moments, noise = _regressed(centred, seen, moments)
    rows = n / np.maximum(noise, SINGULAR) ** 2
    block = (slice(None), *np.ix_(free, free))
    _, counting = _correlations(moments[block], rows)
    quantile = counting + 1.65 * np.sqrt(2.0 * counting)
    share = np.minimum(1.0, MOVED * np.sqrt(2.0 * m) * rows / (quantile**2 + 5.0 * (m - counting)))
    moments -= share[:, None, None] * _outer(mean, mean)
    diagonal = np.einsum("kii->ki", moments)
    size = size * np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    correlation, counting = _correlations(moments[block], rows)
    units = unit[:, 0] if isinstance(unit, np.ndarray) else [unit] * len(points)
    if len(free) < 2:
        return [Frame(*each) for each in zip(size, units, strict=True)]
    frames = []
    for one, factor, count, own in zip(size, _factors(correlation), counting, units, strict=True):
        linear = one
        if count:
            linear = np.diag(one)
            linear[np.ix_(free, free)] = one[free, None] * factor
        frames.append(Frame(linear, own))
    return frames


def _near(value: Array) -> BoolArray | None:
    """Rows without values that are far beyond the usual ones, which would be all of M; None: all rows."""
    size = np.abs(value)
    largest = size.max(axis=1)
    # The smallest, which is quickly found, usually tells.
    if (largest <= FAR_OUT * size.min(axis=1)).all():
        return None
    _unusual(value)
    usual = medians(size[0])
    if not (largest > FAR_OUT * usual).any():
        return None
    # Where most values are zero, there is no usual one.
    near = np.asarray(((size[0] <= FAR_OUT * usual) | (usual == 0.0)).all(axis=1))
    return None if near.all() else near


def _regressed(points: Array, value: Array, moments: Array) -> tuple[Array, Array]:
    """Moments by regression, (B + Bᵀ)/2 + mean eeᵀ + āāᵀ, and ϱ; as they are where that is not positive."""
    n, m = points.shape[1:]
    as_they_are = moments, np.ones(len(points))
    if not np.isfinite(points).all():  # too large to be squared, which the bandwidth will tell
        _unusual(points)
        return as_they_are
    mean = value.mean(axis=1)
    centred = value - mean[:, None]
    slopes = _slopes(points, centred)
    rest = centred - points @ slopes
    spread = rest.swapaxes(1, 2) @ rest / (n - m)
    found = -0.5 * (slopes + slopes.swapaxes(1, 2)) + spread
    try:
        np.linalg.cholesky(found)
        explained = np.einsum("kii->k", np.linalg.solve(found, spread)) / m
    except np.linalg.LinAlgError:
        _unusual(points)
        return as_they_are
    return found + _outer(mean, mean), np.minimum(1.0, explained)


def _slopes(points: Array, value: Array) -> Array:
    """Least squares of values on points, both centred: by products unless columns nearly depend on others."""
    across = points.swapaxes(1, 2)
    products = across @ points
    size = np.sqrt(np.einsum("kii->ki", products))
    if (size > 0).all():
        unit = products / _outer(size, size)
        try:
            if np.einsum("kii->ki", np.linalg.cholesky(unit)).min() > DEPENDENT:
                wide = size[:, :, None]
                return np.asarray(np.linalg.solve(unit, across @ value / wide) / wide)
        except np.linalg.LinAlgError:
            pass
    _unusual(points)
    return np.asarray(np.linalg.lstsq(points[0], value[0], rcond=None)[0])[None]


def _correlations(moments: Array, rows: Array) -> tuple[Array, Array]:
    """Correlations, eigenvalues that so many rows do not tell from one set to it, and how many count."""
    k, m = moments.shape[:2]
    size = np.sqrt(np.einsum("kii->ki", moments))
    size = np.where(size > 0, size, 1.0)
    unit = moments / _outer(size, size)
    np.einsum("kii->ki", unit)[:] = 1.0
    many = rows >= MANY * m
    if m < 2 or many.all():
        return unit, np.full(k, m)
    eigenvalues, vectors = np.linalg.eigh(unit)
    share = np.sqrt(m / rows)[:, None]
    low = np.where(share >= 1.0, 0.0, (1.0 - share) ** 2 / MARGIN)
    noise = (eigenvalues >= low) & (eigenvalues <= MARGIN * (1.0 + share) ** 2)
    noise |= (share >= 1.0) & (eigenvalues < 1.0)
    noise &= ~many[:, None]
    found = (vectors * np.where(noise, 1.0, eigenvalues)[:, None]) @ vectors.swapaxes(1, 2)
    found = np.where(many[:, None, None], unit, found)
    return found, m - noise.sum(axis=1)


def _outer(one: Array, other: Array) -> Array:
    """The outer products of vectors of every sample."""
    return np.asarray(one[:, :, None] * other[:, None, :])


def weight_unit(weight: Array | None) -> Array | float:
    """One over the root mean square of each diagonal weight, (m,); 1 for weights of another kind."""
    if weight is None or weight.ndim != 2:
        return 1.0
    unit: Array = np.asarray(_weight_units(weight[None]))[0, 0]
    return unit


def _weight_units(weight: Array | None) -> Array | float:
    """The same for several samples, (k, 1, m)."""
    if weight is None or weight.ndim != 3:
        return 1.0
    size = root_mean_square(weight, axis=1)[:, None]
    return np.asarray(1.0 / np.where(size > 0, size, 1.0))


def _factors(correlation: Array) -> Array | list[Array]:
    """Lower triangular L with LLᵀ = R, of every sample."""
    try:
        return np.asarray(np.linalg.cholesky(correlation))
    except np.linalg.LinAlgError:
        return [_factor(one) for one in correlation]


def _factor(correlation: Array) -> Array:
    try:
        return np.asarray(np.linalg.cholesky(correlation))
    except np.linalg.LinAlgError:
        eigenvalues, vectors = np.linalg.eigh(correlation)
        root = np.sqrt(np.maximum(eigenvalues, SINGULAR))
        upper: Array = np.linalg.qr((vectors * root).T, mode="r")  # type: ignore[assignment]
        return upper.T


def root_mean_square(values: Array, axis: int = 0) -> Array:
    """Of every column, without overflow."""
    largest = np.abs(values).max(axis=axis, keepdims=True)
    largest = np.where(largest > 0, largest, 1.0)
    mean = np.mean((values / largest) ** 2, axis=axis, keepdims=True)
    return np.asarray((largest * np.sqrt(mean)).squeeze(axis))
