"""Markov chains: points that come in sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from goodstein.data.points import Points
from goodstein.errors import InputError, must
from goodstein.foreign import contents
from goodstein.types import Array
from goodstein.validation import as_data, column_names


class Chains(Points):
    """Draws of one or several Markov chains, each in its order, the chains independent of each other.

    Random signs change between batches of draws only, five times as long as the correlation time, and no
    batch crosses the end of a chain; parts of a sample to learn from are the beginnings of all chains.
    Every test reads lists of arrays (draws, parameters) and arrays (chains, draws, parameters) as chains, if
    there are more draws than chains. Use this class for shorter chains and for chains of one parameter.

    Parameters
    ----------
    chains
        An array (chains, draws, parameters), or a list with an array (draws, parameters) or (draws,) for
        each chain, which need not be equally long; for one chain ``[x]``.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> chains = gs.Chains(np.random.default_rng(1).standard_normal((4, 100, 2)))
    >>> gs.ksd_test(chains, gs.families.Normal([0, 0]), rng=1).data
    '4 chains of 100 draws'
    """

    def __init__(self, chains: Any) -> None:
        chains = chains if isinstance(chains, list | tuple) else contents(chains)
        if isinstance(chains, np.ndarray) and chains.ndim < 3:
            raise InputError(
                f"is one array of shape {chains.shape}, of which it is not clear what are chains.",
                argument="data",
                predicate=True,
                remedy="Pass [x] for one chain, (draws, parameters), or list(x) for chains of one parameter.",
            )
        if not isinstance(chains, list | tuple | np.ndarray):
            wanted = "an array (chains, draws, parameters), or a list of arrays (draws, parameters)"
            raise must("data", wanted, chains)
        chains = list(chains)
        parts = [_as_chain(part, k) for k, part in enumerate(chains)]
        if not parts:
            raise InputError("holds no chain.", argument="data", predicate=True)
        widths = sorted({part.shape[1] for part in parts})
        if len(widths) > 1:
            raise InputError(
                f"The chains have different numbers of parameters ({', '.join(map(str, widths))}).",
                argument="data",
                remedy="Pass an array (draws, parameters) for each chain.",
            )
        super().__init__(np.concatenate(parts), column_names(chains[0]))
        self._sequences = tuple(len(part) for part in parts)

    @classmethod
    def of(
        cls,
        values: Array,
        sequences: Sequence[int],
        names: tuple[str, ...] | None = None,
        rows: npt.NDArray[np.intp] | None = None,
        weights: Array | None = None,
    ) -> Self:
        """Chains of the given lengths, one after the other in an array (n, d)."""
        made = cls.__new__(cls)
        Points.__init__(made, values, names, rows, weights)
        made._sequences = tuple(int(length) for length in sequences)
        return made

    @property
    def sequences(self) -> tuple[int, ...]:
        return self._sequences

    def take(self, rows: npt.NDArray[np.intp]) -> Chains:
        """Some of the draws; those that go on in the order of a chain make one."""
        index = np.arange(len(self))[rows]
        owner = np.repeat(np.arange(len(self.sequences)), self.sequences)[index]
        ends = np.flatnonzero((np.diff(index) <= 0) | (np.diff(owner) != 0)) + 1
        lengths = np.diff([0, *ends, len(index)]).tolist()
        numbers, weights = self.row_numbers[index], self._weights_of(index)
        return Chains.of(self.observations[index], lengths, self.names, numbers, weights)

    def many(self, model: Any, domain: Any, n: int, rng: np.random.Generator) -> Chains:
        """n draws of the model, in chains like these if they are as many."""
        drawn = super().many(model, domain, n, rng)
        return Chains.of(drawn.observations, self.sequences if n == len(self) else (n,))

    def describe(self) -> str:
        count, shortest, longest = len(self.sequences), min(self.sequences), max(self.sequences)
        draws = f"{longest} draws" if shortest == longest else f"{shortest} to {longest} draws"
        return f"{count} chains of {draws}" if count > 1 else f"a chain of {draws}"


def chained(data: Any) -> Any:
    """Data that are plainly several chains as such; everything else as it is.

    These are arrays with three axes and lists of arrays with two; a list of arrays with one axis are rows.
    Chains that are no longer than many may be a table with an axis too many.
    """
    several = (
        isinstance(data, list | tuple) and data and (getattr(data[0], "ndim", 0) == 2 or _is_nested(data[0]))
    )
    if not several and not (isinstance(data, np.ndarray) and data.ndim == 3):
        return data
    found = Chains(data)
    if len(found.sequences) >= max(found.sequences):
        reason = f"would be {found.describe()}, fewer draws than chains."
        remedy = "Pass Chains(data) if that is meant, or a table (n, d) such as data[..., 0]."
        raise InputError(reason, argument="data", predicate=True, remedy=remedy)
    return found


def _is_nested(part: Any) -> bool:
    """Whether it is a list of rows, each a list of numbers."""
    return isinstance(part, list | tuple) and bool(part) and isinstance(part[0], list | tuple | np.ndarray)


def _as_chain(part: Any, k: int) -> Array:
    try:
        return as_data(part, least=1)
    except InputError as error:
        raise error.told("data", before=f"Chain {k}: ") from None
