"""Latent variables: an averaged conditional score stands for the score of the marginal.

The marginals here are known in closed form, by enumeration or by quadrature, so everything that the
operator estimates is compared with what it estimates.
"""

from __future__ import annotations

import itertools
import math
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import goodstein as gs
from definitions import evaluated
from goodstein.operators.estimated import Estimated
from goodstein.pipeline.compose import compose
from levels import check_level, trials

# Tests of what is computed do not mind that some states of their models are rare.
pytestmark = pytest.mark.filterwarnings("ignore:(For|About) [0-9]+%")

FAMILY = gs.families
PCA = FAMILY.ProbabilisticPCA([[1.0, 0.2], [-0.5, 0.8], [0.3, 1.5]], variance=0.4, mean=[1.0, 0.0, -2.0])
MIXTURE = FAMILY.GaussianMixture([0.3, 0.7], [[-1.0, 0.0], [1.0, 0.5]], [[[1.0, 0.3], [0.3, 0.5]], np.eye(2)])
COUNTS = FAMILY.BetaBinomial(3, a=8.0, b=3.0)
GAUSSIAN = gs.Gaussian(1.0)


def normal_posterior(x, draws, rng):
    """z | x ~ N(x/2, 1/2) for x | z ~ N(z, 1), z ~ N(0, 1)."""
    return rng.normal(x[:, None] / 2, math.sqrt(0.5), (len(x), draws, 1))


def normal_score(x, z):
    return z - x


NORMAL = gs.LatentModel(
    normal_score,
    normal_posterior,
    gs.Euclidean(1),
    sample=lambda n, rng: rng.normal(0.0, math.sqrt(2.0), (n, 1)),
    name="normal with a normal mean",
)
MARGINAL = FAMILY.Normal(0.0, 2.0)


# The identity: the posterior mean of the conditional score is the score of the marginal.


@pytest.mark.parametrize("x", [-1.3, 0.0, 2.2])
def test_the_posterior_mean_of_the_conditional_score_is_the_score(x):
    def joint(z):
        return scipy.stats.norm.pdf(x, z, 1.0) * scipy.stats.norm.pdf(z)

    evidence = scipy.integrate.quad(joint, -12, 12)[0]
    mean = scipy.integrate.quad(
        lambda z: normal_score(np.array([[x]]), np.array([[z]]))[0, 0] * joint(z), -12, 12
    )[0]
    assert mean / evidence == pytest.approx(MARGINAL.score([[x]])[0, 0], abs=1e-9)


def test_conditional_scores_are_gradients_in_x():
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(5, 3)), rng.normal(size=(5, 2))

    def pca(x, z):
        mean = jnp.asarray(PCA.mean) + jnp.asarray(PCA.loadings) @ z
        return jax.scipy.stats.norm.logpdf(x, mean, math.sqrt(PCA.variance)).sum()

    def mixture(x, mean, cov):
        return jax.scipy.stats.multivariate_normal.logpdf(x, mean, cov)

    labels, points = np.array([0, 1, 1, 0, 1]), rng.normal(size=(5, 2))
    expected = evaluated(jax.vmap(jax.grad(pca)), x, z)
    of_labels = evaluated(jax.vmap(jax.grad(mixture)), points, MIXTURE.means[labels], MIXTURE.covs[labels])
    np.testing.assert_allclose(PCA.conditional_score(x, z), expected, rtol=1e-10)
    got = MIXTURE.latent()._conditional_score(points, labels)
    np.testing.assert_allclose(got, of_labels, rtol=1e-10)


def test_ppca_marginal_and_posterior_are_those_of_the_joint_normal_law():
    w, d, k = PCA.loadings, 3, 2
    marginal = w @ w.T + PCA.variance * np.eye(d)
    x = PCA.sample(4, rng=1)
    reference = scipy.stats.multivariate_normal(PCA.mean, marginal)
    np.testing.assert_allclose(PCA.logpdf(x), reference.logpdf(x), rtol=1e-12)
    np.testing.assert_allclose(PCA.score(x), FAMILY.Normal(PCA.mean, marginal).score(x), rtol=1e-10)
    # (z, x) is normal with cov(z, x) = Wᵀ: condition on x.
    gain = w.T @ np.linalg.inv(marginal)
    draws = PCA.posterior_sample(x, 60_000, np.random.default_rng(2))
    cov = np.eye(k) - gain @ w
    error = np.sqrt(np.diag(cov) / draws.shape[1])
    assert (np.abs(draws.mean(axis=1) - (x - PCA.mean) @ gain.T) < 4.5 * error).all()
    for row in draws:
        np.testing.assert_allclose(np.cov(row.T), cov, atol=6 * cov.max() / math.sqrt(len(row)))


