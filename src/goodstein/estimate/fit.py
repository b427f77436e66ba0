"""What an estimator returns."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from goodstein.engine.executors import Workers, check_workers, run
from goodstein.errors import InputError
from goodstein.estimate.base import Sample
from goodstein.estimate.bootstrap import Bootstrap, Resampled, shortened
from goodstein.estimate.minimise import Minimum, Objective, minimise
from goodstein.nulls.base import draw_seed
from goodstein.pipeline.compose import as_generator
from goodstein.text import as_html, as_text, readable
from goodstein.types import RNG, Array
from goodstein.validation import check_count

SINGULAR = 1e-12
"""Ratio of the eigenvalues of the Hessian, scaled to a unit diagonal, below which it counts as singular."""


class Interval(NamedTuple):
    """A confidence interval, numbers or arrays of the shape of the parameter."""

    low: Any
    high: Any


@dataclass(frozen=True, eq=False)
class Fit:
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

    @property
    def theta(self) -> Array:
        """All parameters in one vector, (p,), in the order of :attr:`names`."""
        return _flat(self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the entries of :attr:`theta`."""
        return tuple(
            name + (f"[{', '.join(map(str, index))}]" if index else "")
            for name, value in self.parameters.items()
            for index in np.ndindex(np.shape(value))
        )

    @cached_property
    def model(self) -> Any:
        """The fitted model on the domain, as `model` of :func:`goodstein.ksd_test` and its siblings."""
        return self._problem.scores.model(self._coordinates)

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
        curvature = self._problem.hessian(theta)[np.ix_(free, free)]
        size = np.sqrt(np.maximum(np.diag(curvature), 0.0))
        if not size.all():
            return nothing
        values, vectors = np.linalg.eigh(curvature / np.outer(size, size))
        if not len(values) or values[0] <= SINGULAR * values[-1]:
            return nothing
        inverse = (vectors / values) @ vectors.T / np.outer(size, size)
        spread = self._problem.influences(theta)[:, free] @ inverse
        errors = np.zeros(scores.size)
        errors[free] = np.sqrt((spread**2).sum(axis=0)) / self.n
        jacobian = self._jacobian(errors)
        unknown = np.abs(jacobian[:, ~free]).max(axis=1, initial=0.0) > 1e-9 * np.abs(jacobian).max(axis=1)
        spread = spread @ jacobian[:, free].T
        covariance = spread.T @ spread / self.n**2
        covariance[unknown, :] = covariance[:, unknown] = np.nan
        return np.asarray(covariance)

    def _jacobian(self, errors: Array) -> Array:
        """Derivatives of the parameters in the coordinates of the search, (P, p).

        Steps are a share of the standard errors of the coordinates: then rounding costs little however far
        the data are from zero, and no parameter changes by more than it is uncertain.
        """
        scores, theta = self._problem.scores, self._coordinates
        columns = []
        for j, error in enumerate(errors):
            move = np.zeros_like(theta)
            move[j] = 1e-3 * error or 1e-5 * (abs(float(theta[j])) or 1.0)
            while True:
                try:
                    ahead, behind = (_flat(scores.parameters(theta + sign * move)) for sign in (1.0, -1.0))
                    break
                except InputError:  # no member of the family there
                    move /= 10.0
            columns.append((ahead - behind) / (2 * move[j]))
        return np.column_stack(columns)

    @property
    def standard_errors(self) -> Mapping[str, Any]:
        """Standard errors by name, in the shape of :attr:`parameters`; NaN where there are none."""
        with np.errstate(invalid="ignore"):
            return _shaped(np.sqrt(np.diag(self.covariance)), self.parameters)

    def confidence_interval(self, level: float = 0.95) -> Mapping[str, Interval]:
        """Normal confidence intervals by name: the estimate and its standard error."""
        quantile = NormalDist().inv_cdf(0.5 + check_level(level) / 2)
        half = quantile * np.sqrt(np.diag(self.covariance))
        low, high = (_shaped(self.theta + sign * half, self.parameters) for sign in (-1.0, 1.0))
        return {name: Interval(low[name], high[name]) for name in self.parameters}

    def bootstrap(self, resamples: int = 200, rng: RNG = None, workers: Workers = None) -> Bootstrap:
        """Draw the observations anew, with replacement, and fit again, from this fit on.

        Parameters
        ----------
        resamples
            How often.
        rng
            Seed or generator.
        workers
            Threads, -1 for all cores, or an executor; the result is the same for all of them.
        """
        check_count(resamples, "resamples", 2)
        check_workers(workers)
        task = Resampled(
            self._problem, self._coordinates, self.estimator.max_iterations, draw_seed(as_generator(rng))
        )
        found = run(task, range(resamples), workers, size=self.n * resamples)
        kept = [values for values in found if values is not None]
        if len(kept) < 2:
            raise InputError(
                f"Of {resamples} resamples {len(kept)} could be fitted, too few for a bootstrap."
            )
        return Bootstrap(self.parameters, self.names, np.stack(kept), resamples - len(kept))

    def refit(self, data: Any) -> Any:
        """The model that the same estimator fits to other data on the same domain.

        It is what :class:`goodstein.ParametricBootstrap` asks for: ``ParametricBootstrap(fit.refit)``. The
        random numbers are those of this fit, so that the same data give the same model.
        """
        rng = copy.deepcopy(self._rng)
        return self.estimator.fit(data, self.family, domain=self.domain, rng=rng).model

    def with_notes(self, notes: list[str]) -> Fit:
        """The same fit with more to say; empty notes are none."""
        more = tuple(note for note in notes if note)
        return replace(self, notes=(*self.notes, *more)) if more else self

    def __str__(self) -> str:
        header, lines = self._table()
        notes = [f"  {note}" for note in self._remarks()]
        return "\n".join([self._title(), "", *as_text(header, lines), "", *notes])

    def _repr_html_(self) -> str:
        return as_html(self._title(), *self._table(), self._remarks())

    def _title(self) -> str:
        return f"{type(self.estimator).__name__}: {readable(self.family)}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        errors = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        lines = [
            [name, f"{value:.4g}", "–" if np.isnan(error) else f"{error:.2g}"]
            for name, value, error in zip(self.names, self.theta, errors, strict=True)
        ]
        return ["parameter", "estimate", "std. error"], shortened(lines, ".parameters")

    def _remarks(self) -> list[str]:
        starts = "" if len(self.starts) == 1 else f", the lowest of {len(self.starts)} starts"
        remarks = [
            f"{self.n} observations on {self.domain!r}; objective {self.objective:.6g}{starts}.",
            *self.notes,
        ]
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


