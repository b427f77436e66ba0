"""Kernels of states of a lattice."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.constraints import number, numbers
from goodstein.errors import InputError, given
from goodstein.frozen import Frozen
from goodstein.kernels.base import Kernel
from goodstein.types import Array, ArrayLike


class LatticeKernel(Kernel, ABC):
    """A kernel of states of a lattice that is a product over their coordinates."""

    @abstractmethod
    def tables(self, levels: int, d: int) -> Array:
        """κ, (1, L, L) for all coordinates or (d, L, L): positive numbers."""

    def profiles(self, rho: Array, order: int = 2) -> Sequence[Array]:
        raise InputError(
            f"{self!r} compares states of a Lattice and has no derivatives. For discrete data pass "
            f"{given('domain', 'Lattice(levels, d)')}; for continuous data use IMQ() or Gaussian()."
        )


@dataclass(frozen=True)
class Hamming(LatticeKernel):
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
        object.__setattr__(self, "rate", number(self.rate, "rate", of="Hamming", above=0.0))

    def at_scales(self, scales: Sequence[float], rates: Sequence[float]) -> list[Kernel]:
        """The kernel at several rates."""
        return [Hamming(rate) for rate in rates]

    def tables(self, levels: int, d: int) -> Array:
        table = np.full((1, levels, levels), math.exp(-self.rate / d))
        np.einsum("kaa->ka", table)[:] = 1.0
        return table

    def __call__(self, x: Any, y: Any) -> Array:
        left, right = np.asarray(x), np.asarray(y)
        d = left.shape[1]
        # Columns are counted in bytes where these hold d, and there are few counts to make kernels of.
        different = np.zeros((len(left), len(right)), np.min_scalar_type(d))
        for i in range(d):
            different += left[:, i, None] != right[:, i]
        return np.asarray(np.exp(-self.rate / d * np.arange(d + 1.0))[different])


ROUNDING = 1e-10
"""How far below zero an eigenvalue may come out, as a share of the largest."""


class CategoricalProduct(Frozen, LatticeKernel):
    r"""k(x, y) = ∏_i κ_i(x_i, y_i), with κ_i a table of similarities between levels.

    :class:`Hamming` is the special case in which all pairs of different levels are equally similar. With
    a table the kernel can know that levels are ordered, or that some are closer to each other.

    Parameters
    ----------
    table
        κ, (L, L), for all coordinates, or one for each, (d, L, L): symmetric and positive semidefinite,
        with positive entries. Rows and columns follow the order of the levels of the lattice.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> level = np.arange(4)
    >>> ordered = gs.CategoricalProduct(np.exp(-0.5 * np.abs(level[:, None] - level)))
    >>> ordered([[0, 3]], [[0, 3], [1, 1]]).round(3)
    array([[1.   , 0.223]])
    >>> table = gs.families.CategoricalTable([4.0, 3.0, 2.0, 1.0])
    >>> gs.ksd_test(table.sample(100, rng=1), table, kernel=ordered, rng=1).pvalue > 0.05
    True
    """

    table: Array

    def __init__(self, table: ArrayLike) -> None:
        values = numbers(table, "table", of="CategoricalProduct")
        if values.ndim not in (2, 3) or values.shape[-1] != values.shape[-2] or 0 in values.shape:
            raise InputError(
                "`table` of CategoricalProduct must be square, (L, L) or (d, L, L), got shape "
                f"{values.shape}."
            )
        for i, one in enumerate(values if values.ndim == 3 else values[None]):
            _check(one, f" for coordinate {i}" if values.ndim == 3 else "")
        self._set(table=values)

    def _arguments(self) -> tuple[Hashable, ...]:
        return (_nested(self.table),)

    def __repr__(self) -> str:
        if self.table.size > 9:
            return f"CategoricalProduct({'×'.join(map(str, self.table.shape))})"
        return f"CategoricalProduct({self.table.round(6).tolist()})"

    def tables(self, levels: int, d: int) -> Array:
        shape = self.table.shape
        if shape[-1] != levels:
            raise InputError(
                f"`table` of CategoricalProduct is {shape[-1]}×{shape[-1]}, but the lattice has {levels} "
                "levels."
            )
        if len(shape) == 3 and shape[0] != d:
            raise InputError(
                f"CategoricalProduct has tables for {shape[0]} coordinates, but the lattice has {d}."
            )
        return self.table if len(shape) == 3 else self.table[None]

    def __call__(self, x: Any, y: Any) -> Array:
        """k(x_i, y_j) for rows of level positions, x (n, d) and y (k, d), an (n, k) array."""
        left, right = np.asarray(x, dtype=np.intp), np.asarray(y, dtype=np.intp)
        tables = self.tables(self.table.shape[-1], left.shape[1])
        result = np.ones((len(left), len(right)))
        for i in range(left.shape[1]):
            result *= tables[i % len(tables)][left[:, i, None], right[:, i]]
        return result


def _check(table: Array, where: str) -> None:
    """Raise where a table is not that of a kernel that can be divided by."""
    what = f"`table` of CategoricalProduct{where}"
    if not np.isfinite(table).all() or not (table > 0).all():
        a, b = np.argwhere(~(np.isfinite(table) & (table > 0)))[0]
        raise InputError(
            f"{what} must hold positive numbers, but entry ({a}, {b}) is {table[a, b]:g}. For levels that "
            "have nothing in common take a small number."
        )
    if not np.allclose(table, table.T, rtol=1e-12, atol=0.0):
        a, b = np.unravel_index(np.argmax(np.abs(table - table.T)), table.shape)
        raise InputError(
            f"{what} must be symmetric, but entries ({a}, {b}) and ({b}, {a}) are {table[a, b]:g} and "
            f"{table[b, a]:g}."
        )
    eigenvalues = np.linalg.eigvalsh(table)
    if eigenvalues[0] < -ROUNDING * eigenvalues[-1]:
        raise InputError(
            f"{what} is not positive semidefinite (smallest eigenvalue {eigenvalues[0]:.3g}), so it is no "
            "kernel. Use for example exp(-|a - b|)."
        )


def _nested(array: Array) -> Any:
    return tuple(map(_nested, array)) if array.ndim else float(array)
