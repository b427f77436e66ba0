"""Test functions that point away from a centre."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.constraints import numbers
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.kernels.score_frame import weight_unit
from goodstein.operators.base import Operator, Wrapping, set_inner, stacked_of
from goodstein.operators.defaults import default_operator
from goodstein.operators.finite_set import plain_features
from goodstein.stein.features import SteinFeatures
from goodstein.stein.stacked import SteinStack
from goodstein.types import Array


@dataclass(frozen=True, eq=False)
class Dilation(Wrapping):
    """Another operator with the test functions f(y) = (y − c)·φ(y), φ one function instead of many.

    With features (y, a, G) of the operator inside, observation i stands for

        ξ φ = [a·(y − c) + tr G] φ(y) + (G(y − c))·∇φ(y).

    It asks whether the data are stretched or squeezed about c as the model says. In several dimensions a
    change of scale or of the tails is lost in the ordinary discrepancy; here it is nearly all. A shift of the
    mean it hardly sees: use it beside the operator inside, as :func:`aggregated_test` does. A diagonal G, and
    a with it, is first divided by the root mean squares of its entries, so that units of coordinates do not
    count.

    Parameters
    ----------
    operator
        The operator inside, with plain :class:`SteinFeatures`; None takes the domain's own.
    centre
        c, (m,), in the coordinates of the features of the operator inside; None takes the mean of the others.

    Notes
    -----
    Stein's identity holds for every c that does not depend on the observation itself, and the mean is that of
    the others; its noise counts little, because the derivative of E ξφ in c is zero under the model. With a
    wide kernel the statistic is nearly a sum of squares, skewed in small samples: below n·d ≈ 100 use a
    narrower kernel or ``null=MonteCarlo()``.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Normal([0.0] * 5)
    >>> x = 1.25 * model.sample(100, rng=1)
    >>> gs.ksd_test(x, model, rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(x, model, operator=gs.Dilation(), rng=1).pvalue < 0.01
    True
    """

    operator: Operator | None = None
    centre: Any = None

    def __post_init__(self) -> None:
        set_inner(self)
        if self.centre is not None:
            own = type(self).__name__
            centre = np.atleast_1d(numbers(self.centre, "centre", ndim=(0, 1), of=own))
            object.__setattr__(self, "centre", centre)

    def features(self, model: Any, domain: Domain, data: Any) -> SteinFeatures:
        """(y, a·(y − c) + tr G, G(y − c))."""
        inner = plain_features(self.inner(domain), model, domain, data, "stretched")
        return self._dilated(inner, len(inner))

    def stacked(self, model: Any, domain: Domain, data: Any, count: int) -> SteinStack | None:
        """Each sample about its own centre, in its own units."""
        inner = stacked_of(self.inner(domain), model, domain, data, count)
        if not isinstance(inner, SteinStack):
            return None
        return SteinStack(self._dilated(inner.features, len(data) // count, count), count, inner)

    def features_beside(self, features: Any, model: Any, domain: Domain, others: Any) -> SteinFeatures | None:
        """The others are dilated about the mean of the data, in the units of the data."""
        inner = self.inner(domain).features_beside(features.inside, model, domain, others)
        return self._dilated(inner, len(features)) if isinstance(inner, SteinFeatures) else None

    def _dilated(self, inner: SteinFeatures, own: int, count: int = 1) -> SteinFeatures:
        """Centre and units are those of the first `own` rows of each of `count` samples."""
        y, a, g = inner.points, inner.value, inner.weight
        if a.shape[1] != y.shape[1]:
            raise InputError(
                f"{self.operator!r} has {a.shape[1]} test functions in {y.shape[1]} coordinates; "
                f"{type(self).__name__} needs as many as there are coordinates."
            )
        arm = self._arm(y, own, count)
        if g is not None and g.ndim == 2 and len(arm[0]) > 1:  # each coordinate in the unit of its weight
            units = np.array([weight_unit(part[:own]) for part in np.split(g, count)])
            unit = np.repeat(units, len(g) // count, axis=0)
            a, g = a * unit, g * unit
        trace: Array | float
        if g is None:
            moved, trace = arm, float(y.shape[1])
        elif g.ndim == 1:
            moved, trace = g[:, None] * arm, y.shape[1] * g
        elif g.ndim == 2:
            moved, trace = g * arm, g.sum(axis=1)
        else:
            moved, trace = np.einsum("nij,nj->ni", g, arm), np.einsum("nii->n", g)
        value = np.einsum("ij,ij->i", a, arm) + trace
        return SteinFeatures(y, value[:, None], moved[:, :, None], inside=inner)

    def choose(self, domain: Domain) -> Operator:
        return default_operator(domain)

    def _arm(self, y: Array, own: int, count: int = 1) -> Array:
        """y − c, with c the mean of the other observations where none is named."""
        if self.centre is None:
            parts = y.reshape(count, -1, y.shape[1])
            arm = parts - parts[:, :own].mean(axis=1, keepdims=True)
            arm[:, :own] *= own / max(own - 1, 1)
            return np.asarray(arm).reshape(y.shape)
        centre: Array = self.centre
        if centre.shape != y.shape[1:]:
            name = type(self).__name__
            raise InputError(f"`centre` of {name} has {len(centre)} coordinates, the data {y.shape[1]}.")
        return y - centre

    def __repr__(self) -> str:
        inner = "" if self.operator is None else repr(self.operator)
        centre = "" if self.centre is None else f"centre={self.centre.tolist()}"
        return f"{type(self).__name__}({', '.join(part for part in (inner, centre) if part)})"
