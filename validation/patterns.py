"""Replicated point patterns: sizes and power."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import chi2, poisson
from tables import RNG, Array, Table, Test, against, fitted, named, simulated, true

import goodstein as gs
from goodstein.families import PoissonProcess, Strauss
from goodstein.patterns import ConfigurationKernel, Papangelou

Patterns = list[Array]

SQUARE = gs.Box([0, 0], [1, 1])
STEIN = partial(gs.point_pattern_ksd_test, workers=1)

# Sizes.

CASES: dict[str, Any] = {
    "unit square, Poisson(20)": PoissonProcess(20.0, SQUARE),
    "unit square, Poisson(3)": PoissonProcess(3.0, SQUARE),
    # Twenty points on average, most of them on the right.
    "unit square, Poisson with a slope": PoissonProcess(lambda u: 40.0 * u[:, 0], SQUARE),
    "unit cube, Poisson(15)": PoissonProcess(15.0, gs.Box([0, 0, 0], [1, 1, 1])),
    "L-shaped polygon, Poisson(20)": PoissonProcess(
        20.0 / 3.0, gs.Polygon([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])
    ),
    "unit square, Strauss(30, .3, .1)": Strauss(30.0, 0.3, 0.1, SQUARE),
    "unit square, hard core .08": Strauss(30.0, 0.0, 0.08, SQUARE),
}


def size_tables() -> Iterator[Table]:
    twenty, three, four = (
        {f"unit square, Poisson({rate})": PoissonProcess(float(rate), SQUARE)} for rate in (20, 3, 4)
    )
    yield Table(
        "Point patterns",
        "n is the number of patterns. Operator and kernel are the defaults of `point_pattern_ksd_test`; the "
        "models are drawn exactly, the Strauss process by coupling from the past.",
        [
            true(CASES, named(STEIN), (20,)),
            true(twenty, named(STEIN), (50,)),
            true(twenty, named(STEIN, null=gs.Spectral()), (20,)),
            true(three, named(STEIN, null=gs.MonteCarlo(39)), (10,)),
        ],
        notes={
            "*, n = 20 | spectral*": "Conservative: a pattern has many more degrees of freedom than there "
            "are patterns, so the estimated eigenvalues of 20 observations spread the diagonal of the Stein "
            "matrix over too few of them. The variance of the limit law they give is 8.8 times that of the "
            "statistic at n = 20, 4.0 times at n = 50 and 1.7 times at n = 200."
        },
    )
    fit = partial(PoissonProcess.fit, domain=SQUARE)
    test = partial(named, fitted, test=STEIN, fit=fit)
    yield Table(
        "Point patterns, fitted intensity",
        "The intensity of a Poisson process is estimated on the patterns that are tested.",
        [true(four, test() | test(null=gs.ParametricBootstrap(fit, 39)), (10,))],
        notes={
            "* | default": "Conservative: the fitted intensity makes the discrepancy smaller, which the wild "
            "bootstrap does not know. The parametric bootstrap of the same model keeps the level."
        },
    )


# Power: what one would use today.

RATE, M = 30.0, 20
NULL = PoissonProcess(RATE, SQUARE)
RADII = np.linspace(0.02, 0.25, 12)


def counts(patterns: Patterns) -> Array:
    return np.array([len(pattern) for pattern in patterns])


def total(patterns: Patterns, model: Any, *, rng: Any) -> float:
    """The exact two-sided test of the number of all points."""
    n, mean = counts(patterns).sum(), RATE * len(patterns)
    return float(min(1.0, 2 * min(poisson.cdf(n, mean), poisson.sf(n - 1, mean))))


def dispersion(patterns: Patterns, model: Any, *, rng: Any) -> float:
    """The index of dispersion of the counts, two-sided."""
    n = counts(patterns)
    index, degrees = ((n - n.mean()) ** 2).sum() / n.mean(), len(n) - 1
    return float(2 * min(chi2.cdf(index, degrees), chi2.sf(index, degrees)))


def quadrats(patterns: Patterns, model: Any, *, rng: Any) -> float:
    """Pearson's statistic of all points in nine squares."""
    found = np.histogramdd(np.concatenate(patterns), bins=3, range=[(0, 1), (0, 1)])[0].ravel()
    expected = RATE * len(patterns) / 9
    return float(chi2.sf(((found - expected) ** 2 / expected).sum(), 9))


