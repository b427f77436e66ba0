"""What the operators on durations share."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from goodstein.auditing.report import Check
from goodstein.domains.base import Domain
from goodstein.operators.base import Operator
from goodstein.survival.checks import check_agreement, check_derivative, check_events
from goodstein.survival.data import Censored
from goodstein.survival.model import SurvivalModel


class DurationOperator(Operator):
    """An operator on censored durations; its conditions are about hazards, not about scores and edges."""

    takes = Censored
    conditions_suffice = True

    differentiates: ClassVar[bool] = True
    """Whether it uses λ₀′/λ₀."""

    needs_scale: ClassVar[bool] = True
    """Whether the hazard is meant as it is, and not only up to a factor."""

    def conditions(
        self, model: SurvivalModel, domain: Domain, data: Censored | None, rng: np.random.Generator
    ) -> list[Check]:
        checks = check_events(data, model if self.needs_scale else None) + check_agreement(model, data)
        checks += check_derivative(model, data) if self.differentiates else []
        return [*checks, self.verdict(model, data)]

    @abstractmethod
    def verdict(self, model: SurvivalModel, data: Censored | None) -> Check:
        """Whether Stein's identity holds with this hazard, and the statistic has a finite variance."""
