"""Graphs: change statistics, sampler and Stein operator against enumeration and networkx; bad input."""

from __future__ import annotations

import itertools
import math
from functools import partial

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import scipy.stats

import goodstein as gs
from goodstein.families import ERGM, ergm
from goodstein.graphs import SubgraphCounts, WeisfeilerLehman, as_graph
from goodstein.graphs.data import Graph, all_pairs
from goodstein.graphs.matchings import matched_walk
from goodstein.graphs.model import GraphModel
from goodstein.graphs.operator import GlauberFlips
from goodstein.problems.problem import Problem
from goodstein.stein.forms import BlockForm
from levels import check_level, trials

MODEL = ERGM(6, edges=-0.5, two_stars=0.15, triangles=-0.4)
KERNELS = {
    "counts": SubgraphCounts(),
    "few counts": SubgraphCounts(("edges", "triangles")),
    "wl none": WeisfeilerLehman(2, "none"),
    "wl triangles": WeisfeilerLehman(1),
}


def counts(graph: nx.Graph) -> list[float]:
    """Edges, two-stars and triangles, by networkx."""
    degrees = [d for _, d in graph.degree]
    stars = sum(math.comb(d, 2) for d in degrees)
    return [graph.number_of_edges(), stars, sum(nx.triangles(graph).values()) // 3]


def random_graph(n, p, seed):
    return nx.to_numpy_array(nx.gnp_random_graph(n, p, seed=seed))


def flipped(adjacency, i, j):
    other = adjacency.copy()
    other[i, j] = other[j, i] = 1 - other[i, j]
    return other


def every_graph(model):
    """All graphs with their probabilities, from networkx's counts."""
    vectors = np.array(list(itertools.product([0.0, 1.0], repeat=model.domain.dim)))
    graphs = model.graphs(vectors)
    energy = np.array([np.dot(model.coefficients, counts(nx.from_numpy_array(g))) for g in graphs])
    weight = np.exp(energy - energy.max())
    return vectors, graphs, weight / weight.sum()


def statistic(adjacency, model, kernel, n_edges=None):
    wrapped = GraphModel(model, len(adjacency), 1)
    return Problem(Graph(adjacency), wrapped, None, GlauberFlips(n_edges), kernel).statistic()


# The model


def test_statistics_and_changes_against_networkx():
    for seed in range(5):
        adjacency = random_graph(6, 0.5, seed)
        assert np.array_equal(MODEL.statistics(adjacency), counts(nx.from_numpy_array(adjacency)))
        odds = MODEL.log_odds(adjacency)
        for i, j in all_pairs(6):
            on, off = adjacency.copy(), adjacency.copy()
            on[i, j] = on[j, i] = 1
            off[i, j] = off[j, i] = 0
            change = np.subtract(counts(nx.from_numpy_array(on)), counts(nx.from_numpy_array(off)))
            assert math.isclose(odds[i, j], MODEL.coefficients @ change, abs_tol=1e-12)


def test_the_difference_score_is_that_of_the_probabilities():
    vectors, _, p = every_graph(ERGM(4, edges=0.3, two_stars=-0.2, triangles=0.5))
    model = ERGM(4, edges=0.3, two_stars=-0.2, triangles=0.5)
    assert np.allclose(model.logpdf(vectors) - model.logpdf(vectors[:1]), np.log(p / p[0]))
    place = {tuple(row): k for k, row in enumerate(vectors)}
    for k, row in enumerate(vectors):
        for e in range(6):
            other = row.copy()
            other[e] = 1 - other[e]
            assert math.isclose(model.score(row[None])[0, e], 1 - p[place[tuple(other)]] / p[k], abs_tol=1e-9)


@pytest.mark.parametrize(
    "model",
    [ERGM(4, edges=-0.5), ERGM(4, edges=-0.4, two_stars=0.3, triangles=-0.6)],
    ids=["bernoulli", "ergm"],
)
def test_the_sampler_against_enumeration(model):
    vectors, _, p = every_graph(model)
    drawn = model.sample(3000, rng=1)
    code = drawn @ 2.0 ** np.arange(5, -1, -1)
    found = np.bincount(code.astype(int), minlength=64)
    assert np.array_equal(vectors @ 2.0 ** np.arange(5, -1, -1), np.arange(64))
    assert scipy.stats.chisquare(found, 3000 * p).pvalue > 1e-3


@pytest.mark.parametrize("matched", [200, 0])
def test_the_chain_is_stationary(matched, monkeypatch):
    # One step from a draw of the model is a draw of the model: exact starts, enumerated.
    monkeypatch.setattr(ergm, "MATCHED", matched)
    model = ERGM(3, edges=-0.4, two_stars=0.3, triangles=0.7)
    _, graphs, p = every_graph(model)
    rng = np.random.default_rng(5)
    starts = rng.choice(8, size=4000, p=p)
    ends = [model.walk(graphs[k], 2, rng) for k in starts]
    code = model.vectors(ends) @ [4.0, 2.0, 1.0]
    assert scipy.stats.chisquare(np.bincount(code.astype(int), minlength=8), 4000 * p).pvalue > 1e-3


def test_a_step_by_a_matching_has_the_probabilities_of_its_pairs():
    """Four nodes have three matchings, of two pairs each, which are independent given the other four."""
    model = ERGM(4, edges=-0.4, two_stars=0.3, triangles=0.7)
    start = 1.0 - np.eye(4)
    start[0, 1] = start[1, 0] = 0.0
    share = 1.0 / (1.0 + np.exp(-model.log_odds(start)))
    expected = np.zeros(64)
    for pairs in ([(0, 1), (2, 3)], [(0, 2), (1, 3)], [(0, 3), (1, 2)]):
        for values in itertools.product((0, 1), repeat=2):
            end, chance = start.copy(), 1.0 / 3.0
            for (i, j), value in zip(pairs, values, strict=True):
                end[i, j] = end[j, i] = value
                chance *= share[i, j] if value else 1.0 - share[i, j]
            expected[int(model.vectors([end])[0] @ 2.0 ** np.arange(6))] += chance
    rng = np.random.default_rng(3)
    ends = model.vectors([matched_walk(start, model.coefficients, 2, rng) for _ in range(3000)])
    found = np.bincount((ends @ 2.0 ** np.arange(6)).astype(int), minlength=64)
    possible = expected > 0
    assert found[~possible].sum() == 0
    assert scipy.stats.chisquare(found[possible], 3000 * expected[possible]).pvalue > 1e-3


@pytest.mark.parametrize("nodes", [63, 64, 65, 130, 131])
def test_a_matching_of_many_nodes_sees_the_log_odds(nodes):
    """With thresholds of zero an edge is there after its update if and only if its log odds are positive."""

    class InOrder:
        def permuted(self, x, axis):
            return x

        def logistic(self, size):
            return np.zeros(size)

    model = ERGM(nodes, edges=-2.3, two_stars=0.01, triangles=0.1)
    start = random_graph(nodes, 0.4, 2)
    half = nodes // 2
    i, j = np.arange(half), np.arange(half, 2 * half)
    expected = start.copy()
    expected[i, j] = expected[j, i] = model.log_odds(start)[i, j] > 0
    end = matched_walk(start, model.coefficients, half, InOrder())
    assert 0 < np.abs(end - start).sum() < 2 * half
    np.testing.assert_array_equal(end, expected)
    again = matched_walk(
        start, model.coefficients, half + 1, InOrder()
    )  # as many whole matchings as it takes
    expected[i, j] = expected[j, i] = model.log_odds(end)[i, j] > 0
    np.testing.assert_array_equal(again, expected)


def test_the_fit_against_the_closed_form_and_its_equations():
    adjacency = random_graph(15, 0.3, 1)
    share = adjacency.sum() / (15 * 14)
    assert math.isclose(ERGM.fit(adjacency, ["edges"]).edges, math.log(share / (1 - share)), rel_tol=1e-8)
    # At the maximum the mean change of every fitted statistic is zero.
    model = ERGM.fit(nx.from_numpy_array(adjacency))
    i, j = all_pairs(15).T
    p = 1 / (1 + np.exp(-model.log_odds(adjacency)[i, j]))
    for name in ("edges", "two_stars", "triangles"):
        unit = ERGM(15, **{name: 1.0}).log_odds(adjacency)[i, j]
        assert abs(np.sum(unit * (adjacency[i, j] - p))) < 1e-6
    shrunk = ERGM.fit(adjacency, ridge=50.0)
    assert np.abs(shrunk.coefficients).max() < np.abs(model.coefficients).max()


def test_a_model_without_coefficients():
    assert repr(ERGM(5)) == "ERGM(5, edges=0)"


def test_many_graphs_on_the_lattice_of_edges():
    model = ERGM(5, edges=-0.5, triangles=0.3)
    x = model.sample(100, rng=1)
    assert np.array_equal(model.vectors(model.graphs(x)), x)
    assert gs.ksd_test(x, model, operator=gs.Difference(), rng=1).pvalue > 0.05
    assert gs.ksd_test(x, ERGM(5, edges=0.5), rng=1).pvalue < 0.01
    # Stein's identity for the kernel that this test uses, by enumeration of all graphs of four nodes.
    small = ERGM(4, edges=-0.4, two_stars=0.3, triangles=-0.6)
    vectors, _, p = every_graph(small)
    h = gs.stein_matrix(vectors, small)
    assert np.abs(p @ h).max() < 1e-10 * np.abs(h).max()


# The statistic


@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 2)], ids=str)
def test_the_operator_has_mean_zero_for_every_function(pair):
    # E over q of T^(s) f = 0, for the indicator of every graph of three nodes.
    model = ERGM(3, edges=-0.3, two_stars=0.4, triangles=-0.8)
    vectors, graphs, p = every_graph(model)
    s = [tuple(q) for q in all_pairs(3)].index(pair)
    operator = np.zeros((8, 8))
    for k, graph in enumerate(graphs):
        features = GlauberFlips().features(GraphModel(model, 3, 1), None, Graph(graph))
        other = vectors[k].copy()
        other[s] = 1 - other[s]
        target = int(other @ [4, 2, 1])
        operator[k, target] += features.flip[s]
        operator[k, k] -= features.flip[s]
    assert np.abs(p @ operator).max() < 1e-15


