"""Stein features: what an operator makes of each observation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from goodstein.errors import ScoreError, describe_rows
from goodstein.types import Array

if TYPE_CHECKING:
    from goodstein.kernels.base import Kernel
    from goodstein.stein.forms import BlockForm


class Features(Protocol):
    """What an operator returns: where the kernel looks, and how it makes a Stein matrix of that.

    Most operators return :class:`SteinFeatures`. One whose Stein kernel has another shape returns a
    class of its own, with a form of its own; see :mod:`goodstein.stein.forms`.
    """

    @property
    def points(self) -> Any:
        """What bandwidth rules look at, (n, m)."""
        ...

    def form(self, kernel: Any) -> BlockForm:
        """The Stein matrix under a fitted kernel, block by block."""
        ...


@dataclass(frozen=True)
class SteinFeatures:
    """A Stein operator at n observations, as linear functionals on test functions f.

    Observation i stands for

        ξ_i f = Σ_j a_ij f_j(y_i) + Σ_jl G_i,lj ∂_l f_j(y_i),

    and the Stein kernel is h(i, i′) = ⟨ξ_i, ξ_i′⟩ in the vector-valued RKHS of a scalar
    kernel. Every operator of the library is a choice of (y, a, G).

    Attributes
    ----------
    points
        y, (n, m): where the kernel looks at the observations. Usually the data themselves;
        on a simplex, coordinates in its tangent space or log-ratios.
    value
        a, (n, J): the weight of f_j(y).
    weight
        G: None for the identity; (n,) for a multiple of it; (n, m) for a diagonal matrix;
        (n, m, J) for a full one.
    """

    points: Array
    value: Array
    weight: Array | None = None

    def __post_init__(self) -> None:
        n, m = self.points.shape
        components = self.value.shape[1]
        expected = {1: (n,), 2: (n, m), 3: (n, m, components)}
        if self.weight is None or self.weight.ndim < 3:
            expected_value = (n, m)
        else:
            expected_value = (n, components)
        if self.value.shape != expected_value:
            raise ScoreError(
                f"Stein features: got values of shape {self.value.shape}, expected {expected_value}."
            )
        if self.weight is not None and self.weight.shape != expected.get(self.weight.ndim):
            raise ScoreError(
                f"Stein features: a weight of shape {self.weight.shape} fits no {n} points in R^{m}."
            )
        for name, array in (("points", self.points), ("drift", self.value), ("auxiliary", self.weight)):
            if array is None or np.isfinite(array).all():
                continue
            finite = np.isfinite(array).reshape(n, -1).all(axis=1)
            if not finite.all():
                raise ScoreError(
                    f"The operator's {name} is not finite at {describe_rows(~finite)}. "
                    "Such points lie on the boundary or in a region of zero density: remove them, or use an "
                    "operator whose drift is finite there."
                )

    def __len__(self) -> int:
        return len(self.points)

    def form(self, kernel: Kernel) -> BlockForm:
        """The Stein matrix under a fitted kernel, block by block."""
        from goodstein.stein.forms import SteinForm

        return SteinForm(self, kernel)

    def take(self, index: npt.NDArray[np.intp]) -> SteinFeatures:
        """The features of some observations, in the given order."""
        weight = None if self.weight is None else self.weight[index]
        return SteinFeatures(self.points[index], self.value[index], weight)

    def mapped(self, linear_map: Array) -> SteinFeatures:
        """The same operator in coordinates z = Lᵀy, with test functions f(y) = L⁻ᵀf̃(z)."""
        if self.value.shape[1] != self.points.shape[1]:
            raise ScoreError("Whitening needs an operator with as many test functions as coordinates.")
        inverse = np.linalg.inv(linear_map)
        points, value = self.points @ linear_map, self.value @ inverse.T
        if self.weight is None or self.weight.ndim == 1:
            return SteinFeatures(points, value, self.weight)
        if self.weight.ndim == 2:
            full = linear_map.T @ (self.weight[:, :, None] * inverse.T)
            return SteinFeatures(points, value, full)
        return SteinFeatures(points, value, linear_map.T @ self.weight @ inverse.T)


@dataclass(frozen=True)
class AnchoredFeatures(SteinFeatures):
    """Features of one test function that also look at one fixed point: ξ_i f + c·f(y₀).

    Attributes
    ----------
    anchor
        y₀, (m,).
    anchor_value
        c, the same for all observations.
    """

    anchor: Array | None = None
    anchor_value: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.anchor is None or self.anchor.shape != self.points.shape[1:] or self.value.shape[1] != 1:
            raise ScoreError(
                "Anchored features need one test function and an anchor with as many coordinates."
            )
        if not (np.isfinite(self.anchor).all() and np.isfinite(self.anchor_value)):
            raise ScoreError(
                f"The operator's weight at the fixed point {self.anchor} is {self.anchor_value}, which is "
                "not finite. Use an operator that does not need it."
            )

    def take(self, index: npt.NDArray[np.intp]) -> AnchoredFeatures:
        """The features of some observations, in the given order; the fixed point stays."""
        weight = None if self.weight is None else self.weight[index]
        return AnchoredFeatures(self.points[index], self.value[index], weight, self.anchor, self.anchor_value)

    def mapped(self, linear_map: Array) -> SteinFeatures:
        """Raise: other coordinates have no use where there is one test function of one coordinate."""
        raise ScoreError("Features with a fixed point cannot be whitened. Pass the kernel inside Whitened.")

    def form(self, kernel: Kernel) -> BlockForm:
        """The Stein matrix under a fitted kernel, block by block."""
        from goodstein.stein.forms import AnchoredForm

        return AnchoredForm(self, kernel)
