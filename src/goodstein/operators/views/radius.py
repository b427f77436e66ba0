"""The distance from the centre."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goodstein.domains import Domain
from goodstein.errors import InputError
from goodstein.operators.dilation import Dilation
from goodstein.operators.views.base import Names, View, unit_frame
from goodstein.stein.features import SteinFeatures


@dataclass(frozen=True, eq=False, repr=False)
class Radius(Dilation, View):
    """Another operator with the test functions f(y) = (y − c) φ(r), r = ‖y − c‖: scale and tails.

    With features (y, a, G) of the operator inside, observation i stands for

        ξ φ = [a·(y − c) + tr G] φ(r) + (y − c)ᵀG(y − c)/r · φ′(r).

    :class:`Dilation` has the same arm with φ a function of all coordinates; here it is one of the radius
    alone, which in many dimensions finds more. Where coordinates have units of their own, on R^d and on
    boxes, y is first brought into the coordinates of the default kernels, ``Whitened(metric="score")``, in
    which neither units nor correlations count.

    Parameters
    ----------
    operator
        The operator inside, with plain :class:`SteinFeatures`; None takes the domain's own.
    centre
        c, (m,), in the coordinates of the features of the operator inside; None takes the mean of the others.

    Examples
    --------
    >>> import goodstein as gs
    >>> x = gs.families.StudentT(7, [0.0] * 10).sample(200, rng=1) * (5 / 7) ** 0.5
    >>> model = gs.families.Normal([0.0] * 10)
    >>> gs.ksd_test(x, model, rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(x, model, operator=gs.Radius(), rng=1).pvalue < 0.01
    True
    """

    def looks_at(self, names: Names = None) -> str:
        return "the distance from the centre: scale and tails"

    def check(self, domain: Domain) -> None:
        if not domain.flat or domain.discrete:
            raise InputError(f"There is no radius on {domain!r}. Use Radius() on R^d and its parts.")

    def features(self, model: Any, domain: Domain, data: Any) -> RadialFeatures:
        """(r, a·(y − c) + tr G, (y − c)ᵀG(y − c)/r)."""
        stretched = super().features(model, domain, data)
        return self._radial(stretched, stretched, domain)

    def features_beside(
        self, features: Any, model: Any, domain: Domain, others: Any
    ) -> RadialFeatures | None:
        """The others about the centre of the data, in the metric of the data."""
        own = features.stretched
        joint = super().features_beside(own, model, domain, others)
        return None if joint is None else self._radial(joint, own, domain)

    def _radial(self, stretched: SteinFeatures, own: SteinFeatures, domain: Domain) -> RadialFeatures:
        """Centre and metric are those of the first observations, `own`."""
        frame, arm = unit_frame(own, domain), self._arm(stretched.points, len(own))
        if frame is not None:
            stretched, arm = stretched.seen_in(frame), frame.coordinates(arm)
        assert stretched.weight is not None
        radius = np.linalg.norm(arm, axis=1)
        along = np.einsum("nl,nl->n", arm, stretched.weight[:, :, 0])
        # At the centre itself, yᵀGy/r → 0.
        weight = np.divide(along, radius, out=np.zeros_like(along), where=radius > 0)
        return RadialFeatures(radius[:, None], stretched.value, weight, stretched=own)


@dataclass(frozen=True)
class RadialFeatures(SteinFeatures):
    """Features of the radius, and those of all coordinates of which they were made."""

    stretched: SteinFeatures | None = field(default=None, kw_only=True, repr=False)