@pytest.mark.parametrize("name", KERNELS)
def test_the_statistic_by_brute_force(name):
    # Conditional expectations from ratios of probabilities, inner products from the kernel itself.
    adjacency = random_graph(6, 0.4, 2)
    kernel = KERNELS[name].fitted(Graph(adjacency))
    graphs = [adjacency, *(flipped(adjacency, i, j) for i, j in all_pairs(6))]
    energy = np.array([np.dot(MODEL.coefficients, counts(nx.from_numpy_array(g))) for g in graphs])
    flip = 1 / (1 + np.exp(energy[0] - energy[1:]))
    k = kernel(graphs, graphs)
    inner = k[1:, 1:] - k[1:, :1] - k[:1, 1:] + k[0, 0]
    expected = flip @ inner @ flip / len(flip) ** 2
    assert math.isclose(statistic(adjacency, MODEL, KERNELS[name]), expected, rel_tol=1e-8)
    wrapped = GraphModel(MODEL, 6, 1)
    form = Problem(Graph(adjacency), wrapped, None, GlauberFlips(), KERNELS[name]).form
    assert np.allclose(form.matrix(), inner * np.outer(flip, flip), atol=1e-9 * np.abs(inner).max())
    some = np.array([3, 3, 7])
    assert np.allclose(form.take(some).matrix(), form.matrix()[np.ix_(some, some)])


