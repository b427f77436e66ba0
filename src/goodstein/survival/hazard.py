"""The survival operator for censored durations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.stein.features import AnchoredFeatures
from goodstein.survival import checks
from goodstein.survival.checks import REMEDY, TOLERANCE
from goodstein.survival.data import Censored
from goodstein.survival.martingale import cumulative_hazard, positive_hazard, require_finite
from goodstein.survival.model import SurvivalModel
from goodstein.survival.operator import DurationOperator


@dataclass(frozen=True)
class Survival(DurationOperator):
    r"""T ω = δ(ω′ + ω λ₀′/λ₀)(t) − (λ₀ω)(t) + λ₀(0)ω(0), for durations t with events δ.

    It is (ωλ₀)′/λ₀ at the events minus what the martingale N(t) − ∫₀ᵗ Y λ₀ takes away; the last term
    is the boundary term, so that test functions need not vanish at zero. The hazard must be
    continuous, with λ₀(0) and E[(δλ₀′/λ₀ − λ₀)²] finite: for a Weibull distribution its shape must
    be 1 or larger than 2. :class:`Martingale` needs less.

    References
    ----------
    Fernández, Rivera, Xu, Gretton (2020), Kernelized Stein discrepancy tests of goodness-of-fit for
    time-to-event data.

    Examples
    --------
    >>> import goodstein as gs
    >>> import scipy.stats
    >>> data = gs.Censored([0.2, 0.5, 0.9, 1.1, 2.4], [1, 1, 0, 1, 0])
    >>> gs.stein_matrix(data, scipy.stats.expon(), operator=gs.Survival()).shape
    (5, 5)
    """

    def features(self, model: SurvivalModel, domain: Domain, data: Censored) -> AnchoredFeatures:
        """(y, a, G) = (t, δλ₀′/λ₀ − λ₀, δ), and λ₀(0) times the value at zero."""
        t, events = data.durations, data.event_observed
        at_zero = model.hazard_at_zero
        if not np.isfinite(at_zero):
            reason = f"Survival() needs a hazard that is finite at zero, but that of {model.name} is not."
            raise InputError(reason, remedy=REMEDY)
        cumulative_hazard(model, data)
        positive_hazard(model, data)
        hazard = model.hazard(t)
        require_finite(hazard, np.ones(len(data), bool), model, "hazard")
        value = -hazard
        value[events] += model.log_hazard_derivative(t[events])
        parts = t[:, None], value[:, None], events.astype(np.float64)
        return AnchoredFeatures(*parts, anchor=np.zeros(1), anchor_value=float(at_zero))

    def verdict(self, model: SurvivalModel, data: Censored | None) -> Check:
        """A continuous hazard, finite at zero, with E[(δλ₀′/λ₀ − λ₀)²] < ∞."""
        question, name = Question("hazard"), model.name
        if not np.isfinite(model.hazard_at_zero):
            found = f"The hazard of {name} is infinite at zero, where the operator needs it. {REMEDY}"
            return question.failed(found)
        broken = checks.check_smooth(model, checks.longest_duration(model, data), question)
        if broken:
            return broken
        if checks.drift_diverges_at_zero(model):
            found = f"Near t = 0 the derivative of the hazard of {name} is so large that E[δ(λ₀′/λ₀)²]"
            return question.failed(f"{found} is infinite and the statistic has no finite variance. {REMEDY}")
        tail = checks.tail_exponents(model, drift=True)
        found = f"Far out the hazard of {name} grows like S₀^{-tail:.2f}"
        if tail >= 1.0 - TOLERANCE:
            why = "its density does not vanish at the end of its support and Stein's identity fails there"
            return question.failed(f"{found}, so {why}, unless censoring comes earlier. {REMEDY}")
        if tail >= 0.5 - TOLERANCE:
            why = "unless censoring comes earlier, the statistic has no finite variance"
            return question.warned(f"{found}: {why}. {REMEDY}")
        return question.passed("λ₀(0) and E[(δλ₀′/λ₀ − λ₀)²] are finite as far as can be seen.")
