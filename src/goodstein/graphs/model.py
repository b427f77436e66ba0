"""The test for one observed graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from goodstein.adapters.describe import describe
from goodstein.auditing.report import AuditReport, Check
from goodstein.engine.executors import Workers, check_workers
from goodstein.errors import InputError, ScoreError
from goodstein.graphs.data import Graph, as_graph
from goodstein.graphs.subgraphs import SubgraphCounts
from goodstein.nulls import MonteCarlo, Null, ParametricBootstrap
from goodstein.pipeline.compose import as_generator, choose_kernel
from goodstein.pipeline.run import calibrated, check_null, describe_data, draw_seeds
from goodstein.problems.problem import Problem
from goodstein.results.result import TestResult
from goodstein.types import RNG, Array
from goodstein.validation import check_count

TITLE = "Graph kernel Stein test"


class GraphTestResult(TestResult):
    """A result whose statistic is the V-statistic over pairs of nodes."""

    _statistic_name = "gKSS², V-statistic over pairs of nodes"


def graph_ksd_test(
    graph: Any,
    model: Any,
    *,
    kernel: Any = None,
    n_edges: int | None = None,
    null: Null = MonteCarlo(199),  # noqa: B008 - frozen, used as a value
    sweeps: int = 30,
    workers: Workers = None,
    rng: RNG = None,
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
        :class:`goodstein.graphs.WeisfeilerLehman`, which sees more kinds of structure but, with one
        observation, is stronger against denser graphs only and all but blind to sparser ones.
    n_edges
        B, how many pairs of nodes are drawn, uniformly with replacement, for the observed graph and
        anew for every simulated one; None takes every pair once, without random numbers.
    null
        :class:`MonteCarlo`; or :class:`ParametricBootstrap` for a model fitted to this graph, such as
        ``ParametricBootstrap(families.ERGM.fit)``. A `fit` of your own is given a
        :class:`goodstein.graphs.Graph`, whose ``adjacency`` is the matrix (N, N), in whatever form `graph`
        was passed.
    sweeps
        Updates of every pair, on average, between the observed graph and a simulated one's origin, and
        again from there to the simulated graph.
    workers, rng
        As in :func:`ksd_test`.

    Returns
    -------
    TestResult

    Notes
    -----
    Simulated graphs come from chains that start at one common graph, itself reached from the observed
    one by the reversed chain (Besag & Clifford 1989). Under the null all graphs are exchangeable
    however short the chains are, so :class:`MonteCarlo` keeps its level without any burn-in; short
    chains, or models that mix badly, only cost power.

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
    check_workers(workers)
    check_null(null)
    if not isinstance(null, (MonteCarlo, ParametricBootstrap)):
        raise InputError(
            f"One graph is one observation, so its null distribution has to be simulated: `null` must be "
            f"MonteCarlo() or ParametricBootstrap(fit), got {null!r}."
        )
    check_count(sweeps, "sweeps")
    if n_edges is not None:
        check_count(n_edges, "n_edges")
    observed = as_graph(graph)
    wrapped = as_graph_model(model, len(observed), sweeps)
    operator = GlauberFlips(n_edges)
    compared = choose_kernel(kernel, operator)
    if not callable(getattr(compared, "form", None)):
        raise InputError(
            f"`kernel` must be a kernel on graphs such as graphs.SubgraphCounts() or "
            f"graphs.WeisfeilerLehman(), got {kernel!r}, which compares other things."
        )
    probes, null_seed, edge_seed = draw_seeds(as_generator(rng))
    origin = wrapped.walk(observed.adjacency, np.random.default_rng(probes))
    data = replace(observed, origin=origin, seed=edge_seed)
    problem = GraphProblem(data, wrapped, None, operator, compared)  # type: ignore[arg-type]
    _ = problem.form
    null_rng = np.random.default_rng(null_seed)
    calibration, notes = calibrated(problem, null, workers, null_rng, stacklevel=3)
    check = Check("null distribution", "pass", "Simulated, so that no condition has to hold.")
    return GraphTestResult(
        statistic=calibration.statistic,
        v_statistic=calibration.statistic,
        pvalue=calibration.pvalue,
        null_distribution=calibration.draws,
        n=problem.form.n,
        model=wrapped.name,
        domain=None,
        operator=operator,
        kernel=problem.fitted_kernel,
        null=null,
        audit=AuditReport(wrapped.name, "graphs", repr(operator), (check,)),
        notes=tuple(notes),
        data=describe_data(data),
        title=TITLE,
        details={"pairs": problem.form.n},
    )


@dataclass(frozen=True)
class GlauberFlips:
    """T^(s) f(x) = E[f(X_s, x_−s) | x_−s] − f(x), for all pairs s or for some that are drawn."""

    n_edges: int | None = None

    def features(self, model: Any, domain: Any, data: Graph) -> FlipFeatures:
        """The pairs and the probabilities that they flip."""
        pairs = data.pairs(self.n_edges)
        edge = data.adjacency[pairs[:, 0], pairs[:, 1]]
        odds = model.log_odds(data.adjacency)[pairs[:, 0], pairs[:, 1]]
        flip = np.exp(-np.logaddexp(0.0, np.where(edge == 1, odds, -odds)))
        return FlipFeatures(data, pairs, flip)

    def default_kernel(self) -> SubgraphCounts:
        """Subgraph counts up to four nodes."""
        return SubgraphCounts()


@dataclass(frozen=True)
class FlipFeatures:
    """A graph, pairs of its nodes (B, 2), and the probability that each of them flips (B,)."""

    points: Graph
    pairs: Any
    flip: Array

    def form(self, kernel: Any) -> Any:
        """The matrix over pairs of flips."""
        return kernel.form(self.points.adjacency, self.pairs, self.flip)


@dataclass(frozen=True)
class GraphProblem(Problem):
    """A problem whose statistic is the mean over all pairs of flips, the diagonal included."""

    @cached_property
    def form(self) -> Any:
        """The matrix over pairs of flips; nothing is computed before it is needed."""
        return self.features.form(self.fitted_kernel)

    def statistic(self, workers: Workers = 1) -> float:
        """The squared norm of the mean over pairs."""
        mean = getattr(self.form, "mean", None)
        return float(mean()) if mean is not None else float(self.form.matrix().mean())


class GraphModel:
    """A model of graphs as the library sees it."""

    has_sample = True

    def __init__(self, raw: Any, nodes: int, sweeps: int) -> None:
        self.raw, self.nodes, self.sweeps = raw, nodes, sweeps
        self.name = describe(raw)

    def log_odds(self, adjacency: Array) -> Array:
        """Log odds of every edge given all others, (N, N)."""
        odds = np.asarray(self.raw.log_odds(adjacency), dtype=np.float64)
        if odds.shape != adjacency.shape:
            raise ScoreError(
                f"The log odds of {self.name} have shape {odds.shape}, expected {adjacency.shape}."
            )
        if not np.isfinite(odds[~np.eye(len(odds), dtype=bool)]).all():
            raise ScoreError(f"The log odds of {self.name} are not finite at this graph.")
        return odds

    def walk(self, adjacency: Array, rng: np.random.Generator) -> Array:
        """The chain's state after as many steps as `sweeps` says."""
        steps = self.sweeps * (self.nodes * (self.nodes - 1) // 2)
        return np.asarray(self.raw.walk(adjacency, steps, rng), dtype=np.float64)

    def sample_like(self, data: Graph, rng: np.random.Generator) -> Graph:
        """A graph from a chain that starts at the data's origin, with pairs of its own."""
        origin = data.adjacency if data.origin is None else data.origin
        seed = int(rng.integers(0, 1 << 63))
        return Graph(self.walk(origin, rng), origin, seed)

    def on(self, domain: Any) -> GraphModel:
        """The model itself: graphs need no domain."""
        return self

    def adopt(self, raw: Any) -> GraphModel:
        """What a fit returned, for the same graphs."""
        return as_graph_model(raw, self.nodes, self.sweeps)


def as_graph_model(model: Any, nodes: int, sweeps: int) -> GraphModel:
    """A model of graphs with that many nodes, checked."""
    missing = [name for name in ("log_odds", "walk") if not callable(getattr(model, name, None))]
    if missing or isinstance(model, type):
        raise InputError(
            f"`model` must be a model of graphs such as families.ERGM(nodes, edges=-1.0), or an object with "
            f"log_odds(adjacency) and walk(adjacency, steps, rng); got {describe(model)}."
        )
    own = getattr(model, "nodes", nodes)
    if own != nodes:
        raise InputError(
            f"`model` {describe(model)} is for graphs with {own} nodes, but `graph` has {nodes}."
        )
    return GraphModel(model, nodes, sweeps)
