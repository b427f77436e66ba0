"""Models that are fitted to the data: sizes and power of the wild bootstrap that takes account of the fit.

Beside it are the plain wild bootstrap, which does not, and the parametric bootstrap, which simulates the
fitted model and fits every sample anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from survival import censoring
from tables import KSD, RNG, Array, Part, Table, true

import goodstein as gs
from goodstein.estimate import AnyDirichlet, AnyNormal, MinimumStein, ScoreMatching, TruncatedScoreMatching
from goodstein.families import (
    Bingham,
    Dirichlet,
    Gamma,
    GaussianMixture,
    Ising,
    Laplace,
    LogisticNormal,
    LogNormal,
    Normal,
    StudentT,
    Truncated,
    VonMises,
    VonMisesFisher,
    Weibull,
)

SQUARE = gs.Box([0.0, 0.0], [3.0, 3.0])
TRIANGLE = gs.Polygon([(0.0, 0.0), (3.0, 0.0), (0.0, 3.0)])


def matched(domain: Any) -> Callable[[Any], Any]:
    """A truncated normal by truncated score matching."""
    return lambda x: TruncatedScoreMatching().fit(x, AnyNormal(), domain=domain).model


def labels(x: Any) -> Any:
    return GaussianMixture.fit(x, 2, rng=1)


def two_headings(n: int, rng: RNG) -> Array:
    """Angles about 0 and about 2."""
    return rng.vonmises(2.0 * rng.integers(0, 2, n), 8.0)[:, None]


class Case(NamedTuple):
    """A true model, how it is fitted, another law that the test should find, and censoring."""

    model: Any
    fit: Callable[[Any], Any]
    other: Any = None
    censoring: Any = None

    @property
    def how(self) -> dict[str, Any]:
        """What else a cell should know."""
        return {} if self.censoring is None else {"censoring": self.censoring}

    @property
    def found(self) -> str:
        """The name of the other law."""
        return "two headings" if self.other is two_headings else repr(self.other)


SPINS = Ising(0.3 * (np.ones((4, 4)) - np.eye(4)))
NORTH = [0.0, 0.0, 1.0]
TWO_POLES = Bingham(np.diag([0.0, 0.0, 4.0]))

CASES = {
    "R, normal": Case(Normal(0.0), Normal.fit, StudentT(4.0, 0.0, 1.0)),
    "R³, normal": Case(Normal([0.0] * 3), Normal.fit, StudentT(5.0, [0.0] * 3)),
    "R, t, df fitted": Case(StudentT(5.0, 0.0, 1.0), StudentT.fit),
    "R, Laplace": Case(Laplace(0.0), Laplace.fit, Normal(0.0)),
    "R, two components": Case(GaussianMixture([0.5, 0.5], [-2.0, 2.0]), labels),
    "(0, ∞), gamma": Case(Gamma(2.0), Gamma.fit, LogNormal(0.0, 1.0)),
    "(0, ∞), log-normal": Case(LogNormal(0.0, 0.5), LogNormal.fit, Gamma(1.5)),
    "30 % censored, Weibull": Case(
        Weibull(1.0, 1.5), Weibull.fit, LogNormal(0.0, 1.0), censoring(Weibull(1.0, 1.5), 0.3)
    ),
    "simplex, Dirichlet(1, 2, 3)": Case(
        Dirichlet([1.0, 2.0, 3.0]), Dirichlet.fit, LogisticNormal([0.5, -0.5], 0.6)
    ),
    "simplex, logistic normal": Case(LogisticNormal([0.0, 0.0]), LogisticNormal.fit, Dirichlet([0.5] * 3)),
    "circle, von Mises": Case(VonMises(1.0, 2.0), VonMises.fit, two_headings),
    "S², von Mises–Fisher": Case(VonMisesFisher(NORTH, 3.0), VonMisesFisher.fit, TWO_POLES),
    "S², Bingham, score matching": Case(
        Bingham(np.diag([2.0, 0.0, -2.0])), Bingham.fit, VonMisesFisher(NORTH, 3.0)
    ),
    "square, truncated normal, truncated score matching": Case(
        Truncated(Normal([1.0, 1.5], 0.7), SQUARE), matched(SQUARE)
    ),
    "triangle, truncated normal, truncated score matching": Case(
        Truncated(Normal([0.8, 0.8], 0.3), TRIANGLE), matched(TRIANGLE)
    ),
    "R, normal, score matching": Case(
        Normal(1.0), lambda x: ScoreMatching().fit(x, AnyNormal()).model, StudentT(4.0, 0.0, 1.0)
    ),
    "R, normal, minimum Stein discrepancy": Case(
        Normal(-1.0), lambda x: MinimumStein().fit(x, AnyNormal()).model, StudentT(4.0, 0.0, 1.0)
    ),
    "simplex, Dirichlet(1, 2, 4), minimum Stein discrepancy": Case(
        Dirichlet([1.0, 2.0, 4.0]),
        lambda x: MinimumStein().fit(x, AnyDirichlet()).model,
        LogisticNormal([0.5, -0.5], 0.6),
    ),
    "4 spins, Ising": Case(SPINS, Ising.fit),
}

FITS = {case.model: case.fit for case in CASES.values()}
assert len(FITS) == len(CASES), "models tell how they are fitted"


def answered(data: Any, model: Any, *, refits: int = 0, null: Any = None, rng: RNG) -> Any:
    """`ksd_test` of the family of the true model, fitted; a sample that cannot be fitted is no evidence."""
    fit = FITS[model]
    try:
        found = fit(data)
    except gs.errors.InputError:
        return 1.0
    return KSD(data, found, null=gs.ParametricBootstrap(fit, refits) if refits else null, rng=rng)


FITTED = {"fitted wild": partial(answered, null=gs.FittedWildBootstrap())}
PLAIN = {"plain wild": partial(answered, null=gs.WildBootstrap())}
PARAMETRIC = {"parametric bootstrap, B=39": partial(answered, refits=39)}


def sizes() -> Iterator[Part]:
    for tests, n in ((FITTED, (50, 200)), (PLAIN, (50,))):
        for name, case in CASES.items():
            yield true({name: case.model}, tests, n, **case.how)


def size_tables() -> list[Table]:
    return [
        Table(
            "Parameters fitted to the data",
            "The model is fitted to the very data that are tested, by maximum likelihood where nothing else "
            'is said. "Plain wild" knows nothing of the fit; "fitted wild" is `FittedWildBootstrap()`, which '
            "uses the influence of each observation on the parameters and neither simulates nor fits anew.",
            list(sizes()),
            1000,
            {
                "* | plain wild": "The model fits too well by design, and the bootstrap does not know it.",
                "4 spins, Ising, n = 50 | fitted wild": "Ten parameters for 50 observations: the test warns "
                "that their influence is known to first order only, and names ParametricBootstrap.",
                "R³, normal, n = 50 | fitted wild": "Nine parameters for 50 observations: with fewer than 65 "
                "the default fits simulated samples anew, and this test decides nothing.",
                "*, n = 50 | fitted wild": "At 50 observations the first order takes off a little too much.",
            },
        )
    ]


def power_tables() -> list[Table]:
    cells = [
        gs.Cell(case.model, case.other, 100, name=f"{name}, {case.found}", **case.how)
        for name, case in CASES.items()
        if case.other is not None
    ]
    about = (
        "The family is fitted to 100 observations of another law, which is named last. The parametric "
        "bootstrap simulates the fitted model and fits every sample anew."
    )
    return [Table("Parameters fitted to the data", about, [(cells, FITTED | PARAMETRIC | PLAIN)], 200)]
