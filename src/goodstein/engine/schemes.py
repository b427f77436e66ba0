"""Schemes of random signs: how the rows are cut into strips, and what a strip adds to each draw.

*Independent.* Every draw has its own signs; the work is a matrix product with as many columns as
there are draws.

*Orthogonal.* The rows are permuted at random and cut into M blocks; for each of G sign vectors η the M×M
matrix S_IJ = η_Iᵀ H_IJ η_J is formed, and the rows of a Hadamard matrix give M sign patterns over the blocks.
Each of the G·M draws is exactly Rademacher by itself; the work is a product with G columns only.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from goodstein.engine.signs import (
    CHUNK,
    Bits,
    Chunks,
    Signs,
    chained_chunks,
    chained_signs,
    hadamard,
    independent_chunks,
    independent_signs,
    permutation,
)
from goodstein.engine.workspace import scratch
from goodstein.lazy import cached_property
from goodstein.numerics.ranges import cut
from goodstein.types import Array

MOST_HELD = 1 << 24
"""Signs that are held as numbers; of more, bytes are held, and for thin factors they are made anew."""

MOST_PARTS = 32
"""Parts of the rows of a thin factor, for each of which a sum is held."""


PIECE = 208
"""Columns of several forms that few signs are multiplied with at a time: a fifth quicker than all at once."""

LONG_CALLS = 1000
"""Rows from which on the blocks of a strip are multiplied together: several threads take part, and wait for
Python's lock after every call."""

STEP = 64
"""Rows of a strip on the diagonal that are multiplied with signs at a time: what lies below is left out."""


def strip_height(n: int) -> int:
    """Rows of a strip: of two hundred rows or so there is one, others lose less below the diagonal."""
    return CHUNK // 2 if 400 <= n < 1500 else CHUNK


Held: TypeAlias = npt.NDArray[np.floating[Any]]
"""Entries of a strip, divided by their scales."""


@dataclass(frozen=True)
class IndependentSigns:
    """Independent draws; with `flip` below one half, Markov chains along the rows, one from each start on."""

    seed: int
    n: int
    count: int
    flip: float = 0.5
    starts: tuple[int, ...] = (0,)

    columns: ClassVar[int] = 4096
    """Of a strip that are held at a time: products with many signs like long rows."""

    @cached_property
    def signs(self) -> Signs | Bits:
        """(count, n); many of them in bits, a thirty-second of the memory for a twentieth of the time."""
        if self.n * self.count > MOST_HELD:
            return Bits(self._chunks(), self.count, self.n)
        if self.flip == 0.5:
            return independent_signs(self.seed, self.n, self.count)
        return chained_signs(self.seed, self.n, self.count, self.flip, self.starts)

    def _chunks(self) -> Chunks:
        if self.flip == 0.5:
            return independent_chunks(self.seed, self.n, self.count)
        return chained_chunks(self.seed, self.n, self.count, self.flip, self.starts)

    def numbers(self, rows: Any, name: str = "signs") -> Signs:
        """Signs of some rows, (count, rows), as numbers, which may be scratch of this name."""
        if not isinstance(self.signs, Bits):
            return self.signs[:, rows]
        height = len(range(*rows.indices(self.n))) if isinstance(rows, slice) else len(rows)
        return self.signs.numbers(rows, scratch(name, (self.count, height), np.float32))

    def sums(self, values: Array) -> Array:
        """Σ_i ε_i v_i of every draw, (count,)."""
        single = values.astype(np.float32)
        if not isinstance(self.signs, Bits):
            return np.asarray(self.signs @ single, np.float64)
        total = np.zeros(self.count)
        for rows in cut(0, self.n, max(1, MOST_HELD // self.count)):
            total += self.numbers(rows) @ single[rows]
        return total

    def order(self) -> None:
        """The order in which the rows are visited: their own, which chains follow."""
        return None

    def strips(self) -> list[slice]:
        """Rows of each strip."""
        return cut(0, self.n, strip_height(self.n))

    def strip_draws(self, rows: slice, cols: slice, blocks: Held) -> list[Array]:
        """What H[rows, cols] of every form, (forms, rows, cols), adds to each draw, (count,)."""
        left, right = self.numbers(rows, "left"), self.numbers(cols, "right")
        forms, height, width = blocks.shape
        # Of a large square on the diagonal only what lies right of a step.
        square = height if cols.start == rows.start and height > 2 * STEP else 0
        parts = [(part, slice(part.start, square)) for part in cut(0, square, STEP) if square]
        if square < width:
            parts.append((slice(0, height), slice(square, width)))
        shares = np.zeros((forms, self.count))
        for part, beyond in parts:
            product = scratch("product", (self.count, part.stop - part.start), blocks.dtype)
            for share, block in zip(shares, blocks, strict=True):
                np.matmul(right[:, beyond], block[part, beyond].T, out=product)
                share += np.einsum("bi,bi->b", left[:, part], product)
        return list(shares)

    def parts(self) -> list[slice]:
        """Rows whose sums with signs are taken together; never from the workers."""
        step = CHUNK * max(4, -(-self.n // (CHUNK * MOST_PARTS)))
        return [slice(start, min(start + step, self.n)) for start in range(0, self.n, step)]

    def some_signs(self, rows: slice) -> Signs:
        """Signs of some rows, (count, rows)."""
        if self.n * self.count <= MOST_HELD:
            return self.numbers(rows)
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

    columns: ClassVar[int] = 512
    """Of a strip that are held at a time: products with few signs cost what reading the entries costs, so
    these should still be in the cache."""

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
        forms, _, width = blocks.shape
        shares = np.zeros((forms, len(row_edges) - 1, self.vectors, self.blocks))
        left, right = self.signs[:, rows], self.signs[:, cols]
        # Sums over blocks of columns by a product, which is twice as fast as np.add.reduceat.
        among = np.zeros((width, len(col_edges) - 1), blocks.dtype)
        for j, (start, stop) in enumerate(pairwise(col_edges)):
            among[start:stop, j] = 1.0
        count, last = len(row_edges) - 1, len(col_edges) - 1
        together = count if self.n >= LONG_CALLS else 1
        for low in range(0, count, together):
            high = min(low + together, count)
            # Where the strip begins on the diagonal, a block of rows begins i blocks later.
            skip = low if cols.start == rows.start else 0
            if skip >= last:  # all of them lie below the diagonal: many forms share few columns
                break
            begin = col_edges[skip]
            product = scratch("product", (high - low, forms, self.vectors, width - begin), blocks.dtype)
            for i in range(low, high):
                own, here = product[i - low], slice(row_edges[i], row_edges[i + 1])
                start = col_edges[min(i, last)] if skip < i and cols.start == rows.start else begin
                if start > begin:
                    own[..., : start - begin] = 0.0
                for piece in cut(start, width, PIECE) if forms > 1 else (slice(start, width),):
                    there = own[..., piece.start - begin : piece.stop - begin]
                    np.matmul(left[:, here], blocks[:, here, piece], out=there)
            product *= right[:, begin:]
            sums = product @ among[begin:, skip:]
            shares[:, low:high, :, first + skip : first + last] = sums.swapaxes(0, 1)
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
