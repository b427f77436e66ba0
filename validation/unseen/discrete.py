"""Unseen cells on lattices."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

import goodstein as gs
from goodstein.families import CategoricalTable, Ising, Potts
from unseen.laws import RNG, Array, Case, Function, Named, law, rippled


def listed(name: str, domain: gs.Lattice, weight: Function) -> Named:
    """The law with these log weights, normalised and drawn by listing all states."""
    states = domain.states()
    values = weight(states)
    constant = logsumexp(values)

    def sample(n: int, rng: RNG) -> Array:
        return states[rng.choice(len(states), size=n, p=np.exp(values - constant))]

    return law(name, domain, lambda x: weight(x) - constant, sample)


def mixed(base: Any, other: Function, share: float) -> Named:
    """A share of the data has other log probabilities."""
    constant = logsumexp(base.logpdf(base.domain.states()))

    def weight(x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.logaddexp(np.log1p(-share) + base.logpdf(x) - constant, np.log(share) + other(x))

    return listed("mixed", base.domain, weight)


def grid(change: float = 0.0, field: Array | float = 0.0) -> Ising:
    """Nine spins on a square, one coupling changed."""
    theta = np.zeros((9, 9))
    for k in range(9):
        if k % 3 < 2:
            theta[k, k + 1] = theta[k + 1, k] = 0.3
        if k < 6:
            theta[k, k + 3] = theta[k + 3, k] = 0.3
    theta[4, 5] = theta[5, 4] = 0.3 + change
    return Ising(theta, field)


def ring(change: float = 0.0, field: float = 0.0) -> Potts:
    """Five sites of three levels in a ring, one coupling and one field changed."""
    couplings = np.zeros((5, 5))
    i = np.arange(5)
    couplings[i, (i + 1) % 5] = couplings[(i + 1) % 5, i] = 0.7
    couplings[1, 2] = couplings[2, 1] = 0.7 + change
    fields = np.zeros((5, 3))
    fields[0, 2] = field
    return Potts(3, couplings, fields)


PREVALENCES = np.array([0.08, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6])


def answers(x: Array, shift: float = 0.0) -> Array:
    """Log probabilities of independent items, their log-odds shifted."""
    odds = np.log(PREVALENCES / (1 - PREVALENCES)) + shift
    return x @ odds - np.logaddexp(0.0, odds).sum()


def classes(shift: float) -> Named:
    """Two classes of persons, easier and harder to please."""
    domain = gs.Lattice(2, 7)
    return listed(
        "classes",
        domain,
        lambda x: np.logaddexp(answers(x, shift), answers(x, -shift)) - np.log(2.0),
    )


def poisson(x: Array, mean: float = 4.0) -> Array:
    return x[:, 0] * np.log(mean) - gammaln(x[:, 0] + 1)


def negative_binomial(dispersion: float) -> Named:
    """Variance m(1 + m·dispersion), m = 4."""
    r = 1 / dispersion

    def weight(x: Array) -> Array:
        k = x[:, 0]
        return gammaln(k + r) - gammaln(k + 1) + k * np.log(4.0 / (4.0 + r))

    return listed("negative binomial", gs.Lattice(16, 1), weight)


LOGS = np.array([[0.9, 0.3, 0.1, -0.6], [0.4, 0.7, 0.3, 0.0], [0.0, 0.2, 0.6, 0.3], [-0.8, 0.0, 0.3, 0.8]])


def cases() -> Iterator[Any]:
    spins = grid()
    yield Case(
        "nine spins on a square",
        spins,
        200,
        {
            "one coupling": (grid, 0.26),
            "alternating fields": (lambda a: grid(0.0, a * np.resize([1.0, -1.0], 9)), 0.11),
            "three spins": (partial(rippled, spins, lambda x: x[:, [0, 4, 8]].prod(axis=1)), 0.24),
        },
    )
    yield Case(
        "five sites of three levels in a ring",
        ring(),
        200,
        {"one coupling": (ring, 0.46), "one field": (partial(ring, 0.0), 0.49)},
    )
    items = listed("seven items", gs.Lattice(2, 7), answers)
    yield Case(
        "seven items, independent",
        items,
        200,
        {
            "answers of zero only": (
                partial(mixed, items, lambda x: np.where(x.any(axis=1), -np.inf, 0.0)),
                0.064,
            ),
            "two classes": (classes, 0.55),
        },
    )
    counts = listed("Poisson(4) up to 15", gs.Lattice(16, 1), poisson)
    yield Case(
        "counts, Poisson",
        counts,
        150,
        {
            "zero inflated": (partial(mixed, counts, lambda x: np.where(x[:, 0] > 0, -np.inf, 0.0)), 0.053),
            "overdispersed": (negative_binomial, 0.12),
            "heaped at fives": (
                lambda a: listed("", counts.domain, lambda x: poisson(x) + a * (x[:, 0] % 5 == 0)),
                0.63,
            ),
        },
        sampler=False,
    )
    diagonal = np.eye(4) - 0.25
    trend = np.outer([-1.0, 1.0, 1.0, -1.0], [-1.0, 1.0, 1.0, -1.0])
    yield Case(
        "table of four by four",
        CategoricalTable(np.exp(LOGS)),
        200,
        {
            "diagonal": (lambda a: CategoricalTable(np.exp(LOGS + a * diagonal)), 0.47),
            "middle against ends": (lambda a: CategoricalTable(np.exp(LOGS + a * trend)), 0.24),
        },
        sampler=False,
    )
