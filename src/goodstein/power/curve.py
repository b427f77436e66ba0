"""Where a growing power crosses the one that is wanted."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from goodstein.types import Array

WINDOW = 1.0
"""How far from the wanted power, as normal quantiles, the power at an n may be that helps to fit."""
CONFIDENCE = 0.95


def bracket(
    power: Callable[[int], float], start: int, low: int, high: int, wanted: float, close: float
) -> tuple[int | None, int | None]:
    """Two n with too little and enough power, at most a factor `close` or one observation apart.

    Parameters
    ----------
    power
        Of n, growing.
    start
        Where to begin.
    low, high
        Limits of n.
    wanted
        The power to reach.
    close
        When to stop.

    Returns
    -------
    tuple
        The first is None where already `low` is enough, the second where `high` is not.
    """
    below: int | None = None
    above: int | None = None
    n = start
    while below is None or above is None:
        if power(n) >= wanted:
            above = n
            if n == low:
                return None, above
            n = max(low, n // 2)
        else:
            below = n
            if n == high:
                return below, None
            n = min(high, 2 * n)
    while above - below > 1 and above > close * below:
        n = min(max(round(math.sqrt(below * above)), below + 1), above - 1)
        if power(n) >= wanted:
            above = n
        else:
            below = n
    return below, above


def crossing(n: npt.NDArray[np.int64], rejected: Array, wanted: float) -> tuple[int, tuple[int, int]] | None:
    r"""Where Φ⁻¹(power) = a + b√n, fitted to trials, crosses the wanted power, and a confidence interval.

    Parameters
    ----------
    n
        Numbers of observations, (k,).
    rejected
        1 or 0 for each trial at each n, (trials, k), NaN where it was not run. A row shares its random
        numbers, so the covariance is that of sums over rows.
    wanted
        The power to reach.

    Returns
    -------
    tuple or None
        None where the curve cannot be fitted or does not rise for certain.
    """
    from scipy.special import ndtri

    target = float(ndtri(wanted))
    count = (~np.isnan(rejected)).sum(axis=0)
    hits = np.nansum(rejected, axis=0)
    near = np.abs(ndtri((hits + 0.5) / (count + 1)) - target) <= WINDOW
    if near.sum() < 2 or len(np.unique(hits[near] / count[near])) < 2:
        return None
    x = np.sqrt(n[near].astype(np.float64))
    fitted = _probit(x, rejected[:, near])
    if fitted is None:
        return None
    (a, b), v = fitted
    z2 = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2) ** 2
    # Fieller: all x with (a + bx − t)² ≤ z²·Var(a + bx).
    square = b**2 - z2 * v[1, 1]
    cross = (a - target) * b - z2 * v[0, 1]
    constant = (a - target) ** 2 - z2 * v[0, 0]
    disc = cross**2 - square * constant
    if b <= 0 or square <= 0 or disc < 0:
        return None
    ends = [(-cross + sign * math.sqrt(disc)) / square for sign in (-1, 1)]
    root = (target - a) / b
    if root <= 0:
        return None
    low, middle, high = (math.ceil(max(end, 0.0) ** 2 - 1e-9) for end in (ends[0], root, ends[1]))
    return max(middle, 1), (max(low, 1), max(high, 1))


def _probit(x: Array, rejected: Array) -> tuple[Array, Array] | None:
    """Maximum likelihood estimate of (a, b), and its covariance with rows as clusters."""
    from scipy.special import ndtr, ndtri

    design = np.column_stack([np.ones_like(x), x])
    seen = ~np.isnan(rejected)
    count, hits = seen.sum(axis=0), np.nansum(rejected, axis=0)
    eta = ndtri((hits + 0.5) / (count + 1))
    beta = np.zeros(2)
    for _ in range(50):
        mean = np.clip(ndtr(eta), 1e-12, 1 - 1e-12)
        slope = np.exp(-0.5 * eta**2) / math.sqrt(2 * math.pi)
        weight = count * slope**2 / (mean * (1 - mean))
        working = eta + (hits / count - mean) / slope
        information = design.T @ (weight[:, None] * design)
        new = np.linalg.solve(information, design.T @ (weight * working))
        moved = float(np.abs(new - beta).max())
        beta, eta = new, design @ new
        if not np.isfinite(eta).all() or np.abs(eta).max() > 8:
            return None
        if moved < 1e-10:
            break
    mean = ndtr(eta)
    slope = np.exp(-0.5 * eta**2) / math.sqrt(2 * math.pi)
    residual = np.where(seen, rejected - mean, 0.0) * slope / (mean * (1 - mean))
    scores = residual @ design
    inverse = np.linalg.inv(information)
    return beta, inverse @ (scores.T @ scores) @ inverse
