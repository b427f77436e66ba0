"""Users' functions f(x, θ) and their derivatives along straight lines, by JAX or by differences.

Differences have fixed steps, so that what depends smoothly on θ keeps doing so: an objective with the
noise of adaptive steps cannot be minimised to the last digits. Whether the steps were fine enough is
found out at the end, by :mod:`goodstein.numerics.differentiate`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from goodstein.errors import InputError, ScoreError, describe_rows
from goodstein.estimate.base import Sample
from goodstein.lazy import cached_property
from goodstein.models.callables import Convention, Kind, recognise
from goodstein.numerics.differentiate import coordinate_spread
from goodstein.numerics.frameworks import Jax, NumPy
from goodstein.types import Array

STEP = 0.05
"""Step of the differences, as a share of the spread of the data and of the distance to the boundary."""

OFFSETS = np.arange(-4, 5)
FIRST = np.array([3, -32, 168, -672, 0, 672, -168, 32, -3]) / 840
SECOND = np.array([-9, 128, -1008, 8064, -14350, 8064, -1008, 128, -9]) / 5040
"""Central differences of order eight."""


class At:
    """A function of (x, θ, …) at one θ; a class, so that it can be pickled if the function can."""

    def __init__(self, function: Callable[..., Any], theta: Array) -> None:
        self.function, self.theta = function, theta

    def __call__(self, x: Any, *others: Any) -> Any:
        return self.function(x, self.theta, *others)


class Recognised:
    """A user's function f(x, θ), of all points or of one, of NumPy or JAX arrays, and how it is called."""

    def __init__(self, function: Callable[..., Any], kind: Kind, x: Array, theta: Array, name: str) -> None:
        self.function, self.kind = function, kind
        batched = recognise(At(function, theta), kind, x, name)
        if not isinstance(batched.framework, NumPy | Jax):
            raise InputError(
                f"{name} is a {batched.framework.name} function. Write it with NumPy or JAX, or pass the "
                "model to ksd_test as it is: estimation differentiates by JAX, or numerically."
            )
        self.framework, self.convention = batched.framework, batched.convention

    @property
    def is_jax(self) -> bool:
        """Whether JAX can differentiate it."""
        return isinstance(self.framework, Jax)

    def values(self, x: Array, theta: Array) -> Array:
        """f at many points, (n,) or (n, d)."""
        n, d = x.shape
        function = At(self.function, theta.copy())
        with self.framework.context():
            points = self.framework.array(x)  # a copy: a function that works in place does no harm
            points = points[:, 0] if self.convention.flat else points
            if self.convention.by_row:
                found = np.array([function(row) for row in points], dtype=np.float64)
            else:
                found = np.asarray(function(points), dtype=np.float64)
        return found.reshape(self.kind.shape(n, d))

    def row(self, x: Any, theta: Any) -> Any:
        """f at one point (d,), for JAX to trace: a number or (d,)."""
        convention = self.convention
        if convention is Convention.BATCH:
            found = self.function(x[None, :], theta)
        elif convention is Convention.NUMBER:
            found = self.function(x[0], theta)
        else:
            found = self.function(x, theta)
        return found.reshape(x.shape if self.kind is Kind.SCORE else ())


class ByJax:
    """Score and its derivatives along the directions of a sample, by automatic differentiation."""

    exact = True

    def __init__(self, function: Recognised, sample: Sample) -> None:
        self.function, self.x, self.directions = function, sample.data, sample.directions

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_compiled"}

    @cached_property
    def _compiled(self) -> tuple[Any, Any, Any]:
        import jax
        import jax.numpy as jnp

        row, is_score = self.function.row, self.function.kind is Kind.SCORE

        def at(x: Any, theta: Any) -> tuple[Any, Any]:
            """∂_k log q and ∂²_k log q at one point."""

            def vector(point: Any) -> Any:
                return row(point, theta) if is_score else jax.grad(row)(point, theta)

            def along(direction: Any) -> Any:
                value, change = jax.jvp(vector, (x,), (direction,))
                return jnp.stack([value @ direction, change @ direction])

            found = jax.vmap(along)(jnp.asarray(self.directions))
            return found[:, 0], found[:, 1]

        def pulled(x: Any, theta: Any, on_score: Any, on_second: Any) -> Any:
            def total(parameters: Any) -> Any:
                score, second = at(x, parameters)
                return score @ on_score + second @ on_second

            return jax.grad(total)(theta)

        def summed(x: Any, theta: Any, on_score: Any, on_second: Any) -> Any:
            def total(parameters: Any) -> Any:
                score, second = jax.vmap(at, (0, None))(x, parameters)
                return (score * on_score).sum() + (second * on_second).sum()

            return jax.grad(total)(theta)

        each = jax.vmap(pulled, (0, None, 0, 0))
        return jax.jit(jax.vmap(at, (0, None))), jax.jit(each), jax.jit(summed)

    def derivatives(self, theta: Array) -> tuple[Array, Array]:
        """∂_k log q and ∂²_k log q at all rows, (n, m) both."""
        with self.function.framework.context():
            score, second = self._compiled[0](self.x, theta)
            return np.asarray(score, dtype=np.float64), np.asarray(second, dtype=np.float64)

    def pullback(self, theta: Array, on_score: Array, on_second: Array, each: bool) -> Array:
        """Gradient in θ of Σ_k on_score·score + on_second·second."""
        with self.function.framework.context():
            pull = self._compiled[1 if each else 2]
            return np.asarray(pull(self.x, theta, on_score, on_second), dtype=np.float64)