class Edges:
    """A user's kernel, E(x)E(y), with the two methods that are asked for and a form with three."""

    def fitted(self, graph):
        return self

    def form(self, adjacency, pairs, weights):
        return Steps(np.where(adjacency[pairs[:, 0], pairs[:, 1]] == 1, -weights, weights))


class Steps(BlockForm):
    def __init__(self, steps):
        self.steps = steps

    n = property(lambda self: len(self.steps))

    def block(self, rows, cols):
        return np.outer(self.steps[rows], self.steps[cols])

    def diagonal(self):
        return self.steps**2


def test_a_kernel_of_ones_own():
    adjacency, model, null = random_graph(8, 0.4, 3), ERGM(8, edges=0.3), gs.MonteCarlo(19)
    result = gs.graph_ksd_test(adjacency, model, kernel=Edges(), null=null, rng=1)
    # The share of edges is known without any kernel, and so is the probability of one.
    share = adjacency.sum() / 56
    assert result.statistic == pytest.approx((share - 1 / (1 + math.exp(-0.3))) ** 2, rel=1e-10)


def test_a_bernoulli_graph_and_a_kernel_of_edges():
    # k = E(x) E(y): the statistic is (p − share of edges)², up to the kernel's constant, which is one.
    for seed in range(3):
        adjacency = random_graph(12, 0.35, seed)
        share = adjacency.sum() / (12 * 11)
        p = 1 / (1 + math.exp(1.0))
        got = statistic(adjacency, ERGM(12, edges=-1.0), SubgraphCounts(("edges",)))
        assert math.isclose(got, (p - share) ** 2, rel_tol=1e-4)


