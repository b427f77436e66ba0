"""Numbers on the survival operators that need no tests: identities, the sign of ζ, and accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import survival_cells as cells
from scipy.integrate import quad
from setting import Row, Rows, Setting
from survival_cells import CDF, CONSTANT, FALLING, HAZARD, NULLS, OPERATORS, PLAIN, RISING, SURVIVAL
from verdicts import DIFFERS, LIMIT, REPRODUCED
from words import table

import goodstein as gs
from goodstein.adapters.durations import as_survival_model

Array = np.ndarray
PART = "survival_numbers"


def rows(setting: Setting) -> list[Row]:
    """All of them, by kind."""
    return [*identities(), *zeta_rows(), *means(), *accuracy(setting)]


def censored(name: str, law: Any, share: float, seed: int) -> gs.Censored:
    """Durations of a law with the censoring of a null."""
    rng = np.random.default_rng(seed)
    x = as_survival_model(law).sample(cells.N, rng).durations
    c = np.inf if share == 0 else cells.censoring(name, share).sample(cells.N, rng)[:, 0]
    return gs.Censored(np.minimum(x, c), x <= c)


def identities() -> list[Row]:
    """How far tests are apart that are said to be the same, relative to the largest entry of the matrix."""

    def matrix(data: Any, null: Any, name: str) -> Array:
        return gs.stein_matrix(data, as_survival_model(null), operator=OPERATORS[name], kernel=gs.Gaussian())

    def apart(one: Array, other: Array) -> float:
        return float(np.abs(one - other).max() / np.abs(one).max())

    unit, null = NULLS[CONSTANT], as_survival_model(NULLS[RISING])
    first, data = censored(CONSTANT, unit, 0.3, 1), censored(RISING, null, 0.3, 2)
    cumulative = null.cumulative_hazard(data.durations)
    u = gs.Censored(-np.expm1(-cumulative), data.event_observed)
    v = gs.Censored(cumulative, data.event_observed)
    plain = matrix(first, unit, PLAIN)
    by_cdf, by_hazard = (matrix(data, null, name) for name in (CDF, HAZARD))
    found = {
        "constant hazard: martingale and survival": apart(plain, matrix(first, unit, SURVIVAL)),
        "constant hazard: with and without cumulative hazard": apart(plain, matrix(first, unit, HAZARD)),
        "survival at ω and martingale at λ₀ω": _same_operator(),
        "cdf: martingale of the uniform null at F₀(t)": apart(by_cdf, matrix(u, cells.Uniform(), PLAIN)),
        "cumulative hazard: martingale of Exp(1) at Λ₀(t)": apart(by_hazard, matrix(v, unit, PLAIN)),
        "cumulative hazard: survival of Exp(1) at Λ₀(t)": apart(by_hazard, matrix(v, unit, SURVIVAL)),
    }
    return [{"kind": "identity", "what": what, "value": value} for what, value in found.items()]


def _same_operator() -> float:
    """The largest difference of T⁽ˢ⁾ω and T⁽ᵐ⁾(λ₀ω), for ω = cos, which does not vanish at zero."""
    null = as_survival_model(NULLS[RISING])

    def weighted(t: float) -> float:
        return float(null.hazard([t])[0]) * math.cos(t)

    worst = 0.0
    for t in np.linspace(0.1, 3.0, 30):
        hazard, relative = (float(f([t])[0]) for f in (null.hazard, null.log_hazard_derivative))
        for event in (0, 1):
            inner = event * (-math.sin(t) + math.cos(t) * relative)
            survival = inner - hazard * math.cos(t) + null.hazard_at_zero
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


STATEMENTS = {
    "Theorem 2": (NULLS[RISING], lambda s, mu, lam: mu * omega(s), lambda lam: -1.0, (0.5, 1.5)),
    "Corollary 1": (NULLS[RISING], lambda s, mu, lam: mu * omega(s) * lam, lambda lam: -lam, (0.5, 1.5)),
    "uniform null": (cells.Uniform(), lambda s, mu, lam: omega(s) * lam, lambda lam: -1.0, (0.3, 0.7)),
    "uniform null, corrected": (cells.Uniform(), lambda s, mu, lam: omega(s), lambda lam: -1.0, (0.3, 0.7)),
}
"""The null, the integrand of ζ, what T ω has to be as a multiple of ω, and where to look."""


def zeta_rows() -> list[Row]:
    """What the printed ζ and −ζ give, beside what the operator has at censored durations."""
    found = []
    for what, (null, integrand, wanted, points) in STATEMENTS.items():
        zeta = zeta_of(null, integrand)
        for t in points:
            plus = standardised(null, zeta, t)
            minus = standardised(null, lambda s, zeta=zeta: -zeta(s), t)
            need = wanted(float(as_survival_model(null).hazard([t])[0])) * omega(t)
            found.append({"kind": "zeta", "what": what, "t": t, "wanted": need, "plus": plus, "minus": minus})
    return found


def means() -> list[Row]:
    """E[T ω] under the null with 30 % censored, with the printed and with the other sign of ζ."""
    null = as_survival_model(NULLS[RISING])
    speed = 1 / cells.censoring(RISING, 0.3).scale

    def mean(sign: float, martingale: bool) -> float:
        def density(t: float) -> float:
            lam, relative = (float(f([t])[0]) for f in (null.hazard, null.log_hazard_derivative))
            event = (
                slope(omega, t) / lam - omega(t)
                if martingale
                else slope(omega, t) + omega(t) * (relative - lam)
            )
            other = omega(t) * (1.0 if martingale else lam)
            both = math.exp(-float(null.cumulative_hazard([t])[0]) - speed * t)
            return both * (lam * event + speed * sign * other)

        return quad(density, 0, 6, limit=200)[0]

    return [
        {"kind": "mean", "what": what, "wanted": 0.0, "plus": mean(1.0, first), "minus": mean(-1.0, first)}
        for what, first in (("Theorem 2", True), ("Corollary 1", False))
    ]


def accuracy(setting: Setting) -> list[Row]:
    """Mean over standard deviation of the statistic of n = 100 under an alternative: how accurate it is."""
    cases = [(name, law) for name in (RISING, FALLING) for law in cells.ALTERNATIVES[name]]
    repeats = setting.choose(300, 40)
    tasks = {
        f"{name} | {law} | {repeats}": (name, law, repeats) for name, law in setting.choose(cases, cases[1:2])
    }
    found = setting.each(f"survival_remarks_{PART}", statistics, tasks)
    return [
        {
            "kind": "accuracy",
            "what": ", ".join(tasks[task][:2]),
            "test": test,
            "value": value,
            "trials": repeats,
        }
        for task, ratios in found.items()
        for test, value in ((test, mean / spread) for test, (mean, spread) in ratios.items())
    ]


def statistics(name: str, law: str, repeats: int) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of the U-statistic of each operator, with 30 % censoring."""
    null = as_survival_model(NULLS[name])
    found: dict[str, list[float]] = {test: [] for test in OPERATORS}
    for k in range(repeats):
        data = censored(name, cells.ALTERNATIVES[name][law], 0.3, 1000 + k)
        for test, operator in OPERATORS.items():
            h = gs.stein_matrix(data, null, operator=operator, kernel=gs.Gaussian())
            found[test].append((h.sum() - np.trace(h)) / (cells.N * (cells.N - 1)))
    return {test: (float(np.mean(v)), float(np.std(v, ddof=1))) for test, v in found.items()}