class ByDifferences:
    """The same by differences of order eight in x, and of order four in θ."""

    exact = False

    def __init__(self, function: Recognised, sample: Sample, bounds: tuple[Array, Array], name: str) -> None:
        self.function, self.sample = function, sample
        self.lower, self.upper = bounds
        self.steps = np.full(len(self.lower), np.nan)  # set before the first gradient
        self.lines = Lines(sample, name)

    def derivatives(self, theta: Array) -> tuple[Array, Array]:
        """∂_k log q and ∂²_k log q at all rows, (n, m) both."""
        values = self.lines.evaluate(lambda x: self.function.values(x, theta))
        if self.function.kind is Kind.SCORE:
            along = np.einsum("jnmd,md->jnm", values, self.sample.directions)
            return along[4], self.lines.difference(FIRST, along)
        return self.lines.difference(FIRST, values), self.lines.difference(SECOND, values, order=2)

    def pullback(self, theta: Array, on_score: Array, on_second: Array, each: bool) -> Array:
        """Gradient in θ of Σ_k on_score·score + on_second·second."""
        columns = []
        for j, step in enumerate(self.steps):
            slope = 0.0
            for multiple, weight in _stencil(theta[j], step, self.lower[j], self.upper[j]):
                moved = theta.copy()
                moved[j] += multiple * step
                score, second = self.derivatives(moved)
                slope = slope + weight / step * ((on_score * score).sum(1) + (on_second * second).sum(1))
            columns.append(slope)
        rows = np.column_stack(columns)
        return rows if each else np.asarray(rows.sum(axis=0))


def _stencil(theta: float, step: float, lower: float, upper: float) -> list[tuple[int, float]]:
    """Multiples of the step and their weights, for a first derivative of order four within the bounds."""
    if theta - 2 * step < lower:
        return [(0, -25 / 12), (1, 4.0), (2, -3.0), (3, 4 / 3), (4, -1 / 4)]
    if theta + 2 * step > upper:
        return [(0, 25 / 12), (-1, -4.0), (-2, 3.0), (-3, -4 / 3), (-4, 1 / 4)]
    return [(-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12)]


class Lines:
    """Points on straight lines through every row, along every direction, all of them in the domain."""

    def __init__(self, sample: Sample, name: str) -> None:
        x, directions = sample.data, sample.directions
        room = sample.domain.boundary_distance(x)
        stuck = ~(room > 0)
        if stuck.any():
            raise ScoreError(
                f"{name}: {describe_rows(stuck)} lie on the boundary of {sample.domain!r}, where there is no "
                "room for numerical derivatives. Write it with JAX, or give its derivatives."
            )
        spread = coordinate_spread(x @ directions.T)
        self.step = np.minimum(STEP * spread, STEP * room[:, None])  # (n, m)
        moves = OFFSETS[:, None, None, None] * self.step[:, :, None] * directions
        self.points = x[:, None, :] + moves  # (9, n, m, d)

    def evaluate(self, function: Callable[[Array], Array]) -> Array:
        """The function at all points, (9, n, m) or (9, n, m, d)."""
        values = function(self.points.reshape(-1, self.points.shape[-1]))
        return values.reshape(*self.points.shape[:3], *values.shape[1:])

    def difference(self, weights: Array, values: Array, order: int = 1) -> Array:
        """A derivative along the lines, (n, m, …); zero where it cannot be told from rounding."""
        step = self.step.reshape(*self.step.shape, *[1] * (values.ndim - 3))
        change = np.tensordot(weights, values, axes=1)
        rounding = 4.0 * np.finfo(np.float64).eps * np.abs(weights).sum() * np.abs(values).max(axis=0)
        return np.asarray(np.where(np.abs(change) <= rounding, 0.0, change) / step**order)
