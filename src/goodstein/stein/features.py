"""Stein features: what an operator makes of each observation, and what a kernel makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from goodstein.errors import InputError, ScoreError, describe_rows
from goodstein.kernels import Kernel, Whitened
from goodstein.kernels.bandwidth import beyond
from goodstein.kernels.frames import Frame, Located
from goodstein.kernels.score_frame import score_frame
from goodstein.lazy import cached_property
from goodstein.numerics.distances import Placed
from goodstein.stein.forms import BlockForm, Distances, Index, Term
from goodstein.stein.stacked import SteinStack
from goodstein.stein.tiles import Centred, Prepared
from goodstein.types import Array


class Features(Protocol):
    """What an operator returns: where the kernel looks, and how it makes a Stein matrix of that.

    Most operators return :class:`SteinFeatures`. One whose Stein kernel has another shape returns a
    class of its own, with a form of its own; see :mod:`goodstein.stein.forms`.
    """

    @property
    def points(self) -> Any:
        """What bandwidth rules look at, (n, m)."""

    def form(self, kernel: Any) -> BlockForm:
        """The Stein matrix under a fitted kernel, block by block."""


@runtime_checkable
class Joinable(Features, Protocol):
    """Features that can be put beside others of the same operator, such as those of a model close by."""

    def joined(self, others: Sequence[Any]) -> Features | None:
        """These and the others, one after another, in one matrix; None where parts of them cannot be."""


def require_finite(remedy: str, arrays: Mapping[str, Array | None]) -> None:
    """Raise where a coefficient of an operator, with a row for each observation, is not finite."""
    for name, array in arrays.items():
        if array is not None and not np.isfinite(array).all():
            finite = np.isfinite(array).reshape(len(array), -1).all(axis=1)
            raise ScoreError(f"The operator's {name} is not finite at {describe_rows(~finite)}. {remedy}")


def joined_features(first: Features, others: Sequence[Features]) -> Features | None:
    """Features of one operator for several models, one after another; None where they cannot be joined."""
    return first.joined(others) if isinstance(first, Joinable) else None


Parts = TypeVar("Parts")


def joined_arrays(first: Parts, others: Sequence[Parts], names: Sequence[str]) -> Parts:
    """A frozen dataclass with these arrays, (n, …) or None, followed by those of the others."""
    arrays = {name: [vars(part)[name] for part in (first, *others)] for name in names}
    joined = {name: None if found[0] is None else np.concatenate(found) for name, found in arrays.items()}
    return replace(first, **joined)  # type: ignore[type-var]


@dataclass(frozen=True)
class SteinFeatures(Located):
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
    inside
        Features at the same points from which these were made, if their test functions belong to the
        coordinates and those of these do not: a metric comes from them.
    """

    points: Array
    value: Array
    weight: Array | None = None
    inside: SteinFeatures | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        n, m = self.points.shape
        components = self.value.shape[1]
        expected = {1: (n,), 2: (n, m), 3: (n, m, components)}
        expected_value = (n, m) if self.weight is None or self.weight.ndim < 3 else (n, components)
        if self.value.shape != expected_value:
            raise ScoreError(
                f"Stein features: got values of shape {self.value.shape}, expected {expected_value}."
            )
        if self.weight is not None and self.weight.shape != expected.get(self.weight.ndim):
            raise ScoreError(
                f"Stein features: a weight of shape {self.weight.shape} fits no {n} points in R^{m}."
            )
        require_finite(
            "Such points lie on the boundary or in a region of zero density: remove them, or use an operator "
            "whose value is finite there.",
            {"points": self.points, "value": self.value, "weight": self.weight},
        )

    def __len__(self) -> int:
        return len(self.points)

    def form(self, kernel: Kernel) -> BlockForm:
        """The Stein matrix under a fitted kernel, block by block."""
        return SteinForm(*self.seen_by(kernel))

    def stacked(self, count: int) -> SteinStack | None:
        return SteinStack(self, count) if type(self) is SteinFeatures else None

    @cached_property
    def centred(self) -> Centred:
        """About a centre in their midst, in which matrix products are most precise."""
        return Centred.of(self)

    def seen_by(self, kernel: Kernel) -> tuple[SteinFeatures, Kernel]:
        """The features in a fitted kernel's own coordinates, and the kernel there."""
        if isinstance(kernel, Whitened):
            return self.seen_in(kernel.fixed), kernel.kernel
        return self, kernel

    @cached_property
    def frame(self) -> Frame | None:
        """Coordinates in which neither units nor correlations count."""
        if self.inside is not None:
            return self.inside.frame
        if self.value.shape[1] != self.points.shape[1]:
            return None
        return score_frame(self.points, self.value, self.weight)

    def seen_in(self, frame: Frame) -> SteinFeatures:
        """The same operator in other coordinates; made once for all kernels that see them there."""
        known: tuple[Frame, SteinFeatures] | None = self.__dict__.get("_seen")
        if known is None or known[0] is not frame:
            known = (frame, self._moved(frame))
            self.__dict__["_seen"] = known
        return known[1]

    def _moved(self, frame: Frame) -> SteinFeatures:
        functions = self.own_functions
        points, value, weight = frame.moved(self.points, self.value, self.weight, functions=functions)
        if not np.isfinite(points).all():  # those given are finite: squares of the score are not
            sizes = [f"{np.abs(part).max():.1g}" for part in (self.points, self.value)]
            raise beyond(f"values of magnitude {sizes[0]}, with scores of magnitude {sizes[1]},")
        return SteinFeatures(points, value, weight)

    @property
    def own_functions(self) -> bool:
        """Whether the test functions belong to no coordinates, and stay as they are in others."""
        m = self.points.shape[1]
        return self.value.shape[1] != m or (self.inside is not None and m > 1)

    def along(self, vectors: Array) -> Array:
        """Gᵀr for a vector r at every observation, (n, m) to (n, J)."""
        weight = self.weight
        if weight is None:
            return vectors
        if weight.ndim == 3:
            return np.asarray(np.einsum("ilc,il->ic", weight, vectors))
        return np.asarray((weight[:, None] if weight.ndim == 1 else weight) * vectors)

    def witness(self, kernel: Kernel, location: Array) -> Array:
        """ξ_i of the kernel's functions at one location v, a·k(y, v) + Gᵀ∇k(y, v), (n, J)."""
        difference = self.points - location
        phi, slope = kernel.profiles(np.einsum("ij,ij->i", difference, difference), order=1)
        return np.asarray(self.value * phi[:, None] + self.along(difference) * (2.0 * slope)[:, None])

    def times(self, weights: Array) -> SteinFeatures:
        """w_i ξ_i; made once for all kernels that see them."""
        known: tuple[Array, SteinFeatures] | None = self.__dict__.get("_times")
        if known is None or known[0] is not weights:
            g = np.ones(len(self)) if self.weight is None else self.weight
            scaled = weights.reshape(-1, *[1] * (g.ndim - 1)) * g
            known = (weights, SteinFeatures(self.points, weights[:, None] * self.value, scaled))
            self.__dict__["_times"] = known
        return known[1]

    def equals(self, other: SteinFeatures) -> bool:
        """Whether all numbers are the same."""
        if (self.weight is None) is not (other.weight is None):
            return False
        pairs = [(self.points, other.points), (self.value, other.value), (self.weight, other.weight)]
        return all(one is None or np.array_equal(one, two) for one, two in pairs)  # type: ignore[arg-type]

    def take(self, index: npt.NDArray[np.intp] | slice) -> Self:
        """The features of some observations, in the given order."""
        # Not through the constructor: rows of what was looked at there need not be looked at again.
        taken = object.__new__(type(self))
        for name in self.__dataclass_fields__:
            taken.__dict__[name] = self.__dict__[name]
        for name in ("points", "value", "weight"):
            if (array := self.__dict__[name]) is not None:
                taken.__dict__[name] = array[index]
        if self.inside is not None:
            taken.__dict__["inside"] = self.inside.take(index)
        return taken

    def joined(self, others: Sequence[Self]) -> Self:
        """These and the others, one after another, in the frame of these."""
        return joined_arrays(self, others, ("points", "value", "weight"))


