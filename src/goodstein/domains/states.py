"""Countable spaces whose states have neighbours."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from goodstein.constraints import MOST_COORDINATES, answered, asked, check_count, require_functions
from goodstein.domains.base import Domain, OfDimension
from goodstein.errors import DomainError, given
from goodstein.types import Array, BoolArray

Neighbours: TypeAlias = Callable[[Array], Any]

MOST_NEIGHBOURS = 10_000
"""Neighbours that a state may have."""


class States(Domain, ABC):
    """A countable space in which every state has finitely many neighbours, and is one of each of theirs."""

    discrete = True
    has_boundary = False

    @abstractmethod
    def neighbours(self, x: Array) -> Array:
        """The neighbours of every row of x (n, d), (n, m, d); a state itself stands for none."""

    def embedded(self, x: Array) -> Array:
        """States as they are, (n, d)."""
        return x

    @property
    def basis(self) -> Array | None:
        """Raise, since nothing can be differentiated here."""
        why = "so there are no derivatives on it, and operators that need them are not valid"
        remedy = f"Leave {given('operator')} out, or use Jumps()."
        raise DomainError(f"{self!r} is discrete, {why}.", remedy=remedy)


class StateSpace(OfDimension, States):
    r"""Any finite or countable space of states x ∈ R^d, known through the neighbours of each.

    A model on it is a probability mass function, tested by :class:`goodstein.Jumps`. Whoever is a neighbour
    of x must have x among its own, and from every state all others must be within reach, step by step: what
    no step changes is not tested.

    Parameters
    ----------
    d
        Numbers that a state consists of.
    neighbours
        A function of one state, (d,), that returns its neighbours, (m, d); m may differ from state to state.

    Examples
    --------
    Orders of four things, and Mallows' model of them, with exchanges of two things that follow each other:

    >>> import numpy as np
    >>> import goodstein as gs
    >>> def exchanges(order):
    ...     moved = np.tile(order, (3, 1))
    ...     for i in range(3):
    ...         moved[i, [i, i + 1]] = order[[i + 1, i]]
    ...     return moved
    >>> def inversions(x):
    ...     first, second = np.triu_indices(4, 1)
    ...     return (x[:, first] > x[:, second]).sum(axis=1)
    >>> orders = gs.StateSpace(4, exchanges)
    >>> orders.neighbours(np.array([[0.0, 1.0, 2.0, 3.0]]))[0]
    array([[1., 0., 2., 3.],
           [0., 2., 1., 3.],
           [0., 1., 3., 2.]])
    >>> x = np.random.default_rng(1).permuted(np.tile(np.arange(4.0), (200, 1)), axis=1)
    >>> mallows = gs.Model(logpdf=lambda x: -0.8 * inversions(x), domain=orders)
    >>> gs.ksd_test(x, mallows, rng=1).pvalue < 0.05
    True
    >>> gs.ksd_test(x, gs.Model(logpdf=lambda x: 0.0 * x[:, 0], domain=orders), rng=1).pvalue > 0.05
    True
    """

    _parameters = ("dim", "function")  # type: ignore[assignment]
    function: Neighbours

    def __init__(self, d: int, neighbours: Neighbours) -> None:
        require_functions({"neighbours": neighbours}, "StateSpace", "a function of one state")
        super().__init__(d)
        self._set(function=neighbours)

    def __repr__(self) -> str:
        return f"StateSpace({self._d}, {getattr(self.function, '__name__', 'neighbours')})"

    def contains(self, x: Array) -> BoolArray:
        """All rows of finite numbers: which of them are states is for the model to say."""
        return np.asarray(np.isfinite(x).all(axis=1))

    def neighbours(self, x: Array) -> Array:
        states, back = np.unique(x, axis=0, return_inverse=True)
        found = [self._of(state) for state in states]
        most = max([1, *map(len, found)])
        if most * len(x) * self._d > MOST_COORDINATES * 100:
            raise DomainError(f"{len(x)} states of {self!r} with up to {most} neighbours each are too many.")
        out = np.repeat(states[:, None, :], most, axis=1)
        for row, near in enumerate(found):
            out[row, : len(near)] = near
        return out[back.reshape(-1)]

    def _of(self, state: Array) -> Array:
        what = f"`neighbours` of {self!r}"
        near = answered(asked(self.function, what, state.copy(), error=DomainError), what, error=DomainError)
        near = near.reshape(0, self._d) if not near.size else near
        if near.ndim != 2 or near.shape[1] != self._d or not np.isfinite(near).all():
            shown = ", ".join(f"{value:g}" for value in state[:6])
            raise DomainError(
                f"{what} must return finite numbers (m, {self._d}), one row for each neighbour; of the state "
                f"({shown}) it returned shape {near.shape}."
            )
        check_count(len(near), "neighbours", 0, MOST_NEIGHBOURS, error=DomainError)
        return near
