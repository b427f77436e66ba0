"""The standardised operator with a scalar or diagonal auxiliary function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from goodstein.auxiliary.base import Auxiliary, as_auxiliary
from goodstein.auxiliary.functions import default_auxiliary
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.models.model import Model
from goodstein.operators.base import Operator, tangent
from goodstein.stein.features import SteinFeatures
from goodstein.stein.stacked import SteinStack
from goodstein.types import Array


@dataclass(frozen=True)
class Standardised(Operator):
    """T f = q⁻¹ Σ_i ∂_i(q g_i f_i), with an auxiliary function g that makes q·g vanish at the boundary.

    With b = g·s + ∂g it is b·f + Σ_i g_i ∂_i f_i. On a simplex derivatives are taken in its tangent space, in
    an orthonormal basis, so the result does not depend on how log q is extended off the simplex.

    Parameters
    ----------
    auxiliary
        g: one of :class:`BallPower`, :class:`BoundaryDistance`, :class:`ProductOfParts`,
        :class:`GeometricMean`, :class:`BoxProduct`, or an :class:`Auxiliary` of your own. None
        takes the domain's own.

    References
    ----------
    Xu (2022), Standardisation-function kernel Stein discrepancy.

    Examples
    --------
    >>> import goodstein as gs
    >>> ball = gs.Ball(2)
    >>> model = gs.families.Truncated(gs.families.Normal([0, 0], 1.0), ball)
    >>> x = model.sample(100, rng=1)
    >>> gs.ksd_test(x, model, operator=gs.Standardised(gs.BallPower(2)), rng=1).pvalue > 0.05
    True
    """

    auxiliary: Auxiliary | None = None

    def __post_init__(self) -> None:
        if self.auxiliary is not None:
            own = as_auxiliary(self.auxiliary, wrapped="Standardised(Auxiliary(function))")
            object.__setattr__(self, "auxiliary", own)

    def fitted(self, data: Array, domain: Domain) -> Standardised:
        return Standardised(self._auxiliary(domain).fitted(data, domain))

    def stacked(self, model: Model, domain: Domain, data: Array, count: int) -> SteinStack | None:
        """Where all samples have the same auxiliary function, as they have on a bounded domain."""
        fitted = [self.fitted(sample, domain) for sample in np.split(data, count)]
        if any(one != fitted[0] for one in fitted):
            return None
        return SteinStack(fitted[0].features(model, domain, data), count)

    def features(self, model: Model, domain: Domain, data: Array) -> SteinFeatures:
        """(y, a, G) = (x, b, g)."""
        auxiliary = self._auxiliary(domain)
        g, dg = auxiliary.evaluate(data, domain)
        _require_scalar(auxiliary, g, domain)
        drift = auxiliary.drift(data, g, dg, model)
        return SteinFeatures(tangent(domain, data), tangent(domain, drift), g)

    def supplied(self, domain: Domain) -> Sequence[Callable[[Array], Array]]:
        return self._auxiliary(domain).supplied(domain)

    def boundary_weight(self, domain: Domain, x: Array, normals: Array) -> Array:
        auxiliary = self._auxiliary(domain)
        _require_scalar(auxiliary, auxiliary.value(x, domain), domain)
        return auxiliary.boundary_weight(domain, x, normals)

    def _auxiliary(self, domain: Domain) -> Auxiliary:
        return self.auxiliary if self.auxiliary is not None else default_auxiliary(domain)


def _require_scalar(auxiliary: Auxiliary, g: Array, domain: Domain) -> None:
    if g.ndim == 2 and domain.basis is not None:
        raise InputError(
            f"{auxiliary!r} has one value per part, but on {domain!r} an auxiliary function must be scalar "
            "and vanish on every face, because every tangential derivative meets several faces. Use "
            "ProductOfParts() or BoundaryDistance()."
        )
