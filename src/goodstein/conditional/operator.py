"""The operator of conditional models: a Stein kernel in y times a kernel in x."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from goodstein.auditing.report import Check
from goodstein.conditional.data import Pairs
from goodstein.conditional.given import Given
from goodstein.conditional.model import ConditionalModel
from goodstein.domains.base import Domain
from goodstein.engine.workspace import scratch
from goodstein.errors import InputError
from goodstein.kernels import Gaussian, Median, RadialKernel, Sum, Whitened
from goodstein.operators.base import Operator, default_operator, fitted_operator
from goodstein.stein.features import Features
from goodstein.stein.forms import BlockForm
from goodstein.types import Array

PROBES = 5
"""Rows of covariates at which the boundary is looked at."""
HALF_MEDIAN = Gaussian(Median(scale=0.5))


@dataclass(frozen=True)
class Conditional:
    """h((x, y), (x′, y′)) = k(x, x′)·h_{p(·|x), p(·|x′)}(y, y′), for models of y given x.

    The second factor is the Stein kernel of an operator in y, with the score ∇_y log p(y | x) of each
    observation's own x. Given x it has mean zero under the model, whatever the law of x; the first
    factor lets the test see where in x the model is wrong.

    Parameters
    ----------
    inner
        The operator in y: :class:`Langevin`, :class:`Standardised`, :class:`Difference`, …; None takes
        the default of y's domain.
    x_kernel
        The kernel in x: any kernel of the library, or an object that is called with rows (n, p) and
        (m, p) and returns (n, m), for example for categories; None takes :class:`Gaussian` with half the
        median distance, since a wider one blurs where in x the model is wrong. Where x is constant any
        kernel is a constant, and the test is that of y alone.

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

    inner: Operator | None = None
    x_kernel: Any = None

    def __post_init__(self) -> None:
        if self.inner is not None and (isinstance(self.inner, type) or not hasattr(self.inner, "features")):
            raise InputError(
                f"`inner` of Conditional must be an operator in y such as Langevin(), got {self.inner!r}."
            )
        if isinstance(self.inner, Conditional):
            raise InputError("`inner` of Conditional must be an operator in y, not another Conditional.")
        kernel = self.x_kernel
        if kernel is not None and (
            isinstance(kernel, type) or not callable(getattr(kernel, "kernel", kernel))
        ):
            raise InputError(
                "`x_kernel` must be a kernel such as Gaussian(), or a function of two sets of rows, got "
                f"{kernel!r}."
            )

    def fitted(self, data: Pairs, domain: Domain) -> Conditional:
        """With the operator in y and the bandwidth in x fixed."""
        _require_pairs(data)
        inner = fitted_operator(self._inner(domain), data.outcomes, domain)
        x = data.covariates
        kernel = HALF_MEDIAN if self.x_kernel is None else self.x_kernel
        if not np.ptp(x, axis=0).any():
            kernel = Constant()
        elif hasattr(kernel, "fitted"):
            try:
                kernel = kernel.fitted(x)
            except InputError as error:
                raise InputError(str(error).replace("`data`", "`x`")) from None
        return replace(self, inner=inner, x_kernel=kernel)

    def features(self, model: ConditionalModel, domain: Domain, data: Pairs) -> ConditionalFeatures:
        """Those of the inner operator, with the score given each row's x, and x itself."""
        inner = self._inner(domain).features(model.given(data), domain, data.outcomes)
        return ConditionalFeatures(inner, data.covariates, self.x_kernel)

    def conditions(
        self, model: ConditionalModel, domain: Domain, data: Pairs | None, rng: np.random.Generator
    ) -> list[Check]:
        """What the inner operator needs, at some rows of covariates."""
        from goodstein.pipeline.run import conditions

        if data is not None or not isinstance(model, ConditionalModel):
            _require_pairs(data)
        if data is None:
            return [Check("conditions", "skip", "They depend on x: pass data.")]
        inner = self._inner(domain)
        rows = np.unique(np.linspace(0, len(data) - 1, PROBES).astype(int))
        worst: dict[str, Check] = {}
        for row in rows:
            given = Given(model, data.covariates[[row]], data.x.ndim == 1, data.y.ndim == 1)
            for check in conditions(given, domain, inner, data.outcomes, rng):
                if check.name not in worst or _severity(check) > _severity(worst[check.name]):
                    said = f"Given the x of row {row}: {check.message}"
                    varies = check.status in ("warn", "fail") and check.name != "connectedness"
                    worst[check.name] = replace(check, message=said) if varies else check
        return list(worst.values())

    def default_kernel(self) -> Any:
        """In y: the inner operator's own, or a Gaussian with half the median distance.

        Half, because the spread of y contains that of its mean given x.
        """
        own = getattr(self.inner, "default_kernel", None)
        return HALF_MEDIAN if own is None else own()

    def _inner(self, domain: Domain) -> Operator:
        return self.inner if self.inner is not None else default_operator(domain)


