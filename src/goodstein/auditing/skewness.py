"""Whether enough observations carry a statistic for the wild bootstrap to know its distribution.

Random signs make a symmetric distribution of whatever features the observations have. Where these are so
skewed that few of them are most of the sum, those of another sample would be others, and the wild bootstrap
takes the size of the statistic from the few that happen to be there. How many there are is seen on the
diagonal of the Stein matrix, the squared norms of the features: m = (Σ_i h_ii)² / Σ_i h_ii², which is n for
features of equal size and 1 where one observation is all. By a rule of thumb from cases with known rates
(Dirichlet(100, 1, .1), n = 200: .115 at the level .05 with m between 4 and 13; normal models: right with m =
22), m should be at least a tenth of n, or sixteen, and not below eight; of twenty observations or fewer, four
tenths.
"""

from __future__ import annotations

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.types import Array

LEAST, MOST = 8.0, 16.0
"""Observations that must carry a statistic, and those that are always enough."""
OF_FEW, OF_MANY = 0.4, 0.1
"""The same as shares of a small and of a large number of observations."""


def carrying(diagonal: Array) -> float:
    """(Σ h)² / Σ h², the number of observations that carry the trace."""
    largest = float(diagonal.max(initial=0.0))
    if not largest > 0:
        return float(len(diagonal))
    unit = diagonal / largest
    return float(unit.sum() ** 2 / np.sum(unit**2))


def needed(n: int) -> float:
    """How many of n observations must."""
    return max(min(LEAST, OF_FEW * n), min(MOST, OF_MANY * n))


def too_skewed(diagonal: Array) -> bool:
    """Whether too few observations carry a statistic."""
    return carrying(diagonal) < needed(len(diagonal))


def check_skewness(diagonal: Array, remedy: str) -> list[Check]:
    """What is said of a statistic that too few observations carry."""
    if not too_skewed(diagonal):
        return []
    message = (
        f"The features are so skewed that about {carrying(diagonal):.2g} of {len(diagonal)} observations "
        f"carry the statistic: the wild bootstrap may reject true models too often. {remedy}"
    )
    return [Question("skewed features").warned(message, asymptotic=True)]
