"""How density and weight behave at the faces of the domain: what an estimate by scores rests on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.adapters.model import as_model
from goodstein.auditing.conditions import TOLERANCE, Exponents, UnknownWeightError, exponents
from goodstein.auxiliary.base import Auxiliary
from goodstein.domains.base import Domain
from goodstein.errors import DomainError, ScoreError
from goodstein.estimate.base import Sample
from goodstein.models.model import Model
from goodstein.operators.base import Operator
from goodstein.operators.standardised import Standardised
from goodstein.types import Array

POLE = 0.01
"""Exponent of the density at a face from which its score has a pole there; less is rounding."""


@dataclass(frozen=True)
class SquaredDistance(Auxiliary):
    r"""g(x) = δ², with δ the distance from x to the boundary of the domain.

    A density that behaves like :math:`δ^{α-1}` near a face has a score like (α − 1)/δ, and score matching
    needs q·g·s → 0 and E[g‖s‖²] < ∞, that is g ~ :math:`δ^a` with a > 2 − α; for standard errors
    a > 2 − α/2. So a = 2 is enough for every α > 0, while the distance itself, a = 1, needs α > 1
    (or α = 1: a density that is bounded at the face).

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.domains import Box
    >>> from goodstein.estimate import SquaredDistance
    >>> g, dg = SquaredDistance().evaluate(np.array([[0.5, 0.75]]), Box(0, [1, 1]))
    >>> g, dg
    (array([0.0625]), array([[ 0. , -0.5]]))
    """

    def __init__(self) -> None:
        pass

    def evaluate(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        if not domain.has_boundary:
            raise DomainError(f"{domain!r} has no boundary to measure the distance from.")
        distance = domain.boundary_distance(x)
        return distance**2, np.asarray(2.0 * distance[:, None] * domain.boundary_gradient(x))


def constant_score(values: Array) -> Callable[[Array], Array]:
    """A score that is the same vector everywhere, or given row by row."""
    return lambda x: np.broadcast_to(values, x.shape).copy()


def of_flat_density(operator: Operator, sample: Sample) -> list[Exponents]:
    """Those of a density that is constant, and of the operator's weight."""
    flat = Model(score=constant_score(np.zeros(1)), domain=sample.domain, batched=True)
    weight, rng = operator.boundary_weight, np.random.default_rng(0)
    try:
        return exponents(flat, sample.domain, weight, sample.data, rng)
    except UnknownWeightError:
        return []


def of_model(model: Any, auxiliary: Auxiliary, sample: Sample) -> list[Exponents]:
    """Those of a model and a weight; none where its score cannot be evaluated there."""
    weight, rng = Standardised(auxiliary).boundary_weight, np.random.default_rng(0)
    try:
        return exponents(as_model(model).on(sample.domain), sample.domain, weight, sample.data, rng)
    except ScoreError:
        return []


def too_steep(faces: list[Exponents], auxiliary: Auxiliary) -> str:
    """What is wrong if the density is so steep at a face that g cannot make up for it."""
    # q·g·∂log q must vanish and E[g(∂log q)²] be finite: q ~ δ^e with e ≠ 0 has ∂log q ~ e/δ.
    why = ". Their exponents must add up to more than 1, or the estimate is wrong."
    return _warning(faces, auxiliary, 1.0, 1.0, why)


def without_variance(faces: list[Exponents], auxiliary: Auxiliary) -> str:
    """What to say if the estimate is right but has no finite variance: that needs E[g²(∂log q)⁴] < ∞."""
    why = ", so the estimate has no finite variance and its standard errors are too small."
    return _warning(faces, auxiliary, 2.0, 3.0, why)


def _warning(faces: list[Exponents], auxiliary: Auxiliary, times: float, least: float, why: str) -> str:
    """What a pole leads to at the first face where density + times·weight is not above `least`."""
    for face in faces:
        if abs(face.density) > POLE and face.density + times * face.weight <= least + TOLERANCE:
            return (
                f"Near the face {face.face} the density behaves like δ^{face.density:.2f} at distance δ and "
                f"{auxiliary!r} like δ^{face.weight:.2f}{why} Use a weight that vanishes faster, such as "
                "SquaredDistance()."
            )
    return ""
