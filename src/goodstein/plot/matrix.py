"""Several dimensions: margins along the diagonal, pairs of columns below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from goodstein.errors import Explained, InputError
from goodstein.numerics.polynomials import legendre
from goodstein.plot.axis import bins_of, model_draws, view
from goodstein.plot.sides import words
from goodstein.plot.style import VECTORS, Palette, bare, drawing, drawn_rows, draws, left_out, names_of, safe
from goodstein.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from goodstein.results.result import TestResult

MOST_COLUMNS, MOST_ROWS = 5, 300
DRAWS = 20_000
SHARES = (0.5, 0.9)
"""Shares of the model inside the contours."""
BINS = 24
ORDERS = 4
"""Where columns lie, how wide, skewed and peaked they are."""


@draws("asked")
def pairs(result: TestResult, *, level: float = 0.95) -> Figure:
    """All pairs of columns, with the observations that contribute beyond their limits marked.

    On the diagonal a histogram of each column and what the model expects; below it the observations and
    contours that hold half and nine tenths of the model, where it can be sampled. Of many columns those are
    drawn that differ most from the model, by themselves or in pairs.

    Parameters
    ----------
    result
        A result with its data.
    level
        Level of confidence of the limits of contributions, for all observations together.
    """
    if not result.asked or not isinstance(result.asked[0].observations, np.ndarray):
        raise InputError("Pairs are drawn of a result that holds its data, rows of numbers.")
    problem = result.asked[0]
    data = problem.observations
    shown = min(data.shape[1], MOST_COLUMNS)
    drawn = model_draws(problem, DRAWS)
    chosen, only = _columns(data, drawn, shown)
    names = [names_of(result.columns, data.shape[1])[j] for j in chosen]
    data, drawn = data[:, chosen], None if drawn is None else drawn[:, chosen]
    marks, said = _marks(result, level)
    with drawing() as (plt, colours):
        width = float(np.clip(1.7 * shown, 4.5, 9.0))
        figure, axes = plt.subplots(
            shown, shown, figsize=(width, width + 0.5), squeeze=False, layout="constrained", sharex="col"
        )
        views = [view(data[:, j], drawn=None if drawn is None else drawn[:, j]) for j in range(shown)]
        for i, j in np.ndindex(shown, shown):
            ax = axes[i, j]
            bare(ax)
            ax.tick_params(labelsize=6, labelleft=j == 0)
            ax.locator_params(nbins=4)
            if j > i:
                ax.set_axis_off()
            elif i == j:
                _margin(ax, data[:, i], None if drawn is None else drawn[:, i], views[i], colours)
            else:
                _pair(ax, data[:, [j, i]], None if drawn is None else drawn[:, [j, i]], marks, colours)
                ax.set(xlim=views[j], ylim=views[i])
            if i == shown - 1:
                ax.set_xlabel(names[j], fontsize=8)
            if j == 0 and i > 0:
                ax.set_ylabel(names[i], fontsize=8)
        found: dict[str, Any] = {}
        for ax in axes.ravel():
            found |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
        place = axes[0, min(1, shown - 1)].get_position().x0 + 0.02
        # Above the diagonal, where of two columns there is little room.
        corner, anchor = ("upper left", place + 0.12) if shown > 2 else ("upper right", 0.99)
        figure.legend(
            found.values(),
            found.keys(),
            loc=corner,
            bbox_to_anchor=(anchor, 0.93),
            fontsize=7,
            frameon=False,
        )
        figure.suptitle(f"{safe(result.model, 70)}, n = {result.n}", x=0.02, ha="left", fontsize="medium")
        text = " ".join(one for one in (said, left_out(len(data), MOST_ROWS), only) if one)
        figure.supxlabel(text, fontsize=7.5, x=0.02, ha="left", wrap=True)
    return figure


def _columns(data: Array, drawn: Array | None, shown: int) -> tuple[list[int], str]:
    """Which columns are drawn, and what is said of it.

    Ranks of the data among draws of the model have shifted Legendre polynomials whose means are zero, and
    products of two ranks those of the model. The columns are those of the largest of these means, in units of
    chance, less what chance makes of so many.
    """
    d, n = data.shape[1], len(data)
    if shown == d:
        return list(range(d)), ""
    if drawn is None:
        return list(range(shown)), f"The first {shown} of {d} columns."
    u, v = (np.column_stack([_ranks(x[:, j], drawn[:, j]) for j in range(d)]) for x in (data, drawn))
    own = np.array([legendre(u[:, j], ORDERS)[:, 1:].mean(axis=0) for j in range(d)])
    both = 12.0 * ((u - 0.5).T @ (u - 0.5) / n - (v - 0.5).T @ (v - 0.5) / len(v))
    first, second = np.triu_indices(d, 1)
    of = [(j,) for j in range(d)] + list(zip(first.tolist(), second.tolist(), strict=True))
    evidence = np.append(
        n * (own**2).max(axis=1) / 2 - np.log(d * ORDERS),
        n * both[first, second] ** 2 / 2 - np.log(len(first)),
    )
    found = dict.fromkeys(j for k in np.argsort(-evidence, kind="stable").tolist() for j in of[k])
    return sorted(list(found)[:shown]), f"Of {d} columns the {shown} that differ most from the model."


def _ranks(x: Array, among: Array) -> Array:
    """Shares of draws below x, equal ones counted half."""
    ordered = np.sort(among)
    below, up_to = (np.searchsorted(ordered, x, side) for side in ("left", "right"))
    return np.asarray((below + up_to) / (2.0 * len(ordered)))


def _marks(result: TestResult, level: float) -> tuple[npt.NDArray[np.intp], str]:
    """+1, −1 or 0 for each observation: it contributes beyond its limits, or not."""
    n = len(result.asked[0].data)
    marks = np.zeros(n, dtype=np.intp)
    try:
        parts = result.contributions(level=level)
    except Explained as error:
        return marks, error.reason
    numbers = result.asked[0].data.row_numbers
    place = np.searchsorted(numbers, parts.row[parts.flagged])
    marks[place] = np.sign(parts.contribution[parts.flagged]).astype(np.intp)
    limits = f"beyond limits for all observations together, {level:.0%}."
    return marks, f"Marked: contributions {limits}" if marks.any() else f"No observation contributes {limits}"


def _margin(ax: Axes, x: Array, drawn: Array | None, limits: tuple[float, float], colours: Palette) -> None:
    bins = bins_of(x, *limits, BINS)
    ax.hist(x, bins, density=True, histtype="stepfilled", color=colours.data, label="data")
    if drawn is not None:
        shares = np.histogram(drawn, bins)[0] / (len(drawn) * np.diff(bins))
        ax.stairs(shares, bins, color=colours.ink, linewidth=1.2, label="model")
    ax.set(yticks=[], xlim=limits)
    bare(ax, "left", "right", "top")


def _pair(ax: Axes, xy: Array, drawn: Array | None, marks: npt.NDArray[np.intp], colours: Palette) -> None:
    rows = drawn_rows(len(xy), MOST_ROWS)
    styles: dict[int, tuple[str, str, str, Any]] = {
        0: ("observations", colours.faint, "o", 0.6),
        1: (words("more"), colours.more, "^", 0.9),
        -1: (words("less"), colours.less, "v", 0.9),
    }
    for mark, (label, colour, marker, alpha) in styles.items():
        some = rows[marks[rows] == mark]
        if len(some):
            style = {"s": 5 if mark == 0 else 9, "marker": marker, "linewidths": 0, "alpha": alpha}
            ax.scatter(*xy[some].T, color=colour, label=label, rasterized=len(rows) > VECTORS / 3, **style)
    if drawn is not None:
        x, y, density = _smooth(drawn)
        ranked = np.sort(density.ravel())[::-1]
        mass = np.cumsum(ranked) / ranked.sum()
        levels = sorted({float(ranked[np.searchsorted(mass, share)]) for share in SHARES})
        ax.contour(x, y, density.T, levels=levels, colors=[colours.ink], linewidths=0.8)


def _smooth(drawn: Array) -> tuple[Array, Array, Array]:
    from scipy.ndimage import gaussian_filter

    limits = [view(drawn[:, k]) for k in range(2)]
    counts, x, y = np.histogram2d(drawn[:, 0], drawn[:, 1], BINS, limits)
    return 0.5 * (x[1:] + x[:-1]), 0.5 * (y[1:] + y[:-1]), gaussian_filter(counts, 1.0)
