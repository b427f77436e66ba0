"""One point pattern: sizes and power."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.distance import pdist
from scipy.stats import chi2
from tables import RNG, Array, Part, Table, Test, against, fitted, named, true

import goodstein as gs
from goodstein.families import Hawkes, PoissonProcess, Strauss
from goodstein.nulls.base import JointCalibration

SQUARE, LINE = gs.Box([0, 0], [1, 1]), gs.Box(0, 40)
KSD = partial(gs.ksd_test, workers=1)
MANY = partial(gs.aggregated_test, workers=1)
DRAWS = gs.MonteCarlo(19)

# Sizes.

RATE = 60.0
NULL = PoissonProcess(RATE, SQUARE)
HAWKES = Hawkes(1.0, 0.3, 2.0, LINE)
CASES: dict[str, Any] = {
    "unit square, Poisson(60)": NULL,
    "unit square, Poisson(10)": PoissonProcess(10.0, SQUARE),
    "unit square, Poisson with a slope": PoissonProcess(lambda u: 120.0 * u[:, 0], SQUARE),
    "unit cube, Poisson(40)": PoissonProcess(40.0, gs.Box([0, 0, 0], [1, 1, 1])),
    "L-shaped polygon, Poisson(45)": PoissonProcess(
        15.0, gs.Polygon([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])
    ),
    "unit square, Strauss(30, .3, .06)": Strauss(30.0, 0.3, 0.06, SQUARE),
    "interval, Hawkes(1, .3, 2)": HAWKES,
}


def draw(model: Any, n: int, rng: RNG) -> gs.Pattern:
    """One pattern, whatever n."""
    return gs.Pattern(model.sample(1, rng)[0])


def alone(cases: dict[str, Any], tests: dict[str, Test], n: int = 60) -> list[Part]:
    """One pattern of each model, of about so many points."""
    return [
        true({case: model}, tests, (n,), sample_null=partial(draw, model)) for case, model in cases.items()
    ]


class Chained(Strauss):
    """A Strauss process without a sampler, which is drawn by chains that start at the data."""

    sample = None  # type: ignore[assignment]


def chained(data: Any, model: Any, **options: Any) -> Any:
    return KSD(data, Chained(model.beta, model.gamma, model.radius, model.domain), **options)


def of_fit(fit: Callable[[Any], Any], test: Test = KSD, draws: int = 19) -> dict[str, Test]:
    """The fitted model, by the bootstrap that repeats the fit."""
    name = "aggregated" if test is MANY else ""
    return named(fitted, name, null=gs.ParametricBootstrap(fit, draws), fit=fit, test=test)


def size_tables() -> Iterator[Table]:
    strauss = {case: model for case, model in CASES.items() if "Strauss" in case}
    yield Table(
        "One point pattern",
        "A given model and one pattern of it, of about n points. Every null distribution is simulated, so "
        "that the level is exact: with chains that start at the data where the model has no sampler.",
        [
            *alone(CASES, named(KSD, null=DRAWS)),
            *alone({"unit square, Poisson(60)": NULL}, named(MANY, "aggregated", null=DRAWS)),
            *alone(strauss, named(chained, "chains from the data", null=DRAWS)),
        ],
    )
    constant = partial(PoissonProcess.fit, domain=SQUARE)
    slope = partial(PoissonProcess.fit, domain=SQUARE, covariates=[_first])
    yield Table(
        "One point pattern, fitted",
        "The model is fitted to the pattern that is tested, by maximum likelihood or, for the Strauss "
        "process, pseudo-likelihood, and again to every simulated one.",
        [
            *alone({"unit square, Poisson(60)": NULL}, of_fit(constant) | of_fit(constant, MANY)),
            *alone({"unit square, log-linear": _log_linear()}, of_fit(slope) | of_fit(slope, MANY)),
            *alone(strauss, of_fit(partial(Strauss.fit, domain=SQUARE, radius=0.06))),
            *alone({"interval, Hawkes(1, .3, 2)": HAWKES}, of_fit(partial(Hawkes.fit, domain=LINE))),
            *alone(
                {"space and time, log-linear": _in_time()},
                of_fit(partial(PoissonProcess.fit, domain=YEAR, covariates=[_when]), IN_DAYS),
            ),
        ],
        notes={"*Strauss*": "Conservative by these numbers; the reason has not been looked for."},
    )


YEAR = gs.Box([0, 0, 0], [1, 1, 365])
"""A unit square, and days."""
IN_DAYS = partial(KSD, operator=gs.patterns.Innovations(units=(1, 1, 365)))


def _when(u: Array) -> Array:
    return u[:, 2] / 365.0


def _in_time() -> PoissonProcess:
    return PoissonProcess(gs.patterns.LogLinear([-2.3, 1.0], [_when]), YEAR)


def _first(u: Array) -> Array:
    return u[:, 0]


def _log_linear() -> PoissonProcess:
    return PoissonProcess(gs.patterns.LogLinear([3.2, 1.5], [_first]), SQUARE)


# Power: what one would use today, each with the null distribution of 999 simulated patterns.

SIMULATED = 999
RADII = np.linspace(0.01, 0.2, 25)
DISC = np.array([[2 * i + 1, 2 * j + 1] for i in range(16) for j in range(16)]) / 32.0


@dataclass(frozen=True)
class Kept(gs.MonteCarlo):
    """`MonteCarlo` that draws once for all patterns of the same model."""

    found: list[Array] = field(default_factory=list)

    def calibrate_jointly(self, collection: Any, *, workers: Any, rng: RNG) -> JointCalibration:
        if not self.found:
            fresh = super().calibrate_jointly(collection, workers=workers, rng=np.random.default_rng(7))
            self.found.append(fresh.draws)
        return JointCalibration(collection.statistics(workers), self.found[0])


@lru_cache
def kept(test: str) -> Kept:
    return Kept(SIMULATED)


def stein(pattern: gs.Pattern, model: Any, *, rng: Any) -> Any:
    return MANY(pattern, NULL, null=kept("aggregated"), rng=1)


def single(pattern: gs.Pattern, model: Any, *, rng: Any) -> Any:
    return KSD(pattern, NULL, null=kept("single"), rng=1)


def quadrats(pattern: gs.Pattern, model: Any, *, rng: Any) -> float:
    """Pearson's statistic of points in nine squares, whose expectations are known."""
    counts = np.histogramdd(pattern.points, bins=3, range=[(0, 1), (0, 1)])[0].ravel()
    return float(chi2.sf(((counts - RATE / 9) ** 2 / (RATE / 9)).sum(), 9))


