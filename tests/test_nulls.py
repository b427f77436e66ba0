"""Null distributions: the p-value's formula, each method's definition, and the level it promises.

Size tests count rejections of true models over fixed seeds.
"""

from __future__ import annotations

import warnings
from fractions import Fraction

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.stats
from hypothesis import given

import goodstein as gs
from cases import NULLS, fitted_normal
from goodstein.nulls import Calibration
from goodstein.nulls.spectral import limit_law
from levels import check_level, trials

FAMILY = gs.families
LINE = FAMILY.Normal()
X = LINE.sample(80, rng=7)


MODEL = FAMILY.Normal(X.mean() + 1e-6, X.var())  # which does not know that it was fitted


def pvalues(trials: int, sample, model, null, **options) -> np.ndarray:
    """p-values of many samples; `sample(rng)` draws one."""
    values = np.empty(trials)
    for trial in range(trials):
        rng = np.random.default_rng([20_220_328, trial])
        x = sample(rng)
        tested = model(x) if callable(model) else model
        values[trial] = gs.ksd_test(x, tested, null=null, rng=rng, **options).pvalue
    return values


# --- the formula ------------------------------------------------------------------------------


@given(
    draws=hnp.arrays(float, st.integers(1, 60), elements=st.floats(-10, 10, width=16)),
    statistic=st.floats(-11, 11, width=16),
)
def test_the_pvalue_counts_itself_and_every_draw_that_is_not_smaller(draws, statistic):
    exceed = sum(1 for draw in draws if draw > statistic or np.isclose(draw, statistic, rtol=0, atol=1e-4))
    clear = all(abs(draw - statistic) > 1e-3 or draw == statistic for draw in draws)
    found = Calibration(statistic, draws).pvalue
    assert 0 < found <= 1
    assert found * (1 + len(draws)) == pytest.approx(round(found * (1 + len(draws))))
    if clear:
        assert Fraction(found).limit_denominator(1000) == Fraction(1 + exceed, 1 + len(draws))


@pytest.mark.parametrize("count", [1, 19, 999])
def test_the_pvalue_is_never_zero_and_never_above_one(count):
    assert Calibration(1e9, np.zeros(count)).pvalue == 1 / (1 + count)
    assert Calibration(-1e9, np.zeros(count)).pvalue == 1.0


def test_ties_count_against_the_statistic_also_when_rounding_hides_them():
    draws = np.array([1.0, 2.0, 3.0, 4.0])
    assert Calibration(3.0, draws).pvalue == 3 / 5
    assert Calibration(np.nextafter(3.0, 4.0), draws).pvalue == 3 / 5
    assert Calibration(3.0 + 1e-9, draws).pvalue == 3 / 5
    assert Calibration(3.01, draws).pvalue == 2 / 5
    # The tolerance scales with the draws.
    assert Calibration(1e-30 * (3.0 + 1e-9), 1e-30 * draws).pvalue == 3 / 5
    assert Calibration(1e30 * 3.01, 1e30 * draws).pvalue == 2 / 5


def test_a_statistic_that_is_not_a_number_has_no_pvalue():
    for statistic, draws in [(np.nan, np.zeros(9)), (1.0, np.full(9, np.nan)), (np.inf, np.zeros(9))]:
        with pytest.raises(ValueError, match="finite"):
            _ = Calibration(statistic, draws).pvalue


@pytest.mark.parametrize("second", [-0.4, 0.2])
def test_two_observations_have_one_product_with_either_sign(second):
    """U = h₁₂ and draws ±h₁₂: p = 1 where it is negative, about one half where it is positive."""
    found = gs.ksd_test([0.1, second], LINE, null=gs.WildBootstrap(999), kernel=gs.Gaussian(1.0), rng=1)
    h = gs.stein_matrix([0.1, second], LINE, kernel=gs.Gaussian(1.0))[0, 1]
    assert found.statistic == pytest.approx(h)
    np.testing.assert_allclose(np.abs(found.null_distribution), abs(h))
    assert found.pvalue == pytest.approx(0.5, abs=0.08) if h > 0 else found.pvalue == 1.0


