"""The null distribution of a test with the observed value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from goodstein.plot.style import bare, canvas, draws, safe, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.results.result import TestResult


@draws("null_distribution")
def null_distribution(result: TestResult, *, ax: Axes | None = None) -> Axes:
    """Histogram of the null distribution with the statistic and the 5 % critical value marked.

    Parameters
    ----------
    result
        What :func:`goodstein.ksd_test` returned.
    ax
        Axes to draw on; None makes a new figure.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Normal(0, 1)
    >>> result = gs.ksd_test(model.sample(50, rng=1), model, rng=1)
    >>> gs.plot.null_distribution(result).get_xlabel()
    'KSD², U-statistic'
    """
    with canvas(ax, (6.4, 3.6)) as (ax, colours):
        draws = result.null_distribution
        if len(draws):  # a test may be undefined
            critical = float(np.quantile(draws, 0.95))
            ax.hist(
                draws,
                bins="auto",
                density=True,
                color=colours.data,
                edgecolor=colours.paper,
                linewidth=0.4,
                label="if the model were true",
            )
            ax.axvline(critical, color=colours.ink, linestyle="--", linewidth=1.2, label="5 % critical value")
        name = f"observed, p = {result.pvalue:.3g}"
        ax.axvline(result.statistic, color=colours.more, linewidth=2.0, label=name)
        ax.set_xlabel(safe(result.statistic_name))
        ax.set_yticks([])
        set_title(ax, f"{result.model}, n = {result.n}")
        bare(ax, "left", "right", "top")
        # Below the axes: the line of the statistic may be anywhere inside them.
        ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncol=3, fontsize="small")
    return ax