def search(
    estimator: Any, family: Any, sample: Sample, objective: Objective, rng: np.random.Generator
) -> Fit:
    """Minimise the objective and say what was found."""
    scores = objective.scores
    before = copy.deepcopy(rng)
    starts = scores.starts(estimator.starts, rng)
    minimum: Minimum = minimise(objective, starts, estimator.max_iterations)
    theta = scores.canonical(minimum.theta)
    fixed = scores.fixed(theta)
    bound = dict.fromkeys(name for name, at in zip(scores.coordinates, fixed, strict=True) if at)
    return Fit(
        parameters=scores.parameters(theta),
        objective=minimum.value,
        converged=minimum.converged,
        at_bounds=tuple(bound),
        starts=minimum.starts,
        n=len(sample),
        family=family,
        estimator=estimator,
        domain=sample.domain,
        notes=tuple(scores.notes(theta)),
        _problem=objective,
        _coordinates=theta,
        _rng=before,
    )


def check_level(level: float) -> float:
    """A confidence level between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise InputError(f"`level` must be a number between 0 and 1, such as 0.95, got {level!r}.")
    return float(level)


def _flat(parameters: Mapping[str, Any]) -> Array:
    return np.concatenate([np.ravel(np.asarray(value, dtype=np.float64)) for value in parameters.values()])


def _shaped(values: Array, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A vector in the shapes of the parameters."""
    shaped: dict[str, Any] = {}
    first = 0
    for name, value in parameters.items():
        size = int(np.size(value))
        part = values[first : first + size]
        shaped[name] = part.reshape(np.shape(value)) if np.ndim(value) else float(part[0])
        first += size
    return shaped
