"""Products of kernels on single coordinates of a lattice."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from goodstein.errors import InputError
from goodstein.frozen import Frozen
from goodstein.kernels.hamming import not_differentiable
from goodstein.types import Array, ArrayLike

ROUNDING = 1e-10
"""How far below zero an eigenvalue may come out, as a share of the largest."""


class CategoricalProduct(Frozen):
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
        try:
            values = np.array(table, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                "`table` of CategoricalProduct must hold numbers, (L, L) or one such table for each "
                f"coordinate; got {table!r:.60}."
            ) from None
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

    def fitted(self, points: Array) -> CategoricalProduct:
        """The kernel itself: it takes nothing from the data."""
        return self

    def tables(self, levels: int, d: int) -> Array:
        """κ, (1, L, L) or (d, L, L)."""
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

    def profiles(self, rho: Array, order: int = 2) -> Sequence[Array]:
        """Raise: this kernel is no function of a distance and has no derivatives."""
        not_differentiable(self)


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
