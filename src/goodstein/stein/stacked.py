"""Features of several samples at once: of small samples calls take longer than the work.

Samples of the same size stand one after another, and each is seen as it is alone: about its own centre, in
its own coordinates and with its own bandwidth. With lengths counted in the median distance μ between two
points of a sample, kernels that take a multiple of it as their bandwidth are the same for all samples; from
(y, a, G) to (y/μ, μa, G) the Stein kernel becomes μ² times what it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.kernels import Kernel, RadialKernel, Whitened
from goodstein.kernels.bandwidth import Median
from goodstein.kernels.frames import Frame
from goodstein.kernels.score_frame import score_frames
from goodstein.lazy import cached_property
from goodstein.numerics.ranks import medians
from goodstein.stein.forms import BlockForm
from goodstein.types import Array

if TYPE_CHECKING:
    from goodstein.stein.features import AnchoredFeatures, SteinFeatures


def in_units(kernel: Kernel) -> Kernel | None:
    """A kernel whose bandwidth is a multiple of the median distance, in units of that; None for others."""
    multiple = kernel.median_multiple if isinstance(kernel, RadialKernel) else None
    return None if multiple is None else replace(kernel, bandwidth=multiple)  # type: ignore[type-var]


def times(values: Array, factors: Array) -> Array:
    """The rows of several samples, one after another, times a factor for each sample."""
    return np.asarray(values.reshape(len(factors), -1) * factors[:, None]).reshape(values.shape)


@dataclass(frozen=True, eq=False)
class SteinStack:
    """Stein features of `count` samples; `inside` are those of which these were made, at the same points."""

    features: SteinFeatures
    count: int
    inside: SteinStack | None = None

    def form(self, kernel: Kernel) -> BlockForm | None:
        """The Stein matrices under a kernel that is not fitted yet; None where samples must be alone."""
        whitened = isinstance(kernel, Whitened)
        if isinstance(kernel, Whitened) and (kernel.metric != "score" or kernel.frame is not None):
            return None
        fixed, seen = in_units(kernel.plain), self.seen(whitened)
        if fixed is None or seen.scaled is None:
            return None
        form = seen.scaled.form(fixed)
        return None if form.thin_points is None else InUnits(form, seen.lengths**-2.0)

    def seen(self, whitened: bool) -> SeenStack:
        """In the coordinates of the default kernels, if there are such, or as they are."""
        return self._plain if self.frames is None or not whitened else self._whitened

    @cached_property
    def frames(self) -> list[Frame] | None:
        """The coordinates of each sample in which units and correlations do not count."""
        if self.inside is not None:
            return self.inside.frames
        seen = self._plain.together
        assert seen is not None
        if seen.value.shape[1] != seen.points.shape[1]:
            return None
        weight = None if seen.weight is None else self._apart(seen.weight)
        return score_frames(self._apart(seen.points), self._apart(seen.value), weight)

    def _apart(self, values: Array) -> Array:
        """Sample by sample, (count, n, …)."""
        return values.reshape(self.count, -1, *values.shape[1:])

    @cached_property
    def _plain(self) -> SeenStack:
        """About the medians of each sample."""
        if self.inside is None:
            apart, inside = self._apart(self.features.points), None
            points = (apart - medians(apart, axis=1)[:, None]).reshape(self.features.points.shape)
        else:
            inside = self.inside._plain
            assert inside.together is not None
            points = inside.together.points
        return SeenStack(replace(self.features, points=points), self.count, inside)

    @cached_property
    def _whitened(self) -> SeenStack:
        """In the coordinates of each sample."""
        seen, inside = self._plain.together, None if self.inside is None else self.inside._whitened
        assert self.frames is not None
        assert seen is not None
        weights = [None] * self.count if seen.weight is None else self._apart(seen.weight)
        samples = zip(self.frames, self._apart(seen.points), self._apart(seen.value), weights, strict=True)
        functions = seen.own_functions
        parts = [frame.moved(*arrays, functions=functions) for frame, *arrays in samples]
        points, value, weight = zip(*parts, strict=True)
        alike = len({None if one is None else one.ndim for one in weight}) == 1
        if not alike or not all(np.isfinite(one).all() for one in points):
            return SeenStack(None, self.count, inside)
        whole = None if weight[0] is None else np.concatenate(weight)
        features = replace(
            seen, points=np.concatenate(points), value=np.concatenate(value), weight=whole, inside=None
        )
        return SeenStack(features, self.count, inside)


@dataclass(frozen=True, eq=False)
class SeenStack:
    """Features of samples in some coordinates, one after another; `inside` has the same points.

    None where they are of different kinds, or too large.
    """

    together: SteinFeatures | None
    count: int
    inside: SeenStack | None

    @cached_property
    def lengths(self) -> Array:
        """The median distance in every sample, (count,)."""
        if self.inside is not None and self.inside.together is not None:
            return self.inside.lengths
        assert self.together is not None
        return np.array([Median()(points) for points in np.split(self.together.points, self.count)])

    @cached_property
    def scaled(self) -> SteinFeatures | None:
        """Together, with lengths in units of the median distance.

        None also where nothing is seen in one of the samples, which alone says so.
        """
        together = self.together
        if together is None:
            return None
        if together.weight is not None:
            parts = [part.reshape(self.count, -1).any(axis=1) for part in (together.weight, together.value)]
            if not (parts[0] | parts[1]).all():
                return None
        lengths = self.lengths
        points, value = times(together.points, 1.0 / lengths), times(together.value, lengths)
        return replace(together, points=points, value=value)


@dataclass(frozen=True, eq=False)
class AnchoredStack:
    """Features of `count` samples that also look at one fixed point."""

    features: AnchoredFeatures
    count: int

    def form(self, kernel: Kernel) -> BlockForm | None:
        """The Stein matrices under a kernel that is not fitted yet; None where samples must be alone."""
        fixed = in_units(kernel)
        if fixed is None:
            return None
        inner, rests = self._scaled.form(fixed).apart(self.count)
        if inner.thin_points is None:
            return None
        return InUnits(inner, self.lengths**-2.0, rests * self.lengths**-2.0)

    @cached_property
    def lengths(self) -> Array:
        """The median distance in every sample, (count,)."""
        return np.array([Median()(points) for points in np.split(self.features.points, self.count)])

    @cached_property
    def _scaled(self) -> AnchoredFeatures:
        """About the fixed point, with lengths in units of the median distance."""
        seen, lengths = self.features, self.lengths
        assert seen.anchor is not None
        weights = np.repeat(lengths, len(seen) // self.count) * seen.anchor_value
        return replace(
            seen,
            points=times(seen.points - seen.anchor, 1.0 / lengths),
            value=times(seen.value, lengths),
            anchor=np.zeros_like(seen.anchor),
            anchor_value=weights,
        )


class InUnits(BlockForm):
    """Stein matrices of several samples with lengths in units of their own, and the factors that undo it.

    What is added to their sums is in the units of the data.
    """

    def __init__(self, inner: BlockForm, factors: Array, rests: Array | float = 0.0) -> None:
        self._inner, self._factors, self._rests = inner, factors, rests

    @property
    def n(self) -> int:
        return self._inner.n

    def reduced(self) -> tuple[BlockForm | None, Any, Any]:
        return self._inner, self._factors, self._rests

    def block(self, rows: slice, cols: slice) -> Array:
        raise NotImplementedError("Several samples have sums, and no matrix together.")

    def diagonal(self) -> Array:
        raise NotImplementedError("Several samples have sums, and no matrix together.")
