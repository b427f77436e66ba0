"""The operator for hazards that are known up to a factor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.constraints import number
from goodstein.domains.base import Domain
from goodstein.errors import InputError, refuse_rows
from goodstein.stein.features import SteinFeatures
from goodstein.survival.checks import check_smooth, exponent_at_zero
from goodstein.survival.data import Censored
from goodstein.survival.martingale import positive_hazard
from goodstein.survival.model import SurvivalModel
from goodstein.survival.operator import DurationOperator
from goodstein.types import Array

AT_RISK = 0.1
"""Share of the observations that are still at risk at the default horizon."""


@dataclass(frozen=True)
class ProportionalHazards(DurationOperator):
    r"""T ω = (n δ/Y(t)) (ω′ + ω λ₀′/λ₀)(t), of the hypothesis that the hazard is γ·λ₀, γ > 0 unknown.

    Y(t) is the number of observations still at risk at t, events before censorings. Nothing in T
    depends on γ. Under the hypothesis the sum over the observations is a martingale plus
    γ·n·[ωλ₀], taken from zero to the last duration; so ωλ₀ must vanish at both ends of what was
    observed. Test functions are therefore ω = w·f with f in the RKHS and

        w(t) = t·(1 − t/τ)²  up to the horizon τ, and zero beyond,

    and the operator has the parts a = (nδ/Y)(w′ + wλ₀′/λ₀), G = (nδ/Y)w.

    Parameters
    ----------
    horizon
        τ; events beyond it do not count. None takes the 90 % quantile of the durations: a tenth of
        the observations are still at risk there, so that n/Y stays bounded. It must not exceed the
        longest duration.

    Notes
    -----
    The horizon keeps the level whatever ends the observation; it is paid for with what the longest
    durations have to say.

    A weight that only vanishes at infinity, such as t·exp(−t/τ), does not suffice: with all
    observation ending at a fixed time the test then rejects a true model most of the time.

    The factor matters only to null distributions that simulate the model: they take γ = number of
    events / Σ Λ₀(T), its maximum likelihood estimate.

    References
    ----------
    Fernández, Rivera, Xu, Gretton (2020), Kernelized Stein discrepancy tests of goodness-of-fit for
    time-to-event data, with the Stein kernel divided by λ₀(t)λ₀(t′), as the operator demands.

    Examples
    --------
    >>> import goodstein as gs
    >>> import numpy as np
    >>> import scipy.stats
    >>> rng = np.random.default_rng(1)
    >>> data = gs.Censored(rng.exponential(30.0, size=100))
    >>> operator = gs.ProportionalHazards()
    >>> gs.ksd_test(data, scipy.stats.expon(), operator=operator, rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(data, scipy.stats.weibull_min(2), operator=operator, rng=1).pvalue < 0.01
    True
    """

    horizon: float | None = None

    changes_model = True  # no annotation: not a field
    needs_scale = False

    def __post_init__(self) -> None:
        if self.horizon is not None:
            number(
                self.horizon,
                "horizon",
                of="ProportionalHazards",
                above=0.0,
                wanted="a positive time, or None",
            )

    def fitted(self, data: Censored, domain: Domain) -> ProportionalHazards:
        return ProportionalHazards(self.resolved(data))

    def resolved(self, data: Censored) -> float:
        """The horizon as a number."""
        if self.horizon is not None:
            return float(self.horizon)
        horizon = float(np.quantile(data.durations, 1.0 - AT_RISK))
        if horizon == 0:
            reason = "nine tenths of the durations or more are zero."
            raise InputError(reason, argument="data", remedy="Check their units.")
        return horizon

    def null_model(self, model: SurvivalModel, data: Censored) -> SurvivalModel:
        """The model with the factor that suits the data best, for simulation; T is the same for both."""
        events, total = int(data.event_observed.sum()), float(model.cumulative_hazard(data.durations).sum())
        name = f"hazard proportional to that of {model.name}"
        if not events or not (0 < total < np.inf):
            return model.renamed(name)
        return model.proportional(events / total).renamed(name)

    def features(self, model: SurvivalModel, domain: Domain, data: Censored) -> SteinFeatures:
        """(y, a, G) = (t, (nδ/Y)(w′ + wλ₀′/λ₀), (nδ/Y)w)."""
        horizon = self.resolved(data)
        positive_or_zero(model, data)
        t, n = data.durations, len(data)
        w, slope = _weight(t, horizon)
        seen = data.event_observed & (t < horizon)
        if not (w[seen] > 0).any():
            found = f"none of the {n} durations is an event before the horizon {horizon:g}"
            remedy = "Use Martingale(), or a longer horizon."
            reason = f"{found}, so ProportionalHazards() sees nothing."
            raise InputError(reason, argument="data", remedy=remedy)
        drift = slope
        inside = seen & (w > 0)
        drift[inside] += w[inside] * model.log_hazard_derivative(t[inside])
        factor = np.where(seen, n / data.at_risk(), 0.0)
        return SteinFeatures(t[:, None], (factor * drift)[:, None], factor * w)

    def verdict(self, model: SurvivalModel, data: Censored | None) -> Check:
        """ωλ₀ vanishes at zero and at the horizon, and between them λ₀ is continuous."""
        question = Question("weight and hazard")
        p = exponent_at_zero(model)
        if p <= -1.0:
            found = f"Near zero the hazard of {model.name} behaves like t^{p:.2f}"
            return question.failed(f"{found}, which has no finite integral.")
        if data is None:
            return question.skipped("The horizon comes from the data.")
        horizon, longest = self.resolved(data), float(data.durations.max())
        if horizon > longest:
            return question.failed(
                f"The horizon {horizon:g} lies beyond the longest duration, {longest:g}, where ωλ₀ does not "
                "vanish: Stein's identity fails. Choose a horizon up to which somebody was observed."
            )
        broken = check_smooth(model, horizon, question)
        if broken:
            return broken
        left = int(data.at_risk([horizon])[0])
        message = f"wλ₀ vanishes at zero and at the horizon {horizon:.6g}, where {left} are still at risk."
        if left < 0.5 * AT_RISK * len(data):
            return question.warned(f"{message} With so few the level suffers somewhat.")
        return question.passed(message)


def _weight(t: Array, horizon: float) -> tuple[Array, Array]:
    """w and w′ at each time."""
    rest = np.maximum(1.0 - t / horizon, 0.0)
    return t * rest**2, rest**2 - 2.0 * (t / horizon) * rest


def positive_or_zero(model: SurvivalModel, data: Censored) -> None:
    """Raise at events where λ₀ is zero, or at time zero, where λ₀′/λ₀ need not exist."""
    at_zero = data.event_observed & (data.durations == 0)
    if at_zero.any() and not 0 < model.hazard_at_zero < np.inf:
        what = f"are events at time zero, where the hazard of {model.name} is {model.hazard_at_zero:g}."
        refuse_rows(at_zero, what, "A duration of exactly zero is often a rounded one: check the data.")
    positive_hazard(model, data)
