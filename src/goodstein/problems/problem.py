"""A test before its null distribution: data, model, domain, operator and kernel, put together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from goodstein.adapters.model import as_model
from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers
from goodstein.engine.reduce import quadratic_forms
from goodstein.errors import DomainError, InputError, ScoreError, describe_rows
from goodstein.kernels.base import Kernel
from goodstein.operators.base import Operator, fitted_operator
from goodstein.stein.features import Features
from goodstein.stein.forms import BlockForm


@dataclass(frozen=True)
class Problem:
    """Everything that determines the statistic.

    Operator and kernel are as the user gave them; what they take from the data (bandwidths,
    scales) is fixed when it is first needed, and fixed anew for other data, so that a simulated
    null distribution goes through exactly the steps of the observed statistic.

    The data need not be an array. A model of other data says how to draw observations like them,
    ``sample_like(data, rng)``, and how to wrap what a fit returns, ``adopt(model)``.
    """

    data: Any
    model: Any
    domain: Domain
    operator: Operator
    kernel: Kernel

    @cached_property
    def fitted_operator(self) -> Operator:
        """The operator with everything that it takes from the data fixed."""
        return fitted_operator(self.operator, self.data, self.domain)

    @cached_property
    def features(self) -> Features:
        """The operator at the observations; the only place where the score is evaluated."""
        return self.fitted_operator.features(self.model, self.domain, self.data)

    @cached_property
    def fitted_kernel(self) -> Kernel:
        """The kernel with its bandwidth fixed."""
        return self.kernel.fitted(self.features.points)

    @cached_property
    def form(self) -> BlockForm:
        """The Stein form of the observations."""
        form = self.features.form(self.fitted_kernel)
        with np.errstate(over="ignore", invalid="ignore"):
            diagonal = form.diagonal()
        broken = ~np.isfinite(diagonal)
        if broken.any():
            raise ScoreError(
                f"h(x, x) is not finite at {describe_rows(broken)}, because the score or the operator's "
                "weight is too large to be squared. Check the score, or rescale the data and the model."
            )
        if not diagonal.any():
            raise InputError(
                f"{self.fitted_operator!r} is zero at all {form.n} observations, so the test sees nothing. "
                "Check the auxiliary function, and that the data do not all lie on the boundary."
            )
        return form

    def statistic(self, workers: Workers = 1) -> float:
        """The U-statistic of KSD²."""
        return quadratic_forms(self.form, None, workers=workers)[0]

    def with_data(self, data: Any) -> Problem:
        """The same question of other data."""
        return replace(self, data=data)

    def with_model(self, model: Any) -> Problem:
        """The same question of another model, in any form that the user may bring."""
        return replace(self, model=getattr(self.model, "adopt", as_model)(model).on(self.domain))

    def simulate(self, rng: np.random.Generator) -> Any:
        """Draw from the model as many observations as there are, of the same kind."""
        own = getattr(self.model, "sample_like", None)
        if own is not None:
            return own(self.data, rng)
        return draw(self.model, self.domain, len(self.data), rng)


def draw(model: Any, domain: Domain, n: int, rng: np.random.Generator) -> Any:
    """Observations from the model, all of them in the domain."""
    sample = model.sample(n, rng)
    if not isinstance(sample, np.ndarray):
        return sample  # other data than points validate themselves
    try:
        domain.validate(sample)
    except DomainError as error:
        raise DomainError(
            f"The sampler of {model.name} leaves the domain: {str(error).removeprefix('`data`: ')} "
            "For a model that is restricted to the domain use families.Truncated(model, domain)."
        ) from None
    return sample
