r"""Where a model of graphs fails: nodes with more edges than it allows, given all other pairs, or fewer.

For a node i with the other pairs as they are,

.. math:: r_i = \sum_j (a_{ij} - p_{ij}), \qquad p_{ij} = P(a_{ij} = 1 \mid \text{all other pairs}),

held against √Σ_j p_ij(1 − p_ij). One graph is one observation, so there are no limits for all nodes together:
the picture describes, and the p-value of the test decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from goodstein.plot.sides import tag, tint, words
from goodstein.plot.style import HATCHES, MOST_POINTS, Palette, blank, drawn_rows, finish
from goodstein.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from goodstein.problems.problem import Problem
    from goodstein.results.result import TestResult

BEYOND = 2.0
"""Standard deviations from which a node is marked."""
MOST_NODES = 400
"""Nodes up to which the graph itself is drawn."""


def over_graph(ax: Axes, result: TestResult, problem: Problem, level: float, colours: Palette) -> Axes:
    """The picture for one graph."""
    from matplotlib.collections import LineCollection

    adjacency = problem.data.adjacency  # type: ignore[attr-defined]
    residual = residuals(problem.model.log_odds(adjacency), adjacency)
    if len(adjacency) > MOST_NODES:
        degrees = adjacency.sum(axis=1)
        ax.scatter(degrees, residual, s=8, color=colours.ink, alpha=0.5, rasterized=True, label="nodes")
        ax.set(xlabel="degree", ylabel="edges beyond what the model expects, in standard deviations")
        return finish(ax, f"{result.model}, {len(adjacency)} nodes")
    spots = layout(adjacency)
    first, second = np.nonzero(np.triu(adjacency))
    rows = drawn_rows(len(first))
    lines = np.stack([spots[first[rows]], spots[second[rows]]], axis=1)
    edges = LineCollection(lines, colors=[colours.faint], linewidths=0.6, alpha=0.6, zorder=1)
    edges.set_rasterized(len(rows) > 500)
    ax.add_collection(edges)
    size = float(np.clip(6000.0 / len(adjacency), 12.0, 160.0))
    sides = {"more": residual > BEYOND, "less": residual < -BEYOND}
    neither = ~(sides["more"] | sides["less"])
    plain = {"s": size, "zorder": 3, "edgecolors": colours.ink, "linewidths": 0.7}
    ax.scatter(*spots[neither].T, color=colours.data, label="within two standard deviations", **plain)
    for side, mask in sides.items():
        if mask.any():
            style = plain | {"edgecolors": colours.side(side), "s": 2.0 * size}
            name = words(side, "edges")
            ax.scatter(
                *spots[mask].T,
                color=[tint(colours.side(side), 0.5)],
                hatch=HATCHES[side],
                label=name,
                **style,
            )
            for spot in spots[mask][:8]:
                tag(ax, float(spot[0]), float(spot[1]), side, colours, fontsize=6.5)
    blank(ax)
    ax.margins(0.06)
    said = (
        "Each node's edges given all other pairs of nodes; marked beyond two standard deviations, one by one."
    )
    left = f"{MOST_POINTS} of {len(first)} edges are drawn." if len(first) > MOST_POINTS else ""
    return finish(ax, f"{result.model}, {len(adjacency)} nodes", said, left)


def residuals(log_odds: Array, adjacency: Array) -> Array:
    """r_i in standard deviations, (N,)."""
    p = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0)))
    p = p * (1.0 - np.eye(len(p)))
    spread = np.sqrt((p * (1.0 - p)).sum(axis=1))
    return np.asarray((adjacency - p).sum(axis=1) / np.maximum(spread, 1e-12))


def layout(adjacency: Array) -> Array:
    """Places of nodes, (N, 2): by springs where networkx is installed, else on a circle."""
    n = len(adjacency)
    try:
        import networkx
    except ImportError:
        angle = 2.0 * np.pi * np.arange(n) / n
        return np.column_stack([np.cos(angle), np.sin(angle)])
    apart = 2.0 / np.sqrt(n)  # twice networkx's own distance: the hubs that are marked lie beside each other
    spots = networkx.spring_layout(networkx.from_numpy_array(adjacency), k=apart, seed=0)
    return np.array([spots[node] for node in range(n)])
