"""What an estimator returns, and its bootstrap."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from goodstein.adapters.model import as_model
from goodstein.constraints import check_count, check_share
from goodstein.data.rows import SeenRows
from goodstein.engine.executors import Workers, check_workers, run
from goodstein.engine.progress import ProgressLike, watching
from goodstein.errors import InputError
from goodstein.estimate.minimise import EstimationObjective, minimise
from goodstein.lazy import cached_property
from goodstein.models import provenance
from goodstein.models.influence import Influence, solved
from goodstein.models.provenance import Fittable
from goodstein.text import Line, Report, Table, plain, readable
from goodstein.types import RNG, Array
from goodstein.validation import as_generator, draw_seed

MOST_LINES = 24
"""Parameters in a printed table."""


def as_vector(parameters: Mapping[str, Any]) -> Array:
    """All parameters one after another, (p,)."""
    return np.concatenate([np.ravel(np.asarray(value, dtype=np.float64)) for value in parameters.values()])


class Interval(NamedTuple):
    """A confidence interval, numbers or arrays of the shape of the parameter."""

    low: Any
    high: Any


class Estimates(Report):
    """Parameters with their standard errors and confidence intervals."""

    parameters: Mapping[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters, each entry of an array by itself."""
        return tuple(
            name + (f"[{', '.join(map(str, index))}]" if index else "")
            for name, value in self.parameters.items()
            for index in np.ndindex(np.shape(value))
        )

    @property
    @abstractmethod
    def covariance(self) -> Array:
        """Covariance of all parameters, (p, p)."""

    @abstractmethod
    def _ends(self, level: float) -> tuple[Array, Array]:
        """Lower and upper ends of the confidence intervals, (p,) both."""

    def _errors(self) -> Array:
        return np.sqrt(np.diag(self.covariance))

    def _shaped(self, values: Array) -> dict[str, Any]:
        ends = np.cumsum([np.size(value) for value in self.parameters.values()])
        parts = zip(self.parameters.items(), np.split(values, ends[:-1]), strict=True)
        return {key: part.reshape(np.shape(v)) if np.ndim(v) else float(part[0]) for (key, v), part in parts}

    @property
    def standard_errors(self) -> Mapping[str, Any]:
        """Standard errors by name, in the shape of the parameters; NaN where there are none."""
        return self._shaped(self._errors())

    def confidence_interval(self, level: float = 0.95) -> Mapping[str, Interval]:
        """Confidence intervals by name."""
        low, high = map(self._shaped, self._ends(check_share(level, "level")))
        return {name: Interval(low[name], high[name]) for name in self.parameters}

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "standard_errors": plain(self.standard_errors)}


def parameter_table(header: Line, lines: list[list[str]], where: str) -> Table:
    """The first lines of a long table, and where the rest is."""
    if len(lines) > MOST_LINES:
        left = len(lines) - MOST_LINES + 1
        lines = [*lines[: MOST_LINES - 1], [f"({left} more in {where})", *[""] * (len(header) - 1)]]
    return Table(header, lines)


@dataclass(frozen=True)
class Resampled:
    """The parameters of the k-th resample or None; its random numbers depend on (seed, k) alone.

    The observations are counted, not copied, so that nothing of them is computed anew.
    """

    objective: EstimationObjective
    start: Array
    max_iterations: int
    seed: int

    def __call__(self, k: int) -> Array | None:
        scores = self.objective.scores
        rng = np.random.default_rng([self.seed, k])
        counts = np.bincount(rng.integers(scores.n, size=scores.n), minlength=scores.n).astype(np.float64)
        try:
            minimum = minimise(self.objective, [self.start], self.max_iterations, counts)
            return as_vector(scores.parameters(minimum.theta)) if minimum.converged else None
        except InputError:
            return None


@dataclass(frozen=True, eq=False)
class Bootstrap(Estimates):
    """What the estimates would have been for other data of the same kind.

    Standard errors are the standard deviations of the draws, confidence intervals their percentiles.

    Attributes
    ----------
    parameters
        The estimates themselves, by name.
    draws
        The estimates of every resample that could be fitted, (B, p), in the order of :attr:`names`.
    failed
        Number of resamples that could not be fitted, which are left out.
    """

    parameters: Mapping[str, Any] = field(repr=False)
    draws: Array = field(repr=False)
    failed: int

    @property
    def covariance(self) -> Array:
        return np.atleast_2d(np.cov(self.draws, rowvar=False))

    def _errors(self) -> Array:
        return np.asarray(self.draws.std(axis=0, ddof=1))

    def _ends(self, level: float) -> tuple[Array, Array]:
        low, high = np.quantile(self.draws, [(1 - level) / 2, 1 - (1 - level) / 2], axis=0)
        return low, high

    def _title(self) -> str:
        return "Bootstrap"

    def _tables(self) -> list[Table]:
        lines = [
            [name, f"{e:.2g}", f"{a:.4g}", f"{b:.4g}"]
            for name, e, a, b in zip(self.names, self._errors(), *self._ends(0.95), strict=True)
        ]
        return [parameter_table(["parameter", "std. error", "2.5 %", "97.5 %"], lines, ".draws")]

    def _notes(self) -> list[str]:
        remark = f"{len(self.draws)} resamples"
        return [f"{remark}; {self.failed} more could not be fitted." if self.failed else f"{remark}."]


