"""The figures of what chicago.py has measured."""

from __future__ import annotations

import chicago_fits as fits
import numpy as np
from chicago_fits import AGGREGATED, BY_EM, MEDIAN, PART, PART_2020, PUBLISHED, STEP, TWENTY, TWO, YEAR
from matplotlib.colors import LogNorm
from setting import Rows, Setting
from style import COLOURS, GREY, MARKERS, canvas, legend_below
from verdicts import printed

import goodstein as gs
from goodstein.families import Truncated

Array = np.ndarray


def draw(setting: Setting) -> None:
    _draw_pvalues(setting)
    if setting.read(PART).where(data=YEAR):
        _draw_sizes(setting)
    folder = fits.folder_of(setting.data)
    if folder is not None:  # a map needs the points, which are not among the results
        _draw_map(setting, str(folder))


def mapped(setting: Setting) -> tuple[str, dict[str, Rows]]:
    """The data of the map, and the components of its models."""
    rows = setting.read(f"{PART}_laws")
    data = YEAR if rows.where(data=YEAR) else PART_2020
    found = {model: rows.where(data=data, model=model) for model in (TWO, TWENTY)}
    return data, {model: here for model, here in found.items() if here}


def _draw_map(setting: Setting, folder: str) -> None:
    data, models = mapped(setting)
    places = fits.prepared(folder, data, PUBLISHED, 0)
    _, second = fits.halves(places, data, PUBLISHED, 0)
    domain, middles = places.domain, fits.cells(places.domain)
    laws = {model: _law(rows, domain) for model, rows in models.items()}
    options = {"ncols": 2 * len(models), "figsize": (2.4 * 2 * len(models), 4.0), "squeeze": False}
    with canvas(setting, f"{PART}_map", **options) as (fig, grid):
        left, right = grid[0][: len(models)], grid[0][len(models) :]
        for axis, (model, law) in zip(left, laws.items(), strict=True):
            density = np.exp(fits.log_density(law, middles)) * domain.geometry.area
            style = {"norm": LogNorm(0.1, 10.0), "cmap": "YlOrRd", "rasterized": True}
            shown = axis.pcolormesh(*_raster(domain, middles, density), **style)
            axis.plot(*second.points.T, ".", ms=0.7, color="black", alpha=0.5, markeredgewidth=0)
            axis.set_title(f"{model}: density")
        bar = {"location": "bottom", "shrink": 0.7, "aspect": 30, "extend": "both"}
        fig.colorbar(shown, ax=left, label="density, times that of the uniform law", **bar)
        for axis, (model, law) in zip(right, laws.items(), strict=True):
            style = {"vmin": -6, "vmax": 6, "cmap": "PuOr_r", "rasterized": True}
            shown = axis.pcolormesh(*_residuals(law, second.points), **style)
            axis.set_title(f"{model}: residuals")
        fig.colorbar(shown, ax=right, label="(observed − expected)/√expected", **bar)
        for axis in grid[0]:
            for ring in (domain.geometry.exterior, *domain.geometry.interiors):
                axis.plot(*np.array(ring.coords).T, color="black", linewidth=0.6)
            axis.set_aspect("equal")
            axis.set_axis_off()
        left[0].plot([4, 14], [3, 3], color="black", linewidth=1.5)
        left[0].text(9, 3.6, "10 km", ha="center", fontsize=7)


def _law(rows: Rows, domain: gs.Polygon) -> Truncated:
    covs = [[[row["xx"], row["xy"]], [row["xy"], row["yy"]]] for row in rows]
    return fits.mixture(domain, rows.all("weight"), [[row["east"], row["north"]] for row in rows], covs)


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
    middles = fits.cells(law.domain)
    mass = np.exp(fits.log_density(law, middles)) * STEP**2
    expected, _, _ = np.histogram2d(*middles.T, bins=(x, y), weights=mass * len(points))
    observed, _, _ = np.histogram2d(*points.T, bins=(x, y))
    with np.errstate(divide="ignore", invalid="ignore"):
        residual = (observed - expected) / np.sqrt(expected)
    residual[expected < 1.0] = np.nan  # too few for the root to say how much is chance
    return x, y, residual.T


def _draw_pvalues(setting: Setting) -> None:
    """The p-values of all splits, beside what is printed."""
    rows = setting.read(f"{PART}_splits").where(ties=PUBLISHED)
    whole = rows.by("data", "split", "model")  # the last n is the largest
    rows = Rows(row for row in rows if row["n"] == whole[row["data"]][row["split"]][row["model"]]["n"])
    models = [model for model in (TWO, TWENTY) if rows.where(model=model)]
    first = {data: here[0]["n"] for data in fits.SOURCES if (here := rows.where(data=data))}
    options = {"ncols": len(models), "figsize": (4.6 * len(models), 3.6), "sharey": True, "squeeze": False}
    with canvas(setting, f"{PART}_pvalues", **options) as (fig, grid):
        for axis, model in zip(grid[0], models, strict=True):
            for j, test in enumerate(fits.TESTS):
                groups = [rows.where(model=model, test=test, data=data).all("pvalue") for data in first]
                # Side by side, eleven in a row.
                points = [
                    (i + 0.25 * (j - 1) + 0.012 * (k % 11 - 5), value)
                    for i, group in enumerate(groups)
                    for k, value in enumerate(group)
                ]
                style = {"linestyle": "none", "marker": MARKERS[j], "ms": 3.5, "alpha": 0.7}
                x, y = np.array(points, float).reshape(-1, 2).T
                axis.plot(x, y, color=COLOURS[j], label=test, **style)
            axis.axhline(printed(PART, model, MEDIAN)["value"], color=GREY, linestyle="--", label="printed")
            axis.axhline(0.05, color=GREY, linewidth=0.6)
            labels = [f"{data.replace(', as', chr(10) + 'as')}\nn = {n}" for data, n in first.items()]
            axis.set_xticks(range(len(labels)), labels, fontsize=7)
            axis.set_yscale("log")
            axis.set_title(model)
        grid[0][0].set_ylabel("p-value")
        legend_below(fig, grid[0][0], fontsize=8, ncols=4)


def _draw_sizes(setting: Setting) -> None:
    """How many observations it takes."""
    rows = setting.read(PART).where(data=YEAR, ties=PUBLISHED)
    with canvas(setting, f"{PART}_sizes", ncols=2, figsize=(8.0, 3.2), sharey=True) as (_, axes):
        for axis, test in zip(axes, (MEDIAN, AGGREGATED), strict=True):
            for j, model in enumerate((TWO, TWENTY, BY_EM)):
                here = rows.where(model=model, test=test).sorted("n")
                n = here.all("n")
                axis.plot(n, here.all("median"), marker=MARKERS[j], ms=4, color=COLOURS[j], label=model)
                ends = here.all("least"), here.all("most")
                axis.fill_between(n, *ends, color=COLOURS[j], alpha=0.15, linewidth=0)
            axis.axhline(0.05, color=GREY, linewidth=0.6)
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_xticks(n, map(str, n))
            axis.minorticks_off()
            axis.set_xlabel("observations tested (of 2017)")
            axis.set_title(test)
        axes[0].set_ylabel("p-value: median and range over splits")
        axes[0].legend(fontsize=7, loc="lower left")
