"""Data of conditional models: covariates and outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.errors import InputError
from goodstein.types import Array
from goodstein.validation import as_data


@dataclass(frozen=True, eq=False)
class Pairs:
    """Observations (x, y): covariates and outcomes, row by row.

    Parameters
    ----------
    x, y
        Arrays (n, p) and (n, q), or (n,) for one column, or data frames. The functions of a
        :class:`ConditionalModel` see them in the shape in which they are handed in.

    Examples
    --------
    >>> from goodstein.conditional.data import Pairs
    >>> pairs = Pairs([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [1.0, 2.0, 3.0])
    >>> len(pairs), pairs.x.shape, pairs.y.shape, pairs.outcomes.shape
    (3, (3, 2), (3,), (3, 1))
    """

    x: Array
    y: Array

    def __post_init__(self) -> None:
        x, y = (_column_wise(getattr(self, name), name) for name in ("x", "y"))
        if len(x) != len(y):
            raise InputError(
                f"`x` has {len(x)} rows and `y` has {len(y)}. Row i of both must belong to the same "
                "observation."
            )
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    def __len__(self) -> int:
        return len(self.x)

    @property
    def covariates(self) -> Array:
        """x, always (n, p)."""
        return as_matrix(self.x)

    @property
    def outcomes(self) -> Array:
        """y, always (n, q)."""
        return as_matrix(self.y)

    def describe(self) -> str:
        """In words: how many pairs of what."""
        p, q = self.covariates.shape[1], self.outcomes.shape[1]
        return f"{len(self)} pairs (x, y), x with {_count(p)}, y with {_count(q)}"


def _column_wise(values: Any, name: str) -> Array:
    """Validated numbers in the shape in which they came, (n,) or (n, k)."""
    flat = len(getattr(values, "shape", None) or np.shape(values)) == 1
    try:
        matrix = as_data(values)
    except InputError as error:
        raise InputError(str(error).replace("`data`", f"`{name}`").replace("data.", f"{name}.")) from None
    return matrix[:, 0] if flat else matrix


def as_matrix(values: Array) -> Array:
    """One column for values (n,)."""
    return values[:, None] if values.ndim == 1 else values


def _count(columns: int) -> str:
    return f"{columns} column{'' if columns == 1 else 's'}"
