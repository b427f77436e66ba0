"""The search for a minimum from several starts, and derivatives by differences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from goodstein.errors import InputError
from goodstein.estimate.base import AffineScores, Scores
from goodstein.types import Array

FLAT = 1e-4
"""Projected gradient, of the scaled objective, below which a search that could not go on has arrived."""

COARSE, FINE = 1e-9, 1e-13
"""Share of the objective that one step gains at the end of a search: of all starts, and of the best one."""

ROUNDS = 4
"""How often the best search goes on after the steps of numerical derivatives have been adapted to it."""


class EstimationObjective(ABC):
    """An average over observations that an estimator minimises."""

    scores: Scores
    """The family at the data."""
    scale: float
    """A typical size of the objective, by which it is divided in the search."""

    @abstractmethod
    def value_and_gradient(self, theta: Array, counts: Array | None = None) -> tuple[float, Array]:
        """The objective and its gradient (p,), each row counted so often."""

    @abstractmethod
    def influences(self, theta: Array) -> Array:
        """Vectors ψ_i, (n, p), whose mean has the variance of the objective's gradient."""

    @abstractmethod
    def quadratic(self, scores: AffineScores, counts: Array | None) -> tuple[Array, Array]:
        """A and b of the objective θᵀAθ + 2bᵀθ + c, which it is for scores that are affine in θ."""

    def solve(self, counts: Array | None = None) -> Array | None:
        """The minimum in closed form, θ = −A⁻¹b; None where there is none."""
        if not isinstance(self.scores, AffineScores):
            return None
        return solve_normal_equations(*self.quadratic(self.scores, counts), self.scores.coordinates)

    def hessian(self, theta: Array) -> Array:
        """Second derivatives, (p, p): 2A, or by differences of the gradient."""
        if isinstance(self.scores, AffineScores):
            return 2.0 * self.quadratic(self.scores, None)[0]
        return hessian_by_differences(self, theta)


@dataclass(frozen=True)
class Minimum:
    """Where the search ended."""

    theta: Array
    value: float
    converged: bool
    starts: tuple[float, ...]


def minimise(
    objective: EstimationObjective, starts: Sequence[Array], max_iterations: int, counts: Array | None = None
) -> Minimum:
    """The lowest of the minima found from the starts, by L-BFGS-B."""
    scores = objective.scores
    theta = objective.solve(counts)
    if theta is not None:
        value = objective.value_and_gradient(theta, counts)[0]
        return Minimum(theta, value, True, (value,))
    found = [_descend(objective, start, max_iterations, counts, COARSE) for start in starts]
    best = min(found, key=lambda minimum: minimum.value)
    if not np.isfinite(best.value):
        where = np.array2string(best.theta, precision=4, threshold=8)
        raise InputError(
            f"The objective is not finite on the way from any of the {len(found)} starts, for example at "
            f"{where}: the family has no finite score there. Give `bounds` that leave it out, another "
            "`start`, or parameters without limits, such as the logarithm of a scale."
        )
    theta, value, converged = best.theta, best.value, best.converged
    for _ in range(ROUNDS):
        changed = counts is None and scores.settle(theta)
        if not (converged or changed):
            break
        last = _descend(objective, theta, max_iterations, counts, FINE)  # only the best is worth it
        if last.value <= value:
            theta, value = last.theta, last.value
        if not changed:
            break
        converged = last.converged
    values = tuple(value if minimum is best else minimum.value for minimum in found)
    return Minimum(theta, value, converged, values)


class _NotFiniteError(Exception):
    """The search came to where the objective does not exist."""

    def __init__(self, theta: Array) -> None:
        super().__init__()
        self.theta = theta


def _descend(
    objective: EstimationObjective, start: Array, max_iterations: int, counts: Array | None, tolerance: float
) -> Minimum:
    from scipy.optimize import minimize

    scores, scale = objective.scores, objective.scale
    units = np.ones(scores.size) if scores.units is None else scores.units
    lower, upper = scores.lower / units, scores.upper / units

    def scaled(point: Array) -> tuple[float, Array]:
        theta = np.clip(point * units, scores.lower, scores.upper)
        with np.errstate(all="ignore"):
            value, gradient = objective.value_and_gradient(theta, counts)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            raise _NotFiniteError(theta)
        return value / scale, gradient * units / scale

    try:
        limits = {"maxiter": max_iterations, "maxfun": 20 * max_iterations, "ftol": tolerance, "gtol": 1e-7}
        first, bounds = np.clip(start / units, lower, upper), np.column_stack([lower, upper])
        options = {**limits, "maxcor": 20}
        result = minimize(scaled, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    except _NotFiniteError as stop:
        return Minimum(stop.theta, np.inf, False, (np.inf,))
    slope = np.clip(result.x - result.jac, lower, upper) - result.x
    arrived = bool(result.success) or (result.status == 2 and float(np.abs(slope).max(initial=0.0)) < FLAT)
    value = float(result.fun) * scale
    theta = np.clip(np.asarray(result.x, dtype=np.float64) * units, scores.lower, scores.upper)
    return Minimum(theta, value, arrived, (value,))


def hessian_by_differences(objective: EstimationObjective, theta: Array) -> Array:
    """Second derivatives by central differences of the gradient, (p, p); zeros for coordinates at a bound."""
    scores = objective.scores
    # Not beyond a bound, where there need be no objective.
    room = 0.9 * np.minimum(theta - scores.lower, scores.upper - theta)
    steps = np.minimum(scores.steps(theta), room)
    matrix = np.zeros((len(theta), len(theta)))
    free = np.flatnonzero(~scores.fixed(theta))
    for j in free:
        move = np.zeros_like(theta)
        move[j] = steps[j]
        ahead, behind = (objective.value_and_gradient(theta + by)[1] for by in (move, -move))
        matrix[free, j] = (ahead - behind)[free] / (2 * steps[j])
    return np.asarray((matrix + matrix.T) / 2)


def solve_normal_equations(matrix: Array, right: Array, names: Sequence[str]) -> Array:
    """−matrix⁻¹·right; raises where the matrix has no inverse or the quadratic form no minimum."""
    # In units in which every diagonal entry is one, so that units of the statistics do not matter.
    size = np.sqrt(np.abs(np.diag(matrix)))
    empty = np.flatnonzero(size == 0)
    if empty.size:
        raise InputError(
            f"the score does not depend on {names[empty[0]]!r} at these data, so it cannot be "
            "estimated. Remove it from the family.",
            argument="family",
        )
    values, vectors = np.linalg.eigh(matrix / np.outer(size, size))
    if values[0] <= 1e-12 * len(values) * values[-1]:
        direction = vectors[:, 0] / size
        direction = direction / direction[np.argmax(np.abs(direction))]
        terms = [f"{c:+.3g}·{name}" for c, name in zip(direction, names, strict=True) if abs(c) > 1e-6]
        kind = "is singular" if values[0] > -1e-8 * values[-1] else "has a negative eigenvalue"
        raise InputError(
            f"the matrix of the quadratic objective {kind}: moving the parameters along "
            f"{' '.join(terms[:6])}{' …' if len(terms) > 6 else ''} does not raise it, so these data do not "
            "determine them. Remove a statistic, pass more data or, if these are far from zero, centre them.",
            argument="family",
        )
    solution = vectors @ ((vectors.T @ (right / size)) / values)
    return np.asarray(-solution / size)
