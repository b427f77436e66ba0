"""What operators share that put an unbiased estimate in the place of the score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from goodstein.auditing.report import Check
from goodstein.domains.base import Domain
from goodstein.errors import InputError, ScoreError
from goodstein.kernels import IMQ
from goodstein.kernels.base import Kernel
from goodstein.models.model import Model
from goodstein.operators.base import Operator, default_operator, fitted_operator
from goodstein.operators.difference import Difference
from goodstein.stein.features import Features
from goodstein.types import Array


class Estimated(ABC):
    """An operator that evaluates another one with estimated scores ŝ_i, independent across i.

    The operator inside must be linear in the score. Then with E[ŝ_i | x_i] = s(x_i) the entry H_ij,
    i ≠ j, has the mean h(x_i, x_j): the U-statistic is unbiased, and the pairs (x_i, ŝ_i) are independent
    and identically distributed, which is all that its null distributions ask for. The diagonal is not
    linear in ŝ_i, so the V-statistic is inflated by the variance of ŝ.
    """

    operator: Operator | None
    seed: int

    @abstractmethod
    def scores(self, model: Any, data: Array) -> Array:
        """ŝ, (n, d)."""

    @abstractmethod
    def probe(self, model: Any, domain: Domain) -> Model:
        """A model with a score that the audit may evaluate where it likes."""

    def on(self, domain: Domain) -> Self:
        """With the operator that is used on this domain."""
        return self if self.operator is not None else self._with(operator=_linear_default(domain))

    def seeded(self, seed: int) -> Self:
        """With its random numbers fixed."""
        inner = getattr(self.operator, "seeded", None)
        return self._with(seed=seed, operator=self.operator if inner is None else inner(seed + 1))

    def fitted(self, data: Any, domain: Domain) -> Self:
        """With everything fixed that the operator inside takes from the data."""
        return self._with(operator=fitted_operator(self._inner(domain), data, domain))

    def features(self, model: Any, domain: Domain, data: Array) -> Features:
        """The features of the operator inside, with ŝ for s."""
        known = _Known(np.asarray(data), self.scores(model, data))
        stand_in = Model(score=known, domain=domain, batched=True, name=model.name)
        return self._inner(domain).features(stand_in, domain, data)

    def default_kernel(self) -> Kernel:
        """The kernel for users who name none: that of the operator inside."""
        kernel: Kernel = getattr(self.operator, "default_kernel", IMQ)()
        return kernel

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        """What the operator inside needs for Stein's identity."""
        from goodstein.pipeline.run import conditions

        probe = self.probe(model, domain)
        probe.estimated = True  # what holds exactly for a score holds for an estimate on average only
        checks = conditions(probe, domain, self._inner(domain), data, rng)
        # A bound is not for estimated scores.
        return [replace(c, message=c.message.replace("Difference(bound=10), or ", "")) for c in checks]

    def _inner(self, domain: Domain) -> Operator:
        return self.operator if self.operator is not None else _linear_default(domain)

    def _with(self, **changes: Any) -> Self:
        result: Self = replace(self, **changes)  # type: ignore[type-var]
        return result


def check_inner(operator: Any, name: str) -> None:
    """Raise where the operator inside is none, or estimates the score itself."""
    if operator is None:
        return
    if isinstance(operator, (type, Estimated)) or not hasattr(operator, "features"):
        raise InputError(
            f"`operator` of {name} must be the operator that takes the estimated score, such as Langevin() "
            f"or Standardised(), got {operator!r}."
        )
    if isinstance(operator, Difference) and operator.bound is not None:
        raise InputError(
            f"{operator!r} is not linear in the score, so an unbiased estimate of the score gives a biased "
            f"statistic. Pass {name}(..., operator=Difference())."
        )


def _linear_default(domain: Domain) -> Operator:
    """The default on the domain; on a lattice without the bound, which is not linear in the score."""
    chosen = default_operator(domain)
    return Difference() if isinstance(chosen, Difference) else chosen


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
