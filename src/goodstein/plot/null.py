"""The null distribution of a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.results.result import TestResult


def null_distribution(result: TestResult, *, ax: Axes | None = None) -> Axes:
    """Histogram of the null distribution with the statistic and the 5 % critical value marked.

    Parameters
    ----------
    result
        What :func:`goodstein.ksd_test` returned.
    ax
        Axes to draw on; None makes a new figure.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('Plots need matplotlib: pip install "goodstein[plot]".') from error
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    draws = result.null_distribution
    if len(draws):  # a test may be undefined
        critical = float(np.quantile(draws, 0.95))
        ax.hist(draws, bins="auto", density=True, color="#b8c4d6", edgecolor="white", linewidth=0.4)
        ax.axvline(critical, color="#5a6b85", linestyle="--", linewidth=1.2, label="5 % critical value")
    ax.axvline(
        result.statistic,
        color="#c0392b",
        linewidth=2.0,
        label=f"observed, p = {result.pvalue:.3g}",
    )
    ax.set_xlabel(result._statistic_name)
    ax.set_yticks([])
    ax.set_title(f"{result.model}, n = {result.n}", loc="left")
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    # Below the axes: the line of the statistic may be anywhere inside them.
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncol=2)
    return ax