def test_pairs_are_drawn_with_replacement():
    adjacency = random_graph(8, 0.4, 3)
    kernel = SubgraphCounts()
    pairs = Graph(adjacency, seed=4).pairs(500)
    assert (pairs[:, 0] < pairs[:, 1]).all() and len(np.unique(pairs, axis=0)) == 28
    full = statistic(adjacency, ERGM(8, edges=1.0), kernel)
    assert math.isclose(statistic(adjacency, ERGM(8, edges=1.0), kernel, 20_000), full, rel_tol=0.1)


# Kernels


def test_weisfeiler_lehman_labels_against_a_dictionary():
    def labels(graph, rounds, start):
        current = {v: start[v] for v in graph}
        found = [("0", c) for c in current.values()]
        for t in range(rounds):
            current = {
                v: (current[v], tuple(sorted(map(repr, (current[u] for u in graph[v]))))) for v in graph
            }
            found += [(str(t + 1), repr(c)) for c in current.values()]
        return found

    graphs = [nx.gnp_random_graph(7, 0.4, seed=s) for s in range(4)]
    matrices = [nx.to_numpy_array(g) for g in graphs]
    for name in ("none", "triangles"):
        starts = [nx.triangles(g) if name == "triangles" else dict.fromkeys(g, 0) for g in graphs]
        bags = [labels(g, 2, s) for g, s in zip(graphs, starts, strict=True)]
        expected = [[sum(b.count(c) for c in a) for b in bags] for a in bags]
        assert np.array_equal(WeisfeilerLehman(2, name)(matrices, matrices), expected)


def test_kernels_do_not_depend_on_the_order_of_nodes():
    adjacency, order = random_graph(9, 0.4, 1), np.random.default_rng(1).permutation(9)
    for kernel in KERNELS.values():
        first = statistic(adjacency, ERGM(9, edges=-0.5), kernel)
        again = statistic(adjacency[np.ix_(order, order)], ERGM(9, edges=-0.5), kernel)
        assert math.isclose(first, again, rel_tol=1e-7)


def test_subgraph_counts_against_networkx():
    kernel = SubgraphCounts()
    for seed in range(4):
        graph = nx.gnp_random_graph(7, 0.5, seed=seed)
        three = sum(math.comb(d, 3) for _, d in graph.degree)
        four = sum(1 for cycle in nx.simple_cycles(graph, length_bound=4) if len(cycle) == 4)
        edges, two, triangles = counts(graph)
        assert np.array_equal(kernel._count(nx.to_numpy_array(graph)), [edges, two, triangles, three, four])


# The test


def test_the_result_and_its_words():
    graph = nx.gnp_random_graph(12, 0.3, seed=2)
    result = gs.graph_ksd_test(graph, ERGM(12, edges=-1.0), null=gs.MonteCarlo(19), n_edges=30, rng=1)
    text = str(result)
    assert text.startswith("Graph kernel Stein test") and "one graph with 12 nodes and" in text
    assert "gKSS², V-statistic" in text and "ERGM(12, edges=-1)" in text
    assert result.details["pairs"] == 30 and result.statistic == result.v_statistic >= 0
    assert result.to_dict()["test"] == "Graph kernel Stein test"
    assert "Graph kernel" in result._repr_html_()


def test_warnings_become_notes_and_point_at_the_user():
    graph = nx.gnp_random_graph(12, 0.3, seed=2)
    null = gs.ParametricBootstrap(lambda g: ERGM(len(g.adjacency), edges=-2.0), 19)
    with pytest.warns(gs.CalibrationWarning, match="gives another model than the one tested") as caught:
        result = gs.graph_ksd_test(graph, ERGM(12, edges=-1.0), null=null, rng=1)
    assert [w.filename for w in caught] == [__file__]
    assert len(result.notes) == 1 and result.notes[0] in str(result)
    assert result.to_dict()["domain"] is None


def test_weights_are_not_forgotten_silently():
    graph = nx.path_graph(4)
    nx.set_edge_attributes(graph, 1.0, "weight")
    graph.add_node("isolated")
    assert as_graph(graph).adjacency.sum() == 6
    graph.edges[1, 2]["weight"] = 2.5
    with pytest.raises(gs.InputError, match=r"the edge \(1, 2\) has weight 2.5; .*add_nodes_from"):
        as_graph(graph)
    plain = nx.Graph(graph.edges)
    plain.add_nodes_from(graph)
    assert as_graph(plain).describe() == "one graph with 5 nodes and 3 edges"


