"""Power of the default tests on R^d, beside what a user would use today.

The null model is N(0, I). Tests that need a second sample get as many draws of the model as there are data.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scenario import Alternative, Scenario
from scipy.special import gammaln, log_ndtr
from scipy.stats import chi2, kstest
from scipy.stats import laplace as laplace_law

import goodstein as gs

N = 100
TRIALS = 300
PERMUTATIONS = 199
SIMULATED = 9999
"""Draws of the null for tests without a known law."""

Array = np.ndarray


# --- what a user would do today ------------------------------------------------------------------


def anderson_darling(x: Array) -> float:
    """A² of a sample against the standard normal distribution, tails weighted."""
    z = np.sort(x[:, 0])
    i = np.arange(1, len(z) + 1)
    return float(-len(z) - np.mean((2 * i - 1) * (log_ndtr(z) + log_ndtr(-z[::-1]))))


def kurtosis(x: Array) -> float:
    """|mean ‖x‖⁴ − d(d + 2)|: Mardia's kurtosis with known mean and covariance."""
    d = x.shape[1]
    return float(abs(np.mean((x**2).sum(axis=1) ** 2) - d * (d + 2)))


@lru_cache
def null_values(statistic: Callable[[Array], float], n: int, d: int) -> Array:
    """The statistic under the null, simulated once."""
    rng = np.random.default_rng([n, d])
    return np.array([statistic(rng.standard_normal((n, d))) for _ in range(SIMULATED)])


def simulated(statistic: Callable[[Array], float]) -> Callable[[Array, np.random.Generator], float]:
    def pvalue(x: Array, rng: np.random.Generator) -> float:
        draws = null_values(statistic, *x.shape)
        return float((1 + np.count_nonzero(draws >= statistic(x))) / (1 + len(draws)))

    return pvalue


def kolmogorov(x: Array, rng: np.random.Generator) -> float:
    return float(kstest(x[:, 0], "norm").pvalue)


def mean_test(x: Array, rng: np.random.Generator) -> float:
    """n‖x̄‖² ~ χ²_d: the score test of the mean."""
    return float(chi2.sf(len(x) * np.sum(x.mean(axis=0) ** 2), x.shape[1]))


def variance_test(x: Array, rng: np.random.Generator) -> float:
    """Σ‖x‖² ~ χ²_{nd}, two-sided: the score test of a common variance."""
    tail = chi2.cdf(np.sum(x**2), x.size)
    return float(2 * min(tail, 1 - tail))


def energy(x: Array, rng: np.random.Generator) -> float:
    return permuted(x, rng, lambda squared: -np.sqrt(squared))


def mmd(x: Array, rng: np.random.Generator) -> float:
    def gaussian(squared: Array) -> Array:
        return np.exp(-squared / (2 * np.median(squared[np.triu_indices(len(squared), 1)])))

    return permuted(x, rng, gaussian)


def permuted(x: Array, rng: np.random.Generator, kernel: Callable[[Array], Array]) -> float:
    """A two-sample test against draws of the model: sᵀKs with signs s for the samples, permuted."""
    points = np.concatenate([x, rng.standard_normal(x.shape)])
    norms = (points**2).sum(axis=1)
    k = kernel(np.maximum(norms[:, None] + norms - 2 * points @ points.T, 0.0))
    signs = np.repeat([1.0, -1.0], len(x))
    labels = np.column_stack([signs, *(rng.permutation(signs) for _ in range(PERMUTATIONS))])
    values = np.einsum("ik,ik->k", labels, k @ labels)
    return float(np.count_nonzero(values >= values[0] - 1e-9) / (1 + PERMUTATIONS))


# --- ours ----------------------------------------------------------------------------------------


@lru_cache
def standard(d: int) -> Any:
    return gs.families.Normal(np.zeros(d))


def ksd(x: Array, rng: np.random.Generator) -> float:
    return gs.ksd_test(x, standard(x.shape[1]), workers=1, rng=rng).pvalue


def fssd(x: Array, rng: np.random.Generator) -> float:
    return gs.fssd_test(x, standard(x.shape[1]), rng=rng).pvalue


