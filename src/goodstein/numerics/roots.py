"""Roots of matrices of second moments."""

from __future__ import annotations

import numpy as np

from goodstein.types import Array

RESOLVED = 1e-9
"""Combinations of functions that vary by less than this share of the largest are none."""


def inverse_root(moments: Array) -> Array:
    """R with RᵀMR = 1, (c, rank): of functions with second moments M those that vary, in their own units."""
    values, vectors = np.linalg.eigh(moments)
    kept = values > RESOLVED * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))
