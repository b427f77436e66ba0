"""Whether rows in the unit cube are ranks, as data for copulas often are.

Ranks over n + 1, or pseudo-observations, have margins that are uniform by design, and rows that depend on
each other. A null distribution of independent rows does not know that: for true Gumbel and Gaussian copulas,
n = 150, p-values are .94 to .99 on average, and none of 60 was below .2. Samples of the model that are
ranked as well have the right one (Genest and Rémillard, 2008, Validity of the parametric bootstrap for
goodness-of-fit testing).
"""

from __future__ import annotations

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.domains import Box, Domain
from goodstein.types import Array

FEWEST = 10
"""Rows below which even steps may be chance."""

EVEN = 1e-9
"""Differences between steps up to which these are equal."""


def are_ranks(x: Array) -> bool:
    """Whether the values of every column, in order, have equal steps; with one column that proves nothing."""
    if x.ndim != 2 or x.shape[1] < 2 or len(x) < FEWEST:
        return False
    steps = np.diff(np.sort(x, axis=0), axis=0)
    return bool(steps.min() > 0 and np.ptp(steps, axis=0).max() < EVEN)


def is_unit_cube(domain: Domain | None) -> bool:
    """Whether a domain is where copulas live."""
    if not isinstance(domain, Box):
        return False
    return bool(np.all(np.asarray(domain.lower) == 0.0) and np.all(np.asarray(domain.upper) == 1.0))


def ranked() -> Check:
    """What is said of rows that are ranks, where the samples of the null distribution are not."""
    return Question("ranks").warned(
        "Every column is evenly spaced, as ranks over n + 1 are. Such margins are uniform by design, of "
        "which this null distribution knows nothing: true models have p-values near 1, and wrong ones are "
        "seen late. Let the model draw ranks too, in a parametric bootstrap (docs/scenarios/regions.md, "
        "Copulas of ranks), or pass cdf(x) of margins that are known.",
        loud=True,
        large="the rows are ranks, of which the null distribution knows nothing",
    )
