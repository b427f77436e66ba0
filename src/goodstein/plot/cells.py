"""Where a model fails on a lattice: states of one coordinate as bars, of two as a board."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from goodstein.domains.lattice import Lattice
from goodstein.plot.axis import DRAWS, model_draws
from goodstein.plot.sides import SIDES, entries, ratio, sentences, tag, tint
from goodstein.plot.style import HATCHES, Palette, bare, finish, names_of
from goodstein.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.problems.problem import Problem
    from goodstein.results.result import TestResult

MOST_LEVELS = 40
"""Levels of two coordinates that make a board at most."""
NAMED = 15
"""Levels up to which cells say more or less in words."""
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
    _ticks(ax.xaxis, levels)
    ax.set(xlabel=names_of(result.columns, 1, "state")[0], ylabel="share")
    ax.margins(y=0.12)
    bare(ax)
    return finish(
        ax,
        f"{result.model}, n = {result.n}",
        *sentences(result, found, seen),
        extra=entries(colours, seen, found.what),
    )


def over_board(ax: Axes, result: TestResult, problem: Problem, level: float, colours: Palette) -> Axes:
    """All states of two coordinates; circles have areas like the numbers of observations."""
    domain: Lattice = problem.domain  # type: ignore[assignment]
    data = problem.observations
    levels = domain.levels
    found = result.witness(domain.states(), level=level)
    seen = ratio(found).reshape(len(levels), len(levels))
    codes = domain.encode(data)
    counts = np.zeros((len(levels), len(levels)))
    np.add.at(counts, (codes[:, 0], codes[:, 1]), 1.0)
    for i, j in np.ndindex(counts.shape):
        beyond = abs(seen[i, j]) > 1
        side = "more" if seen[i, j] > 0 else "less"
        if beyond:
            style = {"facecolor": tint(colours.side(side), 0.35), "edgecolor": colours.side(side)}
            ax.fill(*_square(i, j), hatch=HATCHES[side], linewidth=0.6, **style)
            if len(levels) <= NAMED:
                tag(ax, i, j + 0.33, side, colours, fontsize=7)
    i, j = np.nonzero(counts)
    size = (min(28.0, 240.0 / len(levels))) ** 2 / counts.max() * counts[i, j]
    ax.scatter(i, j, s=size, color=colours.faint, zorder=3, alpha=0.9)
    ax.plot([], [], "o", color=colours.faint, markersize=6, label="observations, by area")
    names = names_of(result.columns, 2)
    ax.set(xlabel=names[0], ylabel=names[1])
    ax.set(xlim=(-0.6, len(levels) - 0.4), ylim=(-0.6, len(levels) - 0.4), aspect="equal")
    _ticks(ax.xaxis, levels)
    _ticks(ax.yaxis, levels)
    bare(ax)
    return finish(
        ax,
        f"{result.model}, n = {result.n}",
        *sentences(result, found, seen),
        extra=entries(colours, seen, found.what),
    )


def _square(i: int, j: int) -> tuple[Array, Array]:
    return i + np.array([-0.5, 0.5, 0.5, -0.5]), j + np.array([-0.5, -0.5, 0.5, 0.5])


def _ticks(axis: object, levels: Array) -> None:
    every = -(-len(levels) // TICKS)
    at = np.arange(0, len(levels), every)
    axis.set_ticks(at, [f"{levels[k]:g}" for k in at])  # type: ignore[attr-defined]
