"""Unseen cells on the line and in the plane."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import genextreme, norm

import goodstein as gs
from goodstein.families import GaussianMixture, Normal, StudentT
from unseen.laws import (
    GUMBEL,
    LOGISTIC,
    RNG,
    Array,
    Case,
    Named,
    contaminated,
    equal,
    heaped,
    law,
    product,
    rippled,
    scaled,
    skew_normal,
    tilted,
)

LINE, PLANE = gs.Euclidean(1), gs.Euclidean(2)

# The line.


def two_piece(a: float) -> Named:
    """Logistic to the left and to the right of its mode, with scales exp(−a) and exp(a)."""
    scales = np.exp([-a, a])

    def logpdf(x: Array) -> Array:
        z = x[:, 0] / np.where(x[:, 0] < 0, *scales)
        return LOGISTIC.logpdf(z) + np.log(2 / scales.sum())

    def sample(n: int, rng: RNG) -> Array:
        z = np.abs(rng.logistic(size=n))
        return np.where(rng.random(n) < scales[0] / scales.sum(), -scales[0] * z, scales[1] * z)[:, None]

    return law("two-piece logistic", LINE, logpdf, sample)


def extreme(shape: float) -> Named:
    """The generalised extreme value law."""
    one = genextreme(-shape)
    return law(
        "generalised extreme value",
        LINE,
        lambda x: one.logpdf(x[:, 0]),
        lambda n, rng: one.rvs((n, 1), random_state=rng),
    )


def line() -> Iterator[Case]:
    logistic = product("logistic", LINE, LOGISTIC)
    yield Case(
        "R^1, logistic",
        logistic,
        150,
        {
            "a ripple": (partial(rippled, logistic, lambda x: np.sin(4 * x[:, 0])), 0.37),
            "heaped at halves": (partial(heaped, logistic, np.arange(-15, 15.5, 0.5), 0.03), 0.16),
            "skewed": (two_piece, 0.17),
        },
    )
    student = StudentT(4, [0.0])
    yield Case(
        "R^1, Student's t with 4 degrees of freedom",
        student,
        150,
        {
            "far outliers": (partial(contaminated, student, Normal(8.0, 0.25)), 0.026),
            "outliers removed": (
                lambda a: tilted(student, lambda x: 1.0 - a * (np.abs(x[:, 0]) > 2.0), 1.0),
                0.66,
            ),
        },
    )
    yield Case(
        "R^1, two normal components",
        GaussianMixture([0.5, 0.5], [[-2.0], [2.0]]),
        150,
        {
            "weights": (lambda a: GaussianMixture([0.5 - a, 0.5 + a], [[-2.0], [2.0]]), 0.13),
            "one component narrower": (
                lambda a: GaussianMixture([0.5, 0.5], [[-2.0], [2.0]], [1.0, (1.0 - a) ** 2]),
                0.27,
            ),
        },
    )
    gumbel = product("Gumbel", LINE, GUMBEL)
    yield Case(
        "R^1, Gumbel",
        gumbel,
        150,
        {
            "heavier upper tail": (extreme, 0.2),
            "a hot spot": (partial(contaminated, gumbel, Normal(1.0, 0.01)), 0.1),
        },
        sampler=False,
    )


# The plane.


def banana(bend: float = 0.5, slope: float = 0.0) -> Named:
    """x₂ given x₁ is normal with mean bend·(x₁² − 1) + slope·x₁."""

    def rest(x: Array) -> Array:
        return (x[:, 1] - bend * (x[:, 0] ** 2 - 1) - slope * x[:, 0]) / 0.6

    def sample(n: int, rng: RNG) -> Array:
        x = rng.standard_normal((n, 2))
        x[:, 1] = 0.6 * x[:, 1] + bend * (x[:, 0] ** 2 - 1) + slope * x[:, 0]
        return x

    def score(x: Array) -> Array:
        z = rest(x) / 0.6
        return np.column_stack([-x[:, 0] + z * (2 * bend * x[:, 0] + slope), -z])

    def logpdf(x: Array) -> Array:
        return norm.logpdf(x[:, 0]) + norm.logpdf(rest(x))

    return law(f"banana({bend:g}, {slope:g})", PLANE, logpdf, sample, score)


def ring() -> Named:
    """log q = −(r − 3)²/(2·0.4²)."""

    def sample(n: int, rng: RNG) -> Array:
        r = np.empty(0)
        while len(r) < n:
            some = 3 + 0.4 * rng.standard_normal(2 * n)
            r = np.concatenate([r, some[rng.random(2 * n) * 6 < some]])
        angle = rng.uniform(0, 2 * np.pi, n)
        return r[:n, None] * np.column_stack([np.cos(angle), np.sin(angle)])

    def logpdf(x: Array) -> Array:
        return norm.logpdf(np.hypot(*x.T), 3, 0.4) - np.log(6 * np.pi)

    def score(x: Array) -> Array:
        r = np.hypot(*x.T)
        return x * ((3 - r) / (0.16 * r))[:, None]

    return law("ring", PLANE, logpdf, sample, score)


def disc(radius: float) -> Named:
    """Uniform."""

    def sample(n: int, rng: RNG) -> Array:
        r, angle = radius * np.sqrt(rng.random(n)), rng.uniform(0, 2 * np.pi, n)
        return r[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])

    def logpdf(x: Array) -> Array:
        return np.where(np.hypot(*x.T) <= radius, -np.log(np.pi * radius**2), -np.inf)

    return law("disc", PLANE, logpdf, sample)


def clayton(share: float) -> Named:
    """A share of the pairs has Clayton's copula, θ = 2, not the normal one; the margins are normal."""
    theta = 2.0

    def logpdf(x: Array) -> Array:
        u = np.clip(norm.cdf(x), 1e-300, 1.0)
        inner = (u**-theta).sum(axis=1) - 1
        copula = np.log1p(theta) - (1 + theta) * np.log(u).sum(axis=1) - (2 + 1 / theta) * np.log(inner)
        return copula + norm.logpdf(x).sum(axis=1)

    def sample(n: int, rng: RNG) -> Array:
        frailty = rng.gamma(1 / theta, size=(n, 1))
        return ndtri((1 + rng.exponential(size=(n, 2)) / frailty) ** (-1 / theta))

    return contaminated(Normal([0.0, 0.0], equal(2, 0.5)), law("Clayton", PLANE, logpdf, sample), share)


