"""Gamma variates in logarithms."""

from __future__ import annotations

import numpy as np

from goodstein.types import Array


def log_gamma_variates(shape: Array, rng: np.random.Generator) -> Array:
    """Logarithms of gamma variates, one for each entry of ``shape``.

    For small shapes the variates themselves underflow to zero. With G ~ Γ(a + 1) and U
    uniform, G U^{1/a} ~ Γ(a) (Marsaglia & Tsang 2000), and the logarithm of that never does;
    -log U is an exponential variate.
    """
    return np.asarray(np.log(rng.standard_gamma(shape + 1)) - rng.standard_exponential(shape.shape) / shape)
