"""Polynomials in several variables whose sums of products depend on scalar products only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np

from goodstein.types import Array


def count(m: int, degree: int) -> int:
    """How many monomials of this degree there are in m variables."""
    return math.comb(m + degree - 1, degree)


@lru_cache(maxsize=64)
def monomials(m: int, degree: int) -> tuple[tuple[int, ...], ...]:
    """Their factors: (0, 0, 2) is z₀²z₂."""
    return tuple(combinations_with_replacement(range(m), degree))


@lru_cache(maxsize=4096)
def size(factors: tuple[int, ...]) -> float:
    """√(k!/α!), by which z^α is multiplied: Σ_α k!/α! z^α z′^α = (z·z′)^k, whatever the axes are."""
    repeated = math.prod(math.factorial(times) for times in Counter(factors).values())
    return math.sqrt(math.factorial(len(factors)) / repeated)


def values(z: Array, degree: int) -> Array:
    """√(k!/α!) z^α for all α of this degree, (n, count)."""
    n, m = z.shape
    out = np.empty((n, count(m, degree)))
    for column, factors in enumerate(monomials(m, degree)):
        out[:, column] = size(factors) * _product(z, factors)
    return out


def gradient(z: Array, factors: tuple[int, ...]) -> Array:
    """The gradient of one of them, (n, m)."""
    out = np.zeros(z.shape)
    for variable, slope in slopes(z, factors):
        out[:, variable] = slope
    return out


def slopes(z: Array, factors: tuple[int, ...]) -> Iterator[tuple[int, Array]]:
    """Its derivatives that are not zero, (n,), each with its variable."""
    for variable, times in Counter(factors).items():
        place = factors.index(variable)
        yield variable, times * size(factors) * _product(z, factors[:place] + factors[place + 1 :])


def _product(z: Array, factors: tuple[int, ...]) -> Array:
    out = np.ones(len(z))
    for variable in factors:
        out *= z[:, variable]
    return out


@lru_cache(maxsize=64)
def harmonic(m: int, degree: int) -> Array:
    """An orthonormal basis of the harmonic polynomials of a degree, from :func:`values`, (count, H).

    Δ z^α = Σ_i α_i(α_i − 1) z^(α − 2e_i), in the basis of :func:`values`, whose scalar product no rotation
    changes; on harmonic polynomials it is a multiple of that of L² on the sphere.
    """
    columns = monomials(m, degree)
    if degree < 2:
        return np.eye(len(columns))
    rows = {factors: place for place, factors in enumerate(monomials(m, degree - 2))}
    laplacian = np.zeros((len(rows), len(columns)))
    for place, factors in enumerate(columns):
        for variable, times in Counter(factors).items():
            if times > 1:
                rest = list(factors)
                rest.remove(variable)
                rest.remove(variable)
                left = tuple(rest)
                laplacian[rows[left], place] += times * (times - 1) * size(factors) / size(left)
    _, singular, vectors = np.linalg.svd(laplacian)
    rank = int(np.count_nonzero(singular > 1e-10 * singular[0]))
    return np.asarray(vectors[rank:].T)


def legendre(u: Array, degree: int) -> Array:
    """√(2k + 1) P_k(2u − 1), k = 0, …, degree, orthonormal on (0, 1), (…, 1 + degree)."""
    return np.asarray(_sizes(degree) * np.stack(_legendre(2.0 * u - 1.0, degree), axis=-1))


def over_survival(v: Array, degree: int) -> Array:
    """∫₀ᵘ w_k(s)/(1 − s) ds at u = 1 − exp(−v) for these polynomials w_k, k = 0, …, degree, (…, 1 + degree).

    (k + 1)P_(k+1)(x) = (2k + 1)xP_k − kP_(k−1) with x = 1 − 2(1 − s) and (2k + 1)P_k = P′_(k+1) − P′_(k−1)
    give (k + 1)I_(k+1) = (2k + 1)I_k − [P_(k+1) − P_(k−1)]₀ᵘ − kI_(k−1), of which no solution grows.
    """
    u = -np.expm1(-v)
    found, integrals = _legendre(2.0 * u - 1.0, degree), [v, v - 2.0 * u][: degree + 1]
    for k in range(1, degree):
        change = found[k + 1] - found[k - 1]  # at u = 0 both are (−1)^(k+1)
        integrals.append(((2 * k + 1) * integrals[k] - change - k * integrals[k - 1]) / (k + 1))
    return np.asarray(_sizes(degree) * np.stack(integrals, axis=-1))


@lru_cache(maxsize=16)
def products(degree: int) -> Array:
    """∫₀¹ w_k w_l w_m du, k, l ≤ degree, m ≤ 2·degree: w_k w_l = Σ_m of these times w_m."""
    nodes, weights = np.polynomial.legendre.leggauss(2 * degree + 1)
    w = legendre((nodes + 1.0) / 2.0, 2 * degree)
    low = w[:, : degree + 1]
    return np.asarray(np.einsum("g,gk,gl,gm->klm", weights / 2.0, low, low, w))


def _legendre(x: Array, degree: int) -> list[Array]:
    """P_0, …, P_degree."""
    found = [np.ones_like(x), x]
    for k in range(1, degree):
        found.append(((2 * k + 1) * x * found[k] - k * found[k - 1]) / (k + 1))
    return found[: degree + 1]


def _sizes(degree: int) -> Array:
    return np.asarray(np.sqrt(2.0 * np.arange(degree + 1) + 1.0))
