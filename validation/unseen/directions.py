"""Unseen cells on the circle, tori and spheres."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import vonmises

import goodstein as gs
from goodstein.families import Bingham, Kent, UniformOnSphere, VonMises, VonMisesFisher
from unseen.laws import RNG, Array, Case, Named, contaminated, law, mixture, rippled, tilted

CIRCLE = gs.Circle()


def two_modes(weight: float = 0.6) -> Named:
    modes = [VonMises(0.0, 4.0), VonMises(2.2, 2.0)]
    return mixture([weight, 1 - weight], modes, f"two von Mises laws({weight:g})", scored=True)


def cardioid() -> Named:
    """(1 + 0.6 cos θ)/(2π)."""

    def density(x: Array) -> Array:
        return 1 + 0.6 * np.cos(x)

    def sample(n: int, rng: RNG) -> Array:
        angle = rng.uniform(-np.pi, np.pi, (n, 1))
        turn = rng.random((n, 1)) * 2 > density(angle)
        return np.where(turn, angle + np.pi, angle)  # odds 1 ± 0.6 cos θ of an angle and its opposite

    return law(
        "cardioid",
        CIRCLE,
        lambda x: np.log(density(x[:, 0]) / (2 * np.pi)),
        sample,
        lambda x: -0.6 * np.sin(x) / density(x),
    )


def monthly(share: float) -> Named:
    """A share of the angles lies at the middles of twelve months."""
    middles = (np.arange(12) + 0.5) * np.pi / 6
    weights = (1 + 0.6 * np.cos(middles)) / 12

    def logpdf(x: Array) -> Array:
        return np.log(vonmises.pdf(x, 1000.0, middles) @ weights)

    def sample(n: int, rng: RNG) -> Array:
        return (rng.choice(middles, n, p=weights) + rng.vonmises(0.0, 1000.0, n))[:, None]

    return contaminated(cardioid(), law("months", CIRCLE, logpdf, sample), share)


def sine(coupling: float) -> Named:
    """log q = cos θ₁ + 2 cos θ₂ + λ sin θ₁ sin θ₂."""
    both = independent(1.0, 2.0)

    def score(x: Array) -> Array:
        s, c = np.sin(x), np.cos(x)
        return np.column_stack(
            [-s[:, 0] + coupling * c[:, 0] * s[:, 1], -2 * s[:, 1] + coupling * s[:, 0] * c[:, 1]]
        )

    def weight(x: Array) -> Array:
        return np.exp(coupling * np.sin(x).prod(axis=1))

    return tilted(both, weight, np.exp(abs(coupling)), score, f"sine model({coupling:g})")


def independent(*kappas: float) -> Named:
    rates = np.array(kappas)
    return law(
        f"von Mises{kappas}",
        gs.Torus(len(kappas)),
        lambda x: np.cos(x) @ rates,
        lambda n, rng: rng.vonmises(0.0, rates, (n, len(rates))),
        lambda x: -rates * np.sin(x),
    )


def angles() -> Iterator[Case]:
    modes = two_modes()
    yield Case(
        "circle, two von Mises laws",
        modes,
        150,
        {
            "weights": (lambda a: two_modes(0.6 - a), 0.15),
            "a ripple": (partial(rippled, modes, lambda x: np.cos(8 * x[:, 0])), 0.4),
        },
    )
    yield Case(
        "circle, cardioid",
        cardioid(),
        150,
        {
            "second harmonic": (partial(rippled, cardioid(), lambda x: np.cos(2 * x[:, 0] - 1)), 0.36),
            "heaped in months": (monthly, 0.15),
        },
        sampler=False,
    )
    joined = sine(1.0)
    yield Case(
        "torus, sine model",
        joined,
        200,
        {
            "coupling": (lambda a: sine(1.0 - a), 0.6),
            "a coupling of the sum": (partial(rippled, joined, lambda x: np.cos(x.sum(axis=1))), 0.35),
        },
    )
    third = independent(1.0, 1.5, 0.5)
    yield Case(
        "torus of three angles, independent",
        third,
        200,
        {
            "three-way interaction": (
                partial(rippled, third, lambda x: np.sin(x[:, 0]) * np.sin(x[:, 1]) * np.sin(x[:, 2])),
                0.75,
            ),
            "one pair": (
                lambda a: tilted(third, lambda x: np.exp(a * np.cos(x[:, 0] - x[:, 2])), np.exp(a)),
                0.35,
            ),
        },
        sampler=False,
    )


# Spheres.

AXES = np.eye(3)[[2, 0, 1]]


def spiral(count: int = 20_000) -> Array:
    """Points that are spread evenly over the sphere."""
    k = np.arange(count) + 0.5
    z, angle = 1 - 2 * k / count, np.pi * (1 + np.sqrt(5)) * k
    r = np.sqrt(1 - z**2)
    return np.column_stack([r * np.cos(angle), r * np.sin(angle), z])


def normalised(base: Any) -> Named:
    """A law on the sphere, its density with respect to the surface."""
    constant = np.log(4 * np.pi * np.mean(np.exp(base.logpdf(spiral()))))
    return law("normalised", base.domain, lambda x: base.logpdf(x) - constant, base.sample)


def clusters(weight: float = 0.5, kappa: float = 8.0) -> Named:
    laws = [VonMisesFisher([0, 0, 1], 8.0), VonMisesFisher([1, 0, 0], kappa)]
    return mixture([weight, 1 - weight], laws, f"two Fisher laws({weight:g}, {kappa:g})", scored=True)


def spheres() -> Iterator[Case]:
    kent = Kent(AXES, 6.0, 2.0)
    even = law(
        "uniform", kent.domain, lambda x: np.full(len(x), -np.log(4 * np.pi)), UniformOnSphere(3).sample
    )
    yield Case(
        "sphere, Kent",
        kent,
        150,
        {
            "rounder": (lambda a: Kent(AXES, 6.0, 2.0 - a), 1.0),
            "scattered outliers": (lambda a: contaminated(normalised(kent), even, a), 0.048),
        },
    )
    girdle = Bingham(np.diag([0.0, 0.0, -4.0]))
    yield Case(
        "sphere, girdle",
        girdle,
        150,
        {
            "one side": (partial(rippled, girdle, lambda x: x[:, 0]), 0.4),
            "a cluster": (
                lambda a: contaminated(normalised(girdle), VonMisesFisher([0, 1, 0], 30.0), a),
                0.093,
            ),
        },
    )
    yield Case(
        "sphere, two Fisher laws",
        clusters(),
        150,
        {
            "weights": (lambda a: clusters(0.5 + a), 0.14),
            "one concentration": (lambda a: clusters(0.5, 8.0 * (1 + a)), 0.52),
        },
        sampler=False,
    )
    plane = np.diag([1.0, -1.0, 0.0, 0.0, 0.0])
    ball = UniformOnSphere(5)
    yield Case(
        "sphere of R^5, uniform",
        ball,
        200,
        {
            "an axis and a girdle": (lambda a: Bingham(a * plane), 0.67),
            "fourth power": (
                partial(rippled, ball, lambda x: 0.5 * (21 * x[:, 0] ** 4 - 14 * x[:, 0] ** 2 + 1) / 4),
                1.8,
            ),
        },
    )


def cases() -> Iterator[Any]:
    yield from angles()
    yield from spheres()
