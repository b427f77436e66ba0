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
from typing import Any

import numpy as np

from goodstein.engine.executors import Workers
from goodstein.engine.reduce import Alone, Bundle, joint_quadratic_forms
from goodstein.engine.schemes import Held, Weights
from goodstein.engine.triangle import above_diagonal
from goodstein.engine.workspace import scratch
from goodstein.kernels.tile import Parts
from goodstein.lazy import cached_property
from goodstein.stein.features import SteinForm
from goodstein.stein.forms import BlockForm
from goodstein.stein.tiles import Prepared
from goodstein.types import Array

LARGEST_RATIO = 1e5
"""Bandwidths further apart than this have no unit in which both can be written in single precision, nor the
fifth power of their ratio."""
SMALLEST, LARGEST = 1e-12, 1e12
"""Entries of Stein matrices that single precision holds with room to spare."""


class SharedForm(Bundle):
    """Stein forms of the same features with different kernels, all of which have ``shares_parts``."""

    def __init__(self, forms: Sequence[SteinForm], prepared: Prepared | None = None) -> None:
        self.forms = list(forms)
        # Products must be precise enough for the shortest bandwidth.
        self.lengths = [form.kernel.shortest_length for form in self.forms]
        self.shortest = self.forms[int(np.argmin(self.lengths))].kernel
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
    def scales(self) -> Any:
        """Constant factors that the kernels leave out, to save a pass."""
        return np.array([form.kernel.parts_scale(self.unit) for form in self.forms])

    def take(self, index: Any) -> SharedForm:
        features = self.forms[0].features.take(index)
        prepared = self.__dict__.get("prepared")
        return SharedForm(
            [SteinForm(features, form.kernel) for form in self.forms],
            None if prepared is None else prepared.take(index),
        )

    @cached_property
    def kinds(self) -> list[tuple[slice | list[int], list[Any]]]:
        """Places of kernels that are made together, and these kernels."""
        kinds: dict[Any, list[int]] = {}
        for place, form in enumerate(self.forms):
            kinds.setdefault(form.kernel.parts_kind, []).append(place)
        found: list[tuple[slice | list[int], list[Any]]] = []
        for places in kinds.values():
            first, last = places[0], places[-1] + 1
            kernels = [self.forms[place].kernel for place in places]
            found.append((slice(first, last) if last - first == len(places) else places, kernels))
        return found

    def fill(self, rows: slice, cols: slice, out: Held) -> Array:
        """Write the blocks of all kernels of a kind after another."""
        shape = (rows.stop - rows.start, cols.stop - cols.start)
        parts = Parts(self.prepared.tile(rows, cols), shape, self.unit)
        for places, kernels in self.kinds:
            there: Any = out[places] if isinstance(places, slice) else None
            direct = there is not None and there.flags.c_contiguous and there.dtype == np.float32
            blocks: Any = there if direct else scratch("blocks", (len(kernels), *shape), np.float32)
            kernels[0].stein_parts(kernels, parts, blocks.reshape(len(kernels), -1))
            if not direct:
                out[places] = blocks
        # All forms at once: long calls let other threads work.
        whole: Any = out
        above_diagonal(whole, rows, cols)
        ones = np.ones(shape[0], np.float32)
        return np.asarray(self.scales * (ones @ whole).sum(axis=1, dtype=np.float64))


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
        # Those of a kind next to each other, in the order of the first of them.
        kinds = [forms[place].kernel.parts_kind for place in places]  # type: ignore[attr-defined]
        places = [place for _, place in sorted(zip(map(kinds.index, kinds), places, strict=True))]
        shared = SharedForm([forms[place] for place in places])  # type: ignore[misc]
        if len(places) > 1 and shared.possible:
            bundles.append(shared)
            order += places
    for place in sorted(set(range(len(forms))) - set(order)):
        bundles.append(Alone(forms[place]))
        order.append(place)
    return bundles, order