def close_pairs(patterns: Patterns) -> Array:
    """The share of pairs within each radius: Ripley's K of the window, without edge correction."""
    distances = np.concatenate([pdist(pattern) for pattern in patterns if len(pattern) > 1])
    return np.searchsorted(np.sort(distances), RADII, side="right") / len(distances)


@lru_cache
def usual_pairs(model: Any) -> tuple[Array, Array]:
    """Mean and deviation of these shares under the model."""
    rng = np.random.default_rng(1)
    shares = np.array([close_pairs(model.sample(M, rng)) for _ in range(999)])
    return shares.mean(axis=0), shares.std(axis=0)


def k_function(patterns: Patterns, model: Any) -> float:
    """The largest standardised deviation of K from its mean under the null."""
    mean, deviation = usual_pairs(model)
    return float(np.abs((close_pairs(patterns) - mean) / deviation).max())


TESTS: dict[str, Test] = {
    "Stein": STEIN,
    "Stein, published kernel": partial(
        STEIN,
        kernel=ConfigurationKernel(gs.Median(0.5**0.5), scale=0.5**0.5, normalised=True),
        operator=Papangelou(49),
    ),
    "number of points": total,
    "dispersion of counts": dispersion,
    "quadrat counts": quadrats,
    "K-function": simulated(k_function, 999),
}

# Samplers, and log likelihood ratios to the null where they are known.


def thomas(mean: float, spread: float = 0.05) -> Callable[[int, RNG], Patterns]:
    """Clusters of Poisson(mean) points around Poisson parents, with the intensity of the null."""

    def draw(n: int, rng: RNG) -> Patterns:
        margin = 4 * spread
        out = []
        for _ in range(n):
            k = rng.poisson(RATE / mean * (1 + 2 * margin) ** 2)
            parents = rng.uniform(-margin, 1 + margin, size=(k, 2))
            children = np.repeat(parents, rng.poisson(mean, size=k), axis=0)
            points = children + spread * rng.standard_normal(children.shape)
            out.append(points[SQUARE.contains(points)])
        return out

    return draw


def strauss(beta: float, gamma: float, radius: float = 0.06) -> tuple[Any, Any]:
    """Repulsion, with β such that the expected number of points is that of the null."""

    def log_ratio(patterns: Patterns) -> float:
        pairs = sum(int((pdist(pattern) <= radius).sum()) for pattern in patterns if len(pattern) > 1)
        return float(counts(patterns).sum() * np.log(beta / RATE) + pairs * np.log(gamma))

    return Strauss(beta, gamma, radius, SQUARE), log_ratio


def poisson_times(factor: Callable[[Array], Array]) -> tuple[Any, Any]:
    """A Poisson process whose intensity is that of the null times a factor."""

    def log_ratio(patterns: Patterns) -> float:
        return float(np.log(factor(np.concatenate(patterns))).sum())

    return PoissonProcess(lambda u: RATE * factor(u), SQUARE), log_ratio


ABOUT = (
    f"n = {M} patterns, tested for a Poisson process of {RATE:g} points in the unit square. The published "
    "kernel (mean embeddings) is that of Yang, Rao and Neville (2019). The K-function test takes its null "
    "distribution from 999 simulations; the other classical tests know theirs. The default kernel was chosen "
    "by its power in settings like these, which favours it here. "
)


def power_tables() -> Iterator[Table]:
    made: dict[str, tuple[str, dict[str, Any]]] = {
        "number of points": (
            "The alternative has more points, evenly spread.",
            {
                f"{RATE * c:g} points": poisson_times(lambda u, c=c: np.full(len(u), c))
                for c in (1.06, 1.1, 1.16)
            },
        ),
        "slope": (
            "The alternative's intensity grows from left to right.",
            {
                f"slope {a:g}": poisson_times(lambda u, a=a: 1 + a * (2 * u[:, 0] - 1))
                for a in (0.15, 0.25, 0.4)
            },
        ),
        "clusters": (
            "The alternative is a Thomas process with clusters of deviation 0.05, of the same intensity.",
            {f"{mean:g} points each": thomas(mean) for mean in (0.1, 0.2, 0.4, 0.8)},
        ),
        "repulsion": (
            "The alternative is a Strauss process with R = 0.06, of the same intensity.",
            {f"γ = {g:g}": strauss(b, g) for b, g in ((31.5, 0.85), (33.2, 0.7), (35.3, 0.5), (37.8, 0.3))},
        ),
    }
    for name, (about, laws) in made.items():
        yield against(NULL, M, TESTS, trials=100)(f"Poisson patterns, {name}", ABOUT + about, laws)
