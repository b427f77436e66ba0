"""A covariance or shape matrix, checked once and factored once."""

from __future__ import annotations

import numpy as np

from goodstein.constraints import LARGEST, numbers
from goodstein.errors import InputError
from goodstein.families.checks import vector
from goodstein.types import Array, ArrayLike

REMEDY = "Remove coordinates that are linear combinations of others, or add a small multiple of the identity."


class Scatter:
    """A symmetric positive definite matrix Σ = L Lᵀ with what densities need of it.

    That is ``matrix`` Σ, ``precision`` Σ⁻¹, ``factor`` L, the lower Cholesky one, and ``logdet`` log det Σ.
    """

    __slots__ = ("_whitener", "factor", "logdet", "matrix", "precision")

    def __init__(self, name: str, matrix: Array, remedy: str = REMEDY) -> None:
        _require_symmetric(name, matrix)
        matrix = (matrix + matrix.T) / 2
        d = len(matrix)
        variances = np.diagonal(matrix)
        if not (variances >= LARGEST**-2).all():
            raise _not_definite(name, matrix, remedy)
        # Judged and factored as a correlation matrix: units of measurement, however far
        # apart, make no matrix singular.
        scale = np.sqrt(variances)
        correlation = matrix / scale[:, None] / scale
        if np.linalg.eigvalsh(correlation)[0] <= 4 * d * np.finfo(float).eps:
            raise _not_definite(name, matrix, remedy)
        factor = np.linalg.cholesky(correlation)
        self.matrix: Array = matrix
        self.factor: Array = scale[:, None] * factor
        self._whitener: Array = np.linalg.inv(factor) / scale
        self.precision: Array = self._whitener.T @ self._whitener
        self.logdet = 2 * float(np.log(np.diagonal(factor)).sum() + np.log(scale).sum())

    def squared_distance(self, difference: Array) -> Array:
        """δᵀ Σ⁻¹ δ for each row δ of (n, d), (n,)."""
        whitened = difference @ self._whitener.T
        return np.asarray(np.einsum("ij,ij->i", whitened, whitened))


def location_and_scatter(
    location: str, center: ArrayLike, name: str, matrix: ArrayLike
) -> tuple[Array, Scatter]:
    """A location (d,) and its scatter matrix; either may be a number that stands for all coordinates."""
    center = vector(center, location)
    array = numbers(matrix, name, largest=LARGEST**2)
    if array.ndim == 1 or array.ndim > 2 or (array.ndim == 2 and array.shape[0] != array.shape[1]):
        hint = " For a diagonal matrix pass np.diag of it." if array.ndim == 1 else ""
        reason = f"expected a number or a square matrix, got shape {array.shape}.{hint}"
        raise InputError(reason, argument=name)
    d = max(len(center), len(array) if array.ndim else 1)
    if len(center) not in (1, d) or (array.ndim and len(array) != d):
        sizes = f"`{location}` has {len(center)} coordinates but `{name}` has shape {array.shape}."
        remedy = f"Give `{name}` as a number or with shape ({len(center)}, {len(center)})."
        raise InputError(sizes, remedy=remedy)
    if array.ndim == 0:
        array = float(array) * np.eye(d)
    return np.broadcast_to(center, d).copy(), Scatter(f"`{name}`", array)


def _require_symmetric(name: str, matrix: Array) -> None:
    gap = np.abs(matrix - matrix.T)
    scale = np.abs(matrix).max()
    if gap.max() > 1e-8 * scale:
        i, j = sorted(np.unravel_index(gap.argmax(), gap.shape))
        entries = f"entry [{i}, {j}] is {matrix[i, j]:g}, but [{j}, {i}] is {matrix[j, i]:g}"
        remedy = "Correct it, or pass (a + a.T) / 2 if the mean of both is meant."
        raise InputError(f"{name} is not symmetric: {entries}.", remedy=remedy)


def _not_definite(name: str, matrix: Array, remedy: str) -> InputError:
    values = np.linalg.eigvalsh(matrix)
    tiny = 4 * len(matrix) * np.finfo(float).eps * values[-1]
    kind = "not positive definite" if values[0] < -tiny else "singular"
    extremes = f"its smallest eigenvalue is {values[0]:.3g}, its largest {values[-1]:.3g}"
    return InputError(f"{name} is {kind}: {extremes}.", remedy=remedy)
