"""The tests of goodstein that are timed: through the engine, and as users call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from timing import Action

import goodstein as gs
from goodstein.engine.reduce import quadratic_forms
from goodstein.engine.schemes import IndependentSigns, OrthogonalSigns
from goodstein.stein.features import SteinFeatures, SteinForm

Array = npt.NDArray[np.float64]

SCHEMES = {"iid": IndependentSigns, "orthogonal": OrthogonalSigns}


SEED = 5
"""Of all data. Rows of one sample in twenty look dependent by chance, those of seeds 0 to 4 at one of
the sizes, and a test then takes chains of signs in the place of those that its row of the table names."""


def points(n: int, d: int) -> Array:
    """Standard normal points; the model is the standard normal too."""
    return np.random.default_rng(SEED).standard_normal((n, d))


def engine(x: Array, kernel: Any, scheme: str | None, draws: int, workers: int | None) -> Action:
    """Statistic and draws by the engine, from features to result; no scheme gives the statistic alone."""
    features = SteinFeatures(x, -x)

    def run() -> tuple[float, Array]:
        # The weights are made anew because they keep their signs.
        weights = None if scheme is None else SCHEMES[scheme](1, len(x), draws)
        return quadratic_forms(SteinForm(features, kernel), weights, workers=workers)

    return run


def public(x: Array, kernel: Any, scheme: str, draws: int, workers: Any) -> Action:
    """The whole of ksd_test; a kernel of None is the default with its median rule."""
    model = gs.families.Normal(np.zeros(x.shape[1]))
    null = gs.WildBootstrap(draws, signs=scheme)

    def run() -> gs.TestResult:
        result = gs.ksd_test(x, model, kernel=kernel, null=null, workers=workers, rng=1)
        if result.notes:
            raise AssertionError(f"n={len(x)}: not what the row says. {result.notes[0]}")
        return result

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


def _ring(d: int) -> Array:
    """Couplings of neighbours on a ring, (d, d)."""
    near = np.roll(np.eye(d), 1, axis=1)
    return 0.2 * (near + near.T)


def ising(d: int) -> Action:
    """200 configurations of d spins."""
    x = np.random.default_rng(0).choice([-1, 1], size=(200, d))
    model = gs.families.Ising(_ring(d))
    return lambda: gs.ksd_test(x, model, rng=1)


def graph(nodes: int) -> Action:
    """One graph with a tenth of its edges, against a model with triangles, 19 of which are simulated."""
    upper = np.triu(np.random.default_rng(0).random((nodes, nodes)) < 0.1, 1)
    model = gs.families.ERGM(nodes, edges=-2.2, triangles=0.01)
    return lambda: gs.graph_ksd_test((upper | upper.T) * 1.0, model, null=gs.MonteCarlo(19), rng=1)


def patterns(count: int) -> Action:
    """Patterns of about 50 points each."""
    model = gs.families.PoissonProcess(50.0, gs.Box([0, 0], [1, 1]))
    drawn = model.sample(count, rng=1)
    return lambda: gs.point_pattern_ksd_test(drawn, model, rng=1)


def box(d: int) -> Action:
    """The whole collection for 200 points of a cube."""
    model = gs.families.Uniform(gs.Box(np.zeros(d), np.ones(d)))
    x = model.sample(200, rng=1)
    return lambda: gs.aggregated_test(x, model, null=gs.WildBootstrap(499), rng=1)


def simplex(parts: int) -> Action:
    """The whole collection for 200 compositions."""
    model = gs.families.Dirichlet(np.full(parts, 2.0))
    x = model.sample(200, rng=1)
    return lambda: gs.aggregated_test(x, model, null=gs.WildBootstrap(499), rng=1)


KINDS: dict[str, tuple[tuple[int, ...], Callable[[int], Action], float]] = {
    "ksd_test of an Ising model in the number of spins": ((125, 250, 500, 1000), ising, 2.0),
    "graph_ksd_test of an ERGM with triangles in the number of nodes": ((80, 160, 320), graph, 2.3),
    "point_pattern_ksd_test in the number of patterns": ((25, 50, 100, 200), patterns, 2.1),
    "aggregated_test on a cube in its dimension": ((25, 50, 100, 200), box, 1.5),
    "aggregated_test on a simplex in the number of parts": ((25, 50, 100), simplex, 2.0),
}
"""Other kinds of data: sizes, what is timed, and the exponent that its algebra needs, with some room."""
