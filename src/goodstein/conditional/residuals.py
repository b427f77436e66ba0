"""Residuals along covariates, by Stein's identity."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from goodstein.auditing.report import Check
from goodstein.conditional.data import Paired
from goodstein.conditional.model import ConditionalModel
from goodstein.conditional.operator import Conditional
from goodstein.constraints import check_count
from goodstein.data.points import Points
from goodstein.domains.base import Domain
from goodstein.errors import InputError, must
from goodstein.kernels.frames import Frame
from goodstein.operators.base import Operator, may_take, set_inner
from goodstein.operators.defaults import default_operator
from goodstein.operators.finite_set import plain_features
from goodstein.operators.views.base import Names, unit_frame
from goodstein.operators.views.trends import Trends, TrendView, along
from goodstein.stein.features import SteinFeatures
from goodstein.stein.finite import FiniteFeatures
from goodstein.types import Array

WORDS = ("the mean of residuals", "the spread of residuals")
"""What the degrees look at."""

BOUND = 2.0
"""Sizes of a residual beyond which it counts less than it is large."""


@dataclass(frozen=True, eq=False, repr=False)
class Residuals(TrendView):
    """An operator in y with test functions f(y, x) = e_j ψ(z_l) b(x), z = y − c(x), for models of y given x.

    With features (y, a, G) of the operator in y given x, observation i stands for the numbers

        a_j b(x), or [a_j ψ(z_l) + G_lj ψ′(z_l)]·b(x),

    one for each coordinate j of y, for the spread also l, and each function b of x. The first are scores,
    which for a normal model are residuals over their variance. The second are what s_j z_l + δ_jl would be,
    variances and correlations of the residuals, but with ψ(z) = z/(1 + z²/4σ²), σ the usual size of z: of
    squares few observations carry so much that random signs reject true models too often. The functions b are
    the constant and polynomials in the ranks of x, orthonormal over the data, so that the mean or the spread
    of residuals is compared with a curve in x. c(x) is the curve of that kind nearest to the other y. The
    Stein matrix has finite rank, so that time and memory are linear in n, and there is no kernel.

    Parameters
    ----------
    degree
        0 for the mean, 1 for the spread.
    covariate
        The place of the covariate that b is a function of; None takes all of them, one at a time.
    trend
        The degree of these polynomials; 0 leaves the constant.
    operator
        The operator in y, with plain :class:`SteinFeatures`; None takes that of y's domain.

    Notes
    -----
    b may be any function of x, since Stein's identity holds given x. c(x) comes from the other observations,
    and σ from all, which costs nothing to first order, as the derivative of f in it is a test function too.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(-2, 2, 200)
    >>> data = gs.Paired(x, np.sin(x) + np.exp(0.25 * x) * rng.normal(size=200))
    >>> model = gs.ConditionalModel.gaussian(np.sin, 1.0)
    >>> gs.ksd_test(data, model, operator=gs.Residuals(0), rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(data, model, operator=gs.Residuals(1), rng=1).pvalue < 0.01
    True
    """

    degree: int = 0
    covariate: int | None = None
    trend: int = 3
    operator: Operator | None = None
    trends: Trends | None = field(default=None, init=False, repr=False)

    takes = Paired

    def __post_init__(self) -> None:
        set_inner(self, "an operator in y such as Langevin()", Conditional)
        if self.operator is not None and not may_take(self.operator, Points):
            raise must("operator", "an operator in y such as Langevin()", self.operator, "Residuals")
        check_count(self.degree, "degree", 0, 1, of="Residuals")
        self.check_trends()

    def looks_at(self, names: Names = None) -> str:
        return WORDS[self.degree] + self.along_what()

    def check(self, domain: Domain) -> None:
        if domain.discrete or not domain.flat:
            raise InputError(
                f"Outcomes on {domain!r} have no residuals by Stein's identity.",
                remedy="Use DrawnResiduals(), which compares them with draws of the model.",
            )

    def choose(self, domain: Domain) -> Operator:
        return default_operator(domain)

    def fitted(self, data: Paired, domain: Domain) -> Residuals:
        inner = self.inner(domain).fitted(data.outcomes, domain)
        return self._with(operator=inner).with_trends(data)

    def features(self, model: ConditionalModel, domain: Domain, data: Paired) -> ResidualFeatures:
        """a_j b(x), or [a_j ψ(z_l) + G_lj ψ′(z_l)]·b(x)."""
        inner, curves = self._seen(model, domain, data)
        nearest = np.asarray(np.linalg.lstsq(curves, inner.points, rcond=None)[0], np.float64)
        residuals = inner.points - curves @ nearest
        # About the curve nearest to the others: one that an observation draws to itself would leave a bias.
        leverage = (curves**2).mean(axis=1, keepdims=True) * (curves.shape[1] / len(curves))
        about = replace(inner, points=residuals / np.maximum(1.0 - leverage, 0.1))
        return self._about(about, curves, nearest, unit_frame(inner, domain))

    def features_beside(
        self, features: Any, model: Any, domain: Domain, others: Paired
    ) -> FiniteFeatures | None:
        """The others about the curve of the data, in the metric of the data."""
        inner, curves = self._seen(model, domain, others)
        about = replace(inner, points=inner.points - curves @ features.nearest)
        beside = self._about(about, curves, features.nearest, features.metric, features.size)
        joint: ResidualFeatures = features.joined([beside])
        return joint

    def _seen(self, model: Any, domain: Domain, data: Paired) -> tuple[SteinFeatures, Array]:
        """Features in y, and the functions of x."""
        assert self.trends is not None, "Residuals takes its functions of x from data: fitted() comes first."
        outcomes, how = data.outcomes, "looked at by Residuals"
        inner = plain_features(self.inner(domain), model.given(data), domain, outcomes, how)
        return inner, self.trends(data.covariates)

    def _about(
        self,
        about: SteinFeatures,
        curves: Array,
        nearest: Array,
        metric: Frame | None,
        size: Array | None = None,
    ) -> ResidualFeatures:
        moved = about if metric is None else about.seen_in(metric)
        if size is None:
            deviation = np.median(np.abs(moved.points), axis=0) / 0.6745
            size = np.where(deviation > 0, deviation, 1.0)
        tau = along(moved.value if self.degree == 0 else _spread(moved, size), curves)
        return ResidualFeatures(tau, nearest=nearest, metric=metric, size=size)

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        """What the operator in y needs, at some rows of covariates."""
        return Conditional(self.operator).conditions(model, domain, data, rng)

    def thorough(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        return Conditional(self.operator).thorough(model, domain, data, rng)

    def _arguments(self) -> list[str]:
        return [str(self.degree), *super()._arguments()]


@dataclass(frozen=True)
class ResidualFeatures(FiniteFeatures):
    """τ, with the curve, the metric and the sizes in which others are to be seen."""

    nearest: Array | None = None
    metric: Frame | None = None
    size: Array | None = None


def _spread(features: SteinFeatures, size: Array) -> Array:
    """a_j ψ(z_l) + G_lj ψ′(z_l) for all j and l, (n, J·m)."""
    z = features.points
    damped = 1.0 + (z / (BOUND * size)) ** 2
    psi, slopes = z / damped, (2.0 - damped) / damped**2
    columns = []
    for column in range(z.shape[1]):
        gradient = np.zeros_like(z)
        gradient[:, column] = slopes[:, column]
        columns.append(features.value * psi[:, [column]] + features.along(gradient))
    return np.hstack(columns)