def test_one_statistic_is_a_string():
    graph = nx.gnp_random_graph(12, 0.3, seed=2)
    assert ERGM.fit(graph, "edges") == ERGM.fit(graph, ["edges"])


def test_networkx_matrices_and_sparse_matrices_agree():
    graph = nx.gnp_random_graph(10, 0.3, seed=1)
    graph.add_nodes_from(["isolated", "alone"])
    matrix = nx.to_numpy_array(graph)
    model = ERGM(12, edges=-1.0)
    forms = (graph, matrix, matrix.astype(int).tolist(), matrix.astype(bool), scipy.sparse.csr_array(matrix))
    p = {gs.graph_ksd_test(form, model, null=gs.MonteCarlo(19), rng=1).statistic for form in forms}
    assert len(p) == 1
    assert len(as_graph(graph)) == 12


@pytest.mark.parametrize("kernel", [None, WeisfeilerLehman()], ids=["counts", "wl"])
def test_alternatives_are_rejected(kernel):
    dense = nx.gnp_random_graph(16, 0.6, seed=3)
    model, null = ERGM(16, edges=-1.0), gs.MonteCarlo(99)
    assert gs.graph_ksd_test(dense, model, kernel=kernel, null=null, rng=1).pvalue == 0.01
    fair = nx.gnp_random_graph(16, 1 / (1 + math.e), seed=3)
    assert gs.graph_ksd_test(fair, model, kernel=kernel, null=null, rng=1).pvalue > 0.05


def test_structure_is_seen_at_the_right_number_of_edges():
    # A ring of cliques has the edges of a random graph, and far more triangles.
    graph = nx.ring_of_cliques(5, 4)
    share = nx.density(graph)
    model = ERGM(20, edges=math.log(share / (1 - share)))
    assert gs.graph_ksd_test(graph, model, null=gs.MonteCarlo(99), rng=1).pvalue == 0.01


def test_a_fitted_model_with_the_parametric_bootstrap():
    graph = nx.gnp_random_graph(14, 0.3, seed=5)
    fit = partial(ERGM.fit, statistics=("edges", "triangles"), ridge=0.1)
    null = gs.ParametricBootstrap(fit, 39)
    result = gs.graph_ksd_test(graph, fit(graph), null=null, sweeps=5, rng=1)
    assert result.pvalue > 0.05


@trials(80, 200)
def test_the_level_is_exact_even_with_short_chains(trials):
    # Besag and Clifford: chains of one sweep are far from independent, the level is kept all the same.
    model = ERGM(7, edges=-1.0, two_stars=0.2, triangles=0.3)
    rng = np.random.default_rng(3)
    graphs = model.graphs(model.sample(trials, rng))
    p = [gs.graph_ksd_test(g, model, null=gs.MonteCarlo(19), sweeps=1, rng=rng).pvalue for g in graphs]
    check_level(p, 0.1, 0.2, 0.5)


# Bad input

PATH = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]])
FOUR = ERGM(4, edges=-1.0)


def changed(i, j, value):
    matrix = PATH.astype(float)
    matrix[i, j] = value
    return matrix


