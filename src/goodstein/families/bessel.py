"""Bessel functions of directional distributions, without overflow or underflow."""

from __future__ import annotations

import math

import numpy as np

from goodstein.errors import InputError

SMALLEST = 1e-290
"""Below this a float has lost digits, or is about to."""


def log_bessel(order: float, kappa: float) -> float:
    """log I_ν(κ) for ν ≥ 0 and κ > 0."""
    from scipy.special import gammaln, ive, logsumexp

    scaled = float(ive(order, kappa))
    if scaled > SMALLEST:
        return math.log(scaled) + kappa
    # Far below its order the function is too small for a float, and its power series short.
    peak = 0.5 * (math.sqrt(order**2 + kappa**2) - order)
    k = np.arange(int(2.0 * peak) + 60)
    terms = (order + 2.0 * k) * math.log(0.5 * kappa) - gammaln(k + 1.0) - gammaln(order + k + 1.0)
    return float(logsumexp(terms))


def mean_resultant(kappa: float, d: int) -> float:
    """A_d(κ) = I_{d/2}(κ)/I_{d/2−1}(κ): the length of the mean of a von Mises–Fisher law on Sphere(d)."""
    if kappa == 0.0:
        return 0.0
    from scipy.special import ive

    upper, lower = float(ive(0.5 * d, kappa)), float(ive(0.5 * d - 1.0, kappa))
    if upper > SMALLEST:
        return upper / lower
    return math.exp(log_bessel(0.5 * d, kappa) - log_bessel(0.5 * d - 1.0, kappa))


def concentration(length: float, d: int) -> float:
    """κ with A_d(κ) = length, by Newton's method kept within a bracket.

    Raises
    ------
    InputError
        If all directions are equal, length = 1: no finite κ is the most likely.
    """
    if not length < 1.0 - 1e-14:
        raise InputError("`x`: all directions are equal, so that no finite kappa is the most likely.")
    if length == 0.0:
        return 0.0
    # Bounds of Banerjee et al. type: A_d(κ) lies between these two for every d.
    low = length * (d - 2.0) / (1.0 - length**2) if d > 2 else 0.0
    high = length * d / (1.0 - length**2)
    kappa = length * (d - length**2) / (1.0 - length**2)
    for _ in range(100):
        value = mean_resultant(kappa, d)
        low, high = (kappa, high) if value < length else (low, kappa)
        step = (value - length) / (1.0 - value**2 - (d - 1.0) * value / kappa)
        newton = kappa - step
        if not (low < newton < high):
            newton = 0.5 * (low + high)
        if abs(newton - kappa) <= 1e-12 * kappa:
            return newton
        kappa = newton
    return kappa
