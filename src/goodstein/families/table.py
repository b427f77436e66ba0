"""A table of probabilities."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from goodstein.constraints import numbers
from goodstein.domains import Lattice
from goodstein.domains.lattice import Codes
from goodstein.errors import InputError
from goodstein.families.discrete import EXACT_STATES, LatticeFamily, as_states
from goodstein.types import Array, ArrayLike


class CategoricalTable(LatticeFamily):
    r"""A probability for every cell: any positive distribution on a small lattice.

    .. math:: q(x) = \frac{t[x_1, \dots, x_d]}{\sum t}.

    Parameters
    ----------
    table
        t, an array with one axis for each coordinate, all of length L: probabilities, or anything
        proportional to them, such as counts. All cells must be positive.
    levels
        The L levels in the order of the table; None for 0, …, L − 1.

    Examples
    --------
    Counts of deaths, as a Poisson distribution truncated to at most five:

    >>> import numpy as np
    >>> import scipy.stats
    >>> import goodstein as gs
    >>> q = gs.families.CategoricalTable(scipy.stats.poisson(0.6).pmf(np.arange(6)))
    >>> q.score([[0], [1]]).round(3)
    array([[0.4], [0.7]])
    >>> gs.ksd_test(q.sample(200, rng=1), q, rng=1).pvalue > 0.05
    True
    >>> gs.families.CategoricalTable.independent([[0, 0], [0, 1], [1, 0], [1, 1], [1, 0]], 2).table
    array([[0.24, 0.16],
           [0.36, 0.24]])
    """

    table: Array
    levels: Any
    _log: Array

    def __init__(self, table: ArrayLike, levels: ArrayLike = None) -> None:
        values = numbers(table, "table", largest=1e300)
        if values.ndim == 0 or len(set(values.shape)) > 1 or values.shape[0] < 2:
            expected = "one axis for each coordinate, all of the same length of at least 2"
            raise InputError(f"expected {expected}, got shape {values.shape}.", argument="table")
        if values.size > EXACT_STATES:
            reason = f"has {values.size} cells; at most {EXACT_STATES} are allowed."
            raise InputError(reason, argument="table")
        wrong = np.argwhere(~(values > 0))
        if len(wrong):
            first = f"cell ({', '.join(map(str, wrong[0]))}), {values[tuple(wrong[0])]:g}"
            found = f"{len(wrong)} of {values.size} are not, the first is {first}"
            leave = "leave out or merge levels that cannot occur"
            remedy = f"Stein's identity needs positive probabilities: {leave}."
            raise InputError(f"all cells must be positive, but {found}.", argument="table", remedy=remedy)
        lattice = Lattice(len(values) if levels is None else levels, values.ndim)
        if len(lattice.levels) != len(values):
            reason = f"there are {len(lattice.levels)}, but each axis of `table` has {len(values)}."
            raise InputError(reason, argument="levels")
        given = None if levels is None else lattice._arguments()[0]
        self._set(table=values, levels=given, domain=lattice, _log=np.log(values))

    @classmethod
    def independent(cls, x: ArrayLike, levels: ArrayLike) -> Self:
        """The maximum likelihood fit under independence: the product of the margins' frequencies."""
        lattice, codes = as_states(x, levels)
        count = len(lattice.levels)
        if lattice.size > EXACT_STATES:
            reason = f"a table on {lattice!r} has {lattice.size:.3g} cells, too many."
            raise InputError(reason, argument="x")
        table = np.ones(())
        for i in range(lattice.dim):
            margin = np.bincount(codes[:, i], minlength=count) / len(codes)
            if not margin.all():
                missing = f"level {lattice.levels[np.argmin(margin)]:g} never occurs in column {i}"
                remedy = "Leave the level out or merge it with another."
                reason = f"{missing}, so its fitted probability is zero."
                raise InputError(reason, argument="x", remedy=remedy)
            table = np.multiply.outer(table, margin)
        return cls(table, levels)

    @property
    def probabilities(self) -> Array:
        """The table divided by its sum."""
        return np.asarray(self.table / self.table.sum())

    def _log_weight(self, codes: Codes) -> Array:
        return np.asarray(self._log[tuple(codes.T)])
