"""Unseen cells in five and more dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import laplace, multivariate_normal, norm

import goodstein as gs
from goodstein.families import GaussianMixture, Normal, StudentT
from unseen.laws import (
    LAPLACE,
    LOGISTIC,
    RNG,
    Array,
    Case,
    Margin,
    Named,
    blend,
    chained,
    contaminated,
    equal,
    law,
    normal,
    product,
    rippled,
    scaled,
    with_pair,
)

# Five dimensions.

SPREAD = np.diag([2.0, 1.0, 1.0, 0.7, 0.5])


def turned(angle: float) -> Array:
    """The covariance with its first and last axis turned."""
    turn = np.eye(5)
    turn[np.ix_([0, 4], [0, 4])] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return turn @ SPREAD @ turn.T


CENTRES = np.array([[2.0, 0, 0, 0, 0], [-1.0, 1.7, 0, 0, 0], [-1.0, -1.7, 0, 0, 0]])


def three(weights: Array, correlation: float = 0.0) -> GaussianMixture:
    """Three components; the coordinates of the first may be correlated."""
    covs = [with_pair(np.eye(5), 2, 3, correlation), np.eye(5), np.eye(5)]
    return GaussianMixture(weights, CENTRES, covs)


def joined_laplace(correlation: float) -> Named:
    """Laplace margins, and the normal copula with equal correlations."""
    copula = multivariate_normal(np.zeros(5), equal(5, correlation))

    def logpdf(x: Array) -> Array:
        z = ndtri(np.clip(laplace.cdf(x), 1e-300, 1 - 1e-16))
        return copula.logpdf(z) - norm.logpdf(z).sum(axis=1) + LAPLACE.logpdf(x).sum(axis=1)

    def sample(n: int, rng: RNG) -> Array:
        z = rng.multivariate_normal(np.zeros(5), equal(5, correlation), n)
        return laplace.ppf(norm.cdf(z))

    return law("Laplace, normal copula", gs.Euclidean(5), logpdf, sample)


def funnel(steep: float = 1.0, d: int = 5) -> Named:
    """v is standard normal, and the others given v are normal with variance exp(steep·v)."""

    def sample(n: int, rng: RNG) -> Array:
        x = rng.standard_normal((n, d))
        x[:, 1:] *= np.exp(0.5 * steep * x[:, :1])
        return x

    def logpdf(x: Array) -> Array:
        v, rest = x[:, 0], x[:, 1:]
        inner = norm.logpdf(rest * np.exp(-0.5 * steep * v)[:, None]).sum(axis=1)
        return norm.logpdf(v) + inner - 0.5 * (d - 1) * steep * v

    def score(x: Array) -> Array:
        v, rest = x[:, 0], x[:, 1:]
        precision = np.exp(-steep * v)
        first = -v - 0.5 * steep * (d - 1 - precision * (rest**2).sum(axis=1))
        return np.column_stack([first, -rest * precision[:, None]])

    return law(f"funnel({steep:g})", gs.Euclidean(d), logpdf, sample, score)


def five() -> Iterator[Case]:
    space, zero = gs.Euclidean(5), np.zeros(5)
    yield Case(
        "R^5, Student's t with 6 degrees of freedom",
        StudentT(6, zero, SPREAD),
        200,
        {
            "rotated": (lambda a: StudentT(6, zero, turned(a)), 0.16),
            "one pair": (lambda a: StudentT(6, zero, with_pair(SPREAD, 1, 2, a)), 0.25),
            "all means": (lambda a: StudentT(6, a * np.sqrt(np.diag(SPREAD)), SPREAD), 0.11),
        },
    )
    weights = np.array([0.5, 0.25, 0.25])
    yield Case(
        "R^5, three normal components",
        three(weights),
        200,
        {
            "weights": (lambda a: three(weights + np.array([-a, a, 0.0])), 0.105),
            "correlation in one component": (partial(three, weights), 0.32),
        },
    )
    laplaces = product("Laplace, d = 5", space, *[LAPLACE] * 5)
    yield Case(
        "R^5, Laplace coordinates",
        laplaces,
        200,
        {
            "a common factor": (joined_laplace, 0.081),
            "one coordinate nearly normal": (
                lambda a: product("", space, blend(a, LAPLACE, normal(0.0, np.sqrt(2.0))), *[LAPLACE] * 4),
                0.7,
            ),
        },
    )
    yield Case(
        "R^5, funnel",
        funnel(),
        150,
        {
            "steeper": (lambda a: funnel(1.0 + a), 0.2),
            "wide outliers": (partial(contaminated, funnel(), Normal(zero, 9.0)), 0.032),
        },
        sampler=False,
    )
    chain = Normal(zero, chained(5, 0.6))
    yield Case(
        "R^5, normal chain",
        chain,
        200,
        {
            "three-way interaction": (
                partial(rippled, chain, lambda x: np.tanh(2 * x[:, [0, 2, 4]]).prod(axis=1)),
                0.44,
            ),
            "far outliers": (partial(contaminated, chain, Normal(np.full(5, 2.0), 0.5)), 0.034),
        },
        sampler=False,
    )


# Ten and twenty dimensions.

LOADINGS = np.array([1.0, 1.0, 0.8, 0.8, 0.6, 0.6, 0.4, 0.4, 0.2, 0.2])
OTHERS = np.resize([1.0, -1.0], 10)


def factors(first: float = 1.0, second: float = 0.0) -> Normal:
    """One common factor, and a second one."""
    cov = np.eye(10) + first * np.outer(LOADINGS, LOADINGS) + second * np.outer(OTHERS, OTHERS)
    return Normal(np.zeros(10), cov)


BLOCKS = np.kron(np.eye(4), equal(5, 0.5))


def many() -> Iterator[Case]:
    yield Case(
        "R^10, one common factor",
        factors(),
        200,
        {
            "a second factor": (partial(factors, 1.0), 0.041),
            "the factor too strong": (lambda a: factors(1.0 + a), 0.45),
        },
    )
    zero = np.zeros(20)
    variance = np.eye(20)[0]
    yield Case(
        "R^20, normal blocks",
        Normal(zero, BLOCKS),
        200,
        {
            "one variance of 20": (lambda a: Normal(zero, BLOCKS + a * np.outer(variance, variance)), 0.24),
            "one pair of 190": (lambda a: Normal(zero, with_pair(BLOCKS, 0, 19, a)), 0.14),
            "some rows wider": (
                lambda a: contaminated(Normal(zero, BLOCKS), Normal(zero, 1.7 * BLOCKS), a),
                0.083,
            ),
        },
    )
    space = gs.Euclidean(10)
    logistics = product("logistic, d = 10", space, *[LOGISTIC] * 10)
    bimodal = Margin(
        lambda x: np.logaddexp(norm.logpdf(x, -1.3, 1.25), norm.logpdf(x, 1.3, 1.25)) - np.log(2.0),
        lambda size, rng: rng.choice([-1.3, 1.3], size) + 1.25 * rng.standard_normal(size),
    )
    yield Case(
        "R^10, logistic coordinates",
        logistics,
        200,
        {
            "all scales": (lambda a: product("", space, *[scaled(LOGISTIC, 1.0 + a)] * 10), 0.065),
            "one coordinate bimodal": (
                lambda a: product("", space, blend(a, LOGISTIC, bimodal), *[LOGISTIC] * 9),
                0.83,
            ),
        },
        sampler=False,
    )


def cases() -> Iterator[Any]:
    yield from five()
    yield from many()
