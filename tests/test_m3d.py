"""The moderated discrepancy against its resolvent, its primal form and Fourier series; level; bad input."""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from scipy.special import ive

import goodstein as gs
from goodstein.errors import BandwidthError
from goodstein.kernels.base import as_kernel
from goodstein.stein.pairwise import Pairwise
from goodstein.tests_of_fit import m3d
from levels import check_level, trials

NORMAL = gs.families.Normal


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def basis_of(kernel, points):
    return m3d.decompose(Pairwise(as_kernel(kernel), points), points)


def off_diagonal(matrix):
    return (matrix.sum() - np.trace(matrix)) / len(matrix)


# --- the statistic -----------------------------------------------------------------------------


def test_spectral_form_is_the_resolvent():
    """K_ϱ = ϱ⁻²[k̄ − k̄(·, Y)(mϱ² + k̄(Y, Y))⁻¹k̄(Y, ·)] at points of Y, two samples that make up Y."""
    m, scales = 24, np.array([0.5, 0.1, 0.02])
    y = rng().standard_normal((m, 2))
    k = 1 / np.sqrt(1 + ((y[:, None] - y) ** 2).sum(-1) / 0.16)
    centred = k - k.mean(0) - k.mean(1)[:, None] + k.mean()
    basis = basis_of(gs.IMQ(0.4), y)
    assert len(basis.eigenvalues) == m - 1
    order = rng().permutation(m)
    got = m3d.moderated(basis, *basis.sums(y[order], 2), 12, scales)
    for sample, rows in enumerate((order[:12], order[12:])):
        for j, scale in enumerate(scales):
            inverse = np.linalg.inv(m * scale**2 * np.eye(m) + centred)
            resolvent = (centred - centred @ inverse @ centred) / scale**2
            expected = off_diagonal(resolvent[np.ix_(rows, rows)])
            assert got[sample, j] == pytest.approx(expected, rel=1e-10, abs=1e-10)


class Quadratic:
    """k = (1 + xy)², with features (1, √2x, x²)."""

    def fitted(self, points):
        return self

    def __call__(self, x, y):
        return (1.0 + x @ y.T) ** 2


def test_primal_form():
    """(f − f̄)ᵀ(C + ϱ²)⁻¹(f′ − f̄), C the covariance of the features in the draws, f̄ their mean elsewhere."""

    def features(x):
        return np.hstack([math.sqrt(2) * x, x**2])

    y, x = rng(1).standard_normal((30, 1)), rng(2).standard_normal((3, 10, 1)) + 0.5
    scales = np.array([2.0, 0.3])
    basis = basis_of(Quadratic(), y)
    assert len(basis.eigenvalues) == 2
    got = m3d.moderated(basis, *basis.sums(x.reshape(-1, 1), 3), 10, scales)
    covariance = np.cov(features(y), rowvar=False, bias=True)
    mean = features(x.reshape(-1, 1)).mean(axis=0)
    for sample in range(3):
        f = features(x[sample]) - mean
        for j, scale in enumerate(scales):
            expected = off_diagonal(f @ np.linalg.inv(covariance + scale**2 * np.eye(2)) @ f.T)
            assert got[sample, j] == pytest.approx(expected, rel=1e-10)


def test_fourier_series_on_the_circle():
    """Uniform on the circle, k = exp((cos Δ − 1)/ℓ²): λ_j = e^(−1/ℓ²)I_j(1/ℓ²), twice, for cos and sin jθ.

    The draws are a quadrature grid; the points lie between. Sixteen turned copies of the sample make all
    functions that matter zero in the mean.
    """
    width, n = 0.8, 9
    grid = 2 * np.pi * np.arange(64) / 64
    theta = rng().uniform(0, 2 * np.pi, n)
    turned = (theta + 2 * np.pi * np.arange(16)[:, None] / 16).ravel()

    def points(angles):
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)

    basis = basis_of(gs.Gaussian(width), points(grid))
    j = np.arange(1, 30)
    eigenvalues = ive(j, 1 / width**2)
    kept = len(basis.eigenvalues)
    np.testing.assert_allclose(basis.eigenvalues, np.repeat(eigenvalues, 2)[:kept], rtol=1e-7, atol=1e-16)
    assert kept >= 14
    scales = np.array([0.5, 0.1, 0.02])
    got = m3d.moderated(basis, *basis.sums(points(turned), 16), n, scales)
    delta = theta[:, None] - theta
    for column, scale in enumerate(scales):
        weights = 2 * eigenvalues / (eigenvalues + scale**2)
        expected = off_diagonal(np.einsum("k,kij->ij", weights, np.cos(j[:, None, None] * delta)))
        # What is left out are eigenvalues below 1e-8.
        np.testing.assert_allclose(got[:, column], expected, rtol=0, atol=n * 1e-7 / scale**2)


