"""Data on a lattice: sizes, and power for Ising models, a restricted Boltzmann machine and a table."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy import stats
from tables import KSD, RNG, Array, Table, Test, against, fitted, ksd, named, simulated, true, two_sample

import goodstein as gs
from goodstein.families import BernoulliRBM, CategoricalTable, Ising, Potts


def chain(d: int, coupling: float, field: float = 0.0) -> Ising:
    """Spins on a line."""
    theta = np.zeros((d, d))
    i = np.arange(d - 1)
    theta[i, i + 1] = theta[i + 1, i] = coupling
    return Ising(theta, field)


def complete(d: int, scale: float, seed: int) -> Ising:
    """Random couplings between all pairs."""
    upper = np.triu(np.random.default_rng(seed).normal(scale=scale, size=(d, d)), 1)
    return Ising(upper + upper.T, 0.1)


def machine() -> BernoulliRBM:
    """A restricted Boltzmann machine with random weights."""
    rng = np.random.default_rng(1)
    return BernoulliRBM(
        rng.normal(scale=0.7, size=(4, 8)), rng.normal(scale=0.3, size=8), rng.normal(scale=0.3, size=4)
    )


def divided_court(d: int, coupling: float) -> gs.Model:
    """An Ising model of d votes, given that they are not unanimous: two states are impossible."""
    whole = chain(d, coupling)

    def logpdf(x: Array) -> Array:
        return np.where(np.abs(x.sum(axis=1)) == d, -np.inf, whole.logpdf(x))

    def sample(n: int, rng: RNG) -> Array:
        kept = np.empty((0, d))
        while len(kept) < n:
            x = whole.sample(2 * n, rng)
            kept = np.concatenate([kept, x[np.abs(x.sum(axis=1)) < d]])
        return kept[:n]

    return gs.Model(logpdf=logpdf, sample=sample, domain=whole.domain, batched=True, name="divided court")


MACHINE = machine()
TABLE = CategoricalTable([[6, 3, 1], [2, 5, 3], [1, 2, 7]])

# Sizes.

LINE = {"Ising, 10 spins on a line": chain(10, 0.3)}
SQUARE_TABLE = {"table, 3 × 3": TABLE}
BOLTZMANN = {"restricted Boltzmann machine, d = 8": MACHINE}
CASES: dict[str, Any] = {
    "Ising, 10 independent spins": chain(10, 0.0, 0.3),
    **LINE,
    "Ising, 10 spins, all pairs coupled": complete(10, 0.2, 1),
    "Potts, 3 levels, d = 5": Potts(3, 0.4 * (np.ones((5, 5)) - np.eye(5)), [0.0, 0.3, -0.2]),
    **SQUARE_TABLE,
    **BOLTZMANN,
    "Ising, 7 votes that are not unanimous": divided_court(7, 0.3),
}


def size_tables() -> Iterator[Table]:
    unbounded = ksd("Difference()", operator=gs.Difference())
    simulation = gs.MonteCarlo(99)
    yield Table(
        "Discrete data",
        "Models on a lattice; the default is `Difference(bound=10)` with the Hamming kernel. Models are "
        "sampled exactly, by enumeration. `Difference()` is the operator without bound.",
        [
            true(CASES, ksd()),
            true(LINE | SQUARE_TABLE | BOLTZMANN, unbounded),
            true(LINE, ksd("Hamming(rate=10.0)", kernel=gs.Hamming(10.0)) | ksd("IMQ", kernel=gs.IMQ())),
            true(LINE | SQUARE_TABLE, ksd(null=simulation), (50,)),
            true(SQUARE_TABLE, ksd(null=gs.Spectral(n_resamples=1999)), (200,)),
            true(
                {"Ising, 5 spins, fitted": complete(5, 0.15, 2)},
                named(fitted, null=gs.ParametricBootstrap(Ising.fit, 39), fit=Ising.fit),
                (200,),
            ),
        ],
        notes={
            "Ising, 5 spins, fitted* | parametric bootstrap*": "Somewhat liberal at the level .10: fitted "
            "couplings are stronger than the true ones on average, so the trace of the Stein matrix is "
            "larger in the bootstrap (3.32 against 3.11, mean of 25 samples) and n·U, which is about minus "
            "that trace for a fitted model, smaller (−2.86 against −2.68, with a standard deviation of .3). "
            "It fades with n: 200 samples with n = 800 gave .055 and .11 at .05 and .10.",
            "*, n = 50 | Hamming(rate=10.0)": "Conservative: of this kernel's pairs only those with equal "
            "or nearly equal states count, and among 50 rows there are few. Within error at n = 200.",
        },
    )
    counts = {"Poisson counts": CategoricalTable(stats.poisson(0.6).pmf(np.arange(6)))}
    ordered = gs.CategoricalProduct(np.exp(-0.5 * np.abs(np.arange(6)[:, None] - np.arange(6))))
    items = {
        f"items with a prevalence of {share:.0%}": CategoricalTable([1 - share, share])
        for share in (0.02, 0.2)
    }
    rare = "items with a prevalence of 2%"
    yield Table(
        "Discrete data with rare states",
        "Items that are zero or one. Poisson(0.6) counts on 0, …, 5: a count of five is expected once in "
        "2800, and the operator without bound gives it the weight 1500. Where it is not in the sample "
        "Stein's identity does not show; `ksd_test` warns of it and recommends the bound.",
        [
            true(counts, ksd() | ksd("ordered levels", kernel=ordered) | unbounded),
            true(items, ksd(), (100,)),
            true({rare: items[rare]}, ksd(null=simulation), (100,)),
            true(counts, ksd("Difference()", simulation, operator=gs.Difference()), (50,)),
        ],
        notes={
            "items with a prevalence* | Monte Carlo*": "Conservative: the statistic depends on the number "
            "of ones only, which takes few values, and draws that equal the statistic count against it.",
            "items with a prevalence* | default": "Liberal where nearly all states have one neighbour that "
            "is rare: a sample without it has nothing that balances the others. `ksd_test` warns. Monte "
            "Carlo calibration keeps the level.",
            "* | Difference()": "Liberal without bound: half of the mass is balanced by a state that is "
            "hardly ever in the sample. The bound, and Monte Carlo calibration, keep the level.",
        },
    )


# Power.


@lru_cache
def probabilities(model: Any) -> Array:
    """Of all states, in the order of the lattice."""
    return np.exp(model.logpdf(model.domain.states()) - model.log_partition())


def products(x: Array) -> Array:
    """x_i and x_i x_j."""
    i, j = np.triu_indices(x.shape[1], 1)
    return np.concatenate([x, x[:, i] * x[:, j]], axis=1)


@lru_cache
def moments(model: Any) -> tuple[Array, Array]:
    """Mean and inverse covariance of these under the model."""
    q, t = probabilities(model), products(model.domain.states())
    centred = t - q @ t
    return q @ t, np.linalg.inv((centred * q[:, None]).T @ centred)


def score_of_moments(x: Array, model: Any) -> float:
    """The score statistic of all fields and couplings: means and pairwise products against the model's."""
    mean, precision = moments(model)
    gap = products(x).mean(axis=0) - mean
    return float(len(x) * gap @ precision @ gap)


