r"""The Stein matrix of the difference operator on a lattice.

The operator is (T f)(x) = Σ_i α_i(x) f_i(¬_i⁻¹x) − β_i(x) f_i(x), so that

    h(x, y) = Σ_i β_i(x) β_i(y) k(x, y) − β_i(x) α_i(y) k(x, ¬_i⁻¹y)
                  − α_i(x) β_i(y) k(¬_i⁻¹x, y) + α_i(x) α_i(y) k(¬_i⁻¹x, ¬_i⁻¹y).

For a product kernel k = ∏_i κ_i a shift changes one factor only, and h/k is a sum over coordinates of
functions of (x_i, y_i) times functions of x and of y alone: matrix products with indicators of the
levels. A block costs two products, of widths d·(1 + 2L) and d·L, and one exponential.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from goodstein.domains.lattice import Codes
from goodstein.errors import InputError
from goodstein.kernels import Kernel, Whitened
from goodstein.kernels.lattice import Hamming, LatticeKernel
from goodstein.lazy import cached_property
from goodstein.numerics.distances import Placed, placed
from goodstein.numerics.ranges import cut
from goodstein.stein.features import joined_arrays
from goodstein.stein.forms import BlockForm, Distances, Term
from goodstein.types import Array

MAX_COLUMNS = 1024
"""Columns of indicators that are held at a time."""
EDGE = 32
"""Rows of the small blocks that a diagonal is taken from."""


@dataclass(frozen=True)
class DifferenceFeatures:
    """The difference operator at n observations.

    `codes` are the positions of the states among the L `levels`, `moved` is α, the weight of f(¬_i⁻¹x), and
    `stayed` is β, that of −f(x); all (n, d).
    """

    codes: Codes
    moved: Array
    stayed: Array
    levels: int

    @property
    def points(self) -> Array:
        """The codes as numbers, for bandwidth rules and radial kernels."""
        return self.codes.astype(np.float64)

    def joined(self, others: Sequence[Self]) -> Self:
        """These and the others, one after another."""
        return joined_arrays(self, others, ("codes", "moved", "stayed"))

    def form(self, kernel: Kernel) -> BlockForm:
        """The Stein matrix under a product kernel, a radial kernel or any function of two arrays."""
        if isinstance(kernel, LatticeKernel):
            tables = np.asarray(kernel.tables(self.levels, self.codes.shape[1]), dtype=np.float64)
            product = HammingForm if isinstance(kernel, Hamming) else ProductForm
            return product(self.codes, self.moved, self.stayed, tables)
        if isinstance(kernel, Whitened):
            raise InputError(
                f"Difference() cannot use {kernel!r}. Use Hamming(), CategoricalProduct(table), a radial "
                "kernel such as IMQ(), or a kernel of your own with a method __call__(x, y)."
            )
        kind = RadialForm if kernel.radial else GramForm
        return kind(self.codes, self.moved, self.stayed, self.levels, kernel)


@dataclass(frozen=True, eq=False)
class DifferenceStack:
    """The difference operator at the observations of `count` samples, one after another."""

    features: DifferenceFeatures
    count: int

    def form(self, kernel: Kernel) -> BlockForm | None:
        """The Stein matrices of all; None where samples must be alone, also to say that nothing is seen."""
        moved, stayed = (part.reshape(self.count, -1) for part in (self.features.moved, self.features.stayed))
        if not (isinstance(kernel, Hamming) and (moved.any(axis=1) | stayed.any(axis=1)).all()):
            return None
        form = self.features.form(kernel)
        return None if form.thin_points is None else form


class _DifferenceForm(BlockForm):
    """What all forms of the difference operator share; `rest` are their other parameters."""

    def __init__(self, codes: Codes, moved: Array, stayed: Array, *rest: Any) -> None:
        self.codes, self.moved, self.stayed, self.rest = codes, moved, stayed, rest

    @property
    def n(self) -> int:
        return len(self.codes)

    def take(self, index: Any) -> Self:
        taken = type(self)(self.codes[index], self.moved[index], self.stayed[index], *self.rest)
        taken.__dict__["_diagonal"] = self._diagonal[index]
        return taken

    def diagonal(self) -> Array:
        return self._diagonal

    @cached_property
    def _diagonal(self) -> Array:
        parts = [self.block(rows, rows).diagonal() for rows in cut(0, self.n, EDGE)]
        return np.concatenate(parts)


class ProductForm(_DifferenceForm):
    """The Stein matrix under k = ∏_i κ_i, with tables κ, (1, L, L) or (d, L, L), of positive numbers."""

    @cached_property
    def _tables(self) -> tuple[Array, Array, Array]:
        """log κ(a, b), κ(a, ¬⁻¹b)/κ(a, b) and κ(¬⁻¹a, ¬⁻¹b)/κ(a, b)."""
        log = np.log(self.rest[0])
        one = np.roll(log, 1, axis=2)
        return log, np.exp(one - log), np.exp(np.roll(one, 1, axis=1) - log)

    def block(self, rows: slice, cols: slice) -> Array:
        shape = (rows.stop - rows.start, cols.stop - cols.start)
        logk, inner = np.zeros(shape), np.zeros(shape)
        levels = self.rest[0].shape[-1]
        for part in cut(0, self.codes.shape[1], max(1, MAX_COLUMNS // levels)):
            log, here, forward, back, _, chosen = self._factors(rows, part)
            _, here2, _, back2, indicator2, chosen2 = self._factors(cols, part)
            logk += log @ indicator2.T
            # Indicators select one number each, so nothing is subtracted that must cancel.
            left = np.concatenate([here, forward - back, chosen], axis=1)
            right = np.concatenate([here2, chosen2, -back2], axis=1)
            inner += left @ right.T
        inner *= np.exp(logk, out=logk)
        return inner

    def _factors(self, rows: slice, part: slice) -> tuple[Array, ...]:
        """log κ(x, ·), β, α·κ(¬⁻¹x, ¬⁻¹·)/κ, β·κ(x, ¬⁻¹·)/κ, 1{x = ·}, α·1{x = ·} for some coordinates."""
        codes, moved, stayed = self.codes[rows, part], self.moved[rows, part], self.stayed[rows, part]
        log, back, both = self._tables
        coordinate = np.arange(part.start, part.stop) % len(log)
        indicator = codes[:, :, None] == np.arange(log.shape[-1])
        n = len(codes)
        return (
            log[coordinate, codes].reshape(n, -1),
            stayed,
            (moved[:, :, None] * both[coordinate, codes]).reshape(n, -1),
            (stayed[:, :, None] * back[coordinate, codes]).reshape(n, -1),
            indicator.reshape(n, -1).astype(np.float64),
            (moved[:, :, None] * indicator).reshape(n, -1),
        )

    @cached_property
    def _diagonal(self) -> Array:
        log, back, both = (np.einsum("kaa->ka", table) for table in self._tables)
        coordinate = np.arange(self.codes.shape[1]) % len(log)
        log, back, both = (table[coordinate, self.codes] for table in (log, back, both))
        terms = self.stayed**2 - 2.0 * self.stayed * self.moved * back + self.moved**2 * both
        return np.asarray(np.exp(log.sum(axis=1)) * terms.sum(axis=1))


class HammingForm(ProductForm):
    """The same where κ is one number c off the diagonal, so that k = c^ρ, ρ the count of columns that differ.

    With indicators 1_a of the level a of a coordinate, κ(a, ¬⁻¹b)/κ(a, b) = 1 + (c − 1) 1_a·1_b +
    (1/c − 1) 1_(a+1)·1_b and κ(¬⁻¹a, ¬⁻¹b) = κ(a, b), so that

        h/k = Σ_i (α − β)(α′ − β′) − (α 1_a)·v′ − v·(α′ 1_b),  v = β[(c − 1) 1_a + (1/c − 1) 1_(a+1)].
    """

    @property
    def thin_points(self) -> Placed | None:
        return None if self._indicators.shape[1] > MAX_COLUMNS else self._placed

    def terms(self, distances: Distances) -> Iterator[Term]:
        left, right = self._thin
        # Of whole numbers there are few: a table is exact, so that equal samples have equal statistics.
        yield Term(distances.looked_up(self._off ** np.arange(self.codes.shape[1] + 1.0)), left, right)

    @property
    def _off(self) -> float:
        """c."""
        return float(self.rest[0][0, 0, 1])

    @cached_property
    def _indicators(self) -> Array:
        """1{x_i = a}, (n, d·L)."""
        levels = self.rest[0].shape[-1]
        found = (self.codes[:, :, None] == np.arange(levels)).reshape(self.n, -1)
        return np.asarray(found, dtype=np.float64)

    @cached_property
    def _placed(self) -> Placed:
        """Columns that differ are d − Σ_i 1{x_i = y_i}, exactly."""
        ones, all_of_them = np.ones((self.n, 1)), np.full((self.n, 1), float(self.codes.shape[1]))
        left, right = np.hstack([-self._indicators, all_of_them]), np.hstack([self._indicators, ones])
        return Placed(self.codes.astype(np.float64), left, right, True)

    @cached_property
    def _thin(self) -> tuple[Array, Array]:
        levels = self.rest[0].shape[-1]
        indicators = self._indicators.reshape(self.n, -1, levels)
        there = (self._off - 1.0) * indicators + (1.0 / self._off - 1.0) * np.roll(indicators, 1, axis=2)
        chosen = (self.moved[:, :, None] * indicators).reshape(self.n, -1)
        v = (self.stayed[:, :, None] * there).reshape(self.n, -1)
        differences = self.moved - self.stayed
        return np.hstack([differences, chosen, v]), np.hstack([differences, -v, -chosen])


class _LoopForm(_DifferenceForm):
    """The Stein matrix from its definition, coordinate by coordinate: 3d + 1 kernel matrices a block."""

    def block(self, rows: slice, cols: slice) -> Array:
        a1, a2, b1, b2 = self.moved[rows], self.moved[cols], self.stayed[rows], self.stayed[cols]
        out: Array | None = None
        for i, plain, left, right, both in self._grams(rows, cols):
            if out is None:
                out = (b1 @ b2.T) * plain
            out -= np.outer(a1[:, i], b2[:, i]) * left
            out -= np.outer(b1[:, i], a2[:, i]) * right
            out += np.outer(a1[:, i], a2[:, i]) * both
        assert out is not None  # a lattice has at least one coordinate
        return out

    @abstractmethod
    def _grams(self, rows: slice, cols: slice) -> Iterator[tuple[int, Array, Array, Array, Array]]:
        """For every i: k(x, y), k(¬⁻¹x, y), k(x, ¬⁻¹y), k(¬⁻¹x, ¬⁻¹y)."""

    def _back(self, codes: Codes, i: int) -> Codes:
        """Coordinate i moved back by one level, (n,)."""
        return np.asarray((codes[:, i] - 1) % self.rest[0])


class RadialForm(_LoopForm):
    """The Stein matrix under k = φ(‖x − y‖²) of the codes."""

    def _grams(self, rows: slice, cols: slice) -> Iterator[tuple[int, Array, Array, Array, Array]]:
        x, y, kernel = self.codes[rows], self.codes[cols], self.rest[1]
        # Products of whole numbers are exact, so distances are.
        rho = self._placed[rows].squared_distances(self._placed[cols])

        def gram(squared: Array) -> Array:
            result: Array = kernel.profiles(squared, order=0)[0]
            return result

        plain = gram(rho.copy())
        for i in range(x.shape[1]):
            a, b, back_a, back_b = x[:, i, None], y[:, i], self._back(x, i)[:, None], self._back(y, i)
            others = rho - (a - b) ** 2
            left, right, both = (
                gram(others + (u - v) ** 2) for u, v in ((back_a, b), (a, back_b), (back_a, back_b))
            )
            yield i, plain, left, right, both

    @cached_property
    def _placed(self) -> Placed:
        return placed(self.codes.astype(np.float64), 0.0)


class GramForm(_LoopForm):
    """The Stein matrix under any function kernel(x, y) of codes (n, d) and (k, d) to (n, k)."""

    def _grams(self, rows: slice, cols: slice) -> Iterator[tuple[int, Array, Array, Array, Array]]:
        kernel = self.rest[1]
        x, y = (self.codes[part].astype(np.float64) for part in (rows, cols))
        plain = np.asarray(kernel(x, y), dtype=np.float64)
        if plain.shape != (len(x), len(y)):
            raise InputError(
                f"{kernel!r} returned shape {plain.shape} for {len(x)} and {len(y)} states; expected "
                f"({len(x)}, {len(y)})."
            )
        for i in range(x.shape[1]):
            left, right = x.copy(), y.copy()
            left[:, i], right[:, i] = self._back(self.codes[rows], i), self._back(self.codes[cols], i)
            yield i, plain, kernel(left, y), kernel(x, right), kernel(left, right)
