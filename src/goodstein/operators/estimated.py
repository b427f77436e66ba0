"""What operators share that put an unbiased estimate in the place of the score."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from goodstein.auditing.report import Check
from goodstein.domains.base import Domain
from goodstein.errors import InputError, ScoreError
from goodstein.models.model import Model
from goodstein.operators.base import Operator, Wrapping, set_inner
from goodstein.operators.defaults import default_operator
from goodstein.operators.difference import Difference
from goodstein.stein.features import Features
from goodstein.types import Array


class Estimated(Wrapping):
    """An operator that evaluates another one with estimated scores ŝ_i, independent across i.

    The operator inside must be linear in the score. Then with E[ŝ_i | x_i] = s(x_i) the entry H_ij,
    i ≠ j, has the mean h(x_i, x_j): the U-statistic is unbiased, and the pairs (x_i, ŝ_i) are independent
    and identically distributed, which is all that its null distributions ask for. The diagonal is not
    linear in ŝ_i, so the V-statistic is inflated by the variance of ŝ.
    """

    seed: int

    @abstractmethod
    def scores(self, model: Any, data: Array) -> Array:
        """ŝ, (n, d)."""

    @abstractmethod
    def probe(self, model: Any, domain: Domain) -> Model:
        """A model with a score that the audit may evaluate where it likes."""

    def choose(self, domain: Domain) -> Operator:
        """The default on the domain; on a lattice without the bound, which is not linear in the score."""
        chosen = default_operator(domain)
        return Difference() if isinstance(chosen, Difference) else chosen

    def seeded(self, seed: int) -> Self:
        inner = None if self.operator is None else self.operator.seeded(seed + 1)
        return self._with(seed=seed, operator=inner)

    def features(self, model: Any, domain: Domain, data: Array) -> Features:
        """The features of the operator inside, with ŝ for s."""
        known = _Known(np.asarray(data), self.scores(model, data))
        stand_in = Model(score=known, domain=domain, batched=True, name=model.name)
        return self.inner(domain).features(stand_in, domain, data)

    def features_beside(
        self, features: Features, model: Any, domain: Domain, others: Array
    ) -> Features | None:
        """The others with the score that the audit sees: a few draws would make a function of them rough."""
        return self.inner(domain).features_beside(features, self._probed(model, domain), domain, others)

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        checks = super().conditions(self._probed(model, domain), domain, data, rng)
        # A bound is not for estimated scores.
        return [replace(c, message=c.message.replace("Difference(bound=10), or ", "")) for c in checks]

    def thorough(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        return super().thorough(self._probed(model, domain), domain, data, rng)

    def _probed(self, model: Any, domain: Domain) -> Model:
        probe = self.probe(model, domain)
        probe.estimated = True  # what holds exactly for a score holds for an estimate on average only
        return probe


def set_linear(estimated: Estimated) -> None:
    """Check the operator inside: one that estimates no score itself, and is linear in it."""
    wanted = "the operator that takes the estimated score, such as Langevin() or Standardised()"
    set_inner(estimated, wanted, never=Estimated)
    operator = estimated.operator
    if isinstance(operator, Difference) and operator.bound is not None:
        raise InputError(
            f"{operator!r} is not linear in the score, so an unbiased estimate of the score gives a biased "
            f"statistic. Pass {type(estimated).__name__}(..., operator=Difference())."
        )


@dataclass(frozen=True)
class _Known:
    """Scores that are known at the data and nowhere else."""

    data: Array
    values: Array

    def __call__(self, x: Array) -> Array:
        if not np.array_equal(x, self.data):
            raise ScoreError(
                "An operator with an estimated score asked for it at points that are not the data. "
                "Use an operator that looks at the data only."
            )
        return self.values
