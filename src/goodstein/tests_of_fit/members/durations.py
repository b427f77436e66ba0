"""Members for durations: when events are, and what covariates do."""

from __future__ import annotations

from goodstein.problems.problem import Problem
from goodstein.survival.martingale import Martingale
from goodstein.survival.residuals import CoxResiduals
from goodstein.survival.timing import Timing
from goodstein.tests_of_fit.members.entries import SHAPE, Entry, Kinds, columns_of, gaussians

CROSSED = 10
"""Covariates at most of which all pairs are looked at."""


def of_durations(problem: Problem, simulated: bool) -> Kinds:
    """When events are, and what covariates do to that."""
    repeated = simulated or problem.model.provenance is None
    return _in_time(problem, simulated) | _along_covariates(problem, repeated)


def _in_time(problem: Problem, simulated: bool) -> Kinds:
    """How many events there are, and when; random signs do not know what the few who are late at risk do."""
    shape = [Entry(Martingale("cdf"), gaussians(*SHAPE)), Entry(Martingale("hazard"), gaussians(0.125))]
    if simulated:
        return {
            "shape": shape,
            "moments": [Entry(Timing(0)), Entry(Timing(1, standardised=True))],
            "margins": [Entry(Timing(5)), Entry(Timing(5, standardised=True))],
        }
    # Of fits that are not repeated Timing(1) knows too little in a hundred rows: .088 of 500 at .05.
    degrees = (1, 5) if problem.model.provenance is None else (5,)
    return {"shape": shape, "moments": [Entry(Timing(degree)) for degree in degrees]}


def _along_covariates(problem: Problem, repeated: bool) -> Kinds:
    """Of durations: what each covariate does, whether that changes with time, or with another covariate.

    Of fits that are not repeated the last knows too little in a hundred rows: .080 of 300 at .05, and the
    collection with it .073.
    """
    z = problem.observations.covariates
    if z is None:
        return {}
    return {
        "form": [Entry(Timing(0, covariate=column, trend=2)) for column in columns_of(problem)],
        "changes": [Entry(Timing(1, covariate=column, trend=1)) for column in columns_of(problem)],
        "pairs": [Entry(Timing(0, trend=1, pairs=True))] if repeated and 2 <= z.shape[1] <= CROSSED else [],
    }


def of_cox(problem: Problem) -> Kinds:
    """Of proportional hazards what covariates do; without what the equations of the fit have made zero."""

    def entries(*views: CoxResiduals) -> list[Entry]:
        data, domain = problem.observations, problem.domain
        made = [(view, view.fitted(data, domain).features(problem.model, domain, data)) for view in views]
        return [Entry(view) for view, features in made if features.tau.any()]

    p = problem.observations.covariates.shape[1]
    return {
        "shape": [Entry(problem.operator)],
        "form": entries(*[CoxResiduals(0, covariate=column, trend=2) for column in columns_of(problem)]),
        "changes": entries(*[CoxResiduals(1, covariate=column, trend=1) for column in columns_of(problem)]),
        "pairs": entries(CoxResiduals(0, trend=1, pairs=True)) if 2 <= p <= CROSSED else [],
    }