@dataclass(frozen=True)
class Again(provenance.Refitting):
    """The same estimator of the same family for other data, with the random numbers of the first fit."""

    estimator: Any
    family: Any
    domain: Any
    rng: Any

    def __call__(self, data: Any) -> Any:
        rng = copy.deepcopy(self.rng)
        return self.estimator.fit(data, self.family, domain=self.domain, rng=rng).model


@dataclass(frozen=True)
class FittedScores:
    """The influence of data on the coordinates of a search, as far as these were estimated, at its end."""

    objective: EstimationObjective
    theta: Array
    data: Array

    @property
    def free(self) -> Any:
        """Which coordinates are not at a bound, (p,)."""
        return ~self.objective.scores.fixed(self.theta)

    def values(self) -> Array:
        """Influence values of the free coordinates, in the order of the fit; raises where there are none."""
        free = self.free
        names = [name for name, one in zip(self.objective.scores.coordinates, free, strict=True) if one]
        slope = self.objective.hessian(self.theta)[np.ix_(free, free)]
        if not names or not np.linalg.eigvalsh(slope)[0] > 0:
            raise InputError("The search did not end at a minimum, so there are no influence values.")
        return solved(self.objective.influences(self.theta)[:, free], slope, names)

    def model(self, by: Array) -> Any:
        """The model with the free coordinates moved."""
        theta = self.theta.copy()
        theta[self.free] += by
        scores = self.objective.scores
        if (theta < scores.lower).any() or (theta > scores.upper).any():
            raise InputError("These parameters are out of their bounds.")
        return scores.model(theta)

    def __call__(self, data: Array) -> Influence:
        mine, theirs = (np.lexsort(rows.T) for rows in (self.data, data))
        if self.data.shape != data.shape or not np.array_equal(self.data[mine], data[theirs]):
            raise InputError(
                "The model was fitted to other rows, on which these have no influence.", argument="data"
            )
        values = np.empty((len(data), int(self.free.sum())))
        values[theirs] = self.values()[mine]
        names = np.array(self.objective.scores.coordinates)[self.free]
        return Influence(self.model, values, tuple(map(str, names)))


