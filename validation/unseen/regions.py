"""Unseen cells in boxes, orthants, a disc, a polygon, a polytope and on the half-line."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.special import betaln, gammaln

import goodstein as gs
from goodstein.families import LogNormal, Normal, Truncated, Uniform, Weibull
from unseen.laws import (
    RNG,
    Array,
    Case,
    Margin,
    Named,
    contaminated,
    heaped,
    law,
    normal,
    product,
    rippled,
    scaled,
    tilted,
    uniform,
    with_pair,
)

SQUARE, CUBE, QUARTER = gs.Box([0, 0], [1, 1]), gs.Box([0] * 3, [1] * 3), gs.Orthant(2)


def beta(a: float, b: float) -> Margin:
    return Margin(
        lambda x: (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - betaln(a, b),
        lambda size, rng: rng.beta(a, b, size),
        lambda x: (a - 1) / x - (b - 1) / (1 - x),
    )


def gamma(shape: float) -> Margin:
    return Margin(
        lambda x: (shape - 1) * np.log(x) - x - gammaln(shape),
        lambda size, rng: rng.gamma(shape, size=size),
        lambda x: (shape - 1) / x - 1,
    )


def log_normals(correlation: float = 0.0) -> Named:
    """Two log-normal coordinates, their logarithms correlated."""
    logs = Normal([0.0, 0.0], 0.36 * np.array([[1.0, correlation], [correlation, 1.0]]))
    return law(
        f"log-normal({correlation:g})",
        QUARTER,
        lambda x: logs.logpdf(np.log(x)) - np.log(x).sum(axis=1),
        lambda n, rng: np.exp(logs.sample(n, rng)),
        lambda x: (logs.score(np.log(x)) - 1) / x,
    )


SHAPES = (1.5, 2.0, 2.0, 3.0)


def frail(variance: float) -> Named:
    """Gamma coordinates divided by one gamma variable with mean one: a common frailty."""
    shapes, m = np.array(SHAPES), 1 / variance

    def logpdf(x: Array) -> Array:
        total = shapes.sum()
        own = ((shapes - 1) * np.log(x) - gammaln(shapes)).sum(axis=1)
        return own + gammaln(total + m) - gammaln(m) + m * np.log(m) - (total + m) * np.log(m + x.sum(axis=1))

    def sample(n: int, rng: RNG) -> Array:
        return rng.gamma(shapes, size=(n, 4)) * m / rng.gamma(m, size=(n, 1))

    return law("frail", gs.Orthant(4), logpdf, sample)


def boxes() -> Iterator[Case]:
    betas = product("beta(2, 3) and beta(3, 1.5)", SQUARE, beta(2, 3), beta(3, 1.5))
    edge = product("", SQUARE, uniform(0.0, 0.04), beta(3, 1.5))
    yield Case(
        "square, beta coordinates",
        betas,
        150,
        {
            "dependent": (
                partial(rippled, betas, lambda x: np.tanh(5 * (x - [0.39, 0.68])).prod(axis=1)),
                0.65,
            ),
            "too many at one side": (partial(contaminated, betas, edge), 0.042),
        },
    )
    even = Uniform(CUBE)
    spot = Truncated(Normal([0.3, 0.6, 0.5], 0.05**2), CUBE)
    inside = law("spot", CUBE, Normal([0.3, 0.6, 0.5], 0.05**2).logpdf, spot.sample)
    known = law("uniform", CUBE, lambda x: np.zeros(len(x)), even.sample)
    yield Case(
        "cube, uniform",
        even,
        200,
        {
            "checkerboard": (
                partial(rippled, known, lambda x: np.sin(4 * np.pi * x[:, :2]).prod(axis=1)),
                0.46,
            ),
            "a hot spot": (partial(contaminated, known, inside), 0.032),
        },
    )
    both = log_normals()
    small = product(
        "",
        QUARTER,
        Margin(
            lambda x: -0.5 * ((np.log(x) + 4) / 0.5) ** 2 - np.log(0.5 * np.sqrt(2 * np.pi) * x),
            lambda size, rng: rng.lognormal(-4.0, 0.5, size),
        ),
        Margin(
            lambda x: -0.5 * (np.log(x) / 0.6) ** 2 - np.log(0.6 * np.sqrt(2 * np.pi) * x),
            lambda size, rng: rng.lognormal(0.0, 0.6, size),
        ),
    )
    yield Case(
        "orthant of R^2, log-normal coordinates",
        both,
        150,
        {"dependent": (log_normals, 0.26), "nearly zeros": (partial(contaminated, both, small), 0.02)},
    )
    gammas = product("gamma, d = 4", gs.Orthant(4), *map(gamma, SHAPES))
    rest = [gamma(shape) for shape in SHAPES[1:]]
    yield Case(
        "orthant of R^4, gamma coordinates",
        gammas,
        150,
        {
            "a common frailty": (frail, 0.046),
            "one scale": (
                lambda a: product("", gs.Orthant(4), scaled(gamma(SHAPES[0]), 1.0 + a), *rest),
                0.25,
            ),
        },
        sampler=False,
    )


def dome() -> Named:
    """The density ∝ 1 − r² in the disc."""

    def sample(n: int, rng: RNG) -> Array:
        r, angle = np.sqrt(1 - np.sqrt(rng.random(n))), rng.uniform(0, 2 * np.pi, n)
        return r[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])

    def gap(x: Array) -> Array:
        return 1 - (x**2).sum(axis=1)

    return law("dome", gs.Ball(2), lambda x: np.log(gap(x)), sample, lambda x: -2 * x / gap(x)[:, None])


PENTAGON = gs.Polygon([(0, 0), (2, 0), (2.5, 1.5), (1, 2.5), (-0.5, 1.5)])
CORNER = gs.Polytope([[-1, 0, 0], [0, -1, 0], [0, 0, -1], [1, 1, 1]], [0, 0, 0, 2])


def slope(x_rate: float, y_rate: float) -> Named:
    """The density ∝ exp(ax + by) in the pentagon."""
    rates = np.array([x_rate, y_rate])
    return tilted(
        Uniform(PENTAGON),
        lambda x: np.exp(x @ rates - 3.3),
        1.0,
        lambda x: np.tile(rates, (len(x), 1)),
        f"slope({x_rate:g}, {y_rate:g})",
    )


def areas() -> Iterator[Case]:
    disc = dome()
    yield Case(
        "disc, dome",
        disc,
        200,
        {
            "too many at the rim": (
                lambda a: tilted(disc, lambda x: 1.0 + a * ((x**2).sum(axis=1) > 0.7), 1.0 + a),
                1.0,
            ),
            "two sides": (partial(rippled, disc, lambda x: np.cos(2 * np.arctan2(*x.T))), 0.32),
        },
    )
    yield Case(
        "pentagon, a slope",
        slope(1.0, 0.5),
        200,
        {
            "another slope": (lambda a: slope(1.0, 0.5 - a), 0.4),
            "a hot spot": (
                lambda a: tilted(
                    slope(1.0, 0.5),
                    lambda x: 1.0 + a * np.exp(-((x - [1.2, 1.4]) ** 2).sum(axis=1) / (2 * 0.1**2)),
                    1.0 + a,
                ),
                4.3,
            ),
        },
    )
    middle = np.full(3, 0.5)
    corner = Truncated(Normal(middle, 0.25), CORNER)
    yield Case(
        "polytope of R^3, truncated normal",
        corner,
        200,
        {
            "correlated": (
                lambda a: Truncated(Normal(middle, 0.25 * with_pair(np.eye(3), 0, 1, a)), CORNER),
                0.45,
            ),
            "too many near a face": (
                lambda a: tilted(corner, lambda x: 1.0 + a * (x[:, 2] < 0.08), 1.0 + a),
                1.1,
            ),
        },
        sampler=False,
    )


def half_line() -> Iterator[Case]:
    base = LogNormal(0.0, 0.6)
    yield Case(
        "half-line, log-normal",
        base,
        120,
        {
            "heaped at halves": (partial(heaped, base, np.arange(0.5, 20, 0.5), 0.03), 0.18),
            "a longer tail": (partial(contaminated, base, LogNormal(1.6, 0.4)), 0.065),
        },
    )
    ray = gs.Box(0, np.inf)
    weibull = Weibull(1.0, 1.6)
    early = product("", ray, uniform(0.0, 0.06))
    yield Case(
        "half-line, Weibull",
        weibull,
        150,
        {
            "too many near zero": (partial(contaminated, weibull, early), 0.045),
            "a second group": (partial(contaminated, weibull, product("", ray, normal(2.2, 0.12))), 0.064),
        },
        sampler=False,
    )


def cases() -> Iterator[Any]:
    yield from boxes()
    yield from areas()
    yield from half_line()
