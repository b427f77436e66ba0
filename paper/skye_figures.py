"""Figures of the Skye lavas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from setting import Setting
from skye import (
    CURVES,
    FAMILIES,
    FITTED,
    GRID,
    LAVAS,
    PART,
    ROWS,
    SHOWN,
    generator,
    published_pvalue,
)
from skye_estimates import MAIN, SIMPLEX, TESTS

import goodstein as gs

Array = np.ndarray


def draw(setting: Setting) -> None:
    _draw_triangles(setting)
    _draw_pvalues(setting)


def _draw_triangles(setting: Setting) -> None:
    import mpltern  # noqa: F401  makes the projection known
    from style import COLOURS, canvas

    lavas = gs.datasets.skye_lavas()
    order = generator(PART, LAVAS, 0).permutation(ROWS)
    fitted, tested = lavas[order[:FITTED]], lavas[order[FITTED:]]
    halves = {"density of 11 lavas, plane": TESTS[MAIN].fit(fitted).logpdf}
    log_ratios = TESTS["log-ratios, normal scale"].fit(fitted)
    halves["density of 11 lavas, log-ratios"] = lambda x: (
        log_ratios.logpdf(SIMPLEX.to_logratio(x)) - np.log(x).sum(axis=1)
    )
    whole = {name: one.fit(lavas).logpdf for name, one in FAMILIES.items()}
    options = {"ncols": 2, "figsize": (9.0, 4.6), "subplot_kw": {"projection": "ternary"}}
    with canvas(setting, "skye_triangles", **options) as (_, axes):
        for axis, densities in zip(axes, (halves, whole), strict=True):
            for colour, (name, logpdf) in zip(COLOURS, densities.items(), strict=False):
                _contours(axis, logpdf, colour)
                axis.plot([], [], [], color=colour, label=name)
            axis.set_tlabel("F (iron)")
            axis.set_llabel("A (alkalis)")
            axis.set_rlabel("M (magnesium)")
        dot = {"linestyle": "none", "marker": "o", "color": "black", "ms": 4}
        axes[0].plot(*_corners(fitted), **dot, label="fitted (11)")
        axes[0].plot(*_corners(tested), **dot, mfc="white", label="tested (12)")
        axes[1].plot(*_corners(lavas), **dot, label="all 23")
        for axis in axes:
            axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(0.66, 1.0))


def _corners(x: Array) -> tuple[Array, Array, Array]:
    """Top, left and right of the triangle, as petrologists draw it."""
    return x[:, 1], x[:, 0], x[:, 2]


def _contours(axis: Any, logpdf: Callable[[Array], Array], colour: str) -> None:
    """The smallest regions with 50 and 90 % of the mass."""
    steps = 300
    i, j = np.meshgrid(np.arange(1, steps), np.arange(1, steps), indexing="ij")
    keep = i + j < steps
    x = np.column_stack([i[keep], j[keep], steps - i[keep] - j[keep]]) / steps
    density = np.exp(logpdf(x))
    order = np.sort(density)[::-1]
    mass = np.cumsum(order) / order.sum()
    levels = sorted(order[np.searchsorted(mass, share)] for share in (0.9, 0.5))
    axis.tricontour(*_corners(x), density, levels=levels, colors=colour, linewidths=(1.0, 1.8))


def _draw_pvalues(setting: Setting) -> None:
    from style import COLOURS, GREY, canvas

    rows = setting.read(f"{PART}_pvalues")
    with canvas(setting, "skye_pvalues", ncols=3, figsize=(9.0, 3.2), sharey=True) as (_, axes):
        for axis, test in zip(axes, SHOWN, strict=True):
            for colour, (cell, line) in zip(COLOURS, CURVES.items(), strict=False):
                here = [row for row in rows if row["cell"] == cell and row["test"] == test]
                axis.plot(
                    [row["level"] for row in here],
                    [row["share"] for row in here],
                    line,
                    color=colour,
                    label=cell,
                )
            grid = np.array(GRID)
            axis.plot(grid, grid, color=GREY, linewidth=0.8, label="uniform")
            axis.axvline(published_pvalue(), color="black", linewidth=0.8)
            axis.annotate(" printed .004", (published_pvalue(), 0.93), fontsize=7)
            axis.set(xscale="log", xlim=(0.001, 1), ylim=(0, 1), title=test, xlabel="p")
        axes[0].set_ylabel("share of p-values up to p")
        axes[0].legend(fontsize=6.5, loc="upper left", bbox_to_anchor=(0, 0.92))