def wells(left: float = 0.0, slope: float = 1.0) -> Named:
    """log q = −(x² − 1)² − left·tanh 2x − (y − slope·x)²."""

    def sample(n: int, rng: RNG) -> Array:
        x = np.empty(0)
        while len(x) < n:
            some = rng.uniform(-2.6, 2.6, 4 * n)
            height = -((some**2 - 1) ** 2) - left * np.tanh(2 * some) - abs(left)
            x = np.concatenate([x, some[np.log(rng.random(4 * n)) < height]])
        return np.column_stack([x[:n], slope * x[:n] + np.sqrt(0.5) * rng.standard_normal(n)])

    def logpdf(x: Array) -> Array:
        u, v = x.T
        return -((u**2 - 1) ** 2) - left * np.tanh(2 * u) - (v - slope * u) ** 2

    def score(x: Array) -> Array:
        u, v = x.T
        pull = 2 * (v - slope * u)
        return np.column_stack([4 * u * (1 - u**2) - 2 * left / np.cosh(2 * u) ** 2 + slope * pull, -pull])

    return law(f"double well({left:g}, {slope:g})", PLANE, logpdf, sample, score)


def plane() -> Iterator[Case]:
    yield Case(
        "R^2, banana",
        banana(),
        150,
        {"less bent": (lambda a: banana(0.5 - a), 0.12), "tilted": (partial(banana, 0.5), 0.16)},
    )
    circle = ring()
    yield Case(
        "R^2, ring",
        circle,
        200,
        {
            "two sides": (partial(rippled, circle, lambda x: np.cos(2 * np.arctan2(*x.T))), 0.33),
            "filled": (partial(contaminated, circle, disc(3.0)), 0.042),
        },
    )
    pair = Normal([0.0, 0.0], equal(2, 0.5))
    yield Case(
        "R^2, normal with correlation ½",
        pair,
        200,
        {
            "Clayton's copula": (clayton, 0.43),
            "checkerboard": (
                partial(rippled, pair, lambda x: np.sin(3 * x[:, 0]) * np.sin(3 * x[:, 1])),
                0.44,
            ),
        },
    )
    skewed = product("skew normal, d = 2", PLANE, skew_normal(3.0), skew_normal(3.0))
    yield Case(
        "R^2, skew normal coordinates",
        skewed,
        150,
        {
            "dependent": (
                partial(
                    rippled, skewed, lambda x: np.tanh(2 * (x[:, 0] - 0.7)) * np.tanh(2 * (x[:, 1] - 0.7))
                ),
                0.55,
            ),
            "one scale": (
                lambda a: product("", PLANE, skew_normal(3.0), scaled(skew_normal(3.0), 1.0 + a)),
                0.19,
            ),
        },
        sampler=False,
    )
    yield Case(
        "R^2, double well",
        wells(),
        150,
        {"one well heavier": (wells, 0.3), "coupling": (lambda a: wells(0.0, 1.0 - a), 0.21)},
        sampler=False,
    )


def cases() -> Iterator[Any]:
    yield from line()
    yield from plane()
