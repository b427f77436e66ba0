"""Power on discrete data: Ising models, a restricted Boltzmann machine, and a table of three levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from scenario import Alternative, PValue, Scenario
from size_discrete import chain, machine

import goodstein as gs
from goodstein.families import BernoulliRBM, CategoricalTable, Ising

Array = np.ndarray

SIMULATED = 1999
"""Samples of the null model from which the classical tests take their critical values."""
PERMUTATIONS = 199


def ours(model: Any, **options: Any) -> PValue:
    """The p-value of `ksd_test`."""
    return lambda x, rng: gs.ksd_test(x, model, workers=1, rng=rng, **options).pvalue


def probabilities(model: Any) -> Array:
    """The probabilities of all states, in the order of the lattice."""
    return np.exp(model.logpdf(model.domain.states()) - model.log_partition())


def simulated(name: str, n: int, statistic: Callable[[Array], Array]) -> Array:
    """Sorted values of a statistic of the counts of all states, (k, states), under a null model."""
    rng = np.random.default_rng(1)
    q = probabilities(NULLS[name])
    parts = [statistic(rng.multinomial(n, q, size=100)) for _ in range(SIMULATED // 100 + 1)]
    return np.sort(np.concatenate(parts)[:SIMULATED])


def simulated_pvalue(name: str, statistic: Callable[[str, int], Callable[[Array], Array]]) -> PValue:
    """The p-value of a statistic of the counts of all states; its null distribution is simulated once."""

    @lru_cache
    def null(n: int) -> Array:
        return simulated(name, n, statistic(name, n))

    def pvalue(x: Array, rng: np.random.Generator) -> float:
        domain = NULLS[name].domain
        codes = np.ravel_multi_index(tuple(domain.encode(x).T), (len(domain.levels),) * domain.dim)
        counts = np.bincount(codes, minlength=domain.size)
        values = null(len(x))
        value = float(statistic(name, len(x))(counts[None])[0])
        return (1 + np.count_nonzero(values >= value * (1 - 1e-12))) / (1 + len(values))

    return pvalue


@lru_cache
def _moments(name: str) -> tuple[Array, Array, Array]:
    """x_i and x_i x_j at all states, their means and their inverse covariance under the null model."""
    states = NULLS[name].domain.states()
    i, j = np.triu_indices(states.shape[1], 1)
    t = np.concatenate([states, states[:, i] * states[:, j]], axis=1)
    q = probabilities(NULLS[name])
    centred = t - q @ t
    return t, q @ t, np.linalg.inv((centred * q[:, None]).T @ centred)


def moment_statistic(name: str, n: int) -> Callable[[Array], Array]:
    """The score statistic of all fields and couplings: means and pairwise products against the model's."""
    t, mean, precision = _moments(name)

    def statistic(counts: Array) -> Array:
        gap = counts @ t / n - mean
        return n * np.einsum("ki,ij,kj->k", gap, precision, gap)

    return statistic


def pearson_statistic(name: str, n: int) -> Callable[[Array], Array]:
    """Pearson's statistic of all cells."""
    expected = n * probabilities(NULLS[name])
    return lambda counts: ((counts - expected) ** 2 / expected).sum(axis=1)


def mmd(model: Any) -> PValue:
    """The two-sample test by the maximum mean discrepancy against as many draws from the model."""

    def pvalue(x: Array, rng: np.random.Generator) -> float:
        n = len(x)
        pooled = np.concatenate([x, model.sample(n, rng)])
        gram = gs.Hamming()(pooled, pooled)
        signs = np.repeat([1.0, -1.0], n)
        weights = np.stack([signs, *(rng.permutation(signs) for _ in range(PERMUTATIONS))], axis=1)
        values = np.einsum("ik,ik->k", weights, gram @ weights)
        return float(np.mean(values >= values[0] * (1 - 1e-9)))

    return pvalue


def alternative(label: str, model: Any, null: Any) -> Alternative:
    """A law whose likelihood ratio is known."""
    return Alternative(label, model.sample, lambda x: float((model.logpdf(x) - null.logpdf(x)).sum()))


