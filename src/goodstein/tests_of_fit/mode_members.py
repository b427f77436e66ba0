"""What a collection needs for isolated modes, whose shares scores do not see."""

from __future__ import annotations

from typing import NamedTuple

from goodstein.data.points import Points
from goodstein.domains import Box, Euclidean
from goodstein.errors import InputError
from goodstein.kernels import Kernel
from goodstein.models.model import Model
from goodstein.operators import Operator, Perturbed
from goodstein.problems.problem import Problem


class ModeMember(NamedTuple):
    """An operator with its kernels, and why it is there."""

    operator: Operator
    kernels: tuple[Kernel, ...]
    reason: str


def mode_members(problem: Problem) -> list[ModeMember]:
    """:class:`Perturbed`, where the model has a log density and modes of it are found that lie apart.

    They are looked for among draws of the model, so that the data have no part in the choice; where it has
    no sampler, among the data, which then say no more than where to look. :class:`GradientFree` is not for a
    collection: nobody but the user knows a proposal.
    """
    model, domain = problem.model, problem.domain
    if not isinstance(model, Model) or not isinstance(problem.data, Points) or model.estimated:
        return []
    if not model.has_logpdf or not isinstance(domain, Euclidean | Box):
        return []
    operator = Perturbed()
    try:
        modes = operator.found(model, domain, problem.observations)
    except InputError:
        return []
    if not len(modes):
        return []
    reason = f"{len(modes)} modes of {model.name} lie so far apart that scores do not see their shares"
    return [ModeMember(operator, (operator.default_kernel(),), reason)]