def test_mixture_labels_follow_bayes_rule():
    x = MIXTURE.sample(3, rng=1)
    joint = np.stack(
        [
            w * scipy.stats.multivariate_normal(m, c).pdf(x)
            for w, m, c in zip(MIXTURE.weights, MIXTURE.means, MIXTURE.covs, strict=True)
        ],
        axis=1,
    )
    expected = (joint / joint.sum(axis=1, keepdims=True))[:, 1]
    labels = MIXTURE.latent()._posterior_sample(x, 40_000, np.random.default_rng(1))
    assert labels.shape == (3, 40_000)
    assert set(np.unique(labels)) <= {0, 1}
    error = np.sqrt(expected * (1 - expected) / 40_000)
    assert (np.abs(labels.mean(axis=1) - expected) < 4.5 * error + 1e-12).all()


def test_beta_binomial_agrees_with_scipy():
    reference = scipy.stats.betabinom(3, 8.0, 3.0)
    states = COUNTS.domain.states()
    np.testing.assert_allclose(COUNTS.logpdf(states), reference.logpmf(states[:, 0]), rtol=1e-11)
    pmf = reference.pmf(np.arange(4))
    np.testing.assert_allclose(COUNTS.score(states)[:, 0], 1 - np.roll(pmf, -1) / pmf, rtol=1e-10)
    drawn = np.bincount(COUNTS.sample(20_000, rng=1)[:, 0].astype(int), minlength=4)
    assert scipy.stats.chisquare(drawn, 20_000 * pmf).pvalue > 1e-4


@pytest.mark.parametrize("x", range(4))
def test_the_posterior_mean_of_the_conditional_difference_score_is_the_difference_score(x):
    def joint(z):
        return scipy.stats.binom.pmf(x, 3, z) * scipy.stats.beta.pdf(z, 8.0, 3.0)

    def conditional(z):
        return 1 - scipy.stats.binom.pmf((x + 1) % 4, 3, z) / scipy.stats.binom.pmf(x, 3, z)

    at = np.array([[float(x)]])
    assert COUNTS.conditional_score(at, np.array([[0.3]]))[0, 0] == pytest.approx(conditional(0.3))
    mean = scipy.integrate.quad(lambda z: conditional(z) * joint(z), 0, 1)[0]
    assert mean / scipy.integrate.quad(joint, 0, 1)[0] == pytest.approx(COUNTS.score(at)[0, 0], abs=1e-8)
    draws = COUNTS.posterior_sample(at, 20_000, np.random.default_rng(1))
    assert scipy.stats.kstest(draws[0, :, 0], scipy.stats.beta(8 + x, 3 + 3 - x).cdf).pvalue > 1e-4


# The estimate.


def test_draws_are_averaged_point_by_point():
    """Against loops over points and draws, with latent matrices, so that no axis can be confused."""
    z = np.random.default_rng(1).normal(size=(4, 3, 2, 5))

    def conditional(x, z):
        return x[:, :1] * z[:, :, 0] ** 2 + x[:, 1:] * z.sum(axis=2)

    model = gs.LatentModel(conditional, lambda x, draws, rng: z, gs.Euclidean(2))
    model.trusted = True  # its draws are meant to be the same
    x = np.random.default_rng(2).normal(size=(4, 2))
    expected = np.zeros((4, 2))
    for i, j in itertools.product(range(4), range(3)):
        for c in range(2):
            expected[i, c] += (x[i, 0] * z[i, j, c, 0] ** 2 + x[i, 1] * z[i, j, c].sum()) / 3
    np.testing.assert_allclose(model.estimated_score(x, 3), expected, rtol=1e-12)


