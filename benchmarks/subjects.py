"""The tests of goodstein that are timed: through the engine, and as users call them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from timing import Action

import goodstein as gs
from goodstein.engine.reduce import IndependentSigns, OrthogonalSigns, quadratic_forms
from goodstein.stein.features import SteinFeatures, SteinForm

Array = npt.NDArray[np.float64]

SCHEMES = {"iid": IndependentSigns, "orthogonal": OrthogonalSigns}


def points(n: int, d: int) -> Array:
    """Standard normal points; the model is the standard normal too."""
    return np.random.default_rng(0).standard_normal((n, d))


def engine(x: Array, kernel: Any, scheme: str | None, draws: int, workers: int | None) -> Action:
    """Statistic and draws by the engine, from features to result; no scheme gives the statistic alone."""
    features = SteinFeatures(x, -x)

    def run() -> tuple[float, Array]:
        # The weights are made anew because they keep their signs.
        weights = None if scheme is None else SCHEMES[scheme](1, len(x), draws)
        return quadratic_forms(SteinForm(features, kernel), weights, workers=workers)

    return run


def public(x: Array, kernel: Any, scheme: str, draws: int, workers: int | None) -> Action:
    """The whole of ksd_test; a kernel of None is the default with its median rule."""
    model = gs.families.Normal(np.zeros(x.shape[1]))
    null = gs.WildBootstrap(draws, signs=scheme)

    def run() -> gs.TestResult:
        return gs.ksd_test(x, model, kernel=kernel, null=null, workers=workers, rng=1)

    return run


def aggregated(x: Array, kernels: Any, draws: int, workers: int | None) -> Action:
    """The whole of aggregated_test over several kernels."""
    model = gs.families.Normal(np.zeros(x.shape[1]))
    null = gs.WildBootstrap(draws)

    def run() -> gs.TestResult:
        return gs.aggregated_test(x, model, kernels=kernels, null=null, workers=workers, rng=1)

    return run


def v_statistic(u: float, x: Array, kernel: Any) -> float:
    """Σ_ij h_ij / n² from the U-statistic."""
    n = len(x)
    return (u * n * (n - 1) + SteinForm(SteinFeatures(x, -x), kernel).diagonal().sum()) / n**2
