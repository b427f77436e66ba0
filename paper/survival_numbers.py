"""Numbers on the survival operators that need no tests: identities, the sign of ζ, and accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import quad
from setting import Row, Setting
from survival_cells import (
    ALTERNATIVES,
    CDF,
    CONSTANT,
    FALLING,
    HAZARD,
    NULLS,
    OPERATORS,
    PLAIN,
    RISING,
    SURVIVAL,
    N,
    Uniform,
    censoring,
)

import goodstein as gs
from goodstein.survival.model import as_survival_model

Array = np.ndarray
PART = "survival_numbers"


def rows(setting: Setting) -> list[Row]:
    """All of them, by kind."""
    return [*identities(), *zeta_rows(), *accuracy(setting)]


def censored(name: str, law: Any, share: float, seed: int) -> gs.Censored:
    """Durations of a law with the censoring of a null."""
    rng = np.random.default_rng(seed)
    x = as_survival_model(law).sample(N, rng).durations
    c = np.inf if share == 0 else censoring(name, share).sample(N, rng)[:, 0]
    return gs.Censored(np.minimum(x, c), x <= c)


def identities() -> list[Row]:
    """How far tests are apart that are said to be the same, relative to the largest entry of the matrix."""

    def matrix(data: Any, null: Any, operator: Any) -> Array:
        return gs.stein_matrix(data, as_survival_model(null), operator=operator, kernel=gs.Gaussian())

    def row(what: str, one: Array, other: Array) -> Row:
        return {
            "kind": "identity",
            "what": what,
            "value": float(np.abs(one - other).max() / np.abs(one).max()),
        }

    unit = NULLS[CONSTANT]
    data = censored(CONSTANT, unit, 0.3, 1)
    plain = matrix(data, unit, OPERATORS[PLAIN])
    rows = [
        row("constant hazard: martingale and survival", plain, matrix(data, unit, OPERATORS[SURVIVAL])),
        row(
            "constant hazard: with and without cumulative hazard",
            plain,
            matrix(data, unit, OPERATORS[HAZARD]),
        ),
    ]
    null = as_survival_model(NULLS[RISING])
    data = censored(RISING, null, 0.3, 2)
    cumulative = null.cumulative_hazard(data.durations)
    u = gs.Censored(-np.expm1(-cumulative), data.event_observed)
    v = gs.Censored(cumulative, data.event_observed)
    by_cdf, by_hazard = (matrix(data, null, OPERATORS[name]) for name in (CDF, HAZARD))
    return [
        *rows,
        {"kind": "identity", "what": "survival at ω and martingale at λ₀ω", "value": _same_operator()},
        row("cdf: martingale of the uniform null at F₀(t)", by_cdf, matrix(u, Uniform(), OPERATORS[PLAIN])),
        row("cumulative hazard: martingale of Exp(1) at Λ₀(t)", by_hazard, matrix(v, unit, OPERATORS[PLAIN])),
        row(
            "cumulative hazard: survival of Exp(1) at Λ₀(t)", by_hazard, matrix(v, unit, OPERATORS[SURVIVAL])
        ),
    ]


def _same_operator() -> float:
    """The largest difference of T⁽ˢ⁾ω and T⁽ᵐ⁾(λ₀ω), for ω = cos, which does not vanish at zero."""
    null = as_survival_model(NULLS[RISING])

    def weighted(t: float) -> float:
        return float(null.hazard([t])[0]) * math.cos(t)

    worst = 0.0
    for t in np.linspace(0.1, 3.0, 30):
        hazard, relative = (float(f([t])[0]) for f in (null.hazard, null.log_hazard_derivative))
        for event in (0, 1):
            survival = (
                event * (-math.sin(t) + math.cos(t) * relative) - hazard * math.cos(t) + null.hazard_at_zero
            )
            martingale = event * slope(weighted, t) / hazard - (weighted(t) - weighted(0.0))
            worst = max(worst, abs(survival - martingale))
    return worst


def omega(t: float) -> float:
    """A test function: positive, zero at zero."""
    return t * math.exp(-t)


def slope(function: Callable[[float], float], t: float, step: float = 1e-3) -> float:
    """A derivative by differences of fourth order."""
    near, far = (function(t + k * step) - function(t - k * step) for k in (1, 2))
    return (8 * near - far) / (12 * step)


def standardised(null: Any, zeta: Callable[[float], float], t: float) -> float:
    """T ω = ω(ζ′ + ζ(log μ)′) + ω′ζ, as Theorem 2 and its corollary use it for censored durations."""
    model = as_survival_model(null)
    score = float(model.log_hazard_derivative([t])[0] - model.hazard([t])[0])
    z = zeta(t)
    return omega(t) * (slope(zeta, t) + z * score) + slope(omega, t) * z


def zeta_of(null: Any, integrand: Callable[[float, float, float], float]) -> Callable[[float], float]:
    """ζ = ∫₀ᵗ (integrand of s, μ and λ) ds / (μω)(t)."""
    model = as_survival_model(null)

    def parts(s: float) -> tuple[float, float]:
        hazard = float(model.hazard([s])[0])
        return hazard * math.exp(-float(model.cumulative_hazard([s])[0])), hazard

    def zeta(t: float) -> float:
        value = quad(lambda s: integrand(s, *parts(s)), 0, t, epsabs=1e-13, epsrel=1e-12)[0]
        return value / (parts(t)[0] * omega(t))

    return zeta


def zeta_rows() -> list[Row]:
    """What the printed ζ and −ζ give, beside what the operator has at censored durations."""
    rows = []
    statements = (
        ("Theorem 2", NULLS[RISING], lambda s, mu, lam: mu * omega(s), lambda lam, w: -w, (0.5, 1.5)),
        (
            "Corollary 1",
            NULLS[RISING],
            lambda s, mu, lam: mu * omega(s) * lam,
            lambda lam, w: -w * lam,
            (0.5, 1.5),
        ),
        ("uniform null", Uniform(), lambda s, mu, lam: omega(s) * lam, lambda lam, w: -w, (0.3, 0.7)),
        ("uniform null, corrected", Uniform(), lambda s, mu, lam: omega(s), lambda lam, w: -w, (0.3, 0.7)),
    )
    for what, null, integrand, wanted, points in statements:
        zeta = zeta_of(null, integrand)
        for t in points:
            plus = standardised(null, zeta, t)
            minus = standardised(null, lambda s, zeta=zeta: -zeta(s), t)
            need = wanted(float(as_survival_model(null).hazard([t])[0]), omega(t))
            rows.append({"kind": "zeta", "what": what, "t": t, "wanted": need, "plus": plus, "minus": minus})
    return [*rows, *_means()]


def _means() -> list[Row]:
    """E[T ω] under the null with 30 % censored, with the printed and with the other sign of ζ."""
    null = as_survival_model(NULLS[RISING])
    speed = 1 / censoring(RISING, 0.3).scale
    rows = []
    for what, event, other in (
        ("Theorem 2", lambda t, lam: slope(omega, t) / lam - omega(t), lambda t, lam: omega(t)),
        (
            "Corollary 1",
            lambda t, lam: slope(omega, t) + omega(t) * (float(null.log_hazard_derivative([t])[0]) - lam),
            lambda t, lam: omega(t) * lam,
        ),
    ):

        def mean(sign: float, event: Any = event, other: Any = other) -> float:
            def density(t: float) -> float:
                lam = float(null.hazard([t])[0])
                both = math.exp(-float(null.cumulative_hazard([t])[0]) - speed * t)
                return both * (lam * event(t, lam) + speed * sign * other(t, lam))

            return quad(density, 0, 6, limit=200)[0]

        rows.append({"kind": "mean", "what": what, "wanted": 0.0, "plus": mean(1.0), "minus": mean(-1.0)})
    return rows


def accuracy(setting: Setting) -> list[Row]:
    """Mean over standard deviation of the statistic of n = 100 under an alternative: how accurate it is."""
    cases = [(name, law) for name in (RISING, FALLING) for law in ALTERNATIVES[name]]
    repeats = setting.choose(300, 40)
    if setting.quick:
        cases = cases[1:2]
    tasks = {f"{name} | {law} | {repeats}": (name, law, repeats) for name, law in cases}
    found = setting.each(f"survival_remarks_{PART}", statistics, tasks)
    rows = []
    for task, values in found.items():
        name, law, _ = tasks[task]
        for test, (mean, spread) in values.items():
            rows.append(
                {
                    "kind": "accuracy",
                    "what": f"{name}, {law}",
                    "test": test,
                    "value": mean / spread,
                    "trials": repeats,
                }
            )
    return rows


def statistics(name: str, law: str, repeats: int) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of the U-statistic of each operator, with 30 % censoring."""
    null = as_survival_model(NULLS[name])
    values: dict[str, list[float]] = {test: [] for test in OPERATORS}
    for k in range(repeats):
        data = censored(name, ALTERNATIVES[name][law], 0.3, 1000 + k)
        for test, operator in OPERATORS.items():
            h = gs.stein_matrix(data, null, operator=operator, kernel=gs.Gaussian())
            values[test].append((h.sum() - np.trace(h)) / (N * (N - 1)))
    return {test: (float(np.mean(v)), float(np.std(v, ddof=1))) for test, v in values.items()}
