"""The likelihood-ratio test of one law against another, known by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.errors import InputError
from goodstein.numerics.ranges import cut
from goodstein.power.laws import Law, Points
from goodstein.power.rates import wilson
from goodstein.types import Array

BUDGET = 1 << 20
"""Numbers that are drawn at a time."""
LOOPED = 100
"""Data sets at a time where each is looked at by itself."""
CONFIDENCE = 0.95

LogRatio = Callable[[Any], float]
"""log p(data) − log q(data) of a whole data set, up to a constant."""


@dataclass(frozen=True)
class Pair:
    """Null q and alternative p, with which of them how likely data of n observations are."""

    null: Law
    alternative: Law
    n: int
    log_ratio: LogRatio | None = None
    """None: the sum over the observations of the difference of the log densities."""

    @property
    def is_known(self) -> bool:
        """Whether there is a likelihood ratio."""
        if self.log_ratio is not None:
            return True
        same = type(self.null) is type(self.alternative)
        return same and self.null.has_density and self.alternative.has_density

    def check(self) -> None:
        """Raise where the laws have no common likelihood."""
        if not self.is_known:
            lacking = [role for role in ("null", "alternative") if not getattr(self, role).has_density]
            what = " and ".join(f"`{role}`" for role in lacking)
            reason = (
                f"{what} {'has' if len(lacking) == 1 else 'have'} no log density"
                if lacking
                else "one is a model of points, the other of durations"
            )
            raise InputError(
                f"The likelihood ratio is not known: {reason}. Pass `log_ratio`, a function data -> "
                "log p(data) − log q(data), or models with a log density."
            )
        if self.log_ratio is not None:
            return
        if isinstance(self.null, Points) and isinstance(self.alternative, Points):
            one, other = self.null.model.domain, self.alternative.model.domain
            if one is not None and other is not None and one.dim != other.dim:
                raise InputError(
                    f"`null` lives on {one!r}, of dimension {one.dim}, `alternative` on {other!r}, of "
                    f"dimension {other.dim}: data of one are no data of the other."
                )

    def ratios(self, which: str, count: int, rng: np.random.Generator) -> Array:
        """The log likelihood ratios of so many data sets from the null or the alternative, (count,)."""
        law = self.null if which == "null" else self.alternative
        step = LOOPED if self.log_ratio is not None else max(1, BUDGET // (self.n * law.width))
        parts = []
        for part in cut(0, count, min(step, count)):
            values = self._piece(law, part.stop - part.start, rng)
            broken = np.isnan(values)
            if broken.any():
                raise InputError(
                    f"The log likelihood ratio is NaN at {broken.sum()} of {len(values)} data sets drawn "
                    f"from the {which}: both densities are zero there, or `log_ratio` is not defined. Check "
                    "that each sampler belongs to its density."
                )
            parts.append(values)
        return np.concatenate(parts)

    def _piece(self, law: Law, count: int, rng: np.random.Generator) -> Array:
        if self.log_ratio is not None:
            return np.array([_number(self.log_ratio(law(self.n, rng))) for _ in range(count)])
        data: Any = law(count * self.n, rng)
        if isinstance(data, np.ndarray):
            # Some samplers return their draws in an order, such as one component of a mixture after another.
            data = rng.permutation(data)
        with np.errstate(invalid="ignore"):
            each = self.alternative.log_density(data) - self.null.log_density(data)
            return np.asarray(each.reshape(count, self.n).sum(axis=1))


def _number(value: Any) -> float:
    if np.ndim(value):
        raise InputError(
            f"`log_ratio` must return one number for the whole data set, got shape {np.shape(value)}. Return "
            "the sum over the observations."
        )
    return float(value)


@dataclass(frozen=True, eq=False)
class RatioTest:
    r"""The most powerful test of q against p, from ratios of draws from both.

    It rejects beyond the threshold and, with the probability that makes its level exact, at it: where the
    ratio takes few values that is the bound of Neyman and Pearson, and without it other tests could be
    above. For each draw of p all that matters is how many of the m draws of q have a larger ratio, a, and
    how many one that is at least as large, b: at level α it is rejected with probability

    .. math:: \min\{1, \max\{0, (\alpha m - a) / (b - a)\}\}.
    """

    above: npt.NDArray[np.int64]
    """a of each draw of p."""
    reached: npt.NDArray[np.int64]
    """b of each draw of p."""
    n_null: int
    """m."""

    @classmethod
    def of(cls, null: Array, alternative: Array) -> RatioTest:
        """From the log ratios of draws of the null and of the alternative."""
        null, alternative = tied(null, alternative)
        order = np.sort(null)
        reached = len(null) - np.searchsorted(order, alternative, side="left")
        above = len(null) - np.searchsorted(order, alternative, side="right")
        return cls(above, reached, len(null))

    def power(self, level: float) -> float:
        """The share of draws of the alternative that are rejected."""
        budget = level * self.n_null + 1e-9  # .07·100 is 7 but for rounding
        width = np.maximum(self.reached - self.above, 1)
        partly = np.clip((budget - self.above) / width, 0.0, 1.0)
        alone = self.above == self.reached  # no draw of the null has this ratio
        return float(np.where(alone, self.above <= budget, partly).mean())

    def interval(self, level: float) -> tuple[float, float]:
        """A 95 % confidence interval for the power, for the errors of threshold and share together.

        Of m draws of the null a binomial number lies beyond the true threshold. The power at its 95 % limits
        says how far a wrong threshold leads, Wilson's interval how far a share of few draws does; the two
        errors are independent, so the distances are added as squares (Zou & Donner 2008, Construction of
        confidence limits about effect measures).
        """
        from scipy.stats import binom

        power, tail = self.power(level), (1 - CONFIDENCE) / 2
        shares = binom.ppf([tail, 1 - tail], self.n_null, level) / self.n_null
        thresholds = [self.power(share) - power for share in shares]
        draws = [end - power for end in wilson(power, len(self.above), CONFIDENCE)]
        down, up = map(math.hypot, thresholds, draws)
        return max(0.0, power - down), min(1.0, power + up)


def tied(null: Array, alternative: Array) -> tuple[Array, Array]:
    """The ratios, centred and rounded, so that ratios are equal which differ only by rounding.

    Sums in another order differ in their last digits. The common constant of unnormalised densities goes,
    as it would otherwise take digits away.
    """
    both = np.concatenate([null, alternative])
    finite = both[np.isfinite(both)]
    centre = float(np.median(finite)) if len(finite) else 0.0
    size, offset = np.abs(finite - centre).max(initial=1e-3), np.abs(finite).max(initial=1e-3)
    digits = min(9 - int(np.ceil(np.log10(size))), 12 - int(np.ceil(np.log10(offset))))
    return np.round(null - centre, digits), np.round(alternative - centre, digits)
