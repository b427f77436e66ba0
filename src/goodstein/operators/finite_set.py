"""Stein features at finitely many locations: a Stein kernel of finite rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.kernels import Gaussian, Kernel, RadialKernel
from goodstein.kernels.frames import Frame, Located
from goodstein.kernels.lattice import LatticeKernel
from goodstein.numerics.ranges import cut
from goodstein.operators.base import Operator, Wrapping, features_of
from goodstein.stein.features import SteinFeatures
from goodstein.stein.forms import LowRankForm
from goodstein.types import Array

TOGETHER = 1 << 14
"""Rows that are looked at together."""


@dataclass(frozen=True, eq=False)
class FiniteSet(Wrapping):
    """Another operator, its test functions looked at in J `locations` v only, (J, m).

    h(x, x′) = τ(x)·τ(x′) with τ(x) = [(T k(·, v_j))(x)]_j / √(CJ), for C test functions.
    """

    operator: Operator
    locations: Array

    statistic_name = "FSSD², U-statistic"  # no annotation: not a field

    def features(self, model: Any, domain: Domain, data: Any) -> FiniteSetFeatures:
        return FiniteSetFeatures(plain_features(self.operator, model, domain, data), self.locations)

    def default_kernel(self) -> Gaussian:
        """A Gaussian: it is real analytic."""
        return Gaussian()

    def __repr__(self) -> str:
        return f"FiniteSet({self.operator!r}, {len(self.locations)} locations)"


@dataclass(frozen=True)
class FiniteSetFeatures(Located):
    """Stein features, and where to look at them."""

    inner: SteinFeatures
    locations: Array

    @property
    def points(self) -> Array:
        """What bandwidth rules look at, (n, m)."""
        return self.inner.points

    def joined(self, others: Sequence[Self]) -> Self:
        """These and the others, one after another."""
        return replace(self, inner=self.inner.joined([other.inner for other in others]))

    @property
    def frame(self) -> Frame | None:
        return self.inner.frame

    def form(self, kernel: Kernel) -> LowRankForm:
        """The matrix τ τᵀ."""
        features, plain = self.inner.seen_by(kernel)
        return LowRankForm(witnesses(features, plain, kernel.coordinates(self.locations)))


def witnesses(features: SteinFeatures, kernel: Kernel, locations: Array) -> Array:
    """τ: a·k(y, v) + Gᵀ∇k(y, v) at all locations, (n, C·J), divided by √(CJ)."""
    n, count = len(features), features.value.shape[1]
    tau = np.empty((n, len(locations), count))
    # A few rows at a time: what is made on the way would take more memory than τ.
    for rows in cut(0, n, TOGETHER):
        some = features.take(rows)
        for j, location in enumerate(locations):
            tau[rows, j] = some.witness(kernel, location)
    tau /= np.sqrt(count * len(locations))
    return tau.reshape(n, -1)


def plain_features(
    operator: Operator,
    model: Any,
    domain: Domain,
    data: Any,
    how: str = "looked at in a finite set of locations",
) -> SteinFeatures:
    """The features of an operator, which must be of the plain kind for what is done with them."""
    features = features_of(operator, model, domain, data)
    if type(features) is not SteinFeatures:
        raise InputError(
            f"{operator!r} has a Stein kernel of its own form, which cannot be {how}. Use ksd_test with "
            "this operator."
        )
    return features


def require_analytic(kernel: Kernel) -> None:
    """Raise for kernels with which finitely many locations could miss a difference."""
    for term in kernel.terms:
        if isinstance(term, LatticeKernel):
            raise InputError(
                f"{term!r} compares discrete states, at which nothing can be optimised. Use ksd_test."
            )
        if not term.analytic:
            name = type(term).__name__ if isinstance(term, RadialKernel) else repr(term)
            undeclared = "" if term.analytic is False else "declared "
            remedy = undeclared and " If it is real analytic, say so in its class: analytic = True."
            raise InputError(
                f"{name} is not {undeclared}real analytic: its witness can vanish around all locations even "
                f"where the model is wrong. Use Gaussian(), IMQ() or RationalQuadratic().{remedy}"
            )
