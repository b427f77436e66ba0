"""Points: rows of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from goodstein.data.base import Data
from goodstein.engine.executors import one_blas_thread
from goodstein.errors import DomainError
from goodstein.types import Array

if TYPE_CHECKING:
    from goodstein.domains.base import Domain


class Points(Data):
    """Observations that are rows of numbers, (n, d); operators see the array itself."""

    def __init__(self, values: Array) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def take(self, rows: npt.NDArray[np.intp]) -> Points:
        return Points(self._values[rows])

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
