"""Models that are made of functions of the user's: their names, and how a sampler is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from goodstein.constraints import answered, asked
from goodstein.domains.base import Domain
from goodstein.errors import SamplingError, describe_rows
from goodstein.models.base import AnyModel
from goodstein.types import Array, BoolArray

Function: TypeAlias = Callable[..., Any]


class FunctionModel(AnyModel):
    """A model that is made of functions: a score, a log density, a sampler, some of them left out."""

    _functions: dict[str, Function]
    _domain: Domain | None
    _name: str | None

    @property
    def domain(self) -> Domain | None:
        return self._domain

    @property
    def name(self) -> str:
        """What messages and results call the model."""
        if self._name is not None:
            return self._name
        key = "score" if self.has_score else "logpdf"
        return f"{key}={title(self._functions[key])}"

    @property
    def has_score(self) -> bool:
        """Whether the score was given, rather than obtained by differentiating the log density."""
        return "score" in self._functions

    @property
    def has_logpdf(self) -> bool:
        """Whether :meth:`logpdf` is available."""
        return "logpdf" in self._functions

    @property
    def has_sample(self) -> bool:
        return "sample" in self._functions


def draws_of(function: Function, what: str, n: int, rng: np.random.Generator) -> Array:
    """What a user's sampler returns, as numbers of any shape."""
    drawn = asked(call_sampler, what, function, n, rng, error=SamplingError)
    return answered(drawn, what, error=SamplingError)


def points_of(function: Function, what: str, n: int, d: int | None, rng: np.random.Generator) -> Array:
    """What a user's sampler of points returns, (n, d); None takes as many columns as it has."""
    drawn = draws_of(function, what, n, rng)
    if drawn.shape == (n,) and d in (None, 1):
        drawn = drawn[:, None]
    columns = d if d is not None else drawn.shape[-1] if drawn.ndim else 0
    if drawn.shape != (n, columns):
        reason = f"{what} returned shape {drawn.shape}; expected ({n}, {'d' if d is None else d})."
        raise SamplingError(reason, remedy="`sample(n, rng)` must return one row for each point.")
    finite = np.isfinite(drawn)
    if not finite.all():
        broken: BoolArray = np.asarray(~finite.all(axis=1))
        reason = f"{what} returned values that are not finite in {describe_rows(broken)}."
        raise SamplingError(reason, rows=broken, remedy="Check its parameters.")
    return drawn


def call_sampler(function: Function, n: int, rng: np.random.Generator) -> Any:
    """Call sample(n, rng) or sample(n, rng=rng), whichever the function takes."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # compiled functions need not have a signature
        return function(n, rng)
    keyword = next((key for key in ("rng", "random_state") if key in parameters), None)
    if keyword is not None and parameters[keyword].kind is not inspect.Parameter.POSITIONAL_ONLY:
        return function(n, **{keyword: rng})
    kinds = [parameter.kind for parameter in parameters.values()]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if sum(kind in positional for kind in kinds) >= 2 or inspect.Parameter.VAR_POSITIONAL in kinds:
        return function(n, rng)
    reason = "takes no random number generator, so its draws could not be repeated."
    remedy = "Give it the signature sample(n, rng)."
    raise SamplingError(f"The sampler {title(function)} {reason}", remedy=remedy)


def title(function: Function) -> str:
    """Name a function as its author would."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    return str(name if name is not None else type(function).__name__).rpartition("<locals>.")[2]
