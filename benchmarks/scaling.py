"""How time grows with n, d and B, and with the size of other kinds of data: exponents, table and picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

import numpy as np
from report import Bound, Row
from subjects import KINDS, engine, points
from timing import Action, Ratio, by_turns

import goodstein as gs

Curves = dict[str, list[tuple[int, float]]]
"""Seconds by size, for everything whose growth was measured."""

CURVES: Curves = {}
"""Those of this run, for the picture."""


def exponent(sizes: Sequence[int], times: Sequence[Sequence[float]]) -> Ratio:
    """The slope of log time by log size: its median over the rounds, and the range of them."""
    x = np.log(sizes) - np.log(sizes).mean()
    slopes = [float(x @ np.log(each) / (x @ x)) for each in zip(*times, strict=True)]
    return Ratio(median(slopes), min(slopes), max(slopes))


def growth_row(
    what: str, sizes: Sequence[int], make: Callable[[int], Action], rounds: int, least: float, bound: float
) -> Row:
    """Time the same thing at several sizes by turns."""
    actions = {str(size): make(size) for size in sizes}
    times = by_turns(actions, rounds, least=least)
    CURVES[what] = [(size, min(times[str(size)])) for size in sizes]
    found = exponent(sizes, [times[str(size)] for size in sizes])
    return Row("11", f"exponent of {what}", found, Bound(bound, unit=""), unit="")


def exponents(
    sizes: tuple[int, ...], threads: int, rounds: int, least: float, progress: Callable[[str], None]
) -> Iterator[Row]:
    """Target 11: time by n, d, B, and by the size of other kinds of data, against what its algebra needs."""
    imq, n = gs.IMQ(1.0), sizes[-1]
    for scheme in ("iid", "orthogonal", None):
        name = scheme or "statistic alone"
        progress(f"growth with n: {name}")
        yield growth_row(
            f"{name} in n, from {sizes[0]} to {n}",
            sizes,
            lambda m, scheme=scheme: engine(points(m, 10), imq, scheme, 1000, threads),
            rounds,
            least,
            2.1,
        )
    progress("growth with d and B")
    dims = (10, 20, 40, 80)
    what = f"orthogonal in d, from {dims[0]} to {dims[-1]}"
    yield growth_row(
        what, dims, lambda d: engine(points(n // 2, d), imq, "orthogonal", 1000, threads), rounds, least, 1.0
    )
    draws = (1000, 2000, 4000, 8000)
    for scheme in ("iid", "orthogonal"):
        what = f"{scheme} in B, from {draws[0]} to {draws[-1]}"
        yield growth_row(
            what,
            draws,
            lambda b, scheme=scheme: engine(points(n // 2, 10), imq, scheme, b, threads),
            rounds,
            least,
            1.0,
        )
    for kind, (each, make, bound) in KINDS.items():
        progress(f"growth of {kind}")
        scaled = each if n >= 4000 else tuple(max(8, size // 4) for size in each)
        yield growth_row(kind, scaled, make, min(rounds, 3), 0.0, bound)


def picture(path: Path) -> bool:
    """All curves of this run, log by log, as SVG; False where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    # The same run gives the same file.
    matplotlib.rcParams["svg.hashsalt"] = "goodstein"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 5.5), sharey=True, layout="constrained")
    for what, curve in CURVES.items():
        sizes, seconds = zip(*curve, strict=True)
        axis = axes[0 if " in n," in what else 1]
        slope = math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0])
        axis.loglog(sizes, seconds, "o-", label=f"{what.split(', from')[0]}: {slope:.1f}")
    for axis, title in zip(axes, ("rows", "columns, draws, sites, nodes, patterns"), strict=True):
        axis.set(title=f"growth with {title}", xlabel="size")
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_formatter("")
        # Below: inside the axes it hides points.
        axis.legend(title="exponent", fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=1)
    axes[0].set_ylabel("seconds")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return True
