"""What a radial kernel is, and how a tile of the Stein matrix is made from it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from goodstein.engine.workspace import scratch
from goodstein.errors import InputError
from goodstein.kernels.bandwidth import Median
from goodstein.types import Array, Single

if TYPE_CHECKING:
    from goodstein.kernels.sum import Sum


class Tile(Protocol):
    """The parts of one tile of the Stein matrix that do not depend on the kernel.

    The tile is H = φ∘P + φ′∘Q + φ″∘R, where φ and its derivatives act on the squared
    distances ρ. See :mod:`goodstein.stein.forms`.
    """

    @property
    def unit(self) -> bool:
        """Whether G is the identity, so that R = −4ρ."""
        ...

    def rho(self, scale: float = 1.0, offset: float = 0.0) -> Array:
        """offset + scale·ρ, in a buffer that the caller may overwrite."""
        ...

    def combine(self, p: float, q: float, r: float, one: float = 0.0) -> Array:
        """p·P + q·Q + r·R, in a buffer of its own; with `unit` also plus the constant `one`."""
        ...

    def buffer(self) -> Array:
        """A buffer of the tile's shape, its content arbitrary."""
        ...


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


class Kernel(Protocol):
    """What the library asks of a kernel: anything with these two methods can be passed as `kernel`."""

    def fitted(self, points: Array) -> Kernel:
        """The same kernel with everything that it takes from the data fixed."""
        ...

    def profiles(self, rho: Array, order: int = 2) -> Sequence[Array]:
        """φ(ρ), φ′(ρ), …, up to the derivative of the given order."""
        ...


@dataclass(frozen=True)
class RadialKernel(ABC):
    """A kernel k(x, y) = φ(‖x − y‖²) with a length scale.

    A kernel of your own is a frozen dataclass that inherits from this one and implements
    :meth:`profiles`, the function φ of ρ = ‖x − y‖² and its derivatives with respect to ρ.

    Parameters
    ----------
    bandwidth
        A positive number; a rule that takes it from the data, such as ``Median(scale=0.5)``;
        or None, which means ``Median()``.
    """

    bandwidth: float | Median | None = None

    def __post_init__(self) -> None:
        wrong = isinstance(self.bandwidth, (bool, type))
        if self.bandwidth is None or (callable(self.bandwidth) and not wrong):
            return
        try:
            if wrong:
                raise TypeError
            width = float(self.bandwidth)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise InputError(
                f"`bandwidth` of {type(self).__name__} must be a positive number, a rule such as "
                f"Median(), or None; got {self.bandwidth!r}."
            ) from None
        if not (math.isfinite(width) and width > 0):
            raise InputError(
                f"`bandwidth` of {type(self).__name__} must be a positive number, got {self.bandwidth!r}. "
                "Leave it out to take the median distance between the data."
            )
        object.__setattr__(self, "bandwidth", width)

    @abstractmethod
    def profiles(self, rho: Array, order: int = 2) -> Sequence[Array]:
        """φ(ρ), φ′(ρ), …, up to the derivative of the given order, each in an array of its own."""

    def fitted(self, points: Array) -> Self:
        """The same kernel with its bandwidth a number."""
        if isinstance(self.bandwidth, float):
            return self
        rule = Median() if self.bandwidth is None else self.bandwidth
        return replace(self, bandwidth=float(rule(points)))

    @property
    def length(self) -> float:
        """The bandwidth as a number; an error before :meth:`fitted`."""
        if not isinstance(self.bandwidth, float):
            raise InputError(f"{self!r} has no bandwidth yet: call .fitted(points) first.")
        return self.bandwidth

    def stein_tile(self, tile: Tile) -> Array:
        """One tile of the Stein matrix; kernels override it only to be faster."""
        return generic_tile(self, tile)

    def __call__(self, x: Array, y: Array) -> Array:
        """k(x_i, y_j) for the rows of x (n, m) and y (k, m), an (n, k) array."""
        difference = np.asarray(x, float)[:, None, :] - np.asarray(y, float)[None, :, :]
        return self.profiles((difference**2).sum(axis=-1), order=0)[0]

    def __add__(self, other: Kernel) -> Sum:
        from goodstein.kernels.sum import Sum

        return Sum((self, other))


def generic_tile(kernel: Kernel, tile: Tile) -> Array:
    """φ∘P + φ′∘Q + φ″∘R from the profiles alone."""
    rho = tile.rho()
    # Rounding may leave a squared distance a hair below zero, where a profile need not be defined.
    phi, slope, curvature = kernel.profiles(np.maximum(rho, 0.0, out=rho))
    out = tile.combine(1.0, 0.0, 0.0) * phi
    out += tile.combine(0.0, 1.0, 0.0) * slope
    out += tile.combine(0.0, 0.0, 1.0) * curvature
    return out
