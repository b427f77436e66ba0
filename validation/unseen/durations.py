"""Unseen cells of censored durations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import goodstein as gs
from goodstein.adapters.durations import as_survival_model
from goodstein.families import Exponential, Gompertz, LogLogistic, PiecewiseExponential, Weibull
from unseen.laws import RNG, Array, Case, Function

GRID = np.linspace(0.0, 60.0, 60_001)
"""Cumulative hazards of the null, on whose scale departures are defined."""


def reshaped(null: Any, ratio: Function, share: float = 1.0) -> gs.SurvivalModel:
    """The hazard λ₀(t)·g(Λ₀(t)); beside g, of those of a share only, the others have the hazard λ₀.

    Λ(t) is G(Λ₀(t)), G the integral of g. With a share w it is −log(w·exp(−G) + (1 − w)·exp(−Λ₀)).
    """
    base = as_survival_model(null)
    rates = ratio(GRID)
    total = np.concatenate([[0.0], np.cumsum((rates[1:] + rates[:-1]) / 2 * np.diff(GRID))])
    alive = share * np.exp(-total) + (1 - share) * np.exp(-GRID)
    dying = share * rates * np.exp(-total) + (1 - share) * np.exp(-GRID)
    cumulative = -np.log(np.maximum(alive, 1e-300))

    def hazard(t: Array) -> Array:
        return base.hazard(t) * np.interp(base.cumulative_hazard(t), GRID, dying / np.maximum(alive, 1e-300))

    def sample(n: int, rng: RNG) -> Array:
        return base.quantile(np.interp(rng.exponential(size=n), cumulative, GRID))

    return gs.SurvivalModel(
        hazard=hazard,
        cumulative_hazard=lambda t: np.interp(base.cumulative_hazard(t), GRID, cumulative),
        sample=sample,
        name="reshaped",
    )


def until(low: float, high: float, n: int, rng: RNG) -> Array:
    """Censoring times of people who enter one after the other and are watched until one day."""
    return rng.uniform(low, high, n)


def cases() -> Iterator[Any]:
    weibull = Weibull(1.0, 1.5)
    yield Case(
        "Weibull, shape 1.5",
        weibull,
        120,
        {
            "early failures": (lambda a: reshaped(weibull, lambda u: 1.0 + 19.0 * (u < 1.0), a), 0.13),
            "more late": (lambda a: reshaped(weibull, lambda u: 1.0 + a * (u > 0.8)), 0.85),
        },
        sampler=False,
        how={"censoring": Exponential(2.5)},
    )
    loglogistic = LogLogistic(1.0, 2.0)
    yield Case(
        "log-logistic, shape 2",
        loglogistic,
        150,
        {
            "crossing hazards": (
                lambda a: reshaped(loglogistic, lambda u: np.exp(a * np.tanh(2 * (u - 0.7)))),
                0.47,
            ),
            "some are cured": (lambda a: reshaped(loglogistic, lambda u: np.full(len(u), 1e-3), a), 0.12),
        },
        sampler=False,
        how={"censoring": partial(until, 1.0, 4.0)},
    )
    pieces = PiecewiseExponential([0.5, 1.5], [1.0, 0.4, 0.8])
    yield Case(
        "piecewise constant hazard",
        pieces,
        120,
        {
            "seasons": (lambda a: reshaped(pieces, lambda u: 1.0 + a * np.cos(2 * np.pi * u / 0.3)), 0.47),
            "by a factor": (lambda a: reshaped(pieces, lambda u: np.full(len(u), 1.0 + a)), 0.4),
        },
        sampler=False,
        how={"censoring": partial(until, 0.8, 4.0)},
    )
    gompertz = Gompertz(0.3, 0.8)
    yield Case(
        "Gompertz",
        gompertz,
        150,
        {
            "frailty": (lambda a: reshaped(gompertz, lambda u: 1.0 / (1.0 + a * u)), 0.31),
            "a bump": (lambda a: reshaped(gompertz, lambda u: 1.0 + a * ((u > 0.5) & (u < 0.7))), 1.2),
        },
        sampler=False,
        how={"censoring": Exponential(5.0)},
    )
