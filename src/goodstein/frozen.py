"""Immutable values, and the checks that the constructors of domains share."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any

import numpy as np

from goodstein.errors import DomainError
from goodstein.types import Array


class Frozen(ABC):
    """A value that is compared, hashed, copied and pickled by its constructor's arguments.

    Unlike a frozen dataclass it may keep arrays, which are neither hashable nor comparable
    as a whole. Pickling goes through the constructor, so that what the constructor
    prepares (read-only arrays, spatial indices) exists again in every worker process.
    """

    @abstractmethod
    def _arguments(self) -> tuple[Hashable, ...]:
        """Arguments from which the constructor builds an equal object."""

    def _set(self, **attributes: object) -> None:
        """Fill the attributes; for constructors only."""
        for value in attributes.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self.__dict__.update(attributes)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: make a new one with another {name!r}.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; {name!r} cannot be deleted.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Frozen):
            return NotImplemented
        # A subclass that only names a special case, such as Orthant, equals the general object.
        if not (isinstance(other, type(self)) or isinstance(self, type(other))):
            return NotImplemented
        return self._arguments() == other._arguments()

    def __hash__(self) -> int:
        return hash(self._arguments())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments()


def as_dimension(value: object, name: str, at_least: int) -> int:
    """Return ``value`` as an integer that is not below ``at_least``."""
    try:
        dimension = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise DomainError(f"`{name}` must be a whole number, got {value!r}.") from None
    if dimension < at_least:
        raise DomainError(f"`{name}` must be at least {at_least}, got {dimension}.")
    return dimension


def as_floats(value: object, name: str) -> Array:
    """Return ``value`` as a fresh float64 array without NaN and negative zeros."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DomainError(f"`{name}` must hold numbers: {error}") from None
    if np.isnan(array).any():
        raise DomainError(f"`{name}` must not hold NaN, got {value!r}.")
    return array + 0.0


def nested_tuple(array: Array) -> tuple[Any, ...]:
    """Return a one- or two-dimensional array as a hashable tuple."""
    if array.ndim == 1:
        return tuple(array.tolist())
    return tuple(tuple(row) for row in array.tolist())
