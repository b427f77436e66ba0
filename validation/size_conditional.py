"""Level rows of models of y given x."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit
from size_row import SIZES, Row

import goodstein as gs
from goodstein.conditional.data import Pairs

GROUP = "Models of y given x"

ABOUT = {
    GROUP: "`conditional_ksd_test` with its defaults: Gaussian kernels in x and y with half the median "
    "distances (on a lattice the Hamming kernel in y), wild bootstrap. The models are known. x is uniform on "
    "(−2, 2), or standard normal in several columns.",
}

EXPLANATIONS: dict[str, str] = {
    f"{GROUP} | * | spectral*": (
        "Conservative: the eigenvalues of H/n include the diagonal of H, which the statistic leaves out. It"
        " holds 33 % of the sum of squares of H at n = 50 and 12 % at n = 200. The wild bootstrap of the "
        "same statistic keeps the level."
    ),
}


def growing(x: np.ndarray) -> np.ndarray:
    return np.exp(0.3 * x)


def slopes(x: np.ndarray) -> np.ndarray:
    return x @ np.array([1.0, -0.5, 0.3])


LINE = gs.ConditionalModel.gaussian(np.sin, 1.0)
HETEROSCEDASTIC = gs.ConditionalModel.gaussian(np.sin, growing)
PLANE = gs.ConditionalModel.gaussian(slopes, 0.5)
LOGISTIC = gs.ConditionalModel(
    logpdf=lambda y, x: y * x,
    sample=lambda x, rng: (rng.uniform(size=len(x)) < expit(x)).astype(float),
    domain=gs.Lattice(2, 1),
    name="logistic regression",
)
BETA = gs.ConditionalModel(
    score=lambda y, x: np.exp(0.5 * x) / y - 1.0 / (1.0 - y),
    sample=lambda x, rng: rng.beta(1.0 + np.exp(0.5 * x), 2.0),
    domain=gs.Box(0, 1),
    name="beta regression",
)


def counts(x: np.ndarray) -> np.ndarray:
    return np.exp(0.3 + 0.4 * x)


POISSON = gs.ConditionalModel(
    logpdf=lambda y, x: y * np.log(counts(x)) - np.array([np.sum(np.log(np.arange(1, k + 1))) for k in y]),
    sample=lambda x, rng: np.minimum(rng.poisson(counts(x)), 39).astype(float),
    domain=gs.Lattice(40, 1),
    name="Poisson regression",
)
"""Up to 39: beyond that a mean of 3 never goes."""


def one_column(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(-2.0, 2.0, n)


def three_columns(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((n, 3))


def rows() -> Iterator[Row]:
    """Regressions of all kinds; other calibrations of one of them."""
    cases: list[tuple[str, gs.ConditionalModel, Any]] = [
        ("normal, mean sin x", LINE, one_column),
        ("normal, scale growing with x", HETEROSCEDASTIC, one_column),
        ("normal, three covariates", PLANE, three_columns),
        ("beta, y in (0, 1)", BETA, one_column),
        ("logistic, y in {0, 1}", LOGISTIC, one_column),
        ("Poisson, y in {0, …, 39}", POISSON, one_column),
    ]
    for n in SIZES:
        for case, model, covariates in cases:
            yield _row(case, model, covariates, n)
        yield _row("normal, mean sin x", LINE, one_column, n, null=gs.Spectral())
        yield _row("normal, scale growing with x", HETEROSCEDASTIC, one_column, n, x_kernel=gs.Gaussian())
    yield _row("normal, scale growing with x", HETEROSCEDASTIC, one_column, 50, null=gs.MonteCarlo(99))
    yield _fitted(50)


def _row(case: str, model: gs.ConditionalModel, covariates: Any, n: int, **options: Any) -> Row:
    def draw(n: int, rng: np.random.Generator) -> Pairs:
        x = covariates(n, rng)
        return Pairs(x, model.sample(x, rng))

    def run(pairs: Pairs, rng: np.random.Generator) -> float:
        return gs.conditional_ksd_test(pairs.x, pairs.y, model, workers=1, rng=rng, **options).pvalue

    test = f"x_kernel={options['x_kernel']!r}" if "x_kernel" in options else "default"
    return Row(GROUP, case, n, draw=draw, run=run, test=test, null=options.get("null", gs.WildBootstrap()))


def _fitted(n: int) -> Row:
    """A line fitted to the data that are tested."""

    def fit(pairs: Pairs) -> gs.ConditionalModel:
        slope, offset = np.polyfit(pairs.x, pairs.y, 1)
        residuals = pairs.y - slope * pairs.x - offset
        return gs.ConditionalModel.gaussian(lambda x: offset + slope * x, float(residuals.std()))

    def draw(n: int, rng: np.random.Generator) -> Pairs:
        x = one_column(n, rng)
        return Pairs(x, 1.0 + 2.0 * x + rng.standard_normal(n))

    null = gs.ParametricBootstrap(fit, 39)

    def run(pairs: Pairs, rng: np.random.Generator) -> float:
        return gs.conditional_ksd_test(pairs.x, pairs.y, fit(pairs), null=null, workers=1, rng=rng).pvalue

    return Row(GROUP, "normal, line fitted to the data", n, draw=draw, run=run, test="default", null=null)
