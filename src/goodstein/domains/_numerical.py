"""Derivatives of a function on a domain by finite differences that stay inside it."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from goodstein._typing import Array
from goodstein.domains.base import Domain
from goodstein.errors import InputError, NumericalScoreWarning, describe_rows

# First step where no boundary is near, in units of the spread of the points along the axis;
# the differences refine it as far as they need.
FIRST_STEP = 0.5

# Share of the coordinates' magnitude within which a step would drown in rounding.
TOO_NEAR = 1e-10

# Estimated error, relative to 1 + |derivative|, from which on a derivative is reported.
TRUSTED = 1e-6


def differentiate(
    function: Callable[[Array], Array], x: Array, domain: Domain, *, name: str, remedy: str
) -> Array:
    """Differentiate a scalar or diagonal function at the rows of ``x``.

    Parameters
    ----------
    function
        Maps (m, d) to (m,) or (m, d).
    x
        Points, (n, d).
    domain
        Limits the steps to half the distance to its boundary. On a domain with a tangent
        basis the derivatives are those along the projections P e_i of the coordinate axes.
    name, remedy
        What messages call the function, and how the user gets around this function.

    Returns
    -------
    Array
        ∂_i g, or ∂_i g_i of a diagonal function, (n, d); with a tangent basis P∇g, or the
        derivatives of g_i along P e_i.
    """
    from scipy.differentiate import derivative

    n, d = x.shape
    if n == 0:
        return np.empty((0, d))
    room = domain.boundary_distance(x)
    stuck = ~(room > TOO_NEAR * np.abs(x).max(axis=1))
    if stuck.any():
        raise InputError(
            f"{name}: {describe_rows(stuck)} lie on the boundary of {domain!r}, where there is no room for "
            f"numerical derivatives. {remedy}."
        )
    axes = np.eye(d) if domain.basis is None else domain.basis.T @ domain.basis
    slopes, errors = np.empty((n, d)), np.empty((n, d))
    for i, axis in enumerate(axes):

        def along(t: Array, row: Array, i: int = i, axis: Array = axis) -> Array:
            t, row = np.broadcast_arrays(t, row)
            points = x[row.ravel().astype(np.intp)] + t.reshape(-1, 1) * axis
            values = np.asarray(function(points))
            return (values if values.ndim == 1 else values[:, i]).reshape(t.shape)

        step = np.minimum(FIRST_STEP * _spread(x @ axis), room / 2)
        # Where the function is not finite there is no derivative, and `derivative` says so.
        with np.errstate(invalid="ignore"):
            result = derivative(along, np.zeros(n), args=(np.arange(n),), initial_step=step)
        slopes[:, i], errors[:, i] = result.df, np.where(result.success, 0.0, result.error)
    _report(slopes, errors, name, remedy)
    return slopes


def _spread(coordinates: Array) -> float:
    """A length that is typical of the points, positive even if they coincide."""
    magnitude = float(np.abs(coordinates).max()) or 1.0
    spread = float(coordinates.std())
    return spread if spread > 1e-6 * magnitude else magnitude


def _report(slopes: Array, errors: Array, name: str, remedy: str) -> None:
    broken = np.asarray(~np.isfinite(slopes).all(axis=1))
    if broken.any():
        raise InputError(
            f"{name} cannot be differentiated numerically at {describe_rows(broken)}: it is not finite "
            f"there or nearby. {remedy}."
        )
    doubtful = np.asarray(~(errors <= TRUSTED * (1 + np.abs(slopes))).all(axis=1))
    if doubtful.any():
        warnings.warn(
            f"{name}: the numerical derivatives are doubtful at {describe_rows(doubtful)}; a kink or noise "
            f"does that. {remedy}.",
            NumericalScoreWarning,
            stacklevel=2,
        )
