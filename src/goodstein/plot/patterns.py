"""Which point patterns a model does not explain: themselves, those that contribute most first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.plot.plane import boundary, outline_of
from goodstein.plot.style import Palette, blank, drawn_rows, safe
from goodstein.types import Array

if TYPE_CHECKING:
    from goodstein.problems.problem import Problem
    from goodstein.results.result import TestResult

SHOWN = 8
MOST = 300
"""Points of a pattern that are drawn at most."""


def over_patterns(plt: Any, result: TestResult, problem: Problem, level: float, colours: Palette) -> Any:
    """A figure with a window for each of the patterns that contribute most."""
    parts = result.contributions(level=level).sorted()
    shown = min(SHOWN, len(parts))
    rows = 2 if shown > 4 else 1
    columns = -(-shown // rows)
    figure, axes = plt.subplots(
        rows, columns, figsize=(2.1 * columns, 2.35 * rows + 1.0), squeeze=False, layout="constrained"
    )
    for k, ax in enumerate(axes.ravel()):
        if k >= shown:
            ax.set_axis_off()
            continue
        pattern: Array = problem.data[int(parts.row[k])]  # type: ignore[index]
        outline_of(ax, boundary(problem.domain), colours)
        some = pattern[drawn_rows(len(pattern), MOST)] if len(pattern) else pattern
        y = some[:, 1] if some.shape[1] > 1 else np.zeros(len(some))
        ax.scatter(some[:, 0], y, s=7, color=colours.more if parts.flagged[k] else colours.ink, linewidths=0)
        blank(ax)
        said = "\nbeyond the limits" if parts.flagged[k] else ""
        ax.set_title(f"pattern {parts.row[k]}, {len(pattern)} points{said}", fontsize="small", loc="left")
    dim = problem.domain.dim
    seen = "" if dim <= 2 else f" Seen along the first two of {dim} coordinates."
    flagged = int(parts.flagged.sum())
    figure.suptitle(f"{safe(result.model, 60)}, {result.n} patterns", x=0.02, ha="left", fontsize="medium")
    figure.supxlabel(
        f"The {shown} of {result.n} patterns that contribute most to the statistic.\n"
        f"{flagged} lie beyond limits for all patterns together, {level:.0%}.{seen}",
        fontsize=7.5,
    )
    return figure
