"""Longitudes and latitudes as points of the sphere."""

from __future__ import annotations

import numpy as np

from goodstein.constraints import check_flag, real_array
from goodstein.errors import DomainError, InputError, describe_rows, refuse_rows, warn
from goodstein.types import Array, ArrayLike


def from_lonlat(longitude: ArrayLike, latitude: ArrayLike, *, degrees: bool = True) -> Array:
    r"""Unit vectors, (n, 3), of places on the Earth or on the sky, for tests on :class:`Sphere`.

    .. math:: x = (\cos φ \cos λ, \; \cos φ \sin λ, \; \sin φ)

    with longitude λ and latitude φ. A density on the sphere is one with respect to area, so that a uniform
    distribution is not uniform in the latitude.

    Parameters
    ----------
    longitude
        From −180 to 360 degrees, east positive, (n,); or right ascensions.
    latitude
        From −90 to 90 degrees, north positive, (n,); or declinations.
    degrees
        False for angles in radians.

    Examples
    --------
    >>> import goodstein as gs
    >>> gs.from_lonlat([0.0, 90.0, 0.0], [0.0, 0.0, 90.0]).round(12) + 0.0
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    lon, lat = _angles(longitude, "longitude"), _angles(latitude, "latitude")
    if len(lon) != len(lat):
        raise InputError(f"`longitude` has {len(lon)} values and `latitude` has {len(lat)}: each needs one.")
    check_flag(degrees, "degrees")
    turn, unit = (360.0, "°") if degrees else (2.0 * np.pi, "")
    _require_latitudes(lon, lat, turn, unit)
    outside = (lon < -turn / 2 * (1 + 1e-12)) | (lon > turn * (1 + 1e-12))
    ends = f"−{turn / 2:.5g}{unit} … {turn:.5g}{unit}"
    remedy = f"Longitudes run from −{turn / 2:.5g}{unit} or 0; longitude % {turn:.5g} brings others back."
    refuse_rows(outside, f"lie outside {ends}.", remedy, argument="longitude", error=DomainError)
    if degrees and len(lon) > 1 and np.abs(lon).max() <= 2 * np.pi and np.abs(lat).max() <= np.pi / 2:
        warn(
            "All longitudes are within ±2π and all latitudes within ±π/2. Are they radians? "
            "Then pass degrees=False.",
            UserWarning,
        )
    if degrees:
        lon, lat = np.radians(lon), np.radians(lat)
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def _angles(values: ArrayLike, name: str) -> Array:
    angles = real_array(values, name)
    angles = angles[:, 0] if angles.ndim == 2 and angles.shape[1] == 1 else angles
    if angles.ndim != 1:
        raise InputError(f"must have shape (n,), got {angles.shape}.", argument=name, predicate=True)
    refuse_rows(~np.isfinite(angles), "hold NaN or infinite values.", "Remove them.", argument=name)
    return angles


def _require_latitudes(lon: Array, lat: Array, turn: float, unit: str) -> None:
    """Raise where latitudes are beyond the poles, and say whether they were taken for longitudes."""
    pole = turn / 4
    beyond = np.abs(lat) > pole * (1 + 1e-12)
    if not beyond.any():
        return
    hints = []
    if (np.abs(lon) <= pole).all():
        hints.append("All of `longitude` could be latitudes: longitude comes first, exchange the two.")
    if unit == "":
        hints.append("Angles in degrees need degrees=True.")
    raise DomainError(
        f"{describe_rows(beyond)} lie beyond a pole, ±{pole:.5g}{unit}.",
        argument="latitude",
        rows=beyond,
        remedy=" ".join(hints) or "Remove or correct them.",
    )
