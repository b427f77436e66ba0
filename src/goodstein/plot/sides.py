"""More and less than the model allows: how both are drawn, along an axis and over a region.

A witness z is held against its critical value c for all places together. Beyond ±c a place is coloured and
hatched, beyond ±2c more strongly; within the limits nothing is drawn, for chance explains what is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.plot.style import HATCHES, Palette
from goodstein.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.results.result import TestResult
    from goodstein.results.witness import Witness

STEPS = (1.0, 2.0)
"""Multiples of the critical value from which a place is coloured, and coloured strongly."""
OPACITY = (0.30, 0.35)
FARTHEST = 1e9
SIDES = ("more", "less")

PAIRS = 4e7
"""Observations times places that a picture asks for at most."""


def words(side: str, what: str = "data") -> str:
    """What a side is called.

    >>> from goodstein.plot.sides import words
    >>> words("less"), words("less", "events")
    ('less data than the model allows', 'fewer events than the model allows')
    """
    quantity = "fewer" if side == "less" and what != "data" else side
    return f"{quantity} {what} than the model allows"


def places_for(n: int, least: int, most: int) -> int:
    """How many places are looked at: fewer where there are many observations."""
    return int(np.clip(PAIRS / n, least, most))


def ratio(found: Witness) -> Array:
    """z in units of its critical value: beyond ±1 is more than chance explains."""
    if not found.critical > 0:
        return np.zeros(len(found.z))
    beyond = np.asarray(found.z / found.critical)
    # Hardly any data are there, so that no colour is shown, whatever the features of such a point are.
    return beyond if found.empty is None else np.where(found.empty, 0.0, beyond)


def entries(colours: Palette, seen: Array, what: str = "data") -> list[Any]:
    """What the legend says of the sides that were found."""
    from matplotlib.patches import Patch

    there = {"more": bool((seen > 1).any()), "less": bool((seen < -1).any())}
    return [
        Patch(
            facecolor=tint(colours.side(side), 0.4),
            edgecolor=colours.side(side),
            hatch=HATCHES[side],
            linewidth=0.8,
            label=words(side, what),
        )
        for side in SIDES
        if there[side]
    ]


def sentences(result: TestResult, found: Witness, seen: Array) -> tuple[str, ...]:
    """The small print: what colours mean, and of a collection which member saw it."""
    limits = f"limits that hold for all places together, {found.level:.0%}"
    if (np.abs(seen) > 1).any():
        said = f"Coloured beyond {limits}; stronger beyond twice these."
    else:
        said = f"Nowhere beyond {limits}: no single place stands out."
    local = result.local_best
    member = "" if local is None else f"Seen by the member that looks at {local.looks_at}."
    return (said, member, *found.notes)


def spans(ax: Axes, edges: Array, seen: Array, colours: Palette) -> None:
    """Colour the stretches of the horizontal axis that lie beyond the limits; m + 1 edges of m places."""
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        colour = colours.side(side)
        for step, opacity in zip(STEPS, OPACITY, strict=True):
            for start, stop in runs(sign * seen > step):
                ends = edges[start], edges[stop]
                ax.axvspan(*ends, facecolor=tint(colour, opacity), edgecolor="none", linewidth=0, zorder=0.5)
                if step == STEPS[0]:
                    hatched = {"facecolor": "none", "edgecolor": tint(colour, 0.9), "hatch": HATCHES[side]}
                    ax.axvspan(*ends, **hatched, linewidth=0, zorder=0.6)
                    at = ax.get_xaxis_transform()
                    tag(ax, float(np.mean(ends)), 0.98, side, colours, transform=at, va="top")


def runs(mask: Any) -> list[tuple[int, int]]:
    """Starts and ends of the stretches where something holds.

    >>> import numpy as np
    >>> from goodstein.plot.sides import runs
    >>> runs(np.array([False, True, True, False, True]))
    [(1, 3), (4, 5)]
    """
    steps = np.diff(np.concatenate([[0], np.asarray(mask, int), [0]]))
    return list(zip(np.flatnonzero(steps > 0).tolist(), np.flatnonzero(steps < 0).tolist(), strict=True))


def regions(
    ax: Axes, x: Array, y: Array, seen: Array, colours: Palette, clip: Any = None, inside: Any = True
) -> None:
    """Colour the parts of a plane that lie beyond the limits, on a grid (k, l), cut along an outline."""
    from scipy.ndimage import distance_transform_edt

    drawn = []
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        colour, values = colours.side(side), np.clip(sign * seen, 0.0, 1e6)
        if not (values > STEPS[0]).any():
            continue
        for step, opacity in zip(STEPS, OPACITY, strict=True):
            if (values > step).any():
                drawn.append(
                    ax.contourf(x, y, values, levels=[step, FARTHEST], colors=[tint(colour, opacity)])
                )
        hatch = ax.contourf(x, y, values, levels=[STEPS[0], FARTHEST], colors="none", hatches=[HATCHES[side]])
        hatch.set_edgecolor(tint(colour, 0.9))
        hatch.set_linewidth(0.0)
        line = ax.contour(x, y, values, levels=[STEPS[0]], colors=[colour], linewidths=1.2)
        drawn += [hatch, line]
        # Where there is most room for the word: the innermost place of the largest region.
        room = distance_transform_edt(np.pad((values > STEPS[0]) & inside, 1))[1:-1, 1:-1]
        top = np.unravel_index(np.argmax(room), values.shape)
        tag(ax, float(x[top]), float(y[top]), side, colours)
    for one in drawn:
        if clip is not None:
            one.set_clip_path(clip)


def tag(ax: Axes, x: float, y: float, side: str, colours: Palette, **options: Any) -> None:
    """The word itself, inside the region, with a rim that keeps it readable over hatches."""
    from matplotlib.patheffects import withStroke

    style = {"ha": "center", "va": "center", "fontsize": "small", "fontweight": "bold", "zorder": 5} | options
    rim = [withStroke(linewidth=2.5, foreground=colours.paper)]
    ax.text(x, y, side, color=colours.ink, path_effects=rim, clip_on=True, **style)


def tint(colour: str, alpha: float) -> tuple[float, ...]:
    """A colour with an opacity of its own."""
    from matplotlib.colors import to_rgba

    red, green, blue, opaque = to_rgba(colour, alpha)
    return red, green, blue, opaque
