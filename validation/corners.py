"""Sizes of the aggregated test where features are skewed: simulated, and by the wild bootstrap."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from tables import RNG, Array, Table, Test, true

import goodstein as gs
from goodstein.families import Dirichlet, Exponential, Gamma, LogNormal, Normal


def log_gamma_draws(n: int, rng: RNG = None) -> Array:
    """Logarithms of Gamma(.3) variables."""
    return np.log(np.random.default_rng(rng).gamma(0.3, size=(n, 1)))


def log_gamma_score(x: Array) -> Array:
    """.3 − eˣ."""
    return 0.3 - np.exp(x)


BARE = gs.Model(score=log_gamma_score, domain=gs.Euclidean(1), batched=True, name="score of log-gamma(.3)")
LOG_GAMMA = gs.Model(
    score=log_gamma_score, sample=log_gamma_draws, domain=gs.Euclidean(1), batched=True, name="log-gamma(.3)"
)


def size_tables() -> Iterator[Table]:
    """The corners, and ordinary cases beside them."""
    test = partial(gs.aggregated_test, workers=1)
    wild: dict[str, Test] = {"wild bootstrap": partial(test, null=gs.WildBootstrap(199))}
    tests: dict[str, Test] = {"simulated, B=99": partial(test, null=gs.MonteCarlo(99))} | wild
    yield Table(
        "Skewed features",
        "`aggregated_test` where few observations carry the statistics. Simulated, as it is by default where "
        "that is affordable, it is exact; with the wild bootstrap members that too few observations carry "
        "are left out.",
        [
            true({"Dirichlet(100, 1, .1)": Dirichlet([100.0, 1.0, 0.1])}, tests, (30,)),
            true({"Dirichlet(100, 1, .1)": Dirichlet([100.0, 1.0, 0.1])}, wild, (200,)),
            true({"Dirichlet(20, 1, .3)": Dirichlet([20.0, 1.0, 0.3])}, wild, (30,)),
            true({"Dirichlet(.01, .01, .01)": Dirichlet([0.01] * 3)}, wild, (50,)),
            true({"log-gamma(.3)": LOG_GAMMA}, wild, (100,)),
            true({"log-gamma(.3) by its score alone": BARE}, tests, (100,), sample_null=log_gamma_draws),
            true({"Exponential": Exponential(1.0), "Gamma(.2)": Gamma(0.2, 1.0)}, wild, (10, 50)),
            true({"LogNormal(0, 2)": LogNormal(0.0, 2.0)}, wild, (50,)),
            true({"Normal": Normal(), "Normal, d = 5": Normal(np.zeros(5))}, wild, (20, 50)),
        ],
        draws=199,
    )
