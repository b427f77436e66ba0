"""What a radial kernel is, and how a tile of the Stein matrix is made from it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from goodstein._typing import Array
from goodstein.errors import InputError
from goodstein.kernels.bandwidth import Median

if TYPE_CHECKING:
    from goodstein.kernels.sum import Sum


class Tile(Protocol):
    """The parts of one tile of the Stein matrix that do not depend on the kernel.

    The tile is H = φ∘P + φ′∘Q + φ″∘R, where φ and its derivatives act on the squared
    distances ρ. See :mod:`goodstein.form`.
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
