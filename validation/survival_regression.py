"""Durations given covariates, with late entry: sizes of known and of fitted regressions, and power."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.stats import chi2
from tables import RNG, Array, Table, Test, against, fitted, ksd, named, simulated, true

import goodstein as gs
from goodstein.survival.cox import RiskSets

CENSORING = 1.6
"""Mean of the exponential censoring times."""


def everywhere(x: Array, y: Array) -> Array:
    """The kernel of covariates that does not look at them."""
    return np.ones((len(x), len(y)))


BLIND = gs.Martingale(covariate_kernel=everywhere)


@dataclass(frozen=True)
class Law:
    """Durations exp(½ z₀ + a(z₀² − 1)) times those of a family, some of them with a late entry.

    `crossing` is what z₀ adds to the logarithm of the shape: hazards that are not proportional.
    """

    quadratic: float = 0.0
    shape: float = 1.5
    crossing: float = 0.0
    family: str = "Weibull"
    late: float = 0.6
    covariates: int = 1

    def rows(self, n: int, rng: RNG) -> tuple[Array, ...]:
        z = rng.standard_normal((n, self.covariates))
        shape = self.shape * np.exp(self.crossing * z[:, 0])
        if self.family == "Weibull":
            noise = np.log(rng.standard_exponential(n)) / shape
        else:
            draw = rng.standard_normal if self.family == "LogNormal" else partial(rng.logistic, 0.0, 1.0)
            noise = draw(n) / shape
        x = np.exp(0.5 * z[:, 0] + self.quadratic * (z[:, 0] ** 2 - 1.0) + noise)
        entry = np.where(rng.random(n) < self.late, rng.uniform(0.0, 0.6, n), 0.0)
        return z, x, rng.exponential(CENSORING, n), entry

    def __call__(self, n: int, rng: RNG) -> gs.Censored:
        parts = [self.rows(n, rng)]
        while sum((np.minimum(x, c) > e).sum() for _, x, c, e in parts) < n:
            parts.append(self.rows(n, rng))
        z, x, c, e = (np.concatenate(column) for column in zip(*parts, strict=True))
        seen = np.flatnonzero(np.minimum(x, c) > e)[:n]
        z, x, c, e = z[seen], x[seen], c[seen], e[seen]
        return gs.Censored(np.minimum(x, c), x <= c, e, z[:, 0] if self.covariates == 1 else z)


def cumulative(t: Array, z: Array) -> Array:
    return (t / np.exp(0.5 * (z if z.ndim == 1 else z[:, 0]))) ** 1.5


WEIBULL = gs.SurvivalRegression(cumulative_hazard=cumulative, name="Weibull regression")


OTHERS = {"LogNormal": "log-normal", "LogLogistic": "log-logistic"}

# Fitted models.


@lru_cache
def family(name: str, covariates: int, late: bool) -> Any:
    """A regression of lifelines, fitted once; the function that fits it to other data."""
    import lifelines
    import pandas as pd

    law = Law(family=name, covariates=covariates, late=0.6 * late)
    data = law(500, np.random.default_rng(0))
    frame = pd.DataFrame(data.covariates, columns=list(data.covariate_names))
    frame = frame.assign(time=data.durations, event=data.event_observed, entry=data.entry)
    fitter = getattr(lifelines, f"{name}AFTFitter")()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitter.fit(frame, "time", "event", entry_col="entry")
    from goodstein.adapters.durations import as_survival_model

    return as_survival_model(fitter).provenance.refit


def fit(data: gs.Censored, name: str = "Weibull") -> Any:
    """The same maximum that lifelines finds, sooner."""
    return family(name, data.covariates.shape[1], data.late)(data)


# Cox's model.


def cox(data: gs.Censored) -> gs.CoxModel:
    """Coefficients by Newton's method on the partial likelihood, as `CoxPHFitter` finds them, sooner."""
    z = data.covariates - data.covariates.mean(axis=0)
    t, ended = data.durations, data.event_observed
    times = np.unique(t[ended])
    at_risk = (t >= times[:, None]) & ((data.entry < times[:, None]) | (data.entry == 0))
    beta = np.zeros(z.shape[1])
    for _ in range(30):
        weights = at_risk * np.exp(z @ beta)
        weights /= weights.sum(axis=1, keepdims=True)
        means = weights @ z
        score = z[ended].sum(axis=0) - means.sum(axis=0)
        information = z.T @ (weights.sum(axis=0)[:, None] * z) - means.T @ means
        step = np.linalg.solve(information, score)
        beta += step
        if np.abs(step).max() < 1e-9:
            break
    return gs.CoxModel(beta, fitted_to=data)