@dataclass(frozen=True, eq=False)
class Fit(Estimates):
    """A fitted family.

    Attributes
    ----------
    parameters
        The estimates by name, numbers or arrays.
    objective
        What was minimised, at its minimum.
    converged
        Whether the search arrived at a minimum.
    at_bounds
        Names of parameters that ended at a bound; these were not estimated.
    starts
        The minimum found from each start.
    n
        Number of observations.
    family, estimator, domain
        What was fitted, how and where.
    notes
        What a reader of the estimates should know.
    """

    parameters: Mapping[str, Any]
    objective: float
    converged: bool
    at_bounds: tuple[str, ...]
    starts: tuple[float, ...]
    n: int
    family: Any
    estimator: Any
    domain: Any
    notes: tuple[str, ...] = ()
    _problem: Any = field(default=None, repr=False)
    _coordinates: Any = field(default=None, repr=False)
    _rng: Any = field(default=None, repr=False)
    _data: Any = field(default=None, repr=False)

    @property
    def theta(self) -> Array:
        """All parameters in one vector, (p,), in the order of :attr:`names`."""
        return as_vector(self.parameters)

    @cached_property
    def model(self) -> Any:
        """The fitted model on the domain, as `model` of :func:`goodstein.ksd_test` and its siblings."""
        found = self._problem.scores.model(self._coordinates)
        model = found if isinstance(found, Fittable) else as_model(found)
        rows, again = SeenRows(self._data), Again(self.estimator, self.family, self.domain, self._rng)
        influence = FittedScores(self._problem, self._coordinates, self._data)
        return model.remember(provenance.Fit(self.estimator.method, rows, influence, again))

    @cached_property
    def covariance(self) -> Array:
        """Asymptotic covariance of :attr:`theta`, (p, p), by the sandwich A⁻¹BA⁻¹/n.

        A is the Hessian of the objective and B the covariance of its gradient at one observation; the
        model need not be right. Parameters at a bound have none, and NaN here; so have all if the data do
        not determine them.
        """
        scores, theta = self._problem.scores, self._coordinates
        free = ~scores.fixed(theta)
        nothing = np.full((len(self.names), len(self.names)), np.nan)
        try:
            spread = FittedScores(self._problem, theta, self._data).values()
        except InputError:
            return nothing
        errors = np.zeros(scores.size)
        errors[free] = np.sqrt((spread**2).sum(axis=0)) / self.n
        jacobian = self._jacobian(errors)
        unknown = np.abs(jacobian[:, ~free]).max(axis=1, initial=0.0) > 1e-9 * np.abs(jacobian).max(axis=1)
        spread = spread @ jacobian[:, free].T
        covariance = spread.T @ spread / self.n**2
        covariance[unknown, :] = covariance[:, unknown] = np.nan
        return np.asarray(covariance)

    def _jacobian(self, errors: Array) -> Array:
        """Derivatives of the parameters in the coordinates of the search, (P, p)."""
        # By a share of the standard errors: rounding costs little however far the data are from zero.
        scores, theta = self._problem.scores, self._coordinates
        columns = []
        for j, error in enumerate(errors):
            move = np.zeros_like(theta)
            move[j] = 1e-3 * error or 1e-5 * (abs(float(theta[j])) or 1.0)
            while True:
                try:
                    ahead, behind = (as_vector(scores.parameters(theta + by)) for by in (move, -move))
                    break
                except InputError:  # no member of the family there
                    move /= 10.0
            columns.append((ahead - behind) / (2 * move[j]))
        return np.column_stack(columns)

    def _ends(self, level: float) -> tuple[Array, Array]:
        half = NormalDist().inv_cdf(0.5 + level / 2) * self._errors()
        return self.theta - half, self.theta + half

    def bootstrap(
        self,
        resamples: int = 200,
        rng: RNG = None,
        workers: Workers = None,
        *,
        progress: ProgressLike = None,
    ) -> Bootstrap:
        """Draw the observations anew, with replacement, and fit again, from this fit on.

        Parameters
        ----------
        resamples
            How often.
        rng
            Seed or generator.
        workers
            Threads, -1 for all cores, or an executor; the result is the same for all of them.
        progress
            As in :func:`goodstein.ksd_test`.
        """
        watch = watching(progress, "Fitting")
        check_count(resamples, "resamples", 2)
        check_workers(workers)
        seed, steps = draw_seed(as_generator(rng)), self.estimator.max_iterations
        task = Resampled(self._problem, self._coordinates, steps, seed)
        with watch:
            found = run(task, range(resamples), workers, size=self.n * resamples)
        kept = [values for values in found if values is not None]
        count = len(kept)
        if count < 2:
            raise InputError(f"Of {resamples} resamples {count} could be fitted, too few for a bootstrap.")
        return Bootstrap(self.parameters, np.stack(kept), resamples - count)

    def refit(self, data: Any) -> Any:
        """The model that the same estimator fits to other data on the same domain.

        It is what :class:`goodstein.ParametricBootstrap` asks for: ``ParametricBootstrap(fit.refit)``. The
        random numbers are those of this fit, so that the same data give the same model.
        """
        return Again(self.estimator, self.family, self.domain, self._rng)(data)

    def with_note(self, note: str) -> Fit:
        """The same fit with more to say; an empty note is none."""
        return replace(self, notes=(*self.notes, note)) if note else self

    def _title(self) -> str:
        return f"{type(self.estimator).__name__}: {readable(self.family)}"

    def _tables(self) -> list[Table]:
        lines = [
            [name, f"{value:.4g}", "–" if np.isnan(error) else f"{error:.2g}"]
            for name, value, error in zip(self.names, self.theta, self._errors(), strict=True)
        ]
        return [parameter_table(["parameter", "estimate", "std. error"], lines, ".parameters")]

    def _notes(self) -> list[str]:
        starts = "" if len(self.starts) == 1 else f", the lowest of {len(self.starts)} starts"
        first = f"{self.n} observations on {self.domain!r}; objective {self.objective:.6g}{starts}."
        remarks = [first, *self.notes]
        if not self.converged:
            remarks.append("The search did not converge: raise `max_iterations`.")
        if self.at_bounds:
            shown = ", ".join(self.at_bounds[:6]) + (", …" if len(self.at_bounds) > 6 else "")
            remarks.append(f"At a bound, and so without standard errors: {shown}.")
        elif np.isnan(self.covariance).all():
            remarks.append(
                "The objective has no curvature in some direction, so there are no standard errors: the data "
                "do not determine all parameters."
            )
        return remarks
