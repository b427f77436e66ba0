"""Distribution functions of the probability transform, with simultaneous bands.

If the model is true then F₀(x) is uniform, and the share of data below the model's quantile of z is z up to
noise. Drawn is the difference of the two, so that the bands have room. The transform of each column is taken
from draws of the model, which the bands take into account; that of durations from its cumulative hazard. With
censoring the shares are those of Kaplan and Meier, and the bands an envelope of data simulated from the model
and censored alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.constraints import real_array
from goodstein.errors import InputError
from goodstein.nulls.base import as_null
from goodstein.plot.axis import model_draws
from goodstein.plot.bands import bands, places, ranks
from goodstein.plot.style import bare, canvas, draws, finish, names_of
from goodstein.survival.cox import CoxModel
from goodstein.survival.data import Censored
from goodstein.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.problems.problem import Problem

DRAWS = 20_000
"""Draws of the model at least; ten times the data where that is more, but no more than a million."""
SIMULATED = 999
"""Data sets like censored ones."""
MOST_COLUMNS = 8
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8a8a8a", "#a6761d")
DASHES = ("-", "--", "-.", ":")


@draws("asked", "__len__")
def transform(result: Any, *, ax: Axes | None = None, level: float = 0.95) -> Axes:
    """The share of data below each quantile of the model, less what the model says, in simultaneous bands.

    Parameters
    ----------
    result
        A result with its data; or values of a probability transform, (n,), uniform under the model.
    ax
        As in :func:`null_distribution`.
    level
        Probability that a true model stays in the bands everywhere, in all columns together.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> u = np.random.default_rng(1).uniform(size=100)
    >>> gs.plot.transform(u).get_title(loc="left")
    'Within the bands'
    """
    with canvas(ax) as (ax, colours):
        curves, notes = _curves(result, level)
        z, _, low, high, _ = curves[0]
        together = "places" if len(curves) == 1 else "places and columns"
        label = f"band of a true model, {level:.0%} for all {together}"
        ax.fill_between(z, low - z, high - z, color=colours.data, alpha=0.55, linewidth=0, label=label)
        ax.axhline(0.0, color=colours.ink, linewidth=0.9)
        leaves = []
        for k, (z, share, low, high, name) in enumerate(curves):
            style = {"color": SERIES[k % len(SERIES)], "linestyle": DASHES[k % len(DASHES)], "linewidth": 1.6}
            ax.plot(z, share - z, **style, label=name)
            beyond = (share < low - 1e-12) | (share > high + 1e-12)
            if beyond.any():
                leaves.append(name)
                outside = np.where(beyond, share - z, np.nan)
                ax.plot(z, outside, color=style["color"], linewidth=4.0, solid_capstyle="round")
        ax.set(
            xlim=(0, 1), xlabel="probability under the model", ylabel="share of data below it − probability"
        )
        bare(ax)
        title = f"Beyond the bands: {', '.join(leaves)}" if leaves else "Within the bands"
        return finish(
            ax,
            title,
            "Above zero: more data below this point than the model allows; a slope upwards: more "
            "data around it, downwards: less.",
            *notes,
            columns=3,
        )


Curve = tuple[Array, Array, Array, Array, str]


def _curves(result: Any, level: float) -> tuple[list[Curve], list[str]]:
    if not hasattr(result, "asked"):
        return [_known(real_array(result, "result"), level, "data")], []
    if not result.asked:
        raise InputError(
            "This result does not hold the data any more.", remedy="Plot before it is stored or sent."
        )
    problem = result.asked[0]
    notes = []
    if as_null(result.null).refits:
        notes.append(
            "The model was fitted to these data, of which the bands know nothing: they are too wide."
        )
    if isinstance(problem.data, Censored):
        return [_of_durations(problem, level)], notes
    columns, more = _of_points(problem, result.columns, level)
    return columns, notes + more


def _known(u: Array, level: float, name: str) -> Curve:
    if u.ndim != 1 or not len(u) or not ((u >= 0) & (u <= 1)).all():
        reason = "must be a result, or values of a probability transform, (n,), from 0 to 1."
        raise InputError(reason, argument="result", predicate=True)
    z, low, high = bands(len(u), level)
    return z, np.searchsorted(np.sort(u), z, side="right") / len(u), low, high, name


def _of_points(problem: Problem, columns: Any, level: float) -> tuple[list[Curve], list[str]]:
    domain = problem.domain
    if not isinstance(problem.observations, np.ndarray) or domain.discrete:
        raise InputError("There is no probability transform of such data.", remedy='Use plot(kind="where").')
    data = problem.observations
    n, d = data.shape
    m = int(np.clip(10 * n, DRAWS, 1_000_000))
    drawn = model_draws(problem, m)
    if drawn is None:
        raise InputError(
            f"{problem.model.name} cannot be sampled, so its quantiles are not known.",
            remedy=f'{problem.model.sampler_advice}, or use plot(kind="where").',
        )
    shown = min(d, MOST_COLUMNS)
    z, low, high = bands(n, 1.0 - (1.0 - level) / shown, m)
    at = ranks(n, m).astype(np.intp) - 1
    curves = [
        (z, np.searchsorted(np.sort(data[:, j]), np.sort(drawn[:, j])[at], side="right") / n, low, high, name)
        for j, name in enumerate(names_of(columns, d)[:shown])
    ]
    return curves, [f"The first {shown} of {d} columns are drawn."] if shown < d else []


def _of_durations(problem: Problem, level: float) -> Curve:
    data: Censored = problem.data  # type: ignore[assignment]
    if isinstance(problem.model, CoxModel):
        reason = f"The baseline of {problem.model.name} is not known, so there is no probability transform."
        raise InputError(reason, remedy='Use plot(kind="findings").')
    given = problem.model.given(data)
    u, start = (-np.expm1(-given.cumulative_hazard(t)) for t in (data.durations, data.entry))
    if data.event_observed.all() and not data.late:
        return _known(np.clip(u, 0.0, 1.0), level, "durations")
    rng = np.random.default_rng(0)
    z = places(len(data))
    z = z[z <= u.max()]
    share = kaplan_meier_share(u, data.event_observed, z, start)
    simulated = np.empty((SIMULATED, len(z)))
    for k in range(SIMULATED):
        # On the scale of the cumulative hazard durations from their entry on are exponential.
        c = data.draw_censoring(len(data), rng, data.entry)
        endless = np.isinf(c)
        stop = np.where(endless, 1.0, -np.expm1(-given.cumulative_hazard(np.where(endless, 1.0, c))))
        event = 1.0 - (1.0 - start) * rng.random(len(data))
        simulated[k] = kaplan_meier_share(np.minimum(event, stop), event <= stop, z, start)
    low, high = envelope(simulated, level)
    return z, share, low, high, "durations"


def kaplan_meier_share(u: Array, ended: Any, z: Array, start: Array) -> Array:
    """1 − Ŝ at each place, of values that were watched from `start` on; events come before censorings."""
    order = np.lexsort((~ended, u))
    entered = np.sort(start[start > 0])
    later = len(entered) - np.searchsorted(entered, u[order], side="left")
    left = np.maximum(len(u) - np.arange(len(u)) - later, 1)
    survival = np.concatenate([[1.0], np.cumprod(1.0 - ended[order] / left)])
    return np.asarray(1.0 - survival[np.searchsorted(u[order], z, side="right")])


def envelope(curves: Array, level: float) -> tuple[Array, Array]:
    """Between which values at least a share `level` of the curves (m, k) stays at all places."""
    m = len(curves)
    ranked = np.sort(curves, axis=0)
    below = np.stack(
        [np.searchsorted(ranked[:, k], curves[:, k], side="right") for k in range(curves.shape[1])], 1
    )
    above = np.stack(
        [m - np.searchsorted(ranked[:, k], curves[:, k], side="left") for k in range(curves.shape[1])], 1
    )
    depth = np.minimum(below, above).min(axis=1)
    kept = max(int(np.quantile(depth, 1.0 - level, method="lower")), 1)
    return ranked[kept - 1], ranked[m - kept]
