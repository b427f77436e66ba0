"""The Neyman–Pearson bound against closed forms, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, chi2, gamma, norm

import goodstein as gs
from goodstein.families import (
    CategoricalTable,
    Dirichlet,
    Exponential,
    LogNormal,
    Normal,
    PoissonProcess,
    Uniform,
    Weibull,
)
from goodstein.power.neyman_pearson import BUDGET, Pair, RatioTest, tied

SMALL = {"n_null": 8000, "n_alternative": 4000}


def agrees(bound, expected: float) -> bool:
    """Within four standard errors, which the 95 % interval knows to be about a half of its own half width."""
    low, high = bound.interval
    return bound.power - 2.1 * (bound.power - low) <= expected <= bound.power + 2.1 * (high - bound.power)


# --- closed forms ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shift", "n", "level"), [(0.5, 20, 0.05), (0.2, 100, 0.01), (0.3, 30, 0.1), (-0.4, 9, 0.05)]
)
def test_normal_mean(shift, n, level):
    bound = gs.neyman_pearson_power(Normal(0, 1), Normal(shift, 1), n, level, **SMALL, rng=1)
    assert agrees(bound, norm.cdf(np.sqrt(n) * abs(shift) - norm.isf(level)))
    # Σ log p − log q = δΣx − nδ²/2, whose quantile under the null is known as well.
    threshold = np.sqrt(n) * abs(shift) * norm.isf(level) - n * shift**2 / 2
    slope = np.sqrt(n) * abs(shift) / norm.pdf(norm.isf(level))
    assert abs(bound.threshold - threshold) < 4 * slope * np.sqrt(level / 8000)


@pytest.mark.parametrize("scale", [1.3, 0.7])
def test_exponential_scale(scale):
    # Σx is half a χ² variable with 2n degrees of freedom times the scale.
    n, level = 40, 0.05
    if scale > 1:
        expected = chi2.sf(chi2.isf(level, 2 * n) / scale, 2 * n)
    else:
        expected = chi2.cdf(chi2.ppf(level, 2 * n) / scale, 2 * n)
    assert agrees(gs.neyman_pearson_power(Exponential(1), Exponential(scale), n, **SMALL, rng=2), expected)


@pytest.mark.parametrize("nu", [0.1, 0.3])
def test_dirichlet_with_one_larger_parameter(nu):
    # The ratio is νΣ log x₁, and −log x₁ is exponential with rate α₁ where the other α sum to one.
    n, level = 200, 0.01
    expected = gamma.cdf((0.5 + nu) / 0.5 * gamma.ppf(level, n), n)
    null, other = Dirichlet([0.5, 0.5, 0.5]), Dirichlet([0.5 + nu, 0.5, 0.5])
    bound = gs.neyman_pearson_power(null, other, n, level, n_null=6000, n_alternative=3000, rng=3)
    assert agrees(bound, expected)


def test_normals_in_a_ball_have_hardly_any_power():
    # By hand, with rejection from the normal and log p/q = [2νx₁x₂ − ν²(x₁² + x₂²)]/(2 − 2ν²) + const, 40 000
    # and 20 000 data sets gave .216 (standard error about .007).
    cov = np.eye(3)
    cov[0, 1] = cov[1, 0] = 0.5
    null, other = Normal(np.zeros(3)), Normal(np.zeros(3), cov)
    options = {"domain": gs.Ball(3), "n_null": 5000, "n_alternative": 2000}
    assert agrees(gs.neyman_pearson_power(null, other, 200, 0.01, **options, rng=4), 0.216)


def test_uniform_beyond_the_null():
    # Beyond [0, 1] the ratio is infinite; inside it says nothing, and the level is spent at random.
    for n in (1, 2):
        bound = gs.neyman_pearson_power(
            Uniform(gs.Box(0.0, 1.0)), Uniform(gs.Box(0.0, 2.0)), n, **SMALL, rng=5
        )
        outside = 1 - 0.5**n
        assert agrees(bound, outside + (1 - outside) * 0.05)


def exact_coin(n: int, null: float, other: float, level: float) -> float:
    """Power of the randomised binomial test."""
    count = np.arange(n + 1)
    under, against = binom.pmf(count, n, null), binom.pmf(count, n, other)
    above = next(c for c in count if under[c + 1 :].sum() <= level)
    share = (level - under[above + 1 :].sum()) / under[above]
    return float(against[above + 1 :].sum() + share * against[above])


@pytest.mark.parametrize(("n", "level"), [(1, 0.05), (7, 0.05), (20, 0.01)])
def test_coins_need_a_randomised_test(n, level):
    expected = exact_coin(n, 0.5, 0.8, level)
    null, other = CategoricalTable([0.5, 0.5]), CategoricalTable([0.2, 0.8])
    assert agrees(gs.neyman_pearson_power(null, other, n, level, **SMALL, rng=6), expected)
    by_hand = gs.neyman_pearson_power(
        lambda n, rng: rng.random(n) < 0.5,
        lambda n, rng: rng.random(n) < 0.8,
        n,
        level,
        log_ratio=lambda x: np.log(4.0) * x.sum(),
        **SMALL,
        rng=7,
    )
    assert agrees(by_hand, expected)


def test_one_toss_is_exact():
    # Heads .5 or .9: at level .05 reject heads with probability .1, power .09; at .6 also a fifth of tails.
    null = np.repeat([np.log(0.2), np.log(1.8)], 2000)
    other = np.repeat([np.log(0.2), np.log(1.8)], [200, 1800])
    test = RatioTest.of(null, other)
    assert test.power(0.05) == pytest.approx(0.09)
    assert test.power(0.6) == pytest.approx(0.92)
    assert test.power(0.5) == pytest.approx(0.9)


# --- durations ------------------------------------------------------------------------------------


def test_censoring_that_never_comes_changes_nothing():
    n, scale = 40, 1.3
    expected = chi2.sf(chi2.isf(0.05, 2 * n) / scale, 2 * n)
    bound = gs.neyman_pearson_power(
        Exponential(1), Exponential(scale), n, censoring=lambda n, rng: np.full(n, 1e9), **SMALL, rng=8
    )
    assert agrees(bound, expected)


def test_censored_durations_agree_with_a_likelihood_by_hand():
    null, other, n = Exponential(1.0), Weibull(1.0, 1.4), 50

    def censored(law):
        def draw(n, rng):
            x, c = law.sample(n, rng)[:, 0], rng.exponential(7 / 3, n)
            return np.minimum(x, c), x <= c

        return draw

    def log_ratio(data):  # hazards 1.4t^0.4 and 1
        t, event = data
        return np.sum(event * (np.log(1.4) + 0.4 * np.log(t))) - np.sum(t**1.4 - t)

    by_hand = gs.neyman_pearson_power(
        censored(null), censored(other), n, log_ratio=log_ratio, n_null=4000, n_alternative=2000, rng=9
    )
    for censoring in (Exponential(7 / 3), lambda n, rng: rng.exponential(7 / 3, n), gs.SurvivalModel):
        if censoring is gs.SurvivalModel:
            censoring = gs.SurvivalModel(
                hazard=lambda t: 3 / 7 + 0 * t, cumulative_hazard=lambda t: 3 / 7 * t
            )
        bound = gs.neyman_pearson_power(null, other, n, censoring=censoring, **SMALL, rng=10)
        both = np.hypot(np.ptp(bound.interval), np.ptp(by_hand.interval))
        assert abs(bound.power - by_hand.power) < both  # half a width is two standard errors
    whole = gs.neyman_pearson_power(null, other, n, **SMALL, rng=11)
    assert whole.power > bound.power + 0.05  # censoring hides something


# --- invariance -----------------------------------------------------------------------------------


def test_constants_of_the_densities_cancel():
    null, other = Normal(0, 1), Normal(0.4, 1)
    shifted = gs.Model(logpdf=lambda x: other.logpdf(x) + 1234.5, sample=other.sample, domain=other.domain)
    plain = gs.neyman_pearson_power(null, other, 15, **SMALL, rng=1)
    moved = gs.neyman_pearson_power(null, shifted, 15, **SMALL, rng=1)
    assert moved.power == plain.power
    assert moved.interval == plain.interval
    assert moved.threshold == pytest.approx(plain.threshold + 15 * 1234.5)


def test_constants_cancel_where_the_ratio_takes_few_values():
    null, other = CategoricalTable([0.5, 0.5]), CategoricalTable([0.2, 0.8])
    far = gs.Model(logpdf=lambda x: other.logpdf(x) - 1e5, score=other.score, sample=other.sample)
    plain = gs.neyman_pearson_power(null, other, 12, **SMALL, rng=1)
    assert gs.neyman_pearson_power(null, far, 12, **SMALL, rng=1).power == pytest.approx(plain.power)


def test_same_seed_same_bound_and_the_memory_is_bounded():
    largest = []

    def sample(n, rng):
        largest.append(n)
        return rng.standard_normal((n, 2))

    null = gs.Model(logpdf=lambda x: -0.5 * (x**2).sum(axis=1), sample=sample, domain=gs.Euclidean(2))
    null.trusted = True  # else it is asked whether it uses its generator
    other = Normal([0.1, 0.0])
    draws = {"n_null": 2000, "n_alternative": 500}
    one, two = (gs.neyman_pearson_power(null, other, 1000, **draws, rng=3) for _ in range(2))
    assert one.power == two.power
    assert max(largest) * 2 <= BUDGET
    assert sum(largest) == 2 * 2000 * 1000


def test_a_null_without_the_alternative_is_rejected_at_its_level():
    bound = gs.neyman_pearson_power(Normal(0, 1), Normal(1e-9, 1), 10, **SMALL, rng=1)
    assert agrees(bound, 0.05)


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(1)
    for effect, level in ((1.6, 0.05), (1.3, 0.01), (4.0, 0.05)):
        expected = norm.cdf(effect - norm.isf(level))
        covered = 0
        for _ in range(300):
            test = RatioTest.of(rng.standard_normal(2000), effect + rng.standard_normal(1000))
            low, high = test.interval(level)
            covered += low <= expected <= high
        assert 0.91 <= covered / 300 <= 0.99


def test_ties_are_found_across_rounding():
    values = np.repeat([0.1, 0.3, 0.7], 50)
    rng = np.random.default_rng(1)
    one, other = tied(values + 1e-14 * rng.standard_normal(150), values)
    assert len(np.unique(one)) == len(np.unique(other)) == 3
    far, near = tied(values + 1e6 + 1e-9 * rng.standard_normal(150), values + 1e6)
    assert len(np.unique(far)) == len(np.unique(near)) == 3


def test_it_says_what_it_found():
    bound = gs.neyman_pearson_power(Normal(0, 1), Normal(0.5, 1), 20, **SMALL, rng=1)
    assert float(bound) == bound.power
    assert bound.interval[0] < bound.power < bound.interval[1]
    assert bound.draws == (8000, 4000)
    text = str(bound)
    assert f"power {bound.power:.3f}" in text
    assert "Normal(mean=[0.5], cov=[[1]])" in text
    assert "No test of this level has more power" in text
    with pytest.raises(AttributeError):
        bound.power = 1.0


# --- refusals -------------------------------------------------------------------------------------

LINE, PLANE = Normal(0, 1), Normal([0, 0])
SCORE_ONLY = gs.Model(score=lambda x: -x, sample=lambda n, rng: rng.standard_normal((n, 1)), name="mine")
UNSAMPLED = gs.Model(logpdf=lambda x: -(x[:, 0] ** 2), name="mine")


@pytest.mark.parametrize(
    ("null", "other", "options", "match"),
    [
        (LINE, LINE, {"n": 0}, "`n` must be an integer of at least 1"),
        (LINE, LINE, {"level": 1.5}, "`level` must be a number between 0 and 1, got 1.5"),
        (LINE, LINE, {"level": "5 %"}, "`level` must be a number"),
        (LINE, LINE, {"n_null": 50}, "`n_null` must be an integer of at least 100"),
        (LINE, LINE, {"n_alternative": 2.5}, "`n_alternative` must be an integer"),
        (LINE, LINE, {"level": 0.001, "n_null": 1000}, "only 1 would lie beyond.*Draw at least 10000"),
        (LINE, LINE, {"domain": "ball"}, "`domain` must be a domain"),
        (LINE, LINE, {"domain": gs.Ball(2)}, "of dimension 2, but `model`"),
        (LINE, LINE, {"log_ratio": 3}, "`log_ratio` must be a function"),
        (LINE, LINE, {"rng": -1}, "`rng` must be"),
        (LINE, PLANE, {}, "of dimension 1, `alternative` on .* of dimension 2"),
        (LINE, UNSAMPLED, {}, "`alternative`: mine has no sampler.*Pass Model"),
        (UNSAMPLED, LINE, {}, "`model`: mine has no sampler.*sample_null"),
        (LINE, SCORE_ONLY, {}, "`alternative` has no log density. Pass `log_ratio`"),
        (LINE, lambda n, rng: rng.normal(size=n), {}, "`alternative` has no log density"),
        (
            lambda n, rng: rng.normal(size=n),
            lambda n, rng: rng.normal(size=n),
            {},
            "`model` and `alternative` have no log",
        ),
        (Exponential(1), Exponential(2), {"censoring": lambda n, rng: -np.ones(n)}, "`censoring` must give"),
        (
            Exponential(1),
            Exponential(2),
            {"censoring": lambda n, rng: np.ones(3)},
            r"got shape \(3,\)|returned 3",
        ),
        (
            Exponential(1),
            gs.SurvivalModel(hazard=np.ones_like, cumulative_hazard=lambda t: t),
            {},
            "one is a model of points, the other of durations",
        ),
        (
            LINE,
            lambda n, rng: 0,
            {"censoring": Exponential(1), "log_ratio": len},
            "`model`: Normal.* has no hazard",
        ),
        (
            lambda n, rng: 0,
            lambda n, rng: 0,
            {"domain": gs.Ball(2), "log_ratio": len},
            "`domain` has no place where `model` is a function",
        ),
        (
            gs.SurvivalModel(hazard=np.ones_like, cumulative_hazard=lambda t: t),
            Exponential(2),
            {"domain": gs.Ball(1)},
            "`domain` has no place where `model` is a model of durations",
        ),
        (
            LINE,
            LINE,
            {"log_ratio": lambda x: x[:, 0]},
            r"one number for the whole data set, got shape \(5,\)",
        ),
        (LINE, LINE, {"log_ratio": lambda x: np.nan}, "NaN at 100 of 100 data sets drawn from the null"),
        (object(), LINE, {}, "`model`: cannot use object"),
        (Normal, LINE, {}, "not one of its instances"),
    ],
    ids=range(26),
)
def test_what_cannot_be_done_is_said(null, other, options, match):
    options = {"n": 5, **options}
    with pytest.raises(gs.InputError, match=match):
        gs.neyman_pearson_power(null, other, options.pop("n"), options.pop("level", 0.05), **options)


def test_points_where_both_densities_are_zero_are_refused():
    nowhere = gs.Model(
        logpdf=lambda x: np.full(len(x), -np.inf), sample=LINE.sample, domain=LINE.domain, name="zero"
    )
    with pytest.raises(gs.InputError, match="drawn from the null: both densities are zero there"):
        gs.neyman_pearson_power(nowhere, nowhere, 5, **SMALL)


def test_models_of_patterns_need_a_ratio():
    window = gs.Box([0.0, 0.0], [1.0, 1.0])
    null, other = PoissonProcess(20.0, window), PoissonProcess(30.0, window)
    with pytest.raises(gs.InputError, match="no log density"):
        gs.neyman_pearson_power(null, other, 3)
    # The number of points says everything: 3 patterns have 60 or 90 expected points in all.
    bound = gs.neyman_pearson_power(
        null, other, 3, log_ratio=lambda patterns: np.log(1.5) * sum(map(len, patterns)), **SMALL, rng=1
    )
    from scipy.stats import poisson

    count = int(poisson.isf(0.05, 60))  # P(N > count) ≤ .05
    share = (0.05 - poisson.sf(count, 60)) / poisson.pmf(count, 60)
    assert agrees(bound, poisson.sf(count, 90) + share * poisson.pmf(count, 90))


def test_a_pair_knows_whether_it_has_a_ratio():
    from goodstein.power.laws import law_of

    one, other = law_of(LogNormal(0, 1), "model"), law_of(Weibull(1, 2), "alternative")
    assert Pair(one, other, 5).is_known
    assert not Pair(one, law_of(lambda n, rng: 0, "alternative"), 5).is_known
