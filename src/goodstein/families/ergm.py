"""Exponential random graph models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from goodstein.constraints import check_count, check_names, number
from goodstein.domains.lattice import Lattice
from goodstein.errors import InputError, must
from goodstein.families.base import Family
from goodstein.graphs.data import FEWEST, Graph, all_pairs, as_graph
from goodstein.graphs.matchings import matched_walk
from goodstein.numerics.ranges import cut
from goodstein.types import Array, ArrayLike
from goodstein.validation import as_array

STATISTICS = ("edges", "two_stars", "triangles")

SWEEPS = 100
"""Updates of every pair, on average, before a chain's state is taken as a draw."""

AT_ONCE = 1 << 16
"""Steps of a chain whose random numbers are made Python's own at a time."""

MATCHED = 200
"""Nodes from which on chains update many pairs at once, which takes less time there."""


class ERGM(Family):
    r"""Exponential random graph model with edges, two-stars and triangles.

    .. math::

        q(x) \propto \exp\{\beta_1 E(x) + \beta_2 S_2(x) + \beta_3 T(x)\}, \qquad
        S_2(x) = \sum_i \binom{d_i}{2},

    on simple undirected graphs with N labelled nodes, E the number of edges, d_i the degrees and T the
    number of triangles. Given all other pairs, the log odds of the edge ij are
    :math:`\beta_1 + \beta_2 (d_i' + d_j') + \beta_3 c_{ij}`, with d′ the degrees without that edge and
    c the number of common neighbours.

    One graph is tested with :func:`graph_ksd_test`; as a model of many graphs this is a distribution on the
    lattice {0, 1}^{N(N−1)/2} of edges, rows of which :meth:`vectors` makes, for :class:`Difference`.

    Parameters
    ----------
    nodes
        N, at least 3.
    edges, two_stars, triangles
        The coefficients β.

    Notes
    -----
    With ``edges`` alone pairs are independent and drawn exactly. Otherwise :meth:`sample` runs a chain
    for each graph, which updates random pairs given all others: 100 times every pair, on average,
    from a graph with the same ``edges`` and nothing else. Large positive coefficients make nearly all
    graphs either empty or full, and such chains too slow.

    References
    ----------
    Frank & Strauss (1986), Markov graphs. Strauss & Ikeda (1990), Pseudolikelihood estimation for
    social networks.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.families import ERGM
    >>> model = ERGM(3, edges=-1.0, triangles=0.5)
    >>> model
    ERGM(3, edges=-1, triangles=0.5)
    >>> path = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    >>> float(model.log_odds(path)[1, 2])
    -0.5
    >>> model.statistics(path)
    array([2., 1., 0.])
    >>> ring = np.roll(np.eye(5), 1, axis=1)
    >>> ERGM.fit(ring + ring.T, ["edges"])
    ERGM(5, edges=0)
    """

    nodes: int
    edges: float
    two_stars: float
    triangles: float

    def __init__(
        self, nodes: int, *, edges: float = 0.0, two_stars: float = 0.0, triangles: float = 0.0
    ) -> None:
        count = check_count(nodes, "nodes", FEWEST)
        given = zip(STATISTICS, (edges, two_stars, triangles), strict=True)
        self._set(nodes=count, **{name: number(value, name) for name, value in given})
        self._set(domain=Lattice(2, count * (count - 1) // 2))

    @classmethod
    def fit(cls, graph: Any, statistics: Sequence[str] = STATISTICS, ridge: float = 0.0) -> Self:
        """Maximum pseudo-likelihood: a logistic regression of edges on what they change.

        Parameters
        ----------
        graph
            As in :func:`graph_ksd_test`.
        statistics
            Which coefficients are fitted, one name or several; the others are zero.
        ridge
            Weight of the penalty ½ Σ_k β_k² Σ_s δ_sk² / B, with δ the changes at the B pairs. Any positive
            value makes the maximum exist: without it, a graph without triangles, say, has none, because
            the coefficient of triangles tends to −∞. Use one with :class:`ParametricBootstrap`, where
            such a graph may be simulated.
        """
        names = check_names(statistics, "statistics", STATISTICS)
        adjacency = as_graph(graph).adjacency
        i, j = all_pairs(len(adjacency)).T
        columns = [STATISTICS.index(name) for name in names]
        change = _changes(adjacency)[:, i, j][columns].T
        coefficients = logistic(change, adjacency[i, j], number(ridge, "ridge", least=0.0))
        return cls(len(adjacency), **dict(zip(names, coefficients.tolist(), strict=True)))

    @classmethod
    def _fit_data(cls, data: Any, **options: Any) -> Graph:
        return as_graph(data)

    def _fit_method(self, **options: Any) -> str:
        return "maximum pseudo-likelihood"

    @property
    def coefficients(self) -> Array:
        """β of edges, two-stars and triangles, (3,)."""
        return np.array([self.edges, self.two_stars, self.triangles])

    def statistics(self, adjacency: ArrayLike) -> Array:
        """Numbers of edges, two-stars and triangles, (3,)."""
        return _statistics(as_graph(adjacency, "adjacency").adjacency)

    def log_odds(self, adjacency: ArrayLike) -> Array:
        """Log odds of every edge given all others, (…, N, N); the diagonal has no meaning."""
        graphs = as_array(adjacency, "adjacency")
        square = graphs.ndim >= 2 and graphs.shape[-2:] == (self.nodes, self.nodes)
        if not square or graphs.dtype.kind not in "biuf" or not np.isin(graphs, (0, 1)).all():
            wanted = f"adjacency matrices of zeros and ones, (..., {self.nodes}, {self.nodes})"
            raise must("adjacency", wanted, adjacency)
        changes = _changes(graphs.astype(np.float64))
        return np.asarray(np.tensordot(self.coefficients, changes, axes=1))

    def score(self, x: ArrayLike) -> Array:
        vectors = self._points(x)
        i, j = all_pairs(self.nodes).T
        odds = self.log_odds(self.graphs(vectors))[:, i, j]
        with np.errstate(over="ignore"):
            return np.asarray(-np.expm1((1.0 - 2.0 * vectors) * odds))

    def logpdf(self, x: ArrayLike) -> Array:
        vectors = self._points(x)
        values = np.asarray(_statistics(self.graphs(vectors)) @ self.coefficients)
        return np.where(self.domain.contains(vectors), values, -np.inf)

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        start = (rng.logistic(size=(n, self.dim)) < self.edges).astype(np.float64)
        if self._independent:
            return start
        drawn = [self.walk(graph, SWEEPS * self.dim, rng) for graph in self.graphs(start)]
        return self.vectors(np.stack(drawn)) if drawn else start

    def walk(self, adjacency: Array, steps: int, rng: np.random.Generator) -> Array:
        """The state after some steps of a chain that updates one random pair at a time, (N, N).

        The chain is reversible. Where pairs are independent it reaches the model at once. From 200 nodes on
        it updates all pairs of a random matching of the nodes at a time, which are independent of each other
        given all others; each counts as a step.
        """
        n = self.nodes
        pairs = all_pairs(n)
        if self._independent:
            edges = (rng.logistic(size=len(pairs)) < self.edges).astype(np.float64)
            return np.asarray(self.graphs(edges[None])[0])
        if n >= MATCHED:
            return matched_walk(adjacency, self.coefficients, steps, rng)
        # Sets of neighbours are the bits of integers: their common elements are counted in no time.
        around = [int(sum(1 << int(j) for j in np.flatnonzero(row))) for row in adjacency]
        degree = [neighbours.bit_count() for neighbours in around]
        bit = [1 << i for i in range(n)]
        b1, b2, b3 = self.edges, self.two_stars, self.triangles
        chosen, thresholds = rng.integers(len(pairs), size=steps), rng.logistic(size=steps)
        # A list of numbers takes five times the memory of an array.
        for some in cut(0, steps, AT_ONCE):
            at = pairs[chosen[some]]
            for i, j, threshold in zip(
                at[:, 0].tolist(), at[:, 1].tolist(), thresholds[some].tolist(), strict=True
            ):
                near, others = around[i], around[j]
                present = near >> j & 1
                odds = b1
                if b2:
                    odds += b2 * (degree[i] + degree[j] - 2 * present)
                if b3:
                    odds += b3 * (near & others).bit_count()
                if (threshold < odds) != present:
                    around[i] = near ^ bit[j]
                    around[j] = others ^ bit[i]
                    step = -1 if present else 1
                    degree[i] += step
                    degree[j] += step
        return np.array([[neighbours >> j & 1 for j in range(n)] for neighbours in around], dtype=np.float64)

    def graphs(self, vectors: ArrayLike) -> Array:
        """Adjacency matrices (n, N, N) of rows of edges (n, N(N − 1)/2)."""
        rows = self._points(vectors)
        i, j = all_pairs(self.nodes).T
        out = np.zeros((len(rows), self.nodes, self.nodes))
        out[:, i, j] = out[:, j, i] = rows
        return out

    def vectors(self, graphs: Any) -> Array:
        """Rows of edges (n, N(N − 1)/2) of graphs, in the order of ``numpy.triu_indices(N, 1)``."""
        i, j = all_pairs(self.nodes).T
        rows = []
        for k, graph in enumerate(graphs):
            adjacency = as_graph(graph, f"graphs[{k}]").adjacency
            if len(adjacency) != self.nodes:
                found = f"has {len(adjacency)} nodes, but the model is for {self.nodes}."
                raise InputError(found, argument=f"graphs[{k}]", predicate=True)
            rows.append(adjacency[i, j])
        return np.array(rows).reshape(-1, len(i))

    @property
    def _independent(self) -> bool:
        return self.two_stars == 0.0 and self.triangles == 0.0

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(ERGM, self.nodes, **dict(zip(STATISTICS, self._arguments()[1:], strict=True))), ()

    def __repr__(self) -> str:
        given = [f"{name}={getattr(self, name):.6g}" for name in STATISTICS if getattr(self, name)]
        return f"ERGM({', '.join([str(self.nodes), *(given or ['edges=0'])])})"


def _statistics(adjacency: Array) -> Array:
    """Numbers of edges, two-stars and triangles, (…, 3)."""
    degree = adjacency.sum(axis=-1)
    triangles = np.einsum("...ij,...ji->...", adjacency @ adjacency, adjacency) / 6.0
    counts = [degree.sum(axis=-1) / 2.0, (degree * (degree - 1.0)).sum(axis=-1) / 2.0, triangles]
    return np.stack(counts, axis=-1)


def _changes(adjacency: Array) -> Array:
    """What each edge adds to the three statistics if everything else stays, (3, …, N, N)."""
    degree = adjacency.sum(axis=-1)
    ends = degree[..., :, None] + degree[..., None, :] - 2.0 * adjacency
    return np.stack([np.ones_like(adjacency), ends, adjacency @ adjacency])


def logistic(x: Array, y: Array, ridge: float) -> Array:
    """Maximum likelihood of a logistic regression without intercept, by Newton's method."""
    remedy = "Fit fewer `statistics`, or pass a positive `ridge`."
    scale = np.sqrt((x**2).mean(axis=0))
    if not ridge and (not scale.all() or np.linalg.matrix_rank(x / scale) < len(scale)):
        raise InputError(f"The statistics change alike at all pairs and cannot be told apart. {remedy}")
    x = x / np.where(scale > 0, scale, 1.0)
    penalty = ridge * np.eye(x.shape[1])
    beta = np.zeros(x.shape[1])
    for _ in range(100):
        p = 0.5 * (1.0 + np.tanh(0.5 * (x @ beta)))
        hessian = (x * (p * (1.0 - p))[:, None]).T @ x + penalty
        try:
            step = np.linalg.solve(hessian, x.T @ (y - p) - ridge * beta)
        except np.linalg.LinAlgError:
            break
        length = float(np.abs(x @ step).max())
        # Longer steps would leave the region in which Newton's method converges.
        beta += step * min(1.0, 3.0 / max(length, 1e-300))
        if np.abs(x @ beta).max() > 40.0:
            break
        if length < 1e-9:
            return np.asarray(beta / np.where(scale > 0, scale, 1.0))
    reason = "The pseudo-likelihood has no maximum, because some coefficient tends to infinity."
    raise InputError(reason, remedy=remedy)
