"""Level rows of tests whose operator, kernel or auxiliary function was chosen on a part of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from size_row import Row

import goodstein as gs
from goodstein.families import Dirichlet, Normal, StudentT, Truncated, Uniform

GROUP = "Chosen on a split"

ABOUT = {
    GROUP: "n counts all rows. `select` chooses among its default candidates on three tenths of the rows, "
    "the others are tested. An auxiliary function is found on a third of the rows, by `density_ratio` or by "
    "`learn`, and tested on the others. *Same rows* overrules the refusal and tests on the rows on "
    "which was chosen: what the refusal prevents.",
}

EXPLANATIONS: dict[str, str] = {
    f"{GROUP} | * | select, same rows | *": (
        "The bandwidth that looks best on these rows is tested on them, so true models are rejected far too "
        "often. `Selection.test` refuses to do this."
    ),
}

Run = Callable[[np.ndarray, np.random.Generator], float]


def rows() -> Iterator[Row]:
    """Models on R^d and on bounded domains."""
    cases: list[tuple[str, Any]] = [
        ("Normal, d = 1", Normal()),
        ("Normal, d = 5", Normal(np.zeros(5))),
        ("StudentT(5), d = 2", StudentT(5.0, [0, 0], np.eye(2))),
        ("Box, truncated Normal", Truncated(Normal([0, 0]), gs.Box([0, 0], [1, 1]))),
        ("Ball(3), Uniform", Uniform(gs.Ball(3))),
        ("Simplex, Dirichlet(½)", Dirichlet([0.5, 0.5, 0.5])),
    ]
    for n in (100, 300):
        for case, model in cases:
            for name, run in (("select", selected), ("density_ratio", by_ratio), ("learn", by_learning)):
                yield _row(case, model, n, name, run(model))
    yield _row("Normal, d = 1", Normal(), 100, "select, same rows", on_the_same_rows(Normal()))


def selected(model: Any) -> Run:
    """The defaults of `select`."""
    return lambda x, rng: gs.select(x, model, rng=rng).test(rng=rng, workers=1).pvalue


def by_ratio(model: Any) -> Run:
    """g ≈ q/p̂."""

    def run(x: np.ndarray, rng: np.random.Generator) -> float:
        third = len(x) // 3
        g = gs.auxiliary.density_ratio(x[:third], model, rng=rng)
        return gs.ksd_test(x[third:], model, operator=gs.Standardised(g), rng=rng, workers=1).pvalue

    return run


def by_learning(model: Any) -> Run:
    """g with the best power criterion."""

    def run(x: np.ndarray, rng: np.random.Generator) -> float:
        third = len(x) // 3
        g = gs.auxiliary.learn(x[:third], model, rng=rng)
        operator = gs.Standardised(g)
        return gs.ksd_test(x[third:], model, operator=operator, kernel=g.kernel, rng=rng, workers=1).pvalue

    return run


def on_the_same_rows(model: Any) -> Run:
    """What no user should do, with the refusal taken away."""

    def run(x: np.ndarray, rng: np.random.Generator) -> float:
        selection = gs.select(x, model, rng=rng)
        used = x[selection.train]
        inner = selection.operator.operator
        return gs.ksd_test(used, model, operator=inner, kernel=selection.kernel, rng=rng, workers=1).pvalue

    return run


def _row(case: str, model: Any, n: int, test: str, run: Run) -> Row:
    return Row(GROUP, case, n, model=model, run=run, test=test)
