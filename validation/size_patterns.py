"""Rows of the level table: replicated point patterns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from size_row import Row

import goodstein as gs
from goodstein.families import PoissonProcess, Strauss

PATTERNS = "Point patterns"
FITTED = "Point patterns, fitted intensity"

ABOUT = {
    PATTERNS: "n is the number of patterns. Operator and kernel are the defaults of "
    "`point_pattern_ksd_test`; the models are drawn exactly, the Strauss process by coupling from the past.",
    FITTED: "The intensity of a Poisson process is estimated on the patterns that are tested.",
}
EXPLANATIONS: dict[str, str] = {
    f"{PATTERNS} * | spectral* | n=20": (
        "Conservative: a pattern has many more degrees of freedom than there are patterns, so the estimated "
        "eigenvalues of 20 observations spread the diagonal of the Stein matrix over too few of them. The "
        "variance of the limit law they give is 8.8 times that of the statistic at n = 20, 4.0 times at "
        "n = 50 and 1.7 times at n = 200."
    ),
    f"{FITTED} * | wild*": (
        "Conservative: the fitted intensity makes the discrepancy smaller, which the wild bootstrap does not "
        "know. The parametric bootstrap of the same model keeps the level."
    ),
}

SQUARE = gs.Box([0, 0], [1, 1])
BRICK = gs.Box([0, 0, 0], [1, 1, 1])
ELL = gs.Polygon([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])


def slope(u: np.ndarray) -> np.ndarray:
    """Twenty points in the unit square on average, most of them on the right."""
    return 40.0 * u[:, 0]


CASES: dict[str, Any] = {
    "unit square, Poisson(20)": PoissonProcess(20.0, SQUARE),
    "unit square, Poisson(3)": PoissonProcess(3.0, SQUARE),
    "unit square, Poisson with a slope": PoissonProcess(slope, SQUARE),
    "unit cube, Poisson(15)": PoissonProcess(15.0, BRICK),
    "L-shaped polygon, Poisson(20)": PoissonProcess(20.0 / 3.0, ELL),
    "unit square, Strauss(30, .3, .1)": Strauss(30.0, 0.3, 0.1, SQUARE),
    "unit square, hard core .08": Strauss(30.0, 0.0, 0.08, SQUARE),
}


def pvalue(patterns: Any, rng: np.random.Generator, *, model: Any, null: Any) -> float:
    return gs.point_pattern_ksd_test(patterns, model, null=null, workers=1, rng=rng).pvalue


def fitted_pvalue(patterns: Any, rng: np.random.Generator, *, null: Any) -> float:
    return pvalue(patterns, rng, model=PoissonProcess.fit(patterns, SQUARE), null=null)


def row(case: str, n: int, null: Any = gs.WildBootstrap()) -> Row:  # noqa: B008 - frozen
    model = CASES[case]
    return Row(
        PATTERNS, case, n, model=model, null=null, test="default", run=partial(pvalue, model=model, null=null)
    )


def rows() -> Iterator[Row]:
    for case in CASES:
        for n in (20, 50) if case == "unit square, Poisson(20)" else (20,):
            yield row(case, n)
    yield row("unit square, Poisson(20)", 20, gs.Spectral())
    yield row("unit square, Poisson(3)", 10, gs.MonteCarlo(39))
    model = PoissonProcess(4.0, SQUARE)
    fit = partial(PoissonProcess.fit, domain=SQUARE)
    for null in (gs.WildBootstrap(), gs.ParametricBootstrap(fit, 39)):
        yield Row(
            FITTED,
            "unit square, Poisson(4)",
            10,
            model=model,
            null=null,
            test="default",
            run=partial(fitted_pvalue, null=null),
        )
