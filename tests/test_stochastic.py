"""Posteriors whose score is a sum over observations, and the operator that looks at a few of them."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import goodstein as gs
from definitions import evaluated
from levels import check_level, trials

OBSERVED = np.random.default_rng(7).normal([1.0, -0.5], [1.0, 0.7], size=(6, 2))
NOISE = np.array([1.0, 0.5])


def prior(theta):
    return -theta / 4.0


def likelihood(theta, y):
    """The score of y ~ N(θ, diag(1, 1/2)), tilted by a cubic term so that it is not linear in θ."""
    return (y - theta) / NOISE - 0.1 * theta**3 * y**2


def batched(theta, y):
    return likelihood(theta[:, None], y)


POSTERIOR = gs.Posterior(prior, likelihood, OBSERVED, gs.Euclidean(2), name="posterior")
BATCHED = gs.Posterior(prior, batched, OBSERVED, gs.Euclidean(2), batched=True, name="posterior")
THETA = np.random.default_rng(1).normal(size=(9, 2))
KERNEL = gs.Gaussian(1.0)


def conjugate(size: int, seed: int = 3) -> tuple[gs.Posterior, float, float]:
    """The mean of a normal with known variance: posterior N(m, v)."""
    y = np.random.default_rng(seed).normal(1.0, 1.0, size)
    model = gs.Posterior(
        lambda theta: -theta,
        lambda theta, y: y[:, :, None] - theta[:, None],
        y,
        gs.Euclidean(1),
        batched=True,
        sample=lambda n, rng: rng.normal(y.sum() / (size + 1), (size + 1) ** -0.5, (n, 1)),
    )
    return model, y.sum() / (size + 1), 1 / (size + 1)


def test_the_full_score_is_the_gradient_of_the_log_posterior():
    def logpdf(theta):
        # ∫ of the tilted term: −0.1·θ⁴y²/4.
        each = -((OBSERVED - theta) ** 2) / (2 * jnp.asarray(NOISE)) - 0.1 * theta**4 / 4 * OBSERVED**2
        return -(theta @ theta) / 8 + each.sum()

    expected = evaluated(jax.vmap(jax.grad(logpdf)), THETA)
    np.testing.assert_allclose(POSTERIOR.score(THETA), expected, rtol=1e-12)
    np.testing.assert_allclose(BATCHED.score(THETA), expected, rtol=1e-12)
    np.testing.assert_allclose(POSTERIOR.weighted_score(THETA), THETA * expected, rtol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 4, 6])
@pytest.mark.parametrize("model", [POSTERIOR, BATCHED], ids=["one by one", "batched"])
def test_the_mean_over_all_subsets_is_the_score(model, m):
    subsets = list(itertools.combinations(range(6), m))
    estimates = [model.subsampled_score(THETA, np.tile(subset, (len(THETA), 1))) for subset in subsets]
    np.testing.assert_allclose(np.mean(estimates, axis=0), POSTERIOR.score(THETA), rtol=1e-11)


def test_an_estimate_by_hand():
    index = np.array([[0, 3]] * 8 + [[1, 5]])
    got = POSTERIOR.subsampled_score(THETA, index)
    terms = [likelihood(THETA[8], OBSERVED[l]) for l in (1, 5)]  # noqa: E741
    np.testing.assert_allclose(got[8], prior(THETA[8]) + 6 / 2 * (terms[0] + terms[1]), rtol=1e-12)


def test_the_statistic_is_unbiased_by_enumeration():
    """Three points, three observations, one for each point: all 27 choices give U on average."""
    model = gs.Posterior(prior, likelihood, OBSERVED[:3], gs.Euclidean(2))
    x = THETA[:3]
    off = ~np.eye(3, dtype=bool)
    u, v = [], []
    for choice in itertools.product(range(3), repeat=3):
        scores = model.subsampled_score(x, np.array(choice)[:, None])
        h = gs.stein_matrix(x, gs.Model(score=lambda _, s=scores: s, batched=True), kernel=KERNEL)
        u.append(h[off].mean())
        v.append(h.mean())
    exact = gs.stein_matrix(x, model, kernel=KERNEL)
    assert np.mean(u) == pytest.approx(exact[off].mean(), rel=1e-11)
    assert np.mean(v) > exact.mean() * 1.01  # the noise of the scores


@pytest.mark.parametrize("model", [POSTERIOR, BATCHED], ids=["one by one", "batched"])
def test_all_observations_reproduce_the_ordinary_test(model):
    whole = gs.stein_matrix(THETA, model, operator=gs.Stochastic(6), kernel=KERNEL)
    np.testing.assert_array_equal(whole, gs.stein_matrix(THETA, model, kernel=KERNEL))
    one = gs.ksd_test(THETA, model, operator=gs.Stochastic(6), rng=1)
    assert one.pvalue == gs.ksd_test(THETA, model, rng=1).pvalue
    assert repr(one.operator) == "Stochastic(batch_size=6, replace=False, operator=Langevin())"


# The subsets.


def test_subsets_are_uniform_and_independent():
    index = gs.Stochastic(2, seed=5).subsets(12_000, 4)
    assert (index[:, 0] < index[:, 1]).all()
    pairs = index[:, 0] * 4 + index[:, 1]
    counts = np.unique(pairs, return_counts=True)[1]
    assert len(counts) == 6
    assert scipy.stats.chisquare(counts).pvalue > 1e-3
    following = np.histogram2d(pairs[:-1], pairs[1:], bins=16)[0]
    following = following[following.sum(axis=1) > 0][:, following.sum(axis=0) > 0]
    assert scipy.stats.chi2_contingency(following).pvalue > 1e-3


def test_subsets_with_replacement():
    index = gs.Stochastic(3, replace=True, seed=5).subsets(10_000, 2)
    counts = np.bincount(index.sum(axis=1), minlength=4)
    assert scipy.stats.chisquare(counts, 10_000 * np.array([1, 3, 3, 1]) / 8).pvalue > 1e-3
    assert gs.ksd_test(THETA, POSTERIOR, operator=gs.Stochastic(10, replace=True), rng=1).pvalue > 0


# Level: independent subsets keep it, one subset for all points does not.


@trials(100, 300)
def test_level_with_small_subsets(trials):
    model, _, _ = conjugate(30)
    pvalues = [
        gs.ksd_test(
            model.sample(60, rng=seed),
            model,
            operator=gs.Stochastic(3),
            null=gs.WildBootstrap(199),
            rng=seed + 10_000,
        ).pvalue
        for seed in range(trials)
    ]
    check_level(pvalues, 0.05, 0.2)


def test_one_subset_for_all_points_rejects_the_true_posterior():
    model, _, _ = conjugate(30)
    rejected = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        shared = rng.choice(30, 10, replace=False)
        x = model.sample(100, rng)

        def score(x, shared=shared):
            return model.subsampled_score(x, np.tile(shared, (len(x), 1)))

        rejected += gs.ksd_test(x, score, null=gs.WildBootstrap(199), rng=seed).pvalue <= 0.05
    assert rejected >= 20


def test_biased_draws_are_found():
    model, mean, variance = conjugate(100)
    x = np.random.default_rng(1).normal(mean + 2.0 * math.sqrt(variance), math.sqrt(variance), (300, 1))
    assert gs.ksd_test(x, model, operator=gs.Stochastic(30), rng=1).pvalue < 0.01


# Other domains, frameworks, the audit.


def test_a_posterior_on_a_half_line():
    """A rate with a gamma prior: conjugate, and the default operator inside is Standardised()."""
    y = np.random.default_rng(1).exponential(0.5, 20)
    half = gs.Box(0, np.inf)
    model = gs.Posterior(lambda theta: 2 / theta - 1, lambda theta, y: 1 / theta - y, y, half)
    x = np.random.default_rng(2).gamma(3 + 20, 1 / (1 + y.sum()), (200, 1))
    result = gs.ksd_test(x, model, operator=gs.Stochastic(5), rng=1)
    assert result.pvalue > 0.05
    assert "Standardised" in repr(result.operator)
    assert result.audit.valid
    uniform = gs.Posterior(
        lambda theta: 0 * theta, lambda theta, y: 0 * y[:, None] + 0 * theta, y, gs.Box(0, 1)
    )
    inside = np.random.default_rng(1).uniform(size=(50, 1))
    with pytest.raises(gs.SteinIdentityError):
        gs.ksd_test(inside, uniform, operator=gs.Stochastic(5, operator=gs.Langevin()))


def test_a_smaller_domain_keeps_the_observations():
    model, mean, variance = conjugate(20)
    half = gs.Box(mean, np.inf)
    x = mean + np.abs(np.random.default_rng(1).normal(0, math.sqrt(variance), (200, 1)))
    result = gs.ksd_test(x, model, domain=half, operator=gs.Stochastic(10), rng=1)
    assert result.pvalue > 0.05
    assert "Truncated" in result.model


def test_jax_functions():
    @jax.jit
    def scored(theta, y):
        return jax.vmap(
            jax.grad(lambda theta, y: jax.scipy.stats.norm.logpdf(y, theta, 0.5).sum()), (None, 0)
        )(theta, y)

    model = gs.Posterior(lambda theta: -theta, scored, OBSERVED, gs.Euclidean(2))
    expected = -THETA + ((OBSERVED - THETA[:, None]) / 0.25).sum(axis=1)
    np.testing.assert_allclose(model.score(THETA), expected, rtol=1e-11)


def test_audit_and_sampler():
    model, _, _ = conjugate(20)
    assert gs.audit(model, operator=gs.Stochastic(5), rng=1).valid
    assert gs.audit(model, rng=1).valid
    wrong = gs.Posterior(
        lambda theta: 3 * theta,
        lambda theta, y: y - theta,
        model.observations,
        gs.Euclidean(1),
        sample=model._functions["sample"],
    )
    assert not gs.audit(wrong, operator=gs.Stochastic(5), rng=1).valid


def test_relative_test_of_posteriors():
    model, mean, variance = conjugate(50)
    other = gs.Posterior(
        lambda theta: 0 * theta, lambda theta, y: y - theta, model.observations[:25], gs.Euclidean(1)
    )
    x = np.random.default_rng(1).normal(mean, math.sqrt(variance), (200, 1))
    result = gs.relative_ksd_test(x, other, model, operator=gs.Stochastic(20), rng=1)
    assert result.pvalue < 0.05


def test_names():
    assert repr(POSTERIOR) == "Posterior(posterior, 6 observations, domain=Euclidean(2))"
    assert gs.Posterior(prior, likelihood, OBSERVED).name == "Posterior(likelihood)"
    assert POSTERIOR.has_score
    assert not POSTERIOR.has_logpdf
    assert not POSTERIOR.observations.flags.writeable
    assert gs.as_model(POSTERIOR) is POSTERIOR
    assert POSTERIOR.score(np.empty((0, 2))).shape == (0, 2)


# Bad input.

LINE = np.linspace(-1.0, 1.0, 5)[:, None]


def scored(function, observations=OBSERVED, **options):
    return gs.Posterior(prior, function, observations, **options)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: gs.Posterior(3, likelihood, OBSERVED), gs.InputError, "`prior_score` of Posterior must be"),
        (lambda: scored(None), gs.InputError, "`likelihood_score` of Posterior must be a function"),
        (
            lambda: scored(likelihood, 3.0),
            gs.InputError,
            "`observations` of Posterior must be an array of finite numbers",
        ),
        (
            lambda: scored(likelihood, []),
            gs.InputError,
            "`observations` of Posterior must be an array of finite numbers",
        ),
        (
            lambda: scored(likelihood, [[1.0], [1.0, 2.0]]),
            gs.InputError,
            "`observations` is not a rectangular array",
        ),
        (lambda: gs.Stochastic(0), gs.InputError, "`batch_size` must be an integer of at least 1"),
        (
            lambda: gs.Stochastic(2, operator=gs.Stochastic(2)),
            gs.InputError,
            "`operator` of Stochastic must be",
        ),
        (
            lambda: gs.ksd_test(THETA, POSTERIOR, operator=gs.Stochastic(7)),
            gs.InputError,
            "`batch_size` of Stochastic is 7, but there are only 6 observations. Take at most 6",
        ),
        (
            lambda: gs.ksd_test(THETA, gs.families.Normal([0, 0]), operator=gs.Stochastic(2)),
            gs.InputError,
            r"Stochastic\(\) needs a Posterior\(prior_score, likelihood_score, observations\), got Normal",
        ),
        (
            lambda: scored(lambda theta, y: likelihood(theta, y).sum(axis=0)).score(THETA),
            gs.ScoreError,
            r"returned shape \(2,\) for θ of shape \(2,\) and observations of shape \(6, 2\); expected "
            r"\(6, 2\): the gradient in θ for each of the 6 observations, not their sum",
        ),
        (
            lambda: scored(lambda theta, y: np.zeros((3, 2)), batched=True).score(THETA),
            gs.ScoreError,
            r"returned shape \(3, 2\) for θ of shape \(9, 2\) and observations of shape \(9, 6, 2\); "
            r"expected \(9, 6, 2\)",
        ),
        (
            lambda: scored(lambda theta, y: ["a"] * 6).score(THETA),
            gs.ScoreError,
            "`likelihood_score` of .* must return an array of real numbers",
        ),
        (
            lambda: scored(lambda theta, y: np.where(theta > 0.0, np.nan, y)).score(THETA),
            gs.ScoreError,
            "The score of .* is not finite at",
        ),
        (lambda: POSTERIOR.score(LINE), gs.InputError, "points have 1 columns"),
    ],
)
def test_bad_input(call, error, match):
    with pytest.raises(error, match=match):
        call()