# --- reproducible -----------------------------------------------------------------------------


def test_the_global_generator_of_numpy_is_left_alone():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    fitted = FAMILY.Normal.fit(X)
    for null in NULLS.values():
        gs.ksd_test(X, fitted if null.refits else MODEL, null=null, rng=1)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


# --- the wild bootstrap -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signs", "n"),
    [("iid", 60), ("orthogonal", 60), ("orthogonal", 150)],
    ids=["iid", "orthogonal, one block", "orthogonal, two blocks"],
)
@trials(200, 1000)
def test_the_wild_bootstrap_keeps_its_level(signs, n, trials):
    found = pvalues(trials, lambda rng: LINE.sample(n, rng), LINE, gs.WildBootstrap(99, signs=signs))
    check_level(found, 0.05, 0.10, 0.5)


def test_u_and_v_statistic_have_the_same_pvalue_under_signs():
    """The diagonal is the same in every draw, so it shifts statistic and draws alike."""
    x = X[:40]
    h = gs.stein_matrix(x, LINE)
    n = len(h)
    result = gs.ksd_test(x, LINE, null=gs.WildBootstrap(999, signs="iid"), rng=2)
    v = h.sum() / n**2
    v_draws = (result.null_distribution * n * (n - 1) + np.trace(h)) / n**2
    assert (1 + np.count_nonzero(v_draws >= v)) / 1000 == result.pvalue


@pytest.mark.parametrize("signs", ["iid", "orthogonal"])
def test_wild_draws_have_the_moments_of_rademacher_signs(signs):
    """E U* = 0 and Var U* = 2 Σ_{i≠j} H_ij² / (n(n−1))², exactly, given the data."""
    x = LINE.sample(200, rng=1)
    h = gs.stein_matrix(x, LINE)
    np.fill_diagonal(h, 0.0)
    n, count = len(h), 20_000
    draws = gs.ksd_test(x, LINE, null=gs.WildBootstrap(count, signs=signs), rng=5).null_distribution
    variance = 2 * (h**2).sum() / (n * (n - 1)) ** 2
    # Orthogonal draws are dependent within a group, which only makes their mean more accurate.
    assert abs(draws.mean()) < 5 * np.sqrt(variance / count)
    assert draws.var() == pytest.approx(variance, rel=0.15)


def autoregression(n: int, memory: float, rng: np.random.Generator) -> np.ndarray:
    """A Markov chain whose stationary law is N(0, 1)."""
    noise = rng.normal(size=n)
    x = np.empty(n)
    x[0] = noise[0]
    for i in range(1, n):
        x[i] = memory * x[i - 1] + np.sqrt(1 - memory**2) * noise[i]
    return x


@trials(100, 300)
def test_on_a_markov_chain_independent_signs_over_reject_and_chained_signs_do_not(trials):
    def chain(rng):
        return autoregression(300, 0.5, rng)

    independent = pvalues(trials, chain, LINE, gs.WildBootstrap(99, signs="iid", flip=0.5))
    assert np.mean(independent <= 0.1) > 0.2
    check_level(pvalues(trials, chain, LINE, gs.WildBootstrap(99, flip=0.02)), 0.1)


def test_chains_follow_the_order_of_the_data_and_orthogonal_signs_do_not_apply_to_them():
    plain, orthogonal = (gs.WildBootstrap(99, signs=signs, flip=0.1) for signs in ("iid", "orthogonal"))
    first, second = (gs.ksd_test(X, LINE, null=null, rng=1).null_distribution for null in (plain, orthogonal))
    np.testing.assert_array_equal(first, second)


# --- the spectral method ----------------------------------------------------------------------


def spectrum(x, model) -> np.ndarray:
    h = gs.stein_matrix(x, model)
    return np.linalg.eigvalsh(h) / len(h)


