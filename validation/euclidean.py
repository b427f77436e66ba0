"""Power on R^d: the default tests, the finite-set test and the second-order operator, beside classical tests.

The null model is N(0, I). Tests that need a second sample get as many draws of the model as there are data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.special import log_ndtr
from scipy.stats import chi2, kstest, laplace, norm
from tables import KSD, RNG, Array, Table, Test, against, energy, gaussian, simulated, two_sample

import goodstein as gs
from goodstein.families import Normal, StudentT

# What a user would do today.


def anderson_darling(x: Array, model: Any) -> float:
    """A² of a sample against the standard normal distribution, tails weighted."""
    z = np.sort(x[:, 0])
    i = np.arange(1, len(z) + 1)
    return float(-len(z) - np.mean((2 * i - 1) * (log_ndtr(z) + log_ndtr(-z[::-1]))))


def kurtosis(x: Array, model: Any) -> float:
    """|mean ‖x‖⁴ − d(d + 2)|: Mardia's kurtosis with known mean and covariance."""
    d = x.shape[1]
    return float(abs(np.mean((x**2).sum(axis=1) ** 2) - d * (d + 2)))


def kolmogorov(x: Array, model: Any, *, rng: Any) -> float:
    return float(kstest(x[:, 0], "norm").pvalue)


def mean_test(x: Array, model: Any, *, rng: Any) -> float:
    """n‖x̄‖² ~ χ²_d: the score test of the mean."""
    return float(chi2.sf(len(x) * np.sum(x.mean(axis=0) ** 2), x.shape[1]))


def variance_test(x: Array, model: Any, *, rng: Any) -> float:
    """Σ‖x‖² ~ χ²_{nd}, two-sided: the score test of a common variance."""
    total = np.sum(x**2)
    return float(2 * min(chi2.cdf(total, x.size), chi2.sf(total, x.size)))


# Laws of which only the first coordinate is not standard normal.


def first_coordinate(
    d: int, draw: Callable[..., Array], logpdf: Callable[[Array], Array], name: str
) -> gs.Model:
    """`draw(n, rng)` and `logpdf` are those of the first coordinate."""

    def sample(n: int, rng: RNG) -> Array:
        x = rng.standard_normal((n, d))
        x[:, 0] = draw(n, rng)
        return x

    return gs.Model(
        logpdf=lambda x: logpdf(x[:, 0]) - 0.5 * (x[:, 1:] ** 2).sum(axis=1),
        sample=sample,
        domain=gs.Euclidean(d),
        batched=True,
        name=name,
    )


def stretched(d: int, variance: float) -> Normal:
    """The first variance is σ²: the "Gaussian variance difference" problem of Jitkrittum et al."""
    return Normal(np.zeros(d), np.diag([variance, *np.ones(d - 1)]))


def contaminated(share: float) -> gs.Model:
    """(1 − w)·N(0, 1) + w·Laplace, both of unit variance."""
    scale = np.sqrt(0.5)

    def draw(n: int, rng: RNG) -> Array:
        other = rng.uniform(size=n) < share
        return np.where(other, rng.laplace(scale=scale, size=n), rng.standard_normal(n))

    def logpdf(z: Array) -> Array:
        return np.log((1 - share) * norm.pdf(z) + share * laplace.pdf(z, scale=scale))

    return first_coordinate(1, draw, logpdf, f"contaminated({share:g})")


def rippled(amplitude: float) -> gs.Model:
    """The density φ(x)·(1 + a·sin 5x)."""

    def draw(n: int, rng: RNG) -> Array:
        # φ is even and the ripple odd: a draw of φ or its mirror image, with odds 1 ± a·sin 5x.
        x = rng.standard_normal(n)
        keep = rng.uniform(-1.0, 1.0, size=n) < amplitude * np.sin(5 * x)
        return np.where(keep, x, -x)

    def logpdf(z: Array) -> Array:
        return np.log1p(amplitude * np.sin(5 * z)) - 0.5 * z**2

    return first_coordinate(1, draw, logpdf, f"rippled({amplitude:g})")


def one_laplace(d: int) -> gs.Model:
    """The first coordinate follows a Laplace distribution of unit variance."""
    scale = np.sqrt(0.5)
    draw = lambda n, rng: rng.laplace(scale=scale, size=n)  # noqa: E731
    return first_coordinate(d, draw, lambda z: laplace.logpdf(z, scale=scale), "Laplace")


# Tables.

