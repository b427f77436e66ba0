"""Durations with several hazards and rates of censoring, and the tests that look at them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np
import variants
from scipy.integrate import quad
from scipy.optimize import brentq
from setting import Setting

import goodstein as gs
from goodstein.adapters.durations import as_survival_model
from goodstein.auditing.report import Check
from goodstein.families import Exponential, Gompertz, Weibull

Array = np.ndarray
N, LEVEL = 100, 0.01
RATES = (0.0, 0.3, 0.5, 0.7)


# Laws.


@dataclass(frozen=True)
class Periodic:
    """The hazard 1 − cos(θπt)."""

    theta: float

    def hazard(self, t: Array) -> Array:
        return 1 - np.cos(self.theta * np.pi * t)

    def cumulative_hazard(self, t: Array) -> Array:
        return t - np.sin(self.theta * np.pi * t) / (self.theta * np.pi)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        target = rng.standard_exponential(n)
        width = 1 / (self.theta * np.pi)
        low, high = np.maximum(target - width, 0), target + width
        for _ in range(45):
            middle = (low + high) / 2
            below = self.cumulative_hazard(middle) < target
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2


@dataclass(frozen=True)
class Falling:
    """The hazard c/(1 + t): Lomax' distribution."""

    factor: float

    def hazard(self, t: Array) -> Array:
        return self.factor / (1 + t)

    def cumulative_hazard(self, t: Array) -> Array:
        return self.factor * np.log1p(t)

    def log_hazard_derivative(self, t: Array) -> Array:
        return -1 / (1 + t)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        return np.expm1(rng.standard_exponential(n) / self.factor)


@dataclass(frozen=True)
class Uniform:
    """The uniform distribution on [0, 1], hazard 1/(1 − t)."""

    def hazard(self, t: Array) -> Array:
        return 1 / (1 - t)

    def cumulative_hazard(self, t: Array) -> Array:
        return -np.log1p(-t)

    def log_hazard_derivative(self, t: Array) -> Array:
        return 1 / (1 - t)


CONSTANT, RISING, FALLING = "constant hazard", "rising hazard", "falling hazard"
NULLS = {CONSTANT: Exponential(1.0), RISING: Gompertz(0.3, 1.0), FALLING: Falling(3.0)}
ALTERNATIVES = {
    CONSTANT: {
        "hazard × 1.5": Exponential(1 / 1.5),
        "Weibull 1.5": Weibull(1.0, 1.5),
        "Weibull 0.7": Weibull(1.0, 0.7),
        "periodic, θ = 2": Periodic(2.0),
        "periodic, θ = 4": Periodic(4.0),
        "periodic, θ = 8": Periodic(8.0),
    },
    RISING: {
        "hazard × 1.5": Gompertz(0.45, 1.0),
        "slower growth": Gompertz(0.3, 0.5),
        "Weibull 1.2": Weibull(1.55, 1.2),
    },
    FALLING: {
        "hazard × 1.5": Falling(4.5),
        "constant hazard": Exponential(0.45),
        "Weibull 1.2": Weibull(0.45, 1.2),
    },
}
QUICK = (
    (CONSTANT, "Weibull 1.5", 0.3),
    (CONSTANT, "periodic, θ = 4", 0.3),
    (RISING, "slower growth", 0.3),
    (FALLING, "Weibull 1.2", 0.7),
)


@lru_cache
def censoring(name: str, share: float) -> Exponential | None:
    """Exponential censoring times that come before so many durations of the null."""
    if share == 0:
        return None
    null = as_survival_model(NULLS[name])

    def excess(log_rate: float) -> float:
        speed = math.exp(log_rate)
        density = lambda t: speed * math.exp(-speed * t - null.cumulative_hazard([t])[0])  # noqa: E731
        return quad(density, 0, np.inf, limit=200)[0] - share

    return Exponential(round(math.exp(-brentq(excess, -6.0, 6.0)), 4))


def cell_name(name: str, alternative: str, share: float) -> str:
    return f"{name}, {alternative}, {share:.0%} censored"


def cells(setting: Setting, tests: Mapping[str, Collection[str]]) -> list[gs.Cell]:
    """All cells, with the tests that apply to each null."""
    found = []
    for name, null in NULLS.items():
        for share, (alternative, law) in product(RATES, ALTERNATIVES[name].items()):
            if setting.quick and (name, alternative, share) not in QUICK:
                continue
            options = {"censoring": censoring(name, share), "tests": tests[name], "effect": share}
            pair = as_survival_model(null), as_survival_model(law)
            found.append(gs.Cell(*pair, N, name=cell_name(name, alternative, share), **options))
    return found


# Tests.


@dataclass(frozen=True)
class Unaudited:
    """An operator without its checks, which here would be made anew in every trial."""

    operator: Any

    takes = gs.Censored

    def features(self, model: Any, domain: Any, data: Any) -> Any:
        return self.operator.features(model, domain, data)

    def conditions(self, model: Any, domain: Any, data: Any, rng: Any) -> list[Check]:
        return []


def stein(operator: Any, share: float = 1.0) -> variants.Test:
    """A test with a Gaussian kernel at a share of the median distance on the operator's own scale."""
    kernel = gs.Gaussian(gs.Median(share))
    return partial(gs.ksd_test, operator=Unaudited(operator), kernel=kernel, audit=False, workers=1)


CDF, HAZARD, PLAIN, SURVIVAL = "martingale, cdf", "martingale, cumulative hazard", "martingale", "survival"
FINE_CDF, FINE_HAZARD = f"{CDF}, ¼ median", f"{HAZARD}, ¼ median"
OPERATORS = {
    PLAIN: gs.Martingale(None),
    SURVIVAL: gs.Survival(),
    CDF: gs.Martingale("cdf"),
    HAZARD: gs.Martingale("hazard"),
}
ALL = {name: stein(operator) for name, operator in OPERATORS.items()}
# For a constant hazard of one the martingale operator on the scale of the cumulative hazard, the one without
# transform and the survival operator are the same.
SCALES = {
    CDF: ALL[CDF],
    HAZARD: ALL[HAZARD],
    FINE_CDF: stein(OPERATORS[CDF], 0.25),
    FINE_HAZARD: stein(OPERATORS[HAZARD], 0.25),
}