SPINS = chain(10, 0.2)
FREE = chain(10, 0.0)
MACHINE = machine(8, 4, 0.7)
TABLE = CategoricalTable([[6, 3, 1], [2, 5, 3], [1, 2, 7]])
NULLS: dict[str, Any] = {"spins": SPINS, "free": FREE, "machine": MACHINE, "table": TABLE}
NOISE = np.random.default_rng(2).normal(size=MACHINE.weights.shape)
DIAGONAL = np.eye(3) - 1 / 3
CORNER = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])


def perturbed(scale: float) -> BernoulliRBM:
    """The machine with other weights."""
    return BernoulliRBM(MACHINE.weights + scale * NOISE, MACHINE.visible_bias, MACHINE.hidden_bias)


def tilted(direction: Array, effect: float) -> CategoricalTable:
    """The table with cells multiplied by exp(effect · direction)."""
    return CategoricalTable(TABLE.table * np.exp(effect * direction))


def binary_tests(name: str) -> Mapping[str, PValue]:
    """Ours, and what one would do today."""
    model = NULLS[name]
    return {
        "Difference, bound 10": ours(model),
        "Difference, no bound": ours(model, operator=gs.Difference()),
        "bound 10, Hamming rate 3": ours(model, kernel=gs.Hamming(3.0)),
        "moments": simulated_pvalue(name, moment_statistic),
        "MMD with draws": mmd(model),
    }


ABOUT = (
    "Moments: the score test of all fields and couplings of an Ising model, which needs the means and "
    "covariances of the model (here by enumeration), its null distribution simulated. MMD: the two-sample "
    "test with the Hamming kernel and 199 permutations against as many exact draws from the model. "
)


def scenarios() -> list[Scenario]:
    """Five tables."""
    return [
        Scenario(
            "discrete: couplings of an Ising model",
            200,
            SPINS.sample,
            tuple(
                alternative(f"coupling {value:g}", chain(10, value), SPINS)
                for value in (0.23, 0.26, 0.29, 0.32)
            ),
            binary_tests("spins"),
            about="Ten spins on a line with couplings 0.2; the data have other couplings. " + ABOUT,
        ),
        Scenario(
            "discrete: couplings of spins taken to be independent",
            200,
            FREE.sample,
            tuple(
                alternative(f"coupling {value:g}", chain(10, value), FREE)
                for value in (0.06, 0.1, 0.14, 0.18)
            ),
            binary_tests("free"),
            about="Ten independent spins under the null; the data are coupled on a line. The ratios of an "
            "independent model depend on one spin each, so that only test functions of pairs can see "
            "couplings; a kernel as flat as Hamming(rate=1) gives them little weight. " + ABOUT,
        ),
        Scenario(
            "discrete: field of an Ising model",
            200,
            SPINS.sample,
            tuple(
                alternative(f"field {value:g}", Ising(SPINS.theta, value), SPINS)
                for value in (0.04, 0.07, 0.1, 0.13)
            ),
            binary_tests("spins"),
            about="Ten spins on a line without field; the data have one. " + ABOUT,
        ),
        Scenario(
            "discrete: weights of a restricted Boltzmann machine",
            200,
            MACHINE.sample,
            tuple(
                alternative(f"noise {value:g}", perturbed(value), MACHINE) for value in (0.1, 0.15, 0.2, 0.3)
            ),
            binary_tests("machine"),
            about="Eight visible and four hidden units; the data come from weights with noise. " + ABOUT,
        ),
        Scenario(
            "discrete: a table of three levels",
            200,
            TABLE.sample,
            tuple(
                alternative(f"{name}, effect {effect:g}", tilted(direction, effect), TABLE)
                for name, direction in (("diagonal", DIAGONAL), ("corners", CORNER))
                for effect in (0.2, 0.4, 0.6)
            ),
            {
                "Difference, bound 10": ours(TABLE),
                "Difference, no bound": ours(TABLE, operator=gs.Difference()),
                "bound 10, Hamming rate 3": ours(TABLE, kernel=gs.Hamming(3.0)),
                "Pearson": simulated_pvalue("table", pearson_statistic),
                "MMD with draws": mmd(TABLE),
            },
            about="Two coordinates with three levels each, nine cells; the data have heavier or lighter "
            "diagonal or corner cells. Pearson's test of the nine cells has its null distribution simulated. "
            "MMD: the two-sample test with the Hamming kernel and 199 permutations against as many exact "
            "draws.",
        ),
    ]
