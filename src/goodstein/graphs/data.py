"""Graphs: simple, undirected, without weights."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.constraints import check_seed
from goodstein.data.base import Data
from goodstein.errors import InputError
from goodstein.types import Array
from goodstein.validation import as_array, draw_seed

FEWEST = 3
"""Nodes that a graph needs, for a star or a triangle to exist."""


@dataclass(frozen=True, eq=False)
class Graph(Data):
    """A simple undirected graph.

    Attributes
    ----------
    adjacency
        Symmetric matrix of zeros and ones with zero diagonal, (N, N).
    origin
        The graph from which chains start that draw graphs like this one; see :func:`graph_ksd_test`.
    seed
        Seed of the pairs of nodes that the test looks at.
    """

    adjacency: Array
    origin: Array | None = None
    seed: int = 0

    replicated = False  # no annotation: not a field
    kind = "graphs"

    def __post_init__(self) -> None:
        for name in ("adjacency", "origin"):
            given = getattr(self, name)
            if given is not None or name == "adjacency":
                own = as_adjacency(given, name)
                own = own.copy() if own.flags.writeable else own
                own.setflags(write=False)
                object.__setattr__(self, name, own)
        check_seed(self.seed, of="Graph")

    def __len__(self) -> int:
        return len(self.adjacency)

    def pairs(self, count: int | None) -> npt.NDArray[np.intp]:
        """All pairs of nodes i < j, or some that are drawn uniformly with replacement, (B, 2)."""
        every = all_pairs(len(self))
        if count is None:
            return every
        return every[np.random.default_rng(self.seed).integers(len(every), size=count)]

    def take(self, rows: Any) -> Graph:
        raise InputError("One graph is one observation, which cannot be split.", argument="data")

    def as_rows(self) -> Array:
        """Whether there is an edge, for all pairs of nodes, (1, N(N − 1)/2)."""
        return self.adjacency[np.triu_indices(len(self), 1)][None]

    def prepared(self, model: Any, seeds: tuple[int, int, int]) -> Graph:
        """With the graph from which chains start, itself reached from this one by the reversed chain."""
        origin = model.walk(self.adjacency, np.random.default_rng(seeds[0]))
        model.check_moved(self.adjacency, origin)
        return replace(self, origin=origin, seed=seeds[2])

    def drawn(self, model: Any, domain: Any, rng: np.random.Generator) -> Graph:
        """A graph from a chain that starts at the origin, with pairs of its own."""
        origin = self.adjacency if self.origin is None else self.origin
        seed = draw_seed(rng)
        return Graph(model.walk(origin, rng), origin, seed)

    def describe(self) -> str:
        return f"one graph with {len(self)} nodes and {int(self.adjacency.sum()) // 2} edges"


def all_pairs(nodes: int) -> npt.NDArray[np.intp]:
    """The pairs i < j, (N(N − 1)/2, 2), the second running fastest."""
    return np.stack(np.triu_indices(nodes, 1), axis=1)


def as_graph(graph: Any, name: str = "graph") -> Graph:
    """A graph of a user, checked: one of networkx, an adjacency matrix, or a sparse one.

    Examples
    --------
    >>> from goodstein.graphs import as_graph
    >>> as_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).describe()
    'one graph with 3 nodes and 2 edges'
    """
    return graph if isinstance(graph, Graph) else Graph(as_adjacency(graph, name))


def as_adjacency(graph: Any, name: str) -> Array:
    """The adjacency matrix of a graph of a user, checked, (N, N)."""
    if callable(getattr(graph, "is_directed", None)) and hasattr(graph, "edges"):
        matrix = _from_networkx(graph, name)
    else:
        matrix = as_array(graph.toarray() if callable(getattr(graph, "toarray", None)) else graph, name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        reason = f"`{name}` must be a networkx graph or an adjacency matrix (N, N), got shape {matrix.shape}."
        raise InputError(reason, remedy=_of_pairs(matrix))
    if len(matrix) < FEWEST:
        raise InputError(f"`{name}` has {len(matrix)} nodes; a test needs at least {FEWEST}.")
    if matrix.dtype.kind not in "biuf":
        raise InputError(
            f"`{name}`: the adjacency matrix must hold zeros and ones, got dtype {matrix.dtype}."
        )
    _require_simple(matrix, name)
    return np.asarray(matrix, dtype=np.float64)


def _of_pairs(x: npt.NDArray[Any]) -> str:
    """How to make a matrix of a value for each pair of nodes; empty where it is none."""
    nodes = round((1.0 + np.sqrt(8.0 * x.size + 1.0)) / 2.0)
    if nodes < FEWEST or x.size != nodes * (nodes - 1) // 2 or max(x.shape) != x.size:
        return ""
    return (
        f"Pairs of {nodes} nodes, as sample() of a model draws them, are one half of it: "
        f"half = np.zeros(({nodes}, {nodes})); half[np.triu_indices({nodes}, 1)] = x.ravel(); half + half.T."
    )


def _require_simple(matrix: npt.NDArray[Any], name: str) -> None:
    other = np.argwhere((matrix != 0) & (matrix != 1))
    if len(other):
        i, j = other[0]
        raise InputError(
            f"`{name}`: entry ({i}, {j}) of the adjacency matrix is {matrix[i, j]:g}; only zeros and ones "
            "are allowed. Decide from which weight on there is an edge: (weights > 0).astype(int)."
        )
    loops = np.flatnonzero(matrix.diagonal())
    if loops.size:
        raise InputError(
            f"`{name}` has {loops.size} self-loop{'s' if loops.size > 1 else ''}, the first at node "
            f"{loops[0]}. Remove them: the models have none."
        )
    one_way = np.argwhere(matrix != matrix.T)
    if len(one_way):
        i, j = one_way[0]
        raise InputError(
            f"`{name}`: the adjacency matrix is not symmetric, entries ({i}, {j}) and ({j}, {i}) differ. "
            "Directed graphs are not supported; np.maximum(a, a.T) forgets the directions."
        )


def _from_networkx(graph: Any, name: str) -> Array:
    if graph.is_directed():
        raise InputError(
            f"`{name}` is directed; only undirected graphs are supported. graph.to_undirected() forgets the "
            "directions."
        )
    if graph.is_multigraph():
        raise InputError(
            f"`{name}` is a multigraph; only simple graphs are supported. networkx.Graph(graph) merges "
            "parallel edges."
        )
    index: dict[Hashable, int] = {node: i for i, node in enumerate(graph.nodes)}
    matrix = np.zeros((len(index), len(index)))
    for a, b, weight in graph.edges(data="weight"):
        if a == b:
            raise InputError(f"`{name}` has a self-loop at node {a!r}. Remove it: the models have none.")
        if weight is not None and weight != 1:
            raise InputError(
                f"`{name}`: the edge ({a!r}, {b!r}) has weight {weight!r}; only graphs without weights are "
                "supported. plain = networkx.Graph(graph.edges) forgets them, and then "
                "plain.add_nodes_from(graph) keeps nodes without edges."
            )
        matrix[index[a], index[b]] = matrix[index[b], index[a]] = 1.0
    return matrix