@dataclass(frozen=True)
class AnchoredFeatures(SteinFeatures):
    """Features of one test function that also look at one fixed point: ξ_i f + c_i·f(y₀).

    y₀ is the `anchor`, (m,), and c the `anchor_value`, one number for all observations or (n,).
    """

    anchor: Array | None = None
    anchor_value: float | Array = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.anchor is None or self.anchor.shape != self.points.shape[1:] or self.value.shape[1] != 1:
            raise ScoreError(
                "Anchored features need one test function and an anchor with as many coordinates."
            )
        if not (np.isfinite(self.anchor).all() and np.isfinite(self.anchor_value).all()):
            raise ScoreError(
                f"The operator's weight at the fixed point {self.anchor} is {self.anchor_value}, which is "
                "not finite. Use an operator that does not need it."
            )

    def take(self, index: npt.NDArray[np.intp] | slice) -> Self:
        c = self.anchor_value
        some = c[index] if isinstance(c, np.ndarray) else c
        return replace(super().take(index), anchor_value=some)

    def joined(self, others: Sequence[Self]) -> Self:
        values = [np.broadcast_to(part.anchor_value, len(part)) for part in (self, *others)]
        return replace(super().joined(others), anchor_value=np.concatenate(values))

    def _moved(self, frame: Frame) -> SteinFeatures:
        raise ScoreError("Features with a fixed point cannot be whitened. Pass the kernel inside Whitened.")

    def form(self, kernel: Kernel) -> AnchoredForm:
        return AnchoredForm(self, kernel)


