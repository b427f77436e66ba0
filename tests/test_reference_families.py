"""Samplers, fits and published values of families, each against something that is not of the library.

Densities are compared in the files of the families, scores with differences in ``test_laws_of_families.py``.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from statsmodels.distributions.copula import api as other

import goodstein as gs

F = gs.families

# --- samplers: probabilities, moments and correlations that are known -----------------------------------

KINDS = np.array([[a, b, 6.0 - a - b] for a in range(7) for b in range(7 - a)])
PAIRS = np.array(list(itertools.product(np.arange(12.0), repeat=2)))
LINE = np.arange(30.0)[:, None]
DRAWN = [
    (F.Poisson(3.0), LINE, scipy.stats.poisson(3.0).pmf(LINE[:, 0])),
    (F.Geometric(0.3), LINE, scipy.stats.geom(0.3, loc=-1).pmf(LINE[:, 0])),
    (F.BetaBinomial(6, 0.7, 2.0), LINE[:7], scipy.stats.betabinom(6, 0.7, 2.0).pmf(LINE[:7, 0])),
    (F.Multinomial(6, [0.5, 0.3, 0.2]), KINDS, scipy.stats.multinomial(6, [0.5, 0.3, 0.2]).pmf(KINDS)),
    (
        F.DirichletMultinomial(6, [0.5, 0.3, 2.0]),
        KINDS,
        scipy.stats.dirichlet_multinomial([0.5, 0.3, 2.0], 6).pmf(KINDS.astype(int)),
    ),
    (
        F.Product([F.Poisson(2.0), F.Geometric(0.4)]),
        PAIRS,
        scipy.stats.poisson(2.0).pmf(PAIRS[:, 0]) * scipy.stats.geom(0.4, loc=-1).pmf(PAIRS[:, 1]),
    ),
]


@pytest.mark.parametrize(("family", "states", "p"), DRAWN, ids=lambda v: str(v)[:25] if v is not None else "")
def test_samples_of_counts_have_the_probabilities_of_scipy(family, states, p):
    x = family.sample(20_000, rng=1)
    place = {tuple(state): k for k, state in enumerate(states)}
    at = [place.get(tuple(row), -1) for row in x]
    counts = np.bincount(np.array(at) + 1, minlength=len(states) + 1)[1:]
    seen = p * len(x) > 5
    found = np.append(counts[seen], len(x) - counts[seen].sum())
    wanted = np.append(p[seen], max(1.0 - p[seen].sum(), 1e-12)) * len(x)
    kept = wanted > 1
    assert scipy.stats.chi2.sf(((found - wanted)[kept] ** 2 / wanted[kept]).sum(), kept.sum() - 1) > 1e-4


CORR = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 1.0]])


@pytest.mark.parametrize(
    ("copula", "tau"),
    [
        (F.GaussianCopula(CORR), 2 / np.pi * np.arcsin(CORR)),
        (F.StudentCopula(2.5, CORR), 2 / np.pi * np.arcsin(CORR)),  # the same for all elliptical laws
        (F.ClaytonCopula(1.5, 3), np.full((3, 3), 1.5 / 3.5)),
    ],
    ids=["Gaussian", "t", "Clayton"],
)
def test_draws_of_three_columns_have_kendalls_tau_of_every_pair(copula, tau):
    u = copula.sample(4000, rng=2)
    for i, j in itertools.combinations(range(3), 2):
        assert scipy.stats.kendalltau(u[:, i], u[:, j]).statistic == pytest.approx(tau[i, j], abs=0.04)


@pytest.mark.parametrize(
    ("copula", "joint"),
    [
        (F.ClaytonCopula(2.0), lambda q: (2 * q**-2.0 - 1) ** -0.5),
        (F.GumbelCopula(2.0), lambda q: q ** (2**0.5)),
        (F.FrankCopula(5.0), lambda q: -np.log1p(np.expm1(-5 * q) ** 2 / np.expm1(-5.0)) / 5),
    ],
    ids=["Clayton", "Gumbel", "Frank"],
)
def test_draws_have_the_copula_of_the_textbook_in_both_tails(copula, joint):
    """C(q, q) of Nelsen (2006), table 4.1, where both columns are small, and where both are large."""
    u = copula.sample(100_000, rng=4)
    for q in (0.01, 0.1):
        lower, upper = joint(q), 2 * q - 1 + joint(1 - q)
        for found, wanted in (((u < q), lower), ((u > 1 - q), upper)):
            error = np.sqrt(wanted / len(u))
            assert found.all(axis=1).mean() == pytest.approx(wanted, abs=4 * error)


def test_draws_of_mixtures_of_parts_have_their_moments():
    weights, alphas = np.array([0.4, 0.6]), np.array([[9.0, 2.0, 2.0], [2.0, 3.0, 12.0]])
    x = F.DirichletMixture(weights, alphas).sample(40_000, rng=1)
    total = alphas.sum(axis=1)
    second = [
        (np.outer(a, a) + np.diag(a)) / (s * (s + 1)) for a, s in zip(alphas, total, strict=True)
    ]  # E x xᵀ of a Dirichlet law
    np.testing.assert_allclose(x.mean(axis=0), weights @ (alphas / total[:, None]), atol=0.004)
    np.testing.assert_allclose(x.T @ x / len(x), np.tensordot(weights, second, 1), atol=0.004)


def test_a_mixture_of_logistic_normals_is_one_of_normals_of_log_ratios():
    """Aitchison and Shen (1980): additive log-ratios are normal, the Jacobian is the product of the parts."""
    basis = gs.Simplex(3).basis
    np.testing.assert_allclose(basis @ basis.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(basis.sum(axis=1), 0.0, atol=1e-12)
    weights, means, covs = [0.4, 0.6], [[1.5, 0.0], [-1.0, 1.0]], [[[0.3, 0.1], [0.1, 0.2]], 0.3 * np.eye(2)]
    mixture = F.LogisticNormalMixture(weights, means, covs)
    x = mixture.sample(40_000, rng=2)
    # y = basis·log x, and a = (log x₁/x₃, log x₂/x₃) is y turned into other coordinates.
    turn = np.linalg.inv(basis @ np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
    additive = np.log(x[:, :2] / x[:, 2:])
    parts = [
        scipy.stats.multivariate_normal(turn @ mean, turn @ cov @ turn.T)
        for mean, cov in zip(means, covs, strict=True)
    ]
    density = sum(w * part.pdf(additive) for w, part in zip(weights, parts, strict=True)) / x.prod(axis=1)
    np.testing.assert_allclose(np.exp(mixture.logpdf(x)), density, rtol=1e-9)
    mean = np.tensordot(weights, [part.mean for part in parts], 1)
    second = np.tensordot(weights, [part.cov + np.outer(part.mean, part.mean) for part in parts], 1)
    np.testing.assert_allclose(additive.mean(axis=0), mean, atol=0.05)
    np.testing.assert_allclose(additive.T @ additive / len(x), second, atol=0.12)


def test_the_time_change_makes_a_hawkes_process_one_of_unit_rate():
    """Ogata (1988): the compensator at the events is a Poisson process of rate one, here of 40 draws."""
    window = gs.Box(0, 50)
    model = F.Hawkes(1.0, 0.6, 3.0, window)
    gaps = []
    for events in model.sample(40, rng=6):
        grown = model.compensator(events[:, 0], events[:, 0])
        gaps.extend(np.diff(grown, prepend=0.0))
    assert len(gaps) > 3000 and scipy.stats.kstest(gaps, "expon").pvalue > 1e-3
    lag = np.corrcoef(gaps[:-1], gaps[1:])[0, 1]
    assert abs(lag) < 4 / np.sqrt(len(gaps))


# --- fits: closed forms, other packages, published estimates ---------------------------------------------


def best(loss, start):
    """Where a function is smallest, by a search that knows no gradients."""
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000, "maxfev": 4000}
    return scipy.optimize.minimize(loss, start, method="Nelder-Mead", options=options).x


def test_the_negative_binomial_fit_is_the_published_one():
    """Bliss and Fisher (1953), Fitting the negative binomial distribution to biological data, Biometrics 9.

    European red mites on 150 apple leaves: mean 1.14667, and by maximum likelihood k = 1.02459.
    """
    mites = np.repeat(np.arange(8.0), [70, 38, 17, 10, 9, 3, 2, 1])
    fit = F.NegativeBinomial.fit(mites)
    assert fit.mean == pytest.approx(1.14667, abs=5e-6)
    assert fit.size == pytest.approx(1.02459, abs=5e-5)


def test_fits_of_one_proportion_have_their_closed_forms():
    counts = np.repeat(np.arange(5.0), [109, 65, 22, 3, 1])  # deaths by horse kick, Bortkiewicz (1898)
    assert F.Poisson.fit(counts).rate[0] == pytest.approx(0.61, rel=1e-12)
    assert F.Geometric.fit(counts).p == pytest.approx(1 / 1.61, rel=1e-9)
    assert F.Binomial.fit(counts, count=4).p == pytest.approx(0.61 / 4, rel=1e-9)
    kinds = np.array([[3.0, 2.0, 1.0], [4.0, 1.0, 1.0], [5.0, 0.0, 1.0]])
    np.testing.assert_allclose(F.Multinomial.fit(kinds).p, [12 / 18, 3 / 18, 3 / 18], rtol=1e-9)


def test_a_zero_inflated_fit_is_that_of_statsmodels():
    discrete = pytest.importorskip("statsmodels.discrete.count_model")
    x = F.ZeroInflated(F.Poisson(2.0), 0.3).sample(400, rng=2)
    theirs = discrete.ZeroInflatedPoisson(x[:, 0], np.ones(len(x))).fit(disp=0, method="bfgs", maxiter=500)
    ours = F.ZeroInflated.fit(x)
    assert ours.logpdf(x).sum() == pytest.approx(theirs.llf, rel=1e-8)
    inflation, rate = theirs.params
    assert ours.family.rate[0] == pytest.approx(np.exp(rate), rel=1e-3)
    assert ours.share == pytest.approx(1 / (1 + np.exp(-inflation)), rel=1e-3)


def test_a_dirichlet_multinomial_fit_is_the_maximum_by_scipy():
    x = F.DirichletMultinomial(9, [0.5, 1.3, 2.0]).sample(300, rng=5)

    def loss(log_alpha):
        return -scipy.stats.dirichlet_multinomial(np.exp(log_alpha), 9).logpmf(x.astype(int)).mean()

    np.testing.assert_allclose(
        F.DirichletMultinomial.fit(x).alpha, np.exp(best(loss, np.zeros(3))), rtol=1e-4
    )


@pytest.mark.parametrize(
    ("copula", "density", "start", "found"),
    [
        (
            F.GaussianCopula(0.6),
            lambda v: other.GaussianCopula(np.tanh(v[0])),
            [0.5],
            lambda q: [np.arctanh(q.corr[0, 1])],
        ),
        (F.ClaytonCopula(1.5), lambda v: other.ClaytonCopula(v[0]), [1.0], lambda q: [q.theta]),
        (F.GumbelCopula(2.0), lambda v: other.GumbelCopula(v[0]), [1.5], lambda q: [q.theta]),
        (F.FrankCopula(5.0), lambda v: other.FrankCopula(v[0]), [3.0], lambda q: [q.theta]),
    ],
    ids=["Gaussian", "Clayton", "Gumbel", "Frank"],
)
def test_fits_of_copulas_are_the_maxima_of_the_densities_of_statsmodels(copula, density, start, found):
    u = copula.sample(300, rng=3)
    wanted = best(lambda v: -np.log(density(v).pdf(u)).mean(), start)
    np.testing.assert_allclose(found(type(copula).fit(u)), wanted, rtol=1e-4)


def test_the_fit_of_a_t_copula_is_the_maximum_of_the_density_of_statsmodels():
    u = F.StudentCopula(4.0, 0.6).sample(300, rng=3)
    fit = F.StudentCopula.fit(u)
    v = best(
        lambda v: -np.log(other.StudentTCopula(np.tanh(v[0]), df=np.exp(v[1])).pdf(u)).mean(), [0.5, 1.0]
    )
    assert fit.corr[0, 1] == pytest.approx(np.tanh(v[0]), rel=1e-3)
    assert fit.df == pytest.approx(np.exp(v[1]), rel=1e-2)


def test_a_fitted_mixture_of_logistic_normals_is_as_likely_as_that_of_scikit_learn():
    mixture = pytest.importorskip("sklearn.mixture")
    x = F.LogisticNormalMixture([0.4, 0.6], [[1.5, 0.0], [-1.0, 1.0]], [0.2, 0.3]).sample(300, rng=2)
    y = np.log(x) @ gs.Simplex(3).basis.T
    theirs = mixture.GaussianMixture(2, tol=1e-10, max_iter=2000, reg_covar=1e-12, random_state=1).fit(y)
    ours = F.LogisticNormalMixture.fit(x, 2, rng=1)
    order = [np.argsort(one[:, 0]) for one in (ours.means, theirs.means_)]
    np.testing.assert_allclose(ours.means[order[0]], theirs.means_[order[1]], atol=2e-3)
    np.testing.assert_allclose(ours.weights[order[0]], theirs.weights_[order[1]], atol=2e-3)


def test_a_degree_corrected_fit_is_a_logistic_regression_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    blocks, rng = np.repeat([0, 1], 6), np.random.default_rng(3)
    truth = F.StochasticBlockModel(blocks, [[0.8, -0.6], [-0.6, 0.3]], rng.normal(0, 0.3, 12))
    graph = truth.walk(np.zeros((12, 12)), 1, rng)
    i, j = np.triu_indices(12, 1)
    kinds = np.column_stack([(blocks[i] + blocks[j] == k) * 1.0 for k in range(3)])
    ends = np.zeros((len(i), 12))
    ends[np.arange(len(i)), i] = ends[np.arange(len(i)), j] = 1.0
    free = np.delete(ends, [0, 6], axis=1)  # those of a block may grow by what its log odds lose
    theirs = sm.GLM(graph[i, j], np.hstack([kinds, free]), family=sm.families.Binomial()).fit()
    ours = F.StochasticBlockModel.fit(graph, blocks, degrees=True, ridge=1e-8)
    np.testing.assert_allclose(1 / (1 + np.exp(-ours.odds[i, j])), theirs.fittedvalues, atol=1e-4)
