"""Sizes and power on dependent rows: autoregressions and draws of Markov chains."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.signal import lfilter
from tables import KSD, RNG, Array, Part, Table, Test, ksd, true

import goodstein as gs
from goodstein.families import Dirichlet, Ising, LogNormal, Normal, StudentT, VonMisesFisher
from goodstein.pipeline.compose import compose

COEFFICIENTS = (0.0, 0.3, 0.5, 0.7, 0.9, 0.95)
SIGNS = gs.WildBootstrap(flip=0.5)
SEVERAL = 4
"""Chains."""


def autoregression(coefficient: float, n: int, rng: RNG, d: int = 1, shift: float = 0.0) -> Array:
    """A stationary Gaussian AR(1) sequence with standard normal margins, (n, d)."""
    steps = rng.standard_normal((n, d))
    steps[1:] *= np.sqrt(1 - coefficient**2)
    return lfilter([1.0], [1.0, -coefficient], steps, axis=0) + shift


def time(coefficient: float) -> float:
    """The correlation time of an AR(1) sequence."""
    return (1 + coefficient) / (1 - coefficient)


# Targets of Markov chains: log density and score of one point or of several.


class Correlated:
    """A normal distribution in the plane with correlation .9."""

    dim = 2
    model = Normal([0, 0], [[1, 0.9], [0.9, 1]])
    precision = np.linalg.inv([[1, 0.9], [0.9, 1]])

    def logpdf(self, x: Array) -> Any:
        return -0.5 * np.einsum("...i,ij,...j->...", x, self.precision, x)

    def score(self, x: Array) -> Array:
        return -x @ self.precision


class Banana:
    """x₁ ~ N(0, 1), x₂ ~ N(x₁², 1)."""

    dim = 2

    def logpdf(self, x: Array) -> Any:
        return -0.5 * (x[..., 0] ** 2 + (x[..., 1] - x[..., 0] ** 2) ** 2)

    def score(self, x: Array) -> Array:
        rest = x[..., 1] - x[..., 0] ** 2
        return np.stack([-x[..., 0] + 2 * x[..., 0] * rest, -rest], axis=-1)


class Hierarchical:
    """(η₁, …, η₄, μ, log τ): y_j ~ N(μ + τη_j, 1), η_j ~ N(0, 1), μ ~ N(0, 3²), log τ ~ N(0, 1)."""

    dim = 6
    y = np.array([-1.2, 0.3, 0.8, 2.4])

    def logpdf(self, x: Array) -> Any:
        eta, mu, log_tau = x[..., :4], x[..., 4:5], x[..., 5:]
        rest = self.y - mu - np.exp(log_tau) * eta
        squares = (rest**2).sum(-1) + (eta**2).sum(-1) + mu[..., 0] ** 2 / 9 + log_tau[..., 0] ** 2
        return -0.5 * squares

    def score(self, x: Array) -> Array:
        eta, mu, log_tau = x[..., :4], x[..., 4:5], x[..., 5:]
        tau = np.exp(log_tau)
        rest = self.y - mu - tau * eta
        slopes = [rest.sum(-1, keepdims=True) - mu / 9, (rest * tau * eta).sum(-1, keepdims=True) - log_tau]
        return np.concatenate([rest * tau - eta, *slopes], axis=-1)


Target = Correlated | Banana | Hierarchical
BURN = 200
"""Steps before the first draw."""


def metropolis(target: Target, n: int, rng: RNG, chains: int = 1, step: float = 1.2) -> Array:
    """A random walk, (chains, n, d), all chains at a time."""
    x = 0.3 * rng.standard_normal((chains, target.dim))
    level, kept = target.logpdf(x), np.empty((chains, n, target.dim))
    for k in range(-BURN, n):
        proposal = x + step / np.sqrt(target.dim) * rng.standard_normal(x.shape)
        proposed = target.logpdf(proposal)
        accepted = np.log(rng.random(chains)) < proposed - level
        x, level = np.where(accepted[:, None], proposal, x), np.where(accepted, proposed, level)
        if k >= 0:
            kept[:, k] = x
    return kept


def hamiltonian(target: Target, n: int, rng: RNG, chains: int = 1, size: float = 0.25) -> Array:
    """Hamiltonian Monte Carlo with one to seven leapfrog steps, (chains, n, d)."""
    x = 0.3 * rng.standard_normal((chains, target.dim))
    level, kept = target.logpdf(x), np.empty((chains, n, target.dim))
    for k in range(-BURN, n):
        momentum = rng.standard_normal(x.shape)
        before = level - 0.5 * (momentum**2).sum(1)
        proposal, slope = x, target.score(x)
        for _ in range(int(rng.integers(1, 8))):
            momentum = momentum + 0.5 * size * slope
            proposal = proposal + size * momentum
            slope = target.score(proposal)
            momentum = momentum + 0.5 * size * slope
        proposed = target.logpdf(proposal)
        accepted = np.log(rng.random(chains)) < proposed - 0.5 * (momentum**2).sum(1) - before
        x, level = np.where(accepted[:, None], proposal, x), np.where(accepted, proposed, level)
        if k >= 0:
            kept[:, k] = x
    return kept


Sampler = Callable[..., Array]


def one(sampler: Sampler, target: Target, n: int, rng: RNG) -> Array:
    """A chain of n draws."""
    return sampler(target, n, rng)[0]


def several(sampler: Sampler, target: Target, n: int, rng: RNG) -> gs.Chains:
    """Chains with n draws in all."""
    return gs.Chains(sampler(target, n // SEVERAL, rng, SEVERAL))


def thinned(data: Any, model: Any, *, rng: RNG, every: int) -> Any:
    """Independent signs on every so manieth row."""
    return KSD(data[::every], model, null=SIGNS, rng=rng)


def stated(data: Any, model: Any, *, rng: RNG) -> Any:
    """By default, but told that the rows are a chain."""
    return KSD(gs.Chains([data]), model, rng=rng)


def sequences() -> Table:
    parts: list[Part] = []
    for coefficient in COEFFICIENTS:
        thin: dict[str, Test] = {"thinned to 2τ": partial(thinned, every=int(np.ceil(2 * time(coefficient))))}
        signs = ksd(null=SIGNS)
        slow = ksd(null=gs.WildBootstrap(flip=0.1 / time(coefficient)))
        tests = ksd() | signs if coefficient < 0.3 else ksd() | signs | thin | slow
        sizes = [
            n for n in (50, 200, 500, 1500) if 20 * time(coefficient) <= n <= 100 * time(coefficient) + 100
        ]
        case = f"R¹, AR(1), coefficient {coefficient:g}"
        draw = partial(autoregression, coefficient)
        parts.append(true({case: Normal(0, 1)}, tests, sizes, sample_null=draw))
    for coefficient in (0.0, 0.3, 0.5, 0.9):
        case, draw = f"R¹, AR(1), coefficient {coefficient:g}", partial(autoregression, coefficient)
        short = {} if coefficient in (0.0, 0.3) else ksd()
        parts.append(
            true({f"{case}, short": Normal(0, 1)}, short | {"as Chains": stated}, (50,), sample_null=draw)
        )
    return Table(
        "Dependent rows",
        "Stationary Gaussian AR(1) sequences with standard normal margins: the model is true, but the rows "
        "are not independent. Their correlation time is τ = (1 + ϱ)/(1 − ϱ) for a coefficient ϱ, and n rows "
        "are worth n/τ independent ones. By default random signs change between batches of rows only; "
        "a flip of one half ignores the dependence, one of 1/(10τ) lets signs change every 10τ rows. `as "
        "Chains` is the default test of `gs.Chains([x])`.",
        parts,
        trials=1000,
        notes={
            "* n = 50 | default": "Liberal: 50 rows often do not show that they depend on each other. Told "
            "so (`as Chains`), the test keeps its level.",
            "* n = 50 | as Chains": "Conservative: there are few batches.",
            "* | wild, flip 0.5": "Liberal: the test takes dependent rows for independent ones.",
            "* | thinned*": "Conservative: thirteen rows are left.",
            "* | wild, flip 0.0*": "Conservative: the signs change too seldom in so few rows.",
        },
    )


TARGETS: dict[str, Target] = {
    "normal, correlation .9": Correlated(),
    "banana": Banana(),
    "hierarchical posterior": Hierarchical(),
}


def chains() -> Table:
    parts: list[Part] = []
    tests = ksd() | ksd(null=SIGNS)
    for name, target in TARGETS.items():
        for label, sampler in (("random walk", metropolis), ("Hamiltonian", hamiltonian)):
            model = gs.Model(score=target.score, domain=gs.Euclidean(target.dim), name=name)
            for count, draw in (("one chain", one), (f"{SEVERAL} chains", several)):
                case = {f"{name}, {label}, {count}": model}
                parts.append(true(case, tests, (600,), sample_null=partial(draw, sampler, target)))
    return Table(
        "Markov chains",
        "Draws of Metropolis' random walk and of Hamiltonian Monte Carlo after 200 steps: one chain of n "
        f"draws, or {SEVERAL} chains with n draws in all.",
        parts,
        trials=1000,
        notes={
            "* | wild, flip 0.5": "Liberal: the test takes dependent rows for independent ones.",
            "hierarchical posterior, random walk, * | default": "Conservative: this walk moves so slowly "
            "that 600 draws make few batches; with "
            "the Hamiltonian sampler the level of the same model is kept.",
        },
    )


def order(data: Array, model: Any, *, rng: RNG) -> float:
    """The p-value by which dependence along the rows is found."""
    return compose(data, model).dependence.pvalue


def orders() -> Table:
    laws = {
        "R², Normal": Normal([0, 0]),
        "R¹, Cauchy": StudentT(1.0, [0.0], [[1.0]]),
        "half-line, LogNormal(0, 2)": LogNormal(0, 2),
        "Simplex, Dirichlet(½, ½, ½)": Dirichlet([0.5, 0.5, 0.5]),
        "Sphere, von Mises–Fisher": VonMisesFisher([0, 0, 1], 1.0),
        "Lattice, Ising": Ising(0.3 * (np.eye(4, k=1) + np.eye(4, k=-1))),
    }
    return Table(
        "Whether rows depend on each other",
        "The check that every test makes of the order of its rows, as a test by itself: the rows are "
        "independent, so that each finding is a false alarm. Random signs are cautious at a p-value of .05, "
        "simulated null distributions are given up at .01, and warnings begin at .001.",
        [true(laws, {"order of the rows": order}, (10, 20, 50, 200))],
        trials=2000,
        notes={
            "Lattice, Ising, n = 10 | *": "Ten rows of few states have few different orders, so that the "
            "p-value takes few values.",
        },
    )


def size_tables() -> list[Table]:
    return [sequences(), chains(), orders()]
