"""Bandwidth rules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from goodstein.constraints import LARGEST, number
from goodstein.engine.executors import one_blas_thread
from goodstein.errors import BandwidthError, InputError
from goodstein.numerics.distances import placed
from goodstein.numerics.ranges import cut
from goodstein.numerics.ranks import medians
from goodstein.types import Array, BoolArray

MAX_POINTS = 1000

FARTHEST = 1e-5 * LARGEST
"""Distances up to which, and down to whose inverse, all multiples that are in use can be bandwidths."""
MANY, SOME, ONE_IN = 5000, 8000, 16
"""Values of which some are sorted first, how many at most, and at most one in so many."""
BRACKET = 1.8
"""Over √m, how far the quantiles of m of them are from one half that have the median of all between: 3.6
standard errors."""


@dataclass(frozen=True)
class Median:
    """A multiple of the median distance between two points.

    The median runs over all pairs i < j of at most 1000 points; larger samples are thinned
    to 1000 rows spread evenly over the sample, so the rule needs no random numbers. Where
    more than half of the pairs coincide the mean of the positive distances takes its place.

    Parameters
    ----------
    scale
        Factor on the median distance.

    Examples
    --------
    >>> from goodstein.kernels import Median
    >>> import numpy as np
    >>> Median()(np.array([[0.0], [1.0], [3.0]]))
    2.0
    >>> Median(scale=0.5)(np.array([[0.0], [1.0], [3.0]]))
    1.0
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        number(self.scale, "scale", of="Median", above=0.0)

    def __call__(self, points: Array) -> float:
        """Apply the rule to points (n, m)."""
        n = len(points)
        if n > MAX_POINTS:
            points = points[np.linspace(0, n - 1, MAX_POINTS).astype(np.intp)]
        with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
            squared = _squared_distances(points)
        lower, upper = _middle(squared)
        median = 0.5 * (math.sqrt(lower) + math.sqrt(upper))
        if not math.isfinite(median) or (median == 0 and not squared.any() and np.ptp(points, axis=0).any()):
            raise beyond(f"values of magnitude {np.abs(points).max():.1g}")
        if median == 0:
            positive = np.sqrt(squared[squared > 0])
            if not positive.size:
                reason = f"all {n} points are equal, so no bandwidth can be taken from them."
                remedy = "Check the data, or pass a kernel with a bandwidth, for example IMQ(bandwidth=1.0)."
                raise BandwidthError(reason, argument="data", remedy=remedy)
            median = float(positive.mean())
        if not 1.0 / FARTHEST <= median <= FARTHEST:
            raise beyond(f"distances of {median:.1g} between points")
        return self.scale * median


def beyond(what: str) -> InputError:
    """Of numbers whose squares overflow or vanish."""
    remedy = "Rescale the data and the model to other units."
    reason = f"{what} are beyond the range in which kernels and their derivatives are floats."
    return InputError(reason, argument="data", remedy=remedy)


def _middle(values: Array) -> tuple[float, float]:
    """The two values in the middle, or twice the one; of many, those beyond a bracket are only counted."""
    count = len(values)
    place, below, inside = count // 2, 0, values
    if count > MANY:
        some = np.sort(values[:: max(ONE_IN, count // SOME)])
        width = BRACKET / math.sqrt(len(some))
        low, high = (some[int(share * len(some))] for share in (0.5 - width, 0.5 + width))
        inside = values[(values >= low) & (values <= high)]
        below = int(np.count_nonzero(values < low))
        if not below < place < below + len(inside):  # also where there are no numbers
            inside, below = values, 0
    # With a single index the partition is vectorised, eight times faster than with two.
    parted = np.partition(inside, place - below)
    upper = float(parted[place - below])
    return (upper if count % 2 else float(parted[: place - below].max())), upper


@lru_cache(maxsize=2)
def _above(n: int) -> BoolArray:
    """Which entries of an n × n matrix lie above its diagonal."""
    return ~np.tri(n, dtype=bool)


@lru_cache(maxsize=2)
def _pairs(n: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows and columns of these entries."""
    rows, cols = np.nonzero(_above(n))
    return rows, cols


def _squared_distances(points: Array) -> Array:
    """‖x_i − x_j‖² over i < j; by one matrix product, exactly where that would cancel."""
    near = placed(points, medians(points))
    upper = _above(len(points))
    result: Array = near.squared_distances(near)[upper]
    threshold = 1e-8 * float(near.right[:, -1].max())  # squared norms
    if result.min() <= threshold:
        # A difference of equal rows must come out as exactly 0, a tiny one with its digits.
        small = np.flatnonzero(result <= threshold)
        rows, cols = (index[small] for index in _pairs(len(points)))
        for part in cut(0, len(small), 1 << 16):
            difference = points[rows[part]] - points[cols[part]]
            result[small[part]] = (difference**2).sum(axis=1)
    return result
