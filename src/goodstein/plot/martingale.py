r"""Sums of martingale residuals over covariates, with simultaneous bands.

.. math:: W_j(x) = \sum_{i: z_{ij} \le x} M_i, \qquad M_i = \delta_i - (Λ(t_i \mid z_i) - Λ(e_i \mid z_i)),

events less those that the model expects, of all rows whose covariate is x or less, in standard errors. Where
the curve rises there are more events than the model expects, where it falls fewer. Bands come from random
signs on what each row adds to the sum, in which the fit of the model to the very data is accounted for.

References
----------
Lin, Wei, Ying (1993), Checking the Cox model with cumulative sums of martingale-based residuals, Biometrika
80.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.constraints import check_share
from goodstein.errors import InputError
from goodstein.explain.fits import fit_of
from goodstein.plot.style import SERIES, bare, canvas, draws, finish
from goodstein.survival.checks import expected_events
from goodstein.survival.cox import CoxModel
from goodstein.survival.data import Censored
from goodstein.survival.residuals import event_features
from goodstein.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.problems.problem import Problem

DRAWS = 999
MOST_COVARIATES = 8
SHARES = np.linspace(0.04, 0.96, 47)
"""Up to which shares of the rows sums are taken: of fewer, or of nearly all, they say little."""
DASHES = ("-", "--", "-.", ":")


@draws("asked")
def residuals(result: Any, *, ax: Axes | None = None, level: float = 0.95, theme: str | None = None) -> Axes:
    """Sums of martingale residuals over each covariate, in simultaneous bands.

    Parameters
    ----------
    result
        A result of durations with covariates, with its data.
    ax, theme
        As in :func:`null_distribution`.
    level
        Probability that a true model stays in the bands everywhere, over all covariates together.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> rng = np.random.default_rng(1)
    >>> z = rng.normal(size=300)
    >>> data = gs.Censored(rng.exponential(np.exp(z**2)), covariates=z)
    >>> model = gs.SurvivalRegression(cumulative_hazard=lambda t, z: t / 2, name="constant hazard")
    >>> gs.plot.residuals(gs.ksd_test(data, model, rng=1)).get_title(loc="left")
    'Beyond the bands: z'
    """
    check_share(level, "level")
    problem = _problem(result)
    data: Censored = problem.data  # type: ignore[assignment]
    names, places = data.covariate_names[:MOST_COVARIATES], _places(data)
    sums, spread, limit = _standardised(problem, result.null, places, level)
    with canvas(ax, theme) as (ax, colours):
        label = (
            f"band of a true model, {level:.0%} for all places{' and covariates' if len(names) > 1 else ''}"
        )
        ax.axhspan(-limit, limit, color=colours.data, alpha=0.55, linewidth=0, label=label)
        ax.axhline(0.0, color=colours.ink, linewidth=0.9)
        leaves, values = [], (sums / spread).reshape(len(names), -1)
        for k, (name, curve) in enumerate(zip(names, values, strict=True)):
            style = {"color": SERIES[k % len(SERIES)], "linestyle": DASHES[k % len(DASHES)], "linewidth": 1.6}
            ax.plot(SHARES, curve, **style, label=name)
            beyond = np.abs(curve) > limit
            if beyond.any():
                leaves.append(name)
                outside = np.where(beyond, curve, np.nan)
                ax.plot(SHARES, outside, color=style["color"], linewidth=4.0, solid_capstyle="round")
        ax.set(
            xlim=(0, 1),
            xlabel="share of rows with this value of the covariate or less",
            ylabel="excess of events, in standard errors",
        )
        bare(ax)
        title = f"Beyond the bands: {', '.join(leaves)}" if leaves else "Within the bands"
        said = ["A slope upwards: more events there than the model expects, downwards: fewer."]
        if len(data.covariate_names) > len(names):
            said.append(f"The first {len(names)} of {len(data.covariate_names)} covariates are drawn.")
        return finish(ax, title, *said, columns=3)


def _problem(result: Any) -> Problem:
    if not getattr(result, "asked", None):
        reason = "must be a result that holds its data."
        raise InputError(
            reason, argument="result", predicate=True, remedy="Plot before it is stored or sent."
        )
    problem: Problem = result.asked[0]
    if not isinstance(problem.data, Censored) or problem.data.covariates is None:
        raise InputError("Residuals are drawn over covariates of durations, and these have none.")
    return problem


def _places(data: Censored) -> Array:
    """Whether the covariate of a row is one of the smallest, for each share and covariate, (n, places)."""
    z = data.covariates
    assert z is not None
    return np.hstack(
        [z[:, [j]] <= np.quantile(z[:, j], SHARES) for j in range(min(z.shape[1], MOST_COVARIATES))]
    )


def _standardised(problem: Problem, null: Any, places: Array, level: float) -> tuple[Array, Array, float]:
    """The sums at all places, their standard errors, and how many of these they stay within."""
    data: Censored = problem.data  # type: ignore[assignment]
    n, taken = len(data), 0
    if isinstance(problem.model, CoxModel):
        parts = event_features(problem.model, data, places.astype(np.float64))
        sums = parts.sum(axis=0)
    else:

        def added(model: Any) -> Array:
            known = problem.with_model(model).model
            return places * (data.event_observed - expected_events(known, data))[:, None]

        parts = added(problem.model)
        sums = parts.sum(axis=0)
        fit = fit_of(problem, null)
        slopes = fit.slopes(lambda model: added(model).mean(axis=0))
        if slopes is not None and fit.influence is not None:
            parts, taken = parts - fit.influence.values @ slopes, len(slopes)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (DRAWS, n))
    drawn = signs @ parts * np.sqrt(n / (n - taken))
    spread = drawn.std(axis=0)
    spread = np.maximum(spread, 1e-3 * spread.max())
    return sums, spread, float(np.quantile(np.abs(drawn / spread).max(axis=1), level))
