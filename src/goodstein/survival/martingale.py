"""The martingale operator for censored durations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.constraints import check_option
from goodstein.domains.base import Domain
from goodstein.errors import InputError, describe_rows, refuse_rows
from goodstein.stein.features import AnchoredFeatures
from goodstein.survival import checks
from goodstein.survival.checks import REMEDY, TOLERANCE
from goodstein.survival.data import Censored
from goodstein.survival.model import SurvivalModel
from goodstein.survival.operator import DurationOperator
from goodstein.types import Array, BoolArray

THIN = 1.0 / 3.0
"""From this exponent of the hazard at zero on the Stein kernel has no finite second moment."""

UNITS = "Check the units of the durations, or the model."


@dataclass(frozen=True)
class Martingale(DurationOperator):
    r"""T ω = δ ω′(t)/λ₀(t) − (ω(t) − ω(0)), for durations t with events δ.

    Its mean is zero under the model because N(t) − ∫₀ᵗ Y λ₀ is a martingale, whatever the
    censoring distribution is. The term ω(0) is the boundary term: test functions need not vanish
    at zero.

    Parameters
    ----------
    transform
        On which scale test functions look at the durations:

        - ``"cdf"``: u = F₀(t), where δ/λ₀ becomes δ(1 − u). Every continuous model becomes the
          uniform distribution, so nothing is asked of its hazard;
        - ``"hazard"``: v = Λ₀(t), where it becomes δ. Here the martingale and the survival operator
          are the same;
        - None: the durations themselves; needs a hazard that is nowhere too close to zero.

    Notes
    -----
    The model's parameters must be fixed beforehand. For fitted ones use
    :class:`ParametricBootstrap`, which draws censoring times from their Kaplan–Meier estimate;
    other null distributions make the p-value conservative. A warning says so where the model
    remembers what it was fitted to, as families and the fitters of lifelines do; distributions of SciPy
    do not, and nothing is said. :class:`MonteCarlo` simulates censoring in the same way, so with censored
    data it is exact only up to that estimate.

    References
    ----------
    Fernández, Rivera, Xu, Gretton (2020), Kernelized Stein discrepancy tests of goodness-of-fit for
    time-to-event data.

    Examples
    --------
    >>> import goodstein as gs
    >>> import numpy as np
    >>> import scipy.stats
    >>> rng = np.random.default_rng(1)
    >>> event, censoring = rng.weibull(1.7, size=100), rng.exponential(2.0, size=100)
    >>> data = gs.Censored(np.minimum(event, censoring), event <= censoring)
    >>> result = gs.ksd_test(data, scipy.stats.expon(), operator=gs.Martingale(), rng=1)
    >>> result.pvalue < 0.01
    True
    """

    transform: Literal["cdf", "hazard"] | None = "cdf"

    differentiates = False

    def __post_init__(self) -> None:
        check_option(self.transform, "transform", ("cdf", "hazard", None))

    def features(self, model: SurvivalModel, domain: Domain, data: Censored) -> AnchoredFeatures:
        """(y, a, G) = (t, −1, δ/λ₀), and the value at zero."""
        events = data.event_observed
        cumulative = cumulative_hazard(model, data)
        require_possible(model, data)
        points: Array = cumulative
        weight: Array = events.astype(np.float64)
        if self.transform == "cdf":
            points, weight = -np.expm1(-cumulative), weight * np.exp(-cumulative)
        elif self.transform == "hazard":
            require_finite(cumulative, np.ones(len(data), bool), model, "cumulative hazard")
        else:
            points = data.durations
            weight[events] = 1.0 / positive_hazard(model, data)
        value = np.full((len(data), 1), -1.0)
        return AnchoredFeatures(points[:, None], value, weight, anchor=np.zeros(1), anchor_value=1.0)

    def verdict(self, model: SurvivalModel, data: Censored | None) -> Check:
        """E[δ/λ₀²] < ∞, unless the durations are transformed."""
        question = Question("hazard")
        if self.transform is not None:
            scale = "F₀" if self.transform == "cdf" else "Λ₀"
            return question.passed(f"On the scale of {scale} every continuous model will do.")
        problem = _infinite_variance(model, checks.longest_duration(model, data))
        if problem is not None:
            return question.failed(f"{problem} {REMEDY}")
        p = checks.exponent_at_zero(model)
        if p >= THIN - TOLERANCE:
            found = f"Near t = 0 the hazard of {model.name} falls like t^{p:.2f}, so E[δ/λ₀⁴] is infinite"
            why = "with few observations the wild bootstrap rejects true models too often"
            return question.warned(f"{found}: {why} (validation/size.md). {REMEDY}")
        tail = checks.tail_exponents(model)
        if tail <= -0.5 + TOLERANCE:
            why = "unless censoring comes earlier, the statistic has no finite variance"
            return question.warned(f"Far out the hazard falls like S₀^{-tail:.2f}: {why}. {REMEDY}")
        return question.passed("E[δ/λ₀²] is finite as far as can be seen.")


def _infinite_variance(model: SurvivalModel, longest: float) -> str | None:
    """Why E[δ/λ₀²] = ∫ S_C S₀/λ₀ diverges, if it does."""
    infinite = "so E[δ/λ₀²] is infinite and the statistic has no finite variance."
    p = checks.exponent_at_zero(model)
    if p >= 1.0 - TOLERANCE:
        vanishes = f"falls to zero like t^{p:.2f}" if p < 20 else "vanishes"
        return f"The hazard of {model.name} {vanishes} near t = 0, {infinite}"
    for t0, order in checks.zeros_inside(model, longest):
        if order == np.inf:
            return f"The hazard of {model.name} is zero around t = {t0:.6g}, where Stein's identity fails."
        if order >= 1.0 - TOLERANCE:
            where = f"t = {t0:.6g}, where it behaves like |t − t₀|^{order:.2f}"
            return f"The hazard of {model.name} is zero at {where}, {infinite}"
    return None


def cumulative_hazard(model: SurvivalModel, data: Censored) -> Array:
    """Λ₀ at the durations; raises where the model rules them out."""
    values = model.cumulative_hazard(data.durations)
    where = f"lie beyond {model.upper:g}, where the survival function of {model.name} is zero."
    refuse_rows(data.durations > model.upper, where, UNITS)
    return values


def require_possible(model: SurvivalModel, data: Censored) -> None:
    """Raise where events were observed at times at which the model allows none."""
    events = data.event_observed & (data.durations > 0)
    _refuse_zeros(model.hazard(data.durations[events]), events, model, data)


def positive_hazard(model: SurvivalModel, data: Censored) -> Array:
    """λ₀ at the events; raises where it is zero or infinite."""
    events = data.event_observed
    hazard = model.hazard(data.durations[events])
    _refuse_zeros(hazard, events, model, data)
    require_finite(hazard, events, model, "hazard")
    return hazard


def _refuse_zeros(hazard: Array, events: BoolArray, model: SurvivalModel, data: Censored) -> None:
    zero = np.zeros(len(data), bool)
    zero[events] = hazard == 0.0
    if zero.any():
        first = data.durations[zero][0]
        where = f"{describe_rows(zero)}, the first at t = {first:g}, but events were observed there."
        where += " A duration of exactly zero is often a rounded one." if first == 0 else ""
        reason = f"the hazard of {model.name} is zero at {where}"
        raise InputError(reason, argument="data", rows=zero, remedy=UNITS)


def require_finite(values: Any, rows: BoolArray, model: SurvivalModel, what: str) -> None:
    """Raise where λ₀ or Λ₀ is infinite at some of the rows."""
    bad = np.zeros(len(rows), bool)
    bad[rows] = ~np.isfinite(values)
    if bad.any():
        reason = f"the {what} of {model.name} is not finite at {describe_rows(bad)}."
        raise InputError(reason, argument="data", rows=bad, remedy=REMEDY)
