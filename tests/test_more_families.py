"""Mixtures on the simplex and block models, by integrals and enumeration."""

import itertools

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import goodstein as gs
from goodstein.families import (
    DirichletMixture,
    LogisticNormalMixture,
    StochasticBlockModel,
)

DIRICHLETS = DirichletMixture([0.4, 0.6], [[9.0, 2.0, 2.0], [2.0, 3.0, 12.0]])
NORMALS = LogisticNormalMixture([0.4, 0.6], [[1.5, 0.0], [-1.0, 1.0]], [0.2, 0.3])


@pytest.mark.parametrize("mixture", [DIRICHLETS, NORMALS], ids=["Dirichlet", "logistic normal"])
def test_mixtures_have_mass_one(mixture):
    # Gauss–Legendre on the triangle, x = st and y = s(1 − t).
    nodes, weights = np.polynomial.legendre.leggauss(200)
    s, t = np.meshgrid((nodes + 1) / 2, (nodes + 1) / 2)
    area = np.outer(weights, weights) / 4 * s
    x = np.column_stack([(s * t).ravel(), (s * (1 - t)).ravel(), (1 - s).ravel()])
    assert area.ravel() @ np.exp(mixture.logpdf(x / x.sum(axis=1, keepdims=True))) == pytest.approx(
        1, abs=1e-3
    )


def test_a_mixture_of_dirichlets_is_one_by_scipy():
    x = DIRICHLETS.sample(20, rng=1)
    each = [scipy.stats.dirichlet(alpha).pdf(x.T) for alpha in DIRICHLETS.alphas]
    np.testing.assert_allclose(np.exp(DIRICHLETS.logpdf(x)), DIRICHLETS.weights @ each)


@pytest.mark.parametrize("mixture", [DIRICHLETS, NORMALS], ids=["Dirichlet", "logistic normal"])
def test_mixtures_are_fitted_and_tested(mixture):
    x = mixture.sample(300, rng=2)
    fit = type(mixture).fit(x, 2, rng=1)
    best = fit.logpdf(x).mean()
    assert best >= mixture.logpdf(x).mean()
    assert sorted(fit.weights) == pytest.approx([0.4, 0.6], abs=0.08)
    p = len(fit.coordinates())
    for by in 0.03 * np.vstack([np.eye(p), -np.eye(p)]):
        assert fit.moved(by).logpdf(x).mean() < best + 1e-9
    result = gs.ksd_test(x, fit, rng=1)
    assert isinstance(result.null, gs.FittedWildBootstrap) and result.pvalue > 0.05
    one = type(mixture).fit(x, 1, rng=1)
    assert gs.ksd_test(x, one, rng=1).pvalue < 0.01


def test_a_block_model_has_mass_one_and_its_own_degrees():
    model = StochasticBlockModel([0, 0, 1, 1], [[0.5, -1.0], [-1.0, 0.2]], [0.1, -0.3, 0.4, -0.2])
    states = np.array(list(itertools.product([0.0, 1.0], repeat=6)))
    assert np.exp(model.logpdf(states)).sum() == pytest.approx(1)
    assert model.odds[0, 2] == pytest.approx(-1.0 + 0.1 + 0.4)
    drawn = model.sample(20_000, rng=1).mean(axis=0)
    i, j = np.triu_indices(4, 1)
    np.testing.assert_allclose(drawn, 1 / (1 + np.exp(-model.odds[i, j])), atol=0.015)