@pytest.mark.parametrize(
    ("graph", "match"),
    [
        (nx.DiGraph([(0, 1), (1, 2)]), "is directed; only undirected"),
        (nx.MultiGraph([(0, 1), (0, 1), (1, 2)]), "is a multigraph"),
        (nx.Graph([("a", "b"), ("b", "b"), ("b", "c")]), "self-loop at node 'b'"),
        (nx.Graph([(0, 1)]), "has 2 nodes; a test needs at least 3"),
        (np.zeros((2, 2)), "has 2 nodes; a test needs at least 3"),
        (np.zeros((4, 3)), r"adjacency matrix \(N, N\), got shape \(4, 3\)"),
        (changed(0, 1, 0), r"not symmetric, entries \(0, 1\) and \(1, 0\) differ"),
        (changed(2, 2, 1), "1 self-loop, the first at node 2"),
        (changed(2, 3, 2.5), r"entry \(2, 3\) of the adjacency matrix is 2.5; only zeros and ones"),
        (changed(2, 3, np.nan), r"entry \(2, 3\) of the adjacency matrix is nan"),
        (np.array([["a"] * 3] * 3), "must hold zeros and ones, got dtype"),
        (3, "networkx graph or an adjacency matrix"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_bad_graphs(graph, match):
    with pytest.raises(gs.InputError, match=match):
        gs.graph_ksd_test(graph, FOUR)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (
            lambda: gs.graph_ksd_test(PATH, ERGM(5)),
            r"ERGM\(5, edges=0\) is for graphs with 5 nodes, but `graph` has 4",
        ),
        (lambda: gs.graph_ksd_test(PATH, gs.families.Normal()), "must be a model of graphs such as"),
        (lambda: gs.graph_ksd_test(PATH, ERGM), "must be a model of graphs such as"),
        (
            lambda: gs.graph_ksd_test(PATH, FOUR, null=gs.WildBootstrap()),
            "null distribution has to be simulated",
        ),
        (lambda: gs.graph_ksd_test(PATH, FOUR, n_edges=0), "`n_edges` must be an integer of at least 1"),
        (lambda: gs.graph_ksd_test(PATH, FOUR, sweeps=0), "`sweeps` must be an integer of at least 1"),
        (lambda: gs.graph_ksd_test(PATH, FOUR, kernel="wl"), "`kernel` must be a kernel"),
        (lambda: gs.graph_ksd_test(PATH, FOUR, kernel=gs.IMQ()), "`kernel` must be a kernel on graphs such"),
        (lambda: ERGM.fit(PATH, "stars"), "`statistics` must be some of edges, .*got 'stars'"),
        (lambda: ERGM(2, edges=1.0), "`nodes` must be an integer of at least 3"),
        (lambda: ERGM(4, edges=[1.0, 2.0]), "`edges` must be a finite number"),
        (lambda: ERGM(4, edges=math.nan), "`edges` must be a finite number"),
        (lambda: FOUR.vectors([np.zeros((5, 5))]), r"`graphs\[0\]` has 5 nodes, but the model is for 4"),
        (lambda: ERGM.fit(PATH, ["stars"]), "`statistics` must be some of edges, two_stars, triangles"),
        (lambda: ERGM.fit(PATH, ridge=-1.0), "`ridge` must be a number of at least 0"),
        (lambda: ERGM.fit(np.zeros((4, 4)), ["edges"]), "pseudo-likelihood has no maximum"),
        (lambda: ERGM.fit(np.zeros((4, 4))), "cannot be told apart"),
        (lambda: WeisfeilerLehman(-1), "`iterations` must be an integer of at least 0"),
        (lambda: WeisfeilerLehman(1, "degrees"), "`labels` must be 'triangles' or 'none'"),
        (lambda: SubgraphCounts(("edges", "stars")), "`counts` must be some of edges"),
        (lambda: SubgraphCounts()([PATH], [PATH]), r"has no scales yet: call .fitted"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_bad_arguments(call, match):
    with pytest.raises(gs.InputError, match=match):
        call()


def test_bad_log_odds():
    class Model:
        def __init__(self, value):
            self.value = value

        def log_odds(self, adjacency):
            return self.value

        def walk(self, adjacency, steps, rng):
            return adjacency

    with pytest.raises(gs.ScoreError, match=r"must return an array of shape \(4, 4\), got \(3, 3\)"):
        gs.graph_ksd_test(PATH, Model(np.zeros((3, 3))))
    with pytest.raises(gs.ScoreError, match="are not finite at this graph"):
        gs.graph_ksd_test(PATH, Model(np.full((4, 4), np.inf)))


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (lambda a: a[:-1], "must return an array of shape"),
        (lambda a: np.triu(a), "ended at no graph"),
        (lambda a: a + np.eye(len(a)), "ended at no graph"),
        (lambda a: a * 0.5, "ended at no graph"),
    ],
)
def test_a_walk_that_leaves_the_graphs_is_refused(end, message):
    class Own:
        def log_odds(self, adjacency):
            return np.zeros_like(adjacency)

        def walk(self, adjacency, steps, rng):
            return end(adjacency)

    ring = np.roll(np.eye(6), 1, axis=1) + np.roll(np.eye(6), -1, axis=1)
    with pytest.raises(gs.SamplingError, match=message):
        gs.graph_ksd_test(ring, Own(), rng=1)


def test_a_walk_that_stands_still_is_refused_where_the_odds_move_it():
    class Still:
        def __init__(self, odds):
            self.odds = odds

        def log_odds(self, adjacency):
            return np.full_like(adjacency, self.odds)

        def walk(self, adjacency, steps, rng):
            return adjacency

    empty = np.zeros((12, 12))
    with pytest.raises(gs.SamplingError, match="ended at the graph where it began, after 1980 steps"):
        gs.graph_ksd_test(empty, Still(0.0), rng=1)
    assert gs.graph_ksd_test(empty, Still(-30.0), rng=1).pvalue == 1.0  # as it should stand still
