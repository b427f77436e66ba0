"""Level rows of the tests that compare data with draws from the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from size_row import Row

import goodstein as gs
from goodstein.families import CategoricalTable, Dirichlet, Normal, StudentT, Truncated, VonMises

MMD, M3D = "Maximum mean discrepancy", "Moderated maximum mean discrepancy"

ABOUT = {
    MMD: "`mmd_test`: data against draws from the model, permutations of the pooled sample. The p-value is "
    "exact at every sample size; on a lattice it has few values, and ties count against rejection.",
    M3D: "`m3d_test`: adaptive over six strengths of moderation, data and simulated samples against the same "
    "draws from the model. The p-value is exact, too.",
}

EXPLANATIONS: dict[str, str] = {}


def rows() -> Iterator[Row]:
    """Models on R^d, on bounded and on curved domains, and on a lattice."""
    cases: list[tuple[str, Any]] = [
        ("Normal, d = 1", Normal()),
        ("Normal, d = 5", Normal(np.zeros(5))),
        ("Simplex, Dirichlet(½)", Dirichlet([0.5, 0.5, 0.5])),
    ]
    others: list[tuple[str, Any]] = [
        ("StudentT(1), d = 1", StudentT(1.0, 0.0, 1.0)),
        ("Normal, d = 20", Normal(np.zeros(20))),
        ("Box, truncated Normal", Truncated(Normal([0, 0]), gs.Box([0, 0], [1, 1]))),
        ("Circle, VonMises(1)", VonMises(0.0, 1.0)),
        ("Lattice, 3×3 table", CategoricalTable([[6, 3, 1], [2, 5, 3], [1, 2, 7]])),
    ]
    for group, most in ((MMD, 200), (M3D, 400)):
        for case, model in cases:
            for n in (50, 200):
                yield _row(group, case, model, n)
        for case, model in others:
            yield _row(group, case, model, 100)
        yield _row(group, "Normal, d = 2", Normal([0, 0]), 50, kernel=gs.IMQ())
        for n_draws in (20, most):
            yield _row(group, "Normal, d = 2", Normal([0, 0]), 50, n_draws=n_draws)


def _row(group: str, case: str, model: Any, n: int, **options: Any) -> Row:
    test = gs.mmd_test if group == MMD else gs.m3d_test

    def run(x: np.ndarray, rng: np.random.Generator) -> float:
        return test(x, model, workers=1, rng=rng, **options).pvalue

    name = ", ".join(f"{key}={value!r}" for key, value in options.items())
    calibration = "permutations, B=999" if group == MMD else "simulations, B=199"
    return Row(group, case, n, model=model, run=run, test=name or "default", calibration=calibration)
