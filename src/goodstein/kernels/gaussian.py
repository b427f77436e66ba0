"""The Gaussian kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.kernels.base import RadialKernel
from goodstein.kernels.tile import Parts, Tile
from goodstein.types import Array, Single


@dataclass(frozen=True)
class Gaussian(RadialKernel):
    """k(x, y) = exp(−‖x − y‖² / 2ℓ²), with bandwidth ℓ.

    Light tails: a discrepancy far out in the tails, or in high dimension, is seen better by :class:`IMQ`.

    Examples
    --------
    >>> from goodstein.kernels import Gaussian
    >>> import numpy as np
    >>> Gaussian(bandwidth=1.0)(np.zeros((1, 2)), np.array([[1.0, 1.0]]))
    array([[0.36787944]])
    """

    analytic = True  # no annotations: not fields
    shares_parts = True

    def profiles(self, rho: Array, order: int = 2) -> Sequence[Array]:
        """Each derivative in ρ is the one before times −1/2ℓ²."""
        rate = -0.5 / self.length**2
        phi = rate * rho
        np.exp(phi, out=phi)
        return [phi, *(phi * rate**k for k in range(1, order + 1))]

    def stein_tile(self, tile: Tile) -> Array:
        """exp(−ρ/2ℓ²) times one matrix product, because φ′/φ and φ″/φ are constants."""
        rate = -0.5 / self.length**2
        out = tile.combine(1.0, rate, rate * rate)
        k = tile.rho(rate)
        np.exp(k, out=k)
        out *= k
        return out

    def functions(self, rho: Array, order: int = 2) -> list[tuple[Any, Sequence[float]]]:
        rate = -0.5 / self.length**2
        k = np.multiply(rho, rate, out=np.empty(rho.shape, np.float32), casting="same_kind")
        return [(np.exp(k, out=k), [rate**j for j in range(order + 1)])]

    def stein_parts(self, parts: Parts, out: Single) -> None:
        rate = float(np.float32(-0.5 * parts.unit / self.length**2))
        inner = np.multiply(parts.r, np.float32(rate), out=parts.buffer(0))
        inner += parts.q
        inner *= np.float32(rate)
        inner += parts.p
        np.multiply(inner, parts.exponential(rate), out=out)
