"""Unseen cells on the simplex."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import goodstein as gs
from goodstein.families import Dirichlet, LogisticNormal, StudentT
from unseen.laws import RNG, Array, Case, Named, chained, contaminated, law, mixture, rippled, with_pair

LATENT = chained(5, 0.4)


def heavy(inverse: float) -> Named:
    """Log-ratio coordinates that follow Student's t with the same covariance."""
    df, domain = 1 / inverse, gs.Simplex(6)
    logs = StudentT(df, np.zeros(5), LATENT * (df - 2) / df)

    def logpdf(x: Array) -> Array:
        return logs.logpdf(np.log(x) @ domain.basis.T) - np.log(x).sum(axis=1)

    def sample(n: int, rng: RNG) -> Array:
        y = np.exp(logs.sample(n, rng) @ domain.basis)
        return y / y.sum(axis=1, keepdims=True)

    return law("heavy log-ratios", domain, logpdf, sample)


def two(weight: float = 0.5, moved: float = 0.0) -> Named:
    """Two groups of compositions of three parts."""
    groups = [Dirichlet([8.0, 3.0, 2.0]), Dirichlet([2.0 + moved, 3.0, 8.0])]
    return mixture([weight, 1 - weight], groups, f"two Dirichlet laws({weight:g}, {moved:g})", scored=True)


def cases() -> Iterator[Any]:
    three = Dirichlet([2.0, 3.0, 4.0])
    yield Case(
        "3 parts, Dirichlet(2, 3, 4)",
        three,
        150,
        {
            "some near the edges": (partial(contaminated, three, Dirichlet([0.4, 0.4, 0.4])), 0.041),
            "a ripple": (partial(rippled, three, lambda x: np.sin(25 * x[:, 0])), 0.36),
        },
    )
    yield Case(
        "6 parts, logistic normal",
        LogisticNormal(np.zeros(5), LATENT),
        150,
        {
            "one correlation": (lambda a: LogisticNormal(np.zeros(5), with_pair(LATENT, 0, 1, -a)), 0.22),
            "heavy tails": (heavy, 0.073),
        },
    )
    alpha = np.array([6.0, 4.0, 3.0, 2.0, 2.0, 1.0])
    six = Dirichlet(alpha)
    yield Case(
        "6 parts, Dirichlet",
        six,
        150,
        {
            "two parts exchanged in some": (
                partial(contaminated, six, Dirichlet(alpha[[4, 1, 2, 3, 0, 5]])),
                0.041,
            ),
            "less spread": (lambda a: Dirichlet((1 + a) * alpha), 0.18),
        },
    )
    yield Case(
        "3 parts, two Dirichlet laws",
        two(),
        150,
        {"weights": (lambda a: two(0.5 + a), 0.14), "one group moved": (partial(two, 0.57), 0.5)},
        sampler=False,
    )
