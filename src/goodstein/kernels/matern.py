"""The Matérn kernel of smoothness 5/2."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goodstein.errors import InputError
from goodstein.kernels.base import RadialKernel
from goodstein.types import Array


@dataclass(frozen=True)
class Matern52(RadialKernel):
    """k(x, y) = (1 + t + t²/3)·exp(−t), t = √5‖x − y‖/ℓ.

    The roughest Matérn kernel of half-integer order that first-order Stein operators allow;
    second-order operators need four derivatives of φ and refuse it.

    Examples
    --------
    >>> from goodstein.kernels import Matern52
    >>> import numpy as np
    >>> Matern52(bandwidth=1.0)(np.zeros((1, 1)), np.array([[1.0]]))
    array([[0.52399411]])
    """

    analytic = False  # no annotation: not a field

    def profiles(self, rho: Array, order: int = 2) -> Sequence[Array]:
        """φ′ = −(c²/6)(1 + t)e^(−t) and φ″ = (c⁴/12)e^(−t), with c = √5/ℓ and t = c√ρ."""
        if order > 2:
            raise InputError(
                "Matern52 has only two derivatives at zero distance, and this operator needs more. "
                "Use Gaussian, IMQ or RationalQuadratic."
            )
        c = math.sqrt(5.0) / self.length
        t = c * np.sqrt(rho)
        decay = np.exp(-t)
        slope, curvature = (-(c**2) / 6.0) * (1.0 + t) * decay, (c**4 / 12.0) * decay
        return [(1.0 + t + t * t / 3.0) * decay, slope, curvature][: order + 1]
