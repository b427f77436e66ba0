"""Any model log q(x; θ)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goodstein.constraints import numbers, require_functions
from goodstein.domains.base import Domain
from goodstein.errors import InputError, must
from goodstein.estimate.base import AT_BOUND, Evaluation, ModelFamily, Sample, Scores, as_names, by_name
from goodstein.estimate.functions import At, ByJax
from goodstein.families import Truncated
from goodstein.models.callables import Kind
from goodstein.models.model import Model
from goodstein.types import Array, ArrayLike, BoolArray

Function = Callable[..., Any]

SMALL, LARGE = 1e-3, 0.1
"""Changes of the score, as shares of it, from which its derivative in a parameter is taken roughly."""


@dataclass(frozen=True, eq=False)
class Parametric(ModelFamily):
    """A model log q(x; θ) of your own, up to its normalising constant, restricted to the domain.

    Parameters
    ----------
    log_density
        Function of (x, θ): of all points (n, d) that returns (n,), or of one point (d,) that returns a
        number, by arithmetic or jax.numpy: JAX differentiates it.
    score
        ∇log q as a function of (x, θ), in the same forms, in place of `log_density`.
    start
        Where to begin, (p,), or several starts, (s, p).
    names
        Names of θ; ``theta`` is one vector without them.
    bounds
        A pair (lower, upper) for every parameter, with None or an infinity where there is no bound.
    sample
        A sampler ``sample(n, theta, rng)`` of the model without truncation, for simulations.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> from goodstein.estimate import Parametric, ScoreMatching
    >>> def cauchy(x, theta):
    ...     return -jnp.log1p((x[:, 0] - theta[0]) ** 2)
    >>> x = 3.0 + np.random.default_rng(1).standard_cauchy(2000)
    >>> fit = ScoreMatching().fit(x, Parametric(cauchy, start=[np.median(x)], names=["location"]))
    >>> round(fit.parameters["location"], 1)
    3.0
    """

    log_density: Function | None = None
    score: Function | None = None
    start: ArrayLike = field(default=None, kw_only=True)
    names: Sequence[str] | None = field(default=None, kw_only=True)
    bounds: Sequence[tuple[float | None, float | None]] | None = field(default=None, kw_only=True)
    sample: Function | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if (self.log_density is None) == (self.score is None):
            raise InputError("Parametric needs a `log_density` or a `score`, one of them.")
        given = {name: getattr(self, name) for name in ("log_density", "score", "sample")}
        require_functions({name: one for name, one in given.items() if one is not None}, "Parametric")
        if self.start is None:
            raise InputError("Parametric needs a `start`: parameters (p,) from which to search.")
        starts = numbers(self.start, "start")
        if starts.ndim > 2:
            raise InputError(f"`start` must be of shape (p,) or (s, p), got {starts.shape}.")
        object.__setattr__(self, "start", np.atleast_2d(starts))
        p = self.start.shape[1]
        if self.names is not None:
            object.__setattr__(self, "names", as_names(self.names, "Parametric"))
            if len(self.names) != p:
                raise InputError(f"`names` has {len(self.names)} entries, but `start` has {p} parameters.")
        lower, upper = self._ends(p)
        outside = ((self.start < lower) | (self.start > upper)).any(axis=0)
        if outside.any():
            raise InputError(f"`start` is outside of `bounds` in parameter {int(np.argmax(outside))}.")

    def _ends(self, p: int) -> tuple[Array, Array]:
        """Lower and upper bounds, (p,)."""
        if self.bounds is None:
            return np.full(p, -np.inf), np.full(p, np.inf)
        wanted = f"{p} pairs (lower, upper), one for every parameter, of numbers or None"
        several = isinstance(self.bounds, list | tuple | np.ndarray) and getattr(self.bounds, "ndim", 1) != 0
        pairs = list(self.bounds) if several else []
        if len(pairs) != p or not all(isinstance(pair, list | tuple | np.ndarray) for pair in pairs):
            raise must("bounds", wanted, self.bounds, "Parametric")
        if any(len(pair) != 2 for pair in pairs):
            raise must("bounds", wanted, self.bounds, "Parametric")
        filled = [[-np.inf if low is None else low, np.inf if high is None else high] for low, high in pairs]
        lower, upper = numbers(filled, "bounds", infinite=True, of="Parametric").T
        wrong = np.flatnonzero(~(lower < upper))
        if wrong.size:
            which = f"`bounds` of parameter {wrong[0]} are {pairs[wrong[0]]}"
            raise InputError(f"{which}; lower must be below upper.")
        return lower, upper

    def __repr__(self) -> str:
        function = self.log_density if self.log_density is not None else self.score
        return f"Parametric({getattr(function, '__name__', repr(function))}, p={self.start.shape[1]})"

    def scores(self, sample: Sample) -> ParametricScores:
        return ParametricScores(self, sample)


class ParametricScores(Scores):
    """A user's model at the data; θ is as the user has it."""

    units: Array

    def __init__(self, family: Parametric, sample: Sample) -> None:
        self.family, self.sample, self.n = family, sample, len(sample)
        p = family.start.shape[1]
        self.coordinates = tuple(family.names or [f"theta[{j}]" for j in range(p)])
        self.lower, self.upper = family._ends(p)
        key, kind = ("score", Kind.SCORE) if family.log_density is None else ("log_density", Kind.LOGPDF)
        function = getattr(family, key)
        self.functions = ByJax(function, kind, sample, family.start[0], f"`{key}` of {family!r}")
        self.units = np.min([self._units(start) for start in family.start], axis=0)

    def _units(self, theta: Array) -> Array:
        """Moves in each parameter that would change the score by about its own size, (p,).

        They depend neither on the units of the data nor on those of θ, as the size of a start would.
        """
        with np.errstate(all="ignore"):
            score = self.functions.derivatives(theta)[0]
            typical = float(np.sqrt((score**2).mean()))
            if not (np.isfinite(typical) and typical > 0):
                along = self.sample.data @ self.sample.directions.T
                typical = 1.0 / float(np.sqrt(along.var(axis=0).mean()))
            units = np.array([self._unit(theta, j, score, typical) for j in range(len(theta))])
        return np.asarray(np.minimum(units, self.upper - self.lower))

    def _unit(self, theta: Array, j: int, score: Array, typical: float) -> float:
        fallback = abs(float(theta[j])) or 1.0
        up, down = self.upper[j] - theta[j], theta[j] - self.lower[j]
        sign, room = (1.0, 0.9 * up) if up >= down else (-1.0, 0.9 * down)
        step = min(SMALL * fallback, room)
        for _ in range(40):
            moved = theta.copy()
            moved[j] += sign * step
            change = float(np.sqrt(((self.functions.derivatives(moved)[0] - score) ** 2).mean())) / typical
            if SMALL <= change <= LARGE or (0 < change < SMALL and step >= room):
                return float(step / change)
            factor = 1e-2 if not np.isfinite(change) else 0.01 / max(change, 1e-300)
            step = min(step * float(np.clip(factor, 1e-4, 1e4)), room)
        return fallback

    def settle(self, theta: Array) -> bool:
        units = self._units(theta)
        ratio = units / self.units
        if ((ratio > 0.5) & (ratio < 2.0)).all():
            return False
        self.units = units
        return True

    def fixed(self, theta: Array) -> BoolArray:
        """Which parameters are at a bound; how far away the other one is does not matter."""
        room = AT_BOUND * self.units
        return np.asarray((theta - self.lower <= room) | (self.upper - theta <= room))

    def starts(self, count: int, rng: np.random.Generator) -> Sequence[Array]:
        return list(self.family.start)

    def steps(self, theta: Array) -> Array:
        return 1e-5 * self.units

    def evaluate(self, theta: Array, rows: slice, *, second: bool = True) -> ParametricEvaluation:
        """Scores at all rows, of which there is one block."""
        return ParametricEvaluation(self.functions, theta)

    def parameters(self, theta: Array) -> Mapping[str, Any]:
        return by_name(self.family.names, theta)

    def model(self, theta: Array) -> Any:
        own, domain = self.family, self.sample.domain
        functions = {"logpdf": own.log_density, "score": own.score, "sample": own.sample}
        return model_at(theta, domain, repr(own), **functions)


class ParametricEvaluation(Evaluation):
    """Scores at one θ, with derivatives made when they are asked for."""

    def __init__(self, functions: ByJax, theta: Array) -> None:
        self._functions, self._theta = functions, theta
        self.score, self.second = functions.derivatives(theta)

    def pullback(self, on_score: Array, on_second: Array | None, *, each: bool = False) -> Array:
        nothing = np.zeros_like(on_score) if on_second is None else on_second
        return self._functions.pullback(self._theta, on_score, nothing, each)


def model_at(theta: Array, domain: Domain, name: str, **functions: Function | None) -> Any:
    """A model from functions of (x, θ); with a sampler it is truncated by rejection."""
    at: dict[str, Any] = {
        role: None if function is None else At(function, theta) for role, function in functions.items()
    }
    model = Model(**at, name=f"{name} at {np.array2string(theta, precision=4, threshold=6)}")
    return Truncated(model, domain) if model.has_sample and domain.has_boundary else model.on(domain)
