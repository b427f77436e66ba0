"""Members for outcomes given covariates."""

from __future__ import annotations

from functools import partial
from math import ceil

from goodstein.conditional.drawn_ranks import DrawnRanks
from goodstein.conditional.drawn_residuals import DrawnResiduals
from goodstein.conditional.given_draws import GivenDraws
from goodstein.conditional.residuals import Residuals
from goodstein.problems.problem import Problem
from goodstein.tests_of_fit.members.entries import COLUMNS, Entry, Kinds, columns_of, heavy

EACH, PAIRED = 500, 100_000
"""Draws of each observation, given its covariates, where simulated samples share them, and of all together.

Half of them tell what residuals and ranks are, so that 100 of them leave noise in these too.
"""

FINE = 8
"""The degree of curves along a covariate that a mean with some waves differs from."""


def of_pairs(problem: Problem, simulated: bool, shared: bool) -> Kinds:
    """Of outcomes given covariates: residuals against draws where there are any, else by Stein's identity."""
    p, columns = problem.observations.covariates.shape[1], columns_of(problem)
    trend = 3 if p <= COLUMNS else 1
    kernels = problem.kernel.at_scales((1.0, 4.0), (1.0,))
    kinds: Kinds = {"shape": [Entry(problem.operator, kernels)]}
    if problem.model.has_sample:
        kinds |= _residuals(problem, columns, trend, simulated, shared)
    elif problem.domain.flat and not problem.domain.discrete:
        kinds["moments"] = [
            Entry(Residuals(degree, column, trend)) for column in columns for degree in (0, 1)
        ]
    return kinds


def _residuals(
    problem: Problem, columns: list[int | None], trend: int, simulated: bool, shared: bool
) -> Kinds:
    """Against draws at the same covariates: mean and spread of all and along each covariate, distribution."""
    draws = DrawnResiduals.draws
    if simulated and shared:
        draws = min(EACH, max(draws, ceil(PAIRED / len(problem.data))))
    residuals, ranks = partial(DrawnResiduals, draws=draws), partial(DrawnRanks, draws=draws)
    views: dict[str, list[GivenDraws]] = {
        "drawn moments": [residuals(degree, column, trend) for column in columns for degree in (1, 2)],
        "margins": [*(residuals(degree, trend=0) for degree in (3, 4)), ranks()],
    }
    if simulated and trend > 1:
        views["location"] = [residuals(degree, trend=0) for degree in (1, 2)]
        views["form"] = [residuals(1, column, FINE) for column in columns]
        views["changes"] = [ranks(2, column, trend) for column in columns]
    return {
        kind: [Entry(view) for view in some if simulated or view.bounded or not heavy(view, problem)]
        for kind, some in views.items()
    }
