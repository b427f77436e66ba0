"""One pass over the upper triangle of the Stein matrix: the statistic and all bootstrap draws.

The statistic is U = Σ_{i≠j} H_ij / n(n−1), a draw U* = Σ_{i≠j} ε_i ε_j H_ij / n(n−1) with signs ε. The matrix
is visited in strips of rows; each strip returns its share and the shares are added in the order of the
strips, so that the result does not depend on who computed them. Memory is O(n·draws + strip), never n².

Two schemes of signs:

*Independent.* Every draw has its own signs; the work is a matrix product with as many columns as
there are draws.

*Orthogonal.* The rows are permuted at random and cut into M blocks; for each of G sign vectors η the M×M
matrix S_IJ = η_Iᵀ H_IJ η_J is formed, and the rows of a Hadamard matrix give M sign patterns over the blocks.
Each of the G·M draws is exactly Rademacher by itself; the work is a product with G columns only.

A matrix ττᵀ with a thin factor τ, (n, c), is never formed (:mod:`goodstein.engine.thin`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from goodstein.engine.executors import Workers, run
from goodstein.engine.signs import CHUNK, Signs, chained_signs, hadamard, independent_signs, permutation
from goodstein.engine.thin import thin_forms
from goodstein.engine.triangle import above_diagonal, areas
from goodstein.engine.workspace import scratch
from goodstein.numerics.ranges import cut
from goodstein.types import Array

WIDTH = 2048
"""Columns of a strip that are held at a time."""

MANY = 20_000
"""Rows from which on memory counts more than a fraction of a millisecond."""

MOST_APART = 1e24
"""Where the largest entry of the diagonal is more times the usual one, products are in double precision."""

MOST_HELD = 1 << 24
"""Signs that are held for thin factors; more are made anew, part by part."""

MOST_PARTS = 32
"""Parts of the rows of a thin factor, for each of which a sum is held."""


def strip_height(n: int) -> int:
    """Rows of a strip: small problems lose less to the lower half of the diagonal tiles."""
    return CHUNK if n >= 1500 else CHUNK // 2 if n >= 400 else CHUNK // 4


Held: TypeAlias = npt.NDArray[np.floating[Any]]
"""Entries of a strip, divided by their scales."""


class Form(Protocol):
    """All that the engine knows of a Stein form."""

    @property
    def n(self) -> int:
        """Number of observations."""

    def block(self, rows: slice, cols: slice) -> Array:
        """H[rows, cols]."""

    def diagonal(self) -> Array:
        """The diagonal of H."""

    def take(self, index: Any) -> Form:
        """The form of some observations, in the given order."""

    @property
    def factor(self) -> Array | None:
        """τ, (n, c), with H = ττᵀ, where there is one; None elsewhere."""


class Bundle(Protocol):
    """Several forms of the same observations that are cheaper together than one by one."""

    @property
    def n(self) -> int:
        """Number of observations."""

    @property
    def scales(self) -> Sequence[float]:
        """A positive number for each form, divided by which its entries are safe in single precision."""

    @property
    def wide(self) -> bool:
        """Whether the entries of a form are too far apart for single precision."""

    def take(self, index: Any) -> Bundle:
        """The forms of some observations, in the given order."""

    def fill(self, rows: slice, cols: slice, out: Held) -> Array:
        """Write H[rows, cols]/scale of every form to out[:, form], zeros on and below H's diagonal.

        Returns the sums of the entries of H that were written, (forms,).
        """


@dataclass(frozen=True)
class Alone(Bundle):
    """A bundle of one form."""

    form: Form

    def thin(self, weights: Weights | None) -> Array | None:
        """The factor τ, where it is less work than the matrix."""
        tau = self.form.factor
        return None if tau is None or (weights is not None and 2 * tau.shape[1] > self.n) else tau

    @property
    def n(self) -> int:
        return self.form.n

    @cached_property
    def scales(self) -> tuple[float]:
        """The largest entry of the matrix, which lies on its diagonal."""
        return (float(self.form.diagonal().max()) or 1.0,)

    @cached_property
    def wide(self) -> bool:
        """One row may be so large that all others would become zeros."""
        diagonal = self.form.diagonal()
        usual = float(np.median(diagonal[diagonal > 0.0])) if (diagonal > 0.0).any() else 1.0
        return float(diagonal.max()) > MOST_APART * usual

    def take(self, index: Any) -> Alone:
        return Alone(self.form.take(index))

    def fill(self, rows: slice, cols: slice, out: Held) -> Array:
        block = above_diagonal(self.form.block(rows, cols), rows, cols)
        np.multiply(block, 1.0 / self.scales[0], out=out[:, 0], casting="same_kind")
        return np.array([block.sum()])


def quadratic_forms(
    form: Form, weights: Weights | None, *, workers: Workers = None, tile: int = CHUNK
) -> tuple[float, Array]:
    """U and its bootstrap draws; without weights, a scheme of signs, the statistic alone.

    `tile` columns of the matrix are computed at a time, which changes speed only.
    """
    statistics, draws = joint_quadratic_forms([Alone(form)], weights, workers=workers, tile=tile)
    return float(statistics[0]), draws[0]


def joint_quadratic_forms(
    bundles: Sequence[Bundle], weights: Weights | None, *, workers: Workers = None, tile: int = CHUNK
) -> tuple[Array, Array]:
    """U of every form, (forms,), and bootstrap draws with the same signs for all of them, (forms, draws).

    Parameters are those of :func:`quadratic_forms`; all forms are of the same observations.
    """
    order = weights.order() if weights is not None else None
    thin = [bundle.thin(weights) if isinstance(bundle, Alone) else None for bundle in bundles]
    rest = [bundle for bundle, factor in zip(bundles, thin, strict=True) if factor is None]
    by_strips = iter(_by_strips(rest, order, weights, workers, tile) if rest else ())
    found: list[tuple[float, Array]] = []
    for bundle, factor in zip(bundles, thin, strict=True):
        if factor is None:
            found += [next(by_strips) for _ in bundle.scales]
        else:
            found.append(thin_forms(factor.__getitem__, len(factor), weights, workers=1))
    return np.array([statistic for statistic, _ in found]), np.array([draws for _, draws in found])


def _by_strips(
    bundles: Sequence[Bundle],
    order: npt.NDArray[np.intp] | None,
    weights: Weights | None,
    workers: Workers,
    tile: int,
) -> list[tuple[float, Array]]:
    """U of every form and its draws, by one pass over the matrices."""
    n = bundles[0].n
    if order is not None:
        bundles = [bundle.take(order) for bundle in bundles]
    strips = weights.strips() if weights is not None else cut(0, n, CHUNK)
    scales = [scale for bundle in bundles for scale in bundle.scales]
    precision = np.float64 if any(bundle.wide for bundle in bundles) else np.float32
    task = _StripTask(tuple(bundles), weights, len(scales), tile, precision)
    if n >= MANY and (workers is None or isinstance(workers, int)):
        task.prepare()
    results = run(task, strips, workers, size=n, costs=areas(strips, n))
    pairs = n * (n - 1)
    found = []
    for k, scale in enumerate(scales):
        statistic = 2.0 * float(sum(total[k] for total, _ in results)) / pairs
        draws = np.empty(0)
        if weights is not None:
            draws = weights.draws([partials[k] for _, partials in results]) * (2.0 * scale / pairs)
        found.append((statistic, draws))
    return found


@dataclass(frozen=True)
class _StripTask:
    bundles: tuple[Bundle, ...]
    weights: Weights | None
    count: int
    tile: int
    precision: type[np.floating[Any]]

    def prepare(self) -> None:
        """Make what all tiles share: threads that begin together would each make it, at a peak of memory."""
        for bundle in self.bundles:
            bundle.fill(slice(0, 1), slice(0, 1), np.empty((1, len(bundle.scales), 1), self.precision))

    def __call__(self, rows: slice) -> tuple[Array, list[Array]]:
        """For every form, the sum of the strip's entries above the diagonal, and its share of the draws."""
        n, height, count = self.bundles[0].n, rows.stop - rows.start, self.count
        totals = np.zeros(count)
        partials: list[Array] = []
        width = max(self.tile, WIDTH // count // self.tile * self.tile)
        for start in range(rows.start, n, width):
            stop = min(start + width, n)
            held = scratch("strip", (height, count, stop - start), self.precision)
            for cols in cut(start, stop, self.tile):
                first = 0
                for bundle in self.bundles:
                    last = first + len(bundle.scales)
                    out = held[:, first:last, cols.start - start : cols.stop - start]
                    totals[first:last] += bundle.fill(rows, cols, out)
                    first = last
            if self.weights is not None:
                shares = self.weights.strip_draws(rows, slice(start, stop), held)
                partials = [a + b for a, b in zip(partials, shares, strict=True)] if partials else shares
        return totals, partials


@dataclass(frozen=True)
class IndependentSigns:
    """Independent draws; with `flip` below one half, Markov chains along the rows, one from each start on."""

    seed: int
    n: int
    count: int
    flip: float = 0.5
    starts: tuple[int, ...] = (0,)

    @cached_property
    def signs(self) -> Signs:
        """(count, n)."""
        if self.flip == 0.5:
            return independent_signs(self.seed, self.n, self.count)
        return chained_signs(self.seed, self.n, self.count, self.flip, self.starts)

    def order(self) -> None:
        """The order in which the rows are visited: their own, which chains follow."""
        return None

    def strips(self) -> list[slice]:
        """Rows of each strip."""
        return cut(0, self.n, strip_height(self.n))

    def strip_draws(self, rows: slice, cols: slice, blocks: Held) -> list[Array]:
        """What H[rows, cols] of every form, (rows, forms, cols), adds to each draw, (count,)."""
        product = scratch("product", (self.count, len(blocks)), blocks.dtype)
        shares = []
        for k in range(blocks.shape[1]):
            np.matmul(self.signs[:, cols], blocks[:, k].T, out=product)
            shares.append(np.einsum("bi,bi->b", self.signs[:, rows], product).astype(np.float64))
        return shares

    def parts(self) -> list[slice]:
        """Rows whose sums with signs are taken together; never from the workers."""
        step = CHUNK * max(4, -(-self.n // (CHUNK * MOST_PARTS)))
        return [slice(start, min(start + step, self.n)) for start in range(0, self.n, step)]

    def some_signs(self, rows: slice) -> Signs:
        """Signs of some rows, (count, rows)."""
        if self.n * self.count <= MOST_HELD:
            return self.signs[:, rows]
        if self.flip == 0.5:
            return independent_signs(self.seed, rows.stop, self.count, rows.start)
        return chained_signs(self.seed, rows.stop, self.count, self.flip, self.starts, rows.start)

    @property
    def relative(self) -> bool:
        """Whether signs of some rows are multiples of the last one before, for which nobody waits."""
        return self.flip != 0.5 and self.n * self.count > MOST_HELD

    def joined(self, sums: Sequence[Array]) -> Array:
        """Σ_i ε_i τ_i, (count, c), from those of all parts."""
        return np.asarray(sum(sums[1:], start=sums[0]))

    def draws(self, partials: Sequence[Array]) -> Array:
        """Σ_{i<j} ε_i ε_j H_ij for every draw, from the partial results of all strips, in their order."""
        total = partials[0].copy()
        for share in partials[1:]:
            total += share
        return total

    def __getstate__(self) -> dict[str, Any]:
        # Workers of other processes make the signs anew: that is faster than sending them.
        return {k: v for k, v in self.__dict__.items() if k != "signs"}


@dataclass(frozen=True)
class OrthogonalSigns:
    """Hadamard patterns over random blocks of rows; see the module's text."""

    seed: int
    n: int
    count: int

    @cached_property
    def blocks(self) -> int:
        """M: a power of two, at most 32, with at least 24 rows to a block; never from the tiles."""
        blocks = 1
        while blocks < 32 and self.n >= 48 * blocks:
            blocks *= 2
        return blocks

    @cached_property
    def vectors(self) -> int:
        """G, the number of independent sign vectors."""
        return -(-self.count // self.blocks)

    @cached_property
    def edges(self) -> list[int]:
        """Where the blocks begin and end."""
        return [self.n * k // self.blocks for k in range(self.blocks + 1)]

    @cached_property
    def signs(self) -> Signs:
        """η, (vectors, n)."""
        return independent_signs(self.seed, self.n, self.vectors)

    def order(self) -> npt.NDArray[np.intp] | None:
        """At random: blocks of sorted data would differ from each other."""
        return permutation(self.seed, self.n) if self.blocks > 1 else None

    def strips(self) -> list[slice]:
        """Several whole blocks, or a part of one."""
        together = max(1, CHUNK * self.blocks // self.n)
        edges = [*self.edges[:-1:together], self.n]
        return [strip for a, b in pairwise(edges) for strip in cut(a, b, CHUNK)]

    def _within(self, part: slice) -> tuple[int, list[int]]:
        """The first block that meets the rows, and where blocks begin and end among them."""
        first, last = bisect_right(self.edges, part.start) - 1, bisect_left(self.edges, part.stop)
        inner = self.edges[first + 1 : last]
        return first, [0, *(edge - part.start for edge in inner), part.stop - part.start]

    def strip_draws(self, rows: slice, cols: slice, blocks: Held) -> list[Array]:
        """The strip's share of S_I·, (blocks of the strip, vectors, M)."""
        _, row_edges = self._within(rows)
        first, col_edges = self._within(cols)
        forms, width = blocks.shape[1:]
        shares = np.zeros((forms, len(row_edges) - 1, self.vectors, self.blocks))
        left, right = self.signs[:, rows], self.signs[:, cols]
        for i, (start, stop) in enumerate(pairwise(row_edges)):
            # Where the strip begins on the diagonal, a block of rows begins i blocks later.
            skip = i if cols.start == rows.start else 0
            begin = col_edges[skip]
            starts = [edge - begin for edge in col_edges[skip:-1]]
            # All forms in one product: they have the same signs.
            product = scratch("product", (self.vectors, forms * width), blocks.dtype)
            np.matmul(left[:, start:stop], blocks[start:stop].reshape(stop - start, -1), out=product)
            by_form = product.reshape(self.vectors, forms, width)[:, :, begin:]
            by_form *= right[:, None, begin:]
            sums = np.add.reduceat(by_form, starts, axis=2)
            shares[:, i, :, first + skip : first + len(col_edges) - 1] = sums.swapaxes(0, 1)
        return list(shares)

    def parts(self) -> list[slice]:
        """The blocks."""
        return [slice(a, b) for a, b in pairwise(self.edges)]

    def some_signs(self, rows: slice) -> Signs:
        """η of some rows, (vectors, rows)."""
        if self.n * self.vectors <= MOST_HELD:
            return self.signs[:, rows]
        return independent_signs(self.seed, rows.stop, self.vectors, rows.start)

    relative = False

    def joined(self, sums: Sequence[Array]) -> Array:
        """Σ_i ε_i τ_i, (count, c), from the sums Σ η_i τ_i over each block."""
        stacked = np.stack(sums)  # (M, vectors, c)
        mixed = (hadamard(self.blocks) @ stacked.reshape(self.blocks, -1)).reshape(stacked.shape)
        return np.swapaxes(mixed, 0, 1).reshape(-1, stacked.shape[2])[: self.count]

    def draws(self, partials: Sequence[Array]) -> Array:
        """All Hadamard patterns of all sign vectors."""
        s = np.zeros((self.blocks, self.vectors, self.blocks))
        for rows, share in zip(self.strips(), partials, strict=True):
            first, _ = self._within(rows)
            s[first : first + len(share)] += share
        patterns = hadamard(self.blocks)
        mixed = (patterns @ s.reshape(self.blocks, -1)).reshape(s.shape)
        draws: Array = np.einsum("mgj,mj->gm", mixed, patterns)
        return draws.reshape(-1)[: self.count]

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "signs"}


Weights: TypeAlias = IndependentSigns | OrthogonalSigns
"""Schemes of signs: how the rows are cut into strips and what a strip contributes."""