def pearson(x: Array, model: Any) -> float:
    """Pearson's statistic of all cells."""
    domain, expected = model.domain, len(x) * probabilities(model)
    codes = np.ravel_multi_index(tuple(domain.encode(x).T), (len(domain.levels),) * domain.dim)
    counts = np.bincount(codes, minlength=domain.size)
    return float(((counts - expected) ** 2 / expected).sum())


def hamming(points: Array) -> Array:
    return gs.Hamming()(points, points)


OURS: dict[str, Test] = {
    "Difference, bound 10": KSD,
    "Difference, no bound": partial(KSD, operator=gs.Difference()),
    "bound 10, Hamming rate 3": partial(KSD, kernel=gs.Hamming(3.0)),
}
MMD: dict[str, Test] = {"MMD with draws": two_sample(hamming)}
BINARY = OURS | {"moments": simulated(score_of_moments, 1999)} | MMD
ABOUT = (
    " Moments: the score test of all fields and couplings of an Ising model, which needs the means and "
    "covariances of the model (here by enumeration), its null distribution simulated. MMD: the two-sample "
    "test with the Hamming kernel and 199 permutations against as many exact draws from the model. "
)


def perturbed(scale: float) -> BernoulliRBM:
    """The machine with other weights."""
    noise = np.random.default_rng(2).normal(size=MACHINE.weights.shape)
    return BernoulliRBM(MACHINE.weights + scale * noise, MACHINE.visible_bias, MACHINE.hidden_bias)


def power_tables() -> Iterator[Table]:
    spins = against(chain(10, 0.2), 200, BINARY)
    yield spins(
        "discrete: couplings of an Ising model",
        "Ten spins on a line with couplings 0.2; the data have other couplings." + ABOUT,
        {f"coupling {value:g}": chain(10, value) for value in (0.23, 0.26, 0.29, 0.32)},
    )
    yield against(chain(10, 0.0), 200, BINARY)(
        "discrete: couplings of spins taken to be independent",
        "Ten independent spins under the null; the data are coupled on a line. The ratios of an independent "
        "model depend on one spin each, so that only test functions of pairs can see couplings; a kernel as "
        "flat as Hamming(rate=1) gives them little weight." + ABOUT,
        {f"coupling {value:g}": chain(10, value) for value in (0.06, 0.1, 0.14, 0.18)},
    )
    yield spins(
        "discrete: field of an Ising model",
        "Ten spins on a line without field; the data have one." + ABOUT,
        {f"field {value:g}": chain(10, 0.2, value) for value in (0.04, 0.07, 0.1, 0.13)},
    )
    yield against(MACHINE, 200, BINARY)(
        "discrete: weights of a restricted Boltzmann machine",
        "Eight visible and four hidden units; the data come from weights with noise." + ABOUT,
        {f"noise {value:g}": perturbed(value) for value in (0.1, 0.15, 0.2, 0.3)},
    )
    corner = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    yield against(TABLE, 200, OURS | {"Pearson": simulated(pearson, 1999)} | MMD)(
        "discrete: a table of three levels",
        "Two coordinates with three levels each, nine cells; the data have heavier or lighter diagonal or "
        "corner cells. Pearson's test of the nine cells has its null distribution simulated. MMD: the "
        "two-sample test with the Hamming kernel and 199 permutations against as many exact draws.",
        {
            f"{name}, effect {effect:g}": CategoricalTable(TABLE.table * np.exp(effect * direction))
            for name, direction in (("diagonal", np.eye(3) - 1 / 3), ("corners", corner))
            for effect in (0.2, 0.4, 0.6)
        },
    )
