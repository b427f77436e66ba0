"""Coordinates of a family around one of its members: parameters that may move freely, however constrained.

All are without unit, zero at the member itself, and of a size such that a step of one is large: locations are
moved by multiples of a scale, positive numbers by factors, matrices by matrix exponentials.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from goodstein.types import Array


class Coordinate(ABC):
    """How one parameter of a constructor moves."""

    def size(self, value: Any) -> int:
        """Number of coordinates of such a value."""
        return int(np.size(value))

    @abstractmethod
    def moved(self, value: Any, by: Array, others: Mapping[str, Any]) -> Any:
        """The value moved by t, (size,), given all parameters where they were."""


@dataclass(frozen=True)
class Positive(Coordinate):
    """Positive numbers, v·exp(t)."""

    def moved(self, value: Any, by: Array, others: Mapping[str, Any]) -> Any:
        return value * np.exp(by.reshape(np.shape(value)))


@dataclass(frozen=True)
class Probability(Coordinate):
    """Numbers between zero and one, with log odds moved by t."""

    def moved(self, value: Any, by: Array, others: Mapping[str, Any]) -> Any:
        odds = value * np.exp(by.reshape(np.shape(value)))
        return odds / (1.0 - value + odds)


@dataclass(frozen=True)
class Location(Coordinate):
    """Real numbers, v + scale·t; the scale is a parameter, numbers or a matrix of which it is the root."""

    scale: str | None = None

    def moved(self, value: Any, by: Array, others: Mapping[str, Any]) -> Any:
        scale = 1.0 if self.scale is None else others[self.scale]
        shaped = by.reshape(np.shape(value))
        if np.ndim(scale) > np.ndim(value):
            return value + np.einsum("...ij,...j->...i", np.linalg.cholesky(scale), shaped)
        return value + scale * shaped


@dataclass(frozen=True)
class Definite(Coordinate):
    """Positive definite matrices, L exp(T) Lᵀ with LLᵀ = v and T symmetric, t its lower triangle."""

    def size(self, value: Any) -> int:
        d = value.shape[-1]
        return int(np.prod(value.shape[:-2])) * int(d * (d + 1) // 2)

    def moved(self, value: Any, by: Array, others: Mapping[str, Any]) -> Any:
        d = value.shape[-1]
        change = np.zeros(value.shape)
        i, j = np.tril_indices(d)
        change[..., i, j] = change[..., j, i] = by.reshape(*value.shape[:-2], len(i))
        values, vectors = np.linalg.eigh(change)
        factor = np.linalg.cholesky(value) @ (vectors * np.exp(0.5 * values)[..., None, :])
        return factor @ np.swapaxes(factor, -1, -2)


@dataclass(frozen=True)
class Shares(Coordinate):
    """Positive numbers that sum to one, v·exp(t) over its sum, the last t being zero."""

    def size(self, value: Any) -> int:
        return len(value) - 1

    def moved(self, value: Any, by: Array, others: Mapping[str, Any]) -> Any:
        weights = value * np.exp(np.append(by, 0.0))
        return weights / weights.sum()


@dataclass(frozen=True)
class Contrasts(Coordinate):
    """Rows of real numbers of which the first stays where it is, (d, L)."""

    def size(self, value: Any) -> int:
        return int(np.size(value[:, 1:]))

    def moved(self, value: Any, by: Array, others: Mapping[str, Any]) -> Any:
        return value + np.hstack([np.zeros((len(value), 1)), by.reshape(len(value), -1)])


@dataclass(frozen=True)
class Couplings(Coordinate):
    """Symmetric matrices with a zero diagonal, t their lower triangle."""

    def size(self, value: Any) -> int:
        d = len(value)
        return d * (d - 1) // 2

    def moved(self, value: Any, by: Array, others: Mapping[str, Any]) -> Any:
        change = np.zeros_like(value)
        change[np.tril_indices(len(value), -1)] = by
        return value + change + change.T


def free(**coordinates: Coordinate) -> Mapping[str, Coordinate]:
    """Parameters by name, and how they move."""
    return MappingProxyType(coordinates)


def lower_of(matrices: Array) -> Array:
    """The lower triangles of symmetric matrices, (n, d, d) to (n, d(d + 1)/2)."""
    i, j = np.tril_indices(matrices.shape[1])
    return matrices[:, i, j]
