"""Whether a derivative that somebody wrote is that of the function, by differences of several widths."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from goodstein.types import Array, BoolArray

SHARES = 10.0 ** -np.arange(1.0, 8.0)
"""Half widths of the differences, in units of a length on which the function may vary."""


def differences(
    function: Callable[[Array], Array], x: Array, step: Array, contains: Callable[[Array], BoolArray]
) -> Array:
    """Slopes of a function of points (n, d) along a step, (widths, n, …); NaN where that leaves a domain."""
    ends = x + np.multiply.outer(SHARES, np.stack([-np.atleast_2d(step), np.atleast_2d(step)]))
    inside = contains(ends.reshape(-1, x.shape[1]))
    values = function(np.where(inside.reshape(ends.shape[:3])[..., None], ends, x).reshape(-1, x.shape[1]))
    values = np.where(inside.reshape(-1, *[1] * (values.ndim - 1)), values, np.nan)
    values = values.reshape(*ends.shape[:3], *values.shape[1:])
    return np.asarray((values[:, 1] - values[:, 0]) / (2.0 * SHARES).reshape(-1, *[1] * (values.ndim - 2)))


def contradicted(slopes: Array, claimed: Array, small: Array) -> BoolArray:
    """Where slopes (widths, …) contradict a derivative (…).

    It is right if slopes of any width agree with it to 1 %, as interpolated functions do, or differ by less
    than `small`. It is wrong if none does and two in a row differ by a tenth of their distance from it: where
    noise, rounding or a jump rules, finer ones differ more and more.
    """
    with np.errstate(all="ignore"):
        gap = np.abs(slopes - claimed)
        right = gap <= 0.01 * np.maximum(np.abs(slopes), np.abs(claimed)) + small
        settled = np.abs(np.diff(slopes, axis=0)) <= 0.1 * np.minimum(gap[1:], gap[:-1])
    return np.asarray(settled.any(axis=0) & ~right.any(axis=0))
