"""Splitting observations in two, at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.constraints import check_share
from goodstein.data.base import Data
from goodstein.data.weights import Weighted
from goodstein.errors import InputError, must
from goodstein.types import RNG
from goodstein.validation import as_array, as_generator, is_frame, read_frame, refuse_masked


def split(data: Any, fraction: float = 0.5, *, rng: RNG = None) -> tuple[Any, Any]:
    """Split observations at random in two parts: one to fit a model to, one to test it on.

    A model that was fitted to the rows it is tested on fits them too well by design. For a kernel density,
    or a choice made by looking at the data, no null distribution corrects for that: only other rows do.

    Parameters
    ----------
    data
        Observations as the tests take them: an array or a data frame with one row for each, a list of point
        patterns, :class:`Censored` durations, :class:`Paired` data, :class:`Weighted` rows.
    fraction
        Share of the rows in the first part.
    rng
        Seed or generator.

    Returns
    -------
    tuple
        Both parts, of the same kind as the data, each in the order of the data.

    Examples
    --------
    >>> import goodstein as gs
    >>> import scipy.stats
    >>> x = gs.families.Normal(0, 1).sample(400, rng=1)
    >>> first, second = gs.split(x, rng=1)
    >>> gs.ksd_test(second, scipy.stats.gaussian_kde(first.T), rng=1).pvalue > 0.05
    True
    """
    if isinstance(data, Weighted):
        return _split_weighted(data, fraction, rng)
    plain = isinstance(data, np.ndarray) and data.ndim and data.dtype.kind in "biuf"
    if not (plain or isinstance(data, Data | list | tuple) or is_frame(data)):
        raise must("data", "an array, a list, a data frame or data of a kind of the library", data)
    refuse_masked(data)
    n = len(read_frame(data) if is_frame(data) else data)
    count = round(check_share(fraction, "fraction") * n)
    if not 0 < count < n:
        raise InputError(f"{n} rows make {count} and {n - count}: one part is empty.", argument="data")
    order = as_generator(rng).permutation(n)
    return _taken(data, np.sort(order[:count])), _taken(data, np.sort(order[count:]))


def _split_weighted(data: Weighted, fraction: float, rng: RNG) -> tuple[Weighted, Weighted]:
    """Rows with their weights; chains, whose weights have two axes, are not for splitting."""
    weights = np.asarray(as_array(data.weights, "weights"))
    if weights.ndim != 1 or len(weights) != len(data.data):
        raise must("weights", f"{len(data.data)} numbers, one for each row of the data", data.weights)
    rows = split(np.arange(len(weights)), fraction, rng=rng)
    first, second = (Weighted(_taken(data.data, part), weights[part]) for part in rows)
    return first, second


def _taken(data: Any, rows: np.ndarray[Any, np.dtype[np.intp]]) -> Any:
    """Some of the rows, of the same kind."""
    if isinstance(data, Data):
        return data.take(rows)
    if is_frame(data):
        return read_frame(data)[rows].to_native()
    if isinstance(data, list | tuple):
        return [data[row] for row in rows]
    return np.asarray(data)[rows]
