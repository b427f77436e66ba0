"""The aggregated test beside every single test that applies, on the cases of ``suite.py``."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from power_survival import classical, kolmogorov_smirnov, log_rank, pearson
from scenario import Alternative, PValue, Scenario
from suite import Case, cases

import goodstein as gs
from goodstein.nulls.base import Calibration
from goodstein.problems.problem import draw
from goodstein.stein.pairwise import kernel_points
from goodstein.tests_of_fit import m3d
from goodstein.tests_of_fit.draws import compose_sampled

TRIALS = 500
SIMULATED = 999
"""Samples that calibrate M3D."""
AGGREGATED = "aggregated"
"""The name by which the report knows the test that is judged."""


SAME = "M3D has the same draws and the same 999 simulated samples in all trials, which saves time."

REASONS: dict[str, dict[str, str]] = {
    "N(0, I) on R^5": {
        "equal correlations": "the member that sees it, Regularised at strength .01, found .62 by itself (60 "
        "trials); six others share the level with it. `regularised_test`, or more weight on that member, "
        "closes most of the gap.",
    },
    "N(0, I) on R^20": {
        "equal correlations": "no test finds much here; correlations in 190 pairs are a small part of "
        "everything that each of them looks at.",
    },
    "Gaussian–Bernoulli machine": {
        "noise 0.04": "the score hardly changes; only comparisons with draws see it, of which the collection "
        "has one (.47 by itself, 60 trials). M3D weighs all directions of the kernel in turn. A regularised "
        "mean embedding found .52 by itself.",
    },
    "truncated normal in an L-shaped polygon": {
        "wider": "the best member, the regularised mean embedding, found .70 by itself, with twice the "
        "bandwidth .76 (100 trials); M3D is adaptive in its strength.",
    },
    "censored exponential": {
        "Weibull, shape 1.4": "the best single test is a member; what it loses goes to the fine scales, "
        "which find periodic hazards that it misses.",
    },
    "von Mises on the circle": {
        "a second mode": "the best member, the mean embedding, found .63 by itself (100 trials), so the "
        "collection loses nothing; M3D has a sharper view of the model, from 999 simulated samples.",
    },
}
"""By case and law, why the aggregated test falls short of the best single test."""


def of(test: Callable[..., Any], model: Any, **options: Any) -> PValue:
    """A test of the library as a function of data and generator."""

    def pvalue(data: Any, rng: np.random.Generator) -> float:
        return float(test(data, model, rng=rng, **options).pvalue)

    return pvalue


def ksd(model: Any, **options: Any) -> PValue:
    return of(gs.ksd_test, model, workers=1, **options)


@lru_cache(maxsize=4)
def reference(name: str) -> tuple[Any, Any, Any, Any]:
    """For M3D the draws, the eigenbasis and the simulated samples of a case, which do not depend on data."""
    case = next(case for case in cases() if case.name == name)
    problem = compose_sampled(case.null.sample(case.n, rng=1), case.null, None, None, test="m3d_test")
    drawn = draw(problem.model, problem.domain, min(max(case.n, 100), 200), np.random.default_rng(1))
    _, basis = m3d._decomposed(problem, kernel_points(problem.domain, drawn))
    task = m3d._Simulated(problem, basis, 2, case.n)
    first, second = zip(*(task((k, slice(k, k + 1))) for k in range(SIMULATED)), strict=True)
    return problem, basis, np.concatenate(first), np.concatenate(second)


def moderated(name: str) -> PValue:
    """`gs.m3d_test`, but with the same draws and simulated samples in all trials, which saves much time."""

    def pvalue(data: Any, rng: np.random.Generator) -> float:
        problem, basis, first, second = reference(name)
        own = basis.sums(kernel_points(problem.domain, data), 1, m3d.PRECISION)
        scales = np.sqrt(basis.eigenvalues[0]) * np.exp2(-np.arange(6.0))
        sums = np.concatenate([own[0], first]), np.concatenate([own[1], second])
        values = m3d.standardised(m3d.moderated(basis, *sums, len(data), scales)).max(axis=1)
        return Calibration(float(values[0]), values[1:]).pvalue

    return pvalue


def tests(case: Case) -> dict[str, PValue]:
    """Ours first."""
    model = case.null
    found: dict[str, PValue] = {AGGREGATED: of(gs.aggregated_test, model, workers=1)}
    if case.draw is not None:
        return found | _survival(model)
    if case.name in ("von Mises on the circle", "uniform on the sphere"):
        found |= {
            "KSD, Coordinate": ksd(model, operator=gs.Coordinate()),
            "KSD, SecondOrder": ksd(model, operator=gs.SecondOrder()),
        }
    elif case.name.startswith("Ising"):
        found |= {"KSD": ksd(model)}
    else:
        found |= {"KSD": ksd(model), "KSD, Gaussian": ksd(model, kernel=gs.Gaussian())}
        if isinstance(model.domain, gs.Simplex):
            found |= {
                "KSD, mirrored": ksd(model, operator=gs.Mirrored()),
                "KSD, product of parts": ksd(model, operator=gs.Standardised(gs.ProductOfParts())),
            }
        found |= {
            "regularised": of(gs.regularised_test, model, workers=1),
            "FSSD": of(gs.fssd_test, model),
        }
    found |= {
        "MMD": of(gs.mmd_test, model, n_resamples=199, workers=1),
        "M3D": moderated(case.name),
    }
    return found


def _survival(model: Any) -> dict[str, PValue]:
    return {
        "KSD, cdf": ksd(model, operator=gs.Martingale("cdf")),
        "KSD, cdf, Gaussian": ksd(model, operator=gs.Martingale("cdf"), kernel=gs.Gaussian()),
        "KSD, hazard": ksd(model, operator=gs.Martingale("hazard")),
        "regularised": of(gs.regularised_test, model, operator=gs.Martingale("cdf"), workers=1),
        "one-sample log-rank": classical(log_rank),
        "Kolmogorov–Smirnov": classical(kolmogorov_smirnov),
        "Pearson, 6 cells": classical(pearson),
    }


def scenarios() -> list[Scenario]:
    """One table for each case."""
    return [
        Scenario(
            f"Suite: {case.name}",
            case.n,
            case.draw or case.null.sample,
            tuple(
                Alternative(label, law.draw, law.log_ratio, published=case.published.get(label, {}))
                for label, law in case.laws.items()
            ),
            tests(case),
            level=case.level,
            trials=TRIALS,
            about=f"{case.about} {SAME}" if "M3D" in tests(case) else case.about,
            judged=True,
            reasons=REASONS.get(case.name, {}),
        )
        for case in cases()
    ]
