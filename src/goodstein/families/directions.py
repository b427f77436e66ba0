"""What families of directions share: checks, sampling by rejection, and Bessel functions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from goodstein.constraints import numbers
from goodstein.domains.base import ROUNDING
from goodstein.domains.sphere import Sphere
from goodstein.errors import InputError
from goodstein.families.checks import as_sample
from goodstein.types import Array, ArrayLike

EQUAL = 1e-30
"""1 − cos of the angle between directions that differ by rounding only."""

SMALLEST = 1e-290
"""Below this a float has lost digits, or is about to."""


def drawn_by_rejection(n: int, shape: tuple[int, ...], accepted: Callable[[int], Array]) -> Array:
    """n draws: `accepted(missing)` proposes enough for so many and returns those it accepts, (m, *shape)."""
    kept, found = [np.empty((0, *shape))], 0
    while found < n:
        kept.append(accepted(n - found))
        found += len(kept[-1])
    return np.concatenate(kept)[:n]


def as_direction(name: str, value: ArrayLike) -> Array:
    """A unit vector of at least two coordinates."""
    vector = numbers(value, name)
    if vector.ndim != 1 or len(vector) < 2:
        reason = f"expected a vector of at least 2 coordinates, got shape {vector.shape}."
        raise InputError(reason, argument=name)
    norm = float(np.linalg.norm(vector))
    if abs(norm - 1.0) > ROUNDING:
        how = f"{name} = np.asarray({name}, dtype=float); {name} = {name} / np.linalg.norm({name})"
        divide = f"Divide it by its norm, in double precision, if that is meant: {how}."
        remedy = divide if norm else "It has no direction."
        raise InputError(
            f"expected a unit vector, got one of norm {norm:.10g}.", argument=name, remedy=remedy
        )
    return vector


def as_directions(x: ArrayLike) -> Array:
    """Unit vectors (n, d), n ≥ 2, from which a family is fitted."""
    points = as_sample(x)
    if points.shape[1] < 2:
        raise InputError("directions are unit vectors of at least 2 coordinates, got 1 column.", argument="x")
    Sphere(points.shape[1]).validate(points)
    return points


FAR = 1e6
"""Arguments that are so many times the order squared are far: SciPy's function ends at about 2e9."""


def _is_far(order: float, kappa: float) -> bool:
    return kappa > FAR * (1.0 + order**2)


def _hankel(order: float, kappa: float) -> float:
    """r in I_ν(κ) = e^κ (1 + r)/√(2πκ), for κ far beyond ν²; the next term is of the order κ⁻³."""
    m = 4.0 * order**2
    return (1.0 - m) / (8.0 * kappa) * (1.0 + (9.0 - m) / (16.0 * kappa))


def log_bessel(order: float, kappa: float) -> float:
    """log I_ν(κ) for ν ≥ 0 and κ > 0."""
    from scipy.special import gammaln, ive, logsumexp

    if _is_far(order, kappa):
        return kappa - 0.5 * math.log(2.0 * math.pi * kappa) + math.log1p(_hankel(order, kappa))
    scaled = float(ive(order, kappa))
    if scaled > SMALLEST:
        return math.log(scaled) + kappa
    # Far below its order the function is too small for a float, and its power series short.
    peak = 0.5 * (math.sqrt(order**2 + kappa**2) - order)
    k = np.arange(int(2.0 * peak) + 60)
    half = math.log(kappa) - math.log(2.0)  # the half of the smallest number is zero
    terms = (order + 2.0 * k) * half - gammaln(k + 1.0) - gammaln(order + k + 1.0)
    return float(logsumexp(terms))


def mean_resultant(kappa: float, d: int) -> float:
    """A_d(κ) = I_{d/2}(κ)/I_{d/2−1}(κ): the length of the mean of a von Mises–Fisher law on Sphere(d)."""
    if kappa == 0.0:
        return 0.0
    from scipy.special import ive

    if _is_far(0.5 * d, kappa):
        upper, lower = (_hankel(0.5 * d - shift, kappa) for shift in (0.0, 1.0))
        return (1.0 + upper) / (1.0 + lower)
    upper, lower = float(ive(0.5 * d, kappa)), float(ive(0.5 * d - 1.0, kappa))
    if upper > SMALLEST:
        return upper / lower
    return math.exp(log_bessel(0.5 * d, kappa) - log_bessel(0.5 * d - 1.0, kappa))


def concentration(spread: float, d: int) -> float:
    """κ with A_d(κ) = 1 − spread, the mean of 1 − cos of the angles to the mean direction.

    By Newton's method kept within a bracket; the spread has the digits that a length close to one has lost.
    """
    if spread < EQUAL:
        raise InputError(
            "all directions are equal, so that no finite kappa is the most likely.", argument="x"
        )
    if spread < 1e-9:
        return (d - 1.0) / (2.0 * spread)  # up to a share of the order of the spread
    length = 1.0 - spread
    if length <= 0.0:
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
