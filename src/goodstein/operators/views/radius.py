"""The distance from the centre."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.domains import Domain
from goodstein.errors import InputError
from goodstein.operators.dilation import Dilation
from goodstein.operators.views.base import Names, View, in_units
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

    def features(self, model: Any, domain: Domain, data: Any) -> SteinFeatures:
        """(r, a·(y − c) + tr G, (y − c)ᵀG(y − c)/r)."""
        stretched = super().features(model, domain, data)
        moved = in_units(stretched, domain)
        arm = self._arm(stretched.points, len(stretched))
        if moved is not stretched:
            assert stretched.frame is not None
            arm = stretched.frame.coordinates(arm)
        assert moved.weight is not None
        radius = np.linalg.norm(arm, axis=1)
        along = np.einsum("nl,nl->n", arm, moved.weight[:, :, 0])
        # At the centre itself, yᵀGy/r → 0.
        weight = np.divide(along, radius, out=np.zeros_like(along), where=radius > 0)
        return SteinFeatures(radius[:, None], moved.value, weight)

    def features_beside(self, features: Any, model: Any, domain: Domain, others: Any) -> None:
        """The metric is that of the data, which the features no longer know."""
        return None