def test_the_limit_law_does_not_depend_on_how_many_draws_are_made_at_a_time():
    eigenvalues = np.array([-1e-18, 1e-17, 0.5, 2.0])
    z = np.random.default_rng(5).standard_normal((700, 2))  # none for the rounding errors
    expected = 0.5 * (z[:, 0] ** 2 - 1) + 2.0 * (z[:, 1] ** 2 - 1)
    for parts in ([slice(0, 700)], [slice(0, 512), slice(512, 700)], [slice(0, 1), slice(1, 700)]):
        draws = limit_law(eigenvalues, parts, np.random.default_rng(5))
        np.testing.assert_allclose(draws, expected, rtol=1e-12, atol=1e-14)


def test_spectral_draws_are_weighted_chi_squares_with_the_eigenvalues_of_h_over_n():
    x = LINE.sample(60, rng=2)
    values = spectrum(x, LINE)
    n = len(x)
    draws = n * gs.ksd_test(x, LINE, null=gs.Spectral(20_000), rng=3).null_distribution
    variance = 2 * (values**2).sum()
    assert abs(draws.mean()) < 4 * np.sqrt(variance / len(draws))
    assert draws.var() == pytest.approx(variance, rel=0.1)
    # Third central moment of Σ λ(Z² − 1): 8 Σ λ³.
    assert np.mean(draws**3) == pytest.approx(8 * (values**3).sum(), rel=0.3)
    simulated = (np.random.default_rng(4).normal(size=(20_000, n)) ** 2 - 1) @ values
    assert scipy.stats.ks_2samp(draws, simulated).pvalue > 1e-3
    for q in (0.5, 0.9, 0.95, 0.99):
        assert np.quantile(draws, q) == pytest.approx(
            np.quantile(simulated, q), abs=0.06 * np.sqrt(variance) / (1 - q) ** 0.3
        )


def test_spectral_quantiles_agree_with_the_exact_law_for_one_eigenvalue():
    """Two equal points: H has one eigenvalue, and n·U is λ(χ²₁ − 1)."""
    x = np.full((2, 1), 0.7)
    (_, largest) = spectrum_with(x, gs.IMQ(1.0))
    draws = gs.ksd_test(x, LINE, kernel=gs.IMQ(1.0), null=gs.Spectral(20_000), rng=1).null_distribution
    exact = scipy.stats.chi2(1, loc=-1)
    assert scipy.stats.kstest(2 * draws / largest, exact.cdf).pvalue > 1e-3


def spectrum_with(x, kernel) -> np.ndarray:
    h = gs.stein_matrix(x, LINE, kernel=kernel)
    return np.linalg.eigvalsh(h) / len(h)


def test_the_spectrum_of_a_subsample_stands_for_the_whole():
    """Eigenvalues of 100 rows, draws of the statistic of all 400: the spread is that of the whole."""
    x = LINE.sample(400, rng=2)
    whole = gs.ksd_test(x, LINE, null=gs.Spectral(5000), rng=3)
    parts = [gs.ksd_test(x, LINE, null=gs.Spectral(5000, max_points=100), rng=seed) for seed in range(12)]
    assert {part.statistic for part in parts} == {whole.statistic}
    spread = [part.null_distribution.std() for part in parts]
    assert len(set(spread)) == 12
    assert np.mean(spread) == pytest.approx(whole.null_distribution.std(), rel=0.15)


def test_a_subsample_is_only_taken_where_there_are_more_points():
    first, second = (gs.ksd_test(X, LINE, null=gs.Spectral(99, max_points=m), rng=3) for m in (80, 1000))
    np.testing.assert_array_equal(first.null_distribution, second.null_distribution)
    with pytest.raises(gs.InputError, match="`max_points` must be an integer of at least 2"):
        gs.Spectral(max_points=1)


def test_spectral_and_wild_agree_at_moderate_n():
    x = LINE.sample(300, rng=9)
    spectral = gs.ksd_test(x, LINE, null=gs.Spectral(9999), rng=1)
    wild = gs.ksd_test(x, LINE, null=gs.WildBootstrap(9999), rng=1)
    assert spectral.pvalue == pytest.approx(wild.pvalue, abs=0.05)
    assert spectral.null_distribution.std() == pytest.approx(wild.null_distribution.std(), rel=0.1)


