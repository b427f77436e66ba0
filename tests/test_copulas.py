"""Copulas, against those of statsmodels and against what is known of their dependence."""

import numpy as np
import pytest
import scipy.stats
from statsmodels.distributions.copula import api as other

import goodstein as gs
from goodstein.families import ClaytonCopula, FrankCopula, GaussianCopula, GumbelCopula, StudentCopula

CORR = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 1.0]])
PAIRS = [
    (GaussianCopula(0.6), other.GaussianCopula(0.6)),
    (GaussianCopula(CORR), other.GaussianCopula(CORR, k_dim=3)),
    (StudentCopula(4.0, 0.6), other.StudentTCopula(0.6, df=4)),
    (StudentCopula(2.5, CORR), other.StudentTCopula(CORR, df=2.5, k_dim=3)),
    (ClaytonCopula(1.5), other.ClaytonCopula(1.5)),
    (ClaytonCopula(0.7, 3), other.ClaytonCopula(0.7, k_dim=3)),
    (GumbelCopula(2.0), other.GumbelCopula(2.0)),
    (FrankCopula(5.0), other.FrankCopula(5.0)),
]
TAU = [
    (GaussianCopula(0.6), 2 / np.pi * np.arcsin(0.6)),
    (StudentCopula(3.0, 0.6), 2 / np.pi * np.arcsin(0.6)),
    (ClaytonCopula(2.0), 0.5),
    (GumbelCopula(2.5), 0.6),
    (FrankCopula(5.736283), 0.5),
    (FrankCopula(-5.736283), -0.5),
]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda q: repr(q)[:20])
def test_densities_are_those_of_statsmodels(ours, theirs):
    u = np.random.default_rng(1).uniform(0.02, 0.98, size=(50, ours.dim))
    np.testing.assert_allclose(ours.logpdf(u), np.log(theirs.pdf(u)), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(("copula", "tau"), TAU, ids=lambda q: repr(q)[:20])
def test_draws_have_uniform_margins_and_kendalls_tau(copula, tau):
    u = copula.sample(4000, rng=2)
    for column in u.T:
        assert scipy.stats.kstest(column, "uniform").pvalue > 1e-3
    assert scipy.stats.kendalltau(*u.T).statistic == pytest.approx(tau, abs=0.04)


@pytest.mark.parametrize("copula", [q for q, _ in PAIRS], ids=lambda q: repr(q)[:20])
def test_fits_maximise_the_likelihood_and_know_their_influence(copula):
    u = copula.sample(300, rng=3)
    fit = type(copula).fit(u)
    best = fit.logpdf(u).mean()
    assert best >= copula.logpdf(u).mean()
    p = len(fit.coordinates())
    for by in 0.02 * np.vstack([np.eye(p), -np.eye(p)]):
        assert fit.moved(by).logpdf(u).mean() < best
    influence = fit.provenance.influence(u)
    assert np.abs(influence.values.mean(axis=0)).max() < 1e-3 * np.abs(influence.values).max()


@pytest.mark.parametrize("copula", [q for q, _ in TAU], ids=lambda q: repr(q)[:20])
def test_the_usual_operator_is_valid_for_copulas(copula):
    # Unbounded at corners as their densities are: the weight u(1 − u) vanishes faster.
    assert gs.audit(copula, rng=1).valid
    u = copula.sample(100, rng=5)
    assert gs.ksd_test(u, copula, rng=1).pvalue > 0.05
    fitted = gs.ksd_test(u, type(copula).fit(u), rng=1)
    assert isinstance(fitted.null, gs.FittedWildBootstrap)


def test_tails_tell_copulas_apart():
    u = ClaytonCopula(2.0).sample(300, rng=1)
    fit = GaussianCopula.fit(u)
    assert gs.aggregated_test(u, fit, rng=1).pvalue < 0.01
    assert gs.aggregated_test(u, ClaytonCopula.fit(u), rng=1).pvalue > 0.05


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GaussianCopula([[1.0, 0.2], [0.2, 2.0]]), "ones on its diagonal"),
        (lambda: GaussianCopula(1.0), "positive definite|singular"),
        (
            lambda: GaussianCopula.fit([[0.0, 0.5], [0.5, 0.5], [0.2, 0.1]]),
            "1 of 3 rows .* outside the open unit cube",
        ),
        (lambda: GumbelCopula(0.5), "at least 1"),
        (lambda: FrankCopula(0.0), "uniform distribution"),
        (lambda: GumbelCopula.fit(np.full((5, 3), 0.5)), "2 columns"),
        (lambda: ClaytonCopula(1.0).score([[0.5, 1.0]]), "faces of the unit cube"),
    ],
)
def test_mistakes_are_explained(call, message):
    with pytest.raises(gs.InputError, match=message):
        call()


def test_a_t_copula_is_not_fitted_where_its_limit_is_likelier():
    x = StudentCopula(3.0, 0.6).sample(100, rng=111)
    nearly = StudentCopula(200.0, GaussianCopula.fit(x).corr)
    limit = GaussianCopula.fit(x).logpdf(x).sum()
    assert limit > nearly.logpdf(x).sum() > StudentCopula(20.0, nearly.corr).logpdf(x).sum()
    with pytest.raises(gs.InputError, match=r"grows with ν until the limit.*Fit GaussianCopula\."):
        StudentCopula.fit(x)