# --- the laws ------------------------------------------------------------------------------------


def null(d: int) -> Callable[[int, np.random.Generator], Array]:
    return lambda n, rng: rng.standard_normal((n, d))


def shifted(d: int, delta: float) -> Alternative:
    """The first mean is δ."""

    def draw(n: int, rng: np.random.Generator) -> Array:
        x = rng.standard_normal((n, d))
        x[:, 0] += delta
        return x

    return Alternative(f"{delta:g}", draw, lambda x: float(delta * x[:, 0].sum()))


def stretched(d: int, variance: float) -> Alternative:
    """The first variance is σ²."""

    def draw(n: int, rng: np.random.Generator) -> Array:
        x = rng.standard_normal((n, d))
        x[:, 0] *= np.sqrt(variance)
        return x

    return Alternative(f"{variance:g}", draw, lambda x: float((1 - 1 / variance) * (x[:, 0] ** 2).sum()))


def student(d: int, df: float) -> Alternative:
    """Multivariate t with the identity for a covariance."""
    unit = (df - 2) / df

    def draw(n: int, rng: np.random.Generator) -> Array:
        return rng.standard_normal((n, d)) * np.sqrt(unit * df / rng.chisquare(df, size=(n, 1)))

    def log_ratio(x: Array) -> float:
        square = (x**2).sum(axis=1)
        constant = gammaln((df + d) / 2) - gammaln(df / 2) - 0.5 * d * np.log((df - 2) / 2)
        return float(np.sum(constant - 0.5 * (df + d) * np.log1p(square / (df - 2)) + 0.5 * square))

    return Alternative(f"t, df {df:g}", draw, log_ratio)


def laplace(d: int) -> Alternative:
    """The first coordinate follows a Laplace distribution of unit variance."""
    scale = np.sqrt(0.5)

    def draw(n: int, rng: np.random.Generator) -> Array:
        x = rng.standard_normal((n, d))
        x[:, 0] = rng.laplace(scale=scale, size=n)
        return x

    def log_ratio(x: Array) -> float:
        return float(np.sum(laplace_law.logpdf(x[:, 0], scale=scale) + 0.5 * x[:, 0] ** 2))

    return Alternative("Laplace", draw, log_ratio)


DEGREES = {1: (8, 5, 3.5), 5: (40, 20, 12), 20: (200, 100, 60)}


def scenarios() -> list[Scenario]:
    """Mean, variance and tails in 1, 5 and 20 dimensions."""
    found = []
    for d in (1, 5, 20):
        tests: dict[str, Any] = {"KSD": ksd, "FSSD": fssd}
        if d == 1:
            tests |= {
                "Kolmogorov–Smirnov": kolmogorov,
                "Anderson–Darling": simulated(anderson_darling),
            }
        tests |= {
            "MMD with model draws": mmd,
            "energy distance with model draws": energy,
            "mean, χ²": mean_test,
            "variance, χ²": variance_test,
            "kurtosis": simulated(kurtosis),
        }
        kinds = {
            "mean": (
                "Truth: the first mean is δ.",
                tuple(shifted(d, delta) for delta in (0.1, 0.2, 0.3, 0.4)),
            ),
            "variance": (
                "Truth: the first variance is σ².",
                tuple(stretched(d, variance) for variance in (1.2, 1.4, 1.7, 2.0)),
            ),
            "tails": (
                "Truth: a multivariate t of the same covariance; or a Laplace law in the first coordinate.",
                (*(student(d, df) for df in DEGREES[d]), laplace(d)),
            ),
        }
        for kind, (truth, alternatives) in kinds.items():
            found.append(
                Scenario(
                    f"N(0, I), d = {d}: {kind}",
                    N,
                    null(d),
                    alternatives,
                    tests,
                    trials=TRIALS,
                    about=f"Null: the standard normal distribution, fully known. {truth} The χ² tests and "
                    "the kurtosis each know what to look for; the kurtosis and Anderson–Darling have "
                    "simulated null distributions (9999 draws).",
                )
            )
    return found