def test_block_models_are_fitted_and_tested():
    blocks = np.repeat([0, 1], 15)
    truth = StochasticBlockModel(blocks, [[0.5, -2.0], [-2.0, 0.0]])
    graph = truth.walk(np.zeros((30, 30)), 1, np.random.default_rng(1))
    fit = StochasticBlockModel.fit(graph, blocks, ridge=1e-9)
    inside = graph[:15, :15][np.triu_indices(15, 1)].mean()
    assert fit.log_odds_of_blocks[0, 0] == pytest.approx(np.log(inside / (1 - inside)), abs=1e-5)
    across = graph[:15, 15:].mean()
    assert fit.log_odds_of_blocks[0, 1] == pytest.approx(np.log(across / (1 - across)), abs=1e-5)
    null = gs.ParametricBootstrap(lambda g: StochasticBlockModel.fit(g, blocks), 99)
    assert gs.graph_ksd_test(graph, StochasticBlockModel.fit(graph, blocks), null=null, rng=1).pvalue > 0.05
    alone = np.zeros(30, int)
    null = gs.ParametricBootstrap(lambda g: StochasticBlockModel.fit(g, alone), 99)
    assert gs.graph_ksd_test(graph, StochasticBlockModel.fit(graph, alone), null=null, rng=1).pvalue <= 0.05
    corrected = StochasticBlockModel.fit(graph, blocks, degrees=True, ridge=1e-6)
    p = 1 / (1 + np.exp(-corrected.odds))
    np.fill_diagonal(p, 0)
    np.testing.assert_allclose(p.sum(axis=1), graph.sum(axis=1), atol=1e-3)  # the equations of the likelihood


def test_a_parameter_for_every_node_decides_nothing():
    """Of true models .20 are rejected at .05, which validation/size.md has measured."""
    blocks = np.zeros(12, int)
    graph = StochasticBlockModel(blocks, 0.0).walk(np.zeros((12, 12)), 1, np.random.default_rng(1))
    model = StochasticBlockModel.fit(graph, blocks, degrees=True)
    null = gs.ParametricBootstrap(lambda g: StochasticBlockModel.fit(g, blocks, degrees=True), 19)
    with pytest.warns(gs.errors.CalibrationWarning, match="a parameter for every node"):
        result = gs.graph_ksd_test(graph, model, null=null, rng=1)
    (check,) = [check for check in result.audit.checks if "every node" in check.message]
    assert result.audit.doubt(small=True) == check.small
    assert not result.audit.doubt(small=False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DirichletMixture([0.5, 0.6], [[1, 1], [2, 2]]), "sum to 1"),
        (lambda: DirichletMixture([0.5, 0.5], [[1, 1]]), "2 rows"),
        (lambda: DirichletMixture.fit([[0.5, 0.5], [0.4, 0.6]], 2), "at least 4 rows"),
        (lambda: StochasticBlockModel([0, 2, 2], 0.0), "none left out"),
        (lambda: StochasticBlockModel([0, 1, 1], np.eye(3)), "symmetric matrix"),
        (lambda: StochasticBlockModel.fit(np.zeros((4, 4)), [0, 1, 1]), "one for each node"),
    ],
)
def test_mistakes_are_explained(call, message):
    with pytest.raises(gs.InputError, match=message):
        call()


def test_names_of_blocks_are_told_how_to_become_numbers():
    graph = np.ones((4, 4)) - np.eye(4)
    for names in (["a", "a", "b", "b"], [True, True, False, False]):
        with pytest.raises(gs.InputError, match="return_inverse=True"):
            StochasticBlockModel.fit(graph, names)


def test_draws_of_a_block_model_are_told_how_to_become_a_graph():
    model = StochasticBlockModel([0, 0, 1, 1, 1], 0.3)
    x = model.sample(1, rng=1)
    with pytest.raises(gs.InputError, match=r"half\[np.triu_indices\(5, 1\)\] = x.ravel\(\); half \+ half.T"):
        gs.graph_ksd_test(x, model, rng=1)
    half = np.zeros((5, 5))
    half[np.triu_indices(5, 1)] = x.ravel()
    graph = gs.graphs.as_graph(half + half.T)
    assert model.logpdf(graph.as_rows()) == pytest.approx(model.logpdf(x))
    assert repr(StochasticBlockModel([0, 0, 0, 0], 0.3)) == "StochasticBlockModel(4 nodes, 1 block)"
