r"""Simultaneous bands of an empirical distribution function, exact at the places where they are drawn.

At a place z the number of n uniform values below it has a binomial distribution. Every place gets the central
1 − γ of its own, and γ is the largest for which all places together keep the level. Counts at one place after
the other are a Markov chain,

.. math::

    N(z_{k+1}) - N(z_k) \mid N(z_k) = i \;\sim\; \mathrm{Bin}\Big(n - i, \frac{z_{k+1} - z_k}{1 - z_k}\Big),

so the probability to stay inside is a product of small matrices. Where the transform itself is known only
through m draws from the model, and places are order statistics of these, binomial becomes beta-binomial with
the numbers of draws between and beyond, and the bands stay exact.

References
----------
Säilynoja, Bürkner, Vehtari (2022), Graphical test for discrete uniformity and its applications in
goodness-of-fit evaluation and multiple sample comparison, Statistics and Computing 32, 32.
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist

import numpy as np

from goodstein.types import Array

PLACES = 99
"""At how many places bands are computed at most."""
LARGEST = 2000
"""Observations beyond which normal quantiles serve, with the γ of so many."""
HALVINGS = 12


def bands(n: int, level: float = 0.95, draws: int | None = None) -> tuple[Array, Array, Array]:
    """Places in (0, 1), and between which values an empirical distribution function stays at all of them.

    Parameters
    ----------
    n
        Number of observations.
    level
        Probability that a true model stays inside everywhere.
    draws
        Number of draws from the model of which the places are order statistics; None where they are known.

    Examples
    --------
    >>> from goodstein.plot.bands import bands
    >>> z, low, high = bands(100)
    >>> bool(((low < z) & (z < high)).all()), round(float(high[49] - z[49]), 2)
    (True, 0.15)
    """
    z = places(n)
    if n > LARGEST:
        share = _share(LARGEST, level, None)
        spread = np.sqrt(z * (1.0 - z) * (1.0 / n + (0.0 if draws is None else 1.0 / draws)))
        reach = -NormalDist().inv_cdf(share / 2) * spread
        return z, np.maximum(z - reach, 0.0), np.minimum(z + reach, 1.0)
    low, high = _limits(n, _share(n, level, draws), draws)
    return z, low / n, high / n


def places(n: int) -> Array:
    """Where bands for n observations are computed, evenly between zero and one."""
    count = min(n, PLACES)
    return np.arange(1.0, count + 1.0) / (count + 1.0)


def ranks(n: int, draws: int) -> Array:
    """Numbers of the order statistics of the draws that stand at these places."""
    return np.asarray(np.round(places(n) * (draws + 1)))


@lru_cache(maxsize=32)
def _share(n: int, level: float, draws: int | None) -> float:
    """γ, the probability to leave the band at one place, by halving on a logarithmic scale."""
    low, high = np.log((1.0 - level) / (2.0 * PLACES)), np.log(1.0 - level)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        inside = coverage(n, *_limits(n, float(np.exp(middle)), draws), draws)
        low, high = (middle, high) if inside >= level else (low, middle)
    return float(np.exp(low))


def coverage(n: int, low: Array, high: Array, draws: int | None = None) -> float:
    """Probability that the counts lie from `low` to `high` at all places."""
    start, rest = _steps(n, draws)
    states, chance = np.zeros(1), np.ones(1)
    for k in range(len(low)):
        after = np.arange(low[k], high[k] + 1.0)
        jump = after[None, :] - states[:, None]
        left = n - states[:, None]
        allowed = (jump >= 0) & (jump <= left)
        logs = _log_chance(
            np.where(allowed, jump, 0.0), np.maximum(left, 0.0), start[k], rest[k], draws is None
        )
        chance = chance @ np.where(allowed, np.exp(logs), 0.0)
        states = after
    return float(chance.sum())


def _steps(n: int, draws: int | None) -> tuple[Array, Array]:
    """Widths between one place and the next, and what lies beyond: shares, or numbers of draws."""
    at, whole = (places(n), 1.0) if draws is None else (ranks(n, draws), draws + 1.0)
    return np.diff(at, prepend=0.0), whole - at


def _limits(n: int, share: float, draws: int | None) -> tuple[Array, Array]:
    """Central intervals of the counts at each place, with at most share/2 on either side."""
    at, whole = (places(n), 1.0) if draws is None else (ranks(n, draws), draws + 1.0)
    counts = np.arange(n + 1.0)
    chance = np.exp(_log_chance(counts[None, :], float(n), at[:, None], whole - at[:, None], draws is None))
    below = np.cumsum(chance, axis=1)
    low = (below <= share / 2).sum(axis=1)
    high = n - (np.cumsum(chance[:, ::-1], axis=1) <= share / 2).sum(axis=1)
    return low.astype(np.float64), high.astype(np.float64)


def _log_chance(count: Array, n: Array | float, first: Array, rest: Array, known: bool) -> Array:
    """log P(count of n fall into the first part), whose size is known or itself random."""
    from scipy.special import betaln, gammaln, xlog1py, xlogy

    choose = gammaln(np.add(n, 1.0)) - gammaln(count + 1.0) - gammaln(n - count + 1.0)
    if known:
        p = first / (first + rest)
        return np.asarray(choose + xlogy(count, p) + xlog1py(n - count, -p))
    return np.asarray(choose + betaln(count + first, n - count + rest) - betaln(first, rest))