def k_curve(points: Array) -> Array:
    """Ripley's K of the window at all radii, square rooted, without edge correction."""
    if len(points) < 2:
        return np.zeros(len(RADII))
    return np.sqrt(np.searchsorted(np.sort(pdist(points)), RADII, side="right") * 2.0) / RATE


def g_curve(points: Array) -> Array:
    """The distribution function of distances to the nearest neighbour."""
    if len(points) < 2:
        return np.zeros(len(RADII))
    return np.searchsorted(np.sort(KDTree(points).query(points, k=2)[0][:, 1]), RADII, side="right") / len(
        points
    )


def f_curve(points: Array) -> Array:
    """That of distances from fixed places to the nearest point."""
    if not len(points):
        return np.zeros(len(RADII))
    return np.searchsorted(np.sort(KDTree(points).query(DISC)[0]), RADII, side="right") / len(DISC)


CURVES: dict[str, Callable[[Array], Array]] = {"K": k_curve, "G": g_curve, "F": f_curve}


@lru_cache
def simulated_curves(name: str) -> Array:
    rng = np.random.default_rng(3)
    return np.array([CURVES[name](one) for one in NULL.sample(SIMULATED, rng)])


def envelope(name: str) -> Test:
    """The global rank envelope test with extreme rank lengths (Myllymäki et al. 2017), two-sided."""

    def test(pattern: gs.Pattern, model: Any, *, rng: Any) -> float:
        from scipy.stats import rankdata

        curves = np.vstack([CURVES[name](pattern.points), simulated_curves(name)])
        below = np.apply_along_axis(rankdata, 0, curves)
        ranks = np.sort(np.minimum(below, len(curves) + 1 - below), axis=1)
        place = np.empty(len(curves))
        place[np.lexsort(ranks.T[::-1])] = np.arange(len(curves))
        equal = (ranks == ranks[0]).all(axis=1)
        return float(np.count_nonzero((place <= place[0]) | equal) / len(curves))

    return test


