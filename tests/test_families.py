"""Families: scores, densities, samplers and fits against independent answers; every message."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.stats

from goodstein.adapters import as_model
from goodstein.domains import Ball, Box, Domain, Euclidean, Orthant, Simplex
from goodstein.errors import DomainError, InputError, SamplingError, ScoreError
from goodstein.families import (
    Dirichlet,
    GaussianMixture,
    Laplace,
    LogisticNormal,
    Normal,
    StudentT,
    Truncated,
    Uniform,
)
from goodstein.models import Model

COV = np.array([[2.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 0.5]])
MIXTURE = GaussianMixture([0.2, 0.5, 0.3], [[0, 0, 0], [2, -1, 0], [-1, 1, 3]], [COV, 0.5 * COV, np.eye(3)])


# ---------------------------------------------------------------------------- laws of all families


def test_parameters_cannot_be_changed_from_outside():
    mean = np.zeros(2)
    q = Normal(mean)
    mean[0] = 7
    assert q.mean[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        q.mean[0] = 7
    with pytest.raises(ValueError, match="read-only"):
        q.cov[0, 0] = 7


def test_flat_arrays_are_one_column():
    assert Normal().score([1.0, 2.0]).shape == (2, 1)
    assert Laplace().logpdf(np.zeros(3)).shape == (3,)
    with pytest.raises(InputError, match=r"got \(2,\)\. For a single point pass x\[None, :\]"):
        Normal([0, 0]).score([1.0, 2.0])
    with pytest.raises(InputError, match="`x` must be real numbers"):
        Normal().score(["a", "b"])
    with pytest.raises(InputError, match="`x` must be real numbers"):
        Normal().score([1j])
    with pytest.raises(InputError, match="`x` is not a rectangular array of numbers"):
        Normal().score([[1.0], [1.0, 2.0]])


@pytest.mark.parametrize(
    ("q", "text"),
    [
        (Normal(), "Normal(mean=[0], cov=[[1]])"),
        (
            Normal(np.zeros(3), COV),
            "Normal(mean=[0, 0, 0], cov=[[2, 0.6, -0.3], [0.6, 1, 0.2], [-0.3, 0.2, 0.5]])",
        ),
        (
            Normal(np.zeros(9)),
            "Normal(d=9, mean=[0, 0, 0, ..., 0], variances=[1, 1, 1, ..., 1])",
        ),
        (
            Normal([1 / 3, -1 / 7], [[1 / 3, 1 / 7], [1 / 7, 2 / 3]]),
            "Normal(mean=[0.3333, -0.1429], cov=[[0.3333, 0.1429], [0.1429, 0.6667]])",
        ),
        (StudentT(3), "StudentT(df=3, loc=[0], shape=[[1]])"),
        (Laplace(0, [1, 1 / 3]), "Laplace(loc=[0, 0], scale=[1, 0.333333])"),
        (MIXTURE, "GaussianMixture(d=3, weights=[0.2, 0.5, 0.3])"),
        (Dirichlet([0.5] * 3), "Dirichlet([0.5, 0.5, 0.5])"),
        (Dirichlet([0.5] * 30), "Dirichlet(d=30, alpha=[0.5, 0.5, 0.5, ..., 0.5])"),
        (LogisticNormal(0), "LogisticNormal(mean=[0], cov=[[1]])"),
        (
            LogisticNormal([1 / 3, 0, 1], COV / 3),
            "LogisticNormal(d=4, mean=[0.333, 0, 1], variances=[0.667, 0.333, 0.167])",
        ),
        (Uniform(Simplex(3)), "Uniform(Simplex(3))"),
        (Truncated(Dirichlet([1, 2]), Simplex(2)), "Truncated(Dirichlet([1, 2]), Simplex(2))"),
    ],
)
def test_repr(q, text):
    assert repr(q) == text


def test_no_scipy_is_imported_until_a_fit_needs_it():
    code = (
        "import sys; from goodstein.families import *; from goodstein.domains import Box\n"
        "for q in (Normal(), StudentT(3), Laplace(), Dirichlet([1, 2]), LogisticNormal(0),\n"
        "          GaussianMixture([1], [0]), Truncated(Normal(), Box([0], [1])), Uniform(Box([0], [1]))):\n"
        "    x = q.sample(3, 0); q.score(x); q.logpdf(x)\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('scipy', 'sklearn')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert run.stdout.strip() == "[]", run.stderr


# ---------------------------------------------------------------------------- densities


def test_log_densities_agree_with_scipy():
    x = np.random.default_rng(0).normal(size=(50, 3)) * 3
    mean = [1, -2, 3]
    expected = scipy.stats.multivariate_normal(mean, COV).logpdf(x)
    np.testing.assert_allclose(Normal(mean, COV).logpdf(x), expected, rtol=1e-12)
    expected = scipy.stats.multivariate_t(mean, COV, df=2.5).logpdf(x)
    np.testing.assert_allclose(StudentT(2.5, mean, COV).logpdf(x), expected, rtol=1e-12)
    expected = scipy.stats.laplace(mean, [1, 2, 3]).logpdf(x).sum(axis=1)
    np.testing.assert_allclose(Laplace(mean, [1, 2, 3]).logpdf(x), expected, rtol=1e-12)
    components = zip(MIXTURE.weights, MIXTURE.means, MIXTURE.covs, strict=True)
    expected = np.log(sum(w * scipy.stats.multivariate_normal(m, c).pdf(x) for w, m, c in components))
    np.testing.assert_allclose(MIXTURE.logpdf(x), expected, rtol=1e-10)
    alpha = [0.3, 1.0, 4.0]
    x = Dirichlet(alpha).sample(50, rng=0)
    expected = [scipy.stats.dirichlet(alpha).logpdf(row) for row in x]
    np.testing.assert_allclose(Dirichlet(alpha).logpdf(x), expected, rtol=1e-9)


def test_one_dimensional_densities_agree_with_scipy():
    x = np.linspace(-5, 5, 21)
    np.testing.assert_allclose(Normal(1, 4).logpdf(x), scipy.stats.norm(1, 2).logpdf(x))
    np.testing.assert_allclose(StudentT(3, 1, 4).logpdf(x), scipy.stats.t(3, 1, 2).logpdf(x))


@pytest.mark.parametrize("q", [Dirichlet([2, 1.5, 3]), LogisticNormal([0.5, -0.5], [[0.4, 0.1], [0.1, 0.3]])])
def test_densities_on_the_simplex_integrate_to_one(q):
    # Midpoints of a triangular grid in the first two parts.
    m = 400
    u, v = ((np.arange(m) + 0.5) / m)[:, None], ((np.arange(m) + 0.5) / m)[None, :]
    first = u + 0 * v
    second = (1 - u) * v
    x = np.stack([first, second, 1 - first - second], axis=-1).reshape(-1, 3)
    total = (np.exp(q.logpdf(x)).reshape(m, m) * (1 - u)).sum() / m**2
    assert total == pytest.approx(1, abs=1e-4)


def test_log_density_is_minus_infinity_outside():
    assert Dirichlet([2, 2]).logpdf([[0.5, 0.6], [-0.5, 1.5], [0, 1]]).tolist() == [-np.inf] * 3
    assert LogisticNormal(0).logpdf([[0.5, 0.6], [-0.5, 1.5], [0, 1]]).tolist() == [-np.inf] * 3
    assert Uniform(Ball(2)).logpdf([[0, 0], [1, 1]]).tolist() == [0, -np.inf]
    np.testing.assert_array_equal(
        Truncated(Normal(), Box([0], [1])).logpdf([[0.5], [2]]), [Normal().logpdf([0.5])[0], -np.inf]
    )


def test_scores_by_hand():
    np.testing.assert_allclose(Normal([1, 2], 4).score([[3, 2]]), [[-0.5, 0]])
    np.testing.assert_allclose(StudentT(1).score([1.0]), [[-1]])  # Cauchy: -2x / (1 + x²)
    np.testing.assert_allclose(Laplace(1, 2).score([0, 1, 2]), [[0.5], [0], [-0.5]])  # zero at the kink
    np.testing.assert_allclose(GaussianMixture([0.5, 0.5], [-1, 1]).score([0.3]), [[np.tanh(0.3) - 0.3]])


def test_dirichlet_at_zeros():
    q = Dirichlet([0.5, 1, 3])
    x = [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0], [0, 0, 1]]
    score = q.score(x)
    assert score[0, 0] == -np.inf
    assert score[1, 1] == 0  # α = 1
    assert score[2, 2] == np.inf
    assert (q.weighted_score(x) == [-0.5, 0, 2]).all()
    np.testing.assert_array_equal(q.logpdf(x)[[0, 2, 3]], [np.inf, -np.inf, np.inf])
    assert np.isnan(q.logpdf([[0, 1, 0]])[0])
    with pytest.raises(ScoreError, match="not finite"):
        as_model(q).score(x)
    assert (as_model(q).weighted_score(x) == q.weighted_score(x)).all()


@pytest.mark.parametrize("q", [Dirichlet([0.5, 1, 3]), LogisticNormal([0.5, -0.5], [[1, 0.3], [0.3, 0.5]])])
def test_weighted_score(q):
    x = q.sample(20, rng=0)
    np.testing.assert_allclose(q.weighted_score(x), x * q.score(x), rtol=1e-12)


def test_logistic_normal_refuses_zeros():
    for method in (LogisticNormal([0, 0]).score, LogisticNormal([0, 0]).weighted_score):
        with pytest.raises(DomainError, match=r"1 of 2 rows \(row 1\) hold parts that are not positive"):
            method([[0.2, 0.3, 0.5], [0.5, 0.5, 0]])


def test_logistic_normal_is_normal_in_log_ratios():
    q = LogisticNormal([0.5, -0.5], [[1, 0.3], [0.3, 0.5]])
    y = q.domain.to_logratio(q.sample(4000, rng=0))
    z = np.linalg.solve(np.linalg.cholesky(q.cov), (y - q.mean).T)
    assert all(scipy.stats.kstest(row, "norm").pvalue > 0.01 for row in z)


# ---------------------------------------------------------------------------- hard numbers


def test_scales_that_differ_by_many_orders_make_no_covariance_singular():
    variances = np.array([1e-24, 1.0, 1e24])
    q = Normal(0, np.diag(variances))
    np.testing.assert_allclose(q.score([np.sqrt(variances)]), [-1 / np.sqrt(variances)], rtol=1e-12)
    expected = scipy.stats.norm(0, np.sqrt(variances)).logpdf(np.sqrt(variances)).sum()
    np.testing.assert_allclose(q.logpdf([np.sqrt(variances)]), expected, rtol=1e-12)


def test_an_offset_costs_no_precision():
    x = np.random.default_rng(0).standard_normal((100, 2))
    np.testing.assert_allclose(Normal([1e8, 1e8]).score(x + 1e8), Normal([0, 0]).score(x), atol=1e-7)
    np.testing.assert_allclose(Normal.fit(x + 1e8).cov, Normal.fit(x).cov, rtol=1e-6, atol=1e-7)


def test_mixture_is_stable_far_from_all_components():
    q = GaussianMixture([0.5, 0.5], [0, 1], 1e-4)
    np.testing.assert_allclose(q.score([1e6, -1e6]), [[(1 - 1e6) / 1e-4], [1e6 / 1e-4]])
    assert np.isfinite(q.logpdf([1e6])).all()
    assert q.score([0.5])[0, 0] == pytest.approx(0, abs=1e-6)


def test_mixture_covariances_may_be_given_in_four_ways():
    full = GaussianMixture([0.4, 0.6], [[0, 0], [1, 1]], [2 * np.eye(2), 2 * np.eye(2)])
    for covs in (2, [2, 2], 2 * np.eye(2)):
        assert GaussianMixture([0.4, 0.6], [[0, 0], [1, 1]], covs) == full


def test_mixture_of_one_is_normal():
    x = np.random.default_rng(0).normal(size=(20, 3))
    one, normal = GaussianMixture([1], [[1, 2, 3]], COV), Normal([1, 2, 3], COV)
    np.testing.assert_allclose(one.score(x), normal.score(x))
    np.testing.assert_allclose(one.logpdf(x), normal.logpdf(x))


# ---------------------------------------------------------------------------- samplers


def test_normal_sample_moments():
    q = Normal([1, -2, 3], COV)
    x = q.sample(200_000, rng=0)
    np.testing.assert_allclose(x.mean(axis=0), q.mean, atol=4 * np.sqrt(2 / 200_000))
    np.testing.assert_allclose(np.cov(x.T), COV, atol=4 * 2 * np.sqrt(2 / 200_000))


@pytest.mark.parametrize(
    ("q", "marginals"),
    [
        (StudentT(2.5, [1, -2], [[4, 1], [1, 9]]), [scipy.stats.t(2.5, 1, 2), scipy.stats.t(2.5, -2, 3)]),
        (StudentT(0.3), [scipy.stats.t(0.3)]),
        (Laplace([1, -1], [2, 0.5]), [scipy.stats.laplace(1, 2), scipy.stats.laplace(-1, 0.5)]),
        (
            Dirichlet([0.1, 0.7, 2]),
            [scipy.stats.beta(0.1, 2.7), scipy.stats.beta(0.7, 2.1), scipy.stats.beta(2, 0.8)],
        ),
        (Uniform(Simplex(4)), [scipy.stats.beta(1, 3)] * 4),
        (Uniform(Box([0, -1], [1, 3])), [scipy.stats.uniform(0, 1), scipy.stats.uniform(-1, 4)]),
    ],
)
def test_sample_marginals(q, marginals):
    x = q.sample(40_000, rng=7)
    for column, marginal in zip(x.T, marginals, strict=True):
        assert scipy.stats.kstest(column, marginal.cdf).pvalue > 1e-3


def test_student_coordinates_share_their_radius():
    # δ²/d ~ F(d, ν); independent coordinates would fail this.
    q = StudentT(3, [1, -2, 3], COV)
    x = q.sample(4000, rng=0) - q.loc
    distance = np.einsum("ij,ij->i", x, np.linalg.solve(COV, x.T).T)
    assert scipy.stats.kstest(distance / 3, scipy.stats.f(3, 3).cdf).pvalue > 0.01


def test_mixture_sample():
    q = GaussianMixture([0.3, 0.7], [-2, 1], [0.5, 2])
    parts = scipy.stats.norm([-2, 1], np.sqrt([0.5, 2]))
    x = q.sample(4000, rng=1)[:, 0]
    assert scipy.stats.kstest(x, lambda t: parts.cdf(t[:, None]) @ [0.3, 0.7]).pvalue > 0.01


@pytest.mark.parametrize("a", [0.1, 0.01, 0.001])
def test_dirichlet_samples_of_small_concentrations(a):
    x = Dirichlet([a] * 3).sample(5000, rng=0)
    assert np.isfinite(x).all()
    np.testing.assert_allclose(x.sum(axis=1), 1, rtol=1e-14)
    # Only what float64 cannot hold is zero: P(x < 5e-324) is below (5e-324)^a.
    share = (5e-324) ** a
    assert (x == 0).mean() <= share + 4 * np.sqrt(share / x.size)
    naive = np.random.default_rng(0).standard_gamma(a, (5000, 3))
    if a == 0.001:
        assert (naive.sum(axis=1) == 0).any()  # what the logarithms avoid: 0/0
    largest = Dirichlet([a] * 3).sample(5000, rng=1).argmax(axis=1)
    assert scipy.stats.chisquare(np.bincount(largest, minlength=3)).pvalue > 0.01


def test_dirichlet_logs_of_small_parts_are_right():
    # log x of the small parts is nearly -E/α: a law that draws without logarithms cut off.
    x = Dirichlet([0.05, 5]).sample(5000, rng=0)[:, 0]
    assert x.min() < 1e-60
    assert scipy.stats.kstest(x, scipy.stats.beta(0.05, 5).cdf).pvalue > 0.01


# ---------------------------------------------------------------------------- fits


def test_normal_fit_agrees_with_scipy():
    x = Normal([1, -2, 3], COV).sample(50, rng=0)
    mean, cov = scipy.stats.multivariate_normal.fit(x)
    q = Normal.fit(x)
    np.testing.assert_allclose(q.mean, mean)
    np.testing.assert_allclose(q.cov, cov)


def test_laplace_fit_agrees_with_scipy():
    x = Laplace([1, -1], [2, 0.5]).sample(51, rng=0)
    q = Laplace.fit(x)
    expected = [scipy.stats.laplace.fit(column) for column in x.T]
    np.testing.assert_allclose(np.stack([q.loc, q.scale], axis=1), expected)


@pytest.mark.parametrize("df", [0.7, 3, 40])
def test_student_fit_solves_the_score_equations(df):
    x = StudentT(df, [1, -2, 3], COV).sample(300, rng=0)
    q = StudentT.fit(x, df=df)
    assert q.df == df
    # d/dμ: Σ s(x) = 0;  d/dΣ: Σ s(x)(x - μ)ᵀ = -n I.
    np.testing.assert_allclose(q.score(x).mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(q.score(x).T @ (x - q.loc) / len(x), -np.eye(3), atol=1e-9)


def test_student_fit_of_degrees_of_freedom_agrees_with_scipy():
    x = StudentT(3, 1, 4).sample(400, rng=0)
    df, loc, scale = scipy.stats.t.fit(x)
    q = StudentT.fit(x)
    assert q.logpdf(x).sum() >= scipy.stats.t.logpdf(x, df, loc, scale).sum() - 1e-9
    np.testing.assert_allclose([q.df, q.loc[0], q.shape[0, 0] ** 0.5], [df, loc, scale], rtol=1e-3)


def test_student_fit_is_equivariant():
    x = StudentT(3, [1, -2], [[1, 0.5], [0.5, 1]]).sample(200, rng=0)
    scale, shift = np.array([1e-6, 1e6]), np.array([5.0, -3e6])
    q, moved = StudentT.fit(x), StudentT.fit(x * scale + shift)
    assert moved.df == pytest.approx(q.df, rel=1e-4)
    np.testing.assert_allclose(moved.loc, q.loc * scale + shift, rtol=1e-6)
    np.testing.assert_allclose(moved.shape, q.shape * np.outer(scale, scale), rtol=1e-4)


def test_student_fit_of_light_tails_ends_at_the_normal():
    q = StudentT.fit(np.random.default_rng(0).uniform(size=(300, 1)))
    assert q.df == pytest.approx(1000)


@pytest.mark.parametrize(
    "alpha", [[0.02, 0.05, 0.1], [0.5, 0.5, 0.5], [1, 20, 300], [1e5, 2e5], [3e7, 1e6, 1e6]]
)
def test_dirichlet_fit_solves_the_score_equations(alpha):
    x = Dirichlet(alpha).sample(500, rng=0)
    x = x[(x > 0).all(axis=1)]
    fitted = Dirichlet.fit(x).alpha
    psi = scipy.special.psi
    np.testing.assert_allclose(psi(fitted) - psi(fitted.sum()), np.log(x).mean(axis=0), rtol=1e-9)
    # The relative standard error of Σα is about √(2 / (n (d - 1))) for large α, here 0.06 at most.
    np.testing.assert_allclose(fitted, alpha, rtol=0.25)


def test_dirichlet_fit_agrees_with_the_beta_fit_of_scipy():
    x = Dirichlet([0.7, 2]).sample(300, rng=0)
    a, b, _, _ = scipy.stats.beta.fit(x[:, 0], floc=0, fscale=1)
    np.testing.assert_allclose(Dirichlet.fit(x).alpha, [a, b], rtol=1e-4)


def test_dirichlet_fit_takes_a_constant_part():
    first = np.random.default_rng(0).uniform(0.1, 0.4, 100)
    x = np.stack([first, 0.5 - first, np.full(100, 0.5)], axis=1)
    assert (Dirichlet.fit(x).alpha > 1).all()


def test_logistic_normal_fit():
    q = LogisticNormal([0.5, -0.5], [[1, 0.3], [0.3, 0.5]])
    x = q.sample(200, rng=0)
    y = q.domain.to_logratio(x)
    np.testing.assert_allclose(LogisticNormal.fit(x).mean, y.mean(axis=0))
    np.testing.assert_allclose(LogisticNormal.fit(x).cov, np.cov(y.T, bias=True))


def test_mixture_fit():
    q = GaussianMixture([0.3, 0.7], [[-3, 0], [3, 1]], [np.eye(2), [[1, 0.5], [0.5, 1]]])
    x = q.sample(3000, rng=0) * [1e-4, 1e4]
    fitted = GaussianMixture.fit(x, 2, rng=1)
    assert fitted == GaussianMixture.fit(x, 2, rng=1)
    order = np.argsort(fitted.means[:, 0])
    np.testing.assert_allclose(fitted.weights[order], q.weights, atol=0.03)
    np.testing.assert_allclose(fitted.means[order] / [1e-4, 1e4], q.means, atol=0.15)
    scale = np.outer([1e-4, 1e4], [1e-4, 1e4])
    np.testing.assert_allclose(fitted.covs[order] / scale, q.covs, atol=0.15)
    # A step of EM leaves a maximum where it is.
    joint = np.log(fitted.weights) + np.stack(
        [Normal(m, c).logpdf(x) for m, c in zip(fitted.means, fitted.covs, strict=True)], axis=1
    )
    share = np.exp(joint - fitted.logpdf(x)[:, None])
    np.testing.assert_allclose(share.mean(axis=0), fitted.weights, atol=1e-3)


def test_mixture_fit_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.mixture", None)
    with pytest.raises(ImportError, match=r"needs scikit-learn.*pip install scikit-learn"):
        GaussianMixture.fit(np.arange(10.0), 2)


@pytest.mark.parametrize("fit", [Normal.fit, StudentT.fit, Laplace.fit, lambda x: GaussianMixture.fit(x, 2)])
def test_bad_data_for_a_fit(fit):
    with pytest.raises(
        InputError,
        match=r"`x`: 1 of 3 rows \(row 1\) hold NaN\.",
    ):
        fit([[0, 1], [np.nan, 2], [2, 5]])
    with pytest.raises(InputError, match="has 1 row; a fit needs at least 2"):
        fit([[0, 1]])
    with pytest.raises(InputError, match=r"`x` has shape \(2, 2, 2\), expected \(n, d\)"):
        fit(np.zeros((2, 2, 2)))
    with pytest.raises(InputError, match="`x`: column 1 is constant"):
        fit([[0, 0.1], [1, 0.1], [2, 0.1], [5, 0.1]])


def test_fits_of_dependent_columns():
    x = np.random.default_rng(0).normal(size=(20, 2))
    x = np.column_stack([x, x.sum(axis=1)])
    for fit in (Normal.fit, StudentT.fit):
        with pytest.raises(
            InputError, match=r"the covariance of `x` is singular: .* There are 20 rows and 3 columns"
        ):
            fit(x)
        with pytest.raises(InputError, match=r"singular: .* There are 3 rows and 3 columns"):
            fit(np.eye(3))


def test_student_fit_of_ties():
    x = np.r_[np.zeros(60), np.arange(1.0, 41)]
    with pytest.raises(
        InputError, match="with df=1 is unbounded, because too many rows lie in one hyperplane"
    ):
        StudentT.fit(x, df=1)
    # The likelihood is bounded as long as less than df / (df + 1) of the rows are tied (Kent & Tyler 1991).
    assert StudentT.fit(x, df=3).score(x).sum() == pytest.approx(0, abs=1e-9)
    with pytest.raises(InputError, match="`df` must be a positive number"):
        StudentT.fit(x, df=-1)


def test_student_fit_that_is_cut_short(monkeypatch):
    monkeypatch.setattr("goodstein.families.student.MOST_STEPS", 2)
    with pytest.raises(InputError, match="did not converge within 2 steps"):
        StudentT.fit(np.arange(20.0) ** 2, df=2)


def test_dirichlet_fit_that_is_cut_short(monkeypatch):
    monkeypatch.setattr("goodstein.families.dirichlet.MOST_STEPS", 1)
    with pytest.raises(InputError, match="did not converge within 1 steps"):
        Dirichlet.fit(Dirichlet([0.1, 0.2, 5]).sample(50, rng=0))


@pytest.mark.parametrize("cls", [Dirichlet, LogisticNormal])
def test_bad_compositions_for_a_fit(cls):
    with pytest.raises(InputError, match=r"needs positive parts, but 1 of 2 rows \(row 1\) hold zeros"):
        cls.fit([[0.5, 0.5], [0, 1]])
    with pytest.raises(InputError, match="do not sum to 1"):
        cls.fit([[0.5, 0.5], [50, 50]])
    with pytest.raises(InputError, match="at least 2 parts, got 1 column"):
        cls.fit([0.5, 0.5])
    with pytest.raises(
        InputError, match=r"all rows are \(nearly\) the same|the log-ratios of `x`: column 0 is constant"
    ):
        cls.fit([[0.3, 0.7]] * 5)


def test_mixture_fit_of_too_many_components():
    with pytest.raises(InputError, match="4 components need at least as many rows, `x` has 3"):
        GaussianMixture.fit([1.0, 2.0, 4.0], 4)
    with pytest.raises(InputError, match="`n_components` must be an integer of at least 1"):
        GaussianMixture.fit([1.0, 2.0, 4.0], 0)


# ---------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Normal([0, np.nan]), "`mean` must be finite numbers"),
        (lambda: Normal(0, np.inf), "`cov` must be a finite number"),
        (lambda: Normal([[0, 1]]), r"`mean` must be a number or a vector, got an array of shape \(1, 2\)"),
        (lambda: Normal([]), r"`mean` must be at least one number, got an empty array of shape \(0,\)"),
        (lambda: Normal("a"), "`mean` must be real numbers, got 'a'"),
        (
            lambda: Normal([0, 0], [1, 2]),
            r"`cov`: expected a number or a square matrix, got shape \(2,\)\. For a diag",
        ),
        (
            lambda: Normal([0, 0], np.ones((2, 3))),
            r"`cov`: expected a number or a square matrix, got shape \(2, 3\)",
        ),
        (
            lambda: Normal([0, 0], np.eye(3)),
            r"`mean` has 2 coordinates but `cov` has shape \(3, 3\)\. Give `cov`",
        ),
        (lambda: Normal(0, -1), "`cov` is not positive definite: its smallest eigenvalue is -1"),
        (lambda: Normal(0, 0), "`cov` is singular: its smallest eigenvalue is 0"),
        (
            lambda: Normal(0, [[1, 2], [2, 1]]),
            r"`cov` is not positive definite: its smallest eigenvalue is -1, its largest 3\. Remove",
        ),
        # Erratum E12: the published Σ_ν at ν = 1.
        (lambda: Normal(0, [[1, 1, 0], [1, 1, 0], [0, 0, 1]]), r"`cov` is singular: .* add a small multiple"),
        (
            lambda: Normal(0, [[1, 0.5], [0.2, 1]]),
            r"`cov` is not symmetric: entry \[0, 1\] is 0.5, but \[1, 0\] is 0.2. Correct it",
        ),
        (lambda: StudentT(0), "`df` must be a positive number"),
        (lambda: StudentT(np.nan), "`df` must be a positive number"),
        (lambda: StudentT([1, 2]), r"`df` must be a positive number, got \[1, 2\]"),
        (lambda: StudentT(3, [0, 0], -np.eye(2)), "`shape` is not positive definite"),
        (lambda: StudentT(3, [0, 0], np.eye(3)), "`loc` has 2 coordinates but `shape` has shape"),
        (lambda: Laplace(0, [1, -2]), "`scale` must be positive numbers"),
        (lambda: Laplace(np.nan), "`loc` must be a finite number"),
        (lambda: Laplace([0, 0], [1, 1, 1]), "different lengths: `loc` has 2, `scale` has 3"),
        (
            lambda: GaussianMixture([0.5, 0.4], [0, 1]),
            "`weights`: must sum to 1, but the sum is 0.9. Divide them",
        ),
        (
            lambda: GaussianMixture([1.5, -0.5], [0, 1]),
            "`weights` must be positive numbers",
        ),
        (
            lambda: GaussianMixture([0.5, 0.5], [0, 1, 2]),
            r"`means`: expected shape \(2, d\) for 2 weights, got \(3, 1\)",
        ),
        (
            lambda: GaussianMixture([0.5, 0.5], [[0, 0], [1, np.nan]]),
            "`means` must be finite numbers",
        ),
        (
            lambda: GaussianMixture([0.5, 0.5], np.zeros((2, 3)), np.ones((2, 3))),
            r"`covs`: expected shape \(2, 3, 3\), or \(3, 3\) shared, or \(2,\) variances, .* got \(2, 3\)",
        ),
        (
            lambda: GaussianMixture([0.5, 0.5], [0, 1], [1, 0]),
            "`covs` must be positive numbers",
        ),
        (
            lambda: GaussianMixture([0.5, 0.5], np.zeros((2, 2)), [np.eye(2), np.ones((2, 2))]),
            r"`covs\[1\]` is singular",
        ),
        (lambda: GaussianMixture([1], np.zeros((1, 2)), np.ones((2, 2))), "`covs` is singular"),
        (lambda: Dirichlet([1, 0, -1]), "`alpha` must be positive numbers"),
        (lambda: Dirichlet([1, np.nan]), "`alpha` must be positive numbers"),
        (lambda: Dirichlet([1]), "`alpha`: a composition has at least 2 parts, got 1"),
        (lambda: LogisticNormal([0, 0], [[1, 2], [2, 1]]), "`cov` is not positive definite"),
        (
            lambda: Uniform(Orthant(2)),
            "is unbounded, so there is no uniform distribution on it. Pass a bounded",
        ),
        (lambda: Uniform([0, 1]), r"`domain` must be a domain such as Box or Ball, got \[0, 1\]"),
        (lambda: Truncated(Normal(), [0, 1]), "`domain` must be a domain such as Box or Ball"),
        (lambda: Truncated(Normal(), Ball(2)), r"has dimension 1, but Ball\(2\) has 2"),
        (lambda: Truncated(Dirichlet([1, 2, 3]), Box([0] * 3, [1] * 3)), "reaches beyond Simplex"),
        (lambda: Truncated(Uniform(Ball(2)), Orthant(2)), "reaches beyond Ball"),
        (lambda: Truncated(Truncated(Normal(), Box([0], [1])), Box([0], [2])), "Pass a region within it"),
        (lambda: Truncated(Truncated(Normal(), Orthant(1)), Euclidean(1)), "reaches beyond"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(InputError, match=message):
        make()


# ---------------------------------------------------------------------------- truncation


def test_truncated_normal_agrees_with_scipy():
    q = Truncated(Normal(1, 4), Box([0], [2.5]))
    direct = scipy.stats.truncnorm(-0.5, 0.75, loc=1, scale=2)
    x = q.sample(5000, rng=0)
    assert scipy.stats.kstest(x[:, 0], direct.cdf).pvalue > 0.01
    difference = q.logpdf(x) - direct.logpdf(x[:, 0])
    np.testing.assert_allclose(difference, difference[0], atol=1e-12)  # up to the constant
    mass = scipy.stats.norm(1, 2).cdf(2.5) - scipy.stats.norm(1, 2).cdf(0)
    assert q.acceptance_rate(40_000, rng=1) == pytest.approx(mass, abs=4 * 0.5 / 200)
    assert q.acceptance_rate(1000, rng=1) == q.acceptance_rate(1000, rng=1)


def test_truncated_sample_is_uniform_where_the_model_is_flat():
    q = Truncated(Normal([0, 0], 400), Ball(2))
    x = q.sample(2000, rng=0)
    assert scipy.stats.kstest((x**2).sum(axis=1), "uniform").pvalue > 0.01


def test_truncated_rare_region():
    q = Truncated(Normal(), Box([3], [np.inf]))  # mass 0.00135
    x = q.sample(2000, rng=0)
    assert scipy.stats.kstest(x[:, 0], scipy.stats.truncnorm(3, np.inf).cdf).pvalue > 0.01
    with pytest.raises(
        SamplingError, match=r"\d+ of 10 000 draws fell inside, and one point may cost 100 draws"
    ):
        q.sample(1000, rng=0, max_draws_per_point=100)
    np.testing.assert_array_equal(q.sample(3, rng=0, max_draws_per_point=2000), q.sample(3, rng=0))


def test_truncated_region_without_mass():
    q = Truncated(Normal(), Box([8], [9]))
    for n in (1, 5000):
        with pytest.raises(
            SamplingError, match=r"Box\(\[8, 9\]\) has almost no mass under Normal.*0 of 1 000 000 draws"
        ):
            q.sample(n, rng=0)
    assert q.sample(0, rng=0).shape == (0, 1)
    assert q.acceptance_rate(100, rng=0) == 0
    with pytest.raises(InputError, match="`max_draws_per_point` must be an integer of at least 1"):
        q.sample(3, max_draws_per_point=0)
    with pytest.raises(InputError, match="`n` must be an integer of at least 1"):
        q.acceptance_rate(0)


def test_truncated_effort_is_bounded_by_what_was_asked():
    calls = []

    def sample(n, rng):
        calls.append(n)
        return rng.standard_normal((n, 1))

    q = Truncated(Model(score=lambda x: -x, sample=sample), Box([0], [10]))
    q.sample(1000, rng=0)
    assert sum(calls) < 3000
    assert (
        len([n for n in calls if n > 16]) <= 4
    )  # without those by which it is found out whether draws repeat


def test_truncation_of_what_as_model_takes():
    x = np.array([[0.2], [0.7]])
    for model in (scipy.stats.norm(0, 1), Model(logpdf=lambda x: -0.5 * (x**2).sum(axis=-1)), lambda x: -x):
        np.testing.assert_allclose(Truncated(model, Box([0], [1])).score(x), -x, atol=1e-6)
    with_sampler = Truncated(scipy.stats.norm(0, 1), Box([0], [1]))
    assert with_sampler.has_sample
    assert with_sampler.has_logpdf
    assert with_sampler.domain.contains(with_sampler.sample(10, rng=0)).all()
    without = Truncated(lambda x: -x, Box([0], [1]))
    assert not without.has_sample
    assert not without.has_logpdf
    with pytest.raises(SamplingError, match=r"cannot be sampled, because .* has no sampler\. Pass Model"):
        without.sample(3)
    with pytest.raises(SamplingError, match="has no sampler"):
        without.acceptance_rate()
    with pytest.raises(ScoreError, match="has no log density"):
        without.logpdf(x)


def test_truncated_weighted_score_passes_through():
    q = Truncated(Dirichlet([0.5, 2]), Simplex(2))
    np.testing.assert_array_equal(q.weighted_score([[0, 1]]), [[-0.5, 1]])
    np.testing.assert_array_equal(Truncated(Normal(), Box([0], [1])).weighted_score([[0.5]]), [[-0.25]])


def test_truncation_may_be_nested():
    inner = Truncated(Normal(), Box([0], [2]))
    q = Truncated(inner, Box([0.5], [1]))
    assert q.domain.contains(q.sample(50, rng=0)).all()
    assert Truncated(inner, inner.domain).domain == inner.domain


def test_truncation_to_a_domain_of_the_users_own():
    class Strip(Domain):
        @property
        def dim(self):
            return 2

        @property
        def bounded(self):
            return True

        def contains(self, x):
            return (np.abs(x) <= [1, 3]).all(axis=1)

    # No uniform sampler, so containment in the model's domain cannot be checked and is believed.
    q = Truncated(Truncated(Normal([0, 0]), Box([-1, -3], [1, 3])), Strip())
    assert (np.abs(q.sample(50, rng=0)) <= [1, 3]).all()
