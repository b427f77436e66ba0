"""Where data come from, and how likely they are: what a model or an alternative stands for."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein import constraints
from goodstein.adapters.durations import as_survival_model
from goodstein.adapters.model import as_model
from goodstein.constraints import answered, asked
from goodstein.domains.base import Domain
from goodstein.errors import InputError, warn
from goodstein.foreign import describe, roots
from goodstein.models.functions import call_sampler, title
from goodstein.models.model import Model
from goodstein.models.repeatable import DRAWS_DIFFER, repeatable
from goodstein.pipeline.kinds import restricted
from goodstein.survival.data import Censored
from goodstein.survival.model import SurvivalModel
from goodstein.types import Array

Draw = Callable[[int, np.random.Generator], Any]
"""n observations."""
METHODS = ("sample", "rvs", "score", "logpdf", "log_prob", "log_density_gradient", "grad_log_prob", "hazard")
"""Whoever has one of these is a model; other callables are functions."""


class Law(ABC):
    """Where data come from: called with n and a generator it draws n observations."""

    @property
    def has_density(self) -> bool:
        """Whether :meth:`log_density` is available."""
        return False

    @property
    def width(self) -> int:
        """Numbers in one observation."""
        return 1

    @abstractmethod
    def __call__(self, n: int, rng: np.random.Generator) -> Any:
        """Draw n observations."""

    def log_density(self, data: Any) -> Array:
        """Of each observation, up to a constant, (n,)."""
        raise NotImplementedError

    def check(self, n: int, of: str) -> None:
        """Raise where its sampler ignores the generator, and warn where the same one gives other draws."""

        def seen(count: int, rng: np.random.Generator) -> Any:
            """Numbers of each observation, without what may be fixed; data of other kinds are one."""
            drawn = self(max(n, count), rng)
            numbers = getattr(drawn, "durations", getattr(drawn, "y", drawn))
            return numbers if isinstance(numbers, np.ndarray | list) else [numbers]

        if not repeatable(seen, f"the sampler of {of}"):
            warn(f"The sampler of {of} {DRAWS_DIFFER}")


@dataclass(frozen=True)
class PointLaw(Law):
    """Independent points from a model."""

    model: Model

    @property
    def has_density(self) -> bool:
        return self.model.has_logpdf

    @property
    def width(self) -> int:
        if self.model.domain is None:  # a model that does not say how many columns it has
            return len(self.model.sample(1, np.random.default_rng(0))[0])
        return self.model.domain.dim

    def __call__(self, n: int, rng: np.random.Generator) -> Array:
        return self.model.sample(n, rng)

    def log_density(self, data: Array) -> Array:
        return self.model.logpdf(data)


@dataclass(frozen=True)
class DurationLaw(Law):
    """Independent durations X from a model, seen as min(X, C) with independent censoring times C."""

    model: SurvivalModel
    censoring: Any = None
    """A law of times, or None for no censoring."""

    has_density = True
    width = 2

    def __call__(self, n: int, rng: np.random.Generator) -> Censored:
        whole = self.model.sample(n, rng)
        if self.censoring is None:
            return whole
        x = whole.durations
        c = answered(self.censoring(n, rng), "`censoring`")
        if c.shape not in ((n,), (n, 1)) or np.isnan(c).any() or (c < 0).any():
            raise InputError(
                f"`censoring` must give {n} times of at least zero, (n,); got shape {c.shape}"
                f"{' with negative or missing values' if c.shape in ((n,), (n, 1)) else ''}."
            )
        c = c.reshape(n)
        return Censored(np.minimum(x, c), x <= c)

    def log_density(self, data: Censored) -> Array:
        """δ log λ(t) − Λ(t) of each duration, (n,): what depends on the censoring cancels in ratios."""
        value = -self.model.cumulative_hazard(data.durations)
        seen = data.event_observed
        with np.errstate(divide="ignore"):
            value[seen] += np.log(self.model.hazard(data.durations[seen]))
        return value


@dataclass(frozen=True)
class SamplerLaw(Law):
    """Data from a function of n and a generator, or from a model of something else than points."""

    function: Callable[..., Any]

    def __call__(self, n: int, rng: np.random.Generator) -> Any:
        drawn = asked(call_sampler, f"The sampler {title(self.function)}", self.function, n, rng)
        if isinstance(drawn, np.ndarray | list | Censored) and len(drawn) != n:
            raise InputError(
                f"the sampler was asked for {n} observations and returned {len(drawn)}.",
                remedy="`sample(n, rng)` must return one row for each of n observations.",
            )
        return drawn


class NoSamplerError(InputError):
    """No data can be drawn from this."""


def is_function(thing: Any) -> bool:
    """Whether something is a function rather than a model."""
    return constraints.is_function(thing) and not any(hasattr(thing, m) for m in METHODS)


def law_of(thing: Any, role: str, *, domain: Domain | None = None, censoring: Any = None) -> Law:
    """The law that a model with a sampler, or a function (n, rng) -> data, stands for.

    A model of points is truncated to the `domain`; `censoring` is a model of times or a function (n, rng) ->
    times, for models of durations, and `role` the name of the argument in messages.
    """
    if is_function(thing):
        for argument, value in {"domain": domain, "censoring": censoring}.items():
            if value is not None:
                raise InputError(
                    f"`{argument}` has no place where `{role}` is a function (n, rng) -> data: let it return "
                    "the data as they are to be seen."
                )
        return SamplerLaw(thing)
    durations = censoring is not None or isinstance(thing, SurvivalModel) or "lifelines" in roots(thing)
    if durations and domain is not None:
        raise InputError(f"`domain` has no place where `{role}` is a model of durations. Leave it out.")
    if callable(getattr(thing, "papangelou", None)):
        return SamplerLaw(thing.sample)
    try:
        if durations:
            survival = as_survival_model(thing)
            if not isinstance(survival, SurvivalModel):
                reason = f"{survival.name} is a model given covariates, of which nothing is known here."
                raise InputError(reason, argument=role, remedy="Pass a function (n, rng) -> Censored data.")
            return DurationLaw(survival, _censoring(censoring))
        model = as_model(thing)
    except InputError as error:
        raise (error.told(role) if error.argument == "model" else error) from None
    if domain is not None:
        if model.domain is not None and model.domain.dim != domain.dim:
            raise InputError(
                f"`domain` {domain!r} is of dimension {domain.dim}, but `{role}` {model.name} of dimension "
                f"{model.domain.dim}."
            )
        model = restricted(model, domain)
    if not model.has_sample:
        raise NoSamplerError(
            f"{model.name} has no sampler, so no data can be drawn from it.",
            argument=role,
            remedy=f"Pass Model(..., sample=function){', or `sample_null`' if role == 'model' else ''}.",
        )
    return PointLaw(model)


def _censoring(censoring: Any) -> Any:
    if censoring is None:
        return None
    if is_function(censoring):
        return SamplerLaw(censoring)
    law = law_of(censoring, "censoring")
    return law if isinstance(law, PointLaw) else _Times(law)


@dataclass(frozen=True)
class _Times:
    """Only the times of a law of durations."""

    law: Any

    def __call__(self, n: int, rng: np.random.Generator) -> Array:
        times: Array = self.law(n, rng).durations
        return times


def name_of(thing: Any) -> str:
    """What messages call a model or a function; never an address, because names seed the trials."""
    if isinstance(thing, Model | SurvivalModel):
        return thing.name
    if isinstance(thing, functools.partial):
        return name_of(thing.func)
    if is_function(thing):
        return title(thing)
    text = describe(thing)
    return type(thing).__name__ if " at 0x" in text else text
