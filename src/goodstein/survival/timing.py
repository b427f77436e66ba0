"""Early and late events, by few weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goodstein.constraints import check_count, check_flag
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.numerics.polynomials import legendre, over_survival, products
from goodstein.numerics.roots import inverse_root
from goodstein.operators.base import Operator, features_of, set_inner, stacked_of
from goodstein.operators.views.base import Names
from goodstein.operators.views.trends import Trends, TrendView, along, require_trend
from goodstein.stein.entered import EnteredFeatures
from goodstein.stein.features import Features
from goodstein.stein.finite import FiniteFeatures
from goodstein.stein.stacked import AnchoredStack
from goodstein.survival.data import Censored
from goodstein.survival.martingale import Martingale
from goodstein.types import Array


class Watched(Martingale):
    """Λ₀ at ends and entries, whatever the covariates: what all views of a sample begin with."""

    def features(self, model: Any, domain: Domain, data: Censored) -> Features:
        return self.in_time(model, data)

    def stacked(self, model: Any, domain: Domain, data: Censored, count: int) -> AnchoredStack | None:
        return super().stacked(model, domain, data, count)


WATCHED = Watched("hazard")
"""One for all views, so that those of a collection share what it finds."""


@dataclass(frozen=True)
class TimingFeatures(FiniteFeatures):
    """With the units of the data, (samples, weights, combinations), in which others are to be seen."""

    units: Array | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Timing(TrendView):
    r"""Events against those that the model expects, weighted by polynomials in u = F₀(t), for durations.

    With w_k the shifted Legendre polynomials of degree 0, …, k, orthonormal on (0, 1), observation i stands
    for the numbers

        ∫ w_k (dN_i − Y_i λ₀ dt) = δ_i w_k(u_i) − ∫₀^{u_i} w_k(s)/(1 − s) ds,

    of a late entry with the integral from the entry on. They say whether there are too many events or too few
    (degree 0, the one-sample log-rank test), early or late ones (degree 1, which holds all weighted log-rank
    tests with weights linear in F₀), those in the middle or at the ends, and so on; six weights see about
    what a Pearson-type test with six cells sees. It is the martingale operator with ω′ = w/(1 − u), without a
    bound at the end of time, where smooth ω do not look. The Stein matrix has finite rank, so that time and
    memory are linear in n, and there is no kernel.

    With covariates these numbers may be multiplied by the constant and polynomials in the ranks of a
    covariate, orthonormal over the data: the identity holds given covariates. Degree 0 then compares sums of
    martingale residuals with curves along it, which says whether its form is right; degree 1 whether what it
    does changes with time.

    Where observations are censored hardly anybody is at risk late, and these numbers hardly vary there. With
    ``standardised=True`` their combinations are divided by their deviations given who is at risk: the
    predictable variation ∫ w_k w_l Ȳ dΛ₀, Ȳ the share of those at risk, becomes the identity. Then late
    events count as much as early ones, as they do in Pearson's χ², and too many of them more than too few.

    Parameters
    ----------
    degree
        k, at least 0.
    covariate
        The place of the covariate along which to look; None takes all of them, one at a time.
    trend
        The degree of the polynomials in its ranks; 0 looks at times alone.
    pairs
        Whether to look along products of ranks of every two covariates too: whether what one does depends on
        the other.
    standardised
        Whether all combinations of the weights count alike, however few are at risk where they are large.

    References
    ----------
    Hjort (1990), Goodness of fit tests in models for life history data based on cumulative hazard rates.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> rng = np.random.default_rng(1)
    >>> event, censoring = rng.weibull(1.3, size=200), rng.exponential(2.0, size=200)
    >>> data = gs.Censored(np.minimum(event, censoring), event <= censoring)
    >>> gs.ksd_test(data, gs.families.Exponential(1.0), operator=gs.Timing(), rng=1).pvalue < 0.05
    True

    Events as many as expected, but not where the covariate is large or small:

    >>> z = rng.normal(size=200)
    >>> data = gs.Censored(rng.exponential(np.exp(0.3 - 0.3 * z**2)), covariates=z)
    >>> model = gs.SurvivalRegression(cumulative_hazard=lambda t, z: t)
    >>> gs.ksd_test(data, model, operator=gs.Timing(0, trend=3), rng=1).pvalue < 0.01
    True
    """

    degree: int = 1
    operator: Operator | None = None
    covariate: int | None = field(default=None, kw_only=True)
    trend: int = field(default=0, kw_only=True)
    pairs: bool = field(default=False, kw_only=True)
    standardised: bool = field(default=False, kw_only=True)
    trends: Trends | None = field(default=None, init=False, repr=False)

    takes = Censored
    usual_trend = 0

    def __post_init__(self) -> None:
        set_inner(self, "Martingale()")
        inside = self.operator
        if inside is None:
            object.__setattr__(self, "operator", Martingale())
        elif not (isinstance(inside, Martingale) and inside.transform == "cdf"):
            raise InputError(f"`operator` of Timing must be Martingale(), got {inside!r}.")
        check_count(self.degree, "`degree` of Timing", 0)
        check_flag(self.standardised, "standardised", of="Timing")
        self.check_trends()
        require_trend(self.trend, self.covariate, self.pairs, "Timing")

    def looks_at(self, names: Names = None) -> str:
        if self.degree == 0:
            return f"how many events there are{self.along_what(names)}"
        parts = "" if self.degree == 1 else f", in {self.degree + 1} ways"
        parts += ", however few are at risk" if self.standardised else ""
        return f"how many events there are{self.along_what(names)}, early and late{parts}"

    def fitted(self, data: Censored, domain: Domain) -> Timing:
        if self.trend == 0:
            return self
        if data.covariates is None:
            raise InputError(f"{self!r} needs durations with covariates.", argument="data")
        return self.with_trends(data)

    def features(self, model: Any, domain: Domain, data: Censored) -> TimingFeatures:
        """δ w(u) − ∫ w/(1 − s) ds, from the entry on, times functions of covariates."""
        return self._seen(features_of(WATCHED, model, domain, data), data)

    def stacked(self, model: Any, domain: Domain, data: Censored, count: int) -> TimingFeatures | None:
        """Each sample in its own units."""
        inner = stacked_of(WATCHED, model, domain, data, count)
        if self.trend or not isinstance(inner, AnchoredStack):
            return None
        return self._seen(inner.features, data, count=count)

    def features_beside(self, features: Any, model: Any, domain: Domain, others: Censored) -> TimingFeatures:
        """The others in the units of the data."""
        seen = self._seen(WATCHED.in_time(model, others), others, features.units)
        return features.joined([seen])  # type: ignore[no-any-return]

    def _seen(self, inner: Any, data: Censored, units: Array | None = None, count: int = 1) -> TimingFeatures:
        """In these units, or in those of the data, each of `count` samples in its own."""
        end = inner.end if isinstance(inner, EnteredFeatures) else inner
        cumulative = end.points[:, 0]
        assert end.weight is not None
        top = 2 * self.degree if self.standardised else self.degree  # that of w_k w_l
        expected = over_survival(cumulative, top)
        if isinstance(inner, EnteredFeatures):
            expected -= over_survival(inner.start.points[:, 0], top)
        weighed = end.weight[:, None] * legendre(-np.expm1(-cumulative), self.degree)
        tau = weighed - expected[:, : self.degree + 1]
        if self.standardised:
            if units is None:
                means = expected.reshape(count, -1, top + 1).mean(axis=1)
                units = _side_by_side([inverse_root(products(self.degree) @ mean) for mean in means])
            tau = (tau.reshape(len(units), -1, tau.shape[1]) @ units).reshape(len(tau), -1)
        if self.trends is not None:
            assert data.covariates is not None
            tau = along(tau, self.trends(data.covariates))
        return TimingFeatures(tau, units=units)

    def __repr__(self) -> str:
        own = ["standardised=True"] if self.standardised else []
        return f"Timing({', '.join([str(self.degree), *self._arguments(), *own])})"


def _side_by_side(units: list[Array]) -> Array:
    """Those of several samples, (samples, weights, combinations), of which some may have fewer."""
    out = np.zeros((len(units), len(units[0]), max(one.shape[1] for one in units)))
    for place, one in zip(out, units, strict=True):
        place[:, : one.shape[1]] = one
    return out
