"""Stein features at finitely many locations: a Stein kernel of finite rank."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from goodstein.auditing.report import Check
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.kernels import Gaussian, Matern52, Whitened
from goodstein.kernels.base import Kernel
from goodstein.operators.base import Operator
from goodstein.stein.features import SteinFeatures
from goodstein.stein.forms import BlockForm
from goodstein.types import Array


@dataclass(frozen=True, eq=False)
class FiniteSet:
    """The operator `inner`, its test functions looked at in J locations v only.

    h(x, x′) = τ(x)·τ(x′) with τ(x) = [(T k(·, v_j))(x)]_j / √(CJ), for C test functions.

    Attributes
    ----------
    inner
        An operator with plain :class:`SteinFeatures`.
    locations
        (J, m), in the coordinates in which the kernel sees the data.
    """

    inner: Operator
    locations: Array

    def features(self, model: Any, domain: Domain, data: Any) -> FiniteSetFeatures:
        """Those of the inner operator, with the locations."""
        return FiniteSetFeatures(plain_features(self.inner, model, domain, data), self.locations)

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        """What the inner operator needs."""
        from goodstein.pipeline.run import conditions

        return conditions(model, domain, self.inner, data, rng)

    def default_kernel(self) -> Gaussian:
        """A Gaussian: it is real analytic."""
        return Gaussian()

    def __repr__(self) -> str:
        return f"FiniteSet({self.inner!r}, {len(self.locations)} locations)"


@dataclass(frozen=True)
class FiniteSetFeatures:
    """Stein features, and where to look at them."""

    inner: SteinFeatures
    locations: Array

    @property
    def points(self) -> Array:
        """What bandwidth rules look at, (n, m)."""
        return self.inner.points

    def form(self, kernel: Kernel) -> FiniteSetForm:
        """The matrix τ τᵀ."""
        features, locations = self.inner, self.locations
        if isinstance(kernel, Whitened):
            features, locations = features.mapped(kernel.linear_map), locations @ kernel.linear_map
            kernel = kernel.kernel
        return FiniteSetForm(witnesses(features, kernel, locations))


class FiniteSetForm(BlockForm):
    """τ τᵀ, of which only τ is held.

    Attributes
    ----------
    tau
        τ, (n, C·J).
    """

    def __init__(self, tau: Array) -> None:
        self.tau = tau

    @property
    def n(self) -> int:
        """Number of observations."""
        return len(self.tau)

    def take(self, index: Any) -> FiniteSetForm:
        """The form of some observations, in the given order."""
        return FiniteSetForm(self.tau[index])

    def block(self, rows: slice, cols: slice) -> Array:
        """H[rows, cols]."""
        return self.tau[rows] @ self.tau[cols].T

    def diagonal(self) -> Array:
        """‖τ(x_i)‖², (n,)."""
        return np.asarray(np.einsum("ij,ij->i", self.tau, self.tau))

    @cached_property
    def statistic(self) -> float:
        """U = n/(n − 1)·‖mean τ‖² − mean‖τ‖²/(n − 1), in linear time."""
        mean = self.tau.mean(axis=0)
        return float((self.n * (mean @ mean) - self.diagonal().mean()) / (self.n - 1))


def witnesses(features: SteinFeatures, kernel: Kernel, locations: Array) -> Array:
    """τ: a·k(y, v) + Gᵀ∇k(y, v) at all locations, (n, C·J), divided by √(CJ)."""
    n, count = len(features), features.value.shape[1]
    tau = np.empty((n, len(locations), count))
    for j, location in enumerate(locations):
        difference = features.points - location
        phi, slope = kernel.profiles(np.einsum("ij,ij->i", difference, difference), order=1)
        tau[:, j] = features.value * phi[:, None] + weighted(features, difference) * (2.0 * slope)[:, None]
    tau /= np.sqrt(count * len(locations))
    return tau.reshape(n, -1)


def weighted(features: SteinFeatures, vectors: Array) -> Array:
    """Gᵀr at every observation, (n, C)."""
    weight = features.weight
    if weight is None:
        return vectors
    if weight.ndim == 3:
        return np.asarray(np.einsum("ilc,il->ic", weight, vectors))
    return np.asarray((weight[:, None] if weight.ndim == 1 else weight) * vectors)


def plain_features(
    operator: Operator,
    model: Any,
    domain: Domain,
    data: Any,
    how: str = "looked at in a finite set of locations",
) -> SteinFeatures:
    """The features of an operator, which must be of the plain kind for what is done with them."""
    features = operator.features(model, domain, data)
    if type(features) is not SteinFeatures:
        raise InputError(
            f"{operator!r} has a Stein kernel of its own form, which cannot be {how}. Use ksd_test with "
            "this operator."
        )
    return features


def require_analytic(kernel: Kernel) -> None:
    """Raise for kernels with which finitely many locations could miss a difference."""
    inner = getattr(kernel, "kernel", kernel)
    for term in getattr(inner, "kernels", (inner,)):
        if isinstance(term, Matern52):
            raise InputError(
                "Matern52 is not real analytic: its witness can vanish around all locations even where the "
                "model is wrong. Use Gaussian(), IMQ() or RationalQuadratic()."
            )
        if hasattr(term, "tables"):
            raise InputError(
                f"{term!r} compares discrete states, at which nothing can be optimised. Use ksd_test."
            )
