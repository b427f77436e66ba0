"""What a tile of the Stein matrix offers to a kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from goodstein.engine.workspace import scratch
from goodstein.numerics.ranges import cut
from goodstein.types import Array, Single


class Tile(Protocol):
    """The parts of one tile H = φ∘P + φ′∘Q + φ″∘R of the Stein matrix that do not depend on the kernel."""

    @property
    def unit(self) -> bool:
        """Whether G is the identity, so that R = −4ρ."""

    def rho(self, scale: float = 1.0, offset: float = 0.0) -> Array:
        """offset + scale·ρ, in a buffer that the caller may overwrite."""

    def combine(self, p: float, q: float, r: float, one: float = 0.0) -> Array:
        """p·P + q·Q + r·R, in a buffer of its own; with `unit` also plus the constant `one`."""

    def add(self, out: Array, p: float, q: float, r: float, one: float = 0.0) -> None:
        """Add the same to an array; one buffer serves all calls, so that a tile stays in the cache."""

    def buffer(self) -> Array:
        """A buffer of the tile's shape, its content arbitrary."""


LONG = 16_384
"""Entries that one product makes at a time: few enough for the cache."""

ROWS = 7
"""Of a stack of parts: two of a kernel's own, P, P, Q, R, R."""


class Parts:
    """ρ, P, Q and R of one tile in single precision, for several kernels, which must not change them.

    Lengths are in units of √`unit`: ρ/unit, P, Q/unit and R/unit². They lie in one `stack`, (7, entries), so
    that the sums of them that kernels take are products of matrices; its first two rows are theirs to write.
    """

    def __init__(self, tile: Tile, shape: tuple[int, int], unit: float) -> None:
        self.unit, self.shape = unit, shape
        self.stack: Single = scratch("parts", (ROWS, math.prod(shape)), np.float32)
        self._write(3, tile.combine(1.0, 0.0, 0.0))
        self._write(4, tile.combine(0.0, 1.0 / unit, 0.0))
        rho = tile.rho(1.0 / unit)
        self.unit_weight = tile.unit
        if tile.unit:
            # R = −4ρ, a power of two, by which products are exact.
            self.rho, self.curvature = self._write(5, rho), -4.0 / unit
        else:
            self._write(5, tile.combine(0.0, 0.0, 1.0 / unit**2))
            self.rho, self.curvature = self.buffer("rho"), 1.0
            np.copyto(self.rho.reshape(shape), rho, casting="same_kind")

    def _write(self, row: int, values: Array) -> Single:
        """A copy in single precision in a row of the stack."""
        np.copyto(self.stack[row].reshape(self.shape), values, casting="same_kind")
        own: Single = self.stack[row]
        return own

    def buffer(self, name: str) -> Single:
        """A buffer for as many entries, its content arbitrary, the same at every call with this name."""
        return scratch(f"parts:{name}", (self.stack.shape[1],), np.float32)

    def sums_for_exponentials(self, rates: Sequence[float], out: Single) -> None:
        """P + rQ + r²R for every rate r, exact in single precision, to `out`, (rates, entries)."""
        self.stack[6] = self.stack[5]
        factor = self.curvature
        self._sums(3, [(1.0, rate, *(factor * part for part in _square(rate))) for rate in rates], out)

    def sums_for_powers(self, exponent: float, scales: Sequence[float], out: Single) -> None:
        """Pt² + eQt + e(e − 1)R for t = ρ + s, for every s, exact in single precision as e and e(e − 1) are.

        That is a polynomial in s, whose coefficients are shared.
        """
        constant, linear, p = self.stack[:3]
        np.copyto(p, self.stack[3])
        np.multiply(p, self.rho, out=constant)
        inner = np.multiply(self.stack[4], np.float32(exponent), out=self.buffer("inner"))
        inner += constant
        np.add(inner, constant, out=linear)
        second = np.float32(exponent * (exponent - 1.0) * self.curvature)
        if self.unit_weight:
            inner += second
            np.multiply(inner, self.rho, out=constant)
        else:
            np.multiply(inner, self.rho, out=constant)
            constant += np.multiply(self.stack[5], second, out=inner)
        self._sums(0, [(1.0, scale, *_square(scale)) for scale in scales], out)

    def _sums(self, first: int, coefficients: Sequence[Sequence[float]], out: Single) -> None:
        """Sums of four rows of the stack from the `first` on."""
        left = np.array(coefficients, np.float32)
        for part in cut(0, self.stack.shape[1], LONG):
            np.matmul(left, self.stack[first : first + 4, part], out=out[:, part])


def _square(number: float) -> tuple[float, float]:
    """The square of a number of single precision as the sum of two such numbers."""
    square = number * number
    high = float(np.float32(square))
    return high, square - high
