"""The Potts model."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from goodstein.constraints import number, numbers
from goodstein.domains import Lattice
from goodstein.domains.lattice import Codes
from goodstein.errors import InputError
from goodstein.families import discrete
from goodstein.families.coordinates import Contrasts, Couplings, free
from goodstein.families.discrete import LatticeFamily
from goodstein.types import Array, ArrayLike


class Potts(LatticeFamily):
    r"""The Potts model: d coordinates with L levels each, coupled where they agree.

    .. math::

        \log q(x) = \sum_i f_i(x_i) + \sum_{i<j} J_{ij}\, 1\{x_i = x_j\} + \text{const}.

    Parameters
    ----------
    levels
        Number of levels, or the levels themselves, as of :class:`goodstein.Lattice`.
    couplings
        J, (d, d), symmetric with zero diagonal.
    field
        f, (d, L), in the order of the levels; (L,) or a number stands for all coordinates.

    References
    ----------
    Wu (1982), "The Potts model", *Reviews of Modern Physics* 54.

    Examples
    --------
    >>> from goodstein.families import Potts
    >>> q = Potts(3, [[0.0, 1.0], [1.0, 0.0]], [0.0, 0.0, 0.5])
    >>> q.logpdf([[2, 2], [0, 1]])
    array([2., 0.])
    >>> x = q.sample(3000, rng=1)
    >>> round(float(Potts.fit(x, 3).couplings[0, 1]), 1)
    1.0
    """

    levels: Any
    couplings: Array
    field: Array

    _free = free(field=Contrasts(), couplings=Couplings())

    def __init__(self, levels: ArrayLike, couplings: ArrayLike, field: ArrayLike = 0.0) -> None:
        matrix = discrete.as_couplings("couplings", couplings)
        lattice = Lattice(levels, len(matrix))
        shape = (lattice.dim, len(lattice.levels))
        values = numbers(field, "field")
        if values.shape not in ((), shape[1:], shape):
            expected = f"a number, {shape[1]} of them, one for each level, or shape {shape}"
            raise InputError(f"expected {expected}, got shape {values.shape}.", argument="field")
        self._set(levels=lattice._arguments()[0], couplings=matrix, domain=lattice)
        self._set(field=np.broadcast_to(values, shape).copy())

    @classmethod
    def fit(cls, x: ArrayLike, levels: ArrayLike, *, penalty: float = 0.0) -> Self:
        """Maximum likelihood by enumeration, for at most 4096 states; the first level has field zero.

        ``penalty`` is that of :meth:`Ising.fit`.
        """
        lattice, codes = discrete.as_states(x, levels)
        if lattice.size > discrete.FIT_STATES:
            states = f"{lattice.size:.3g} states; at most {discrete.FIT_STATES} are summed over"
            reason = f"the likelihood on {lattice!r} needs {states}."
            raise InputError(reason, argument="x", remedy="Fit fewer coordinates at a time.")
        d, count = lattice.dim, len(lattice.levels)
        statistics = _statistics(lattice.encode(lattice.states()), count)
        observed = _statistics(codes, count).mean(axis=0)
        beta = discrete.maximum_likelihood(statistics, observed, number(penalty, "penalty", least=0.0))
        free = d * (count - 1)
        field = np.zeros((d, count))
        field[:, 1:] = beta[:free].reshape(d, count - 1)
        return cls(levels, discrete.symmetric(beta[free:], d), field)

    def _log_weight(self, codes: Codes) -> Array:
        value = self.field[np.arange(self.dim), codes].sum(axis=1)
        for level in range(self.field.shape[1]):
            here = (codes == level).astype(np.float64)
            value += 0.5 * np.einsum("ij,ij->i", here, here @ self.couplings)
        return np.asarray(value)

    def _log_ratio(self, codes: Codes) -> Array:
        count = self.field.shape[1]
        following = (codes + 1) % count
        coordinate = np.arange(self.dim)
        result = self.field[coordinate, following] - self.field[coordinate, codes]
        for level in range(count):
            # How strongly the other coordinates pull to this level.
            pull = (codes == level).astype(np.float64) @ self.couplings
            result += np.where(following == level, pull, 0.0) - np.where(codes == level, pull, 0.0)
        return np.asarray(result)

    def _log_conditional(self, codes: Codes, i: int) -> Array:
        levels = range(self.field.shape[1])
        pulls = [(codes == level) @ self.couplings[i] for level in levels]
        return np.asarray(np.stack(pulls, axis=1) + self.field[i])


def _statistics(codes: Codes, levels: int) -> Array:
    """1{x_i = l} for l > 0, and 1{x_i = x_j} over i < j."""
    indicators = (codes[:, :, None] == np.arange(1, levels)).reshape(len(codes), -1)
    i, j = np.triu_indices(codes.shape[1], 1)
    return np.concatenate([indicators, codes[:, i] == codes[:, j]], axis=1).astype(np.float64)
