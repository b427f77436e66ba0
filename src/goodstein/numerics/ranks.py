"""Ranks, equal entries sharing the mean of theirs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from goodstein.types import Array

Places = npt.NDArray[np.intp]

MANY = 2000
"""Rows that are not sorted only to find those in the middle."""


def doubled_ranks(x: Array, order: Places | None = None) -> Places:
    """Twice the ranks of each column of x (n, d), from 1 on: whole numbers even where entries tie.

    `order` is that of every column, where it is known already, ties in any order.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.numerics.ranks import doubled_ranks
    >>> doubled_ranks(np.array([[3.0], [1.0], [3.0]])).ravel().tolist()
    [5, 2, 5]
    """
    order = np.argsort(x, axis=0) if order is None else order
    ranks = np.empty(x.shape, np.intp)
    np.put_along_axis(ranks, order, sum(_runs(np.take_along_axis(x, order, axis=0))) + 2, axis=0)
    return ranks


def medians(x: Array, axis: int = 0) -> Array:
    """The median of each column of x, (n, d) to (d,): for few rows in a quarter of the time of NumPy's.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.numerics.ranks import medians
    >>> medians(np.array([[3.0], [1.0], [2.0], [9.0]])).tolist()
    [2.5]
    """
    n = x.shape[axis]
    if n > MANY:
        return np.asarray(np.median(x, axis=axis))
    ordered = np.sort(x, axis=axis)
    lower, upper = (ordered.take(place, axis) for place in ((n - 1) // 2, n // 2))
    return np.asarray(0.5 * lower + 0.5 * upper)


def shares_below(x: Array, ordered: Array) -> Array:
    """For every x the share of a sample in ascending order that lies below it, halfway up a step of ties.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.numerics.ranks import shares_below
    >>> shares_below(np.array([0.0, 2.0, 5.0]), np.array([1.0, 2.0, 2.0, 3.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    below = np.searchsorted(ordered, x)
    # Most numbers are none of the sample, and have nothing equal to skip.
    tied = ordered[np.minimum(below, len(ordered) - 1)] == x
    upto = below if not tied.any() else np.searchsorted(ordered, x, "right")
    return np.asarray((below + upto) / (2.0 * len(ordered)))


def _runs(ordered: Array) -> tuple[Places, Places]:
    """The places of the first and the last entry that equals each, (n, d), in columns in ascending order."""
    n = len(ordered)
    place = np.broadcast_to(np.arange(n)[:, None], ordered.shape)
    differ = ordered[1:] != ordered[:-1]
    if differ.all():
        return place, place
    first, last = place.copy(), place.copy()
    first[1:][~differ] = 0
    last[:-1][~differ] = n - 1
    np.maximum.accumulate(first, axis=0, out=first)
    last[::-1] = np.minimum.accumulate(last[::-1], axis=0)
    return first, last