class SteinForm(BlockForm):
    """The Stein matrix of n observations under a fitted kernel, block by block."""

    def __init__(self, features: SteinFeatures, kernel: Kernel) -> None:
        self.features = features
        self.kernel = kernel

    @cached_property
    def prepared(self) -> Prepared:
        """Made when the first block is asked for: a form that is only permuted never needs it."""
        return Prepared(self.features.centred, self.kernel)

    @property
    def n(self) -> int:
        return len(self.features)

    def take(self, index: Any) -> SteinForm:
        form = SteinForm(self.features.take(index), self.kernel)
        if "prepared" in self.__dict__:
            form.__dict__["prepared"] = self.prepared.take(index)
        if "_diagonal" in self.__dict__:
            form.__dict__["_diagonal"] = self._diagonal[index]
        return form

    def block(self, rows: slice, cols: slice) -> Array:
        return self.prepared.block(rows, cols)

    def columns(self, index: Index) -> Array:
        return self.prepared.block(slice(0, self.n), index).copy()

    def weighted(self, weights: Array) -> SteinForm:
        return SteinForm(self.features.times(weights), self.kernel)

    @property
    def thin_points(self) -> Placed | None:
        return self.prepared.features.placed if self.prepared.close else None

    def terms(self, distances: Distances) -> Iterator[Term]:
        factors = self.prepared.features.factors
        curvature = distances.kept(factors, lambda: factors.curvature(distances))
        for function, (p, q, r) in distances.functions(self.prepared.kernel):
            if curvature is not None and r != 0.0:
                yield Term(function, curvature, None, r)
                r = 0.0
            # A lone part is the same for all kernels that take multiples of it.
            alone = [w for w in (p, q, r) if w != 0.0]
            if alone:
                unit = alone[0] if len(alone) == 1 else 1.0
                columns, right = factors.right(p / unit, q / unit, r / unit, 0.0)
                left = factors.narrow if r == 0.0 else factors.left
                yield Term(function, left[:, columns], right, unit)

    def diagonal(self) -> Array:
        return self._diagonal.copy()

    @cached_property
    def _diagonal(self) -> Array:
        return _squared_norms(self.features.value, self.features.weight, self.kernel)


def _squared_norms(value: Array, weight: Array | None, kernel: Kernel) -> Array:
    """φ(0)‖a‖² − 2φ′(0) tr(GᵀG), (n,), under a radial kernel."""
    phi, slope = (float(profile[0]) for profile in kernel.profiles(np.zeros(1), order=1))
    if weight is None:
        trace: Any = float(value.shape[1])
    elif weight.ndim == 1:
        trace = value.shape[1] * weight**2
    else:
        trace = (weight.reshape(len(weight), -1) ** 2).sum(axis=1)
    return np.asarray(phi * np.einsum("ij,ij->i", value, value) - 2.0 * slope * trace)


def squared_norms_of(features: Features, kernel: Any) -> Array:
    """h(x_i, x_i), (n,), under a fitted kernel; of the usual features without moving their points."""
    if type(features) is SteinFeatures and features.inside is None and isinstance(kernel, Whitened):
        value, weight = features.value, features.weight
        if weight is None or weight.ndim < 3:
            frame = kernel.fixed
            return _squared_norms(frame.values(value), frame.weights(weight), kernel.kernel)
    return features.form(kernel).diagonal()


class AnchoredForm(BlockForm):
    """ξ_i plus c_i times the value at a fixed point y₀.

    With v_i = ⟨ξ_i, k(y₀, ·)⟩ the matrix is H + v cᵀ + c vᵀ + c cᵀ k(y₀, y₀).
    """

    def __init__(self, features: AnchoredFeatures, kernel: Kernel, inner: BlockForm | None = None) -> None:
        if isinstance(kernel, Whitened):
            raise InputError("A Whitened kernel has no place in one dimension. Pass the kernel inside it.")
        self.features, self.kernel = features, kernel
        self._inner = inner if inner is not None else SteinForm(features, kernel)

    @cached_property
    def _parts(self) -> tuple[Array, Array]:
        """v + ½ c·k(y₀, y₀) and c, (n,) both."""
        features, kernel = self.features, self.kernel
        c = np.broadcast_to(np.asarray(features.anchor_value, dtype=np.float64), self.n)
        v = features.witness(kernel, np.asarray(features.anchor))[:, 0]
        return v + 0.5 * c * float(kernel.profiles(np.zeros(1), order=0)[0][0]), c

    @property
    def n(self) -> int:
        return len(self.features)

    def take(self, index: Any) -> AnchoredForm:
        return AnchoredForm(self.features.take(index), self.kernel, self._inner.take(index))

    def block(self, rows: slice, cols: slice) -> Array:
        v, c = self._parts
        out = self._inner.block(rows, cols)
        out += np.column_stack([v[rows], c[rows]]) @ np.stack([c[cols], v[cols]])
        return out

    def reduced(self) -> tuple[BlockForm | None, float, float]:
        inner, rests = self.apart(1)
        return inner, 1.0, float(rests[0])

    def apart(self, count: int) -> tuple[BlockForm, Array]:
        """The matrix H, and the sums over i ≠ j of what is added to it in each of `count` samples."""
        v, c = (part.reshape(count, -1) for part in self._parts)
        return self._inner, np.asarray(2.0 * (v.sum(axis=1) * c.sum(axis=1) - np.einsum("ki,ki->k", v, c)))

    def diagonal(self) -> Array:
        v, c = self._parts
        return np.asarray(self._inner.diagonal() + 2.0 * v * c)
