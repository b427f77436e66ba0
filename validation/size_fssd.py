"""Level rows of the finite-set Stein discrepancy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from size_row import Row

import goodstein as gs
from goodstein.families import Dirichlet, GaussianMixture, Normal, StudentT, Truncated

GROUP = "Finite-set test"

ABOUT = {
    GROUP: "`fssd_test`: five locations and the bandwidth are learnt on a fifth of the rows, the others are "
    "tested; n counts all rows. The null distribution is the limit law of the finitely many features, its "
    "eigenvalues estimated. *Random locations* learn nothing and test all rows.",
}

EXPLANATIONS: dict[str, str] = {}


def rows() -> Iterator[Row]:
    """Models on R^d and on bounded domains; learnt and random locations."""
    square = gs.Box([0, 0], [1, 1])
    cases: list[tuple[str, Any]] = [
        ("Normal, d = 1", Normal()),
        ("Normal, d = 5", Normal(np.zeros(5))),
        ("StudentT(5), d = 2", StudentT(5.0, [0, 0], np.eye(2))),
        ("two Gaussians, d = 2", GaussianMixture([0.5, 0.5], [[-2, 0], [2, 0]], [np.eye(2)] * 2)),
        ("Box, truncated Normal", Truncated(Normal([0, 0]), square)),
        ("Simplex, Dirichlet(½)", Dirichlet([0.5, 0.5, 0.5])),
    ]
    for n in (100, 500):
        for case, model in cases:
            yield _row(case, model, n)
        yield _row("Normal, d = 2", Normal([0, 0]), n, optimise=False)
        yield _row("Normal, d = 2", Normal([0, 0]), n, kernel=gs.IMQ())
    for n in (200, 1000):
        yield _row("Normal, d = 20", Normal(np.zeros(20)), n)


def _row(case: str, model: Any, n: int, **options: Any) -> Row:
    def run(x: np.ndarray, rng: np.random.Generator) -> float:
        return gs.fssd_test(x, model, rng=rng, **options).pvalue

    test = "random locations" if not options.get("optimise", True) else repr(options.get("kernel", "default"))
    return Row(
        GROUP,
        case,
        n,
        model=model,
        run=run,
        test=test.strip("'"),
        null=gs.Spectral(),
        calibration="limit law, B=9999",
    )