def test_standardised_by_the_others():
    values = rng().standard_normal((7, 3)) ** 3
    got = m3d.standardised(values)
    for i in range(7):
        others = np.delete(values, i, axis=0)
        np.testing.assert_allclose(got[i], (values[i] - others.mean(0)) / others.std(0), rtol=1e-9)
    assert (np.argsort(got, axis=0) == np.argsort(values, axis=0)).all()
    alone = m3d.standardised(np.array([[5.0, 1.0], [0.0, 1.0], [0.0, 1.0]]))
    assert np.isfinite(alone).all()
    assert alone[0, 0] > 1e5
    assert (alone[:, 1] == 0).all()


def test_pieces_and_precision_do_not_matter(monkeypatch):
    x, y = rng(1).standard_normal((300, 2)), rng(2).standard_normal((100, 2))
    basis = basis_of(gs.Gaussian(1.5), y)
    whole = basis.sums(x, 1)
    single = basis.sums(x, 1, np.float32)
    monkeypatch.setattr(m3d, "ENTRIES", 4000)
    for a, b in zip(basis.sums(x, 1), whole, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    scales = np.sqrt(basis.eigenvalues[0]) * 0.5 ** np.arange(6)
    centre = basis.sums(rng(3).standard_normal((3000, 2)), 10)
    exact, rounded = (
        m3d.moderated(basis, *(np.vstack([a, b]) for a, b in zip(sums, centre, strict=True)), 300, scales)
        for sums in (whole, single)
    )
    np.testing.assert_allclose(rounded[0], exact[0], atol=3e-3 * exact.std())


# --- the test ----------------------------------------------------------------------------------


@trials(120, 800)
@pytest.mark.parametrize(("n", "n_draws"), [(15, 20), (40, None)])
def test_level_is_exact(n, n_draws, trials):
    """Given the draws, data and simulated samples are exchangeable: P(p ≤ .05) = .05 at 19 samples."""
    options = {"n_draws": n_draws, "n_resamples": 19, "workers": 1}
    found = (
        gs.m3d_test(rng(k).standard_normal((n, 2)), NORMAL([0, 0]), rng=10_000 + k, **options).pvalue
        for k in range(trials)
    )
    check_level(found, 0.05, 0.2, 0.5)


@trials(100, 400)
def test_level_with_ties(trials):
    table = gs.families.CategoricalTable([3.0, 2.0, 1.0])
    pvalues = [
        gs.m3d_test(table.sample(10, rng=k), table, n_resamples=19, workers=1, rng=1000 + k).pvalue
        for k in range(trials)
    ]
    check_level(pvalues, 0.05, 0.2, conservative=True)


@trials(100, 400)
def test_level_of_an_almost_constant_kernel(trials):
    """Where single precision leaves noise in the functions, it leaves the same in data and simulations."""
    pvalues = [
        gs.m3d_test(
            rng(k).standard_normal((20, 1)),
            NORMAL(),
            kernel=gs.Gaussian(300.0),
            n_resamples=19,
            workers=1,
            rng=1000 + k,
        ).pvalue
        for k in range(trials)
    ]
    check_level(pvalues, 0.05, 0.2)


def test_sees_what_the_plain_discrepancy_does_not():
    """Two modes with the mean and variance of the normal law: a departure that oscillates."""
    pair = gs.families.GaussianMixture([0.5, 0.5], [-0.9, 0.9], [0.19, 0.19])
    found = np.array(
        [
            [
                test(pair.sample(60, rng=k), NORMAL(), n_resamples=99, workers=1, rng=k).pvalue <= 0.05
                for test in (gs.m3d_test, gs.mmd_test)
            ]
            for k in range(40)
        ]
    )
    moderated, plain = found.mean(axis=0)
    assert moderated > 0.6
    assert moderated > plain + 0.3


def test_more_samples_than_draws_centre_the_functions():
    """A shift of the mean is found as often with 20 draws as with 200: they do not centre anything."""
    few, many = (
        np.mean(
            [
                gs.m3d_test(
                    rng(k).standard_normal((50, 1)) + 0.4,
                    NORMAL(),
                    n_draws=n_draws,
                    n_resamples=99,
                    workers=1,
                    rng=k,
                ).pvalue
                <= 0.05
                for k in range(60)
            ]
        )
        for n_draws in (20, 200)
    )
    assert few > 0.5
    assert abs(few - many) < 0.2


def test_details():
    x = rng().standard_normal((150, 1))
    result = gs.m3d_test(x, NORMAL(), rng=1)
    details = result.details
    assert details["n_draws"] == 150
    assert len(details["scales"]) == len(details["values"]) == 6
    np.testing.assert_allclose(np.diff(np.log2(details["scales"])), -1.0)
    assert result.statistic == max(details["values"])
    assert details["scales"][int(np.argmax(details["values"]))] == details["best scale"]
    assert result.null == m3d.Simulations(199)
    assert len(result.null_distribution) == 199
    assert result.v_statistic is None
    assert gs.m3d_test(x[:30], NORMAL(), n_resamples=9, rng=1).details["n_draws"] == 100
    assert gs.m3d_test(np.tile(x, (2, 1)), NORMAL(), n_resamples=9, rng=1).details["n_draws"] == 200
    one = gs.m3d_test(x, NORMAL(), n_scales=1, n_draws=50, n_resamples=9, rng=1)
    assert one.details["values"] == [one.statistic]


def test_bandwidth_comes_from_the_draws_alone():
    results = [gs.m3d_test(scale * rng().standard_normal(50), NORMAL(), rng=5) for scale in (1.0, 100.0)]
    assert results[0].kernel == results[1].kernel
    assert results[0].details["scales"] == results[1].details["scales"]
    assert results[1].pvalue == 0.005


def test_same_result_for_all_workers():
    x = rng().standard_normal((120, 3))
    expected = gs.m3d_test(x, NORMAL(np.zeros(3)), n_resamples=49, rng=7, workers=1)
    with (
        ThreadPoolExecutor(2) as threads,
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes,
    ):
        for workers in (2, -1, None, threads, processes):
            got = gs.m3d_test(x, NORMAL(np.zeros(3)), n_resamples=49, rng=7, workers=workers)
            assert got.pvalue == expected.pvalue
            np.testing.assert_array_equal(got.null_distribution, expected.null_distribution)
            assert got.details == expected.details


# --- bad input; what both tests refuse is in test_mmd --------------------------------------------


def constant(n, rng):
    return np.zeros((n, 1))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, BandwidthError, "All 100 draws from constant are equal, so no bandwidth can be taken from"),
        ({"kernel": gs.Gaussian(1.0)}, gs.InputError, r"does not tell the 100 draws from constant apart"),
        ({"n_scales": 0}, gs.InputError, "`n_scales` must be an integer of at least 1, got 0"),
        ({"n_resamples": 1}, gs.InputError, "`n_resamples` must be an integer of at least 2, got 1"),
    ],
    ids=["draws", "kernel", "scales", "resamples"],
)
def test_bad_input(options, error, message):
    model = gs.Model(score=lambda x: -x, sample=constant, name="constant")
    with pytest.raises(error, match=message):
        gs.m3d_test(np.arange(5.0), model, rng=1, **options)


def test_kernel_that_sees_nothing():
    with pytest.raises(gs.InputError, match="Take a smaller bandwidth, or check the sampler"):
        gs.m3d_test(np.arange(5.0), NORMAL(), kernel=gs.Gaussian(1e9), rng=1)
