r"""Shares of rows, and other means of numbers between 0 and 1: limits that stay there, and rare ones.

With D(v‖p) = v log(v/p) + (1 − v) log((1 − v)/(1 − p)), limits of a share are where the likelihood ratio
m·D(v‖p) reaches c²/2, with c the normal quantile and m the number of rows with which v(1 − v)/m is the square
of the standard error, so that they hold for dependent rows and for weights of rows near a place as well. They
never leave (0, 1), where limits at so many standard errors do.

Where the model expects few rows, a share divided by its standard error is not normal at all, and the less so
the fewer they are. But for n independent numbers between 0 and 1 with mean p

.. math:: P(\bar x \ge v) \le \exp(-n\,D(v\|p)), \qquad v > p,

at every n and whatever their law (Hoeffding 1963, theorem 1), and that is small where rows lie in a place
that the model leaves empty.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri_exp, rel_entr

from goodstein.types import Array, BoolArray

EXPECTED = 5.0
"""Rows that the model expects at a place; where they are fewer it is rare."""

UNSEEN = 3.0
"""Draws of the model that may lie where none does, with an error of one in twenty."""

HALVINGS = 120


def divergence(v: Array, p: Array) -> Array:
    """D(v‖p)."""
    return np.asarray(rel_entr(v, p) + rel_entr(1.0 - v, 1.0 - p))


def limits(values: Array, errors: Array, n: int, c: float) -> tuple[Array, Array]:
    """Lower and upper limits of shares with these standard errors, c of them if they were normal."""
    v = np.clip(values, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = np.where((v > 0) & (v < 1) & (errors > 0), v * (1.0 - v) / errors**2, float(n))
    wanted = 0.5 * c**2 / np.maximum(rows, 1e-12)
    found = []
    for end in (0.0, 1.0):
        inner, outer = v.copy(), np.full_like(v, end)
        for _ in range(HALVINGS):
            middle = 0.5 * (inner + outer)
            within = divergence(v, middle) <= wanted
            inner, outer = np.where(within, middle, inner), np.where(within, outer, middle)
        found.append(inner)
    return found[0], found[1]


def rare(reference: Array, n: int) -> BoolArray:
    """Of which the model expects few."""
    return np.asarray(n * reference < EXPECTED)


def bounded_scores(values: Array, reference: Array, n: int) -> Array:
    """Normal scores of the bound; zero where there are no more than the model says."""
    v = np.clip(values, 0.0, 1.0)
    exponent = n * divergence(v, np.clip(reference, 1e-300, 1.0))
    # Half of it on either side, as scores are read.
    scores = -ndtri_exp(-np.minimum(exponent, 1e5) - math.log(2.0))
    return np.where(v > reference, np.maximum(scores, 0.0), 0.0)
