"""The operator of conditional models: a Stein kernel in y times a kernel in x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from goodstein.auditing.conditions import compare_scores
from goodstein.auditing.report import Check
from goodstein.conditional.at_covariates import AtCovariates
from goodstein.conditional.data import Paired
from goodstein.conditional.model import ConditionalModel
from goodstein.constraints import answered, asked
from goodstein.data.points import Points
from goodstein.domains.base import Domain
from goodstein.errors import InputError, must
from goodstein.kernels import Gaussian, Kernel, Median, Whitened
from goodstein.kernels.base import Wrapped
from goodstein.kernels.frames import Frame, Located
from goodstein.operators.base import Operator, Wrapping, may_take, set_inner
from goodstein.operators.defaults import default_operator
from goodstein.stein.features import Features, joined_features
from goodstein.stein.forms import BlockForm
from goodstein.stein.pairwise import Pairwise, repeated
from goodstein.types import Array

PROBES = 5
"""Rows of covariates at which the boundary is looked at."""
COMPARED = 50
"""Rows at which score and log density are compared."""
HALF_MEDIAN = Gaussian(Median(scale=0.5))


@dataclass(frozen=True)
class Conditional(Wrapping):
    """h((x, y), (x′, y′)) = k(x, x′)·h_{p(·∣x), p(·∣x′)}(y, y′), for models of y given x.

    The second factor is the Stein kernel of an operator in y, with the score ∇_y log p(y | x) of each
    observation's own x. Given x it has mean zero under the model, whatever the law of x; the first
    factor lets the test see where in x the model is wrong.

    Parameters
    ----------
    operator
        The operator in y: :class:`Langevin`, :class:`Standardised`, :class:`Difference`, …; None takes
        the default of y's domain.
    x_kernel
        The kernel in x: any kernel of the library, or an object that is called with rows (n, p) and (m, p)
        and returns (n, m), for example for categories; None takes :class:`Gaussian` with half the median
        distance, since a wider one blurs where in x the model is wrong, each covariate in units of its
        median absolute deviation.

    References
    ----------
    Jitkrittum, Kanagawa, Schölkopf (2020), Testing goodness of fit of conditional density models with
    kernels.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(-2, 2, 200)
    >>> y = np.sin(x) + rng.normal(size=200)
    >>> model = gs.ConditionalModel.gaussian(np.sin, 1.0)
    >>> operator = gs.Conditional(x_kernel=gs.Gaussian(0.5))
    >>> gs.conditional_ksd_test(x, y, model, operator=operator, rng=1).pvalue > 0.05
    True
    """

    operator: Operator | None = None
    x_kernel: Any = None

    takes = Paired  # no annotations: these are not fields
    title = "Kernel conditional Stein discrepancy test"

    def __post_init__(self) -> None:
        set_inner(self, "an operator in y such as Langevin()")
        if isinstance(self.operator, Conditional):
            raise InputError("`operator` of Conditional must be an operator in y, not another Conditional.")
        if self.operator is not None and not may_take(self.operator, Points):
            raise must("operator", "an operator in y such as Langevin()", self.operator, "Conditional")
        require_kernel(self.x_kernel, "x_kernel")

    def choose(self, domain: Domain) -> Operator:
        return default_operator(domain)

    def fitted(self, data: Paired, domain: Domain) -> Conditional:
        inner = self.inner(domain).fitted(data.outcomes, domain)
        try:
            return replace(self, operator=inner, x_kernel=fitted_kernel(self.x_kernel, data.covariates))
        except InputError as error:
            raise error.told("x") from None

    def features(self, model: ConditionalModel, domain: Domain, data: Paired) -> ConditionalFeatures:
        """Those of the inner operator, with the score given each row's x, and x itself."""
        inner = self.inner(domain).features(model.given(data), domain, data.outcomes)
        return ConditionalFeatures(inner, data.covariates, as_kernel(self.x_kernel))

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        """What the inner operator needs, at some rows of covariates."""
        if data is None:
            return [Check("conditions", "skip", "They depend on x: pass data.")]
        inner = self.inner(domain)
        rows = np.unique(np.linspace(0, len(data) - 1, PROBES).astype(int))
        worst: dict[str, Check] = {}
        for row in rows:
            given = AtCovariates(model, data.covariates[[row]], data.x.ndim == 1, data.y.ndim == 1)
            for check in inner.conditions(given, domain, data.outcomes, rng):
                if check.name not in worst or _severity(check) > _severity(worst[check.name]):
                    said = f"Given the x of row {row}: {check.message}"
                    varies = check.status in ("warn", "fail") and check.name != "connectedness"
                    worst[check.name] = replace(check, message=said) if varies else check
        return list(worst.values())

    def default_kernel(self) -> Any:
        own = super().default_kernel()
        return HALF_MEDIAN if own is None else own  # half: the spread of y contains that of its mean given x

    def thorough(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        """The score against the log density, at the observations."""
        if data is None or domain.discrete or not (model.has_score and model.has_logpdf):
            return []
        some = data.take(np.arange(min(len(data), COMPARED)))
        numerical = model.without_score().given(some)
        return [compare_scores(model.given(some).score, numerical.score, some.outcomes, domain)]


def require_kernel(kernel: Any, name: str) -> None:
    """Raise where a kernel in covariates is none."""
    if kernel is not None and (isinstance(kernel, type) or not callable(kernel)):
        raise must(name, "a kernel such as Gaussian(), or a function of two sets of rows", kernel)


def fitted_kernel(x_kernel: Any, x: Array) -> Kernel:
    """The kernel in x with its bandwidth fixed, in units of the spread of each column if it is ours."""
    if not np.ptp(x, axis=0).any():
        return Constant()
    kernel = as_kernel(x_kernel)
    if x_kernel is None and x.shape[1] > 1:  # covariates may be measured in different units
        kernel = Whitened(kernel, metric="spread")
    return kernel.fitted(x)


def as_kernel(x_kernel: Any) -> Kernel:
    """The kernel in x: the user's, who may pass a function, or the default one."""
    kernel = HALF_MEDIAN if x_kernel is None else x_kernel
    return kernel if isinstance(kernel, Kernel) else _Function(kernel)


class _Function(Wrapped):
    """A function of two sets of rows."""

    def __call__(self, x: Array, y: Array) -> Array:
        values = answered(asked(self.thing, "`x_kernel`", x, y), "`x_kernel`")
        if values.shape != (len(x), len(y)) or not np.isfinite(values).all():
            raise InputError(
                f"`x_kernel` returned an array of shape {values.shape} for {len(x)} and {len(y)} "
                f"rows of x; expected finite numbers of shape ({len(x)}, {len(y)})."
            )
        return values


def _severity(check: Check) -> int:
    return ("pass", "skip", "warn", "fail").index(check.status)


@dataclass(frozen=True)
class Constant(Kernel):
    """k(x, x′) = 1: the kernel of covariates that do not vary."""

    def __call__(self, x: Array, y: Array) -> Array:
        return np.ones((len(x), len(y)))


@dataclass(frozen=True)
class ConditionalFeatures(Located):
    """Features in y, and the covariates with their kernel."""

    inner: Features
    covariates: Array
    x_kernel: Kernel

    @property
    def points(self) -> Any:
        """Those in y: the bandwidth in x is a matter of the kernel in x."""
        return self.inner.points

    def joined(self, others: Sequence[ConditionalFeatures]) -> ConditionalFeatures | None:
        """These and the others, one after another; None where the operator in y cannot be joined."""
        inner = joined_features(self.inner, [other.inner for other in others])
        if inner is None:
            return None
        covariates = np.concatenate([self.covariates, *(other.covariates for other in others)])
        return replace(self, inner=inner, covariates=covariates)

    @property
    def frame(self) -> Frame | None:
        return self.inner.frame if isinstance(self.inner, Located) else None

    def form(self, kernel: Any) -> ConditionalForm:
        """The Stein matrix under a fitted kernel in y."""
        if found := repeated(self.x_kernel, self.covariates):
            return ConditionalForm(self.inner.form(kernel), *found)
        gram = Pairwise(self.x_kernel, self.covariates)
        return ConditionalForm(self.inner.form(kernel), gram, gram.placed(self.covariates))


class ConditionalForm(BlockForm):
    """A Stein matrix in y times, entry by entry, the Gram matrix of x, at places or looked up by numbers."""

    def __init__(self, inner: BlockForm, gram: Any, x: Any) -> None:
        self._inner, self._gram, self._x = inner, gram, x

    @property
    def n(self) -> int:
        return self._inner.n

    def take(self, index: Any) -> ConditionalForm:
        return ConditionalForm(self._inner.take(index), self._gram, self._x[index])

    def block(self, rows: slice, cols: slice) -> Array:
        out = self._inner.block(rows, cols)
        out *= self._gram(self._x[rows], self._x[cols])
        return out

    def diagonal(self) -> Array:
        return np.asarray(self._inner.diagonal() * self._gram.diagonal(self._x))
