"""Statistics alone: the sum of all entries of Stein matrices, without the matrices.

For a radial kernel H = Σ_k f_k ∘ (L R_kᵀ), with functions f_k of the distances and thin factors of the
features (:mod:`goodstein.stein.tiles`), and so

    Σ_ij H_ij = Σ_k Σ L ∘ (f_k R_k),

one thin matrix product for each function in the place of the matrices P, Q and R. Forms that look at the same
points share the distances, those with the same kernel its functions. These may be in single precision, whose
errors are independent from pair to pair and average out; constants and products are in double.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from goodstein.engine.executors import Workers, run
from goodstein.engine.triangle import areas
from goodstein.numerics.distances import Placed
from goodstein.numerics.ranges import cut
from goodstein.stein.forms import BlockForm, Distances, Term
from goodstein.types import Array

STRIP, WIDTH = 256, 2048
"""Rows and columns of which the distances are held at a time."""
NARROW = 50
"""Rows of a strip of several samples, which wastes less below the diagonal where calls are few for each."""
HELD = 1 << 16
"""Distances of small samples that are held at a time, so that functions of them stay in the cache."""


def statistics(forms: Sequence[BlockForm], workers: Workers = 1, count: int = 1) -> Array:
    """U of every form, (forms, count), all of them of the same `count` samples of the same size.

    Several samples are for forms that are thin.
    """
    n = forms[0].n // count
    factors, rests = np.zeros((2, len(forms), count))
    views: list[_View] = []
    others: list[tuple[int, BlockForm]] = []
    for place, form in enumerate(forms):
        inner, factors[place], rests[place] = form.reduced()
        if inner is None:
            continue
        placed = inner.thin_points
        if placed is None:
            others.append((place, inner))
            continue
        view = next((view for view in views if np.array_equal(view.placed.points, placed.points)), None)
        if view is None:
            views.append(view := _View(placed))
        view.forms.append((place, inner))
    task = _Strip(views, others, n, count, len(forms))
    strips = cut(0, n, STRIP if count == 1 else NARROW)
    sums = np.sum(run(task, strips, workers, size=n, costs=areas(strips, n)), axis=0)
    return np.asarray((factors * sums + rests) / (n * (n - 1)))


def loose_block(form: BlockForm, rows: slice, cols: slice) -> Array:
    """H[rows, cols] from functions in single precision where there are such, for sums over many entries."""
    placed = form.thin_points
    if placed is None:
        return form.block(rows, cols)
    distances = Distances(placed, rows, cols, slice(0, 1))
    out = np.zeros(distances.rho.shape[1:])
    for function, left, right, multiple in form.terms(distances):
        tile = left[0] if right is None else left[rows] @ right[cols].T
        out += multiple * (function[0] * tile)
    return out


@dataclass
class _View:
    """Forms that look at the same points, and their places."""

    placed: Placed
    forms: list[tuple[int, BlockForm]] = field(default_factory=list)

    def add(self, distances: Distances, totals: Array) -> None:
        """Add the sums over a tile, without its diagonal, of every form and sample."""
        together: dict[int, list[tuple[int, Term]]] = {}
        for place, form in self.forms:
            for term in form.terms(distances):
                if term.right is None:
                    totals[place] += term.multiple * _products(term.function, term.left)
                else:
                    together.setdefault(id(term.function), []).append((place, term))
        for shared in together.values():
            right = [distances.at(term.right, distances.cols) for _, term in shared]  # type: ignore[arg-type]
            product = shared[0][1].function @ np.concatenate(right, axis=2)
            start = 0
            for place, term in shared:
                stop = start + term.left.shape[1]
                left = distances.at(term.left, distances.rows)
                totals[place] += term.multiple * _products(left, product[:, :, start:stop])
                start = stop


def _products(one: Array, other: Array) -> Array:
    """The sum of the products of all entries of each sample, (samples,)."""
    return np.asarray(np.einsum("kij,kij->k", one, other))


@dataclass(frozen=True)
class _Strip:
    """The sums over some rows and all columns from there on, those right of the square twice."""

    views: list[_View]
    others: list[tuple[int, BlockForm]]
    n: int
    count: int
    forms: int

    def __call__(self, rows: slice) -> Array:
        square, rest = np.zeros((2, self.forms, self.count))
        self._add(rows, rows, square)
        if rows.stop < self.n:
            for cols in cut(rows.stop, self.n, WIDTH):
                self._add(rows, cols, rest)
        return np.asarray(square + 2.0 * rest)

    def _add(self, rows: slice, cols: slice, totals: Array) -> None:
        pairs = (rows.stop - rows.start) * (cols.stop - cols.start)
        for view in self.views:
            for samples in cut(0, self.count, max(1, HELD // pairs)):
                view.add(Distances(view.placed, rows, cols, samples, self.count), totals[:, samples])
        for place, form in self.others:
            block = form.block(rows, cols)
            totals[place] += block.sum() - (block.trace() if rows == cols else 0.0)
