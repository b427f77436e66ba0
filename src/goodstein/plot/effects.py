"""The findings of an explanation: effects with their intervals."""

from __future__ import annotations

import math
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from goodstein.plot.style import LONGEST_NAME, bare, canvas, draws, finish, safe

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 10
"""Findings that are drawn."""
LETTERS = 112
"""Letters of a statement on one line."""
TICKS = (1, 3, 10, 30, 100, 300, 1000)
"""Half widths that are marked on either side, on a scale that keeps large effects in the picture."""


@draws("findings")
def findings(explanation: Any, *, ax: Axes | None = None) -> Axes:
    """A dot and an interval for each finding below the sentence that says it, those that fail first.

    Effects have units of their own, so each is drawn as its distance from what the model says over half the
    width of its interval: an interval that does not reach the line in the middle excludes the model's value.

    Parameters
    ----------
    explanation
        What :meth:`TestResult.explain` returned, or any object with `findings`, each with `statement`,
        `effect`, `low`, `high`, `adjusted` and `fails`, and `model` where the model's value is not zero.
    ax
        As in :func:`null_distribution`.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Normal(0, 1)
    >>> result = gs.ksd_test(gs.families.Normal(0.5, 1).sample(200, rng=1), model, rng=1)
    >>> gs.plot.findings(result.explain()).get_title(loc="left")
    'What fails'
    """
    found = list(explanation.findings)[:MOST]
    with canvas(ax, (7.2, 1.7 + 0.5 * max(1, len(found)))) as (ax, colours):
        # One stroke for each interval, so that no sentence is crossed out.
        ax.vlines(
            [0.0] * len(found),
            [k - 0.22 for k in range(len(found))],
            [k + 0.3 for k in range(len(found))],
            color=colours.ink,
            linewidth=0.9,
            label="what the model says",
        )
        for k, one in enumerate(found):
            colour, marker = (colours.more, "D") if one.fails else (colours.faint, "o")
            label = "the model fails here" if one.fails else "no evidence against the model"
            effect, low, high = (_number(one, name) for name in ("effect", "low", "high"))
            half, middle = (high - low) / 2, _number(one, "model", 0.0)
            if math.isfinite(effect - middle) and math.isfinite(half) and half > 0:
                errors = [[(effect - low) / half], [(high - effect) / half]]
                style: dict[str, Any] = {"color": colour, "marker": marker, "capsize": 3, "linestyle": "none"}
                ax.errorbar([(effect - middle) / half], [k], xerr=errors, label=label, markersize=5, **style)
            _say(ax, one, k)
        ax.set_ylim(len(found) - 0.4, -0.9)
        ax.set_xscale("asinh", linear_width=TICKS[1])
        low, high = ax.get_xlim()
        ticks = [0, *(tick for each in TICKS for tick in (-each, each) if low <= tick <= high)]
        ax.set_xticks(ticks, [str(tick).replace("-", "−") for tick in ticks])
        ax.minorticks_off()
        ax.set(yticks=[], xlabel="data less model, in half widths of the interval")
        bare(ax, "left", "right", "top")
        rest = len(explanation.findings) - len(found)
        said = "p-values are adjusted for all that was looked at, intervals are for one finding each."
        more = f"{rest} more findings are not drawn." if rest else ""
        title = "What fails" if any(one.fails for one in found) else "Nothing fails that was looked at"
        return finish(ax, title, said if found else "", more, columns=3)


def _say(ax: Axes, one: Any, k: int) -> None:
    """The sentence above an interval, and the p-value at its end."""
    lines = wrap(str(one.statement), LETTERS) or [""]
    text = lines[0] if len(lines) == 1 else f"{lines[0]} …"
    place = {"xycoords": ("axes fraction", "data"), "fontsize": 7, "va": "center"}
    ax.annotate(safe(text, LETTERS + LONGEST_NAME), (0.0, k - 0.42), ha="left", **place)
    p = "p < 0.001" if one.adjusted < 0.001 else f"p = {one.adjusted:.2g}"
    ax.annotate(p, (1.0, k - 0.42), ha="right", **place)


def _number(one: Any, name: str, default: float = math.nan) -> float:
    value = getattr(one, name, None)
    return default if value is None else float(value)
