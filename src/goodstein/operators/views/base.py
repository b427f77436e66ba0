"""What views share: test functions that a person can name, put into another operator."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from goodstein.domains import Domain, Sphere, Torus
from goodstein.errors import InputError
from goodstein.kernels.base import Kernel
from goodstein.kernels.finite import OwnFunctions, refuse_kernel
from goodstein.kernels.frames import Frame
from goodstein.operators.base import Operator, Wrapping
from goodstein.operators.defaults import default_operator
from goodstein.operators.finite_set import plain_features
from goodstein.operators.tangential import Tangential
from goodstein.stein.features import SteinFeatures
from goodstein.types import Array

Names = Sequence[str] | None
"""Names of the columns of the data, where they have any."""


class View(Wrapping):
    """Another operator, with few test functions, that look at one thing."""

    @abstractmethod
    def looks_at(self, names: Names = None) -> str:
        """What it looks at, in words, such as "the distribution of `income`"."""

    def check(self, domain: Domain) -> None:
        """Raise where there is no such thing on a domain."""

    def on(self, domain: Domain) -> Self:
        self.check(domain)
        return super().on(domain)

    def choose(self, domain: Domain) -> Operator:
        return Tangential() if isinstance(domain, Sphere) else default_operator(domain)

    def __repr__(self) -> str:
        arguments = [*self._arguments(), *([] if self.operator is None else [repr(self.operator)])]
        return f"{type(self).__name__}({', '.join(arguments)})"

    def _arguments(self) -> list[str]:
        """Those before the operator."""
        return []

    def square(self, model: Any, domain: Domain, data: Any) -> SteinFeatures:
        """Features of the operator inside, which must have as many test functions as coordinates."""
        name = type(self).__name__
        inner = self.inner(domain)
        features = plain_features(inner, model, domain, data, f"looked at by {name}")
        if features.value.shape[1] != features.points.shape[1]:
            raise InputError(
                f"{inner!r} has {features.value.shape[1]} test functions in {features.points.shape[1]} "
                f"coordinates; {name} needs as many as there are coordinates.",
                remedy="Use Harmonics(), Margin() or Pair() there." if isinstance(domain, Torus) else None,
            )
        return features


class FiniteView(View):
    """A view of finite rank: its cost is linear, and it takes no kernel."""

    def default_kernel(self) -> Kernel:
        return OwnFunctions()

    def adapted(self, kernel: Kernel) -> Kernel:
        return refuse_kernel(self, kernel)


def unit_frame(features: SteinFeatures, domain: Domain) -> Frame | None:
    """The coordinates of the default kernels, in which units do not count; None where all have the same."""
    return features.frame if domain.mixed_units and features.points.shape[1] > 1 else None


def named(column: int, names: Names = None) -> str:
    """A column of the data, as a person calls it."""
    return f"column {column}" if names is None else f"`{names[column]}`"


def projected(features: SteinFeatures, vectors: Array) -> SteinFeatures:
    """Test functions f = Σ_p v_p φ_p(v_1·y, …, v_k·y), v_p the columns of `vectors`, (m, k).

    Points yB, values aB, weights BᵀGB, with B those columns.
    """
    g = features.weight
    if g is None or g.ndim == 1:
        weight = np.ones(len(features)) if g is None else g
        weight = weight[:, None, None] * (vectors.T @ vectors)
    elif g.ndim == 2:
        weight = np.einsum("nl,lp,lq->npq", g, vectors, vectors)
    else:
        weight = vectors.T @ g @ vectors
    return thin(SteinFeatures(features.points @ vectors, features.value @ vectors, weight))


def thin(features: SteinFeatures) -> SteinFeatures:
    """With one coordinate a weight is a number for each observation."""
    g = features.weight
    if features.points.shape[1] > 1 or g is None or g.ndim == 1:
        return features
    return SteinFeatures(features.points, features.value, g.reshape(len(g)))