def score_test(data: gs.Censored, psi: Array, b: Any = None) -> float:
    """The score test of coefficients of ψ, (n, r), times b(rank of the time), beside those in the model."""
    model = cox(data)
    sets = RiskSets.of(data, model.factors(data))
    counts, ended = sets.events.sum(axis=0), np.nonzero(sets.events)
    ranks = (np.arange(len(counts)) + 0.5) / len(counts)
    b = np.ones(len(ranks)) if b is None else b(ranks)
    z, moments = data.covariates - data.covariates.mean(axis=0), {}
    for name, (left, lb), (right, rb) in (
        ("aa", (psi, b), (psi, b)),
        ("az", (psi, b), (z, 1.0)),
        ("zz", (z, 1.0), (z, 1.0)),
    ):
        weight = counts * lb * rb
        whole = left.T @ ((weight @ sets.shares)[:, None] * right)
        moments[name] = whole - ((sets.shares @ left) * weight[:, None]).T @ (sets.shares @ right)
    total = (b[ended[1], None] * (psi[ended[0]] - (sets.shares @ psi)[ended[1]])).sum(axis=0)
    spread = moments["aa"] - moments["az"] @ np.linalg.solve(moments["zz"], moments["az"].T)
    rank = np.linalg.matrix_rank(spread, tol=1e-8 * np.trace(spread))
    return float(chi2.sf(total @ np.linalg.pinv(spread, rcond=1e-8) @ total, rank))


def groennesby_borgan(data: gs.Censored, _: Any, *, rng: RNG) -> float:
    """Observed against expected events in fifths of the risk score, as a score test (May and Hosmer 1998)."""
    risk = data.covariates @ cox(data).coefficients
    fifth = np.searchsorted(np.quantile(risk, [0.2, 0.4, 0.6, 0.8]), risk)
    return score_test(data, (fifth[:, None] == np.arange(5)).astype(float))


def schoenfeld(data: gs.Censored, _: Any, *, rng: RNG) -> float:
    """Whether coefficients change with the rank of the time, as a score test (Grambsch and Therneau 1994)."""
    return score_test(data, data.covariates - data.covariates.mean(axis=0), lambda ranks: ranks - 0.5)


def size_tables() -> Iterator[Table]:
    law, several = Law(), Law(covariates=3)
    sizes = (50, 100, 200)
    tests: dict[str, Test] = ksd("Martingale") | ksd(
        "Martingale, covariates unseen", operator=BLIND, kernel=gs.Gaussian(0.5)
    )
    tests |= ksd("Timing", operator=gs.Timing())
    yield Table(
        "Durations with late entry and covariates",
        "Weibull durations with shape 1.5 and scale exp(z/2), z standard normal; 60 % enter late, uniformly "
        "up to .6, and are seen only if they last until then; exponential censoring of about 40 %.",
        [
            true({"Weibull regression": WEIBULL}, tests, sizes, sample_null=law),
            true(
                {"Weibull regression, 3 covariates": WEIBULL},
                ksd("Martingale"),
                (50, 200),
                sample_null=several,
            ),
        ],
    )
    null = gs.FittedWildBootstrap()
    wild = named(fitted, "Martingale", null, fit=fit)
    several_looks = named(fitted, "aggregated", null, fit=fit, test=partial(gs.aggregated_test, workers=1))
    yield Table(
        "Durations with late entry and covariates, fitted models",
        "The same, with the coefficients and the shape fitted to the very data by maximum likelihood.",
        [
            true({"Weibull regression, fitted": WEIBULL}, wild, sizes, sample_null=law),
            true({"Weibull regression, fitted": WEIBULL}, several_looks, (100,), sample_null=law),
            true(
                {"Weibull regression, 3 covariates, fitted": WEIBULL}, wild, (100, 200), sample_null=several
            ),
            *(
                true(
                    {f"{words} regression, fitted": WEIBULL},
                    named(fitted, "Martingale", null, fit=partial(fit, name=name)),
                    (100,),
                    sample_null=Law(family=name),
                )
                for name, words in OTHERS.items()
            ),
        ],
    )
    cox_tests = named(fitted, "CoxResiduals", fit=cox)
    yield Table(
        "Durations with late entry and covariates, Cox's model",
        "The same durations, and proportional hazards with an unknown baseline, whose coefficients are "
        "fitted to the very data by the partial likelihood.",
        [
            true({"Cox, 1 covariate": WEIBULL}, cox_tests, sizes, sample_null=law),
            true({"Cox, 3 covariates": WEIBULL}, cox_tests, sizes, sample_null=several),
        ],
    )