def test_the_rows_may_be_taken_in_parts(monkeypatch):
    model = gs.LatentModel(lambda x, z: z * x, lambda x, draws, rng: np.repeat(x[:, None], draws, axis=1))
    x = np.random.default_rng(1).normal(size=(23, 2))
    monkeypatch.setattr("goodstein.models.latent.ROWS", 40)
    np.testing.assert_allclose(model.estimated_score(x, 6), x**2, rtol=1e-12)


def test_the_statistic_is_unbiased_by_enumeration():
    """All labels of three points: the mean of U over the posterior is U with the score, exactly.

    With E V the same does not hold: it exceeds V by the variance of the conditional scores.
    """
    x = MIXTURE.sample(3, rng=5)
    joint = np.exp(MIXTURE._log_joint(x))
    posterior = joint / joint.sum(axis=1, keepdims=True)
    off = ~np.eye(3, dtype=bool)
    mean_u = mean_v = 0.0
    for labels in itertools.product(range(2), repeat=3):
        weight = math.prod(posterior[i, label] for i, label in enumerate(labels))
        fixed = gs.LatentModel(
            MIXTURE.latent()._conditional_score,
            lambda x, draws, rng, labels=labels: np.array(labels)[:, None],
            gs.Euclidean(2),
        )
        h = gs.stein_matrix(x, fixed, operator=gs.Latent(1), kernel=GAUSSIAN)
        mean_u += weight * h[off].mean()
        mean_v += weight * h.mean()
    exact = gs.stein_matrix(x, MIXTURE, kernel=GAUSSIAN)
    assert mean_u == pytest.approx(exact[off].mean(), rel=1e-12)
    scores = np.stack([MIXTURE.latent()._conditional_score(x, np.full(3, j)) for j in range(2)], axis=1)
    variance = np.einsum("ij,ijc->i", posterior, scores**2) - (MIXTURE.score(x) ** 2).sum(axis=1)
    assert mean_v - exact.mean() == pytest.approx(variance.sum() / 9, rel=1e-9)


@pytest.mark.parametrize("draws", [1, 4])
def test_noise_inflates_v_and_not_u(draws):
    """N(0, 2) with z | x ~ N(x/2, 1/2): ŝ has variance 1/2m, and V gains k(x, x)/2mn."""
    x = MARGINAL.sample(12, rng=1)
    exact = gs.stein_matrix(x, MARGINAL, kernel=GAUSSIAN)
    off = ~np.eye(12, dtype=bool)
    u, v = [], []
    for seed in range(1500):
        h = gs.stein_matrix(x, NORMAL, operator=gs.Latent(draws), kernel=GAUSSIAN, rng=seed)
        u.append(h[off].mean())
        v.append(h.mean())
    error_u, error_v = (np.std(values) / math.sqrt(1500) for values in (u, v))
    assert abs(np.mean(u) - exact[off].mean()) < 4 * error_u
    inflation = 1 / (2 * draws * 12)
    assert abs(np.mean(v) - exact.mean() - inflation) < 4 * error_v
    assert inflation > 6 * error_v


# With a conditional score that does not depend on z the operator is the one inside.

BOX = FAMILY.Truncated(FAMILY.Normal([0.3, 0.6], 0.2), gs.Box([0.0, 0.0], [1.0, 1.0]))
DIRICHLET = FAMILY.Dirichlet([1.5, 2.0, 3.0])
EXACT = {
    "space": (PCA, None),
    "box": (BOX, None),
    "box, operator named": (BOX, gs.Standardised(gs.BoxProduct())),
    "simplex": (DIRICHLET, None),
    "simplex, mirrored": (DIRICHLET, gs.Mirrored()),
    "lattice": (COUNTS, gs.Difference()),
}


@pytest.mark.parametrize("name", EXACT)
def test_without_noise_it_is_the_operator_inside(name):
    model, inner = EXACT[name]
    latent = gs.LatentModel(
        lambda x, z: np.asarray(model.score(x)),
        lambda x, draws, rng: rng.normal(size=(len(x), draws)),
        model.domain,
    )
    x = model.sample(40, rng=1)
    expected = gs.stein_matrix(x, model, operator=inner)
    got = gs.stein_matrix(x, latent, operator=gs.Latent(3, operator=inner))
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())
    test, plain = (
        gs.ksd_test(x, latent, operator=gs.Latent(3, inner), rng=1),
        gs.ksd_test(x, model, operator=inner, rng=1),
    )
    assert test.pvalue == plain.pvalue
    assert test.audit.valid
    assert (test.kernel.bandwidths or 0.0) == pytest.approx(plain.kernel.bandwidths or 0.0, rel=1e-12)


