"""Power with latent variables, with subsampled posteriors, and of the relative test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scenario import Alternative, PValue, Scenario
from scipy.spatial.distance import cdist, pdist
from scipy.stats import kstest, norm

import goodstein as gs
from goodstein.families import Normal, ProbabilisticPCA

Array = np.ndarray

PCA = ProbabilisticPCA([[1.0, 0.0], [0.8, 0.4], [-0.3, 0.9], [0.2, -0.6]], variance=0.5)
NULL = gs.WildBootstrap(499)


def ksd(model: Any, operator: Any = None) -> PValue:
    """Our test."""

    def pvalue(x: Array, rng: np.random.Generator) -> float:
        return gs.ksd_test(x, model, operator=operator, null=NULL, workers=1, rng=rng).pvalue

    return pvalue


def relative(p: Any, q: Any, operator: Any = None) -> PValue:
    """Our relative test; an undefined one does not reject."""

    def pvalue(x: Array, rng: np.random.Generator) -> float:
        return gs.relative_ksd_test(x, p, q, operator=operator, workers=1, rng=rng).pvalue

    return pvalue


def mmd(model: Any, draws: int = 199) -> PValue:
    """MMD between the data and as many draws of the model, Gaussian kernel at the median, permuted."""

    def pvalue(x: Array, rng: np.random.Generator) -> float:
        n = len(x)
        pooled = np.vstack([x, model.sample(n, rng)])
        width = np.median(pdist(pooled))
        k = np.exp(-cdist(pooled, pooled, "sqeuclidean") / (2 * width**2))
        signs = np.ones((2 * n, draws + 1))
        signs[n:] = -1
        signs[:, 1:] = rng.permuted(signs[:, 1:], axis=0)
        # The diagonal is the same for all permutations.
        values = np.einsum("ib,ib->b", signs, k @ signs)
        return float((1 + np.sum(values[1:] >= values[0] - 1e-9)) / (draws + 1))

    return pvalue


def log_likelihood(alternative: Any, null: Any) -> Callable[[Array], float]:
    """log p(x) − log q(x)."""
    return lambda x: float(np.sum(alternative.logpdf(x) - null.logpdf(x)))


# Latent variables.


def latent_scenario(name: str, laws: dict[str, ProbabilisticPCA], n: int, about: str) -> Scenario:
    """Draws of the latent variable against the exact score."""
    tests = {
        "Latent, draws=1": ksd(PCA.latent(), gs.Latent(1)),
        "Latent, draws=10": ksd(PCA.latent(), gs.Latent(10)),
        "Latent, draws=100": ksd(PCA.latent(), gs.Latent(100)),
        "KSD, exact score": ksd(PCA),
        "MMD to draws of the model": mmd(PCA),
    }
    alternatives = tuple(
        Alternative(label, law.sample, log_likelihood(law, PCA)) for label, law in laws.items()
    )
    return Scenario(name, n, PCA.sample, alternatives, tests, about=about)


# Subsampled posteriors.

OBSERVED = np.random.default_rng(20_220_328).normal([0.5, -1.0], 1.0, (100, 2))
CENTRE, DEVIATION = OBSERVED.sum(axis=0) / 101, 101**-0.5
EXACT = Normal(CENTRE, DEVIATION**2)
POSTERIOR = gs.Posterior(
    lambda theta: -theta,
    lambda theta, y: y - theta[:, None],
    OBSERVED,
    gs.Euclidean(2),
    batched=True,
    name="mean of a normal",
)


def by_coordinate(test: Callable[[Array], float]) -> PValue:
    """A test of each standardised coordinate, Bonferroni's correction for both."""

    def pvalue(x: Array, rng: np.random.Generator) -> float:
        z = (x - CENTRE) / DEVIATION
        return min(1.0, 2 * min(test(column) for column in z.T))

    return pvalue


def z_test(z: Array) -> float:
    """Two-sided test of a standard normal mean."""
    return float(2 * norm.sf(abs(z.mean()) * np.sqrt(len(z))))


def stochastic_scenario(name: str, laws: dict[str, Normal], n: int, about: str) -> Scenario:
    """Subsets of the observations against all of them."""
    tests = {
        "Stochastic, batch_size=10": ksd(POSTERIOR, gs.Stochastic(10)),
        "Stochastic, batch_size=50": ksd(POSTERIOR, gs.Stochastic(50)),
        "KSD, all 100 observations": ksd(POSTERIOR),
        "z-test by coordinate": by_coordinate(z_test),
        "Kolmogorov–Smirnov by coordinate": by_coordinate(lambda z: float(kstest(z, "norm").pvalue)),
    }
    alternatives = tuple(
        Alternative(label, law.sample, log_likelihood(law, EXACT)) for label, law in laws.items()
    )
    return Scenario(name, n, EXACT.sample, alternatives, tests, about=about)


