r"""How fitted parameters depend on each observation: the influence values of an M-estimator.

Parameters θ̂ that solve mean ψ(x_i; θ) = 0 have

    √n(θ̂ − θ) = n^(−½) Σ_i IF_i + o(1),    IF_i = −(mean ∂ψ/∂θ)⁻¹ ψ_i,

whether ψ is the derivative of a log likelihood, of a score matching loss or of a Stein discrepancy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.errors import InputError
from goodstein.types import Array

STEP = 1e-3
"""Steps of numerical derivatives, in units in which an observation tells a parameter to within one."""

SINGULAR, NEARLY = 1e-12, 1e-7
"""Ratios of the singular values of the information, scaled to a unit diagonal, below which it counts as
singular: where it is known to rounding, and where it was obtained by differences."""

UNSOLVED = 0.2
"""Standard errors that the parameters may be away from those that solve the equations of the fit."""

FIT_AGAIN = (
    "Where a parameter is at the end of its range, try another family; else fit it again, from another start "
    "or with covariates that are centred and scaled."
)
"""What to do where a fit stopped short."""

ROUNDS = 6
"""How often the steps are adapted to what was found with them."""


@dataclass(frozen=True)
class Influence:
    """Parameters fitted to n observations, the models around the fit, and what each observation did to it.

    Attributes
    ----------
    model
        The model with the parameters moved by t, (p,), from the fit, in any form that the test takes;
        ``model(0)`` is the fit. Coordinates are of whoever made it, since only directions count.
    values
        IF, (n, p), in these coordinates and in the order of the observations.
    names
        Names of the coordinates, (p,).
    likelihood
        Whether the parameters maximise the likelihood.
    """

    model: Callable[[Array], Any]
    values: Array
    names: tuple[str, ...]
    likelihood: bool = False

    @property
    def errors(self) -> Array:
        """Standard errors of the parameters, (p,)."""
        return np.asarray(np.sqrt((self.values**2).mean(axis=0) / len(self.values)))

    @property
    def unsolved(self) -> str:
        """Which parameter does not solve the equations of the fit, and by how much; empty where all do."""
        middle = self.values.mean(axis=0)
        spread = self.values.std(axis=0)
        away = np.sqrt(len(self.values)) * np.abs(middle) / np.where(spread > 0, spread, 1.0)
        if not away.size or away.max() <= UNSOLVED:
            return ""
        return f"{self.names[int(np.argmax(away))]} is {away.max():.2g} standard errors away"


def stopped_short(name: str, away: str) -> str:
    """What is said of a model whose parameters are away from those that fit the data of its fit best."""
    return f"the fit of {name} to these data stopped short, and {away} from where it should have ended."


def solved(psi: Array, slope: Array, names: Sequence[str], singular: float = SINGULAR) -> Array:
    """−slope⁻¹ψ_i, (n, p), from ψ, (n, p), and the mean of its derivatives ∂ψ_a/∂θ_b, (p, p)."""
    # In units in which every diagonal entry is one, so that units of parameters do not matter.
    size = np.sqrt(np.abs(np.diag(slope)))
    flat = np.flatnonzero(~(size > 0))
    if flat.size:
        raise _undetermined([names[flat[0]]])
    scaled = slope / np.outer(size, size)
    left, values, right = np.linalg.svd(scaled)
    if not values[-1] > singular * values[0]:
        share = np.abs(right[-1])
        raise _undetermined([name for name, part in zip(names, share, strict=True) if part > 0.1])
    inverse = (right.T / values) @ left.T / np.outer(size, size)
    return np.asarray(-psi @ inverse.T)


def _undetermined(names: Sequence[str]) -> InputError:
    some = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
    which = f"the parameter {some}" if len(names) == 1 else f"the parameters {some} together"
    return InputError(
        f"The data do not determine {which}: the information matrix is singular, so there are no influence "
        "values.",
        remedy="Hold parameters fixed that others make superfluous or that ended at a bound.",
    )


def of_maximum(objective: Callable[[Array], Array], start: Array, names: Sequence[str]) -> Array:
    """Influence values, (n, p), of parameters that maximise the mean of smooth functions ℓ_i.

    `objective` is (ℓ_1, …, ℓ_n) as a function of coordinates t, (p,), and `start` are first guesses of steps
    in them.
    """
    steps = _steps(objective, start)
    moves = np.diag(steps)
    middle = float(objective(np.zeros(len(steps))).mean())
    ahead, behind = ([objective(by) for by in sign * moves] for sign in (1.0, -1.0))
    psi = np.column_stack([(a - b) / (2 * h) for a, b, h in zip(ahead, behind, steps, strict=True)])
    means = [float(a.mean() + b.mean()) for a, b in zip(ahead, behind, strict=True)]
    slope = np.diag([(total - 2 * middle) / h**2 for total, h in zip(means, steps, strict=True)])
    for a in range(len(steps)):
        for b in range(a):
            # f(a+b) + f(−a−b) holds both squares and twice the product.
            both = float(objective(moves[a] + moves[b]).mean() + objective(-moves[a] - moves[b]).mean())
            slope[a, b] = slope[b, a] = (both - means[a] - means[b] + 2 * middle) / (2 * steps[a] * steps[b])
    return solved(psi, slope, names, NEARLY)


def of_equations(equations: Callable[[Array], Array], start: Array, names: Sequence[str]) -> Array:
    """Influence values, (n, p), of parameters at which the mean of ψ, (n, p) as a function of t, is zero."""
    psi = equations(np.zeros(len(start)))
    columns = []
    for move in np.diag(start):
        ahead, behind = (equations(by).mean(axis=0) for by in (move, -move))
        columns.append((ahead - behind) / (2 * move.max()))
    return solved(psi, np.column_stack(columns), names, NEARLY)


def _steps(objective: Callable[[Array], Array], start: Array) -> Array:
    """STEP/√(curvature) in every coordinate: there rounding and the third derivative matter little."""
    steps = np.array(start, dtype=np.float64)
    middle = float(objective(np.zeros(len(steps))).mean())
    for a in range(len(steps)):
        for _ in range(ROUNDS):
            move = np.zeros(len(steps))
            move[a] = steps[a]
            try:
                values = [float(objective(by).mean()) for by in (move, -move)]
            except InputError:  # no such member of the family
                values = [np.nan]
            fall = middle - 0.5 * sum(values)
            if not np.isfinite(fall):
                steps[a] /= 10.0
                continue
            if not fall > 1e-13 * (1.0 + abs(middle)):  # lost in rounding, or flat
                steps[a] *= 10.0
                continue
            wanted = STEP * steps[a] / np.sqrt(2.0 * fall)
            done = 0.5 < wanted / steps[a] < 2.0
            steps[a] = wanted
            if done:
                break
    return steps
