"""The tests of the paper: as it describes them, as its published code has them, and corrected.

A test is a function ``(data, model, *, rng)`` that returns something with a p-value, or the p-value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import goodstein as gs
from goodstein.stein.features import SteinFeatures

Array = np.ndarray
Test = Callable[..., Any]


def bd_ksd(auxiliary: Any) -> Test:
    """Bounded-domain KSD with an auxiliary function, a Gaussian kernel at the median and the wild bootstrap.

    Nothing stops a test whose identity fails: here its size is what is to be shown.
    """
    return invalid(gs.Standardised(auxiliary))


def invalid(operator: Any) -> Test:
    """The same with any operator."""
    return partial(gs.ksd_test, operator=operator, kernel=gs.Gaussian(), audit=False, workers=1)


def coded(operator: Any) -> Test:
    """The same with the published code's p-value: the share of 500 draws that are larger, signs independent.

    Unlike (1 + count)/(1 + draws) it can be zero, and its level is exceeded a little. (That the code has
    the V-statistic makes no difference with random signs: the diagonal is the same in all draws.)
    """
    return partial(_share_above, invalid(operator))


def _share_above(test: Test, data: Any, model: Any, *, rng: Any) -> float:
    result = test(data, model, null=gs.WildBootstrap(500, signs="iid"), rng=rng)
    return float(np.mean(result.null_distribution > result.statistic))


mmd: Test = partial(gs.mmd_test, kernel=gs.Gaussian(), workers=1)
"""As many draws from the model as there are data, Gaussian kernel at the pooled median, permutations."""
m3d: Test = partial(gs.m3d_test, kernel=gs.Gaussian(), workers=1)
default: Test = partial(gs.ksd_test, workers=1)
aggregated: Test = partial(gs.aggregated_test, null=gs.WildBootstrap(1999), workers=1)


@dataclass(frozen=True)
class Ambient:
    """A composition differentiated in all its parts, as if they could vary freely.

    The part of the derivative that leaves the simplex does not integrate to zero, so that Stein's identity
    fails for every auxiliary function.
    """

    auxiliary: Any

    def features(self, model: Any, domain: Any, data: Array) -> SteinFeatures:
        g, dg = self.auxiliary.evaluate(data, domain)
        return SteinFeatures(data, g[:, None] * model.score(data) + dg, g)


@dataclass(frozen=True)
class PerFace:
    """The printed g_i⁽²⁾: in coordinate i the distance to the face x_i = 0 alone; the last part is dropped.

    On the face where the dropped part vanishes no g_i does.
    """

    def features(self, model: Any, domain: Any, data: Array) -> SteinFeatures:
        parts = data.shape[1]
        unit = np.sqrt(parts / (parts - 1))
        free, score = data[:, :-1], model.score(data)
        g = unit * free
        return SteinFeatures(free, g * (score[:, :-1] - score[:, -1:]) + unit, g)


@dataclass(frozen=True)
class CodedMirror:
    """The published code's mirrored test: (diag(x) − xxᵀ)s in place of the score, and nothing else.

    The derivatives of the kernel are not multiplied, and the divergence of the matrix is left out.
    """

    def features(self, model: Any, domain: Any, data: Array) -> SteinFeatures:
        weighted = data * model.score(data)
        return SteinFeatures(data, weighted - data * weighted.sum(axis=1, keepdims=True))
