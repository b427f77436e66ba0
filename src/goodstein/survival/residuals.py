"""Residuals of proportional hazards with an unknown baseline."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.conditional.operator import require_kernel
from goodstein.constraints import check_count
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.kernels.base import Kernel
from goodstein.kernels.finite import OwnFunctions, refuse_kernel
from goodstein.numerics.polynomials import legendre
from goodstein.operators.views.base import Names
from goodstein.operators.views.columns import as_column
from goodstein.operators.views.trends import Trends, along_what, require_trend
from goodstein.stein.finite import FiniteFeatures
from goodstein.stein.pairwise import Pairwise
from goodstein.survival.checks import check_events
from goodstein.survival.covariates import covariate_kernel
from goodstein.survival.cox import CoxModel, RiskSets
from goodstein.survival.data import Censored
from goodstein.survival.operator import DurationOperator
from goodstein.types import Array

LANDMARKS = 200
"""Rows of covariates at most that span the functions of covariates."""

SMALL = 1e-9
"""Share of the largest eigenvalue below which a function of covariates is rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class CoxResiduals(DurationOperator):
    r"""Who among those at risk has the event: martingale residuals of Cox's model, whatever its baseline is.

    Given that an event comes at t, the model says that it is that of i with probability proportional to
    exp(β·z_i) among those at risk, whatever the baseline is. With Y_j(t) for whether j is at risk,

    .. math:: ξ_i ω = δ_i (ω(t_i, z_i) - \bar ω(t_i)), \qquad
        \bar ω(t) = \sum_j Y_j(t) e^{β·z_j} ω(t, z_j) / \sum_j Y_j(t) e^{β·z_j},

    has mean zero given all that came before. Σ_i ξ_i ω is Σ_i ∫ ω(s, z_i) dM̂_i(s), the sum of the martingale
    residuals with Breslow's estimate of the baseline, whose error is so accounted for. Where β was fitted to
    these very data, what its equations have set to zero is taken off too: ω(t, z) − D I⁻¹ z in the place of
    ω, with I the information and D the sum of the covariances of ω and z in the risk sets. So the wild
    bootstrap keeps its level without refitting.

    Test functions are products of a polynomial in the rank of s among the times of events, and a function of
    covariates in the space of a kernel. The constant one asks for the form of the covariates, the others
    whether hazards are proportional.

    Parameters
    ----------
    degree
        Highest degree of the polynomials.
    covariate_kernel
        As in :class:`Martingale`.
    covariate, trend, pairs
        As in :class:`Timing`: with a `trend` the functions of covariates are polynomials in their ranks, of
        all or of one, in the place of those of a kernel, and with `pairs` products of two ranks.

    References
    ----------
    Lin, Wei, Ying (1993), Checking the Cox model with cumulative sums of martingale-based residuals,
    Biometrika 80, whose sums are such with indicators as test functions, and normal multipliers for signs.

    Examples
    --------
    >>> import goodstein as gs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> z = rng.normal(size=200)
    >>> data = gs.Censored(rng.weibull(np.exp(0.6 * z)), covariates=z)  # hazards cross
    >>> gs.ksd_test(data, gs.CoxModel([0.1]), operator=gs.CoxResiduals(), rng=1).pvalue < 0.05
    True
    """

    degree: int = 2
    covariate_kernel: Any = None
    covariate: int | None = field(default=None, kw_only=True)
    trend: int = field(default=0, kw_only=True)
    pairs: bool = field(default=False, kw_only=True)
    trends: Trends | None = field(default=None, init=False)

    changes_model = True  # its features depend on who is at risk beside them
    needs_scale = False  # no annotations: not fields
    differentiates = False
    takes_entry = takes_covariates = True
    corrects_fit = True

    def __post_init__(self) -> None:
        check_count(self.degree, "`degree` of CoxResiduals", 0)
        require_kernel(self.covariate_kernel, "covariate_kernel")
        check_count(self.trend, "trend", 0, of="CoxResiduals")
        if self.covariate is not None:
            object.__setattr__(self, "covariate", as_column(self.covariate, "`covariate` of CoxResiduals"))
        require_trend(self.trend, self.covariate, self.pairs, "CoxResiduals")
        if self.trend and self.covariate_kernel is not None:
            raise InputError("CoxResiduals takes a `trend` or a `covariate_kernel`, not both.")

    def looks_at(self, names: Names = None) -> str:
        """What it looks at, in a few words."""
        if self.trend == 0:
            return "who has the events"
        where = along_what(self.covariate, self.trend, self.pairs, names)
        return f"how many events there are{where}{', early and late' if self.degree else ''}"

    def default_kernel(self) -> Kernel:
        return OwnFunctions()

    def adapted(self, kernel: Kernel) -> Kernel:
        return refuse_kernel(self, kernel)

    def __repr__(self) -> str:
        said = [] if self.covariate_kernel is None else [f"covariate_kernel={self.covariate_kernel!r}"]
        said += [] if self.covariate is None else [f"covariate={self.covariate}"]
        said += [f"trend={self.trend}"] if self.trend else []
        said += ["pairs=True"] if self.pairs else []
        return f"CoxResiduals({', '.join([str(self.degree), *said])})"

    def fitted(self, data: Censored, domain: Domain) -> CoxResiduals:
        if data.covariates is None:
            raise InputError("CoxResiduals() needs durations with covariates.", argument="data")
        if self.trend == 0:
            return replace(self, covariate_kernel=covariate_kernel(self.covariate_kernel, data.covariates))
        columns = data.covariates.shape[1]
        if self.covariate is not None and self.covariate >= columns:
            raise InputError(f"{self!r} looks along a covariate beyond the columns 0 to {columns - 1}.")
        fitted = copy.copy(self)
        trends = Trends.of(data.covariates, self.trend, self.covariate, self.pairs)
        object.__setattr__(fitted, "trends", trends)
        return fitted

    def features(self, model: CoxModel, domain: Domain, data: Censored) -> FiniteFeatures:
        """ξ_i of all products, polynomials in the rank of the time times ψ, (n, (degree + 1)·r)."""
        assert data.covariates is not None
        functions = self.trends or Landmarks.of(self.covariate_kernel, data.covariates)
        sets = RiskSets.of(data, model.factors(data))
        if not len(sets.times):
            raise InputError("no duration ends with an event, so nothing is seen.", argument="data")
        ranks = (np.arange(len(sets.times)) + 0.5) / len(sets.times)
        weights, psi = legendre(ranks, self.degree).T, functions(data.covariates)
        return FiniteFeatures(weighted_events(sets, data, psi, weights, was_fitted(model, data))[0])

    def require(self, data: Censored, model: Any) -> None:
        if not isinstance(model, CoxModel):
            reason = f"{self!r} is for models with an unknown baseline, and {model.name} has a hazard."
            raise InputError(reason, argument="operator", remedy="Use Martingale().")

    def conditions(
        self, model: Any, domain: Domain, data: Censored | None, rng: np.random.Generator
    ) -> list[Check]:
        return [*check_events(data), self.verdict(model, data)]

    def verdict(self, model: CoxModel, data: Censored | None) -> Check:
        question = Question("baseline and coefficients")
        if data is None:
            return question.skipped(
                "Whether the coefficients were fitted to the data is not known without them."
            )
        how = "and of the fitted coefficients " if was_fitted(model, data) else ""
        return question.passed(f"The estimate of the baseline {how}is accounted for.")