def distance(data: gs.Censored, model: Any) -> float:
    """Kolmogorov's distance between Cox–Snell residuals, by Nelson and Aalen's estimate, and exponentials."""
    given = model.given(data)
    end, begin = given.cumulative_hazard(data.durations), given.cumulative_hazard(data.entry)
    times, counts = np.unique(end[data.event_observed], return_counts=True)
    at_risk = ((end >= times[:, None]) & ((begin < times[:, None]) | (data.entry == 0))).sum(axis=1)
    estimate = np.exp(-np.append(0.0, np.cumsum(counts / at_risk)))
    survival = np.exp(-times)
    return float(np.maximum(np.abs(estimate[1:] - survival), np.abs(estimate[:-1] - survival)).max())


def cox_snell(fit: Any) -> Test:
    """The test by this distance, its null distribution simulated with a fit to each sample."""

    def statistic(data: gs.Censored, _: Any) -> float:
        return distance(data, fit(data))

    return simulated(statistic, 999, lambda _, n, rng: Law()(n, rng))


def power_tables() -> Iterator[Table]:
    tests: dict[str, Test] = {
        "CoxResiduals": partial(fitted, fit=cox, null=gs.WildBootstrap()),
        "Schoenfeld": schoenfeld,
        "Grønnesby–Borgan": groennesby_borgan,
        "Cox–Snell, Kolmogorov–Smirnov": cox_snell(cox),
    }
    table = against(WEIBULL, 100, tests, trials=200, sample_null=Law())
    yield table(
        "Survival regression: Cox's model against wrong forms and crossing hazards",
        "Proportional hazards with a linear covariate, fitted to the very data, against a quadratic term of "
        "the covariate in the logarithm of the scale, which Grønnesby and Borgan's test is for, and against "
        "a shape that depends on the covariate, which Schoenfeld's residuals are for. 60 % enter late, about "
        "40 % are censored. The first two classical tests are score tests with their χ² laws, that of "
        "residuals has 999 simulated samples; the row of the null tells their levels.",
        {f"quadratic {a:g}": Law(quadratic=a) for a in (0.1, 0.2, 0.3)}
        | {f"crossing {a:g}": Law(crossing=a) for a in (0.15, 0.3, 0.45)},
    )
    null = gs.FittedWildBootstrap()
    parametric: dict[str, Test] = {
        "Martingale": partial(fitted, fit=fit, null=null),
        "aggregated": partial(fitted, fit=fit, null=null, test=partial(gs.aggregated_test, workers=1)),
        "Cox–Snell, Kolmogorov–Smirnov": cox_snell(fit),
        "Grønnesby–Borgan": groennesby_borgan,
    }
    table = against(WEIBULL, 100, parametric, trials=200, sample_null=Law())
    yield table(
        "Survival regression: a Weibull regression against wrong forms and other laws",
        "A Weibull regression with a linear covariate, fitted to the very data, against a quadratic term of "
        "the covariate, a shape that depends on it, and log-normal and log-logistic durations, which "
        "residuals in the sense of Cox and Snell are for; Grønnesby and Borgan's test does not look at the "
        "baseline. Otherwise as above.",
        {f"quadratic {a:g}": Law(quadratic=a) for a in (0.1, 0.2, 0.3)}
        | {f"crossing {a:g}": Law(crossing=a) for a in (0.15, 0.3)}
        | {OTHERS[name]: Law(family=name) for name in OTHERS},
    )