def _require_pairs(data: Any) -> None:
    if not isinstance(data, Pairs):
        raise InputError(
            "Conditional() is for models of y given x, whose data are pairs. Use conditional_ksd_test(x, y, "
            "model); a model of points alone has another operator, such as Langevin()."
        )


def _severity(check: Check) -> int:
    return ("pass", "skip", "warn", "fail").index(check.status)


@dataclass(frozen=True)
class Constant:
    """k(x, x′) = 1: the kernel of covariates that do not vary."""

    def __call__(self, x: Array, y: Array) -> Array:
        """All ones, (n, k)."""
        return np.ones((len(x), len(y)))


@dataclass(frozen=True)
class ConditionalFeatures:
    """Features in y, and the covariates with their kernel."""

    inner: Features
    covariates: Array
    x_kernel: Any

    @property
    def points(self) -> Any:
        """Those in y: the bandwidth in x is a matter of the kernel in x."""
        return self.inner.points

    def form(self, kernel: Any) -> ConditionalForm:
        """The Stein matrix under a fitted kernel in y."""
        return ConditionalForm(self.inner.form(kernel), CovariateGram(self.covariates, self.x_kernel))


class CovariateGram:
    """k(x_i, x_j), block by block."""

    def __init__(self, x: Array, kernel: Any) -> None:
        if isinstance(kernel, Whitened):
            x, kernel = x @ kernel.linear_map, kernel.kernel
        self.x, self.kernel = x, kernel
        self.radial = isinstance(kernel, RadialKernel | Sum)

    def take(self, index: Any) -> CovariateGram:
        """The same for some rows."""
        return CovariateGram(self.x[index], self.kernel)

    def block(self, rows: slice, cols: slice) -> Array:
        """k(x_i, x_j) for i in rows, j in cols."""
        left, right = self.x[rows], self.x[cols]
        if self.radial:
            # By differences of coordinates, in compiled code: nothing cancels, and no n × n × p array.
            from scipy.spatial.distance import cdist

            rho = cdist(left, right, "sqeuclidean", out=scratch("rho_x", (len(left), len(right))))
            gram: Array = self.kernel.profiles(rho, order=0)[0]
            return gram
        values = np.asarray(self.kernel(left, right), dtype=np.float64)
        if values.shape != (len(left), len(right)) or not np.isfinite(values).all():
            raise InputError(
                f"`x_kernel` returned an array of shape {values.shape} for {len(left)} and {len(right)} "
                f"rows of x; expected finite numbers of shape ({len(left)}, {len(right)})."
            )
        return values

    def diagonal(self) -> Array:
        """k(x_i, x_i), (n,)."""
        n = len(self.x)
        if self.radial:
            return np.full(n, float(self.kernel.profiles(np.zeros(1), order=0)[0][0]))
        return np.array([self.block(slice(i, i + 1), slice(i, i + 1))[0, 0] for i in range(n)])


class ConditionalForm(BlockForm):
    """A Stein matrix in y times, entry by entry, the Gram matrix of x."""

    def __init__(self, inner: BlockForm, gram: CovariateGram) -> None:
        self._inner, self._gram = inner, gram

    @property
    def n(self) -> int:
        """Number of observations."""
        return self._inner.n

    def take(self, index: Any) -> ConditionalForm:
        """The form of some observations, in the given order."""
        return ConditionalForm(self._inner.take(index), self._gram.take(index))

    def block(self, rows: slice, cols: slice) -> Array:
        """H[rows, cols]; scratch of this thread, valid until its next block."""
        out = self._inner.block(rows, cols)
        out *= self._gram.block(rows, cols)
        return out

    def diagonal(self) -> Array:
        """h((x_i, y_i), (x_i, y_i)), (n,)."""
        return np.asarray(self._inner.diagonal() * self._gram.diagonal())
