"""Features of several samples at once: of small samples calls take longer than the work.

Samples of the same size stand one after another, and each is seen as it is alone: about its own centre, in
its own coordinates and with its own bandwidth. With lengths counted in the median distance μ between two
points of a sample, kernels that take a multiple of it as their bandwidth are the same for all samples; from
(y, a, G) to (y/μ, μa, G) the Stein kernel becomes μ² times what it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.kernels import Kernel, RadialKernel, Whitened
from goodstein.kernels.frames import Frame
from goodstein.numerics.ranks import medians
from goodstein.stein.forms import BlockForm
from goodstein.types import Array

if TYPE_CHECKING:
    from goodstein.stein.features import SteinFeatures


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
        frames = [sample.frame for sample in self._plain.samples]
        return None if any(frame is None for frame in frames) else frames  # type: ignore[return-value]

    @cached_property
    def _plain(self) -> SeenStack:
        """About the medians of each sample."""
        inside = None if self.inside is None else self.inside._plain
        n = len(self.features) // self.count
        samples = [self.features.take(slice(k, k + n)) for k in range(0, n * self.count, n)]
        if inside is None:
            points = [sample.points - medians(sample.points) for sample in samples]
        else:
            points = [sample.points for sample in inside.samples]
        for sample, moved in zip(samples, points, strict=True):
            sample.__dict__["points"] = moved
        return SeenStack(samples, inside)

    @cached_property
    def _whitened(self) -> SeenStack:
        """In the coordinates of each sample."""
        assert self.frames is not None
        moved = [one.seen_in(frame) for one, frame in zip(self._plain.samples, self.frames, strict=True)]
        return SeenStack(moved, None if self.inside is None else self.inside._whitened)


@dataclass(frozen=True, eq=False)
class SeenStack:
    """Features of several samples in some coordinates, one by one; `inside` has the same points."""

    samples: list[SteinFeatures]
    inside: SeenStack | None

    @cached_property
    def together(self) -> SteinFeatures | None:
        """One after another; None where they are of different kinds."""
        if len({None if one.weight is None else one.weight.ndim for one in self.samples}) > 1:
            return None
        return self.samples[0].joined(self.samples[1:])

    @cached_property
    def lengths(self) -> Array:
        """The median distance in every sample, (count,)."""
        if self.inside is not None:
            return self.inside.lengths
        return np.array([sample.median_distance for sample in self.samples])

    @cached_property
    def scaled(self) -> SteinFeatures | None:
        """Together, with lengths in units of the median distance.

        None also where nothing is seen in one of the samples, which alone says so.
        """
        together, lengths = self.together, self.lengths
        if together is None or any(
            one.weight is not None and not (one.weight.any() or one.value.any()) for one in self.samples
        ):
            return None
        points, value = times(together.points, 1.0 / lengths), times(together.value, lengths)
        return replace(together, points=points, value=value)


class InUnits(BlockForm):
    """Stein matrices of several samples with lengths in units of their own, and the factors that undo it."""

    def __init__(self, inner: BlockForm, factors: Array) -> None:
        self._inner, self._factors = inner, factors

    @property
    def n(self) -> int:
        return self._inner.n

    def reduced(self) -> tuple[BlockForm | None, Any, Any]:
        return self._inner, self._factors, 0.0

    def block(self, rows: slice, cols: slice) -> Array:
        raise NotImplementedError("Several samples have sums, and no matrix together.")

    def diagonal(self) -> Array:
        raise NotImplementedError("Several samples have sums, and no matrix together.")
