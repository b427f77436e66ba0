"""Kernels with polynomial tails."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.constraints import number
from goodstein.kernels.base import RadialKernel
from goodstein.kernels.tile import Parts, Tile
from goodstein.types import Array, Single

SHARED = (-0.5, -1.0)
"""Exponents for which kernels are made from shared parts."""


class _Power(RadialKernel):
    """k = (1 + ρ/scale)^exponent."""

    analytic = True

    @property
    @abstractmethod
    def power(self) -> tuple[float, float]:
        """The exponent and the scale."""

    def profiles(self, rho: Array, order: int = 2) -> Sequence[Array]:
        exponent, scale = self.power
        base = 1.0 + rho / scale
        phi = _raised(base, exponent)
        profiles = [phi]
        factor = 1.0
        for k in range(order):
            factor *= (exponent - k) / scale
            phi = phi / base
            profiles.append(factor * phi)
        return profiles

    def stein_tile(self, tile: Tile) -> Array:
        """φ(P + c₁u(Q + c₂uR)) with u = 1/(1 + ρ/scale), in as few passes as possible."""
        exponent, scale = self.power
        u = tile.rho(1.0 / scale, 1.0)
        np.divide(1.0, u, out=u)  # twice as fast as np.reciprocal
        first = exponent / scale
        second = first * ((exponent - 1.0) / scale)  # scale² may be zero
        if tile.unit:
            # R = −4ρ = −4·scale·(1/u − 1), so u·R needs no matrix product.
            c = 4.0 * second * scale
            inner = np.multiply(u, c, out=tile.buffer())
            tile.add(inner, 0.0, first, 0.0, -c)
        else:
            inner = tile.combine(0.0, 0.0, second)
            inner *= u
            tile.add(inner, 0.0, first, 0.0)
        inner *= u
        tile.add(inner, 1.0, 0.0, 0.0)
        if exponent == -0.5:
            np.sqrt(u, out=u)
        elif exponent != -1.0:
            np.log(u, out=u)
            u *= -exponent
            np.exp(u, out=u)
        inner *= u
        return inner

    def functions(self, rho: Array, order: int = 2) -> list[tuple[Any, Sequence[float]]]:
        """φ·u^j, of which the j-th derivative is a multiple."""
        exponent, scale = self.power
        base = np.multiply(rho, 1.0 / scale)
        base += 1.0
        single: Any = base.astype(np.float32)
        function = _raised(single, exponent)
        found: list[tuple[Any, Sequence[float]]] = []
        factor = 1.0
        for j in range(order + 1):
            found.append((function, [factor if i == j else 0.0 for i in range(order + 1)]))
            function = function / single
            factor *= (exponent - j) / scale
        return found

    @property
    def shares_parts(self) -> bool:
        return self.power[0] in SHARED

    @property
    def parts_kind(self) -> Any:
        return _Power, self.power[0]

    def stein_parts(self, kernels: Sequence[_Power], parts: Parts, out: Single) -> None:
        """The same from parts that several bandwidths share, for the exponents −½ and −1.

        With t = ρ + scale it is (Pt² + eQt + e(e − 1)R)/t^(2 − e), without the factor scale^(−e).
        """
        exponent, _ = self.power
        scales = [float(np.float32(kernel.power[1] / parts.unit)) for kernel in kernels]
        parts.sums_for_powers(exponent, scales, out)
        t, root = parts.buffer("t"), parts.buffer("root")
        for own, scale in zip(out, scales, strict=True):
            np.add(parts.rho, np.float32(scale), out=t)
            if exponent == -0.5:
                np.sqrt(t, out=root)
                t *= t
            else:
                np.multiply(t, t, out=root)
            t *= root
            own /= t

    def parts_scale(self, unit: float) -> float:
        exponent, scale = self.power
        return float((scale / unit) ** -exponent)


def _raised(base: Array, exponent: float) -> Array:
    """base**exponent; a square root where that is what is meant, being ten times faster."""
    if exponent == -0.5:
        return np.asarray(1.0 / np.sqrt(base))
    if exponent == -1.0:
        return 1.0 / base
    result: Array = np.exp(exponent * np.log(base))
    return result


@dataclass(frozen=True)
class IMQ(_Power):
    """Inverse multiquadric k(x, y) = (1 + ‖x − y‖²/ℓ²)^β, with bandwidth ℓ and exponent β ∈ (−1, 0).

    The default kernel: with it convergence of the discrepancy controls convergence in law
    (Gorham and Mackey, 2017), which light-tailed kernels do not give.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.kernels import IMQ
    >>> IMQ(bandwidth=1.0)(np.zeros((1, 1)), np.array([[np.sqrt(3.0)]]))
    array([[0.5]])
    """

    exponent: float = -0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.exponent, "exponent", least=-1.0, below=0.0, of="IMQ")

    @property
    def power(self) -> tuple[float, float]:
        return self.exponent, self.length**2


@dataclass(frozen=True)
class RationalQuadratic(_Power):
    """k(x, y) = (1 + ‖x − y‖²/(2αℓ²))^(−α): a mixture of Gaussian kernels of many bandwidths.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.kernels import RationalQuadratic
    >>> RationalQuadratic(bandwidth=1.0, alpha=1.0)(np.zeros((1, 1)), np.array([[np.sqrt(2.0)]]))
    array([[0.5]])
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.alpha, "alpha", of="RationalQuadratic", above=0.0)

    @property
    def power(self) -> tuple[float, float]:
        return -self.alpha, 2.0 * self.alpha * self.length**2