TESTS: dict[str, Test] = {
    "aggregated": stein,
    "one kernel": single,
    "quadrat counts": quadrats,
    "K-function, envelope": envelope("K"),
    "nearest neighbours, envelope": envelope("G"),
    "empty space, envelope": envelope("F"),
}


Sampler = Callable[[int, RNG], gs.Pattern]


def thomas(mean: float, spread: float) -> Sampler:
    """Clusters of Poisson(mean) points around Poisson parents, with the intensity of the null."""

    def one(n: int, rng: RNG) -> gs.Pattern:
        margin = 4 * spread
        k = rng.poisson(RATE / mean * (1 + 2 * margin) ** 2)
        parents = rng.uniform(-margin, 1 + margin, size=(k, 2))
        children = np.repeat(parents, rng.poisson(mean, size=k), axis=0)
        points = children + spread * rng.standard_normal(children.shape)
        return gs.Pattern(points[SQUARE.contains(points)])

    return one


def strauss(beta: float, gamma: float, radius: float) -> tuple[Sampler, Callable[[gs.Pattern], float]]:
    """Repulsion, with β such that the expected number of points is about that of the null."""

    def log_ratio(pattern: gs.Pattern) -> float:
        pairs = int((pdist(pattern.points) <= radius).sum())
        return float(len(pattern) * np.log(beta / RATE) + pairs * np.log(max(gamma, 1e-300)))

    return partial(draw, Strauss(beta, gamma, radius, SQUARE)), log_ratio


def poisson_times(factor: Callable[[Array], Array]) -> tuple[Sampler, Callable[[gs.Pattern], float]]:
    """A Poisson process whose intensity is that of the null times a factor."""

    def log_ratio(pattern: gs.Pattern) -> float:
        return float(np.log(factor(pattern.points)).sum())

    return partial(draw, PoissonProcess(lambda u: RATE * factor(u), SQUARE)), log_ratio


ABOUT = (
    f"One pattern, tested for a Poisson process of {RATE:g} points in the unit square. Curves are compared "
    "by global rank envelopes, two-sided, at 25 radii up to 0.2; all tests but that of quadrats simulate 999 "
    "patterns. "
)


def power_tables() -> Iterator[Table]:
    made: dict[str, tuple[str, dict[str, Any]]] = {
        "number of points": (
            "The alternative has more points, evenly spread.",
            {f"{RATE * c:g} points": poisson_times(lambda u, c=c: np.full(len(u), c)) for c in (1.2, 1.4)},
        ),
        "slope": (
            "The alternative's intensity grows from left to right.",
            {f"slope {a:g}": poisson_times(lambda u, a=a: 1 + a * (2 * u[:, 0] - 1)) for a in (0.4, 0.7)},
        ),
        "clusters": (
            "The alternative is a Thomas process of the same intensity: points in each cluster, deviation.",
            {f"{m:g} points, {s:g}": thomas(m, s) for m, s in ((1.0, 0.04), (1.0, 0.1), (3.0, 0.1))},
        ),
        "repulsion": (
            "The alternative is a Strauss process of about the same intensity.",
            {
                f"γ = {g:g}, R = {r:g}": strauss(b, g, r)
                for b, g, r in ((75.0, 0.0, 0.04), (85.0, 0.3, 0.06), (120.0, 0.5, 0.1))
            },
        ),
    }
    for name, (about, laws) in made.items():
        yield against(NULL, 60, TESTS, trials=200, sample_null=partial(draw, NULL))(
            f"One point pattern, {name}", ABOUT + about, laws
        )
