"""Rows of the level table: one observed graph."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from size_row import Row

import goodstein as gs
from goodstein.families import ERGM
from goodstein.graphs import WeisfeilerLehman

GRAPHS = "One graph"
FITTED = "One graph, fitted model"
MANY = "Many graphs"

ABOUT = {
    GRAPHS: "n is the number of nodes. The null distribution is simulated by chains that start at a graph "
    "reached from the observed one, so the level is exact however short they are; models with two-stars or "
    "triangles are drawn here by chains of their own, 100 sweeps long.",
    FITTED: "Coefficients by maximum pseudo-likelihood on the graph that is tested.",
    MANY: "n independent graphs with five nodes, `ksd_test` on the lattice of their ten edges.",
}
EXPLANATIONS: dict[str, str] = {}

CASES: dict[str, Any] = {
    "Bernoulli graph": partial(ERGM, edges=-1.0),
    "two-stars": partial(ERGM, edges=-1.0, two_stars=-0.1),
    "two-stars and triangles": partial(ERGM, edges=-1.5, two_stars=0.02, triangles=0.15),
}


def draw(n: int, rng: np.random.Generator, *, case: str) -> np.ndarray:
    """One graph with n nodes."""
    model = CASES[case](n)
    return model.graphs(model.sample(1, rng))[0]


def pvalue(graph: np.ndarray, rng: np.random.Generator, *, case: str, null: Any, **options: Any) -> float:
    model = CASES[case](len(graph))
    return gs.graph_ksd_test(graph, model, null=null, workers=1, rng=rng, **options).pvalue


def fitted_pvalue(graph: np.ndarray, rng: np.random.Generator, *, fit: Any, null: Any) -> float:
    return gs.graph_ksd_test(graph, fit(graph), null=null, sweeps=5, workers=1, rng=rng).pvalue


def row(case: str, n: int, null: Any, test: str = "default", **options: Any) -> Row:
    return Row(
        GRAPHS,
        case,
        n,
        draw=partial(draw, case=case),
        null=null,
        test=test,
        run=partial(pvalue, case=case, null=null, **options),
    )


def rows() -> Iterator[Row]:
    yield row("Bernoulli graph", 20, gs.MonteCarlo(39))
    yield row("Bernoulli graph", 20, gs.MonteCarlo(39), "default, 50 pairs drawn", n_edges=50)
    yield row("Bernoulli graph", 12, gs.MonteCarlo(39), "WeisfeilerLehman", kernel=WeisfeilerLehman())
    for sweeps in (1, 10):
        yield row(
            "two-stars",
            12,
            gs.MonteCarlo(39),
            f"default, {sweeps} sweep{'s' if sweeps > 1 else ''}",
            sweeps=sweeps,
        )
    yield row("two-stars and triangles", 12, gs.MonteCarlo(39), "default, 5 sweeps", sweeps=5)
    fit = partial(ERGM.fit, statistics=("edges", "two_stars"), ridge=0.1)
    yield Row(
        FITTED,
        "Bernoulli graph",
        12,
        draw=partial(draw, case="Bernoulli graph"),
        null=gs.ParametricBootstrap(fit, 39),
        test="edges and two-stars fitted",
        run=partial(fitted_pvalue, fit=fit, null=gs.ParametricBootstrap(fit, 39)),
    )
    for n in (50, 200):
        yield Row(MANY, "triangles", n, model=ERGM(5, edges=-0.5, triangles=0.3), operator=gs.Difference())
