"""Where a model fails on a lattice of one coordinate: its states as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from goodstein.domains.lattice import Lattice
from goodstein.plot.axis import DRAWS, model_draws
from goodstein.plot.sides import SIDES, entries, ratio, sentences, tag, tint
from goodstein.plot.style import HATCHES, Palette, bare, finish, names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.problems.problem import Problem
    from goodstein.results.result import TestResult

MOST_LEVELS = 40
"""Levels beyond which only those as far as the data go are drawn."""
NAMED = 15
"""Levels up to which bars say more or less in words."""
TICKS = 12


def over_states(ax: Axes, result: TestResult, problem: Problem, level: float, colours: Palette) -> Axes:
    """Shares of one coordinate's levels beside those that the model expects."""
    domain, data = problem.domain, problem.observations
    levels = np.sort(domain.levels) if isinstance(domain, Lattice) else np.arange(data.max() + 2.0)
    if np.ptp(data) and len(levels) > MOST_LEVELS:  # counts on a long lattice: as far as they go
        reach = data.max() + 0.1 * np.ptp(data)
        levels = levels[levels <= max(reach, levels[MOST_LEVELS])]
    found = result.witness(levels[:, None], level=level)
    seen = ratio(found)
    shares = np.array([(data[:, 0] == value).mean() for value in levels])
    at = np.arange(len(levels))
    ax.bar(at, shares, 0.8, color=colours.data, label="data")
    drawn = model_draws(problem, DRAWS)
    if drawn is not None:
        expected = np.array([(drawn[:, 0] == value).mean() for value in levels])
        ax.plot(
            at,
            expected,
            "_",
            markersize=min(22.0, 260.0 / len(levels)),
            markeredgewidth=2.0,
            color=colours.ink,
            label="model",
        )
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        for k in np.flatnonzero(sign * seen > 1):
            style = {"facecolor": tint(colours.side(side), 0.35), "edgecolor": colours.side(side)}
            ax.bar(k, shares[k], 0.8, hatch=HATCHES[side], **style)
            if len(levels) <= NAMED:
                tag(ax, float(k), float(shares[k]), side, colours, va="bottom", fontsize=7)
    at = at[:: -(-len(levels) // TICKS)]
    ax.set_xticks(at, [f"{levels[k]:g}" for k in at])
    ax.set(xlabel=names_of(result.columns, 1, "state")[0], ylabel="share")
    ax.margins(y=0.12)
    bare(ax)
    return finish(
        ax,
        f"{result.model}, n = {result.n}",
        *sentences(result, found, seen),
        extra=entries(colours, seen, found.what),
    )
