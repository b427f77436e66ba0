"""The test for one observed graph."""

from __future__ import annotations

from typing import Any

from goodstein.constraints import check_count
from goodstein.engine.executors import Workers
from goodstein.engine.progress import ProgressLike
from goodstein.graphs.data import as_graph
from goodstein.graphs.model import as_graph_model
from goodstein.graphs.operator import GlauberFlips
from goodstein.nulls.base import Null
from goodstein.results.result import TestResult
from goodstein.tests_of_fit.ksd import ksd_test
from goodstein.types import RNG


def graph_ksd_test(
    graph: Any,
    model: Any,
    *,
    kernel: Any = None,
    n_edges: int | None = None,
    null: Null | None = None,
    sweeps: int = 30,
    workers: Workers = None,
    rng: RNG = None,
    progress: ProgressLike = None,
) -> TestResult:
    r"""Test whether an exponential random graph model fits one observed graph.

    With xˢ the graph whose pair of nodes s is flipped and q(s) the model's probability of that flip
    given all other pairs,

    .. math::

        T^{(s)} f(x) = \mathrm{E}[f(X_s, x_{-s}) \mid x_{-s}] - f(x) = q(s)\,[f(x^s) - f(x)], \qquad
        \mathrm{gKSS}^2 = \Bigl\| \frac1B \sum_{b} T^{(s_b)} k(x, \cdot) \Bigr\|^2.

    There is one observation only, so its null distribution is simulated; large values speak against
    the model.

    Parameters
    ----------
    graph
        A simple undirected networkx graph, or a symmetric adjacency matrix of zeros and ones. Nodes
        without edges belong to the graph.
    model
        :class:`families.ERGM`, or any object with ``log_odds(adjacency)``, the log odds (N, N) of each
        edge given all others, and ``walk(adjacency, steps, rng)``, the state of a reversible chain after
        that many steps.
    kernel
        A kernel on graphs; None takes :class:`goodstein.graphs.SubgraphCounts`. The references use
        :class:`goodstein.graphs.WeisfeilerLehman`, which is all but blind to sparser graphs.
    n_edges
        B, how many pairs of nodes are drawn, uniformly with replacement, for the observed graph and
        anew for every simulated one; None takes every pair once, without random numbers.
    null
        None takes ``MonteCarlo(199)``; or :class:`ParametricBootstrap` for a model fitted to this graph,
        such as ``ParametricBootstrap(families.ERGM.fit)``. A `fit` of your own is given a
        :class:`goodstein.graphs.Graph`, whose ``adjacency`` is the matrix (N, N), in whatever form `graph`
        was passed.
    sweeps
        Updates of every pair, on average, between the observed graph and a simulated one's origin, and
        again from there to the simulated graph.
    workers, rng, progress
        As in :func:`ksd_test`.

    Notes
    -----
    Simulated graphs come from chains that start at one common graph, itself reached from the observed one by
    the reversed chain (Besag & Clifford 1989). Under the null all graphs are exchangeable however short the
    chains are, so :class:`MonteCarlo` keeps its level; short chains only cost power.

    References
    ----------
    Xu & Reinert (2021), A Stein goodness-of-test for exponential random graph models. Besag & Clifford
    (1989), Generalized Monte Carlo significance tests.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> model = gs.families.ERGM(20, edges=-1.0)
    >>> ring = np.roll(np.eye(20), 1, axis=1)
    >>> gs.graph_ksd_test(ring + ring.T, model, null=gs.MonteCarlo(99), rng=1).pvalue
    0.01
    """
    observed = as_graph(graph)
    chained = as_graph_model(model, len(observed), check_count(sweeps, "sweeps"))
    return ksd_test(
        observed,
        chained,
        operator=GlauberFlips(n_edges),
        kernel=kernel,
        null=null,
        workers=workers,
        rng=rng,
        progress=progress,
    )
