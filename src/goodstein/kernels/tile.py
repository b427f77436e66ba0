"""What a tile of the Stein matrix offers to a kernel."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from goodstein.engine.workspace import scratch
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


SQUARED = 16.0
"""Powers of a single-precision exponential multiply its rounding error; beyond this it is made anew."""


class Parts:
    """ρ, P, Q and R of one tile in single precision, for several kernels, which must not change them.

    Lengths are in units of √`unit`: ρ/unit, P, Q/unit and R/unit².
    """

    def __init__(self, rho: Single, p: Single, q: Single, r: Single, unit: float) -> None:
        self.rho, self.p, self.q, self.r, self.unit = rho, p, q, r, unit
        self._rate, self._first = 0.0, 0.0
        self._derivatives: dict[float, tuple[Single, Single]] = {}

    def buffer(self, number: int) -> Single:
        """A buffer of the tile's shape, its content arbitrary, the same at every call."""
        return scratch(f"parts{number}", self.rho.shape, np.float32)

    def derivatives(self, exponent: float) -> tuple[Single, Single]:
        """e·Q and e(e − 1)·R, for kernels that are powers; both factors must be exact in single precision."""
        if exponent not in self._derivatives:
            first = scratch(f"parts:first{exponent}", self.rho.shape, np.float32)
            second = scratch(f"parts:second{exponent}", self.rho.shape, np.float32)
            np.multiply(self.q, np.float32(exponent), out=first)
            np.multiply(self.r, np.float32(exponent * (exponent - 1.0)), out=second)
            self._derivatives[exponent] = first, second
        return self._derivatives[exponent]

    def exponential(self, rate: float) -> Single:
        """exp(rate·ρ/unit), which must not be changed; by squaring where it was asked for half the rate."""
        k = scratch("parts:exponential", self.rho.shape, np.float32)
        squarings = _squarings(rate, self._rate) if self._rate else None
        if squarings is None or abs(rate) > SQUARED * abs(self._first):
            np.multiply(self.rho, np.float32(rate), out=k)
            np.exp(k, out=k)
            self._first = rate
        else:
            for _ in range(squarings):
                np.multiply(k, k, out=k)
        self._rate = rate
        return k


def _squarings(rate: float, before: float) -> int | None:
    """How often to square exp(before·ρ) to get exp(rate·ρ); None if that is no way to get it cheaply."""
    for count in range(4):
        if abs(rate - before * 2**count) <= 1e-6 * abs(rate):
            return count
    return None
