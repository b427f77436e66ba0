"""Power on censored durations: ageing, periodic hazards, and hazards known up to a factor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from scenario import Alternative, Draw, PValue, Scenario
from scipy.integrate import quad
from scipy.optimize import brentq

import goodstein as gs
from goodstein.families import Exponential, Gompertz, Weibull

Array = np.ndarray
Statistic = Callable[[Array, Array], Array]
"""Of durations and events, (m, n) each, one number for each row."""

N = 100
CENSORING_MEAN = 7 / 3
"""Exponential censoring times with this mean censor 30 % of standard exponential durations."""
EXPONENTIAL = Exponential(1.0)
GOMPERTZ = Gompertz(0.3, 1.0)
CDF, HAZARD, PLAIN = gs.Martingale("cdf"), gs.Martingale("hazard"), gs.Martingale(None)
QUARTER = gs.Gaussian(gs.Median(0.25))

CENSORING = "Censoring times are exponential with mean 7/3, which no test of ours knows. "
CALIBRATION = (
    "The classical tests are calibrated by Monte Carlo, with the true law of the censoring, so their level "
    "is exact; a user would have to estimate that law. "
)
SAME = (
    "For a constant hazard of one the martingale operator on the scale of the cumulative hazard, the one "
    "without transform and the survival operator are the same test, so only the first is shown. "
)


# Laws of the data.


@dataclass(frozen=True)
class Periodic:
    """The hazard 1 − a·cos(θπt)."""

    theta: float
    amplitude: float = 1.0

    def hazard(self, t: Array) -> Array:
        return 1 - self.amplitude * np.cos(self.theta * np.pi * t)

    def cumulative_hazard(self, t: Array) -> Array:
        return t - self.amplitude * np.sin(self.theta * np.pi * t) / (self.theta * np.pi)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        target = rng.standard_exponential((n, 1))
        width = 1 / (self.theta * np.pi)
        low, high = np.maximum(target - width, 0), target + width
        for _ in range(60):
            middle = (low + high) / 2
            below = self.cumulative_hazard(middle) < target
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2


@lru_cache
def balanced_weibull(shape: float) -> Weibull:
    """The Weibull law of this shape to which Exponential(1) is nearest, with this censoring."""

    def excess(log_scale: float) -> float:
        # Events less time at risk; where both have the same mean the fitted exponential has scale one.
        law = Weibull(np.exp(log_scale), shape)
        seen = lambda t: float(law.survival(t)) * np.exp(-t / CENSORING_MEAN)  # noqa: E731
        end = 40.0
        events = quad(lambda t: seen(t) * float(law.hazard(t)), 0, end, limit=400)[0]
        return events - quad(seen, 0, end, limit=400)[0]

    return Weibull(float(np.exp(brentq(excess, -1.5, 1.5))), shape)


def draw(law: Any) -> Draw:
    """Durations of the law with the censoring of all scenarios here."""

    def sampler(n: int, rng: np.random.Generator) -> gs.Censored:
        x = law.sample(n, rng)[:, 0]
        c = rng.exponential(CENSORING_MEAN, n)
        return gs.Censored(np.minimum(x, c), x <= c)

    return sampler


def log_ratio(law: Any, null: Any) -> Callable[[gs.Censored], float]:
    """Σ δ(log λ₁ − log λ₀) − (Λ₁ − Λ₀); the censoring cancels."""

    def ratio(data: gs.Censored) -> float:
        return log_likelihood(law, data) - log_likelihood(null, data)

    return ratio


def log_likelihood(law: Any, data: gs.Censored) -> float:
    t, event = data.durations, data.event_observed
    with np.errstate(divide="ignore"):
        return float(np.log(law.hazard(t[event])).sum() - law.cumulative_hazard(t).sum())


# Classical tests. Durations (m, n) are on the scale of the null's cumulative hazard, on which the null is
# the standard exponential law.


def log_rank(t: Array, event: Array) -> Array:
    """One-sample log-rank: observed against expected events, |O − E|/√E."""
    expected = t.sum(axis=1)
    return np.abs(event.sum(axis=1) - expected) / np.sqrt(expected)


def kolmogorov_smirnov(t: Array, event: Array) -> Array:
    """Kolmogorov–Smirnov for censored data: sup |½(Ŝ + S₀) ∫ √Ĉ(s−) d(Λ̂ − Λ₀)| (Fleming et al. 1980)."""
    order = np.argsort(t, axis=1)
    t, event = np.take_along_axis(t, order, axis=1), np.take_along_axis(event, order, axis=1)
    at_risk = t.shape[1] - np.arange(t.shape[1])
    first = np.ones((len(t), 1))
    # Kaplan–Meier curves of durations and of censoring times just before and after each duration.
    after = np.cumprod(1 - event / at_risk, axis=1)
    uncensored = np.concatenate([first, np.cumprod(1 - ~event / at_risk, axis=1)[:, :-1]], axis=1)
    weight = np.sqrt(uncensored)
    expected = np.cumsum(weight * np.diff(t, axis=1, prepend=0.0), axis=1)
    seen = np.cumsum(weight * event / at_risk, axis=1)
    before = np.concatenate([0 * first, seen[:, :-1]], axis=1)
    level = (np.concatenate([first, after[:, :-1]], axis=1) + np.exp(-t)) / 2
    up = np.abs((after + np.exp(-t)) / 2 * (seen - expected))
    return np.maximum(up, np.abs(level * (before - expected))).max(axis=1)


def pearson(t: Array, event: Array, cells: int = 6) -> Array:
    """Σ (O_j − E_j)²/E_j over cells of equal probability, E_j = Σ_i ∫_cell Y_i λ₀ (Hjort 1990).

    Of 5, 6, 8 and 10 cells these do best against the alternatives here.
    """
    edges = [*(-np.log1p(-np.arange(cells) / cells)), np.inf]
    total = np.zeros(len(t))
    for low, high in pairwise(edges):
        observed = (event & (t > low) & (t <= high)).sum(axis=1)
        expected = (np.minimum(t, high) - np.minimum(t, low)).sum(axis=1)
        total += (observed - expected) ** 2 / np.maximum(expected, 1e-300)
    return total


def likelihood_ratio(t: Array, event: Array) -> Array:
    """Weibull against exponential, both fitted: twice the log likelihood ratio."""
    found = np.empty(len(t))
    for i, (durations, events) in enumerate(zip(t, event, strict=True)):
        data = gs.Censored(durations, events)
        found[i] = 2 * (log_likelihood(Weibull.fit(data), data) - log_likelihood(Exponential.fit(data), data))
    return found


def fitted_kolmogorov_smirnov(t: Array, event: Array) -> Array:
    """The same, of the exponential law of the fitted scale."""
    return kolmogorov_smirnov(t / (t.sum(axis=1) / event.sum(axis=1))[:, None], event)


@lru_cache
def null_values(statistic: Statistic, null: Any, n: int, draws: int) -> Array:
    """The statistic under the null, sorted."""
    rng = np.random.default_rng(20)
    x = null.sample(draws * n, rng).reshape(draws, n)
    c = rng.exponential(CENSORING_MEAN, (draws, n))
    return np.sort(statistic(null.cumulative_hazard(np.minimum(x, c)), x <= c))


def classical(statistic: Statistic, null: Any = EXPONENTIAL, draws: int = 9999) -> PValue:
    """Reject large values, by Monte Carlo."""

    def pvalue(data: gs.Censored, rng: np.random.Generator) -> float:
        v = null.cumulative_hazard(data.durations)
        observed = float(statistic(v[None], data.event_observed[None])[0])
        values = null_values(statistic, null, len(data), draws)
        return float(1 + draws - np.searchsorted(values, observed * (1 - 1e-12))) / (draws + 1)

    return pvalue


# Ours.


def stein(operator: Any, kernel: Any = None, null: Any = EXPONENTIAL) -> PValue:
    """A test of one law."""

    def pvalue(data: gs.Censored, rng: np.random.Generator) -> float:
        return gs.ksd_test(data, null, operator=operator, kernel=kernel, workers=1, rng=rng).pvalue

    return pvalue


def fitted_stein(data: gs.Censored, rng: np.random.Generator) -> float:
    """A test of the exponential family, its scale fitted."""
    null = gs.ParametricBootstrap(Exponential.fit, 99)
    return gs.ksd_test(data, Exponential.fit(data), operator=CDF, null=null, workers=1, rng=rng).pvalue


def simple_tests(null: Any) -> dict[str, PValue]:
    """Tests of one law; those that would repeat another one are left out."""
    tests: dict[str, PValue] = {
        "Martingale, cdf (default)": stein(CDF, null=null),
        "Martingale, cdf, Gaussian": stein(CDF, gs.Gaussian(), null=null),
        "Martingale, cdf, Gaussian, ¼ median": stein(CDF, QUARTER, null=null),
        "Martingale, hazard": stein(HAZARD, null=null),
    }
    if null != EXPONENTIAL:
        tests["Martingale, no transform"] = stein(PLAIN, null=null)
        tests["Survival"] = stein(gs.Survival(), null=null)
    return tests | {
        "one-sample log-rank": classical(log_rank, null),
        "Kolmogorov–Smirnov": classical(kolmogorov_smirnov, null),
        "Pearson, 6 cells": classical(pearson, null),
    }


UP_TO_A_FACTOR: dict[str, PValue] = {
    "ProportionalHazards": stein(gs.ProportionalHazards()),
    "ProportionalHazards, 2 × median": stein(gs.ProportionalHazards(), gs.IMQ(gs.Median(2.0))),
    "Martingale, cdf, fitted scale": fitted_stein,
    "likelihood ratio in the Weibull family": classical(likelihood_ratio, draws=1999),
    "Kolmogorov–Smirnov, fitted scale": classical(fitted_kolmogorov_smirnov),
}


def alternatives(laws: Mapping[str, Any], null: Any = EXPONENTIAL) -> tuple[Alternative, ...]:
    return tuple(Alternative(label, draw(law), log_ratio(law, null)) for label, law in laws.items())


def published(found: tuple[Alternative, ...], label: str, **rates: float) -> tuple[Alternative, ...]:
    """The alternatives, one of them with what others measured; test names are given by keyword."""
    names = {"cdf": "Martingale, cdf, Gaussian"}
    values = {names[key]: rate for key, rate in rates.items()}
    return tuple(replace(one, published=values) if one.label == label else one for one in found)


def scenarios() -> list[Scenario]:
    """Simple hypotheses at the published level .01, composite ones at .05."""
    exponential = draw(EXPONENTIAL)
    simple = simple_tests(EXPONENTIAL)
    return [
        Scenario(
            "Survival: Exponential against Weibull",
            N,
            exponential,
            alternatives(
                {f"shape {k:g}": Weibull(1.0, k) for k in (1.15, 1.25, 1.35, 1.5, 1.75, 0.85, 0.75, 0.6)}
            ),
            simple,
            level=0.01,
            about="The standard exponential law against Weibull laws of scale one: lives that age, or that "
            f"grow sturdier. About 30 % are censored. {CENSORING}{CALIBRATION}{SAME}"
            "Published (Fernández et al. 2020): all kernel tests close to a test of Pearson's type.",
        ),
        Scenario(
            "Survival: Exponential against periodic hazards",
            N,
            exponential,
            published(
                alternatives({f"θ = {theta}": Periodic(theta) for theta in (1, 2, 4, 6, 8)}),
                "θ = 4",
                cdf=0.75,
            ),
            simple,
            level=0.01,
            about="The standard exponential law against the hazard 1 − cos(θπt), which swings about it. The "
            "quicker the hazard changes, the nearer are the distribution functions, and the smaller are the "
            f"scales on which a test must look. About 30 % are censored. {CENSORING}{CALIBRATION}{SAME}"
            "Published (read from a figure): about .75 for the cdf form at θ = 4, all others near the level; "
            "with the median bandwidth we do not find that, with a quarter of it more.",
        ),
        Scenario(
            "Survival: Exponential against small swings of the hazard",
            N,
            exponential,
            alternatives({f"amplitude {a:g}": Periodic(4.0, a) for a in (0.3, 0.45, 0.6, 0.75)}),
            simple,
            level=0.01,
            about="The standard exponential law against the hazard 1 − a·cos(4πt). About 30 % are censored. "
            f"{CENSORING}{CALIBRATION}{SAME}",
        ),
        Scenario(
            "Survival: Gompertz against other growth",
            N,
            draw(GOMPERTZ),
            alternatives(
                {
                    **{f"growth {a:g}": Gompertz(0.3, a) for a in (1.2, 1.35, 1.5, 0.8, 0.65, 0.5)},
                    "Weibull, shape 1.5": Weibull(1.52, 1.5),
                    "Weibull, shape 1.2": Weibull(1.55, 1.2),
                },
                GOMPERTZ,
            ),
            simple_tests(GOMPERTZ),
            level=0.01,
            about="A hazard that grows exponentially, 0.3·exp(t), against other rates of growth and against "
            f"Weibull laws. Here all operators differ. {CENSORING}{CALIBRATION}",
        ),
        Scenario(
            "Survival: Exponential of unknown scale against Weibull",
            N,
            exponential,
            alternatives({f"shape {k:g}": balanced_weibull(k) for k in (1.1, 1.2, 1.3, 1.45, 0.85, 0.7)}),
            UP_TO_A_FACTOR,
            level=0.05,
            trials=100,
            about="A constant hazard of unknown level against Weibull laws, scaled so that the nearest "
            f"exponential law has scale one. About 30 % are censored. {CENSORING}{CALIBRATION}"
            "The bound is that of tests which know the scale.",
        ),
        Scenario(
            "Survival: Exponential of unknown scale against periodic hazards",
            N,
            exponential,
            alternatives({f"amplitude {a:g}": Periodic(2.0, a) for a in (0.2, 0.35, 0.5, 0.75, 1.0)}),
            UP_TO_A_FACTOR,
            level=0.05,
            trials=100,
            about="A constant hazard of unknown level against 1 − a·cos(2πt). About 30 % are censored. "
            f"{CENSORING}{CALIBRATION}"
            "The likelihood ratio test looks for ageing, not for periods. The bound is that of tests which "
            "know the scale.",
        ),
    ]
