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

    def stein_parts(self, kernels: Sequence[Gaussian], parts: Parts, out: Single) -> None:
        lengths = [kernel.length for kernel in kernels]
        steps = squarings([-0.5 * parts.unit / length**2 for length in lengths])
        rates = {place: rate for place, rate, _ in steps}
        parts.sums_for_exponentials([rates[place] for place in range(len(kernels))], out)
        k = parts.buffer("exponential")
        for place, rate, count in steps:
            if count is None:
                np.multiply(parts.rho, np.float32(rate), out=k)
                np.exp(k, out=k)
            else:
                for _ in range(count):
                    np.multiply(k, k, out=k)
            out[place] *= k


SQUARED = 16.0
"""Powers of a single-precision exponential multiply its rounding error; beyond this it is made anew."""


def squarings(rates: Sequence[float]) -> list[tuple[int, float, int | None]]:
    """How to make exp(rate·ρ) for all rates, the smallest first.

    For each its place, the rate, and how often the exponential before is to be squared; None where it is made
    anew. The rates are rounded to single precision, and multiples of the one before are exact.
    """
    found: list[tuple[int, float, int | None]] = []
    before = first = 0.0
    for place in sorted(range(len(rates)), key=lambda place: abs(rates[place])):
        rate = float(np.float32(rates[place]))
        counts = [c for c in range(4) if before and abs(rate - before * 2**c) <= 1e-6 * abs(rate)]
        count = counts[0] if counts and abs(rate) <= SQUARED * abs(first) else None
        if count is None:
            first = rate
        else:
            rate = before * 2**count
        before = rate
        found.append((place, rate, count))
    return found
