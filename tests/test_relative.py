"""The relative test, against the jackknife written out and against the whole Stein matrices."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest
import scipy.stats

import goodstein as gs
from goodstein.tests_of_fit.relative import jackknife_variance
from levels import check_level, trials

FAMILY = gs.families
NORMAL = FAMILY.Normal
WORSE, BETTER = NORMAL(0.8, 1.0), NORMAL(-0.3, 1.0)
PCA = FAMILY.ProbabilisticPCA([[1.0], [0.5]], variance=0.5)


def leave_one_out(w: np.ndarray) -> np.ndarray:
    """U without each of the observations, from the whole matrix."""
    n = len(w)
    values = []
    for i in range(n):
        kept = np.delete(np.delete(w, i, axis=0), i, axis=1)
        values.append((kept.sum() - np.trace(kept)) / ((n - 1) * (n - 2)))
    return np.array(values)


@pytest.mark.parametrize("n", [3, 8, 60])
def test_the_variance_is_the_jackknifes(n):
    rng = np.random.default_rng(n)
    w = rng.normal(size=(n, n))
    w = w + w.T + np.add.outer(rng.normal(size=n), np.zeros(n))
    w = (w + w.T) / 2
    values = leave_one_out(w)
    expected = (n - 1) / n * np.sum((values - values.mean()) ** 2)
    np.fill_diagonal(w, 0.0)
    assert jackknife_variance(w.sum(axis=1)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("n", [40, 700])
def test_statistic_and_pvalue_follow_from_the_stein_matrices(n):
    """700 observations are several strips and tiles, 40 are one."""
    x = NORMAL().sample(n, rng=1)
    kernel = gs.Gaussian(1.3)
    result = gs.relative_ksd_test(x, WORSE, BETTER, kernel=kernel, rng=1)
    h_p, h_q = (gs.stein_matrix(x, model, kernel=kernel) for model in (WORSE, BETTER))
    off = ~np.eye(n, dtype=bool)
    assert result.details["KSD²_P"] == pytest.approx(h_p[off].mean(), rel=1e-10)
    assert result.details["KSD²_Q"] == pytest.approx(h_q[off].mean(), rel=1e-10)
    difference = (h_p - h_q)[off].mean()
    values = leave_one_out(h_p - h_q)
    error = math.sqrt((n - 1) / n * np.sum((values - values.mean()) ** 2))
    assert result.statistic == pytest.approx(difference, rel=1e-9)
    assert result.details["std. error"] == pytest.approx(error, rel=1e-8)
    assert result.null.variance == pytest.approx(error**2, rel=1e-8)
    assert result.pvalue == pytest.approx(scipy.stats.norm.sf(difference / error), rel=1e-6)


def test_the_variance_is_that_of_the_difference():
    """Over many samples the standard error is the standard deviation of D."""
    found = [
        gs.relative_ksd_test(NORMAL().sample(150, rng=seed), WORSE, BETTER, kernel=gs.Gaussian(1.0))
        for seed in range(200)
    ]
    errors = np.array([result.details["std. error"] for result in found])
    deviation = np.std([result.statistic for result in found])
    assert errors.mean() == pytest.approx(deviation, rel=0.15)


def test_the_models_change_places():
    x = NORMAL().sample(80, rng=1)
    one, other = gs.relative_ksd_test(x, WORSE, BETTER), gs.relative_ksd_test(x, BETTER, WORSE)
    assert one.statistic == pytest.approx(-other.statistic)
    assert one.pvalue == pytest.approx(1 - other.pvalue)
    assert one.pvalue < 0.05 < other.pvalue
    assert "Q fits better than P" in one.summary()
    assert "No evidence that Q fits better than P" in other.summary()


def test_workers_change_nothing():
    x = NORMAL().sample(1200, rng=1)
    results = [gs.relative_ksd_test(x, WORSE, BETTER, workers=workers) for workers in (1, 2)]
    assert results[0].pvalue == results[1].pvalue
    assert results[0].statistic == results[1].statistic


# Undefined.


@pytest.mark.parametrize(
    "pair",
    [
        (WORSE, WORSE),
        (WORSE, gs.Model(score=lambda x: (0.8 - x) * (1 + 1e-12), name="the same, rounded")),
    ],
    ids=["identical", "rounded"],
)
def test_the_same_model_twice_is_undefined(pair):
    result = gs.relative_ksd_test(NORMAL().sample(50, rng=1), *pair)
    assert math.isnan(result.pvalue)
    assert result.details["undefined"] is True and result.undefined
    assert any("no p-value" in note for note in result.notes)
    assert "Undefined" in result.summary()
    assert len(result.null_distribution) == 0


def test_two_perfect_models_are_undefined_as_a_rule_and_never_compared():
    """One by its exact score, the other by noisy draws: D is not zero, but its variance is all noise."""
    undefined = rejected = 0
    for seed in range(100):
        result = gs.relative_ksd_test(
            PCA.sample(80, rng=seed), PCA, PCA.latent(), operator=(None, gs.Latent(2)), rng=seed
        )
        undefined += result.details["undefined"]
        rejected += result.pvalue <= 0.05
    assert undefined > 70
    assert rejected <= 3


def test_two_different_wrong_models_are_not_undefined():
    for seed in range(50):
        x = NORMAL().sample(100, rng=seed)
        assert not gs.relative_ksd_test(x, NORMAL(0.2, 1), NORMAL(-0.2, 1)).details["undefined"]


@trials(100, 300)
def test_level_of_two_equally_wrong_models(trials):
    pvalues = [
        gs.relative_ksd_test(NORMAL().sample(100, rng=seed), NORMAL(0.5, 1), NORMAL(-0.5, 1)).pvalue
        for seed in range(trials)
    ]
    check_level(pvalues, 0.05, 0.2)


# Latent models and other domains.


def test_latent_models_are_compared_like_their_marginals():
    wrong = FAMILY.ProbabilisticPCA([[0.2], [0.1]], variance=2.0)
    x = PCA.sample(300, rng=1)
    exact = gs.relative_ksd_test(x, wrong, PCA, rng=1)
    latent = gs.relative_ksd_test(x, wrong.latent(), PCA.latent(), rng=1)
    assert max(exact.pvalue, latent.pvalue) < 0.01
    assert latent.statistic == pytest.approx(exact.statistic, abs=4 * latent.details["std. error"])
    assert repr(latent.operator) == "Latent(draws=100, operator=Langevin())"
    mixed = gs.relative_ksd_test(x, wrong.latent(), PCA, rng=1)
    assert mixed.pvalue < 0.01
    assert not mixed.notes
    assert repr(mixed.operator) == "(Latent(draws=100, operator=Langevin()), Langevin())"
    again = gs.relative_ksd_test(x, wrong.latent(), PCA.latent(), rng=1)
    assert again.pvalue == latent.pvalue


def test_the_latent_draws_of_both_models_differ():
    """The same numbers for P and Q would pair the noise of one row with that of another."""
    seen = []

    def posterior(x, draws, rng):
        seen.append(rng.normal(x[:, None] / 2, math.sqrt(0.5), (len(x), draws, 1)))
        return seen[-1]

    model = gs.LatentModel(lambda x, z: z - x, posterior, gs.Euclidean(1))
    model.trusted = True  # else it is asked whether it uses its generator
    gs.relative_ksd_test(NORMAL(0, 2).sample(20, rng=1), model, model, rng=1)
    assert len(seen) == 2
    assert not np.isclose(seen[0], seen[1]).any()


def test_other_domains():
    x = FAMILY.Dirichlet([2.0, 3.0, 4.0]).sample(200, rng=1)
    result = gs.relative_ksd_test(x, FAMILY.Dirichlet([1, 1, 1]), FAMILY.Dirichlet([2, 3, 4.5]), rng=1)
    assert result.pvalue < 0.01
    assert result.domain == gs.Simplex(3)
    counts = FAMILY.BetaBinomial(4, 2.0, 2.0)
    other = gs.relative_ksd_test(
        counts.sample(200, rng=1), FAMILY.BetaBinomial(4, 1.0, 3.0), FAMILY.BetaBinomial(4, 2.0, 1.7), rng=1
    )
    assert other.pvalue < 0.01


def test_domains_must_agree_or_be_named():
    box = gs.Box(0, 1)
    x = np.random.default_rng(1).uniform(size=(100, 1))
    truncated, free = FAMILY.Truncated(NORMAL(0.5, 0.1), box), NORMAL(0.0, 0.5)
    with pytest.raises(gs.InputError, match=r"lives on Box.*, Normal.* on Euclidean\(1\)\. Pass `domain`"):
        gs.relative_ksd_test(x, truncated, free)
    assert 0 <= gs.relative_ksd_test(x, truncated, free, domain=box).pvalue <= 1


# What the result says.


def test_the_result_in_words_and_json():
    x = NORMAL().sample(60, rng=1)
    result = gs.relative_ksd_test(x, WORSE, BETTER)
    assert isinstance(result, gs.TestResult)
    assert type(result) is gs.TestResult
    text = str(result)
    assert text.startswith("Relative kernel Stein discrepancy test")
    assert "P = Normal(mean=[0.8], cov=[[1]]), Q = Normal(mean=[-0.3], cov=[[1]])" in text
    assert "NormalLimit(variance=" in text
    assert "KSD²_P − KSD²_Q" in text
    assert "Relative" in result._repr_html_()
    loaded = json.loads(result.to_json())
    assert loaded["pvalue"] == result.pvalue
    assert loaded["details"]["undefined"] is False
    assert loaded["v_statistic"] is None
    draws = result.null_distribution
    assert np.std(draws) == pytest.approx(result.details["std. error"], rel=0.02)
    undefined = gs.relative_ksd_test(x, WORSE, WORSE)
    strict = undefined.to_json(allow_nan=False)
    assert json.loads(strict)["pvalue"] is None


def test_the_result_as_a_picture():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    x = NORMAL().sample(60, rng=1)
    ax = gs.relative_ksd_test(x, WORSE, BETTER).plot()
    assert "KSD²_P − KSD²_Q" in ax.get_xlabel()
    assert len(ax.patches) > 5
    empty = gs.relative_ksd_test(x, WORSE, WORSE).plot()
    assert "nan" in empty.get_legend_handles_labels()[1][0]
    plt.close("all")


def test_different_operators_are_noted():
    x = NORMAL().sample(60, rng=1)
    pair = (gs.Langevin(), gs.Standardised(gs.Auxiliary(lambda x: 1 / (1 + (x**2).sum(axis=1)))))
    result = gs.relative_ksd_test(x, WORSE, BETTER, operator=pair)
    assert any("not on one scale" in note for note in result.notes)


# Bad input.


def test_the_audit_refuses_either_model():
    box = gs.Box(0, 1)
    x = np.random.default_rng(1).uniform(size=(60, 1))
    good, bad = FAMILY.Truncated(NORMAL(), box), FAMILY.Uniform(box)
    with pytest.raises(gs.SteinIdentityError, match=r"Langevin\(\) is not valid for Uniform"):
        gs.relative_ksd_test(x, good, bad, operator=(gs.Standardised(), gs.Langevin()))
    overruled = gs.relative_ksd_test(x, good, bad, operator=gs.Langevin(), audit=False)
    assert not overruled.audit.valid
    assert "overruled" in overruled.summary()
    assert any(note.startswith("The audit refused") for note in overruled.notes)


@pytest.mark.parametrize(
    ("data", "options", "match"),
    [
        ([[0.0], [1.0]], {}, "`data` has 2 rows; a relative test needs at least 3"),
        ([[0.0], [np.nan], [1.0]], {}, "hold NaN"),
        (np.zeros((5, 2)), {}, "`data` has 2 columns"),
        ([[0.0], [1.0], [2.0]], {"operator": (gs.Langevin(),)}, r"a pair \(for P, for Q\)"),
        ([[0.0], [1.0], [2.0]], {"operator": "Langevin"}, "`operator` must be an operator"),
        ([[0.0], [1.0], [2.0]], {"kernel": 3}, "`kernel` must be a kernel"),
        ([[0.0], [1.0], [2.0]], {"workers": 0}, "`workers` must be"),
        ([[0.0], [1.0], [2.0]], {"rng": "a"}, "`rng` must be"),
    ],
    ids=["rows", "nan", "columns", "pair", "operator", "kernel", "workers", "rng"],
)
def test_bad_input(data, options, match):
    with pytest.raises(gs.InputError, match=match):
        gs.relative_ksd_test(data, WORSE, BETTER, **options)


def test_operators_must_look_at_the_data_in_the_same_way():
    x = FAMILY.Dirichlet([2.0, 3.0, 4.0]).sample(20, rng=1)
    model = FAMILY.Dirichlet([2.0, 3.0, 4.0])
    with pytest.raises(gs.InputError, match="in different coordinates, so no kernel serves both"):
        gs.relative_ksd_test(x, model, model, operator=(gs.LogRatio(), gs.Mirrored()))


def test_scores_too_large_to_be_squared():
    huge = gs.Model(score=lambda x: 1e180 * np.ones_like(x), name="huge")
    with pytest.raises(gs.ScoreError, match="too large to be squared"):
        gs.relative_ksd_test(NORMAL().sample(20, rng=1), huge, BETTER)
    large = gs.Model(score=lambda x: 1e120 * np.ones_like(x), name="large")
    with (
        pytest.raises(gs.ScoreError, match="not finite, because a score is too large"),
        np.errstate(all="ignore"),
    ):
        gs.relative_ksd_test(NORMAL().sample(20, rng=1), large, BETTER)


def test_memory_is_linear():
    """Several thousand observations: one Stein matrix would take 128 MB."""
    resource = pytest.importorskip("resource")
    if sys.platform == "darwin":
        pytest.skip("bytes there, kilobytes elsewhere")
    x = NORMAL().sample(4000, rng=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = gs.relative_ksd_test(x, WORSE, BETTER, workers=1)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert result.pvalue < 0.01
    assert after - before < 60_000


def test_views_say_why_they_cannot_compare():
    x = gs.families.Normal([0.0, 0.0]).sample(60, rng=1)
    models = gs.families.Normal([0.0, 0.0]), gs.families.Normal([0.0, 0.7])
    with pytest.raises(gs.InputError, match="each in a scale that depends on the model"):
        gs.relative_ksd_test(x, *models, operator=gs.Moments(1), rng=1)
    same = gs.relative_ksd_test(x, *models, operator=gs.Margin(0), rng=1)
    assert np.isnan(same.pvalue) and "both models are the same" in " ".join(same.notes)
    assert gs.relative_ksd_test(x, *models, operator=gs.Margin(1), rng=1).pvalue > 0.5
