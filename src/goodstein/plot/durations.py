r"""Where a model of durations fails: its survival curve beside that of Kaplan and Meier, and who is at risk.

.. math:: \hat S(t) = \prod_{t_k \le t} (1 - d_k / Y_k),

d_k events and Y_k at risk at the time t_k. Stretches of time are coloured where events are more or fewer than
the model allows. Limits of the curve are Greenwood's, on the scale of log(−log S), for one time each.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from goodstein.errors import Explained
from goodstein.plot.sides import entries, places_for, ratio, sentences, spans
from goodstein.plot.style import Palette, bare, finish
from goodstein.survival.data import Censored
from goodstein.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.problems.problem import Problem
    from goodstein.results.result import TestResult

MOST_TICKS = 2000
"""Censored durations that are marked at most."""


def over_time(ax: Axes, result: TestResult, problem: Problem, level: float, colours: Palette) -> Axes:
    """The picture for durations, censored or not."""
    data: Censored = problem.data  # type: ignore[assignment]
    last = 1.04 * float(data.durations.max())
    edges = np.linspace(0.0, last, places_for(len(data), 60, 300) + 1)
    said: tuple[str, ...] = ()
    extra = []
    try:
        middles = 0.5 * (edges[1:] + edges[:-1])
        found = result.witness(middles, level=level)
    except Explained as error:  # some operators see only times at which something was observed
        said = (error.reason,)
    else:
        seen = ratio(found)
        spans(ax, edges, seen, colours)
        said, extra = sentences(result, found, seen), entries(colours, seen, found.what)
    times, survival, low, high = kaplan_meier(data, level)
    steps = {"step": "post", "color": colours.data, "alpha": 0.6, "linewidth": 0}
    ax.fill_between(times, low, high, **steps, label=f"Kaplan–Meier, {level:.0%} limits at each time")
    ax.step(times, survival, where="post", color=colours.ink, linewidth=1.8, label="Kaplan–Meier")
    censored = np.sort(data.durations[~data.event_observed])
    if len(censored):
        shown = censored[:: max(1, len(censored) // MOST_TICKS)]
        height = survival[np.searchsorted(times, shown, side="right") - 1]
        ax.plot(
            shown,
            height,
            "|",
            color=colours.ink,
            markersize=5,
            markeredgewidth=0.7,
            label="censored",
            rasterized=len(shown) > 300,
        )
    grid = np.linspace(0.0, last, 300)
    with np.errstate(over="ignore", under="ignore"):
        curve = np.exp(-problem.model.cumulative_hazard(np.maximum(grid, 1e-9 * last)))
    ax.plot(grid, curve, color=colours.ink, linestyle=(0, (4, 2)), linewidth=1.8, label="model")
    ax.set(xlim=(0.0, last), ylim=(0.0, 1.08), ylabel="share without the event")
    ticks = [tick for tick in ax.get_xticks() if 0.0 <= tick <= last]
    names = [
        f"{tick:g}\n{count:.0f}" for tick, count in zip(ticks, data.at_risk(np.array(ticks)), strict=True)
    ]
    ax.set_xticks(ticks, names)
    ax.set_xlabel("time, and below it the number at risk")
    bare(ax)
    return finish(
        ax, f"{result.model}, n = {result.n}", *said, extra=extra, columns=3 if len(extra) < 2 else 2
    )


def kaplan_meier(data: Censored, level: float) -> tuple[Array, Array, Array, Array]:
    """Times from zero to the longest duration, Ŝ from each on, and Greenwood's limits of it."""
    times, events = np.unique(data.durations[data.event_observed], return_counts=True)
    risk = data.at_risk(times)
    survival = np.cumprod(1.0 - events / risk)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.cumsum(events / (risk * (risk - events))))
        factor = np.exp(z * spread / np.abs(np.log(survival)))
        low, high = survival**factor, survival ** (1.0 / factor)
    # Where nobody is left Greenwood has no limits: those before stay, and nothing is known from below.
    last_known = np.maximum.accumulate(np.where(np.isfinite(factor), np.arange(len(factor)), 0))
    low, high = np.where(np.isfinite(factor), low, 0.0), high[last_known]
    last = float(data.durations.max())
    ends = [1.0], [survival[-1] if len(survival) else 1.0]
    curves = [
        np.concatenate([ends[0], one, one[-1:] if len(one) else ends[1]]) for one in (survival, low, high)
    ]
    return np.concatenate([[0.0], times, [last]]), curves[0], curves[1], curves[2]
