"""Level of the tests of discrete data: models on a lattice that are true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import stats
from size_row import SIZES, Row

import goodstein as gs
from goodstein.families import BernoulliRBM, CategoricalTable, Ising, Potts

Array = np.ndarray

DISCRETE = "Discrete data"
RARE = "Discrete data with rare states"

ABOUT = {
    DISCRETE: "Models on a lattice; the default is `Difference(bound=10)` with the Hamming kernel. Models "
    "are sampled exactly, by enumeration. `Difference()` is the operator without bound.",
    RARE: "Items that are zero or one. Poisson(0.6) counts on 0, …, 5: a count of five is expected once in "
    "2800, and the operator without bound gives it the weight 1500. Where it is not in the sample Stein's "
    "identity does not show; `ksd_test` warns of it and recommends the bound.",
}

EXPLANATIONS: dict[str, str] = {
    f"{DISCRETE} | Ising, 5 spins, fitted | * | parametric bootstrap*": (
        "Somewhat liberal at the level .10: fitted couplings are stronger than the true ones on average, so"
        " the trace of the Stein matrix is larger in the bootstrap (3.32 against 3.11, mean of 25 samples) "
        "and n·U, which is about minus that trace for a fitted model, smaller (−2.86 against −2.68, with a "
        "standard deviation of .3). It fades with n: 200 samples with n = 800 gave .055 and .11 at .05 and "
        ".10."
    ),
    f"{DISCRETE} | * | Hamming(rate=10.0) | wild* | n=50": (
        "Conservative: of this kernel's pairs only those with equal or nearly equal states count, and among"
        " 50 rows there are few. Within error at n = 200."
    ),
    f"{RARE} | items with a prevalence* | * | Monte Carlo*": (
        "Conservative: the statistic depends on the number of ones only, which takes few values, and draws "
        "that equal the statistic count against it."
    ),
    f"{RARE} | items with a prevalence* | default | wild*": (
        "Liberal where nearly all states have one neighbour that is rare: a sample without it has nothing "
        "that balances the others. `ksd_test` warns. Monte Carlo calibration keeps the level."
    ),
    f"{RARE} | * | Difference() | wild*": (
        "Liberal without bound: half of the mass is balanced by a state that is hardly ever in the sample. "
        "The bound, and Monte Carlo calibration, keep the level."
    ),
}


def chain(d: int, coupling: float, field: float = 0.0) -> Ising:
    """Spins on a line."""
    theta = np.zeros((d, d))
    i = np.arange(d - 1)
    theta[i, i + 1] = theta[i + 1, i] = coupling
    return Ising(theta, field)


def complete(d: int, scale: float, seed: int) -> Array:
    """Random couplings between all pairs."""
    upper = np.triu(np.random.default_rng(seed).normal(scale=scale, size=(d, d)), 1)
    return upper + upper.T


def machine(d: int, hidden: int, scale: float, seed: int = 1) -> BernoulliRBM:
    """A restricted Boltzmann machine with random weights."""
    rng = np.random.default_rng(seed)
    return BernoulliRBM(
        rng.normal(scale=scale, size=(hidden, d)),
        rng.normal(scale=0.3, size=d),
        rng.normal(scale=0.3, size=hidden),
    )


def divided_court(d: int, coupling: float) -> gs.Model:
    """An Ising model of d votes, given that they are not unanimous: two states are impossible."""
    whole = chain(d, coupling)

    def logpdf(x: Array) -> Array:
        return np.where(np.abs(x.sum(axis=1)) == d, -np.inf, whole.logpdf(x))

    def sample(n: int, rng: np.random.Generator) -> Array:
        kept = np.empty((0, d))
        while len(kept) < n:
            x = whole.sample(2 * n, rng)
            kept = np.concatenate([kept, x[np.abs(x.sum(axis=1)) < d]])
        return kept[:n]

    return gs.Model(logpdf=logpdf, sample=sample, domain=whole.domain, batched=True, name="divided court")


INDEPENDENT = chain(10, 0.0, 0.3)
CHAIN = chain(10, 0.3)
GLASS = Ising(complete(10, 0.2, 1), 0.1)
POTTS = Potts(3, 0.4 * (np.ones((5, 5)) - np.eye(5)), [0.0, 0.3, -0.2])
TABLE = CategoricalTable([[6, 3, 1], [2, 5, 3], [1, 2, 7]])
MACHINE = machine(8, 4, 0.7)
COUNTS = CategoricalTable(stats.poisson(0.6).pmf(np.arange(6)))
ORDERED = gs.CategoricalProduct(np.exp(-0.5 * np.abs(np.arange(6)[:, None] - np.arange(6))))
SMALL = Ising(complete(5, 0.15, 2), 0.1)


def rows() -> Iterator[Row]:
    """Every row."""
    cases: dict[str, Any] = {
        "Ising, 10 independent spins": INDEPENDENT,
        "Ising, 10 spins on a line": CHAIN,
        "Ising, 10 spins, all pairs coupled": GLASS,
        "Potts, 3 levels, d = 5": POTTS,
        "table, 3 × 3": TABLE,
        "restricted Boltzmann machine, d = 8": MACHINE,
        "Ising, 7 votes that are not unanimous": divided_court(7, 0.3),
    }
    for case, model in cases.items():
        for n in SIZES:
            yield Row(DISCRETE, case, n, model)
    for case in ("Ising, 10 spins on a line", "table, 3 × 3", "restricted Boltzmann machine, d = 8"):
        for n in SIZES:
            yield Row(DISCRETE, case, n, cases[case], gs.Difference())
    for kernel in (gs.Hamming(10.0), gs.IMQ()):
        for n in SIZES:
            yield Row(DISCRETE, "Ising, 10 spins on a line", n, CHAIN, kernel=kernel)
    yield Row(DISCRETE, "Ising, 10 spins on a line", 50, CHAIN, null=gs.MonteCarlo(99))
    yield Row(DISCRETE, "table, 3 × 3", 50, TABLE, null=gs.MonteCarlo(99))
    yield Row(DISCRETE, "table, 3 × 3", 200, TABLE, null=gs.Spectral(n_resamples=1999))
    bootstrap = gs.ParametricBootstrap(Ising.fit, 39)
    yield Row(DISCRETE, "Ising, 5 spins, fitted", 200, SMALL, fit=Ising.fit, null=bootstrap)
    for n in SIZES:
        yield Row(RARE, "Poisson counts", n, COUNTS)
        yield Row(RARE, "Poisson counts", n, COUNTS, kernel=ORDERED, test="ordered levels")
        yield Row(RARE, "Poisson counts", n, COUNTS, gs.Difference(), test="Difference()")
    for prevalence in (0.02, 0.2):
        items = CategoricalTable([1 - prevalence, prevalence])
        yield Row(RARE, f"items with a prevalence of {prevalence:.0%}", 100, items)
    yield Row(
        RARE, "items with a prevalence of 2%", 100, CategoricalTable([0.98, 0.02]), null=gs.MonteCarlo(99)
    )
    yield Row(
        RARE, "Poisson counts", 50, COUNTS, gs.Difference(), null=gs.MonteCarlo(99), test="Difference()"
    )
