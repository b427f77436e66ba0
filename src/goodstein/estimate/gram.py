"""The kernel between observations: products with φ(ρ_ij) and φ′(ρ_ij), in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.types import Array

MOST_KEPT = 2500
"""Rows up to which both matrices are kept, 100 MB; beyond, they are made anew for every product."""

BLOCK_NUMBERS = 1 << 20


class Gram:
    """φ(ρ_ij) and φ′(ρ_ij) for a radial kernel, ρ the squared distance."""

    def __init__(self, points: Array, kernel: Any) -> None:
        self.points, self.kernel = points, kernel
        self.n = len(points)
        self._kept: dict[int, tuple[Array, Array]] | None = {} if self.n <= MOST_KEPT else None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None if self._kept is None else {}}

    def products(self, on_value: Array | None, on_slope: Array | None) -> tuple[Array | None, Array | None]:
        """Σ_j φ_ij v_j and Σ_j φ′_ij w_j, (n, ·) each, for v and w of shape (n, ·)."""
        value = None if on_value is None else np.empty(on_value.shape)
        slope = None if on_slope is None else np.empty(on_slope.shape)
        step = max(1, BLOCK_NUMBERS // self.n)
        for start in range(0, self.n, step):
            rows = slice(start, min(start + step, self.n))
            phi, phi_slope = self._block(rows)
            if value is not None and on_value is not None:
                value[rows] = phi @ on_value
            if slope is not None and on_slope is not None:
                slope[rows] = phi_slope @ on_slope
        return value, slope

    def _block(self, rows: slice) -> tuple[Array, Array]:
        if self._kept is not None and rows.start in self._kept:
            return self._kept[rows.start]
        rho = np.zeros((rows.stop - rows.start, self.n))
        for column in self.points.T:
            rho += (column[rows, None] - column) ** 2
        phi, slope = self.kernel.profiles(rho, order=1)
        if self._kept is not None:
            self._kept[rows.start] = phi, slope
        return phi, slope
