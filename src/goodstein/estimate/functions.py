"""Derivatives of users' functions along straight lines: f(x, θ) by JAX, statistics by differences too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from goodstein.errors import ScoreError, describe_rows
from goodstein.estimate.base import Sample
from goodstein.lazy import cached_property
from goodstein.models.callables import Convention, Kind, recognise
from goodstein.numerics.differentiate import coordinate_spread
from goodstein.numerics.frameworks import Jax
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


class ByJax:
    """A user's function f(x, θ), and its derivatives along the directions of a sample, by JAX."""

    def __init__(
        self, function: Callable[..., Any], kind: Kind, sample: Sample, theta: Array, name: str
    ) -> None:
        self.function, self.kind, self.name = function, kind, name
        self.x, self.directions = sample.data, sample.directions
        # With arrays of either library; what JAX cannot differentiate shows at once.
        self.convention = recognise(At(function, theta), kind, self.x, name).convention
        try:
            score, _ = self.derivatives(theta)
        except ImportError:
            raise ImportError("Parametric differentiates by JAX: pip install jax.") from None
        except Exception as error:
            raise ScoreError(
                f"{name} cannot be differentiated by JAX ({str(error).splitlines()[0]}).",
                remedy="Write it with jax.numpy throughout.",
            ) from error
        bad = ~np.isfinite(score).all(axis=1)
        if bad.any():
            raise ScoreError(
                f"{name} is not finite at {describe_rows(bad)} with the parameters `start`. Begin where it "
                "is finite at all data, or pass the right `domain`."
            )

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_compiled"}

    def row(self, x: Any, theta: Any) -> Any:
        """f at one point (d,), for JAX to trace: a number or (d,)."""
        if self.convention is Convention.BATCH:
            found = self.function(x[None, :], theta)
        elif self.convention is Convention.NUMBER:
            found = self.function(x[0], theta)
        else:
            found = self.function(x, theta)
        return found.reshape(x.shape if self.kind is Kind.SCORE else ())

    @cached_property
    def _compiled(self) -> tuple[Any, Any, Any]:
        import jax
        import jax.numpy as jnp

        row, is_score = self.row, self.kind is Kind.SCORE

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
        with Jax().context():
            score, second = self._compiled[0](self.x, theta)
            return np.asarray(score, dtype=np.float64), np.asarray(second, dtype=np.float64)

    def pullback(self, theta: Array, on_score: Array, on_second: Array, each: bool) -> Array:
        """Gradient in θ of Σ_k on_score·score + on_second·second."""
        with Jax().context():
            pull = self._compiled[1 if each else 2]
            return np.asarray(pull(self.x, theta, on_score, on_second), dtype=np.float64)


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
