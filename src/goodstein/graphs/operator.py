"""The operator of models of graphs: flips of one pair of nodes at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.auditing.report import Check
from goodstein.constraints import check_count
from goodstein.graphs.data import Graph
from goodstein.graphs.kernel import GraphKernel, as_graph_kernel
from goodstein.graphs.subgraphs import SubgraphCounts
from goodstein.kernels.base import Kernel
from goodstein.operators.base import Operator
from goodstein.stein.forms import BlockForm
from goodstein.types import Array


@dataclass(frozen=True)
class GlauberFlips(Operator):
    """T^(s) f(x) = E[f(X_s, x_−s) | x_−s] − f(x), for all pairs s or for some that are drawn."""

    n_edges: int | None = None

    # No annotations: these are not fields.
    takes = Graph
    title = "Graph kernel Stein test"
    statistic_name = "gKSS², V-statistic over pairs of nodes"
    diagonal_counts = True
    conditions_suffice = True

    def __post_init__(self) -> None:
        if self.n_edges is not None:
            check_count(self.n_edges, "n_edges")

    def features(self, model: Any, domain: Any, data: Graph) -> FlipFeatures:
        pairs = data.pairs(self.n_edges)
        edge = data.adjacency[pairs[:, 0], pairs[:, 1]]
        odds = model.log_odds(data.adjacency)[pairs[:, 0], pairs[:, 1]]
        flip = np.exp(-np.logaddexp(0.0, np.where(edge == 1, odds, -odds)))
        return FlipFeatures(data, pairs, flip)

    def details(self, n: int) -> dict[str, Any]:
        return {"pairs": n}

    def conditions(self, model: Any, domain: Any, data: Any, rng: np.random.Generator) -> list[Check]:
        return [Check("null distribution", "pass", "Simulated, so that no condition has to hold.")]

    def adapted(self, kernel: Kernel) -> GraphKernel:
        return as_graph_kernel(kernel)

    def default_kernel(self) -> SubgraphCounts:
        return SubgraphCounts()


@dataclass(frozen=True)
class FlipFeatures:
    """A graph, pairs of its nodes (B, 2), and the probability that each of them flips (B,)."""

    points: Graph
    pairs: Any
    flip: Array

    def form(self, kernel: GraphKernel) -> BlockForm:
        """The matrix over pairs of flips."""
        return kernel.form(self.points.adjacency, self.pairs, self.flip)
