"""The power criterion: the discrepancy in units of its standard deviation under the alternative."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from goodstein.engine.triangle import above_diagonal, upper_tiles
from goodstein.numerics.ranges import cut
from goodstein.stein.forms import BlockForm
from goodstein.types import Array

TINY = 1e-4
"""What is added to σ, in units of the root mean square of h."""

STEP = 256
"""Rows and columns of a block."""


@dataclass(frozen=True)
class PowerCriterion:
    """U, σ and U/(σ + 10⁻⁴·rms h).

    Under an alternative √n(U − KSD²) → N(0, σ²) with σ² = **4**·Var_x[E_x′ h(x, x′)], so that for large
    n the power of a test grows with KSD²/σ. The small term keeps the ratio finite where σ vanishes;
    with it the criterion still does not change if g is multiplied by a constant.
    """

    u: float
    sigma: float
    value: float


def power_criterion(form: BlockForm) -> PowerCriterion:
    """U, σ = 2·(standard deviation of the row means of H) and their ratio, in O(n) memory."""
    n = form.n
    sums, squares = np.zeros(n), 0.0
    for rows, cols in upper_tiles(cut(0, n, STEP), n, STEP):
        block = above_diagonal(form.block(rows, cols), rows, cols)
        sums[rows] += block.sum(axis=1)
        sums[cols] += block.sum(axis=0)
        squares += 2.0 * float(np.einsum("ij,ij->", block, block))
    return from_row_sums(sums, squares)


def from_row_sums(sums: Array, squares: float) -> PowerCriterion:
    """The criterion from Σ_{j≠i} H_ij, (n,), and Σ_{i≠j} H_ij²."""
    n = len(sums)
    means = sums / (n - 1)
    u = float(means.mean())
    sigma = 2.0 * float(means.std(ddof=1))
    scale = math.sqrt(squares / (n * (n - 1)))
    denominator = sigma + TINY * scale
    return PowerCriterion(u, sigma, u / denominator if denominator > 0 else 0.0)