@trials(200, 600)
def test_the_spectral_method_keeps_its_level(trials):
    found = pvalues(trials, lambda rng: LINE.sample(60, rng), LINE, gs.Spectral(199))
    check_level(found, 0.05, 0.10)


# --- simulating the model ---------------------------------------------------------------------


@trials(100, 600)
def test_monte_carlo_pvalues_are_exactly_uniform_at_any_n(trials):
    """n = 8, far from every limit theorem, and a heavy-tailed model; the bandwidth is refitted."""
    model = FAMILY.StudentT(1.5, [0.0])
    found = pvalues(trials, lambda rng: model.sample(8, rng), model, gs.MonteCarlo(9))
    counts = np.bincount(np.rint(10 * found).astype(int), minlength=11)[1:]
    assert counts.sum() == trials
    assert scipy.stats.chisquare(counts).pvalue > 5e-4
    check_level(found, 0.1, 0.2, 0.5)


def test_every_simulated_sample_goes_through_the_bandwidth_rule():
    seen = []

    def rule(points):
        seen.append(points.copy())
        return gs.Median()(points)

    result = gs.ksd_test(X, LINE, kernel=gs.IMQ(rule), null=gs.MonteCarlo(9), rng=1)
    assert len(seen) == 10
    np.testing.assert_array_equal(seen[0], X)
    assert len({gs.Median()(points) for points in seen}) == 10
    assert result.kernel.bandwidth == gs.Median()(X)


def test_every_simulated_sample_refits_the_operators_scales():
    model = FAMILY.Truncated(FAMILY.Normal(), gs.Orthant(1))
    x = model.sample(40, rng=1)
    free = gs.ksd_test(x, model, null=gs.MonteCarlo(9), rng=1)
    scale = free.operator.auxiliary.scale
    fixed = gs.ksd_test(
        x, model, operator=gs.Standardised(gs.BoxProduct(scale)), null=gs.MonteCarlo(9), rng=1
    )
    assert fixed.statistic == free.statistic
    assert not np.array_equal(fixed.null_distribution, free.null_distribution)


def test_monte_carlo_draws_are_statistics_of_samples_of_the_model():
    result = gs.ksd_test(X, LINE, null=gs.MonteCarlo(200), rng=1)
    rng = np.random.default_rng(2)
    own = [gs.ksd_test(LINE.sample(80, rng), LINE, null=gs.WildBootstrap(1)).statistic for _ in range(200)]
    assert scipy.stats.ks_2samp(result.null_distribution, own).pvalue > 1e-3


def test_simulated_samples_depend_on_seed_and_number_alone():
    from goodstein.data import Points
    from goodstein.problems.problem import Problem

    problem = Problem(Points(X), gs.as_model(LINE), gs.Euclidean(1), gs.Langevin(), gs.IMQ())

    def simulate(problem, *seed):
        return problem.simulate(np.random.default_rng(seed)).observations

    np.testing.assert_array_equal(simulate(problem, 5, 3), simulate(problem, 5, 3))
    assert not np.array_equal(simulate(problem, 5, 3), simulate(problem, 5, 4))
    assert not np.array_equal(simulate(problem, 5, 3), simulate(problem, 6, 3))


def test_the_truncation_of_a_model_is_simulated_too():
    x = FAMILY.Truncated(FAMILY.Normal([0, 0]), gs.Ball(2)).sample(40, rng=1)
    by_domain = gs.ksd_test(x, FAMILY.Normal([0, 0]), domain=gs.Ball(2), null=gs.MonteCarlo(19), rng=1)
    by_model = gs.ksd_test(
        x, FAMILY.Truncated(FAMILY.Normal([0, 0]), gs.Ball(2)), null=gs.MonteCarlo(19), rng=1
    )
    assert by_domain.statistic == by_model.statistic
    assert by_domain.pvalue > 0.05


