"""Where data come from, and how likely they are: what a null model or an alternative stands for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.adapters.describe import describe, roots
from goodstein.adapters.model import as_model
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.models.model import Model, call_sampler, title
from goodstein.pipeline.compose import restricted
from goodstein.survival.data import Censored
from goodstein.survival.model import SurvivalModel, as_survival_model
from goodstein.types import Array

METHODS = ("sample", "rvs", "score", "logpdf", "log_prob", "log_density_gradient", "grad_log_prob", "hazard")
"""Whoever has one of these is a model; other callables are functions."""


@dataclass(frozen=True)
class Points:
    """Independent points from a model."""

    model: Model

    @property
    def has_density(self) -> bool:
        """Whether :meth:`log_density` is available."""
        return self.model.has_logpdf

    @property
    def width(self) -> int:
        """Numbers in one observation."""
        if self.model.domain is None:  # a model that does not say how many columns it has
            return len(self.model.sample(1, np.random.default_rng(0))[0])
        return self.model.domain.dim

    def __call__(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n points, (n, d)."""
        return self.model.sample(n, rng)

    def log_density(self, data: Array) -> Array:
        """Of each point, up to a constant, (n,)."""
        return self.model.logpdf(data)


@dataclass(frozen=True)
class Durations:
    """Independent durations X from a model, seen as min(X, C) with independent censoring times C."""

    model: SurvivalModel
    censoring: Any = None
    """A law of times, or None for no censoring."""

    has_density = True
    width = 2

    def __call__(self, n: int, rng: np.random.Generator) -> Censored:
        """Draw n durations."""
        whole = self.model.sample(n, rng)
        if self.censoring is None:
            return whole
        x = whole.durations
        c = np.asarray(self.censoring(n, rng), np.float64)
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
class Sampler:
    """Data from a function of n and a generator, or from a model of something else than points."""

    function: Callable[..., Any]

    has_density = False
    width = 1

    def __call__(self, n: int, rng: np.random.Generator) -> Any:
        """Draw n observations."""
        return call_sampler(self.function, n, rng)

    def log_density(self, data: Any) -> Array:
        """Not known."""
        raise NotImplementedError


Law = Points | Durations | Sampler


def is_function(thing: Any) -> bool:
    """Whether something is a function rather than a model."""
    return callable(thing) and not isinstance(thing, type) and not any(hasattr(thing, m) for m in METHODS)


def law_of(thing: Any, role: str, *, domain: Domain | None = None, censoring: Any = None) -> Law:
    """The law that a model or a sampler stands for.

    Parameters
    ----------
    thing
        Anything that tests take as a model, with a sampler; or a function (n, rng) -> data.
    role
        The name of the argument, for messages.
    domain
        To which a model of points is truncated.
    censoring
        A model of censoring times or a function (n, rng) -> times, for models of durations.
    """
    if is_function(thing):
        for argument, value in {"domain": domain, "censoring": censoring}.items():
            if value is not None:
                raise InputError(
                    f"`{argument}` has no place where `{role}` is a function (n, rng) -> data: let it return "
                    "the data as they are to be seen."
                )
        return Sampler(thing)
    durations = censoring is not None or isinstance(thing, SurvivalModel) or "lifelines" in roots(thing)
    if durations and domain is not None:
        raise InputError(f"`domain` has no place where `{role}` is a model of durations. Leave it out.")
    if callable(getattr(thing, "papangelou", None)):
        return Sampler(thing.sample)
    try:
        if durations:
            return Durations(as_survival_model(thing), _censoring(censoring))
        model = as_model(thing)
    except InputError as error:
        raise InputError(str(error).replace("`model`", f"`{role}`")) from None
    if domain is not None:
        if model.domain is not None and model.domain.dim != domain.dim:
            raise InputError(
                f"`domain` {domain!r} is of dimension {domain.dim}, but `{role}` {model.name} of dimension "
                f"{model.domain.dim}."
            )
        model = restricted(model, domain)
    if not model.has_sample:
        raise InputError(
            f"`{role}`: {model.name} has no sampler, so no data can be drawn from it. Pass "
            f"Model(..., sample=function){', or `sample_null`' if role == 'null' else ''}."
        )
    return Points(model)


def _censoring(censoring: Any) -> Any:
    if censoring is None:
        return None
    if is_function(censoring):
        return Sampler(censoring)
    law = law_of(censoring, "censoring")
    return law if isinstance(law, Points) else _Times(law)


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
