"""From the joint null distribution of several tests to one p-value.

Every member k is put on a common scale, the evidence E_k = −log S_k(U_k), with S_k the survival function of
its own statistic under the null. The aggregated statistic is log Σ_k w_k exp(E_k) with shares w_k that add up
to one: minus the logarithm of the weighted harmonic mean of the p-values (Good, 1958; Wilson, 2019). Where
one member sees a difference it is as good as the smallest p-value, and where several do it adds up what they
see. It is computed in the same way for the data and for every draw from the joint null distribution, and
compared with those, so that nothing is assumed of how members depend on each other.

S_k is estimated from data and draws together, so all of them are treated alike: where they are exchangeable
under the null, as simulated samples are, the p-value is exact whatever the collection, its dependence,
duplicates or weights. Between a few order statistics log S_k is linear; beyond the last it goes on so, which
is how the tail of a weighted sum of χ² variables behaves. Ranks would do too, but of the largest values of
many members too many would be tied.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from goodstein.nulls.base import Calibration, JointCalibration, rounding
from goodstein.types import Array

LEAST = 8
"""Values beyond the last order statistic that is used."""

MOST = 3.0
"""Evidence beyond it, at most, in units of the logarithm of the number of values."""


ALIKE = 0.95
"""Correlation of the evidence of two members under the null from which on they count as one."""


def evidence(joint: JointCalibration) -> Array:
    """The evidence of every member in the data, the first column, and in all draws, (tests, 1 + draws)."""
    values = np.column_stack([joint.statistics, joint.draws])
    return np.array([-log_survival(row) for row in values])


def alike(shown: Array) -> npt.NDArray[np.intp]:
    """For every member the number of its group: those that are linked by pairs that are alike.

    They are told by their evidence in data and draws together.
    """
    centred = shown - shown.mean(axis=1, keepdims=True)
    size = np.sqrt((centred**2).sum(axis=1))
    unit = centred / np.where(size > 0, size, 1.0)[:, None]
    linked = unit @ unit.T > ALIKE
    group = np.arange(len(shown))
    for k in range(len(shown)):
        group[np.isin(group, group[linked[k]])] = group[k]
    return np.unique(group, return_inverse=True)[1]


def merged(weights: Array, group: npt.NDArray[np.intp]) -> tuple[Array, Array]:
    """Shares of members of which those in a group count as one, and the shares of their groups.

    A group has the largest weight of its members, which they divide in proportion; so a second copy of a
    member changes nothing.
    """
    totals, largest = np.bincount(group, weights), np.zeros(group.max() + 1)
    np.maximum.at(largest, group, weights)
    largest /= largest.sum()
    return weights * (largest / totals)[group], largest[group]


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
        spread = float(ordered[0] - ordered[-1])
        # All of them where a fit leaves nothing to be seen, as it does of the mean of its own score.
        return np.zeros(total) if spread <= tolerance else np.asarray(-(values - knots[0]) / spread)
    # The slope of the tail from as far in as a sixteenth, being that of few values otherwise.
    start = min(int(np.searchsorted(-levels, np.log(16.0))), len(levels) - 2)
    slope = (levels[-1] - levels[start]) / (knots[-1] - knots[start])
    # Where it is that of a clump it must not run away: so many draws tell no more than this.
    reach = float(ordered[0] - knots[-1])
    if reach > 0:
        slope = max(slope, -MOST * np.log(total) / reach)
    inside = np.interp(values, knots, levels)
    return np.where(values > knots[-1], levels[-1] + slope * (values - knots[-1]), inside)


def together(shown: Array, weights: Array) -> Array:
    """log Σ_k w_k exp(E_k) in every column."""
    scaled = shown + np.log(weights)[:, None]
    largest = scaled.max(axis=0)
    return np.asarray(largest + np.log(np.exp(scaled - largest).sum(axis=0)))


class Combined(NamedTuple):
    """The aggregated test."""

    calibration: Calibration
    weights: Array
    """Shares of the members, after those that are alike were merged."""
    adjusted: Array
    """p-values of the members that are adjusted for all others."""
    evidence: Array
    """Of every member, with the logarithm of its share relative to the average."""
    critical: Array
    """For every member the statistic with which it alone makes the whole test reject."""


def combined(joint: JointCalibration, weights: Array, level: float = 0.05, *, merge: bool = True) -> Combined:
    """The aggregated test, with adjusted p-values of its members.

    An adjusted p-value is the probability that any member shows as much evidence as this one, or the p-value
    of the whole test if that is larger: the closed test with the harmonic mean for the whole collection and
    the smallest p-value for its parts (Marcus, Peritz, Gabriel, 1976; Westfall and Young, 1993). All draws
    are of the model, so that the error is that under the model, and not where only some members hold.
    """
    shown = evidence(joint)
    # What the user weighed stays as it was weighed.
    group = alike(shown) if merge else np.arange(len(weights))
    shares, whole = merged(weights, group)
    statistic = together(shown, shares)
    calibration = Calibration(float(statistic[0]), statistic[1:])
    scaled = shown + np.log(whole)[:, None]
    largest = scaled[:, 1:].max(axis=0)
    adjusted = [max(calibration.pvalue, Calibration(float(one), largest).pvalue) for one in scaled[:, 0]]
    needed = np.quantile(statistic[1:], 1.0 - level)
    enough = [own[seen >= needed] for own, seen in zip(joint.draws, scaled[:, 1:], strict=True)]
    critical = [own.min() if own.size else np.inf for own in enough]
    relative = scaled[:, 0] + np.log(group.max() + 1)
    return Combined(calibration, shares, np.array(adjusted), relative, np.array(critical))
