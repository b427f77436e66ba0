"""How all figures look."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from setting import Setting

mpl.use("Agg")

from matplotlib import pyplot as plt

# Okabe and Ito's colours, which people with any colour vision can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#666666"
"""For bounds and other lines to compare with."""
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
