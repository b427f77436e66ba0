"""Models of proportional hazards with an unknown baseline, as Cox has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.constraints import check_text, numbers
from goodstein.data.rows import SeenRows
from goodstein.errors import InputError
from goodstein.models.provenance import Fit
from goodstein.survival.data import Censored, as_censored
from goodstein.survival.regression import Given, SurvivalRegression
from goodstein.types import Array, ArrayLike

PARTIAL = "partial likelihood"
"""How coefficients are fitted whose baseline is not known."""


class CoxModel(SurvivalRegression):
    r"""Proportional hazards, :math:`λ(t \mid z) = λ_0(t)\, e^{β·z}`, whose baseline λ₀ is not known.

    Parameters
    ----------
    coefficients
        β, (p,), as the partial likelihood of the data gives them, or fixed beforehand.
    fitted_to
        The durations that they were fitted to, (n,) or :class:`Censored`: a test on the same durations takes
        account of the fit. Without it they count as fixed beforehand.
    name
        What messages and results call the model.

    Notes
    -----
    It is tested by :class:`CoxResiduals`. A fitted ``CoxPHFitter`` of lifelines is such a model as it is. The
    cumulative hazard at data is that of Breslow, a step function made of them.

    Examples
    --------
    >>> import goodstein as gs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> z = rng.normal(size=300)
    >>> data = gs.Censored(rng.exponential(np.exp(-(z**2))), covariates=z)
    >>> gs.ksd_test(data, gs.CoxModel([0.0]), rng=1).pvalue < 0.01
    True
    """

    has_sample = False
    trusted = True

    def __init__(
        self,
        coefficients: ArrayLike,
        *,
        fitted_to: ArrayLike | Censored | None = None,
        name: str | None = None,
    ) -> None:
        self.coefficients = np.atleast_1d(numbers(coefficients, "coefficients", ndim=(0, 1), of="CoxModel"))
        values = ", ".join(f"{value:.4g}" for value in self.coefficients[:6])
        more = ", …" if len(self.coefficients) > 6 else ""
        self.name = f"Cox model({values}{more})" if name is None else check_text(name, "name")
        self._functions = {}
        if fitted_to is not None:
            self.remember(Fit(PARTIAL, SeenRows(as_censored(fitted_to, "CoxModel"))))

    def hazard(self, t: ArrayLike, z: Any) -> Array:
        """There is none: the baseline is not known."""
        raise InputError(f"{self.name} has no hazard, since its baseline is not known.", remedy=PARAMETRIC)

    def cumulative_hazard(self, t: ArrayLike, z: Any) -> Array:
        """There is none but that of data, ``given(data)``."""
        raise InputError(f"{self.name} has a cumulative hazard only with data.", remedy=PARAMETRIC)

    def read(self, data: Any, asked_by: str) -> Censored:
        rows = super().read(data, asked_by)
        assert rows.covariates is not None
        p, q = len(self.coefficients), rows.covariates.shape[1]
        if p != q:
            reason = f"{self.name} has coefficients of {p} covariates, and the durations have {q}."
            raise InputError(reason, argument="data")
        return rows

    def factors(self, data: Censored) -> Array:
        """e^{β·(z − mean z)}, (n,): multiples of the hazard that the covariates are worth."""
        z = data.covariates
        assert z is not None
        return np.asarray(np.exp((z - z.mean(axis=0)) @ self.coefficients))

    def given(self, data: Censored) -> Given:
        return BreslowGiven(self, data.z, RiskSets.of(data, self.factors(data)), self.factors(data))


PARAMETRIC = "Use CoxResiduals(), or a regression with a parametric baseline, such as WeibullAFTFitter."


@dataclass(frozen=True)
class RiskSets:
    """Times at which events came, who was at risk then, and how the hazard is shared among them.

    Attributes
    ----------
    times
        s_k, (K,), in their order.
    jumps
        Breslow's estimate of what the baseline grows there, d_k / Σ_j Y_j(s_k) r_j, (K,).
    shares
        p_ki = Y_i(s_k) r_i / Σ_j Y_j(s_k) r_j, (K, n).
    events
        Whether the event of i came at s_k, (n, K).
    """

    times: Array
    jumps: Array
    shares: Array
    events: Any

    @classmethod
    def of(cls, data: Censored, factors: Array) -> RiskSets:
        """Those of durations with these multiples of the hazard."""
        t, ended = data.durations, data.event_observed
        times, counts = np.unique(t[ended], return_counts=True)
        at_risk = (t[:, None] >= times) & ((data.entry[:, None] < times) | (data.entry[:, None] == 0))
        weighted = (at_risk * factors[:, None]).T
        total = weighted.sum(axis=1)
        events = ended[:, None] & (t[:, None] == times)
        return cls(times, counts / total, weighted / total[:, None], events)


@dataclass(frozen=True)
class BreslowGiven(Given):
    """The hazards of a model whose baseline is Breslow's of the data."""

    sets: RiskSets
    factors: Array

    def cumulative_hazard(self, t: Array) -> Array:
        """Λ, (n,)."""
        grown = np.append(0.0, np.cumsum(self.sets.jumps))
        return np.asarray(self.factors * grown[np.searchsorted(self.sets.times, t, side="right")])
