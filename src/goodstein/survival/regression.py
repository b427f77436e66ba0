"""Models of durations given covariates: a cumulative hazard or a hazard of time and covariates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from goodstein.constraints import check_text, real_array, require_functions
from goodstein.data.rows import SeenRows
from goodstein.domains.box import Box
from goodstein.errors import InputError, SamplingError, must
from goodstein.models.base import AnyModel
from goodstein.models.functions import title
from goodstein.models.provenance import Fit
from goodstein.numerics.elementwise import Elementwise
from goodstein.survival.data import Censored, as_censored
from goodstein.survival.invert import inverted
from goodstein.survival.model import SurvivalModel, never_negative
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator

Function: TypeAlias = Callable[..., Any]

NODES = 48
"""Points of the quadrature of a hazard."""


class SurvivalRegression(AnyModel):
    r"""A model of durations given covariates z, known through its hazard or its cumulative hazard.

    .. math:: Λ(t \mid z) = \int_0^t λ(s \mid z)\, ds = -\log P(T > t \mid z).

    Parameters
    ----------
    cumulative_hazard, hazard
        Λ and λ as functions of times (n,) and covariates, one row for each time, that return (n,); written
        with NumPy or JAX. Covariates come in the shape in which the data hold them, (n, p) or (n,). One of
        them suffices: λ is else a numerical derivative of Λ, or Λ a quadrature of λ in √t, which is precise
        for smooth hazards that grow no faster than 1/√t at zero.
    name
        What messages and results call the model.
    fitted_to
        The durations that the parameters were fitted to, (n,) or :class:`Censored`, where that is known: a
        test on the same durations then says that its p-value is conservative.

    Notes
    -----
    Fitted regressions of lifelines are such models as they are, and read their columns from the data frame;
    so are estimators of scikit-survival with ``predict_cumulative_hazard_function``. For parameters fitted to
    the very data by a function of your own use :class:`FittedWildBootstrap` with `model` and `parameters`.

    Examples
    --------
    A Weibull regression in which the form of a covariate is wrong:

    >>> import goodstein as gs
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> z = rng.normal(size=300)
    >>> t = np.exp(0.5 * z + 0.5 * z**2) * rng.weibull(1.5, size=300)
    >>> model = gs.SurvivalRegression(cumulative_hazard=lambda t, z: (t / np.exp(0.5 + 0.5 * z)) ** 1.5)
    >>> gs.ksd_test(gs.Censored(t, covariates=z), model, rng=1).pvalue < 0.01
    True
    """

    takes = Censored
    has_sample = True
    domain = Box(0.0, np.inf)

    upper = np.inf
    """Where the support ends, beyond which nobody survives."""

    def __init__(
        self,
        *,
        cumulative_hazard: Function | None = None,
        hazard: Function | None = None,
        name: str | None = None,
        fitted_to: ArrayLike | Censored | None = None,
    ) -> None:
        both = {"cumulative_hazard": cumulative_hazard, "hazard": hazard}
        self._functions = {key: value for key, value in both.items() if value is not None}
        if not self._functions:
            raise InputError("SurvivalRegression needs `cumulative_hazard` or `hazard`, functions of (t, z).")
        require_functions(self._functions, "SurvivalRegression", "a function of times and covariates")
        first = next(iter(self._functions))
        self.name = (
            check_text(name, "name") if name is not None else f"{first}={title(self._functions[first])}"
        )
        if fitted_to is not None:
            self.remember(Fit(None, SeenRows(as_censored(fitted_to, "SurvivalRegression"))))
        self.trusted = len(self._functions) < 2  # two may disagree

    def hazard(self, t: ArrayLike, z: Any) -> Array:
        """λ at each time given the row of covariates that belongs to it, (n,)."""
        times, rows = _matched(t, z)
        if "hazard" in self._functions:
            return self._values("hazard", times, rows)
        return np.maximum(slopes(lambda s: self.cumulative_hazard(s, rows), times), 0.0)

    def cumulative_hazard(self, t: ArrayLike, z: Any) -> Array:
        """Λ at each time given the row of covariates that belongs to it, (n,)."""
        times, rows = _matched(t, z)
        if "cumulative_hazard" in self._functions:
            return self._values("cumulative_hazard", times, rows)
        # ∫₀ᵗ λ ds = ∫₀¹ λ(t x²) 2 t x dx: a hazard that is infinite at zero has a smooth integrand.
        x, weights = np.polynomial.legendre.leggauss(NODES)
        x = 0.5 * (x + 1.0)
        grid = (times[:, None] * x**2).ravel()
        values = self._values("hazard", grid, np.repeat(rows, NODES, axis=0)).reshape(-1, NODES)
        return np.asarray(times * (values @ (x * weights)))

    def quantile(self, cumulative: ArrayLike, z: Any) -> Array:
        """When Λ reaches these values given the rows of covariates, (n,); inf where it never does."""
        target, rows = _matched(cumulative, z)
        return inverted(lambda t, which: self.cumulative_hazard(t, rows[which]), target)

    def sample(self, covariates: Any, rng: RNG = None) -> Censored:
        """A duration for each row of covariates, none of them censored."""
        generator = as_generator(rng)
        rows = Censored(np.ones(len(np.asarray(covariates))), covariates=covariates)
        durations = self.durations_like(rows, generator)
        endless = np.isinf(durations)
        if endless.any():
            found = f"is bounded: {endless.sum()} of {len(rows)} draws never have the event."
            remedy = "Such a model can be simulated only with censoring that reaches zero."
            raise SamplingError(f"The cumulative hazard of {self.name} {found}", remedy=remedy)
        return rows.seen_at(durations, np.ones(len(rows), bool))

    def durations_like(self, data: Censored, rng: np.random.Generator) -> Array:
        """A duration later than its entry for each row of the data, (n,); inf where no event comes."""
        start = self.cumulative_hazard(data.entry, data.z) if data.late else 0.0
        return self.quantile(start + rng.standard_exponential(len(data)), data.z)

    def draws(self, domain: Any, n: int, rng: np.random.Generator) -> None:
        return None  # they depend on covariates

    def log_likelihood(self, observations: Censored) -> Array:
        events = self.given(observations.take(observations.event_observed))
        return observations.log_likelihood(events.hazard, self.given(observations).cumulative_hazard)

    def read(self, data: Any, asked_by: str) -> Censored:
        """Durations with covariates from whatever stands for them."""
        rows = as_censored(data, asked_by)
        if rows.covariates is None:
            reason = f"{self.name} is a model of durations given covariates, and these have none."
            remedy = "Pass Censored(durations, event_observed, covariates=z)."
            raise InputError(reason, argument="data", remedy=remedy)
        return rows

    def given(self, data: Censored) -> Given:
        """Hazards as functions of a time for each row of the data."""
        return Given(self, data.z)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def _values(self, key: str, t: Array, z: Array) -> Array:
        if not len(t):
            return t
        function = self._functions[key]
        values = Elementwise(lambda times: function(times, z), f"`{key}` of {self.name}")(t)
        return never_negative(values, t, key, self.name)


@dataclass(frozen=True)
class Given:
    """The hazards of a regression at rows of covariates, as functions of a time for each."""

    model: SurvivalRegression
    z: Any

    def hazard(self, t: Array) -> Array:
        """λ, (n,)."""
        return self.model.hazard(t, self.z)

    def cumulative_hazard(self, t: Array) -> Array:
        """Λ, (n,)."""
        return self.model.cumulative_hazard(t, self.z)


AnySurvival: TypeAlias = SurvivalModel | SurvivalRegression


def slopes(function: Callable[[Array], Array], t: Array) -> Array:
    """The derivative of a function of times, (n,), by five points: the error is of the order of h⁴."""
    h = 1e-4 * np.where(t > 0, t, 1e-4 * (float(t.max(initial=0.0)) or 1.0))
    middle = np.maximum(t, 2.0 * h)
    far, near, ahead, beyond = (function(middle + k * h) for k in (-2, -1, 1, 2))
    with np.errstate(invalid="ignore"):
        return np.asarray((far - 8.0 * near + 8.0 * ahead - beyond) / (12.0 * h))


def _matched(t: ArrayLike, z: Any) -> tuple[Array, Array]:
    """Times, (n,), and as many rows of covariates."""
    times = np.atleast_1d(real_array(t, "t"))
    if np.isnan(times).any():
        raise must("t", "times, and none of them NaN", t)
    rows = real_array(z, "z")
    rows = np.broadcast_to(rows, (len(times), *rows.shape[1:])) if len(rows) == 1 else rows
    if len(rows) != len(times):
        raise InputError(f"`z` has {len(rows)} rows for {len(times)} times: each time needs one.")
    return times, rows