# What is said


def values(numbers: Rows) -> dict[str, Any]:
    measured = numbers.where(kind="accuracy")
    ratios, trials = measured.by("what", "test"), min(measured.all("trials"))
    above = []
    for tests in ratios.values():
        first, second = tests[PLAIN]["value"], tests[SURVIVAL]["value"]
        # The standard error of a mean over a standard deviation, of two of them, as for normal variables.
        error = math.sqrt((1 + first**2 / 2 + 1 + second**2 / 2) / trials)
        above.append((first - second) / error)
    zeta = numbers.where(kind="zeta")
    signs = [
        {
            "name": row["what"] if row["kind"] == "zeta" else f"{row['what']}: mean under the null",
            "at": "" if row["t"] is None else f"{row['t']:g}",
            **{key: f"{row[key]:.4f}".replace("-0.0000", "0.0000") for key in ("wanted", "plus", "minus")},
        }
        for row in [*zeta, *numbers.where(kind="mean")]
    ]
    lines = [[what, *(f"{tests[test]['value']:.2f}" for test in OPERATORS)] for what, tests in ratios.items()]
    return {
        "identities": numbers.where(kind="identity"),
        "zeta": signs,
        "signs": {what: _sign(row) for what, row in zeta.by("what").items() if "corrected" not in what},
        "accuracies": table(["", *OPERATORS], lines),
        "accuracy_trials": measured[0]["trials"],
        "accurate": "a larger ratio of mean to standard deviation in "
        f"{sum(d > LIMIT for d in above)} and a smaller one in {sum(d < -LIMIT for d in above)} of "
        f"{len(above)} cases, beyond three standard errors",
    }


def _sign(row: Row) -> str:
    if abs(row["plus"] - row["wanted"]) < 1e-3:
        return REPRODUCED
    return "differs in sign" if abs(row["minus"] - row["wanted"]) < 1e-3 else DIFFERS
