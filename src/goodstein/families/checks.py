"""Checks of parameters and data that every family makes in the same words."""

from __future__ import annotations

import numpy as np

from goodstein.domains import Domain, Simplex
from goodstein.errors import InputError, describe_rows, refuse_rows
from goodstein.types import Array, ArrayLike


def as_floats(name: str, value: ArrayLike) -> Array:
    """``value`` as float64 array, without promise about shape or finiteness."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufO":
            raise TypeError
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"expected real numbers, got {value!r:.60}.", argument=name) from None


def as_parameter(name: str, value: ArrayLike) -> Array:
    """A parameter: finite floats of any shape, at least one, in an array that nobody else holds."""
    array = as_floats(name, value).copy()
    if array.size == 0:
        raise InputError(f"expected numbers, got an empty array of shape {array.shape}.", argument=name)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        found = f"{len(bad)} of {array.size} entries are not finite, the first is{_index(bad[0])}."
        raise InputError(found, argument=name)
    return array


def as_vector(name: str, value: ArrayLike) -> Array:
    """A parameter with one number per coordinate; a scalar is a vector of one."""
    array = as_parameter(name, value)
    if array.ndim > 1:
        raise InputError(
            f"expected a number or a vector, got an array of shape {array.shape}.", argument=name
        )
    return np.atleast_1d(array)


def as_vectors(**parameters: ArrayLike) -> list[Array]:
    """Vectors of one length; those of length one are repeated."""
    vectors = {name: as_vector(name, value) for name, value in parameters.items()}
    d = max(len(vector) for vector in vectors.values())
    if any(len(vector) not in (1, d) for vector in vectors.values()):
        lengths = ", ".join(f"`{name}` has {len(vector)}" for name, vector in vectors.items())
        raise InputError(f"Parameters of different lengths: {lengths}. Give each one number, or all as many.")
    return [np.broadcast_to(vector, d).copy() for vector in vectors.values()]


def require_positive(name: str, value: Array) -> None:
    """Raise where an entry is zero or negative, and say which."""
    bad = np.argwhere(~(value > 0))
    if len(bad):
        first = f"{value[tuple(bad[0])]:g} is the value{_index(bad[0])}"
        raise InputError(f"must be positive, but {first}.", argument=name)


def as_number(name: str, value: ArrayLike, what: str = "number") -> float:
    """A single number."""
    array = as_parameter(name, value)
    if array.ndim:
        raise InputError(f"expected one {what}, got an array of shape {array.shape}.", argument=name)
    return float(array)


def as_positive(name: str, value: ArrayLike) -> float:
    """A single positive number."""
    number = as_number(name, value)
    require_positive(name, np.array(number))
    return number


def as_nonnegative(name: str, value: ArrayLike) -> float:
    """A single number that is not negative."""
    number = as_number(name, value)
    if number < 0:
        raise InputError(f"must not be negative, got {number:g}.", argument=name)
    return number


def as_entries(name: str, value: ArrayLike, count: int, what: str) -> Array:
    """A vector of so many entries, one for each of something; a number stands for all."""
    vector = as_vector(name, value)
    if len(vector) not in (1, count):
        expected = f"expected one number or {count}, one for each {what}"
        raise InputError(f"{expected}, got {len(vector)}.", argument=name)
    return np.broadcast_to(vector, count).copy()


def as_domain(value: Domain) -> Domain:
    """A domain, and nothing that only looks like one."""
    if not isinstance(value, Domain):
        raise InputError(f"expected a domain such as Box or Ball, got {value!r:.60}.", argument="domain")
    return value


def as_points(x: ArrayLike, d: int) -> Array:
    """Points (n, d) at which a family is evaluated; for d = 1 also (n,)."""
    points = as_floats("x", x)
    if points.ndim == 1 and d == 1:
        return points[:, None]
    if points.ndim != 2 or points.shape[1] != d:
        hint = " For a single point pass x[None, :]." if points.shape == (d,) else ""
        raise InputError(f"expected shape (n, {d}), got {points.shape}.{hint}", argument="x")
    return points


def as_sample(x: ArrayLike) -> Array:
    """Observations (n, d), n >= 2 and all finite, from which a family is fitted; (n,) is one column."""
    points = as_floats("x", x)
    if points.ndim == 1:
        points = points[:, None]
    if points.ndim != 2 or points.shape[1] == 0:
        raise InputError(f"expected shape (n, d), got {points.shape}.", argument="x")
    if len(points) < 2:
        raise InputError(f"a fit needs at least 2 rows, got {len(points)}.", argument="x")
    bad = ~np.isfinite(points).all(axis=1)
    refuse_rows(bad, "hold NaN or infinite values.", "Remove or impute them.", argument="x")
    return points


def require_spread(x: Array, name: str = "`x`") -> None:
    """Raise where a column is constant up to rounding, so that it has no scale to fit."""
    spread = np.ptp(x, axis=0)
    constant = np.flatnonzero(spread <= 8 * np.finfo(float).eps * np.abs(x).max(axis=0))
    if len(constant):
        raise InputError(f"{name}: column {constant[0]} is constant, so it has no scale. Remove it.")


def as_compositions(x: ArrayLike) -> Array:
    """Compositions (n, d) without zeros, from which a family on the simplex is fitted."""
    points = as_sample(x)
    if points.shape[1] < 2:
        raise InputError("a composition has at least 2 parts, got 1 column.", argument="x")
    bad = np.asarray((points <= 0).any(axis=1))
    if bad.any():
        found = f"{describe_rows(bad)} hold zeros or negative values."
        reason = f"the maximum likelihood fit needs positive parts, but {found}"
        remedy = "Replace zeros beforehand, in a way you can defend."
        raise InputError(reason, argument="x", rows=bad, remedy=remedy)
    Simplex(points.shape[1]).validate(points)
    return points


def _index(position: Array) -> str:
    return f" at index {', '.join(map(str, position))}" if len(position) else ""
