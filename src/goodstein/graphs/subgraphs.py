"""A kernel of subgraph counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.constraints import check_names, numbers
from goodstein.errors import InputError, must
from goodstein.graphs.data import Graph, all_pairs
from goodstein.graphs.kernel import GraphKernel
from goodstein.stein.forms import LowRankForm
from goodstein.types import Array

SUBGRAPHS = {"edges": 1, "two_stars": 2, "triangles": 3, "three_stars": 3, "four_cycles": 4}
"""Subgraphs that are counted, with their numbers of edges."""

RIDGE = 1e-6
"""What keeps counts apart that change in the same way at all pairs, as in very small graphs."""


@dataclass(frozen=True)
class SubgraphCounts(GraphKernel):
    r"""A linear kernel of subgraph counts, each made independent of those before it.

    .. math:: k(x, y) = t(x)^\top W t(y),

    with t the numbers of edges, two-stars, triangles, three-stars and four-cycles. What a pair of nodes
    adds to these counts is orthogonalised over all pairs of the observed graph, in the order given;
    each result is scaled to mean square one and divided by the root of the subgraph's number of edges,
    because every subgraph is seen once from each of its edges.

    Parameters
    ----------
    counts
        Some of ``"edges"``, ``"two_stars"``, ``"triangles"``, ``"three_stars"`` and ``"four_cycles"``,
        in the order of their importance.

    Notes
    -----
    There is one observation only, so a test against few directions is stronger than one against all of
    them. For a model whose coefficients are fitted by pseudo-likelihood, the mean change of the fitted
    counts is zero, and the test looks at the other ones.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.graphs import SubgraphCounts, as_graph
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> SubgraphCounts(("edges",)).fitted(as_graph(path))([path], [1 - np.eye(3)])
    array([[6.]])
    """

    counts: tuple[str, ...] = tuple(SUBGRAPHS)
    transform: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", check_names(self.counts, "counts", SUBGRAPHS))
        if self.transform is not None:
            matrix = numbers(self.transform, "transform", ndim=2, of="SubgraphCounts")
            if matrix.shape[1] != len(self.counts):
                wanted = f"a matrix with {len(self.counts)} columns, one for each of `counts`"
                raise must("transform", wanted, matrix, "SubgraphCounts")

    def fitted(self, graph: Graph) -> SubgraphCounts:
        """The same kernel with its matrix W = RᵀR fixed."""
        super().fitted(graph)
        if self.transform is not None:
            return self
        change = self._changes(graph.adjacency)
        scale = np.sqrt((change**2).mean(axis=0))
        scale[scale == 0] = 1.0
        change = change / scale
        gram = change.T @ change / len(change) + RIDGE * np.eye(len(scale))
        size = np.sqrt([SUBGRAPHS[name] for name in self.counts])
        matrix = np.linalg.inv(np.linalg.cholesky(gram)) / scale / size[:, None]
        return replace(self, transform=tuple(tuple(row) for row in matrix.tolist()))

    def __call__(self, x: Any, y: Any) -> Array:
        """k(x_i, y_j) for lists of adjacency matrices."""
        a, b = (np.stack([self._count(np.asarray(g, dtype=np.float64)) for g in graphs]) for graphs in (x, y))
        return np.asarray((a @ self._matrix.T) @ (b @ self._matrix.T).T)

    def form(self, adjacency: Array, pairs: npt.NDArray[np.intp], weights: Array) -> LowRankForm:
        i, j = pairs.T
        index = np.empty(adjacency.shape, dtype=np.intp)
        every = all_pairs(len(adjacency))
        index[every[:, 0], every[:, 1]] = index[every[:, 1], every[:, 0]] = np.arange(len(every))
        signed = np.where(adjacency[i, j] == 1, -weights, weights)
        change = self._changes(adjacency)[index[i, j]]
        return LowRankForm(signed[:, None] * (change @ self._matrix.T))

    @property
    def _matrix(self) -> Array:
        """R."""
        if self.transform is None:
            raise InputError(f"{self!r} has no scales yet: call .fitted(graph) first.")
        return np.array(self.transform)

    def __repr__(self) -> str:
        return f"SubgraphCounts({', '.join(self.counts)})"

    def _changes(self, adjacency: Array) -> Array:
        """What each pair i < j adds to the counts by being an edge, everything else as it is, (B, c)."""
        i, j = all_pairs(len(adjacency)).T
        edge, degree = adjacency[i, j], adjacency.sum(axis=1)
        a, b = degree[i] - edge, degree[j] - edge
        squared = adjacency @ adjacency
        columns = {
            "edges": np.ones(len(i)),
            "two_stars": a + b,
            "triangles": squared[i, j],
            "three_stars": (a * (a - 1) + b * (b - 1)) / 2,
            # Walks of length three from i to j, without those that use the edge itself.
            "four_cycles": (squared @ adjacency)[i, j] - edge * (degree[i] + degree[j] - 1),
        }
        return np.stack([columns[name] for name in self.counts], axis=1)

    def _count(self, adjacency: Array) -> Array:
        """The counts of one graph, (c,)."""
        d = adjacency.sum(axis=1)
        squared = adjacency @ adjacency
        edges, two_stars = d.sum() / 2, (d * (d - 1)).sum() / 2
        values = {
            "edges": edges,
            "two_stars": two_stars,
            "triangles": (squared * adjacency).sum() / 6,
            "three_stars": (d * (d - 1) * (d - 2)).sum() / 6,
            "four_cycles": ((squared**2).sum() - 2 * edges - 4 * two_stars) / 8,
        }
        return np.array([values[name] for name in self.counts])
