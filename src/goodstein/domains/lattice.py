"""Finite lattices: discrete data."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from goodstein.constraints import MOST, MOST_COORDINATES, check_count, numbers, real_array
from goodstein.domains.base import OfDimension, refuse_rows, shortened
from goodstein.errors import DomainError, given, must, other_domain
from goodstein.types import Array, ArrayLike, BoolArray
from goodstein.validation import as_array

Codes: TypeAlias = npt.NDArray[np.intp]
"""States as whole numbers 0, …, L − 1, (n, d)."""

MAX_STATES = 1 << 20
"""States that are listed at most."""


class Lattice(OfDimension):
    r"""The finite lattice :math:`\{v_0, \dots, v_{L-1}\}^d` of discrete data.

    Every coordinate takes the same L levels, in a cyclic order: :meth:`shift` moves a coordinate from
    one level to the next, and from the last to the first. A model here is a probability mass function;
    what stands for its score is the difference score, see :class:`goodstein.Difference`.

    Parameters
    ----------
    levels
        How many levels there are, L >= 2, for the states 0, …, L − 1; or the levels themselves, at
        least two distinct numbers in their cyclic order, such as ``(-1, 1)``.
    d
        Number of coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.domains import Lattice
    >>> spins = Lattice((-1, 1), 2)
    >>> spins
    Lattice((-1, 1), 2)
    >>> spins.encode(np.array([[-1.0, 1.0]]))
    array([[0, 1]])
    >>> Lattice(3, 2).shift(np.array([[2.0, 2.0]]), 0)
    array([[0., 2.]])
    >>> Lattice(2, 2).states()
    array([[0., 0.],
           [0., 1.],
           [1., 0.],
           [1., 1.]])
    """

    bounded = True
    discrete = True
    has_boundary = False  # the levels are in cyclic order
    levels: Array
    _plain: bool
    _order: Codes

    def __init__(self, levels: int | Sequence[float] | Array, d: int) -> None:
        values = _as_levels(levels)
        super().__init__(d)
        order = np.argsort(values)
        same = np.flatnonzero(np.diff(values[order]) == 0)
        if same.size:
            raise DomainError(f"`levels` must be distinct, but {values[order][same[0]]:g} occurs twice.")
        plain = bool(np.array_equal(values, np.arange(len(values))))
        self._set(levels=values, _plain=plain, _order=order)

    def _arguments(self) -> tuple[Hashable, ...]:
        return len(self.levels) if self._plain else tuple(self.levels.tolist()), self._d

    def __repr__(self) -> str:
        levels = str(len(self.levels)) if self._plain else f"({_listed(self.levels)})"
        return f"Lattice({levels}, {self._d})"

    @property
    def size(self) -> int:
        """Number of states, L^d."""
        return int(len(self.levels) ** self._d)

    @property
    def basis(self) -> Array | None:
        """Raise, since nothing can be differentiated on a lattice."""
        why = "so there are no derivatives on it, and operators that need them are not valid"
        remedy = f"Leave {given('operator')} out, or use Difference()."
        raise DomainError(f"{self!r} is discrete, {why}.", remedy=remedy)

    def contains(self, x: Array) -> BoolArray:
        return np.asarray(self._lookup(x)[1].all(axis=1))

    def encode(self, x: ArrayLike) -> Codes:
        """The positions of states among the levels, whole numbers (n, d), to index tables with.

        Raises :class:`~goodstein.errors.DomainError` where a row is no state of the lattice.
        """
        states = real_array(x, "x", error=DomainError)
        if states.ndim != 2 or states.shape[1] != self._d:
            raise must("x", f"states, an array (n, {self._d})", x, error=DomainError)
        return self._codes(states, "x")

    def embedded(self, x: Array) -> Array:
        """The positions of states among the levels, (n, d): what kernels compare."""
        return self.encode(x).astype(np.float64)

    def decode(self, codes: npt.ArrayLike) -> Array:
        """The states at given positions, (n, d); the inverse of :meth:`encode`."""
        places = as_array(codes, "codes")
        right = not np.ma.isMA(codes) and places.dtype.kind in "iu" and places.ndim == 2
        if places.size and not (right and places.min() >= 0 and places.max() < len(self.levels)):
            wanted = (
                f"positions among the levels, whole numbers (n, {self._d}) from 0 to {len(self.levels) - 1}"
            )
            raise must("codes", wanted, codes, error=DomainError)
        return np.asarray(self.levels[places.astype(np.intp)])

    def shift(self, x: ArrayLike, i: int, step: int = 1) -> Array:
        """¬_i x: coordinate i (from 0) of every row moved on by ``step`` levels, in cyclic order."""
        codes = self.encode(x)
        shifted = np.array(real_array(x, "x", error=DomainError))
        if check_count(i, "i", 0, error=DomainError) >= self._d:
            raise must("i", f"a coordinate from 0 to {self._d - 1}", i, error=DomainError)
        column, step = codes[:, i], check_count(step, "step", -MOST, error=DomainError)
        shifted[:, i] = self.levels[(column + step) % len(self.levels)]
        return shifted

    def states(self) -> Array:
        """All states, (L^d, d), the last coordinate running fastest."""
        if self.size > MAX_STATES:
            raise DomainError(f"{self!r} has {self.size:.3g} states, too many to be listed.")
        shape = (len(self.levels),) * self._d
        return np.ascontiguousarray(self.decode(np.indices(shape).reshape(self._d, -1).T))

    def validate(self, x: Array) -> None:
        self._validate_columns(x)
        self._codes(x, "data")

    def sample_uniform(self, n: int, rng: np.random.Generator) -> Array:
        return self.decode(rng.integers(0, len(self.levels), size=(n, self._d)))

    def _lookup(self, x: Array) -> tuple[Codes, BoolArray]:
        """Positions among the levels, and which of them are right, both (n, d)."""
        values = self.levels[self._order]
        place = np.minimum(np.searchsorted(values, x), len(values) - 1)
        return self._order[place], np.asarray(values[place] == x)

    def _codes(self, x: Array, name: str) -> Codes:
        codes, known = self._lookup(x)
        if not known.all():
            row, column = np.argwhere(~known)[0]
            bad = ~known.all(axis=1)
            first = f"column {column} of row {row} holds {x[row, column]:g}"
            what = f"hold states outside {self!r}: {first}, but the levels are {_listed(self.levels)}."
            refuse_rows(bad, what, f"Recode or remove them{other_domain()}.", argument=name)
        return codes


def _as_levels(levels: Any) -> Array:
    """The levels as an array, (L,), L >= 2."""
    if isinstance(levels, int | np.integer):
        return np.arange(
            check_count(levels, "levels", 2, MOST_COORDINATES, error=DomainError), dtype=np.float64
        )
    values = numbers(levels, "levels", error=DomainError)
    if values.ndim != 1 or values.size < 2:
        wanted = "a whole number of at least 2, or a sequence of at least two numbers"
        raise must("levels", wanted, levels, error=DomainError)
    return values


def _listed(levels: Array) -> str:
    return shortened([f"{level:g}" for level in levels], 6)