@pytest.mark.parametrize(
    "null", [gs.MonteCarlo(9), gs.ParametricBootstrap(fitted_normal, 9)], ids=["mc", "pb"]
)
def test_a_model_without_sampler_cannot_be_simulated_and_the_way_out_is_named(null):
    with pytest.raises(gs.InputError, match=r"has no sampler.*sample=.*WildBootstrap\(\)"):
        gs.ksd_test(np.column_stack([X, X[::-1]]), lambda x: -x, null=null)


def test_a_sampler_that_leaves_the_domain_is_an_error_that_names_truncated():
    model = gs.Model(score=lambda x: -x, sample=lambda n, rng: rng.normal(size=(n, 2)), domain=gs.Ball(2))
    x = np.random.default_rng(1).uniform(-0.5, 0.5, size=(40, 2))
    with pytest.raises(gs.DomainError, match=r"sampler.*leaves the domain.*of 40 rows.*Truncated") as caught:
        gs.ksd_test(x, model, null=gs.MonteCarlo(9), rng=1)
    assert "`data`" not in str(caught.value)


def test_simulated_zeros_are_not_blamed_on_the_data():
    """Dirichlet(.01): some simulated parts underflow, and log-ratios of zeros do not exist."""
    x = FAMILY.Dirichlet([0.1, 0.1, 0.1]).sample(60, rng=1)
    model = FAMILY.Dirichlet([0.01, 0.01, 0.01])
    with pytest.raises(gs.InputError, match=r"[Ss]imulated") as caught:
        gs.ksd_test(x, model, null=gs.MonteCarlo(99), rng=1)
    assert "Mirrored()" in str(caught.value)


@pytest.mark.parametrize(
    ("sample", "match"),
    [
        (lambda n, rng: rng.normal(size=(n, 3)), r"returned shape \(80, 3\); expected \(80, 1\)"),
        (lambda n, rng: rng.normal(size=(n - 1, 1)), r"returned shape \(79, 1\)"),
        (lambda n, rng: np.full((n, 1), np.nan), "not finite"),
        (lambda n: np.zeros((n, 1)), r"takes no random number generator.*sample\(n, rng\)"),
    ],
    ids=["columns", "rows", "nan", "no generator"],
)
def test_a_sampler_that_does_not_sample_is_an_error(sample, match):
    model = gs.Model(score=lambda x: -x, sample=sample, domain=gs.Euclidean(1))
    with pytest.raises(gs.SamplingError, match=match):
        gs.ksd_test(X, model, null=gs.MonteCarlo(9), rng=1)


def test_a_region_of_almost_no_mass_is_given_up_with_a_reason():
    model = FAMILY.Truncated(FAMILY.Normal(), gs.Box(20, 21))
    x = np.random.default_rng(1).uniform(20, 21, size=(10, 1))
    with pytest.raises(gs.SamplingError, match="almost no mass"):
        gs.ksd_test(x, model, null=gs.MonteCarlo(9), rng=1)


# --- the parametric bootstrap -----------------------------------------------------------------


@trials(60, 300)
def test_refitting_keeps_the_level_where_the_wild_bootstrap_is_conservative(trials):
    """Composite null: N(μ, σ²) with both fitted to the 30 observations that are tested."""

    def sample(rng):
        return LINE.sample(30, rng)

    check_level(
        pvalues(trials, sample, fitted_normal, gs.ParametricBootstrap(fitted_normal, 19)), 0.05, 0.1, 0.5
    )
    with pytest.warns(gs.CalibrationWarning, match="fitted to these very data"):
        wild = pvalues(trials, sample, fitted_normal, gs.WildBootstrap(99))
    assert np.mean(wild <= 0.1) <= 0.03


def test_the_bootstrap_refits_every_simulated_sample():
    seen = []

    def fit(x):
        seen.append(x.copy())
        return FAMILY.Normal.fit(x)

    gs.ksd_test(X, MODEL, null=gs.ParametricBootstrap(fit, 9), workers=1, rng=1)
    assert len(seen) == 10
    np.testing.assert_array_equal(seen[0], X)
    assert all(x.shape == X.shape for x in seen)
    assert len({x.tobytes() for x in seen}) == 10


