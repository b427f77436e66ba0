"""The findings of an explanation: effects with their intervals."""

from __future__ import annotations

import math
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from goodstein.plot.style import bare, canvas, finish, safe

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 15
"""Findings that are drawn."""


def findings(explanation: Any, *, ax: Axes | None = None, theme: str | None = None) -> Axes:
    """A dot and an interval for each finding, those that fail first, in units of half their interval's width.

    Effects have units of their own, so each is divided by half the width of its interval: what fails lies
    away from zero by more than one. The effect itself stands beside it in its own unit.

    Parameters
    ----------
    explanation
        What ``result.explain()`` returned, or any object with `findings`, each with `statement`, `effect`,
        `low`, `high`, `adjusted` and `fails`.
    ax, theme
        As in :func:`null_distribution`.
    """
    found = list(explanation.findings)[:MOST]
    with canvas(ax, theme, (7.2, 1.6 + 0.46 * max(1, len(found)))) as (ax, colours):
        ax.axvline(0.0, color=colours.ink, linewidth=0.9, label="what the model says")
        for k, one in enumerate(found):
            effect, low, high = (_number(one, name) for name in ("effect", "low", "high"))
            half = (high - low) / 2
            colour, marker = (colours.more, "D") if one.fails else (colours.faint, "o")
            label = "the model fails here" if one.fails else "no evidence against the model"
            if math.isfinite(effect) and math.isfinite(half) and half > 0:
                errors = [[(effect - low) / half], [(high - effect) / half]]
                style: dict[str, Any] = {"color": colour, "marker": marker, "capsize": 3, "linestyle": "none"}
                ax.errorbar([effect / half], [k], xerr=errors, label=label, **style)
            unit = str(getattr(one, "unit", "") or "")
            said = f"{_short(effect)} {unit}".strip() if math.isfinite(effect) else ""
            if math.isfinite(low) and math.isfinite(high):
                said += f"  [{_short(low)}, {_short(high)}]"
            text = safe(f"{said}, p = {one.adjusted:.2g}" if said else f"p = {one.adjusted:.2g}", 80)
            ax.annotate(text, (1.01, k), xycoords=("axes fraction", "data"), fontsize=7, va="center")
        names = [safe(shorten(str(one.statement), 78, placeholder="…"), 80) for one in found]
        ax.set_yticks(range(len(found)), ["\n".join(_halves(name)) for name in names], fontsize=7)
        ax.set_ylim(len(found) - 0.4, -0.6)
        ax.set_xlabel("effect, in halves of its interval")
        bare(ax, "left", "right", "top")
        if not found:
            ax.set_xticks([])
        rest = len(explanation.findings) - len(found)
        more = f"{rest} more findings are not drawn." if rest else ""
        title = "What fails" if any(one.fails for one in found) else "Nothing fails that was looked at"
        return finish(ax, title, "p-values are adjusted for all that was looked at.", more, columns=3)


def _number(one: Any, name: str) -> float:
    value = getattr(one, name, None)
    return math.nan if value is None else float(value)


def _short(value: float) -> str:
    return f"{value:.3g}"


def _halves(text: str) -> list[str]:
    if len(text) <= 42:
        return [text]
    cut = text.rfind(" ", 0, 44)
    return [text[:cut], text[cut + 1 :]] if cut > 0 else [text]
