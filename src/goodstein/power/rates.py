"""How often something happened in so many trials, and what that says."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from goodstein.types import ArrayLike

SIZE_CONFIDENCE = 0.999
"""Sizes outside this central part of the binomial distribution are marked."""
ROUNDING = 1e-9
"""p-values are multiples of 1/(draws + 1), so one that equals the level may miss it by rounding."""


@dataclass(frozen=True)
class Rate:
    """A rate with the 95 % confidence interval that its trials allow.

    Examples
    --------
    >>> from goodstein.power.rates import Rate
    >>> print(Rate.of(40, 100))
    0.400 [0.309, 0.498]
    """

    value: float
    interval: tuple[float, float]
    trials: int

    @classmethod
    def of(cls, count: float, trials: int) -> Rate:
        """So many of the trials."""
        return cls(count / trials, wilson(count / trials, trials), trials)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.interval[0]:.3f}, {self.interval[1]:.3f}]"


def wilson(rate: float, trials: float, confidence: float = 0.95) -> tuple[float, float]:
    r"""Wilson's interval for a rate.

    .. math:: \frac{r + z^2/2m \pm z\sqrt{r(1-r)/m + z^2/4m^2}}{1 + z^2/m}

    Unlike the textbook interval it keeps its confidence near 0 and 1, where sizes and powers are.

    Parameters
    ----------
    rate
        r, between 0 and 1; times `trials` it need not be a whole number.
    trials
        m.
    confidence
        Of both sides together.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference.

    Examples
    --------
    >>> from goodstein.power.rates import wilson
    >>> lower, upper = wilson(0.0, 100)
    >>> print(f"{lower:.3f} {upper:.3f}")
    0.000 0.037
    """
    from statistics import NormalDist

    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    centre = (rate + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z * math.sqrt(rate * (1 - rate) / trials + z**2 / (4 * trials**2)) / (1 + z**2 / trials)
    # At the ends the formula is exact, but rounding leaves 1e-17.
    lower = 0.0 if rate == 0 else max(0.0, centre - half)
    upper = 1.0 if rate == 1 else min(1.0, centre + half)
    return lower, upper


def rejections(pvalues: ArrayLike, level: float) -> int:
    """How many p-values are at most the level; one that equals it but for rounding is."""
    return int(np.count_nonzero(np.asarray(pvalues) <= level + ROUNDING))


def size_mark(count: float, trials: int, level: float) -> str:
    """↑ or ↓ where so many rejections of a true model are too many or too few for the level.

    Examples
    --------
    >>> from goodstein.power.rates import size_mark
    >>> size_mark(50, 1000, 0.05), size_mark(80, 1000, 0.05), size_mark(20, 1000, 0.05)
    ('', '↑', '↓')
    """
    from scipy.stats import binom

    tail = (1 - SIZE_CONFIDENCE) / 2
    lower, upper = binom.ppf([tail, 1 - tail], trials, level)
    return "↑" if count > upper else "↓" if count < lower else ""
