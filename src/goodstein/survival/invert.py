"""When cumulative hazards reach given values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from goodstein.types import Array

LONGEST = 1e300
"""Beyond this a duration counts as infinite."""


def inverted(cumulative: Callable[[Array, Any], Array], target: Array) -> Array:
    """t with Λ_i(t) = target_i for each row i, (n,); inf where it is never reached.

    `cumulative` is a function of times and of the numbers of the rows that they belong to.
    """
    from scipy.optimize.elementwise import find_root

    upper = np.ones_like(target)
    short = np.arange(len(target))
    while short.size:
        short = short[cumulative(upper[short], short) < target[short]]
        upper[short] *= 4.0
        short = short[upper[short] < LONGEST]
    reached = np.flatnonzero(upper < LONGEST)
    result = np.full_like(target, np.inf)
    if reached.size:
        # Bounded above, because Λ is infinite beyond a finite support.
        def gap(t: Array, v: Array, row: Array) -> Array:
            found = cumulative(t.ravel(), np.broadcast_to(row, t.shape).ravel().astype(np.intp))
            return np.minimum(found.reshape(t.shape), 1e6) - v

        tolerances = {"xrtol": 1e-12, "xatol": 0.0, "fatol": 0.0, "frtol": 0.0}
        bracket = np.zeros(reached.size), upper[reached]
        known = target[reached], reached.astype(np.float64)
        result[reached] = find_root(gap, bracket, args=known, tolerances=tolerances).x
    return result
