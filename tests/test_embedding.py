"""The mean embedding: data against draws from the model, as an operator."""

from __future__ import annotations

import numpy as np
import pytest

import goodstein as gs
from goodstein.operators.embedding import Drawn, EmbeddingFeatures
from goodstein.pipeline.compose import compose
from levels import check_level, trials

NORMAL = gs.families.Normal([0.0, 0.0])


def gaussian(x, y, width):
    """k(x_i, y_j), by loops."""
    return np.array([[np.exp(-np.sum((a - b) ** 2) / (2 * width**2)) for b in y] for a in x])


def test_the_matrix_is_that_of_the_definition():
    """With as many landmarks as there are points, all of them landmarks, the projection is the identity."""
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((5, 2)), rng.standard_normal((5, 3, 2))
    everything = np.concatenate([x, y.reshape(-1, 2)])
    h = EmbeddingFeatures(x, Drawn(y.reshape(-1, y.shape[2]), y, everything)).form(gs.Gaussian(0.7)).matrix()
    for i in range(5):
        for j in range(5):
            a, b = np.vstack([x[i], y[i]]), np.vstack([x[j], y[j]])
            w = np.array([1.0, *[-1 / 3] * 3])
            assert h[i, j] == pytest.approx(w @ gaussian(a, b, 0.7) @ w, abs=1e-7)


def test_landmarks_are_a_projection():
    """Against k(x, Z) k(Z, Z)⁻¹ k(Z, y), by a linear solver."""
    rng = np.random.default_rng(2)
    x, y, z = rng.standard_normal((4, 1)), rng.standard_normal((4, 2, 1)), np.linspace(-2, 2, 6)[:, None]
    h = EmbeddingFeatures(x, Drawn(y.reshape(-1, 1), y, z)).form(gs.Gaussian(0.6)).matrix()
    tau = gaussian(x, z, 0.6) - np.mean([gaussian(y[:, b], z, 0.6) for b in range(2)], axis=0)
    np.testing.assert_allclose(h, tau @ np.linalg.solve(gaussian(z, z, 0.6), tau.T), atol=1e-8)


def test_its_mean_is_the_squared_mean_discrepancy():
    """Closed form of MMD² between N(δ, 1) and N(0, 1) under a Gaussian kernel of width ℓ."""
    delta, width, n = 0.5, 1.5, 2000
    model = gs.families.Normal(0.0, 1.0)
    x = model.sample(n, rng=1) + delta
    h = compose(x, model, None, gs.MeanEmbedding(landmarks=60), gs.Gaussian(width), (0, 0, 7)).form.matrix()
    u = (h.sum() - np.trace(h)) / (n * (n - 1))
    size = width / np.sqrt(width**2 + 2)
    truth = 2 * size * (1 - np.exp(-(delta**2) / (2 * (width**2 + 2))))
    rows = (h.sum(axis=1) - np.diag(h)) / (n - 1)
    assert abs(u - truth) < 4 * 2 * rows.std() / np.sqrt(n)
    assert u > 0.5 * truth


@pytest.mark.parametrize(
    ("model", "draws"),
    [
        (NORMAL, 1),
        (NORMAL, 20),
        (gs.families.VonMises(0.0, 1.0), 5),
        (gs.families.UniformOnSphere(3), 5),
        (gs.families.Ising(0.2 * (np.ones((4, 4)) - np.eye(4))), 5),
        (gs.families.Uniform(gs.Box(0, 1)), 5),
    ],
    ids=["normal, one draw", "normal", "circle", "sphere", "lattice", "interval"],
)
@trials(100, 400)
def test_level(model, draws, trials):
    """400 samples of a true model notice a level of .10 instead of .05."""
    options = {"operator": gs.MeanEmbedding(draws, landmarks=40), "null": gs.WildBootstrap(99), "workers": 1}
    found = (gs.ksd_test(model.sample(40, rng=[3, k]), model, rng=k, **options).pvalue for k in range(trials))
    check_level(found, 0.05, 0.2)


def test_it_sees_the_weights_of_separate_modes():
    """To which the score is blind."""
    half = gs.families.GaussianMixture([0.5, 0.5], [-8.0, 8.0])
    other = gs.families.GaussianMixture([0.3, 0.7], [-8.0, 8.0])
    x = other.sample(200, rng=1)
    assert gs.ksd_test(x, half, rng=1).pvalue > 0.05
    assert gs.ksd_test(x, half, operator=gs.MeanEmbedding(), rng=1).pvalue < 0.01


def test_logratios_are_isometric():
    """Distances of log-ratios are those of centred logarithms, whatever basis."""
    model = gs.families.Dirichlet([0.5, 1.0, 2.0])
    x = model.sample(30, rng=1)
    problem = compose(x, model, None, gs.MeanEmbedding(draws=2, landmarks=10, logratio=True), None, (0, 0, 3))
    centred = np.log(x) - np.log(x).mean(axis=1, keepdims=True)
    expected = np.linalg.norm(centred[:, None] - centred, axis=2)
    points = problem.features.observations
    np.testing.assert_allclose(np.linalg.norm(points[:, None] - points, axis=2), expected, atol=1e-12)


def test_repr():
    assert repr(gs.MeanEmbedding()) == "MeanEmbedding()"


def test_it_regularises_and_aggregates():
    x = NORMAL.sample(60, rng=1)
    operators = [gs.Langevin(), gs.MeanEmbedding(5), gs.Regularised(gs.MeanEmbedding(5), strength=0.1)]
    result = gs.aggregated_test(x, NORMAL, operators=operators, kernels=[gs.Gaussian()], rng=1)
    assert result.pvalue > 0.05


def test_mistakes_are_named():
    x = NORMAL.sample(20, rng=1)
    with pytest.raises(gs.InputError, match="has no sampler"):
        gs.ksd_test(x, lambda x: -x, operator=gs.MeanEmbedding(), rng=1)
    with pytest.raises(gs.InputError, match="is for a Simplex"):
        gs.ksd_test(x, NORMAL, operator=gs.MeanEmbedding(logratio=True), rng=1)
    zero = [[0.0, 0.5, 0.5], [0.2, 0.3, 0.5]]
    with pytest.raises(gs.InputError, match="parts that are zero"):
        gs.ksd_test(zero, gs.families.Dirichlet([1, 1, 1]), operator=gs.MeanEmbedding(logratio=True), rng=1)
    with pytest.raises(gs.InputError, match="`draws`"):
        gs.MeanEmbedding(0)
    with pytest.raises(gs.InputError, match="`landmarks`"):
        gs.MeanEmbedding(landmarks=1)
