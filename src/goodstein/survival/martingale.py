"""The martingale operator for censored durations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.conditional.operator import ConditionalFeatures, as_kernel, require_kernel
from goodstein.constraints import check_option
from goodstein.domains.base import Domain
from goodstein.errors import InputError, describe_rows, refuse_rows
from goodstein.stein.entered import EnteredFeatures
from goodstein.stein.features import AnchoredFeatures, Features, SteinFeatures
from goodstein.stein.stacked import AnchoredStack
from goodstein.survival import checks
from goodstein.survival.checks import REMEDY, TOLERANCE
from goodstein.survival.covariates import covariate_kernel
from goodstein.survival.cox import CoxModel
from goodstein.survival.data import Censored
from goodstein.survival.model import SurvivalModel
from goodstein.survival.operator import DurationOperator
from goodstein.survival.regression import AnySurvival
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

    Of durations that were watched only from an entry time e on, it is ω(e) in the place of ω(0), another
    point for each. Of durations with covariates z, hazard and test functions depend on z too,

        T ω = δ ∂_t ω(t, z)/λ(t | z) − (ω(t, z) − ω(e, z)),

    and the kernel is one of times, on the scale of `transform`, times one of covariates: the test sees where
    among the covariates events come too early, too late, too often or too rarely. There tests take
    ``Gaussian(0.5)`` for the former by themselves: narrower kernels hardly see a wrong form of a covariate.

    Parameters
    ----------
    transform
        On which scale test functions look at the durations:

        - ``"cdf"``: u = F₀(t), where δ/λ₀ becomes δ(1 − u). Every continuous model becomes the
          uniform distribution, so nothing is asked of its hazard;
        - ``"hazard"``: v = Λ₀(t), where it becomes δ. Here the martingale and the survival operator
          are the same;
        - None: the durations themselves; needs a hazard that is nowhere too close to zero.
    covariate_kernel
        The kernel of covariates, where the data have some: any kernel of the library, or a function of rows
        (n, p) and (m, p) that returns (n, m). None takes that of :class:`Conditional`, :class:`Gaussian` with
        half the median distance, each covariate in units of its median absolute deviation; of several
        covariates half of it, and half the mean of Gaussian kernels of each by itself.

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
    covariate_kernel: Any = None

    differentiates = False
    takes_entry = takes_covariates = True

    def __post_init__(self) -> None:
        check_option(self.transform, "transform", ("cdf", "hazard", None))
        require_kernel(self.covariate_kernel, "covariate_kernel")

    def __repr__(self) -> str:
        kernel = "" if self.covariate_kernel is None else f", covariate_kernel={self.covariate_kernel!r}"
        return f"Martingale(transform={self.transform!r}{kernel})"

    def require(self, data: Censored, model: AnySurvival) -> None:
        if isinstance(model, CoxModel):
            reason = f"Martingale() needs a hazard, and the baseline of {model.name} is not known."
            raise InputError(reason, argument="operator", remedy="Use CoxResiduals(), or a parametric model.")

    def fitted(self, data: Censored, domain: Domain) -> Martingale:
        if data.covariates is None:
            return self
        return replace(self, covariate_kernel=covariate_kernel(self.covariate_kernel, data.covariates))

    def features(self, model: AnySurvival, domain: Domain, data: Censored) -> Features:
        """(y, a, G) = (t, −1, δ/λ), the value at the entry, and the kernel of covariates."""
        inner = self.in_time(model, data)
        if data.covariates is None:
            return inner
        return ConditionalFeatures(inner, data.covariates, as_kernel(self.covariate_kernel))

    def stacked(self, model: AnySurvival, domain: Domain, data: Censored, count: int) -> AnchoredStack | None:
        """Each sample with a bandwidth of its own, on the same scale of time."""
        features = self.in_time(model, data) if data.covariates is None else None
        return AnchoredStack(features, count) if isinstance(features, AnchoredFeatures) else None

    def in_time(self, model: AnySurvival, data: Censored) -> AnchoredFeatures | EnteredFeatures:
        """The features of times alone."""
        events, n = data.event_observed, len(data)
        cumulative = cumulative_hazard(model, data)
        require_possible(model, data)
        points: Array = cumulative
        weight: Array = events.astype(np.float64)
        if self.transform == "cdf":
            points, weight = -np.expm1(-cumulative), weight * np.exp(-cumulative)
            if np.ptp(points) == 0.0 < np.ptp(data.durations):
                shortest = float(data.durations.min())
                raise InputError(
                    f"under {model.name} nothing lasts longer than the shortest duration, {shortest:.3g}, or "
                    "with a probability that is zero but for rounding.",
                    argument="data",
                    remedy="Check that the model and the durations have the same unit.",
                )
        elif self.transform == "hazard":
            require_finite(cumulative, np.ones(n, bool), model, "cumulative hazard")
        else:
            points = data.durations
            weight[events] = 1.0 / positive_hazard(model, data)
        value = np.full((n, 1), -1.0)
        if not data.late:
            return AnchoredFeatures(points[:, None], value, weight, anchor=np.zeros(1), anchor_value=1.0)
        start = data.entry if self.transform is None else model.given(data).cumulative_hazard(data.entry)
        start = -np.expm1(-start) if self.transform == "cdf" else start
        entered = SteinFeatures(start[:, None], -value, np.zeros(n))
        return EnteredFeatures(SteinFeatures(points[:, None], value, weight), entered)

    def verdict(self, model: AnySurvival, data: Censored | None) -> Check:
        """E[δ/λ₀²] < ∞, unless the durations are transformed."""
        question = Question("hazard")
        if self.transform is not None:
            scale = "F₀" if self.transform == "cdf" else "Λ₀"
            return question.passed(f"On the scale of {scale} every continuous model will do.")
        if not isinstance(model, SurvivalModel):
            return question.skipped(
                "The hazard is another one for each row: none was looked at for its zeros."
            )
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


def cumulative_hazard(model: AnySurvival, data: Censored) -> Array:
    """Λ₀ at the durations; raises where the model rules them out."""
    values = model.given(data).cumulative_hazard(data.durations)
    where = f"lie beyond {model.upper:g}, where the survival function of {model.name} is zero."
    refuse_rows(data.durations > model.upper, where, UNITS)
    return values


def require_possible(model: AnySurvival, data: Censored) -> None:
    """Raise where events were observed at times at which the model allows none."""
    events = data.event_observed & (data.durations > 0)
    _refuse_zeros(_hazard(model, data, events), events, model, data)


def positive_hazard(model: AnySurvival, data: Censored) -> Array:
    """λ₀ at the events; raises where it is zero or infinite."""
    events = data.event_observed
    hazard = _hazard(model, data, events)
    _refuse_zeros(hazard, events, model, data)
    require_finite(hazard, events, model, "hazard")
    return hazard


def _hazard(model: AnySurvival, data: Censored, rows: BoolArray) -> Array:
    some = data if rows.all() else data.take(rows)
    return model.given(some).hazard(some.durations)


def _refuse_zeros(hazard: Array, events: BoolArray, model: AnySurvival, data: Censored) -> None:
    zero = np.zeros(len(data), bool)
    zero[events] = hazard == 0.0
    if zero.any():
        first = data.durations[zero][0]
        where = f"{describe_rows(zero)}, the first at t = {first:g}, but events were observed there."
        where += " A duration of exactly zero is often a rounded one." if first == 0 else ""
        reason = f"the hazard of {model.name} is zero at {where}"
        raise InputError(reason, argument="data", rows=zero, remedy=UNITS)


def require_finite(values: Any, rows: BoolArray, model: AnySurvival, what: str) -> None:
    """Raise where λ₀ or Λ₀ is infinite at some of the rows."""
    bad = np.zeros(len(rows), bool)
    bad[rows] = ~np.isfinite(values)
    if bad.any():
        reason = f"the {what} of {model.name} is not finite at {describe_rows(bad)}."
        raise InputError(reason, argument="data", rows=bad, remedy=REMEDY)
