"""Regressions of an outcome that is 0 or 1, with the parameters of a fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from goodstein.domains.lattice import Lattice
from goodstein.errors import InputError
from goodstein.types import Array

SMALLEST = 1e-300
"""The least probability: one that is rounded to zero has no logarithm."""


@dataclass(frozen=True, eq=False)
class BinaryRegression:
    """P(y = 1 | x) = g(xβ + offset).

    Attributes
    ----------
    parameters
        β.
    inverse
        g, the inverse of the link.
    offset
        Whether the last column of x is added to xβ.
    """

    parameters: Array
    inverse: Callable[[Array], Array]
    offset: bool = False

    domain = Lattice(2, 1)  # no annotation: not a field

    def moved(self, by: Array) -> BinaryRegression:
        """With other parameters close by."""
        return replace(self, parameters=self.parameters + by)

    def lines(self, x: Array) -> Array:
        """xβ with the offset, (n,)."""
        rows, p = x[:, None] if x.ndim == 1 else x, len(self.parameters)
        if rows.shape[1] != p + self.offset:
            reason = f"`x` has {rows.shape[1]} columns, and the regression {p + self.offset}"
            reason += ": its regressors, and the offset if there is one."
            raise InputError(reason, remedy="Paired.of_fit(results) has them in this order.")
        return np.asarray(rows[:, :p] @ self.parameters + (rows[:, -1] if self.offset else 0.0))

    def logpdf(self, y: Array, x: Array) -> Array:
        """log p(y | x), (n,)."""
        p, one = self.inverse(self.lines(x)), y.reshape(len(y)) == 1
        return np.asarray(np.log(np.maximum(np.where(one, p, 1.0 - p), SMALLEST)))

    def sample(self, x: Array, rng: np.random.Generator) -> Array:
        """One draw of y for each row, (n,)."""
        return (rng.random(len(x)) < self.inverse(self.lines(x))).astype(np.float64)
