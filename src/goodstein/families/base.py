"""What all families share: they are values, that is frozen, comparable and picklable."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from goodstein.domains import Domain
from goodstein.families.checks import as_points
from goodstein.frozen import Frozen
from goodstein.types import RNG, Array, ArrayLike

LONGEST_REPR = 80


class Family(Frozen):
    """A distribution with a closed-form score.

    A subclass names its constructor's arguments, in order, in :attr:`_parameters`, and
    stores them in ``__init__`` with :meth:`_set`.
    """

    _parameters: ClassVar[tuple[str, ...]]

    batched: ClassVar[bool] = True
    """All methods take all points at once, which :func:`goodstein.as_model` need not find out."""

    domain: Domain

    @property
    def dim(self) -> int:
        """Number of columns of the data."""
        return self.domain.dim

    @abstractmethod
    def score(self, x: ArrayLike) -> Array:
        """Gradient of the log density at each row of ``x`` (n, d), (n, d)."""

    @abstractmethod
    def logpdf(self, x: ArrayLike) -> Array:
        """Log density at each row of ``x`` (n, d), (n,)."""

    @abstractmethod
    def sample(self, n: int, rng: RNG = None) -> Array:
        """Draw ``n`` independent points, (n, d)."""

    def _points(self, x: ArrayLike) -> Array:
        return as_points(x, self.dim)

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self._parameters)

    def _arguments(self) -> tuple[Any, ...]:
        return tuple(map(_hashable, self._values()))

    def __repr__(self) -> str:
        if sum(np.size(value) for value in self._values()) > LONGEST_REPR // 3:
            return f"{type(self).__name__}(d={self.dim})"
        values = [_short(value) for value in self._values()]
        if len(values) > 1:
            values = [f"{name}={value}" for name, value in zip(self._parameters, values, strict=True)]
        text = f"{type(self).__name__}({', '.join(values)})"
        return text if len(text) <= LONGEST_REPR else f"{type(self).__name__}(d={self.dim})"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "[" + ", ".join(map(_short, value)) + "]" if value.ndim else _short(float(value))
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def _hashable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(map(_hashable, value)) if isinstance(value, list) else value
