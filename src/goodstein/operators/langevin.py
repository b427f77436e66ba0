"""The Langevin operator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goodstein.domains.base import Domain
from goodstein.models.model import Model
from goodstein.operators.base import Operator, tangent
from goodstein.stein.features import SteinFeatures
from goodstein.types import Array


@dataclass(frozen=True)
class Langevin(Operator):
    """T f = ∇log q · f + ∇·f, the operator of the ordinary kernel Stein discrepancy.

    It is the standardised operator with g = 1. On a domain with a boundary it is valid only if
    the density vanishes there fast enough; the audit says whether it does.

    References
    ----------
    Chwialkowski, Strathmann, Gretton (2016); Liu, Lee, Jordan (2016).

    Examples
    --------
    >>> import goodstein as gs
    >>> x = gs.families.Normal(0.0, 1.0).sample(100, rng=1)
    >>> gs.ksd_test(x, gs.families.Normal(0.0, 1.0), operator=gs.Langevin(), rng=1).pvalue > 0.05
    True
    """

    pointwise = True  # no annotation: not a field

    def features(self, model: Model, domain: Domain, data: Array) -> SteinFeatures:
        """(y, a, G) = (x, s, 1)."""
        return SteinFeatures(tangent(domain, data), tangent(domain, model.score(data)))

    def boundary_weight(self, domain: Domain, x: Array, normals: Array) -> Array:
        """ν itself: its length is one."""
        return np.ones((len(x), 1))