DEGREES = {1: (8, 5, 3.5), 5: (40, 20, 12), 20: (200, 100, 60)}
VARIANCES = (1.2, 1.4, 1.7, 2.0)
LINE: dict[str, Test] = {"Kolmogorov–Smirnov": kolmogorov}


def against_classical(d: int) -> Iterator[Table]:
    """Mean, variance and tails in d dimensions."""
    tests: dict[str, Test] = {"KSD": KSD, "FSSD": gs.fssd_test}
    if d == 1:
        tests |= LINE | {"Anderson–Darling": simulated(anderson_darling)}
    tests |= {
        "MMD with model draws": two_sample(gaussian),
        "energy distance with model draws": two_sample(energy),
        "mean, χ²": mean_test,
        "variance, χ²": variance_test,
        "kurtosis": simulated(kurtosis),
    }
    heavy = {f"t, df {df:g}": StudentT(df, np.zeros(d), (df - 2) / df) for df in DEGREES[d]}
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "mean": (
            "Truth: the first mean is δ.",
            {f"{delta:g}": Normal(delta * np.eye(d)[0]) for delta in (0.1, 0.2, 0.3, 0.4)},
        ),
        "variance": (
            "Truth: the first variance is σ².",
            {f"{variance:g}": stretched(d, variance) for variance in VARIANCES},
        ),
        "tails": (
            "Truth: a multivariate t of the same covariance; or a Laplace law in the first coordinate.",
            heavy | {"Laplace": one_laplace(d)},
        ),
    }
    for kind, (truth, laws) in kinds.items():
        yield against(Normal(np.zeros(d)), 100, tests, trials=300)(
            f"N(0, I), d = {d}: {kind}",
            f"Null: the standard normal distribution, fully known. {truth} The χ² tests and the kurtosis "
            "each know what to look for; the kurtosis and Anderson–Darling have simulated null "
            "distributions (9999 draws).",
            laws,
        )


def finite_set() -> Iterator[Table]:
    """The finite-set test, which is made for large samples, beside the quadratic-time test."""
    tests: dict[str, Test] = {
        "FSSD": gs.fssd_test,
        "FSSD, half of the rows for learning": partial(gs.fssd_test, train_fraction=0.5),
        "FSSD, random locations": partial(gs.fssd_test, optimise=False),
        "KSD": KSD,
        "KSD, Gaussian kernel": partial(KSD, kernel=gs.Gaussian()),
    }
    cost = "FSSD takes linear time, KSD quadratic."
    line = against(Normal(), 500, tests | LINE, trials=300)
    yield line(
        "FSSD: Laplace tails",
        f"Null: N(0, 1). Truth: a share w comes from a Laplace law of the same mean and variance. {cost}",
        {f"w = {share:g}": contaminated(share) for share in (0.2, 0.4, 0.6, 0.8)},
    )
    yield against(Normal(np.zeros(5)), 500, tests, trials=300)(
        "FSSD: one variance of five",
        f"Null: N(0, I) in five dimensions. Truth: the first variance is σ². {cost}",
        {f"σ² = {variance:g}": stretched(5, variance) for variance in VARIANCES},
    )
    yield line(
        "FSSD: a ripple",
        "Null: N(0, 1). Truth: the density φ(x)(1 + a·sin 5x), a difference on a finer scale than the "
        f"median distance, which a learnt bandwidth can follow. {cost}",
        {f"a = {amplitude:g}": rippled(amplitude) for amplitude in (0.15, 0.2, 0.3, 0.4)},
    )


def second_order() -> Iterator[Table]:
    """The second-order operator beside the Langevin operator."""
    tests: dict[str, Test] = {
        "SecondOrder": partial(KSD, operator=gs.SecondOrder(), null=gs.WildBootstrap(499)),
        "Langevin": partial(KSD, operator=gs.Langevin(), null=gs.WildBootstrap(499)),
        "χ² test of the mean": mean_test,
        "χ² test of the variance": variance_test,
    }
    table = against(Normal(np.zeros(5)), 100, tests)
    shifts = {f"{size}": Normal(np.full(5, size / np.sqrt(5))) for size in (0.1, 0.2, 0.3, 0.4)}
    scales = {f"{size}": Normal(np.zeros(5), size) for size in (1.08, 1.14, 1.2, 1.3)}
    yield table("R⁵, second order, mean", "N(0, I) against a mean of this length.", shifts)
    yield table("R⁵, second order, variance", "N(0, I) against this variance of every coordinate.", scales)


def power_tables() -> Iterator[Table]:
    yield from second_order()
    yield from finite_set()
    for d in DEGREES:
        yield from against_classical(d)
