r"""Differences of quantities between data and model: standard errors, p-values alone, intervals.

The difference of a view is t = T(P̂) − T(Q), T(Q) from many draws of the model, and z = t / se with se² = Σ_b
(Σ_{i ∈ b} ψ_i)² / n², from the data's own influences ψ. Rows are summed over the batches b of the wild
bootstrap where they depend on each other in their order. N draws of the model add Var ψ/N to that.

Where parameters θ were fitted to the very data, T(Q_θ̂) moves with them too, and ψ is replaced by ψ_i −
∂T(Q_θ)/∂θ · IF_i with the influence values of the fit.

z is asymptotically standard normal under the null of its own view alone, T(P) = T(Q), whatever else is wrong.
How far it is from normal at this n is seen in samples of the model and in samples of the data's own rows,
against T(P̂): their z are centred, and the tails on either side are stretched to be those of a normal
variable. The larger of the two p-values counts. So they are nearly exact where all of the model is right, and
right to second order where only this view is, as those of the studentised bootstrap are. They go beyond the
samples by the normal tail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtri_exp, stdtr, stdtrit

from goodstein.explain.views import View
from goodstein.types import Array, BoolArray

QUANTILES = np.array([0.9, 0.95, 0.975, 0.99])
"""Where the tails are held against normal ones."""

CAUTION = 0.5
"""Standard errors by which tails are stretched further. Without, lists of 100 rows of a t distribution had a
family-wise error of .06, with one of .03 (300 trials)."""


class Bounds(NamedTuple):
    """Variances of influences under the model, (v,): `least` are lower limits, `known` are to be used."""

    least: Array
    known: Array
    """NaN where the data's own count."""

    @classmethod
    def of(cls, variances: Array, views: Sequence[View]) -> Bounds:
        """As the views want it."""
        ways = np.array([view.variance for view in views])
        return cls(np.where(ways == "own", 0.0, variances), np.where(ways == "known", variances, np.nan))

    @classmethod
    def none(cls, count: int) -> Bounds:
        """The data's own everywhere."""
        return cls(np.zeros(count), np.full(count, np.nan))


@dataclass(frozen=True)
class Compared:
    """All views: values, references, standard errors and z, (v,), and sums of influences, (m, v).

    The errors are those of limits; z has the variance under its null where that is known.
    """

    values: Array
    reference: Array
    errors: Array
    z: Array
    sums: Array

    @property
    def known(self) -> BoolArray:
        """Which of them can be judged: their quantity exists and varies."""
        return np.asarray(np.isfinite(self.values) & np.isfinite(self.reference) & (self.errors > 0))


def compare(
    values: Array,
    psi: Array,
    reference: Array,
    bounds: Bounds,
    *,
    starts: npt.NDArray[np.intp] | None = None,
    added: Array | float = 0.0,
) -> Compared:
    """Studentised differences.

    `starts` are the rows with which batches begin, `added` the variances of the reference, (v,).
    """
    n = len(psi)
    psi = psi - psi.mean(axis=0)
    if not np.isfinite(psi).all():
        np.nan_to_num(psi, copy=False)
    sums = psi if starts is None else np.add.reduceat(psi, starts, axis=0)
    m = len(sums)
    variance = np.maximum((sums**2).sum(axis=0) / n * (m / max(m - 1, 1)), bounds.least)
    errors = np.sqrt(variance / n + added)
    # Rows that depend on each other do not have the variance of independent ones.
    known = np.isfinite(bounds.known) & (starts is None)
    under = np.sqrt(np.where(known, bounds.known, variance) / n + added)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(under > 0, (values - reference) / under, np.nan)
    return Compared(values, reference, errors, z, sums)


@dataclass(frozen=True)
class Stretch:
    """How z is made normal: its middle, and the stretch of its lower and of its upper tail, each (v,)."""

    middle: Array
    lower: Array
    upper: Array

    def normal(self, z: Array) -> Array:
        """Normal scores, (v,)."""
        moved = z - self.middle
        return np.asarray(moved / np.where(moved < 0, self.lower, self.upper))

    def cautious(self, other: Stretch, z: Array) -> Array:
        """Normal scores of whichever finds less."""
        own, others = self.normal(z), other.normal(z)
        return np.where(np.abs(own) <= np.abs(others), own, others)

    def limits(self, compared: Compared, level: float) -> tuple[Array, Array]:
        """Limits of T(P), (v,) each, with this error for each view."""
        c = NormalDist().inv_cdf(1.0 - level / 2.0)
        low = compared.values - compared.errors * (self.middle + c * self.upper)
        return low, compared.values - compared.errors * (self.middle - c * self.lower)


def none_of(count: int) -> Stretch:
    """z as it is."""
    return Stretch(np.zeros(count), np.ones(count), np.ones(count))


def stretch(z: Array, kinds: Sequence[str], shrunk: float, least: float) -> Stretch:
    """From z of samples of the model, (samples, v).

    How far z is from normal falls with the root of the number of rows: `shrunk` is that of rows of a sample
    over rows of the data. Tails that are shorter than normal ones are taken for `least` of them at least.
    Views of a kind are drawn together as far as what is between them is noise, which halves of the samples
    tell.
    """
    z = np.where(np.isfinite(z), z, 0.0)
    found = []
    halves = [_shape(half) for half in (z[::2], z[1::2])]
    for whole, one, other in zip(_shape(z), *halves, strict=True):
        pooled, errors = whole.copy(), np.zeros(len(whole))
        for kind in set(kinds):
            own = np.array([each == kind for each in kinds])
            noise, mean = float(((one - other)[own] ** 2).mean()) / 4.0, float(whole[own].mean())
            total = float(((whole[own] - mean) ** 2).mean())
            kept = max(0.0, 1.0 - noise / total) if total > 0 else 0.0
            pooled[own] = mean + kept * (whole[own] - mean)
            errors[own] = math.sqrt(noise)
        found.append((pooled, errors))
    (middle, _), *sides = found
    # With part of its standard error: samples are few, and p-values far out grow faster than they shrink.
    tails = (np.maximum(1.0 + shrunk * (tail + CAUTION * error - 1.0), least) for tail, error in sides)
    return Stretch(shrunk * middle, *tails)


def _shape(z: Array) -> tuple[Array, Array, Array]:
    """The middle of z, and its lower and upper tail in units of normal ones, each (v,)."""
    middle = np.median(z, axis=0)
    normal = np.array([NormalDist().inv_cdf(q) for q in QUANTILES])[:, None]
    lower, upper = (
        (np.quantile(side * (z - middle), QUANTILES, axis=0) / normal).mean(axis=0) for side in (-1.0, 1.0)
    )
    return middle, lower, upper


def few(count: int, batches: int, level: float) -> Stretch:
    """Limits by the t distribution of few batches."""
    c = float(stdtrit(max(batches - 1, 1), 1.0 - level / 2.0)) / NormalDist().inv_cdf(1.0 - level / 2.0)
    return Stretch(np.zeros(count), np.full(count, c), np.full(count, c))


def from_few(z: Array, batches: int) -> Array:
    """Normal scores of z with the t distribution of few batches."""
    p = stdtr(max(batches - 1, 1), -np.abs(z))
    with np.errstate(divide="ignore"):
        scores = ndtri_exp(np.maximum(np.log(p), log_ndtr(-37.0)))
    return np.asarray(-np.sign(z) * scores)