def test_latent_is_the_default_for_a_latent_model():
    x = PCA.sample(30, rng=1)
    result = gs.ksd_test(x, PCA.latent(), rng=1)
    assert result.operator.draws == 100
    assert repr(result.operator) == "Latent(draws=100, operator=Langevin())"
    assert "Latent(draws=100" in result.summary()
    counts = gs.ksd_test(COUNTS.sample(50, rng=1), COUNTS.latent(), rng=1)
    assert repr(counts.operator) == "Latent(draws=100, operator=Difference())"
    assert isinstance(counts.kernel, gs.Hamming)


@pytest.mark.parametrize("model", [PCA, MIXTURE, COUNTS], ids=lambda model: type(model).__name__)
def test_latent_problems_can_be_sent_to_other_processes(model):
    problem = compose(model.sample(20, rng=1), model.latent(), operator=gs.Latent(5), seeds=(0, 0, 7))
    again = pickle.loads(pickle.dumps(problem))
    assert again.statistic() == problem.statistic()


def test_jax_functions_are_evaluated_in_double_precision():
    model = gs.LatentModel(
        jax.vmap(lambda x, z: jax.grad(lambda x: jax.scipy.stats.norm.logpdf(x, z).sum())(x)),
        normal_posterior,
        gs.Euclidean(1),
    )
    x = MARGINAL.sample(20, rng=1)
    np.testing.assert_allclose(
        model.estimated_score(x, 5, rng=1), NORMAL.estimated_score(x, 5, rng=1), rtol=1e-12
    )


# Level, power, other nulls.


@trials(100, 300)
@pytest.mark.parametrize("draws", [1, 20])
def test_level_with_few_draws(draws, trials):
    pvalues = [
        gs.ksd_test(
            NORMAL.sample(60, rng=seed),
            NORMAL,
            operator=gs.Latent(draws),
            null=gs.WildBootstrap(199),
            rng=seed + 10_000,
        ).pvalue
        for seed in range(trials)
    ]
    check_level(pvalues, 0.05, 0.2)


def test_draws_from_the_prior_do_not_do():
    """E over z ~ π(z) of ∇_x log q(x | z) is −x, not the score −x/2: a true model is rejected."""
    prior = gs.LatentModel(
        normal_score, lambda x, draws, rng: rng.normal(size=(len(x), draws, 1)), gs.Euclidean(1)
    )
    x = MARGINAL.sample(500, rng=2)
    assert gs.ksd_test(x, prior, rng=1).pvalue < 0.01
    assert gs.ksd_test(x, NORMAL, rng=1).pvalue > 0.05


def test_a_wrong_model_is_rejected_with_latent_draws():
    x = FAMILY.Normal(0.0, 4.0).sample(500, rng=1)
    assert gs.ksd_test(x, NORMAL, operator=gs.Latent(10), rng=1).pvalue < 0.01


def test_other_null_methods():
    x = PCA.sample(40, rng=1)
    operator = gs.Latent(5)
    simulated = gs.ksd_test(x, PCA.latent(), operator=operator, null=gs.MonteCarlo(99), rng=1)
    assert 0.05 < simulated.pvalue <= 1.0
    assert gs.ksd_test(x, PCA.latent(), operator=operator, null=gs.Spectral(999), rng=1).pvalue > 0.05

    def fit(x):
        return FAMILY.ProbabilisticPCA.fit(x, 1).latent()

    refitted = gs.ksd_test(x, fit(x), operator=operator, null=gs.ParametricBootstrap(fit, 49), rng=1)
    assert not refitted.notes  # the same draws of z: the refitted model is the model
    assert 0.0 < refitted.pvalue <= 1.0


def test_audit_of_latent_models():
    report = gs.audit(NORMAL, rng=1)
    assert report.valid
    assert "Stein's identity by simulation" in str(report)
    wrong = gs.LatentModel(
        lambda x, z: 2 * (z - x), normal_posterior, gs.Euclidean(1), sample=NORMAL._functions["sample"]
    )
    assert not gs.audit(wrong, rng=1).valid


