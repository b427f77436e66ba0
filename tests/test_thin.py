"""Thinning and weights of draws."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import goodstein as gs

MATRIX = np.array([[1.0, 0.3, 0.0], [0.3, 2.0, 0.1], [0.0, 0.1, 0.5]])
MODEL = gs.Model(score=lambda x: -x @ MATRIX, name="normal")
X = np.random.default_rng(1).normal(0.3, 1.4, (300, 3)) * [1.0, 5.0, 0.2]


def imq_stein_matrix(x, s):
    """∇·∇'k + s·∇'k + s'·∇k + s·s'k of k = (1 + ‖x − y‖²)^(−1/2), written out."""
    n, d = x.shape
    h = np.empty((n, n))
    for i in range(n):
        r = x[i] - x
        q = 1 + (r**2).sum(1)
        h[i] = d * q**-1.5 - 3 * (r**2).sum(1) * q**-2.5 + ((s[i] - s) * r).sum(1) * q**-1.5
        h[i] += s @ s[i] * q**-0.5
    return h


def standardised(x):
    spread = np.abs(x - x.mean(0)).mean(0)
    return x / spread, (-x @ MATRIX) * spread


def test_the_choice_is_the_greedy_one_by_the_definition():
    h = imq_stein_matrix(*standardised(X))
    chosen = []
    for _ in range(30):
        totals = [h[i, i] / 2 + sum(h[k, i] for k in chosen) for i in range(len(X))]
        chosen.append(int(np.argmin(totals)))
    assert gs.thin(X, MODEL, 30).tolist() == chosen


def test_the_choice_is_that_of_the_package_of_the_authors():
    package = pytest.importorskip("stein_thinning.thinning")
    for d in (1, 3):
        x = X[:, :d]
        model = gs.Model(score=lambda x: -x * np.arange(1.0, x.shape[1] + 1))
        assert gs.thin(x, model, 100).tolist() == package.thin(x, model.score(x), 100).tolist()


def test_chains_count_one_after_the_other_and_other_kernels_are_taken():
    chains = X.reshape(3, 100, 3)
    assert np.array_equal(gs.thin(chains, MODEL, 20), gs.thin(X, MODEL, 20))
    h = gs.stein_matrix(X, MODEL, kernel=gs.Gaussian(2.0))
    assert gs.thin(X, MODEL, 1, kernel=gs.Gaussian(2.0))[0] == np.argmin(np.diag(h))
    parts = gs.families.Dirichlet([2.0, 3.0, 1.0])
    rows = gs.thin(parts.sample(100, rng=1), parts, 10)
    assert rows.shape == (10,)


def test_bad_input_to_thinning_is_refused():
    with pytest.raises(gs.InputError, match="`size` must be an integer of at least 1"):
        gs.thin(X, MODEL, 0)
    with pytest.raises(gs.InputError, match="column 1 is the same in all rows"):
        gs.thin(X * [1.0, 0.0, 1.0], MODEL, 5)
    with pytest.raises(gs.InputError, match="not known to be valid"):
        gs.thin(gs.Weighted(X, np.ones(300)), MODEL, 5)
    with pytest.raises(gs.InputError, match=r"2600 draws.*thin"):
        gs.stein_weights(np.zeros((2600, 3)) + np.arange(2600)[:, None], MODEL)


def smallest_by_enumeration(h):
    """The minimum over all supports: on each one the equality constrained solution, where it is feasible."""
    best, n = np.inf, len(h)
    for size in range(1, n + 1):
        for support in combinations(range(n), size):
            part = h[np.ix_(support, support)]
            w = np.linalg.solve(part, np.ones(size))
            w /= w.sum()
            if (w >= 0).all():
                best = min(best, float(w @ part @ w))
    return best


@pytest.mark.parametrize("seed", range(5))
def test_weights_are_those_of_an_enumeration_of_all_supports(seed):
    x = np.random.default_rng(seed).normal(0.8, 1.2, (9, 2))
    model = gs.families.Normal([0.0, 0.0])
    found = gs.stein_weights(x, model, kernel=gs.Gaussian(1.0))
    h = gs.stein_matrix(x, model, kernel=gs.Gaussian(1.0))
    assert found.weights.min() >= 0
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert found.weights @ h @ found.weights == pytest.approx(smallest_by_enumeration(h), rel=1e-9)
    assert found.ksd**2 == pytest.approx(found.weights @ h @ found.weights, rel=1e-9)
    assert found.equal**2 == pytest.approx(h.mean(), rel=1e-9)
    assert found.gap <= 1e-10 * h.mean()


def test_weights_correct_a_bias_and_the_gap_is_small():
    found = gs.stein_weights(X, MODEL)
    assert found.gap < 1e-10
    assert found.ksd < 0.3 * found.equal
    assert np.abs(found.weights @ X).max() < 0.1 * np.abs(X.mean(0)).max()


def test_weights_are_told_in_a_line():
    found = gs.stein_weights(X[:60], MODEL)
    above = sum(weight > 0 for weight in found.weights)
    assert f"60 weights, {above} of them above zero; KSD {found.ksd:.4g}" in repr(found)
    assert len(repr(found)) < 120
