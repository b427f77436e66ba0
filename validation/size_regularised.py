"""Level rows of the spectrally regularised discrepancy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from size_row import Row
from size_survival import censored

import goodstein as gs
from goodstein.families import Dirichlet, Exponential, Normal, StudentT, Truncated

GROUP = "Regularised discrepancy"

ABOUT = {
    GROUP: "`Regularised`: one strength, the smallest that is accepted for the wild bootstrap, where the "
    "level is at the greatest risk. *Draws* take the covariance from min(2n, 500) draws from the model, "
    "*split* from a fifth of the rows, *all data* from the tested rows themselves (strength 4/√n, or 0.01 "
    "with a simulated null distribution). *Adaptive* is `regularised_test`, five strengths at once. n counts "
    "all rows.",
}

EXPLANATIONS: dict[str, str] = {}

SMALL = gs.IMQ(gs.Median(0.25))


def rows() -> Iterator[Row]:
    """Models on R^d, on bounded domains and of censored durations."""
    exponential = Exponential(2.0)
    cases: list[tuple[str, Any, Any, Any]] = [
        ("Normal, d = 1", Normal(), gs.Langevin(), None),
        ("Normal, d = 5", Normal(np.zeros(5)), gs.Langevin(), None),
        ("StudentT(5), d = 1", StudentT(5.0, 0.0, 1.0), gs.Langevin(), None),
        ("Ball, truncated Normal", Truncated(Normal([0, 0]), gs.Ball(2)), gs.Standardised(), None),
        ("Simplex, Dirichlet(½)", Dirichlet([0.5, 0.5, 0.5]), gs.LogRatio(), None),
        ("Exponential, 30 % censored", exponential, gs.Martingale(), censored(exponential, 0.3)),
    ]
    for case, model, operator, draw in cases:
        for n in (50, 200):
            if draw is None:
                drawn = gs.Regularised(operator, max(1 / (2 * n), 1 / 500))
                yield Row(GROUP, case, n, model, drawn, test="draws")
            split = gs.Regularised(operator, min(0.03, 1 / (n // 5)), draws=0)
            yield Row(GROUP, case, n, model, split, draw=draw, test="split")
            yield _adaptive(case, n, model, draw)
        whole = gs.Regularised(operator, 4 / np.sqrt(200), fraction=None)
        yield Row(GROUP, case, 200, model, whole, draw=draw, test="all data")
        yield Row(GROUP, case, 200, model, whole, SMALL, draw=draw, test="all data, ¼ median")
    few = gs.Regularised(gs.Langevin(), 0.01, fraction=None)
    yield Row(GROUP, "Normal, d = 1", 50, Normal(), few, null=gs.MonteCarlo(99), test="all data")


def _adaptive(case: str, n: int, model: Any, draw: Any) -> Row:
    def run(x: Any, rng: np.random.Generator) -> float:
        return gs.regularised_test(x, model, workers=1, rng=rng).pvalue

    return Row(GROUP, case, n, model=model, draw=draw, run=run, test="adaptive")
