"""How all figures look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import mpltern  # noqa: F401 - makes the ternary projection known
import numpy as np
from setting import Row, Setting

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.ticker import NullLocator

# Okabe and Ito's colours, which people with any colour vision can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#666666"
"""For bounds and other lines to compare with."""
BOUND = {"color": GREY, "lw": 3, "alpha": 0.6, "label": "bound"}
LEVEL = {"color": GREY, "ls": ":", "lw": 1, "label": "level .01"}
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
SETTINGS = {
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.0,
    "legend.frameon": False,
    "figure.dpi": 150,
    "savefig.dpi": 150,
    "figure.constrained_layout.use": True,
    "axes.prop_cycle": mpl.cycler(color=COLOURS),
}


@contextmanager
def canvas(setting: Setting, name: str, **options: Any) -> Iterator[tuple[Any, Any]]:
    """A figure and its axes, as of ``plt.subplots(**options)``, saved at the end."""
    with mpl.rc_context(SETTINGS):
        fig, axes = plt.subplots(**options)
        yield fig, axes
        # Without the software's version in it the file changes only if the picture does.
        fig.savefig(setting.figure(name), metadata={"Software": None})
        plt.close(fig)


def curve(ax: Any, rows: Sequence[Row], x: str, what: str = "power", **style: Any) -> None:
    """Rates over n or another field, with their 95 % intervals."""
    rates = np.array([[row[what], row[f"{what}_lower"], row[f"{what}_upper"]] for row in rows]).reshape(-1, 3)
    ends = np.maximum([rates[:, 0] - rates[:, 1], rates[:, 2] - rates[:, 0]], 0.0)
    ax.errorbar([row[x] for row in rows], rates[:, 0], yerr=ends, ms=4, lw=1.2, elinewidth=0.7, **style)


def x_ticks(ax: Any, values: Sequence[int]) -> None:
    """These and no others, on a logarithmic axis."""
    ax.set_xticks(values, [str(value) for value in values])
    ax.xaxis.set_minor_locator(NullLocator())


def legend_below(fig: Any, ax: Any, **options: Any) -> None:
    """What one panel shows, below all of them."""
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", **options)


def corners(ax: Any, top: str, left: str, right: str) -> None:
    """What the corners of a ternary plot are."""
    ax.set_tlabel(top)
    ax.set_llabel(left)
    ax.set_rlabel(right)