def test_audit_of_a_boundary_sees_the_estimated_score():
    """Uniform on [0, 1] given z: Langevin() inside is refused, Standardised() is not."""
    box = gs.Box(0, 1)
    model = gs.LatentModel(
        lambda x, z: z[:, None] * np.ones_like(x), lambda x, draws, rng: rng.normal(size=(len(x), draws)), box
    )
    x = np.random.default_rng(1).uniform(size=(50, 1))
    with pytest.raises(gs.SteinIdentityError, match="Stein's identity fails"):
        gs.ksd_test(x, model, operator=gs.Latent(5, gs.Langevin()), rng=1)
    assert gs.ksd_test(x, model, operator=gs.Latent(5), rng=1).audit.valid


def test_a_latent_model_on_a_smaller_domain():
    half = gs.Box(0, np.inf)
    x = np.abs(MARGINAL.sample(100, rng=1))
    result = gs.ksd_test(x, NORMAL, domain=half, operator=gs.Latent(5), null=gs.MonteCarlo(19), rng=1)
    assert result.pvalue > 0.05
    assert "Truncated" in result.model
    assert repr(result.operator).startswith("Latent(draws=5, operator=Standardised(")
    exact = gs.stein_matrix(x, MARGINAL, domain=half)
    many = np.mean(
        [gs.stein_matrix(x, NORMAL, domain=half, operator=gs.Latent(50), rng=s) for s in range(40)], axis=0
    )
    off = ~np.eye(100, dtype=bool)
    assert np.abs(many - exact)[off].mean() < 0.1 * np.abs(exact)[off].mean()


# Fits.


def test_ppca_fit_maximises_the_likelihood():
    x = PCA.sample(300, rng=1)
    fitted = FAMILY.ProbabilisticPCA.fit(x, 2)
    sklearn = pytest.importorskip("sklearn.decomposition")
    # scikit-learn divides by n − 1.
    reference = sklearn.PCA(2).fit(x)
    expected = reference.get_covariance() * (299 / 300)
    got = fitted.loadings @ fitted.loadings.T + fitted.variance * np.eye(3)
    np.testing.assert_allclose(got, expected, rtol=1e-8)
    best = fitted.logpdf(x).sum()
    rng = np.random.default_rng(1)
    for _ in range(20):
        loadings = fitted.loadings + 0.01 * rng.normal(size=(3, 2))
        variance = fitted.variance * math.exp(0.01 * rng.normal())
        other = FAMILY.ProbabilisticPCA(loadings, variance, fitted.mean + 0.01 * rng.normal(size=3))
        assert other.logpdf(x).sum() < best


# Bad input.


def scored(**options):
    settings = {"conditional_score": normal_score, "posterior_sample": normal_posterior, "domain": None}
    return gs.LatentModel(**{**settings, **options})


