"""Outcomes against draws of the model at the same covariates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.auditing.skewness import carrying, too_skewed
from goodstein.conditional.data import Paired
from goodstein.conditional.model import ConditionalModel
from goodstein.constraints import MOST_DRAWS, check_count, check_seed
from goodstein.domains.base import Domain
from goodstein.errors import InputError, given
from goodstein.lazy import Kept
from goodstein.numerics.ranges import cut
from goodstein.operators.views.trends import TrendView, along
from goodstein.stein.finite import FiniteFeatures
from goodstein.types import Array

Functions = Callable[[Array], Array]
"""Functions of outcomes at the covariates of the data, (n, q) to (n, c)."""

PROBES = 20
"""Samples in which the sizes of features are compared."""

CHUNK = 1 << 18
"""Outcomes that are drawn at a time."""


class GivenDraws(TrendView):
    """T f(x_i, y_i) = [f_i(y_i) − mean_b f_i(y_ib)]·b(x_i), with draws y_ib of the model at the same x_i.

    f_i comes from half of the draws at x_i, the mean is over the others, so that it is zero under the model.
    A frozen dataclass with the fields ``draws``, ``seed`` and ``_kept``, besides those of a view of trends.
    """

    draws: int
    seed: int
    _kept: Kept

    takes = Paired
    operator = None
    conditions_suffice = True
    bounded: ClassVar[bool] = False
    """Whether no tail is too heavy for the functions."""

    @abstractmethod
    def functions(self, draws: Array, model: Any) -> Functions:
        """The functions f_i, from draws at every x_i, (m, n, q)."""

    def check_draws(self) -> None:
        """Raise where the fields cannot be what they are."""
        check_count(self.draws, "draws", 4, MOST_DRAWS, of=type(self).__name__)
        check_seed(self.seed, of=type(self).__name__)
        self.check_trends()

    def on(self, domain: Domain) -> Self:
        return self

    def seeded(self, seed: int) -> Self:
        return self._with(seed=seed)

    def fitted(self, data: Paired, domain: Domain) -> Self:
        # Many samples of the model have the same x, and are compared with the same draws.
        fitted: Self = self._kept(lambda: self.with_trends(data), 0, data.x)
        return fitted

    def features(self, model: ConditionalModel, domain: Domain, data: Paired) -> FiniteFeatures:
        """[f_i(y_i) − mean_b f_i(y_ib)]·b(x_i) for all f and b."""
        trends = self.trends
        assert trends is not None, "Functions of x come from data: fitted() comes first."
        curves = self._kept(lambda: trends(data.covariates), 1, data.x)
        functions, expected = self._kept(lambda: self._drawn(model, domain, data), 2, model, data.x)
        return FiniteFeatures(along(functions(data.outcomes) - expected, curves))

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        """A sampler, and functions that are not too heavy for random signs."""
        self._require_sampler(model)
        if data is None:
            return []
        # Always the same draws: whether a test is refused must not be left to chance.
        always, fitted = np.random.default_rng(0), self.seeded(0).fitted(data, domain)
        samples = [data.drawn(model, domain, always) for _ in range(PROBES)]
        seen = np.concatenate([fitted.features(model, domain, sample).tau for sample in samples])
        if too_skewed(norms := (seen**2).sum(axis=1), len(data)):
            message = (
                f"About {len(data) * carrying(norms):.2g} of {len(data)} observations carry {self!r}, so "
                f"that random signs do not tell its distribution. Use {given('null', 'MonteCarlo()')}."
            )
            return [Question("heavy features").failed(message, asymptotic=True)]
        return [Check("draws", "pass", f"Needs draws of {model.name}, and no score.")]

    def thorough(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        return []

    def _drawn(self, model: ConditionalModel, domain: Domain, data: Paired) -> tuple[Functions, Array]:
        """The functions, and the means of other draws."""
        self._require_sampler(model)
        rng, (n, q) = np.random.default_rng([self.seed, 6]), data.outcomes.shape
        # All draws of some rows at once, each row as often as it has draws.
        parts = [
            data.take(np.tile(np.arange(n)[rows], self.draws)).drawn(model, domain, rng).outcomes
            for rows in cut(0, n, max(1, CHUNK // self.draws))
        ]
        drawn = np.concatenate([part.reshape(self.draws, -1, q) for part in parts], axis=1)
        half = self.draws // 2
        functions = self.functions(drawn[:half], model)
        return functions, np.mean([functions(outcomes) for outcomes in drawn[half:]], axis=0)

    def _require_sampler(self, model: Any) -> None:
        if not model.has_sample:
            raise InputError(
                f"{type(self).__name__} compares outcomes with draws from the model, but {model.name} has no "
                f"sampler. {model.sampler_advice}, or use Residuals(), which needs the score only."
            )

    @property
    def given(self) -> Self:
        """Without the draws, which a result has no use for."""
        return replace(self)  # type: ignore[type-var]

    def _arguments(self) -> list[str]:
        own = super()._arguments()
        return own if self.draws == 100 else [*own, f"draws={self.draws}"]
