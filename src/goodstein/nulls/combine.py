"""From the joint null distribution of several tests to one p-value.

Every member k is put on a common scale, the evidence E_k = −log S_k(U_k) + log w_k, with S_k the survival
function of its own statistic under the null and w_k its weight relative to the average. The aggregated
statistic is the largest evidence, which is the smallest weighted p-value (Westfall and Young, 1993). It is
computed in the same way for the data and for every draw from the joint null distribution, and compared with
those.

S_k is estimated from data and draws together, so all of them are treated alike: where they are exchangeable
under the null, as simulated samples are, the p-value is exact whatever the collection, its dependence,
duplicates or weights. Between a few order statistics log S_k is linear; beyond the last it goes on so, which
is how the tail of a weighted sum of χ² variables behaves. Ranks would do too, but of the largest values of
many members too many would be tied.
"""

from __future__ import annotations

import numpy as np

from goodstein.nulls.base import Calibration, JointCalibration, rounding
from goodstein.types import Array

LEAST = 8
"""Values beyond the last order statistic that is used."""

MOST = 3.0
"""Evidence beyond it, at most, in units of the logarithm of the number of values."""


def evidence(joint: JointCalibration, weights: Array) -> tuple[Array, Array]:
    """The evidence of every member, (tests,), and of every draw of it, (tests, draws)."""
    values = np.column_stack([joint.statistics, joint.draws])
    relative = np.log(weights * len(weights))
    scaled = np.array([-log_survival(row) for row in values]) + relative[:, None]
    return scaled[:, 0], scaled[:, 1:]


def log_survival(values: Array) -> Array:
    """log P(value ≥ v) at every v of a sample, piecewise linear in v.

    It is strictly decreasing, so nothing is tied that was not tied before.
    """
    total = len(values)
    counts = [total // 2]
    while counts[-1] // 2 >= LEAST:
        counts.append(counts[-1] // 2)
    ordered = np.sort(values)[::-1]
    knots = np.array([ordered[-1], *(ordered[count - 1] for count in counts)])
    levels = np.log([1.0, *(count / total for count in counts)])
    knots, first = np.unique(knots, return_index=True)
    # Of equal knots the one with the largest probability counts: a tie is no evidence.
    levels = levels[first]
    # Nor is one that is broken by rounding: between its values the slope would be that of the noise.
    tolerance = rounding(values)
    kept = [0]
    for k in range(1, len(knots)):
        if knots[k] - knots[kept[-1]] > tolerance:
            kept.append(k)
    knots, levels = knots[kept], levels[kept]
    if len(knots) == 1:  # more than half of the values are equal
        spread = float(ordered[0] - ordered[-1]) or 1.0
        return np.asarray(-(values - knots[0]) / spread)
    # The slope of the tail from as far in as a sixteenth, being that of few values otherwise.
    start = min(int(np.searchsorted(-levels, np.log(16.0))), len(levels) - 2)
    slope = (levels[-1] - levels[start]) / (knots[-1] - knots[start])
    # Where it is that of a clump it must not run away: so many draws tell no more than this.
    reach = float(ordered[0] - knots[-1])
    if reach > 0:
        slope = max(slope, -MOST * np.log(total) / reach)
    inside = np.interp(values, knots, levels)
    return np.where(values > knots[-1], levels[-1] + slope * (values - knots[-1]), inside)


def critical_values(joint: JointCalibration, weights: Array, level: float) -> Array:
    """For every member the statistic with which it makes the aggregated test reject, (tests,)."""
    _, draws = evidence(joint, weights)
    largest = np.quantile(draws.max(axis=0), 1.0 - level)
    enough = [own[shown >= largest] for own, shown in zip(joint.draws, draws, strict=True)]
    return np.array([own.min() if own.size else np.inf for own in enough])


def combined(joint: JointCalibration, weights: Array) -> tuple[Calibration, Array, Array]:
    """The aggregated test, p-values of its members that are adjusted for all others, and their evidence.

    An adjusted p-value is the probability that any member shows as much evidence as this one; the
    smallest of them is the p-value of the aggregated test.
    """
    observed, draws = evidence(joint, weights)
    largest = draws.max(axis=0)
    adjusted = np.array([Calibration(float(one), largest).pvalue for one in observed])
    return Calibration(float(observed.max()), largest), adjusted, observed