X = np.linspace(-1.0, 1.0, 6)[:, None]


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (
            lambda: scored(conditional_score=3),
            gs.InputError,
            "`conditional_score` of LatentModel must be a fun",
        ),
        (lambda: scored(posterior_sample=None), gs.InputError, "`posterior_sample` of LatentModel must be a"),
        (lambda: scored(domain="R"), gs.InputError, "`domain` of LatentModel must be a"),
        (lambda: gs.Latent(0), gs.InputError, "`draws` must be an integer of at least 1, got 0"),
        (lambda: gs.Latent(2.5), gs.InputError, "`draws` must be an integer"),
        (lambda: gs.Latent(operator=gs.Langevin), gs.InputError, "`operator` of Latent must be the operator"),
        (lambda: gs.Latent(operator=gs.Difference(10)), gs.InputError, "is not linear in the score"),
        (lambda: gs.Latent(operator=gs.Latent()), gs.InputError, "that takes the estimated score"),
        (
            lambda: gs.ksd_test(X, NORMAL, operator=gs.Langevin()),
            gs.ScoreError,
            r"Use operator=Latent\(draws=",
        ),
        (lambda: NORMAL.score(X), gs.ScoreError, "can only be estimated by draws of the latent variable"),
        (lambda: NORMAL.weighted_score(X), gs.ScoreError, "can only be estimated"),
        (
            lambda: gs.ksd_test(X, MARGINAL, operator=gs.Latent()),
            gs.InputError,
            r"Latent\(\) needs a LatentModel\(conditional_score, posterior_sample\), got Normal",
        ),
        (
            lambda: gs.ksd_test(
                X, scored(posterior_sample=lambda x, draws, rng: rng.normal(size=(draws, len(x))))
            ),
            gs.InputError,
            r"returned shape \(100, 6\) for 6 points and 100 draws; expected \(6, 100\) or \(6, 100, \.\.",
        ),
        (
            lambda: gs.ksd_test(
                X, scored(posterior_sample=lambda x, draws, rng: normal_posterior(x, draws, rng)[:, :, 0])
            ),
            gs.ScoreError,
            r"returned shape \(600, 600\) for 600 pairs of x, \(600, 1\), and z, \(600,\); expected "
            r"\(600, 1\)\. z has no second axis here: write z\[:, None\]",
        ),
        (
            lambda: gs.ksd_test(X, scored(conditional_score=lambda x, z: (z - x).sum())),
            gs.ScoreError,
            r"`conditional_score` of .* returned shape \(\)",
        ),
        (
            lambda: gs.ksd_test(X, scored(conditional_score=lambda x, z: ["a"] * len(x))),
            gs.ScoreError,
            "must return an array of real numbers",
        ),
        (
            lambda: gs.ksd_test(X, scored(conditional_score=lambda x, z: np.where(x > 0.9, np.nan, z - x))),
            gs.ScoreError,
            r"estimated score of .* is not finite at 1 of 6 rows \(row 5\)",
        ),
        (
            lambda: gs.ksd_test(
                X,
                scored(
                    posterior_sample=lambda x, m, rng: np.broadcast_to(rng.normal(size=(m, 1)), (6, m, 1))
                ),
            ),
            gs.InputError,
            "the same draws for all 6 points. They must be draws of z given x, independent",
        ),
        (
            lambda: FAMILY.BetaBinomial(3, 2, 2).latent(),
            gs.InputError,
            "infinite variance .* a > count and b >",
        ),
        (lambda: FAMILY.BetaBinomial(0, 2, 2), gs.InputError, "`count` must be an integer of at least 1"),
        (lambda: FAMILY.BetaBinomial(3, -1, 2), gs.InputError, "`a` must be a positive number"),
        (lambda: COUNTS.score([[4.0]]), gs.DomainError, r"states outside Lattice\(4, 1\)"),
        (lambda: FAMILY.ProbabilisticPCA([1.0, 2.0]), gs.InputError, r"`loadings`: expected shape \(d, k\)"),
        (lambda: FAMILY.ProbabilisticPCA([[1.0]], 0), gs.InputError, "`variance` must be a positive number"),
        (lambda: FAMILY.ProbabilisticPCA([[1.0]], 1, [0, 0]), gs.InputError, "`mean` has 2 coordinates"),
        (lambda: FAMILY.ProbabilisticPCA.fit(X, 1), gs.InputError, "the variance of the noise needs k < d"),
        (
            lambda: FAMILY.ProbabilisticPCA.fit(np.column_stack([X, 2 * X]), 1),
            gs.InputError,
            "1 components explain all of its variance",
        ),
    ],
)
def test_bad_input(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_an_operator_that_looks_elsewhere_is_refused():
    class Elsewhere:
        def features(self, model, domain, data):
            return gs.SteinFeatures(data, model.score(data + 1.0))

    with pytest.raises(gs.ScoreError, match="at points that are not the data"):
        gs.ksd_test(X, NORMAL, operator=gs.Latent(2, Elsewhere()))


def test_names_and_values():
    assert repr(NORMAL) == "LatentModel(normal with a normal mean, domain=Euclidean(1))"
    assert scored().name == "LatentModel(normal_score)"
    assert not NORMAL.has_score
    assert not NORMAL.has_logpdf
    assert gs.as_model(NORMAL) is NORMAL
    assert gs.Latent(3) == gs.Latent(3)
    assert isinstance(gs.Latent(), Estimated)
    assert repr(FAMILY.ProbabilisticPCA(np.ones((20, 3)))) == "ProbabilisticPCA(d=20, k=3, variance=1)"
    assert repr(PCA.latent()).startswith("LatentModel(ProbabilisticPCA(")
