r"""Adjusted p-values of many views: the step-down smallest p, which is a closed test.

Let z_v be the studentised difference of view v, with p_v its p-value alone and w_v its share of the level.
For a set S of views whose own nulls all hold, the z_v are asymptotically normal with mean zero and the
correlations R of the influences, which are estimated from the *data*. So S is tested by min p_v/w_v against
its distribution for Z ~ N(0, R_SS). The closed test rejects view v where every S that holds v is rejected;
as min over a larger set is smaller this is Westfall and Young's step-down procedure: in the order of p_v/w_v,

.. math:: p^{adj}_{(k)} = \max_{l \le k} P(\min_{j \ge l} p^*_{(j)}/w_{(j)} \le p_{(l)}/w_{(l)}).

R and the standard errors come from the data and not from the model, because views that hold need not be
distributed as under the model when others fail: a null distribution simulated from the model controls the
error only where everything is right (weak control). With both from the data the control is strong: the
probability that any view is named whose null holds is at most the level, asymptotically, whatever the others
do. Beyond what the draws of Z resolve, Holm's bound Σ w_j · p/w is used, which needs no R.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from goodstein.types import Array

DRAWS = 9999
"""Draws of Z."""


def log_pvalues(z: Array) -> Array:
    """log P(|N(0, 1)| ≥ |z|)."""
    return np.asarray(np.log(2.0) + log_ndtr(-np.abs(z)))


def adjusted(z: Array, weights: Array, sums: Array, rng: np.random.Generator) -> Array:
    """Adjusted p-values, (v,).

    `z`, (v,), are normal scores of the p-values alone; `weights`, (v,), add up to one; `sums`, (m, v), are
    influences summed over rows that belong together, whose correlations are those of z.
    """
    penalised = log_pvalues(z) - np.log(weights)
    order = np.argsort(penalised, kind="stable")
    own, shares = penalised[order], weights[order]
    left = np.cumsum(shares[::-1])[::-1]
    drawn = np.abs(_draws(sums, rng))[order]
    reached = np.zeros(drawn.shape, bool)
    for share in np.unique(shares):
        # Among views of one share the smallest p is that of the largest |Z|: only limits need p-values.
        alike = np.flatnonzero(shares == share)
        largest = np.maximum.accumulate(drawn[alike][::-1], axis=0)[::-1]
        limits = _scores(own + np.log(share))
        for place, first in enumerate(np.searchsorted(alike, np.arange(alike[-1] + 1)).tolist()):
            reached[place] |= largest[first] >= limits[place]
    counted = (1.0 + reached.sum(axis=1)) / (1.0 + drawn.shape[1])
    bound = np.exp(np.minimum(own + np.log(left), 0.0))
    found = np.empty(len(z))
    found[order] = np.maximum.accumulate(np.minimum(counted, bound))
    return found


def _scores(logs: Array) -> Array:
    """|z| with this log P(|N(0, 1)| ≥ |z|); zero where that is none of a probability below one."""
    halves = np.minimum(logs, 0.0) - np.log(2.0)
    return np.asarray(np.where(logs >= 0.0, 0.0, -ndtri_exp(halves)))


def _draws(sums: Array, rng: np.random.Generator) -> Array:
    """Draws of Z, (v, draws)."""
    size = np.sqrt((sums**2).sum(axis=0))
    unit = sums / np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(unit.T @ unit)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).astype(np.float32)
    # They are counted beyond limits, for which single precision is enough.
    return np.asarray(root @ rng.standard_normal((len(root), DRAWS), dtype=np.float32))
