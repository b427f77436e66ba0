"""Intensities that are exponentials of covariates, and rasters of covariates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from goodstein.constraints import answered, asked, is_function, numbers, real_array
from goodstein.domains import Box
from goodstein.errors import InputError, must
from goodstein.frozen import Frozen
from goodstein.types import Array, ArrayLike

STEPS = 100
TOLERANCE = 1e-12
"""Of the gradient, relative to the number of points."""


class Raster(Frozen):
    """A covariate on a grid of equal cells: the value of the cell in which a point lies.

    Parameters
    ----------
    values
        One value for each cell, an array with an axis for each coordinate, the first for the first.
    domain
        The bounded :class:`Box` that the cells divide.

    Examples
    --------
    >>> from goodstein.domains import Box
    >>> from goodstein.patterns import Raster
    >>> Raster([[1.0, 2.0], [3.0, 4.0]], Box([0, 0], [1, 1]))([[0.9, 0.2]])
    array([3.])
    """

    values: Array
    domain: Box

    def __init__(self, values: ArrayLike, domain: Box) -> None:
        if not (isinstance(domain, Box) and domain.bounded):
            raise must("domain", "a bounded Box", domain, "Raster")
        self._set(values=numbers(values, "values", ndim=domain.dim, of="Raster"), domain=domain)

    def __call__(self, u: ArrayLike) -> Array:
        points = real_array(u, "u")
        if points.ndim != 2 or points.shape[1] != self.domain.dim:
            raise InputError(f"expected shape (k, {self.domain.dim}), got {points.shape}.", argument="u")
        share = (points - self.domain.lower) / (self.domain.upper - self.domain.lower)
        shape = np.array(self.values.shape)
        if ((share < 0) | (share > 1)).any():
            raise InputError(f"Points lie outside {self.domain!r}, which the raster covers.", argument="u")
        cell = np.minimum((share * shape).astype(int), shape - 1)
        return np.asarray(self.values[tuple(cell.T)])


class LogLinear(Frozen):
    r"""λ(u) = exp(θ₀ + Σ_k θ_k Z_k(u)), with covariates Z that are functions of places.

    Parameters
    ----------
    coefficients
        θ₀, θ₁, …, one more than there are covariates.
    covariates
        Functions of points (k, d) that return (k,), such as :class:`Raster`; in a dictionary they have names.

    Examples
    --------
    >>> from goodstein.patterns import LogLinear
    >>> LogLinear([0.0, 2.0], [lambda u: u[:, 0]])([[0.5]])
    array([2.71828183])
    """

    coefficients: Array
    covariates: tuple[Callable[[Array], Any], ...]
    names: tuple[str, ...]

    _parameters = ("coefficients", "covariates")

    def __init__(self, coefficients: ArrayLike, covariates: Any) -> None:
        functions, names = as_covariates(covariates)
        theta = numbers(coefficients, "coefficients", ndim=1, of="LogLinear")
        if len(theta) != len(functions) + 1:
            raise must("coefficients", f"{len(functions) + 1} numbers, the first a constant", coefficients)
        self._set(coefficients=theta, covariates=functions, names=names)

    def __call__(self, u: ArrayLike) -> Array:
        points = real_array(u, "u")
        return np.asarray(np.exp(design(self.covariates, self.names, points) @ self.coefficients))

    @property
    def __name__(self) -> str:
        first, *others = self.coefficients.tolist()
        terms = [f"{theta:+.4g} {name}" for theta, name in zip(others, self.names, strict=True)]
        return " ".join([f"exp({first:.4g}", *terms]) + ")"

    def __repr__(self) -> str:
        return f"LogLinear({self.__name__})"


def as_covariates(covariates: Any) -> tuple[tuple[Callable[[Array], Any], ...], tuple[str, ...]]:
    """Functions of places, and their names."""
    named = isinstance(covariates, Mapping)
    listed = covariates if isinstance(covariates, list | tuple) else [covariates]
    functions = tuple(covariates.values() if named else listed)
    if not functions or not all(is_function(one) for one in functions):
        raise must("covariates", "functions of points (k, d) that return (k,), in a list", covariates)
    names = tuple(map(str, covariates)) if named else tuple(f"Z{k + 1}" for k in range(len(functions)))
    return functions, names


def design(functions: Sequence[Any], names: Sequence[str], u: Array) -> Array:
    """Ones and the covariates at points, (k, 1 + p)."""
    columns = []
    for function, name in zip(functions, names, strict=True):
        what = f"the covariate {name}"
        values = answered(asked(function, what, u), what, (len(u),))
        if not np.isfinite(values).all():
            where = np.array2string(u[np.flatnonzero(~np.isfinite(values))[0]], precision=6)
            raise InputError(f"The covariate {name} is not finite at the point {where}.")
        columns.append(values)
    return np.column_stack([np.ones(len(u)), *columns])


def maximise(at_points: Array, at_nodes: Array, weights: Array, patterns: int = 1) -> Array:
    """θ that maximises Σ_x θ·z(x) − m Σ_u w_u exp(θ·z(u)), which is concave, by Newton's method.

    Of a Poisson process this is the likelihood of m patterns with the integral as a sum over nodes, of a
    Gibbs process the pseudo-likelihood of one.
    """
    scale = np.maximum(np.abs(at_nodes).max(axis=0), 1e-300)
    x, u = at_points / scale, at_nodes / scale
    gained = x.sum(axis=0)
    w = patterns * weights
    theta = np.zeros(u.shape[1])
    theta[0] = np.log(len(x) / w.sum())

    def value(at: Array) -> float:
        return float(gained @ at - w @ np.exp(np.minimum(u @ at, 700.0)))

    for _ in range(STEPS):
        rate = w * np.exp(np.minimum(u @ theta, 700.0))
        gradient = gained - rate @ u
        if np.abs(gradient).max() <= TOLERANCE * len(x):
            break
        information = (u * rate[:, None]).T @ u
        if np.linalg.matrix_rank(information) < len(theta):
            raise InputError(
                "The covariates are linearly dependent in the window, or the maximum lies at infinity.",
                argument="covariates",
                remedy="Leave one out.",
            )
        step = np.linalg.solve(information, gradient)
        before, size = value(theta), 1.0
        while value(theta + size * step) < before - 1e-9 * abs(before) and size > 1e-6:
            size *= 0.5
        theta = theta + size * step
    return np.asarray(theta / scale)
