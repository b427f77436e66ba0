"""Figures of the remarks on survival."""

from __future__ import annotations

from collections.abc import Sequence

from setting import Row, Setting
from style import COLOURS, GREY, MARKERS, canvas
from survival_cells import (
    AGGREGATED,
    ALL,
    ALTERNATIVES,
    CDF,
    CONSTANT,
    FALLING,
    FINE_CDF,
    FINE_HAZARD,
    HAZARD,
    PLAIN,
    RATES,
    RISING,
    SCALES,
    SURVIVAL,
    cell_name,
)
from survival_remarks import PART as REMARKS

STYLES = {
    CDF: "-",
    HAZARD: "-",
    PLAIN: "-",
    SURVIVAL: "-",
    FINE_CDF: "--",
    FINE_HAZARD: "--",
    AGGREGATED: ":",
}
COLOUR_OF = {CDF: 0, FINE_CDF: 0, HAZARD: 1, FINE_HAZARD: 1, PLAIN: 2, SURVIVAL: 3, AGGREGATED: 6}


def draw(setting: Setting) -> None:
    found = {(row["cell"], row["test"]): row for row in setting.read(REMARKS)}
    first = [(CONSTANT, law) for law in ALTERNATIVES[CONSTANT]]
    _draw_panels(setting, REMARKS, found, first, (*SCALES, AGGREGATED))
    others = [(name, law) for name in (RISING, FALLING) for law in ALTERNATIVES[name]]
    _draw_panels(setting, "survival_operators", found, others, (*ALL, AGGREGATED))


def _draw_panels(
    setting: Setting,
    name: str,
    found: dict[tuple[str, str], Row],
    panels: Sequence[tuple[str, str]],
    tests: Sequence[str],
) -> None:
    """Power against the rate of censoring, one panel for each alternative."""
    options = {"nrows": 2, "ncols": 3, "figsize": (9.0, 5.2), "sharex": True, "sharey": True}
    with canvas(setting, name, **options) as (fig, axes):
        for axis, (null, law) in zip(axes.flat, panels, strict=True):
            here = {share: cell_name(null, law, share) for share in RATES}
            seen = [share for share, cell in here.items() if (cell, tests[0]) in found]
            bounds = [found[here[share], tests[0]]["bound"] for share in seen]
            axis.plot(
                [100 * share for share in seen], bounds, color=GREY, linewidth=2.5, label="most possible"
            )
            for test in tests:
                number = COLOUR_OF[test]
                axis.plot(
                    [100 * share for share in seen],
                    [found[here[share], test]["power"] for share in seen],
                    STYLES[test],
                    marker=MARKERS[number],
                    ms=4,
                    color=COLOURS[number],
                    label=test,
                )
            title = law if null == CONSTANT else f"{null}: {law}"
            axis.set(title=title, ylim=(-0.02, 1.04), xticks=[100 * share for share in RATES])
        for axis in axes[:, 0]:
            axis.set_ylabel("power at level .01")
        for axis in axes[1]:
            axis.set_xlabel("per cent censored under the null")
        fig.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
