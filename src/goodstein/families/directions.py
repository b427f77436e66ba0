"""Checks that families of directions share."""

from __future__ import annotations

import numpy as np

from goodstein.domains.sphere import Sphere
from goodstein.errors import InputError
from goodstein.families.checks import as_parameter, as_sample
from goodstein.types import Array, ArrayLike


def as_nonnegative(name: str, value: ArrayLike) -> float:
    """A single number that is not negative."""
    array = as_parameter(name, value)
    if array.ndim:
        raise InputError(f"`{name}`: expected one number, got an array of shape {array.shape}.")
    if array < 0:
        raise InputError(f"`{name}`: must not be negative, got {float(array):g}.")
    return float(array)


def as_direction(name: str, value: ArrayLike) -> Array:
    """A unit vector of at least two coordinates."""
    vector = as_parameter(name, value)
    if vector.ndim != 1 or len(vector) < 2:
        raise InputError(f"`{name}`: expected a vector of at least 2 coordinates, got shape {vector.shape}.")
    norm = float(np.linalg.norm(vector))
    if abs(norm - 1.0) > 1e-8:
        remedy = (
            "It has no direction."
            if norm == 0
            else f"Divide it by its norm, in double precision, if that is meant: {name} = "
            f"np.asarray({name}, dtype=float); {name} = {name} / np.linalg.norm({name})."
        )
        raise InputError(f"`{name}`: expected a unit vector, got one of norm {norm:.10g}. {remedy}")
    return vector


def as_directions(x: ArrayLike) -> Array:
    """Unit vectors (n, d), n ≥ 2, from which a family is fitted."""
    points = as_sample(x)
    if points.shape[1] < 2:
        raise InputError("`x`: directions are unit vectors of at least 2 coordinates, got 1 column.")
    Sphere(points.shape[1]).validate(points)
    return points
