"""What each observation contributes to the statistic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.plot.sides import words
from goodstein.plot.style import MOST_POINTS, VECTORS, bare, canvas, drawn_rows, draws, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMED = 6
"""Rows whose numbers are written beside them."""


@draws("contributions", "sorted")
def contributions(result: Any, *, ax: Axes | None = None, level: float = 0.95) -> Axes:
    """Contributions of all observations in the order of their size, with limits for all of them together.

    Parameters
    ----------
    result
        A result with its data, or what :meth:`TestResult.contributions` returned.
    ax
        As in :func:`null_distribution`.
    level
        Level of confidence of the limits, where `result` is a result.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Normal(0, 1)
    >>> result = gs.ksd_test(model.sample(50, rng=1), model, rng=1)
    >>> gs.plot.contributions(result).get_xlabel()
    'contribution to the statistic'
    """
    found = result.contributions(level=level) if callable(getattr(result, "contributions", None)) else result
    parts = found.sorted()
    n = len(parts.row)
    with canvas(ax, (6.4, 4.2)) as (ax, colours):
        order = np.arange(n)
        some = drawn_rows(n)
        some = np.union1d(some, np.flatnonzero(parts.flagged)[:MOST_POINTS])
        ax.fill_betweenx(
            order[some],
            parts.lower[some],
            parts.upper[some],
            color=colours.data,
            alpha=0.5,
            linewidth=0,
            label=f"limits under a true model, {parts.level:.0%} for all together",
        )
        styles = {
            "within the limits": (~parts.flagged, colours.faint, "o"),
            f"lies where there are {words('more')}": (
                parts.flagged & (parts.contribution > 0),
                colours.more,
                "^",
            ),
            f"lies where there are {words('less')}": (
                parts.flagged & (parts.contribution < 0),
                colours.less,
                "v",
            ),
        }
        for label, (mask, colour, marker) in styles.items():
            rows = some[mask[some]]
            if len(rows):
                style = {"s": 18 if n < 200 else 9, "linewidths": 0, "zorder": 3, "label": label}
                ax.scatter(
                    parts.contribution[rows],
                    rows,
                    color=colour,
                    marker=marker,
                    rasterized=len(rows) > VECTORS,
                    **style,
                )
        ends = [k for k in (*range(NAMED), *range(n - NAMED, n)) if 0 <= k < n and parts.flagged[k]]
        for k in dict.fromkeys(ends) if n <= 60 else ends[:1]:
            ax.annotate(
                f"row {parts.row[k]}",
                (parts.contribution[k], k),
                (5, 0),
                textcoords="offset points",
                fontsize=7,
                va="center",
            )
        ax.axvline(
            parts.statistic,
            color=colours.ink,
            linestyle="--",
            linewidth=1.1,
            label="their mean, the statistic",
        )
        ax.set(xlabel="contribution to the statistic", yticks=[], ylabel="observations, largest first")
        ax.set_ylim(n - 0.5 + 0.02 * n, -0.5 - 0.02 * n)
        bare(ax, "left", "right", "top")
        left = (
            f"{len(some)} of {n} observations are drawn, all flagged ones among them."
            if len(some) < n
            else ""
        )
        flagged = int(parts.flagged.sum())
        return finish(ax, f"{flagged} of {n} observations beyond the limits", left, *parts.notes)
