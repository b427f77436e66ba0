"""What the operators on durations share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from goodstein.auditing.report import Check
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.operators.base import Operator
from goodstein.survival.checks import check_agreement, check_derivative, check_events
from goodstein.survival.data import Censored
from goodstein.survival.model import SurvivalModel
from goodstein.survival.regression import AnySurvival


class DurationOperator(Operator):
    """An operator on censored durations; its conditions are about hazards, not about scores and edges."""

    takes = Censored
    conditions_suffice = True

    differentiates: ClassVar[bool] = True
    """Whether it uses λ₀′/λ₀."""

    needs_scale: ClassVar[bool] = True
    """Whether the hazard is meant as it is, and not only up to a factor."""

    takes_entry: ClassVar[bool] = False
    """Whether durations may be watched from a later time than zero on."""

    takes_covariates: ClassVar[bool] = False
    """Whether hazards may depend on covariates."""

    def require(self, data: Censored, model: AnySurvival) -> None:
        """Raise where data or model are of a kind that the operator does not know."""
        late = data.late and not self.takes_entry
        varied = not isinstance(model, SurvivalModel) and not self.takes_covariates
        if late or varied:
            what = "durations that were watched from time zero on" if late else "hazards without covariates"
            raise InputError(f"{self!r} is for {what}.", argument="data", remedy="Use Martingale().")

    def conditions(
        self, model: AnySurvival, domain: Domain, data: Censored | None, rng: np.random.Generator
    ) -> list[Check]:
        checks = check_events(data, model if self.needs_scale else None) + check_agreement(model, data)
        if isinstance(model, SurvivalModel) and self.differentiates:
            checks += check_derivative(model, data)
        return [*checks, self.verdict(model, data)]

    @abstractmethod
    def verdict(self, model: Any, data: Censored | None) -> Check:
        """Whether Stein's identity holds with this hazard, and the statistic has a finite variance."""
