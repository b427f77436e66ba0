"""Holm's correction of p-values of several hypotheses."""

from __future__ import annotations

import numpy as np

from goodstein.types import Array, ArrayLike


def holm(pvalues: ArrayLike) -> Array:
    r"""p-values adjusted so that all rejections together are right with probability 1 − level.

    The k-th smallest of m is multiplied by m − k + 1; none is smaller than one before it, or above 1:

    .. math:: \tilde p_{(k)} = \max_{j \le k} \min\{1, (m - j + 1)\, p_{(j)}\}.

    It holds whatever the dependence, as between models that are tested on the same data.

    References
    ----------
    Holm (1979), "A simple sequentially rejective multiple test procedure", *Scandinavian Journal of
    Statistics* 6.

    Examples
    --------
    >>> from goodstein.nulls.holm import holm
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    values = np.asarray(pvalues, np.float64)
    order = np.argsort(values, kind="stable")
    steps = np.minimum(1.0, values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.maximum.accumulate(steps)
    return adjusted
