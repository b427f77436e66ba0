"""Sums of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goodstein.errors import InputError
from goodstein.kernels.base import Kernel, Tile, generic_tile
from goodstein.types import Array


@dataclass(frozen=True)
class Sum:
    """k₁ + k₂ + …, each with its own bandwidth; written ``Gaussian() + IMQ()``.

    Examples
    --------
    >>> from goodstein.kernels import IMQ, Gaussian
    >>> Gaussian(bandwidth=1.0) + IMQ(bandwidth=2.0)
    Gaussian(bandwidth=1.0) + IMQ(bandwidth=2.0, exponent=-0.5)
    """

    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        flat: list[Kernel] = []
        for kernel in self.kernels:
            flat.extend(kernel.kernels if isinstance(kernel, Sum) else [kernel])
        if not flat:
            raise InputError("A sum of kernels needs at least one kernel.")
        for kernel in flat:
            if not hasattr(kernel, "profiles") or hasattr(kernel, "linear_map"):
                raise InputError(
                    f"{kernel!r} cannot be a term of a sum of kernels. "
                    "Sum plain radial kernels, and whiten the sum: Whitened(Gaussian() + IMQ())."
                )
        object.__setattr__(self, "kernels", tuple(flat))

    def profiles(self, rho: Array, order: int = 2) -> Sequence[Array]:
        """The sums of the terms' profiles."""
        terms = [kernel.profiles(rho, order) for kernel in self.kernels]
        return [np.sum(parts, axis=0) for parts in zip(*terms, strict=True)]

    def fitted(self, points: Array) -> Sum:
        """Every term with its bandwidth fixed."""
        return Sum(tuple(kernel.fitted(points) for kernel in self.kernels))

    def stein_tile(self, tile: Tile) -> Array:
        """One tile of the Stein matrix."""
        return generic_tile(self, tile)

    def __call__(self, x: Array, y: Array) -> Array:
        """k(x_i, y_j) for the rows of x (n, m) and y (k, m)."""
        difference = np.asarray(x, float)[:, None, :] - np.asarray(y, float)[None, :, :]
        return self.profiles((difference**2).sum(axis=-1), order=0)[0]

    def __add__(self, other: Kernel) -> Sum:
        return Sum((*self.kernels, other))

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.kernels))