# The relative test.


def vuong(p: Any, q: Any) -> PValue:
    """Vuong's test: the mean difference of log likelihoods over its standard error, one-sided."""

    def pvalue(x: Array, rng: np.random.Generator) -> float:
        difference = q.logpdf(x) - p.logpdf(x)
        return float(norm.sf(difference.mean() / difference.std(ddof=1) * np.sqrt(len(x))))

    return pvalue


def relative_scenarios() -> list[Scenario]:
    """Data that move from the middle between two models towards Q."""
    p, q = Normal(0.5, 1), Normal(-0.5, 1)
    line = Scenario(
        "Relative test, two normal models",
        100,
        Normal().sample,
        tuple(
            Alternative(f"mean {-d:g}", Normal(-d, 1).sample, log_likelihood(Normal(-d, 1), Normal()))
            for d in (0.1, 0.2, 0.3)
        ),
        {"relative KSD": relative(p, q), "Vuong": vuong(p, q)},
        about="P = N(½, 1) and Q = N(−½, 1) are equally wrong about the null data, N(0, 1), which then move "
        "towards Q. Vuong's test knows normalised densities; here its statistic is the optimal one, the "
        "mean.",
    )
    means = {sign: ProbabilisticPCA(PCA.loadings, PCA.variance, 0.4 * sign) for sign in (1, -1)}
    one, two = means[1], means[-1]
    latent = (gs.Latent(10), gs.Latent(10))
    laws = {f"mean {-d:g}": ProbabilisticPCA(PCA.loadings, PCA.variance, -d) for d in (0.05, 0.1, 0.2)}
    plane = Scenario(
        "Relative test, two latent models",
        200,
        PCA.sample,
        tuple(Alternative(label, law.sample, log_likelihood(law, PCA)) for label, law in laws.items()),
        {
            "relative KSD, Latent, draws=10": relative(one.latent(), two.latent(), latent),
            "relative KSD, exact scores": relative(one, two),
            "Vuong": vuong(one, two),
        },
        about="Probabilistic PCA with means .4 (P) and −.4 (Q) in all coordinates; the data have mean zero, "
        "then move towards Q. Vuong's test needs the marginal densities, which the latent test does not.",
    )
    return [line, plane]


def scenarios() -> list[Scenario]:
    """All of them."""
    noise = {f"variance {v:g}": ProbabilisticPCA(PCA.loadings, v) for v in (0.6, 0.75, 1.0, 1.5)}
    turned = {}
    for degrees in (15, 30, 45, 60):
        angle = np.deg2rad(degrees)
        rotation = np.eye(4)
        rotation[np.ix_([0, 2], [0, 2])] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        turned[f"turned by {degrees}°"] = ProbabilisticPCA(rotation @ PCA.loadings, PCA.variance)
    moved = {
        f"mean {m:g}": ProbabilisticPCA(PCA.loadings, PCA.variance, [m, 0, 0, 0])
        for m in (0.1, 0.15, 0.2, 0.3)
    }
    shifted = {f"shift {d:g} sd": Normal(CENTRE + d * DEVIATION, DEVIATION**2) for d in (0.1, 0.15, 0.2, 0.3)}
    inflated = {f"variance × {v:g}": Normal(CENTRE, v * DEVIATION**2) for v in (1.3, 1.6, 2.0, 2.5)}
    return [
        latent_scenario(
            "Latent PCA, variance of the noise",
            noise,
            200,
            "Probabilistic PCA in R⁴ with two latent variables; the noise of the data is larger than that of "
            "the model. The exact score is that of the marginal, which a latent model need not have. MMD "
            "compares with as many draws of the model, by 199 permutations.",
        ),
        latent_scenario(
            "Latent PCA, loadings turned",
            turned,
            200,
            "The same model; the loadings of the data are turned in the plane of coordinates 1 and 3.",
        ),
        latent_scenario(
            "Latent PCA, mean of a coordinate",
            moved,
            200,
            "The same model; the first coordinate of the data has another mean.",
        ),
        stochastic_scenario(
            "Posterior, shifted draws",
            shifted,
            100,
            "Draws that should be from the posterior of a normal mean in R² with 100 observations, shifted "
            "in both coordinates by a part of the posterior's standard deviation. The tests by coordinate "
            "know the posterior in closed form, which nobody would sample.",
        ),
        stochastic_scenario(
            "Posterior, inflated variance",
            inflated,
            100,
            "The same, with a variance that is too large, as that of stochastic gradient Langevin dynamics "
            "with too large a step.",
        ),
        *relative_scenarios(),
    ]
