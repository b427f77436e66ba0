"""Forms of the same features with different kernels: products once, one pass for each kernel.

The parts ρ, P, Q and R of a tile (:mod:`goodstein.stein.tiles`) do not depend on the kernel. They are made
once in double precision, where differences of large numbers occur, and rounded to single precision, in which
every kernel then needs a handful of passes. Products with signs are in single precision anyway.

Rounding errors of single entries average out in a statistic. Those of constants would not: φ, φ′ and φ″ would
belong to slightly different kernels, whose contributions no longer cancel under the null. So kernels take
part only where their constants are exact multiples of each other (``shares_parts`` in
:mod:`goodstein.kernels`). What is left, at n = 4000, is at most 4e-5 of the statistic's standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from goodstein.engine.executors import Workers
from goodstein.engine.reduce import Alone, Bundle, joint_quadratic_forms
from goodstein.engine.schemes import Held, Weights
from goodstein.engine.triangle import above_diagonal
from goodstein.engine.workspace import scratch
from goodstein.kernels.tile import Parts
from goodstein.stein.features import SteinForm
from goodstein.stein.forms import BlockForm
from goodstein.stein.tiles import Prepared
from goodstein.types import Array, Single

LARGEST_RATIO = 1e8
"""Bandwidths further apart than this have no unit in which both can be written in single precision."""
SMALLEST, LARGEST = 1e-20, 1e20
"""Entries of Stein matrices that single precision holds with room to spare."""


class SharedForm(Bundle):
    """Stein forms of the same features with different kernels, all of which have ``shares_parts``."""

    def __init__(self, forms: Sequence[SteinForm], prepared: Prepared | None = None) -> None:
        self.forms = list(forms)
        # Products must be precise enough for the shortest bandwidth.
        self.lengths = [form.kernel.shortest_length for form in self.forms]
        self.order = sorted(range(len(self.lengths)), key=lambda k: -self.lengths[k])
        self.shortest = self.forms[self.order[-1]].kernel
        if prepared is not None:
            self.__dict__["prepared"] = prepared

    @cached_property
    def prepared(self) -> Prepared:
        """Made when the first block is asked for."""
        return Prepared(self.forms[0].features.centred, self.shortest)

    @property
    def possible(self) -> bool:
        """Whether single precision will do."""
        peaks = [float(form.diagonal().max()) for form in self.forms]
        if max(self.lengths) > LARGEST_RATIO * min(self.lengths):
            return False
        return self.prepared.close and min(peaks) > SMALLEST and max(peaks) < LARGEST

    @cached_property
    def unit(self) -> float:
        """About the square of the shortest bandwidth; a power of two, by which division is exact."""
        return 4.0 ** round(math.log2(min(self.lengths)))

    wide = False  # else it would not be possible

    @property
    def n(self) -> int:
        return self.forms[0].n

    @cached_property
    def scales(self) -> list[float]:
        """Constant factors that the kernels leave out, to save a pass."""
        return [form.kernel.parts_scale(self.unit) for form in self.forms]

    def take(self, index: Any) -> SharedForm:
        features = self.forms[0].features.take(index)
        prepared = self.__dict__.get("prepared")
        return SharedForm(
            [SteinForm(features, form.kernel) for form in self.forms],
            None if prepared is None else prepared.take(index),
        )

    def fill(self, rows: slice, cols: slice, out: Held) -> Array:
        """Write the block of one kernel after another, long bandwidths first."""
        tile = self.prepared.tile(rows, cols)
        unit = self.unit
        rho = _single("rho", tile.rho(1.0 / unit))
        p = _single("p", tile.combine(1.0, 0.0, 0.0))
        q = _single("q", tile.combine(0.0, 1.0 / unit, 0.0))
        if tile.unit:
            r = np.multiply(rho, np.float32(-4.0 / unit), out=scratch("single:r", rho.shape, np.float32))
        else:
            r = _single("r", tile.combine(0.0, 0.0, 1.0 / unit**2))
        parts = Parts(rho, p, q, r, unit)
        ones = np.ones(len(rho), np.float32)
        sums = np.empty(len(self.forms))
        for k in self.order:
            block: Any = out[k]
            self.forms[k].kernel.stein_parts(parts, block)
            above_diagonal(block, rows, cols)
            sums[k] = self.scales[k] * (ones @ block).sum(dtype=np.float64)
        return sums


def _single(name: str, values: Array) -> Single:
    """A copy in single precision, in a buffer of this thread."""
    out = scratch(f"single:{name}", values.shape, np.float32)
    np.copyto(out, values, casting="same_kind")
    return out


def joint_statistics(
    forms: Sequence[BlockForm], weights: Weights | None, *, workers: Workers = None
) -> tuple[Array, Array]:
    """U of every form, (forms,), and draws with the same signs for all, (forms, draws), in one pass."""
    bundles, order = bundled(forms)
    statistics, draws = joint_quadratic_forms(bundles, weights, workers=workers)
    back = np.argsort(order)
    return statistics[back], draws[back]


def bundled(forms: Sequence[BlockForm]) -> tuple[list[Bundle], list[int]]:
    """Forms put together where they share their features, and the places of all forms in that order."""
    groups: dict[int, list[int]] = {}
    for place, form in enumerate(forms):
        if type(form) is SteinForm and form.kernel.shares_parts:
            groups.setdefault(id(form.features), []).append(place)
    bundles: list[Bundle] = []
    order: list[int] = []
    for places in groups.values():
        shared = SharedForm([forms[place] for place in places])  # type: ignore[misc]
        if len(places) > 1 and shared.possible:
            bundles.append(shared)
            order += places
    for place in sorted(set(range(len(forms))) - set(order)):
        bundles.append(Alone(forms[place]))
        order.append(place)
    return bundles, order
