"""Does truncated score matching find parameters that are known?

The paper fits its Chicago models by it. Here the truth is known: mixtures truncated so that their
components are cut, and a normal law whose mean lies outside its interval.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from mixtures import Mixture
from setting import Row, Setting
from sklearn.mixture import GaussianMixture as ExpectationMaximisation
from style import COLOURS, GREY, canvas

import goodstein as gs
from goodstein.estimate import AnyNormal, MinimumStein, TruncatedScoreMatching
from goodstein.families import GaussianMixture, Truncated
from goodstein.families import Normal as NormalLaw

PART = "estimation"
CHUNK = 2
L_SHAPE = [(0, 0), (3, 0), (3, 1), (1, 1), (1, 3), (0, 3)]
MIXTURES: dict[str, tuple[dict[str, Any], Any, int]] = {
    "disc, two components": (
        {"weights": [0.4, 0.6], "means": [[-0.6, -0.1], [0.5, 0.3]], "scales": [0.3, 0.4]},
        gs.Ball(2),
        2000,
    ),
    "L-shaped polygon, two components": (
        {"weights": [0.5, 0.5], "means": [[0.5, 2.2], [2.2, 0.4]], "scales": [0.6, 0.6]},
        gs.Polygon(L_SHAPE),
        3000,
    ),
}
INTERVAL, OUTSIDE, ONE = gs.Box(0.0, 3.0), (-1.0, 1.0), "normal law, mean outside the interval"
"""One-dimensional: N(−1, 1) seen between 0 and 3 only."""


def run(setting: Setting) -> None:
    count = setting.choose(50, 4)
    chunks = [tuple(range(k, min(k + CHUNK, count))) for k in range(0, count, CHUNK)]
    names = [*MIXTURES, ONE]
    tasks = {f"{name} {chunk}": (name, chunk) for name in names for chunk in chunks}
    found = setting.each(PART, repeat, tasks)
    fits = {name: [one for chunk in chunks for one in found[f"{name} {chunk}"]] for name in names}
    setting.write(PART, [row for name in names for row in _rows(name, fits[name])])


def repeat(name: str, numbers: tuple[int, ...]) -> list[dict[str, Any]]:
    """Estimates from some samples, each seeded by the cell and its number."""
    once = _interval if name == ONE else _mixture
    return [once(name, np.random.default_rng([number, *name.encode()])) for number in numbers]


def _mixture(name: str, rng: np.random.Generator) -> dict[str, Any]:
    truth, domain, n = MIXTURES[name]
    law = GaussianMixture(truth["weights"], truth["means"], np.square(truth["scales"]))
    x = Truncated(law, domain).sample(n, rng=rng)
    fit = TruncatedScoreMatching().fit(x, Mixture(2), domain=domain, rng=rng)
    naive = ExpectationMaximisation(2, covariance_type="spherical", n_init=3, random_state=0).fit(x)
    order = np.lexsort(naive.means_.T[::-1])
    found = naive.weights_[order], naive.means_[order], np.sqrt(naive.covariances_[order])
    return {
        "names": fit.names,
        "truth": [*truth["weights"], *np.ravel(truth["means"]), *truth["scales"]],
        "naive": np.concatenate([np.ravel(one) for one in found]).tolist(),
        **_outcome(fit),
    }


def _interval(name: str, rng: np.random.Generator) -> dict[str, Any]:
    """Mean and variance of a normal law of which only an interval is seen; three estimators."""
    x = Truncated(NormalLaw(*OUTSIDE), INTERVAL).sample(3000, rng=rng)
    fit = TruncatedScoreMatching().fit(x, AnyNormal(), domain=INTERVAL)
    other = MinimumStein().fit(x, AnyNormal(), domain=INTERVAL)
    # Known σ: the closed form (E[gx] − σ²E[g′])/E[g].
    g, dg = gs.BoundaryDistance().evaluate(x, INTERVAL)
    return {
        "names": ["mean", "variance"],
        "truth": list(OUTSIDE),
        "naive": [float(x.mean()), float(x.var())],
        "stein": other.theta.tolist(),
        "closed": float((np.mean(g * x[:, 0]) - np.mean(dg)) / np.mean(g)),
        **_outcome(fit),
    }


def _outcome(fit: Any) -> dict[str, Any]:
    return {
        "estimate": fit.theta.tolist(),
        "error": np.sqrt(np.diag(fit.covariance)).tolist(),
        "converged": bool(fit.converged),
        "at_bounds": list(fit.at_bounds),
    }


def _rows(name: str, fits: list[dict[str, Any]]) -> list[Row]:
    estimate, error, naive = (np.array([fit[key] for fit in fits]) for key in ("estimate", "error", "naive"))
    truth, mean, spread = np.array(fits[0]["truth"]), estimate.mean(axis=0), estimate.std(axis=0, ddof=1)
    by_parameter = {
        "truth": truth,
        "mean": mean,
        "spread": spread,
        "standard_error": error.mean(axis=0),
        "bias_z": (mean - truth) / (spread / np.sqrt(len(fits))),
        "largest_z": np.abs((estimate - truth) / spread).max(axis=0),
        "coverage": (np.abs(estimate - truth) <= 1.96 * error).mean(axis=0),
        "ignoring_truncation": naive.mean(axis=0),
    }
    counts = {
        "repetitions": len(fits),
        "not_converged": sum(not fit["converged"] for fit in fits),
        "at_bounds": sum(bool(fit["at_bounds"]) for fit in fits),
    }
    rows = [
        {"cell": name, "parameter": label, **{key: float(x[j]) for key, x in by_parameter.items()}, **counts}
        for j, label in enumerate(fits[0]["names"])
    ]
    if name == ONE:
        stein, closed = (np.array([fit[key] for fit in fits]) for key in ("stein", "closed"))
        for row, values in zip(rows, stein.T, strict=True):
            row |= {"minimum_stein": float(values.mean()), "minimum_stein_spread": float(values.std(ddof=1))}
        rows[0] |= {"known_variance": float(closed.mean())}
        rows[0] |= {"known_variance_spread": float(closed.std(ddof=1))}
    return rows


def draw(setting: Setting) -> None:
    """Estimates in standard deviations of themselves from the truth, and what ignoring the cut does."""
    rows = setting.read(PART)
    labels = [f"{row['cell'].split(',')[0]}: {row['parameter']}" for row in rows][::-1]
    with canvas(setting, PART, figsize=(7.5, 0.25 * len(rows) + 1.2)) as (_, axis):
        for i, row in enumerate(rows[::-1]):
            shift = (row["mean"] - row["truth"]) / row["spread"]
            axis.errorbar(shift, i, xerr=3 / np.sqrt(row["repetitions"]), fmt="o", ms=4, color=COLOURS[0])
            naive = (row["ignoring_truncation"] - row["truth"]) / row["spread"]
            axis.plot(np.clip(naive, -20, 20), i, marker="x", color=COLOURS[1])
        axis.axvline(0.0, color=GREY, linewidth=0.8)
        axis.set_yticks(range(len(labels)), labels, fontsize=7)
        axis.set_xscale("symlog", linthresh=1.0)
        axis.set_xlabel("mean of the estimates minus the truth, in standard deviations of one estimate")
        axis.plot([], [], "o", ms=4, color=COLOURS[0], label="truncated score matching, ± 3 standard errors")
        axis.plot([], [], "x", color=COLOURS[1], label="ignoring the truncation")
        axis.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, 1.12), ncols=2)


def values(setting: Setting) -> dict[str, Any]:
    rows = setting.read(PART)
    means = [row for row in rows if row["parameter"].startswith("mean")]
    fits = rows.by("cell").values()
    total = sum(row["repetitions"] for row in fits)
    return {
        "rows": rows,
        "repetitions": rows[0]["repetitions"],
        "means": len(means),
        "inside": sum(abs(row["bias_z"]) <= 3 for row in means),
        "fits": total,
        "converged": total - sum(row["not_converged"] for row in fits),
        "farthest": max(rows.all("largest_z")),
        "normal": rows.where(cell=ONE).by("parameter"),
    }
