"""Points: rows of an array."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from goodstein.data.base import Data
from goodstein.data.weights import as_weights
from goodstein.engine.executors import one_blas_thread
from goodstein.errors import DomainError
from goodstein.types import Array, Column
from goodstein.validation import as_data

if TYPE_CHECKING:
    from goodstein.domains.base import Domain


class Points(Data):
    """Observations that are rows of numbers, (n, d); operators see the array itself.

    `names` are those of the columns, where they came in a data frame, and `rows` where these rows stood in
    what the user handed in, where some were left out; `weights` are those of the rows, where they differ.
    """

    def __init__(
        self,
        values: Array,
        names: tuple[str, ...] | None = None,
        rows: npt.NDArray[np.intp] | None = None,
        weights: Array | None = None,
    ) -> None:
        self._values, self._names, self._rows, self.weights = values, names, rows, weights

    def __len__(self) -> int:
        return len(self._values)

    def take(self, rows: npt.NDArray[np.intp]) -> Points:
        return Points(self._values[rows], self.names, self.row_numbers[rows], self._weights_of(rows))

    def weighted(self, weights: Any) -> Self:
        moved = copy.copy(self)
        moved.weights = as_weights(weights, len(self))
        return moved

    def _weights_of(self, rows: npt.NDArray[np.intp]) -> Array | None:
        """Those of some rows, which need not be of mean one any more."""
        return None if self.weights is None else self.weights[rows]

    @property
    def names(self) -> tuple[str, ...] | None:
        return self._names

    @property
    def row_numbers(self) -> npt.NDArray[np.intp]:
        return np.arange(len(self)) if self._rows is None else self._rows

    def as_columns(self) -> dict[str, Column]:
        names = self.names or [f"column {j}" for j in range(self._values.shape[1])]
        return dict(zip(names, self._values.T, strict=True))

    def like(self, values: Any, model: Any, domain: Domain) -> Points:
        if isinstance(values, Points):
            values = values.observations
        found = as_data(
            values,
            domain.dim,
            where=repr(domain),
            least=1,
            largest=1e150,  # the squares of larger numbers are no floats
            other_columns=domain.other_columns,
        )
        domain.validate(found)
        return Points(found, self.names)

    @staticmethod
    def stacked(samples: Sequence[Points]) -> Array | None:
        if any(sample.weights is not None for sample in samples):
            return None
        return np.concatenate([sample.observations for sample in samples])

    @property
    def observations(self) -> Array:
        return self._values

    def as_rows(self) -> Array:
        return self._values

    def validate(self, model: Any, domain: Domain) -> None:
        domain.validate(self._values)

    def rounding(self, domain: Domain) -> float:
        return domain.rounding(self._values)


def draw(model: Any, domain: Domain, n: int, rng: np.random.Generator) -> Array:
    """Points from the model, (n, d), all of them in the domain."""
    with one_blas_thread():
        sample: Array = model.sample(n, rng)
    try:
        domain.validate(sample)
    except DomainError as error:
        remedy = "For a model that is restricted to the domain use families.Truncated(model, domain)."
        reason = f"The sampler of {model.name} leaves the domain: {error.bare}"
        raise DomainError(reason, remedy=remedy) from None
    return sample
