"""Counts without an upper limit, and counts of which something is kept."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import combinations
from typing import Self

import numpy as np

from goodstein.constraints import check_count, numbers
from goodstein.domains.base import OfDimension, refuse_rows
from goodstein.domains.states import States
from goodstein.errors import DomainError, must, other_domain
from goodstein.types import Array, ArrayLike, BoolArray

LARGEST = 2.0**52
"""Counts beyond which one more is rounded away."""
MOST_MOVES = 10_000


class Naturals(OfDimension, States):
    r"""Counts :math:`\mathbb N^d = \{0, 1, 2, \dots\}^d`, without an upper limit.

    The neighbours of x are x ± Δ for every row Δ of `moves` that leaves no count negative; without moves
    those with one count larger or smaller by one. Moves are for counts of which something is kept, such as
    a total or the margins of a table, :meth:`fixed_total` and :meth:`fixed_margins`: no move changes it, and
    what is tested is the law of the counts given it. Where a model has an upper limit, as a binomial law,
    its log probability is −inf beyond.

    Kernels see √x, the scale on which Poisson counts of all means vary alike.

    Parameters
    ----------
    d
        Number of counts.
    moves
        Whole numbers (m, d), or None. All allowed states must be within reach of each other by them.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.domains import Naturals
    >>> Naturals(2).neighbours(np.array([[0.0, 3.0]]))[0]  # 0 has none below: the state itself stands there
    array([[1., 3.],
           [0., 3.],
           [0., 4.],
           [0., 2.]])
    >>> Naturals.fixed_total(3).moves
    array([[ 1., -1.,  0.],
           [ 1.,  0., -1.],
           [ 0.,  1., -1.]])
    >>> Naturals.fixed_margins(2, 2).moves
    array([[ 1., -1., -1.,  1.]])
    """

    mixed_units = True
    moves: Array
    _plain: bool

    def __init__(self, d: int = 1, moves: ArrayLike = None) -> None:
        super().__init__(d)
        steps = np.eye(self._d) if moves is None else numbers(moves, "moves", ndim=2, error=DomainError)
        whole = (steps == np.round(steps)).all() and steps.any(axis=-1).all()
        if steps.shape[1:] != (self._d,) or not 0 < len(steps) <= MOST_MOVES or not whole:
            wanted = f"whole numbers (m, {self._d}), each row a move that changes something"
            raise must("moves", wanted, moves, "Naturals", error=DomainError)
        self._set(moves=steps, _plain=moves is None)

    @classmethod
    def fixed_total(cls, d: int) -> Self:
        """Counts of d kinds whose total is kept: one is taken from a kind and given to another."""
        d = check_count(d, "d", 2, 100, error=DomainError)
        moves = np.zeros((d * (d - 1) // 2, d))
        for move, (i, j) in zip(moves, combinations(range(d), 2), strict=True):
            move[[i, j]] = 1.0, -1.0
        return cls(d, moves)

    @classmethod
    def fixed_margins(cls, rows: int, columns: int) -> Self:
        """Tables of counts, row by row in one vector, whose row and column sums are kept."""
        sizes = {"rows": rows, "columns": columns}
        shape = tuple(check_count(size, name, 2, 20, error=DomainError) for name, size in sizes.items())
        moves = []
        for i, k in combinations(range(shape[0]), 2):
            for j, m in combinations(range(shape[1]), 2):
                move = np.zeros(shape)
                move[[i, k], [j, m]], move[[i, k], [m, j]] = 1.0, -1.0
                moves.append(move.ravel())
        return cls(rows * columns, np.array(moves))

    @property
    def keeps(self) -> bool:
        """Whether moves leave something of the counts as it is."""
        return int(np.linalg.matrix_rank(self.moves)) < self._d

    def _arguments(self) -> tuple[Hashable, ...]:
        return (self._d,) if self._plain else (self._d, tuple(map(tuple, self.moves.tolist())))

    def __repr__(self) -> str:
        return f"Naturals({self._d}{'' if self._plain else f', {len(self.moves)} moves'})"

    def contains(self, x: Array) -> BoolArray:
        return np.asarray(_counts(x).all(axis=1))

    def validate(self, x: Array) -> None:
        self._validate_columns(x)
        right = _counts(x)
        if not right.all():
            row, column = np.argwhere(~right)[0]
            what = f"hold no counts 0, 1, 2, …: column {column} of row {row} holds {x[row, column]:g}."
            refuse_rows(~right.all(axis=1), what, f"Remove them{other_domain()}.")

    def neighbours(self, x: Array) -> Array:
        out = np.empty((len(x), 2 * len(self.moves), self._d))
        for k, move in enumerate(self.moves):
            for side, moved in enumerate((x + move, x - move)):
                possible = (moved >= 0).all(axis=1, keepdims=True)
                out[:, 2 * k + side] = np.where(possible, moved, x)
        return out

    def embedded(self, x: Array) -> Array:
        """√x, (n, d)."""
        return np.sqrt(x)


def _counts(x: Array) -> BoolArray:
    """Which numbers are counts, (n, d)."""
    return np.asarray((x >= 0) & (x < LARGEST) & (x == np.round(x)))