def weighted_events(
    sets: RiskSets, data: Censored, psi: Array, weights: Array, fitted: bool
) -> tuple[Array, Array]:
    """ξ_i ω of ω = b ψ, (n, m·r), for weights b, (m, K), of the times of events; the variances of their sums.

    These, (m·r,), are the sums over events of the variances of ω in the risk sets, less what fitted
    coefficients take of them.
    """
    ended, when = np.nonzero(sets.events)
    means, counts = sets.shares @ psi, sets.events.sum(axis=0)
    beyond = psi[ended] - means[when]
    tau = np.hstack([b[when, None] * beyond for b in weights])
    shares = [counts * b**2 for b in weights]
    variances = np.concatenate([(one @ sets.shares) @ psi**2 - one @ means**2 for one in shares])
    if fitted:
        assert data.covariates is not None
        z = data.covariates - data.covariates.mean(axis=0)
        z_means = sets.shares @ z
        information = _covariance(counts, z, z, sets.shares, z_means, z_means)
        parts = [_covariance(counts * b, psi, z, sets.shares, means, z_means) for b in weights]
        slopes = np.vstack(parts)
        # lstsq: a covariate that does not vary among those at risk has no coefficient.
        tau -= np.linalg.lstsq(information, (z[ended] - z_means[when]).T, rcond=None)[0].T @ slopes.T
        taken = np.linalg.lstsq(information, slopes.T, rcond=None)[0]
        left = variances - np.einsum("ka,ak->k", slopes, taken)
        # What the equations of the fit determine, such as of the two arms of a trial, is rounding.
        tau[:, left <= SMALL * variances] = 0.0
        variances = np.where(left <= SMALL * variances, 0.0, left)
    whole = np.zeros((len(data), tau.shape[1]))
    whole[ended] = tau
    return whole, variances


def _covariance(
    counts: Array, psi: Array, z: Array, shares: Array, psi_means: Array, z_means: Array
) -> Array:
    """Σ_k counts_k·cov(ψ, z) in the k-th risk set, (r, p)."""
    total = (counts @ shares)[:, None]
    return np.asarray(psi.T @ (total * z) - (psi_means * counts[:, None]).T @ z_means)


def was_fitted(model: CoxModel, data: Censored) -> bool:
    """Whether the coefficients were fitted to these very data; raises where to some of them."""
    fit = model.provenance
    if fit is None or not fit.concerns(data):
        return False
    if not fit.exact(fit.rows.among(data)):
        reason = f"{model.name} was fitted to some of these durations, or to more than these."
        raise InputError(reason, argument="data", remedy="Fit it to all of them and no others, or to none.")
    return True


@dataclass(frozen=True)
class Landmarks:
    """Functions of covariates that a kernel spans at some of the rows: k(z, rows)·K^(−½), (n, r)."""

    gram: Pairwise
    rows: Array
    root: Array

    @classmethod
    def of(cls, kernel: Kernel, z: Array) -> Landmarks:
        """At all rows, or at some that are spread evenly over them."""
        rows = np.unique(z[np.linspace(0, len(z) - 1, min(len(z), LANDMARKS)).astype(np.intp)], axis=0)
        gram = Pairwise(kernel, z)
        placed = gram.placed(rows)
        values, vectors = np.linalg.eigh(gram(placed, placed))
        kept = values > SMALL * values[-1]
        return cls(gram, rows, vectors[:, kept] / np.sqrt(values[kept]))

    def __call__(self, z: Array) -> Array:
        return np.asarray(self.gram(self.gram.placed(z), self.gram.placed(self.rows)) @ self.root)
