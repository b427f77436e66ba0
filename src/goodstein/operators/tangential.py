"""The first-order operator of a sphere in the coordinates of the space around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.auditing.conditions import check_connected
from goodstein.auditing.manifold import check_manifold
from goodstein.auditing.report import Check
from goodstein.domains import Domain, Sphere
from goodstein.errors import InputError
from goodstein.models.model import Model
from goodstein.operators.base import Operator
from goodstein.stein.features import SteinFeatures
from goodstein.types import Array


@dataclass(frozen=True)
class Tangential(Operator):
    """T f = q⁻¹ div(q P f) on a sphere of R^d, P = I − xxᵀ, for vectors f(x) of R^d.

    The divergence is that of the sphere, and div(P e_j) = −(d − 1)x_j, so that

        T f = (s − (d − 1)x)·f + Σ_jl P_lj ∂_l f_j

    with the tangential score s. There is no boundary and no pole, and a rotation of data and model changes
    nothing. It has one test function for each axis, which is what views such as :class:`Margin` need.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.VonMisesFisher([0, 0, 1], 2.0)
    >>> x = model.sample(100, rng=1)
    >>> gs.ksd_test(x, model, operator=gs.Tangential(), rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(x, gs.families.UniformOnSphere(3), operator=gs.Tangential(), rng=1).pvalue
    0.001
    """

    conditions_suffice = True  # no annotation: not a field

    def features(self, model: Model, domain: Domain, data: Array) -> SteinFeatures:
        """(y, a, G) = (x, s − (d − 1)x, I − xxᵀ)."""
        if not isinstance(domain, Sphere):
            raise InputError(
                f"Tangential works on a Sphere, got {domain!r}. Use Langevin() or Standardised()."
            )
        d = domain.dim
        value = domain.project(data, model.score(data)) - (d - 1.0) * data
        return SteinFeatures(data, value, np.eye(d) - data[:, :, None] * data[:, None, :])

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        return [check_connected(domain), *check_manifold(model, domain, data, rng)]
