"""Does truncated score matching find parameters that are known?

The paper fits its Chicago models by it. Here the truth is known: mixtures truncated so that their
components are cut, and a normal law whose mean lies outside its interval.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from setting import Row, Setting
from sklearn.mixture import GaussianMixture as ExpectationMaximisation
from writing import figure, table

import goodstein as gs
from goodstein.estimate import MinimumStein, Mixture, Normal, TruncatedScoreMatching
from goodstein.families import GaussianMixture, Truncated
from goodstein.families import Normal as NormalLaw

PART = "estimation"
TITLE = "Truncated score matching where the truth is known"
REPETITIONS, QUICK = 50, 4
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
    count = setting.choose(REPETITIONS, QUICK)
    chunks = [tuple(range(k, min(k + CHUNK, count))) for k in range(0, count, CHUNK)]
    names = [*MIXTURES, ONE]
    tasks = {f"{name} {chunk}": (name, chunk) for name in names for chunk in chunks}
    found = setting.each(PART, repeat, tasks)
    rows = []
    for name in names:
        fits = [one for key, chunk in found.items() if key.startswith(name) for one in chunk]
        rows += _rows(name, fits)
    setting.write(PART, rows)


def repeat(name: str, numbers: tuple[int, ...]) -> list[dict[str, Any]]:
    """Estimates from some samples, each seeded by the cell and its number."""
    return [_once(name, np.random.default_rng([number, *name.encode()])) for number in numbers]


def _once(name: str, rng: np.random.Generator) -> dict[str, Any]:
    if name == ONE:
        return _interval(rng)
    truth, domain, n = MIXTURES[name]
    law = GaussianMixture(truth["weights"], truth["means"], np.square(truth["scales"]))
    x = Truncated(law, domain).sample(n, rng=rng)
    fit = TruncatedScoreMatching().fit(x, Mixture(2), domain=domain, rng=rng)
    naive = ExpectationMaximisation(2, covariance_type="spherical", n_init=3, random_state=0).fit(x)
    order = np.lexsort(naive.means_.T[::-1])
    return {
        "names": fit.names,
        "truth": [*truth["weights"], *np.ravel(truth["means"]), *truth["scales"]],
        "estimate": fit.theta.tolist(),
        "error": np.sqrt(np.diag(fit.covariance)).tolist(),
        "naive": [
            *naive.weights_[order],
            *naive.means_[order].ravel(),
            *np.sqrt(naive.covariances_[order]),
        ],
        "converged": bool(fit.converged),
        "at_bounds": list(fit.at_bounds),
    }


def _interval(rng: np.random.Generator) -> dict[str, Any]:
    """Mean and variance of a normal law of which only an interval is seen; three estimators."""
    x = Truncated(NormalLaw(*OUTSIDE), INTERVAL).sample(3000, rng=rng)
    fit = TruncatedScoreMatching().fit(x, Normal(), domain=INTERVAL)
    other = MinimumStein().fit(x, Normal(), domain=INTERVAL)
    # Known σ: the closed form (E[gx] − σ²E[g′])/E[g].
    g, dg = gs.BoundaryDistance().evaluate(x, INTERVAL)
    closed = float((np.mean(g * x[:, 0]) - np.mean(dg)) / np.mean(g))
    return {
        "names": ["mean", "variance"],
        "truth": list(OUTSIDE),
        "estimate": fit.theta.tolist(),
        "error": np.sqrt(np.diag(fit.covariance)).tolist(),
        "naive": [float(x.mean()), float(x.var())],
        "stein": other.theta.tolist(),
        "closed": closed,
        "converged": bool(fit.converged),
        "at_bounds": list(fit.at_bounds),
    }


def _rows(name: str, fits: list[dict[str, Any]]) -> list[Row]:
    estimate, error, naive = (np.array([fit[key] for fit in fits]) for key in ("estimate", "error", "naive"))
    truth = np.array(fits[0]["truth"])
    spread = estimate.std(axis=0, ddof=1)
    covered = np.abs(estimate - truth) <= 1.96 * error
    rows = []
    for j, label in enumerate(fits[0]["names"]):
        rows.append(
            {
                "cell": name,
                "parameter": label,
                "truth": float(truth[j]),
                "mean": float(estimate[:, j].mean()),
                "spread": float(spread[j]),
                "standard_error": float(error[:, j].mean()),
                "bias_z": float((estimate[:, j].mean() - truth[j]) / (spread[j] / np.sqrt(len(fits)))),
                "largest_z": float(np.abs((estimate[:, j] - truth[j]) / spread[j]).max()),
                "coverage": float(covered[:, j].mean()),
                "ignoring_truncation": float(naive[:, j].mean()),
                "repetitions": len(fits),
                "not_converged": sum(not fit["converged"] for fit in fits),
                "at_bounds": sum(bool(fit["at_bounds"]) for fit in fits),
            }
        )
    if name == ONE:
        stein = np.array([fit["stein"] for fit in fits])
        closed = np.array([fit["closed"] for fit in fits])
        for row, mean, deviation in zip(rows, stein.mean(axis=0), stein.std(axis=0, ddof=1), strict=True):
            row |= {"minimum_stein": float(mean), "minimum_stein_spread": float(deviation)}
        rows[0] |= {
            "known_variance": float(closed.mean()),
            "known_variance_spread": float(closed.std(ddof=1)),
        }
    return rows


def draw(setting: Setting) -> None:
    """Estimates in standard deviations of themselves from the truth, and what ignoring the cut does."""
    from style import COLOURS, GREY, canvas

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


def report(setting: Setting) -> str:
    rows = setting.read(PART)
    lines = [
        [
            f"{row['cell']}: {row['parameter']}",
            *(f"{row[key]:.3f}" for key in ("truth", "mean", "spread", "standard_error")),
            f"{row['bias_z']:+.1f}",
            f"{row['coverage']:.2f}",
            f"{row['ignoring_truncation']:.3f}",
        ]
        for row in rows
    ]
    means = [row for row in rows if row["parameter"].startswith("mean")]
    inside = sum(abs(row["bias_z"]) <= 3 for row in means)
    fits = {row["cell"]: row for row in rows}
    failed, total = (sum(row[key] for row in fits.values()) for key in ("not_converged", "repetitions"))
    known = next(row for row in rows if row.get("known_variance") is not None)
    other = next(row for row in rows if row["cell"] == ONE and row["parameter"] == "variance")
    return "\n\n".join(
        [
            f"## {TITLE}",
            "The paper fits its crime models by truncated score matching (Liu, Kanamori and Williams), in "
            "goodstein `gs.estimate.TruncatedScoreMatching`. Before trusting fits to real data: "
            f"{rows[0]['repetitions']} samples each from known laws, of which the region cuts off a part: "
            "mixtures of two spherical Gaussians in the unit disc (n = 2000) and in an L-shaped polygon "
            "(n = 3000), and N(−1, 1) seen between 0 and 3 only (n = 3000).",
            table(
                [
                    "parameter",
                    "truth",
                    "mean",
                    "spread",
                    "standard error",
                    "bias / its error",
                    "coverage of 95 %",
                    "ignoring the cut",
                ],
                lines,
            ),
            figure(
                PART, "Bias of the estimates; crosses, clipped at 20, are fits that ignore the truncation."
            ),
            f"**{inside} of {len(means)} means are recovered within three standard errors**, and "
            f"{total - failed} of {total} fits converged. The farthest of all estimates lies "
            f"{max(row['largest_z'] for row in rows):.1f} standard deviations from the truth. *Standard "
            "error* is the mean of those that the fits report (sandwich), *spread* the standard deviation of "
            "the estimates, *bias / its error* the mean minus the truth in standard errors of the mean. "
            "*Ignoring the cut*: the mean of fits by EM or sample moments, most of which are far off.",
            "For the normal law, with its variance known, the closed form has mean "
            f"{known['known_variance']:.3f} and spread {known['known_variance_spread']:.3f}; with both "
            f"unknown, minimum Stein discrepancy estimation finds {known['minimum_stein']:.3f} and "
            f"{other['minimum_stein']:.3f} (spread {known['minimum_stein_spread']:.3f} and "
            f"{other['minimum_stein_spread']:.3f}).",
        ]
    )


def summary(setting: Setting) -> str:
    """One line for the top of the report."""
    rows = setting.read(PART)
    means = [row for row in rows if row["parameter"].startswith("mean")]
    inside = sum(abs(row["bias_z"]) <= 3 for row in means)
    return (
        f"recovers {inside} of {len(means)} known means within three standard errors over "
        f"{rows[0]['repetitions']} samples each; the farthest estimate lies "
        f"{max(row['largest_z'] for row in rows):.1f} standard deviations from the truth."
    )
