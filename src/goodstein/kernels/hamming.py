"""The exponentiated Hamming kernel on a lattice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NoReturn

import numpy as np

from goodstein.errors import InputError
from goodstein.types import Array


@dataclass(frozen=True)
class Hamming:
    r"""k(x, y) = exp(−rate · #{i : x_i ≠ y_i} / d), for discrete data.

    A product over the coordinates of κ = 1 where two states agree and e^{−rate/d} where they differ. It
    knows no order of the levels. The larger the rate, the more the test looks at joint states; the
    smaller, the more at single coordinates. For a null model of independent coordinates take 2 or 3:
    dependence shows in functions of pairs only, to which a rate of one gives little weight.

    Parameters
    ----------
    rate
        A positive number.

    References
    ----------
    Yang, Liu, Rao & Neville (2018), "Goodness-of-fit testing for discrete distributions via Stein
    discrepancy", *ICML*.

    Examples
    --------
    >>> from goodstein.kernels import Hamming
    >>> Hamming()([[0, 1, 2]], [[0, 1, 2], [0, 0, 0]])
    array([[1.        , 0.51341712]])
    """

    rate: float = 1.0

    def __post_init__(self) -> None:
        number = isinstance(self.rate, Real) and not isinstance(self.rate, bool)
        if not (number and math.isfinite(self.rate) and self.rate > 0):
            raise InputError(f"`rate` of Hamming must be a positive number, got {self.rate!r}.")
        object.__setattr__(self, "rate", float(self.rate))

    def fitted(self, points: Array) -> Hamming:
        """The kernel itself: it takes nothing from the data."""
        return self

    def tables(self, levels: int, d: int) -> Array:
        """κ, (1, L, L): the same for all coordinates."""
        table = np.full((1, levels, levels), math.exp(-self.rate / d))
        np.einsum("kaa->ka", table)[:] = 1.0
        return table

    def __call__(self, x: Any, y: Any) -> Array:
        """k(x_i, y_j) for the rows of x (n, d) and y (k, d), an (n, k) array."""
        left, right = np.asarray(x), np.asarray(y)
        different = np.zeros((len(left), len(right)))
        for i in range(left.shape[1]):
            different += left[:, i, None] != right[:, i]
        return np.asarray(np.exp(-self.rate / left.shape[1] * different))

    def profiles(self, rho: Array, order: int = 2) -> Sequence[Array]:
        """Raise: this kernel is no function of a distance and has no derivatives."""
        not_differentiable(self)


def not_differentiable(kernel: object) -> NoReturn:
    """Say that a kernel on a lattice cannot serve an operator that differentiates."""
    raise InputError(
        f"{kernel!r} compares states of a Lattice and has no derivatives. For discrete data pass "
        "domain=Lattice(levels, d); for continuous data use IMQ() or Gaussian()."
    )
