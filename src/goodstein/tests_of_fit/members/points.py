"""Members for points, by Stein's identity."""

from __future__ import annotations

from typing import Any

from goodstein.data.points import Points
from goodstein.domains import Box, Euclidean, Sphere, Torus
from goodstein.errors import InputError
from goodstein.models.model import Model
from goodstein.operators import (
    Coordinate,
    Counts,
    Difference,
    Dilation,
    Harmonics,
    Jumps,
    Langevin,
    LogRatio,
    Mirrored,
    Moments,
    Operator,
    Perturbed,
    SecondOrder,
    Standardised,
)
from goodstein.problems.problem import Problem
from goodstein.tests_of_fit.members.entries import (
    COLUMNS,
    RATES,
    SHAPE,
    WIDE,
    Entry,
    Kinds,
    gaussians,
    hammings,
    multiquadrics,
)
from goodstein.types import Array

SCORED = (Langevin, LogRatio, Standardised, Coordinate, SecondOrder, Difference, Jumps)
"""Default operators of points beside which draws of the model are looked at."""

COUNTED = (2.0, 1.0, 0.5)
"""For counts, whose steps are wide: the widest finds another mean or variance, the finest zeros."""

NEARLY_ZERO = 1e-100
"""Where parts are smaller than this some are zero sooner or later, in the data or in one of many samples."""


def of_points(problem: Problem, drawn: Array | None) -> Kinds:
    """What the operator of the domain sees, for every kind of domain."""
    operator: Any = problem.operator
    domain = problem.domain
    if isinstance(operator, LogRatio):
        # Log-ratios tell small parts apart; the parts themselves may be zero.
        parts = Entry(Mirrored(), multiquadrics(1.0, 4.0))
        kinds = _flat(operator, domain.dim) if has_logratios(problem, drawn) else {"shape": []}
        kinds["shape"].append(parts)
        return kinds
    if isinstance(operator, Langevin | Standardised):
        return _flat(operator, domain.dim)
    if isinstance(operator, Coordinate | SecondOrder):
        waves = isinstance(domain, Sphere | Torus)
        shape = [Entry(operator, gaussians(*SHAPE)), Entry(SecondOrder(), gaussians(2.0, 4.0))]
        if isinstance(operator, SecondOrder):  # once, so that all kernels share its features
            shape = [Entry(operator, gaussians(*SHAPE, 2.0, 4.0))]
        return {
            "shape": shape,
            "moments": [Entry(Harmonics(degree)) for degree in (1, 2) if waves],
        }
    if isinstance(operator, Difference):
        counts = [Entry(Counts(degree)) for degree in (1, 2) if degree <= domain.dim <= COLUMNS]
        return {"shape": [Entry(operator, hammings(*RATES))], "moments": counts}
    return {"shape": [Entry(operator, gaussians(*COUNTED))]}


def _flat(operator: Operator, d: int) -> Kinds:
    """What an operator with as many test functions as coordinates has."""
    return {
        "shape": [Entry(operator, gaussians(*SHAPE))],
        "spread": [Entry(Dilation(operator), [*gaussians(0.5), *multiquadrics(4.0)])],
        "moments": [Entry(Moments(degree, operator)) for degree in (0, 1)] if d <= WIDE else [],
    }


def modes(problem: Problem) -> list[Entry]:
    """Moves between modes, where the model has a log density and modes of it are found that lie apart.

    They are looked for among draws of the model, so that the data have no part in the choice; where it has
    no sampler, among the data, which then say no more than where to look.
    """
    model, domain = problem.model, problem.domain
    if not isinstance(model, Model) or not isinstance(problem.data, Points) or model.estimated:
        return []
    if not model.has_logpdf or not isinstance(domain, Euclidean | Box):
        return []
    operator = Perturbed()
    try:
        found = operator.found(model, domain, problem.observations)
    except InputError:
        return []
    return [Entry(operator)] if len(found) else []


def has_logratios(problem: Problem, drawn: Array | None) -> bool:
    """Whether no part is zero, nor so small that one of many samples has zeros."""
    seen = [problem.observations, *([] if drawn is None else [drawn])]
    return min(float(x.min()) for x in seen) > NEARLY_ZERO
