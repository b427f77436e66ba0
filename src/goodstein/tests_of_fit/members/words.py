"""What members look at, and which were left out, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goodstein.data.points import Points, draw
from goodstein.errors import InputError, SamplingError
from goodstein.operators import Dilation, LogRatio, MeanEmbedding, Mirrored, Operator, Perturbed, Regularised
from goodstein.operators.views.base import View
from goodstein.patterns.innovations import Innovations
from goodstein.problems.problem import Problem
from goodstein.survival.residuals import CoxResiduals
from goodstein.tests_of_fit.members.drawn import from_draws
from goodstein.tests_of_fit.members.points import SCORED

LOOKS_AT = {
    "number": "how many points there are",
    "locations": "where points are",
    "neighbours": "how near each other points are",
}
"""What members look at in one point pattern."""


def looks_at(operator: Operator, names: Sequence[str] | None = None) -> str:
    """What a member looks at, in a few words."""
    if isinstance(operator, View | Perturbed | CoxResiduals):
        return operator.looks_at(names)
    if isinstance(operator, Dilation):
        return "the distance from the centre"
    if isinstance(operator, Innovations):
        return LOOKS_AT["".join(operator.looks)] if len(operator.looks) == 1 else "points"
    if isinstance(operator, Regularised):
        return "all directions alike"
    return "where observations are" if isinstance(operator, MeanEmbedding) else "shape"


def left_out(problem: Problem, operators: Sequence[Operator]) -> list[str]:
    """Notes about members of the collection for a problem that are not among these operators."""
    notes = []
    scored = isinstance(problem.data, Points) and isinstance(problem.operator, (*SCORED, Mirrored))
    if scored and problem.model.has_sample and not any(map(from_draws, operators)):
        notes.append(
            f"Left out the members that compare data with draws: the sampler of {problem.model.name} finds "
            f"nothing on {problem.domain!r}. {_cannot_draw(problem) or ''}".rstrip()
        )
    if Mirrored() in operators and LogRatio() not in operators:
        notes.append(
            "Left out LogRatio() and what goes with it: parts are zero, or so small that the model draws "
            "zeros, which have no log-ratio."
        )
    return notes


def _cannot_draw(problem: Problem) -> str | None:
    """Why its sampler draws nothing; None where it does."""
    try:
        draw(problem.model, problem.domain, 2, np.random.default_rng(0))
    except (InputError, SamplingError) as error:
        return error.bare
    return None
