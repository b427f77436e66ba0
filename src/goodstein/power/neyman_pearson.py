"""What the best test could do: the likelihood-ratio test of one law against another, by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.constraints import answered, asked, check_count, check_share, is_function
from goodstein.domains.base import Domain
from goodstein.errors import InputError, must
from goodstein.numerics.ranges import cut
from goodstein.pipeline.compose import check_domain
from goodstein.power.laws import Law, PointLaw, law_of, name_of
from goodstein.power.rates import wilson
from goodstein.text import Report, Table
from goodstein.types import RNG, Array
from goodstein.validation import as_generator

BUDGET = 1 << 20
"""Numbers that are drawn at a time."""
LOOPED = 100
"""Data sets at a time where each is looked at by itself."""
CONFIDENCE = 0.95

LogLikelihoodRatio = Callable[[Any], float]
"""log p(data) − log q(data) of a whole data set, up to a constant."""


@dataclass(frozen=True)
class Pair:
    """Null q and alternative p, with which of them how likely data of n observations are."""

    null: Law
    alternative: Law
    n: int
    log_ratio: LogLikelihoodRatio | None = None
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
            laws = {"`model`": self.null, "`alternative`": self.alternative}
            lacking = [role for role, law in laws.items() if not law.has_density]
            reason = f"{' and '.join(lacking)} {'has' if len(lacking) == 1 else 'have'} no log density"
            if not lacking:
                reason = "one is a model of points, the other of durations"
            raise InputError(
                f"The likelihood ratio is not known: {reason}. Pass `log_ratio`, a function data -> "
                "log p(data) − log q(data), or models with a log density."
            )
        if (
            self.log_ratio is None
            and isinstance(self.null, PointLaw)
            and isinstance(self.alternative, PointLaw)
        ):
            one, other = self.null.model.domain, self.alternative.model.domain
            if one is not None and other is not None and one.dim != other.dim:
                raise InputError(
                    f"`model` lives on {one!r}, of dimension {one.dim}, `alternative` on {other!r}, of "
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
            data_sets = (law(self.n, rng) for _ in range(count))
            return np.array([_number(asked(self.log_ratio, "`log_ratio`", data)) for data in data_sets])
        data: Any = law(count * self.n, rng)
        if isinstance(data, np.ndarray):
            # Some samplers return their draws in an order, such as one component of a mixture after another.
            data = rng.permutation(data)
        with np.errstate(invalid="ignore"):
            each = self.alternative.log_density(data) - self.null.log_density(data)
            return np.asarray(each.reshape(count, self.n).sum(axis=1))


def _number(value: Any) -> float:
    found = answered(value, "`log_ratio`")
    if found.ndim:
        raise InputError(
            f"`log_ratio` must return one number for the whole data set, got shape {found.shape}. Return "
            "the sum over the observations."
        )
    return float(found)


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


@dataclass(frozen=True)
class NeymanPearsonPower(Report):
    """The power of the likelihood-ratio test, which no other test of its level exceeds.

    Attributes
    ----------
    power
        The share of data sets of the alternative that it rejects.
    interval
        95 % confidence interval of the power, for the errors of the threshold and of the share.
    level, n
        Of the test.
    threshold
        What log p − log q of a data set must exceed; with unnormalised densities it contains their
        constants.
    draws
        Data sets drawn from the null and from the alternative.
    model, alternative
        What was tested against what.
    """

    power: float
    interval: tuple[float, float]
    level: float
    n: int
    threshold: float
    draws: tuple[int, int]
    model: str
    alternative: str

    def __float__(self) -> float:
        return self.power

    def _title(self) -> str:
        low, high = self.interval
        return f"Neyman–Pearson bound: power {self.power:.3f} (95 % interval {low:.3f} to {high:.3f})"

    def _tables(self) -> list[Table]:
        draws = f"{self.draws[0]} of the null, {self.draws[1]} of the alternative"
        lines = {"model": self.model, "alternative": self.alternative, "n": str(self.n)}
        return [Table((), [*lines.items(), ("level", f"{self.level:g}"), ("draws", draws)])]

    def _notes(self) -> list[str]:
        return ["No test of this level has more power against this alternative."]


def neyman_pearson_power(
    model: Any,
    alternative: Any,
    n: int,
    level: float = 0.05,
    *,
    n_null: int = 20_000,
    n_alternative: int = 10_000,
    domain: Domain | None = None,
    log_ratio: LogLikelihoodRatio | None = None,
    censoring: Any = None,
    rng: RNG = None,
) -> NeymanPearsonPower:
    r"""The power that no test can exceed, by simulation of the likelihood ratio.

    Of all tests of q against p at level α the one that rejects for large

    .. math:: \sum_i \log p(x_i) - \log q(x_i)

    has the most power. Here its threshold is simulated with data from q and its power with data from p, both
    of n observations. Densities need not be normalised: their constants move ratio and threshold alike.

    Parameters
    ----------
    model, alternative
        q, the null hypothesis, and p: models with a log density and a sampler, anything that
        :func:`as_model` takes, or models of durations. With `log_ratio` also functions ``(n, rng) -> data``.
    n
        Observations in a data set.
    level
        α.
    n_null, n_alternative
        Data sets to draw. The threshold needs more of them than the power.
    domain
        To which both models are truncated.
    log_ratio
        ``data -> log p(data) − log q(data)`` of a whole data set, up to a constant, for data that are not
        independent points.
    censoring
        For models of durations: the law of independent censoring times, a model or a function
        ``(n, rng) -> times``. It cancels in the ratio.
    rng
        Seed or generator.

    Returns
    -------
    NeymanPearsonPower
        ``float()`` of it is the power.

    Notes
    -----
    Where the ratio takes few values, as for counts, the test rejects at the threshold with the probability
    that makes the level exact. Points are drawn for many data sets at a time, in pieces of bounded memory.

    References
    ----------
    Neyman & Pearson (1933), On the problem of the most efficient tests of statistical hypotheses.

    Examples
    --------
    >>> import goodstein as gs
    >>> from goodstein.families import Normal
    >>> bound = gs.neyman_pearson_power(Normal(0, 1), Normal(0.5, 1), 20, rng=1)
    >>> bound.interval[0] < 0.723 < bound.interval[1]  # Φ(√20·0.5 − 1.645) = 0.723
    True
    """
    n, n_null = check_count(n, "n"), check_count(n_null, "n_null", 100)
    n_alternative = check_count(n_alternative, "n_alternative", 100)
    level = check_share(level, "level")
    domain = check_domain(domain)
    check_threshold(n_null, level, "n_null")
    check_log_ratio(log_ratio)
    null = law_of(model, "model", domain=domain, censoring=censoring)
    pair = Pair(null, law_of(alternative, "alternative", domain=domain, censoring=censoring), n, log_ratio)
    pair.check()
    generator = as_generator(rng)
    under_null = pair.ratios("null", n_null, generator)
    test = RatioTest.of(under_null, pair.ratios("alternative", n_alternative, generator))
    threshold = float(np.sort(under_null)[::-1][min(int(level * n_null + 1e-9), n_null - 1)])
    draws, names = (n_null, n_alternative), (name_of(model), name_of(alternative))
    return NeymanPearsonPower(test.power(level), test.interval(level), level, n, threshold, draws, *names)


def check_threshold(draws: int, level: float, name: str) -> None:
    """Raise where there are too few draws of the null to find the threshold of this level."""
    if draws * level < 10:
        raise InputError(
            f"`{name}`: of {draws} data sets of the null only {draws * level:g} would lie beyond the "
            f"threshold of level {level:g}. Draw at least {int(np.ceil(10 / level))}."
        )


def check_log_ratio(log_ratio: Any) -> None:
    """Raise unless this is a function or None."""
    if log_ratio is not None and not is_function(log_ratio):
        raise must("log_ratio", "a function data -> log p(data) − log q(data)", log_ratio)
