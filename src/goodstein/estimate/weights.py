"""A weight for densities that are infinite, or zero, at the boundary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goodstein.auxiliary.base import Auxiliary
from goodstein.domains.base import Domain
from goodstein.errors import DomainError
from goodstein.types import Array


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
        """δ², (n,), and 2δ∇δ, (n, d)."""
        if not domain.has_boundary:
            raise DomainError(f"{domain!r} has no boundary to measure the distance from.")
        distance = domain.boundary_distance(x)
        return distance**2, np.asarray(2.0 * distance[:, None] * domain.boundary_gradient(x))
