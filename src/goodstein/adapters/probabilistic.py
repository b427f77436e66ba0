"""Distributions of PyTorch and numpyro."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from goodstein.domains import Box, Euclidean, Naturals, Simplex
from goodstein.domains.base import Domain
from goodstein.foreign import describe, roots, unusable
from goodstein.models.model import Model
from goodstein.numerics.frameworks import Jax, Torch
from goodstein.types import Array


def from_log_prob(distribution: Any) -> Model:
    """Turn an object with ``log_prob`` into a model; a JAX or PyTorch one is differentiated automatically."""
    name = describe(distribution)
    event = getattr(distribution, "event_shape", None)
    if event is None:
        # Normalising flows and the like: nothing is known but the log density.
        return Model(logpdf=distribution.log_prob, name=name)
    event, batch = tuple(event), tuple(getattr(distribution, "batch_shape", ()))
    if len(event) > 1:
        reason = f"{name} is a distribution of arrays of shape {event}, not of vectors."
        raise unusable(reason, "Flatten it: Model(logpdf=...).")
    if math.prod(batch) != 1:
        raise unusable(
            f"{name} is {math.prod(batch)} distributions (batch_shape {batch}), not a joint one. "
            "Make it one: torch.distributions.Independent(distribution, 1), or distribution.to_event(1) in "
            "numpyro and Pyro."
        )
    support = _support(distribution)
    d = event[0] if event else 1
    if getattr(support, "is_discrete", False):
        return _of_counts(distribution, support, d)
    domain = _domain(support, d)
    sampler = _sampler(distribution, isinstance(domain, Simplex))
    return Model(logpdf=distribution.log_prob, sample=sampler, domain=domain, name=name)


def _of_counts(distribution: Any, support: Any, d: int) -> Model:
    """A distribution of whole numbers, none of them negative, in each coordinate for itself."""
    name, framework = describe(distribution), Torch() if _is_torch(distribution) else Jax()
    support = getattr(support, "base_constraint", support)
    binary = "boolean" in type(support).__name__.lower()
    lower = 0 if binary else getattr(support, "lower_bound", None)
    if lower is None or (low := _numbers(lower, 0.0)).min() < 0:
        raise unusable(
            f"{name} is discrete, and its states are no counts that vary one by one.",
            "Say on which states: Model(logpdf=..., domain=Lattice(levels, d)) or StateSpace(d, …); "
            "for numbers with a fixed total families.Multinomial(n, p).",
        )
    high = np.ones(()) if binary else _numbers(getattr(support, "upper_bound", None), np.inf)

    def logpmf(x: Array) -> Array:
        inside = ((x >= low) & (x <= high)).all(axis=1)
        # Off its states it raises; the nearest of them stand in, so that all rows are evaluated at once.
        nearest = np.clip(x, low, high)
        with framework.context():
            rows = framework.array(nearest if distribution.event_shape else nearest[:, 0])
            values = framework.numpy(distribution.log_prob(rows)).reshape(len(x))
        return np.where(inside, values, -np.inf)

    return Model(logpdf=logpmf, sample=_sampler(distribution, False), domain=Naturals(d), name=name)


def _is_torch(distribution: Any) -> bool:
    modules = {cls.__module__ for cls in type(distribution).__mro__}
    return any(module.startswith("torch.distributions") for module in modules)


def _torch_draws(distribution: Any, simplex: bool, n: int, rng: np.random.Generator) -> Array:
    """n points, (n, d), of a ``torch.distributions`` object, by the generator that is passed."""
    import torch

    # The distributions draw from torch's global generator only: seed a copy of it.
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(int(rng.integers(2**63)))
        drawn = distribution.sample((n,))
    return _rows(drawn.detach().cpu().numpy(), n, simplex)


def _numpyro_draws(distribution: Any, simplex: bool, n: int, rng: np.random.Generator) -> Array:
    """n points, (n, d), of a numpyro distribution."""
    import jax

    with Jax().context():
        drawn = distribution.sample(jax.random.PRNGKey(int(rng.integers(2**63))), (n,))
        return _rows(drawn, n, simplex)


def _rows(drawn: Any, n: int, simplex: bool) -> Array:
    rows = np.asarray(drawn, dtype=np.float64).reshape(n, -1)
    # Compositions drawn in single precision sum to one only up to 1e-7.
    return rows / rows.sum(axis=1, keepdims=True) if simplex else rows


def _sampler(distribution: Any, simplex: bool) -> Callable[[int, np.random.Generator], Array] | None:
    if _is_torch(distribution):
        return partial(_torch_draws, distribution, simplex)
    return partial(_numpyro_draws, distribution, simplex) if "numpyro" in roots(distribution) else None


def _support(distribution: Any) -> Any:
    try:
        return distribution.support
    except (AttributeError, NotImplementedError):
        return None


def _domain(support: Any, d: int) -> Domain | None:
    """Translate the constraint that a distribution declares as its support; None if it is another."""
    support = getattr(support, "base_constraint", support)
    kind = type(support).__name__.lstrip("_").lower()
    if kind in ("real", "realvector"):
        return Euclidean(d)
    if kind == "simplex":
        return Simplex(d)
    ends = [getattr(support, end, None) for end in ("lower_bound", "upper_bound")]
    if all(end is None for end in ends):
        return None
    numbers = [_numbers(end, default) for end, default in zip(ends, (-np.inf, np.inf), strict=True)]
    lower, upper = (np.broadcast_to(np.ravel(end), (d,)) for end in numbers)
    return Box(lower, upper)


def _numbers(end: Any, default: float) -> Array:
    if hasattr(end, "detach"):
        end = end.detach().cpu()
    return np.asarray(default if end is None else end, dtype=np.float64)
