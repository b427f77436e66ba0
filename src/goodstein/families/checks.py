"""Checks of parameters and data that every family makes in the same words."""

from __future__ import annotations

import numpy as np

from goodstein.constraints import LARGEST, numbers, real_array
from goodstein.domains import Simplex
from goodstein.errors import InputError, describe_rows, must, refuse_rows
from goodstein.types import Array, ArrayLike
from goodstein.validation import as_data


def vector(value: ArrayLike, name: str, above: float = -np.inf) -> Array:
    """A parameter with one number per coordinate; a scalar is a vector of one."""
    return np.atleast_1d(numbers(value, name, ndim=(0, 1), above=above))


def as_vectors(**parameters: ArrayLike) -> list[Array]:
    """Vectors of one length; those of length one are repeated."""
    vectors = {name: vector(value, name) for name, value in parameters.items()}
    d = max(len(one) for one in vectors.values())
    if any(len(one) not in (1, d) for one in vectors.values()):
        lengths = ", ".join(f"`{name}` has {len(one)}" for name, one in vectors.items())
        raise InputError(f"Parameters of different lengths: {lengths}. Give each one number, or all as many.")
    return [np.broadcast_to(one, d).copy() for one in vectors.values()]


def as_entries(name: str, value: ArrayLike, count: int, what: str) -> Array:
    """A vector of so many entries, one for each of something; a number stands for all."""
    entries = vector(value, name)
    if len(entries) not in (1, count):
        expected = f"expected one number or {count}, one for each {what}"
        raise InputError(f"{expected}, got {len(entries)}.", argument=name)
    return np.broadcast_to(entries, count).copy()


def as_points(x: ArrayLike, d: int, name: str = "x", largest: float = np.inf) -> Array:
    """Points (n, d) at which a family is evaluated; for d = 1 also (n,)."""
    points = real_array(x, name)
    if points.ndim == 1 and d == 1:
        points = points[:, None]
    if points.ndim != 2 or points.shape[1] != d:
        hint = " For a single point pass x[None, :]." if points.shape == (d,) else ""
        raise InputError(f"expected shape (n, {d}), got {points.shape}.{hint}", argument=name)
    good = np.isfinite(points)
    if not good.all():
        refuse_rows(~good.all(axis=1), "hold NaN or infinite values.", "Remove them.", argument=name)
    if largest < np.inf:
        far = (np.abs(points) > largest).any(axis=1)
        refuse_rows(far, f"hold values beyond {largest:g} in size.", "Remove them.", argument=name)
    return points


def as_sample(x: ArrayLike) -> Array:
    """Observations (n, d), n >= 2 and all finite, from which a family is fitted; (n,) is one column."""
    try:
        return as_data(x, use="a fit", largest=LARGEST)
    except InputError as error:
        raise error.told("x") from None


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


def as_pairs(x: Array, z: ArrayLike, width: tuple[int, ...]) -> tuple[Array, Array]:
    """Points, and a latent value for each of them, (n, *width)."""
    latent = real_array(z, "z")
    if latent.shape != (len(x), *width) or not np.isfinite(latent).all():
        raise must("z", f"finite numbers of shape {(len(x), *width)}, one row for each point", z)
    return x, latent
