"""The figures of what chicago.py has measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from chicago import (
    AGGREGATED,
    BY_EM,
    MEDIAN,
    PART,
    PART_2020,
    PUBLISHED,
    SOURCES,
    STEP,
    TESTS,
    TWENTY,
    TWO,
    YEAR,
    Array,
    cells,
    folder_of,
    generator,
    log_density,
    prepared,
)
from setting import Row, Setting
from verdicts import printed

import goodstein as gs
from goodstein.families import GaussianMixture, Truncated


def draw(setting: Setting) -> None:
    _draw_pvalues(setting)
    if any(row["data"] == YEAR for row in setting.read(PART)):
        _draw_sizes(setting)
    folder = folder_of(setting)
    if folder is not None:  # a map needs the points, which are not among the results
        _draw_map(setting, folder)


def mapped(setting: Setting) -> tuple[str, dict[str, list[Row]]]:
    """The data of the map, and the components of its models."""
    rows = setting.read(f"{PART}_laws")
    data = YEAR if any(row["data"] == YEAR for row in rows) else PART_2020
    here = [row for row in rows if row["data"] == data and row["model"] in (TWO, TWENTY)]
    return data, {
        model: [row for row in here if row["model"] == model]
        for model in dict.fromkeys(row["model"] for row in here)
    }


def _draw_map(setting: Setting, folder: Path) -> None:
    from matplotlib.colors import LogNorm
    from style import canvas

    data, models = mapped(setting)
    places = prepared(str(folder), data, PUBLISHED, 0)
    _, second = places.split(rng=generator(data, PUBLISHED, "split", 0))
    domain = places.domain
    middles = cells(domain)
    options = {"ncols": 2 * len(models), "figsize": (2.4 * 2 * len(models), 4.0), "squeeze": False}
    with canvas(setting, f"{PART}_map", **options) as (fig, grid):
        axes = grid[0]
        for axis, (model, rows) in zip(axes, models.items(), strict=False):
            density = np.exp(log_density(_law(rows, domain), middles)) * domain.geometry.area
            shown = axis.pcolormesh(
                *_raster(domain, middles, density), norm=LogNorm(0.1, 10.0), cmap="YlOrRd", rasterized=True
            )
            axis.plot(*second.points.T, ".", ms=0.7, color="black", alpha=0.5, markeredgewidth=0)
            axis.set_title(f"{model}: density")
        bar = {"location": "bottom", "shrink": 0.7, "aspect": 30, "extend": "both"}
        fig.colorbar(shown, ax=axes[: len(models)], label="density, times that of the uniform law", **bar)
        for axis, (model, rows) in zip(axes[len(models) :], models.items(), strict=True):
            x, y, residual = _residuals(_law(rows, domain), second.points)
            shown = axis.pcolormesh(x, y, residual, vmin=-6, vmax=6, cmap="PuOr_r", rasterized=True)
            axis.set_title(f"{model}: residuals")
        fig.colorbar(shown, ax=axes[len(models) :], label="(observed − expected)/√expected", **bar)
        for axis in axes:
            for ring in (domain.geometry.exterior, *domain.geometry.interiors):
                axis.plot(*np.array(ring.coords).T, color="black", linewidth=0.6)
            axis.set_aspect("equal")
            axis.set_axis_off()
        axes[0].plot([4, 14], [3, 3], color="black", linewidth=1.5)
        axes[0].text(9, 3.6, "10 km", ha="center", fontsize=7)


def _law(rows: list[Row], domain: gs.Polygon) -> Truncated:
    weights = np.array([row["weight"] for row in rows])
    covs = [[[row["xx"], row["xy"]], [row["xy"], row["yy"]]] for row in rows]
    means = [[row["east"], row["north"]] for row in rows]
    # Written with five digits: not quite one.
    return Truncated(GaussianMixture(weights / weights.sum(), means, covs), domain)


def _raster(domain: gs.Polygon, middles: Array, values: Array) -> tuple[Array, Array, Array]:
    """Edges of the squares and the values in them, NaN outside the city."""
    west, south, east, north = domain.geometry.bounds
    x, y = np.arange(west, east + STEP, STEP), np.arange(south, north + STEP, STEP)
    picture = np.full((len(y) - 1, len(x) - 1), np.nan)
    column, row = (np.floor((middles - [west, south]) / STEP).astype(int)).T
    picture[row, column] = values
    return x, y, picture


def _residuals(law: Truncated, points: Array, side: float = 2.0) -> tuple[Array, Array, Array]:
    """Edges of squares of two kilometres, and how many points they hold beside how many they should."""
    west, south, east, north = law.domain.geometry.bounds
    x, y = np.arange(west, east + side, side), np.arange(south, north + side, side)
    middles = cells(law.domain)
    mass = np.exp(log_density(law, middles)) * STEP**2
    expected, _, _ = np.histogram2d(*middles.T, bins=(x, y), weights=mass * len(points))
    observed, _, _ = np.histogram2d(*points.T, bins=(x, y))
    with np.errstate(divide="ignore", invalid="ignore"):
        residual = (observed - expected) / np.sqrt(expected)
    residual[expected < 1.0] = np.nan  # too few for the root to say how much is chance
    return x, y, residual.T


def _draw_pvalues(setting: Setting) -> None:
    """The p-values of all splits, beside what is printed."""
    from style import COLOURS, GREY, MARKERS, canvas

    rows = [row for row in setting.read(f"{PART}_splits") if row["ties"] == PUBLISHED]
    whole = {(row["data"], row["split"], row["model"]): row["n"] for row in rows}  # the last n is the largest
    rows = [row for row in rows if row["n"] == whole[row["data"], row["split"], row["model"]]]
    models = [model for model in (TWO, TWENTY) if any(row["model"] == model for row in rows)]
    names = [data for data in SOURCES if any(row["data"] == data for row in rows)]
    options = {"ncols": len(models), "figsize": (4.6 * len(models), 3.6), "sharey": True, "squeeze": False}
    with canvas(setting, f"{PART}_pvalues", **options) as (fig, grid):
        for axis, model in zip(grid[0], models, strict=True):
            for j, test in enumerate(TESTS):
                here = [row for row in rows if row["model"] == model and row["test"] == test]
                groups = [[row["pvalue"] for row in here if row["data"] == data] for data in names]
                x = [
                    i + 0.25 * (j - 1) + 0.012 * (k % 11 - 5)
                    for i, group in enumerate(groups)
                    for k in range(len(group))
                ]
                style = {
                    "linestyle": "none",
                    "marker": MARKERS[j],
                    "ms": 3.5,
                    "alpha": 0.7,
                    "color": COLOURS[j],
                }
                axis.plot(x, [value for group in groups for value in group], label=test, **style)
            axis.axhline(printed(PART, model, MEDIAN).value, color=GREY, linestyle="--", label="printed")
            axis.axhline(0.05, color=GREY, linewidth=0.6)
            sizes = [next(row["n"] for row in rows if row["data"] == data) for data in names]
            axis.set_xticks(
                range(len(names)),
                [
                    f"{data.replace(', as', chr(10) + 'as')}\nn = {n}"
                    for data, n in zip(names, sizes, strict=True)
                ],
                fontsize=7,
            )
            axis.set_yscale("log")
            axis.set_title(model)
        grid[0][0].set_ylabel("p-value")
        fig.legend(*grid[0][0].get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=4)


def _draw_sizes(setting: Setting) -> None:
    """How many observations it takes."""
    from style import COLOURS, GREY, MARKERS, canvas

    rows = [row for row in setting.read(PART) if row["data"] == YEAR and row["ties"] == PUBLISHED]
    with canvas(setting, f"{PART}_sizes", ncols=2, figsize=(8.0, 3.2), sharey=True) as (_, axes):
        for axis, test in zip(axes, (MEDIAN, AGGREGATED), strict=True):
            for j, model in enumerate((TWO, TWENTY, BY_EM)):
                here = sorted(
                    (row for row in rows if row["model"] == model and row["test"] == test),
                    key=lambda row: row["n"],
                )
                n = [row["n"] for row in here]
                axis.plot(
                    n, [row["median"] for row in here], marker=MARKERS[j], ms=4, color=COLOURS[j], label=model
                )
                low, high = ([row[key] for row in here] for key in ("least", "most"))
                axis.fill_between(n, low, high, color=COLOURS[j], alpha=0.15, linewidth=0)
            axis.axhline(0.05, color=GREY, linewidth=0.6)
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_xticks(n, map(str, n))
            axis.minorticks_off()
            axis.set_xlabel("observations tested (of 2017)")
            axis.set_title(test)
        axes[0].set_ylabel("p-value: median and range over splits")
        axes[0].legend(fontsize=7, loc="lower left")