def test_a_model_that_is_not_the_fit_gives_a_warning_and_a_note():
    null = gs.ParametricBootstrap(fitted_normal, 9)
    with pytest.warns(gs.CalibrationWarning, match=r"another model.*fit\(data\)"):
        result = gs.ksd_test(X, FAMILY.Normal(0.5, 2.0), null=null, rng=1)
    (note,) = result.notes
    assert "another model" in note


def test_a_model_that_is_the_fit_gives_none():
    assert gs.ksd_test(X, MODEL, null=gs.ParametricBootstrap(fitted_normal, 9), rng=1).notes == ()


def test_fits_may_return_anything_that_is_a_model():
    def fit(x):
        return scipy.stats.norm(*scipy.stats.norm.fit(x))

    numerical = gs.ksd_test(X, fit(X), null=gs.ParametricBootstrap(fit, 19), rng=1)
    closed = gs.ksd_test(X, MODEL, null=gs.ParametricBootstrap(fitted_normal, 19), rng=1)
    assert numerical.statistic == pytest.approx(closed.statistic, rel=1e-6)


@pytest.mark.parametrize(
    ("fit", "named"),
    [
        (lambda x: None, "None"),
        (lambda x: scipy.stats.norm.fit(x), "tuple"),
        (lambda x: 1 / 0, "division by zero"),
        (lambda x: FAMILY.Normal([0, 0]), "dimension"),
    ],
    ids=["None", "parameters only", "raises", "other dimension"],
)
def test_a_fit_that_fails_on_the_data_is_named_as_the_culprit(fit, named):
    with pytest.raises(gs.InputError, match="`fit` of ParametricBootstrap") as caught:
        gs.ksd_test(X, MODEL, null=gs.ParametricBootstrap(fit, 9), rng=1)
    assert named in str(caught.value)


def test_a_fit_that_fails_on_a_simulated_sample_says_which():
    calls = []

    def fit(x):
        calls.append(x)
        if len(calls) > 3:
            raise RuntimeError("no convergence")
        return FAMILY.Normal.fit(x)

    with pytest.raises(
        gs.InputError, match="`fit` of ParametricBootstrap failed on simulated sample 2: no conv"
    ):
        gs.ksd_test(X, MODEL, null=gs.ParametricBootstrap(fit, 9), workers=1, rng=1)


@pytest.mark.parametrize("fit", ["normal", gs.Euclidean(1)], ids=["string", "domain"])
def test_a_fit_that_is_no_function_is_refused(fit):
    said = r"(?s)`fit` of ParametricBootstrap cannot be .*a function of the data that returns a model"
    with pytest.raises(gs.InputError, match=said):
        gs.ParametricBootstrap(fit)


def test_compositions_are_fitted_too():
    x = gs.datasets.skye_lavas()
    for family in (FAMILY.Dirichlet, FAMILY.LogisticNormal):
        result = gs.ksd_test(x, family.fit(x), null=gs.ParametricBootstrap(family.fit, 19), rng=1)
        assert 0 < result.pvalue <= 1
        # The lavas were published in an order; nothing is said of the fit.
        assert [note for note in result.notes if "sorted by column 2" not in note] == []


# --- how they look ----------------------------------------------------------------------------


def test_defaults_are_those_of_the_contract():
    assert gs.WildBootstrap() == gs.WildBootstrap(n_resamples=999, signs="orthogonal", flip="auto")
    assert gs.MonteCarlo(99).n_resamples == 99


def test_deprecations_in_a_fit_are_no_notes_of_the_result():
    def fit(x):
        warnings.warn("old style", DeprecationWarning, stacklevel=1)
        warnings.warn("the fit is poor", RuntimeWarning, stacklevel=1)
        return FAMILY.Normal.fit(x)

    null = gs.ParametricBootstrap(fit, 19)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = gs.ksd_test(X, FAMILY.Normal.fit(X), null=null, workers=1, rng=1)
    assert result.notes == ("the fit is poor",)
    assert {w.category for w in caught} == {DeprecationWarning, RuntimeWarning}
