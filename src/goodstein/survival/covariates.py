"""Kernels of covariates: all of them together, and each by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.conditional.operator import fitted_kernel
from goodstein.errors import InputError
from goodstein.kernels.base import Kernel
from goodstein.types import Array

WIDTH = 0.5
"""Bandwidth for one covariate, in its standard deviations."""


@dataclass(frozen=True)
class EachAndAll(Kernel):
    """Half a kernel of all covariates together, half the mean of Gaussian kernels of each of them.

    A kernel of many covariates sees all that they do together, and so little of what one of them does.

    `widths` are the bandwidths of the latter, (p,); of a covariate that does not vary it is zero.
    """

    together: Kernel
    widths: tuple[float, ...]

    def __call__(self, x: Array, y: Array) -> Array:
        total = np.zeros((len(x), len(y)))
        used = [(j, width) for j, width in enumerate(self.widths) if width > 0]
        for j, width in used:
            total += np.exp(-0.5 * ((x[:, None, j] - y[None, :, j]) / width) ** 2)
        whole = self.together
        joint = whole.plain(whole.coordinates(x), whole.coordinates(y))
        return np.asarray(0.5 * (total / len(used) + joint))

    def __repr__(self) -> str:
        return f"{self.together!r} and each"


def covariate_kernel(kernel: Any, z: Array) -> Kernel:
    """The kernel of covariates, fitted to their rows, (n, p); None takes the default."""
    try:
        fitted = fitted_kernel(kernel, z)
    except InputError as error:
        raise error.told("covariates") from None
    if kernel is not None or z.shape[1] == 1 or not np.ptp(z, axis=0).any():
        return fitted
    return EachAndAll(fitted, tuple(float(width) for width in WIDTH * z.std(axis=0)))
