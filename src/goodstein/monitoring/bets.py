"""What is bet on the next observation: a direction in which those before it deviate from the model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from goodstein.auditing.serial import Dependence
from goodstein.data.points import Points
from goodstein.errors import InputError, ScoreError
from goodstein.lazy import cached_property
from goodstein.nulls.approximate import inverse_root
from goodstein.operators.base import Operator
from goodstein.problems.order import dependence_of
from goodstein.problems.problem import Problem
from goodstein.stein.features import Features
from goodstein.types import Array

STEP = 4096
"""Observations that are looked at together."""
GROWTH = 1.05
"""How much more observations there are when the direction is chosen anew."""


class Bets:
    """Payoffs ⟨μ, ξ_x⟩/(‖μ‖B), μ the mean feature so far in the span of those of the first m observations.

    Attributes
    ----------
    n
        Observations seen.
    rows
        The landmarks z: the first m of them, (m, d), or all while there are fewer.
    sums
        Σ_i h(z, x_i) over all that were seen, for every landmark.
    direction
        c, with which the payoff of x is Σ_j c_j h(z_j, x); none before the first observation.
    turn
        The number of observations at which it is chosen anew: it does not depend on how the stream is cut.
    """

    def __init__(self, problem: Problem, bound: float, most: int) -> None:
        self.problem, self.bound, self.most = problem, bound, most
        self.n, self.turn = 0, 1
        self.rows: Array = np.empty((0, problem.observations.shape[1]))
        self.sums, self.direction = np.empty(0), np.empty(0)

    def require_bounded(self, x: Array) -> None:
        """Raise where an observation counts for more than twice the bound."""
        for start in range(0, len(x), STEP):
            sizes = self.sizes(x[start : start + STEP])
            row = int(np.argmax(sizes))
            if not sizes[row] <= 2.0 * self.bound:
                raise ScoreError(
                    f"√h(x, x) is {sizes[row]:.3g} at row {start + row} of the chunk, more than twice the "
                    f"bound of {self.bound:.3g} under which the evidence is valid.",
                    remedy="Pass a larger `bound`, or an operator whose weight falls off faster, such as "
                    "Standardised(Decaying(power=2)), and begin again.",
                )

    def payoffs(self, x: Array) -> Iterator[Array]:
        """Payoffs of observations, some at a time, each with what was known before it."""
        done = 0
        while done < len(x):
            if self.n >= self.turn:
                self.choose()
            room = self.most - len(self.rows)
            count = min(STEP, self.turn - self.n, len(x) - done, room or STEP)
            some = x[done : done + count]
            block = self.columns(some)
            yield self.direction @ block[: len(self.direction)] if len(self.direction) else np.empty(0)
            self._learn(some, block)
            done += count

    def choose(self) -> None:
        """Turn to the mean feature so far, as far as landmarks span it."""
        self.turn = max(self.n + 1, math.ceil(GROWTH * self.n))
        m = len(self.rows)
        coefficients = np.full(m, 1.0 / m)
        if self.n > m:
            coefficients = self._root @ (self._root.T @ self.sums) / self.n
        square = float(coefficients @ self.sums) / self.n
        self.direction = coefficients / (math.sqrt(square) * self.bound if square > 0.0 else math.inf)

    @property
    def complete(self) -> bool:
        """Whether there are all landmarks."""
        return len(self.rows) == self.most

    def dependence(self) -> Dependence:
        """What the order of the landmarks says."""
        return dependence_of(Points(self.rows), [self._landmarks.form(self.problem.fitted_kernel)])

    def sizes(self, x: Array) -> Array:
        """√h(x, x)."""
        return np.sqrt(self._features(x).form(self.problem.fitted_kernel).diagonal())

    def columns(self, x: Array) -> Array:
        """h(z, x) of landmarks z, and below it, while there are too few of them, of the observations x."""
        m = len(self.rows)
        last = m if self.complete else m + len(x)
        return np.array(self._joint(x).block(slice(0, last), slice(m, m + len(x))))

    def _learn(self, x: Array, block: Array) -> None:
        if self.complete:
            self.sums = self.sums + block.sum(axis=1)
        else:
            # All that was seen are landmarks themselves.
            m = len(self.rows)
            self.sums = np.concatenate([self.sums + block[:m].sum(axis=1), block.sum(axis=0)])
            self.rows = np.concatenate([self.rows, x])
            self.__dict__.pop("_landmarks", None)
        self.n += len(x)

    @cached_property
    def _root(self) -> Array:
        """W with W Wᵀ = H_mm⁺, asked for when there are all landmarks."""
        return inverse_root(self._landmarks.form(self.problem.fitted_kernel).matrix())

    @cached_property
    def _landmarks(self) -> Features:
        return self._features(self.rows)

    def _features(self, x: Array) -> Features:
        problem = self.problem
        return problem.fitted_operator.features(problem.model, problem.domain, x)

    def _joint(self, x: Array) -> Any:
        """The Stein form of landmarks and of these observations, in this order."""
        problem, m = self.problem, len(self.rows)
        if not m:
            return self._features(x).form(problem.fitted_kernel)
        joint = problem.fitted_operator.features_beside(self._landmarks, problem.model, problem.domain, x)
        form = None if joint is None else joint.form(problem.fitted_kernel)
        if form is None or form.n != m + len(x):
            raise together(problem.operator)
        return form


def together(operator: Operator) -> InputError:
    """What is raised where an operator looks at several observations at once."""
    return InputError(
        f"{operator!r} does not look at observations one by one, so that a stream cannot be watched with it.",
        argument="operator",
    )
