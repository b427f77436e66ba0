"""Dependence along the rows: how it is found, how much it is, and what tests make of it."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import toeplitz
from scipy.stats import binom

import goodstein as gs
from goodstein.auditing.serial import Dependence, Scales, correlation_time, dependence, sorted_by
from goodstein.engine.signs import chained_signs
from goodstein.families import Normal
from goodstein.pipeline.compose import compose
from goodstein.problems.order import dependence_of
from levels import check_level, trials

PLANE = Normal([0.0, 0.0])
QUIET = pytest.mark.filterwarnings("ignore::goodstein.errors.CalibrationWarning")
LAWS = {
    "Cauchy": lambda rng, n: rng.standard_cauchy((n, 2)),
    "log-normal": lambda rng, n: rng.lognormal(0, 3, (n, 1)),
    "Dirichlet": lambda rng, n: rng.dirichlet([0.1, 1, 5], n),
    "three levels": lambda rng, n: rng.integers(0, 3, (n, 4)).astype(float),
}


def autoregression(coefficient: float, n: int, seed: int | list[int], d: int = 2) -> np.ndarray:
    """Stationary, with standard normal margins."""
    steps = np.random.default_rng(seed).standard_normal((n, d))
    for k in range(1, n):
        steps[k] = coefficient * steps[k - 1] + np.sqrt(1 - coefficient**2) * steps[k]
    return steps


# --- whether rows depend on each other ---------------------------------------------------------


def test_of_all_orders_of_seven_rows_no_more_are_called_dependent_than_is_said():
    values = np.array([0.1, 0.5, 2.0, 3.0, 30.0, 31.0, 1e9])
    orders = itertools.islice(itertools.permutations(values), 0, None, 3)
    seen = [dependence([np.array(order)[:, None]], [7]) for order in orders]
    clear, found = sum(each.clear for each in seen), sum(each.found for each in seen)
    # The random orders are a fixed set.
    assert 0 < clear <= 0.012 * len(seen) and clear < found <= 0.055 * len(seen)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_independent_rows_of_any_law_are_called_dependent_as_seldom_as_is_said(law):
    rng, repeats = np.random.default_rng(2), 250
    found = [dependence([law(rng, 40)], [40]) for _ in range(repeats)]
    assert sum(seen.found for seen in found) <= binom.ppf(1 - 1e-4, repeats, 0.05)
    assert sum(seen.clear for seen in found) <= binom.ppf(1 - 1e-4, repeats, 0.01)
    assert sum(seen.certain for seen in found) <= binom.ppf(1 - 1e-4, repeats, 0.001)


def test_dependent_rows_are_found_and_shuffled_ones_are_not():
    x = autoregression(0.6, 300, seed=1)
    seen = dependence([x], [300])
    assert seen.certain and 2.5 < seen.time < 7  # (1 + 0.6)/(1 − 0.6) = 4
    assert not dependence([np.random.default_rng(1).permutation(x)], [300]).found


def test_rows_that_depend_in_a_function_of_them_only_are_found_by_the_features():
    signs = np.random.default_rng(4).choice([-1, 1], (600, 1))
    x = signs * np.abs(autoregression(0.95, 600, seed=3, d=1))
    problem = compose(x, Normal(0, 1))
    assert not dependence([x], [600]).found
    assert problem.dependence.found


def test_products_never_cross_the_end_of_a_sequence():
    lengths = (9, 14, 30)
    z = np.random.default_rng(3).standard_normal((1, sum(lengths)))
    parts = np.split(z[0], np.cumsum(lengths)[:-1])
    lag_one = sum(part[1:] @ part[:-1] for part in parts) / np.sqrt(sum(lengths) - 3)
    pairs = z[0, :52].reshape(-1, 2).sum(axis=1)
    whole = [0, 1, 2, 3], [5, 6, 7, 8, 9, 10], [12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25]
    products = [pairs[i] * pairs[j] for part in whole for i, j in itertools.pairwise(part)]
    expected = max(lag_one, sum(products) / (2 * np.sqrt(len(products))))
    one, single = np.eye(1, dtype=np.float32), z[None].astype(np.float32)
    assert Scales(lengths, one).largest(single)[0] == pytest.approx(expected, 1e-4)


# --- how much ----------------------------------------------------------------------------------


@pytest.mark.parametrize("coefficients", [[0.9], [0.5, 0.3], [-0.4]])
def test_the_correlation_time_of_an_autoregression_is_that_of_its_spectrum(coefficients):
    """Against the sum of autocorrelations by the exact covariances of the process."""
    n, order = 40_000, len(coefficients)
    rng = np.random.default_rng(6)
    x = np.zeros((1, n))
    noise = rng.standard_normal(n)
    for k in range(order, n):
        x[0, k] = noise[k] + sum(c * x[0, k - j - 1] for j, c in enumerate(coefficients))
    # Yule–Walker: ρ_k = Σ c_j ρ_|k−j| for k = 1, …, order, then forward.
    if order == 1:
        rho = coefficients[0] ** np.arange(400.0)
    else:
        first = coefficients[0] / (1 - coefficients[1])
        values = [1.0, first]
        for _ in range(400):
            values.append(coefficients[0] * values[-1] + coefficients[1] * values[-2])
        rho = np.array(values)
    assert np.linalg.eigvalsh(toeplitz(rho[:50])).min() > 0
    expected = max(1.0, 1 + 2 * rho[1:].sum())
    assert correlation_time(x - x.mean(), [n]) == pytest.approx(expected, rel=0.12)


def test_batches_are_five_correlation_times_long_and_end_with_their_sequence():
    seen = Dependence((1000, 3000), time=10.0)
    starts = seen.batches
    assert 1000 in starts
    lengths = np.diff([*starts, 4000])
    assert np.all(np.abs(lengths - 5 * 10 * (1 + np.sqrt(2 / 400))) < 3)
    assert seen.effective == 400


@pytest.mark.parametrize(("time", "batches"), [(10.0, 8), (19.0, 8), (40.0, 4), (500.0, 1)])
def test_where_there_are_few_batches_they_are_shorter_but_not_too_short(time, batches):
    assert len(Dependence((500,), time, 0.01).batches) == batches
    assert len(Dependence((500,), time, 0.05).batches) == 8  # which may be chance


# --- signs -------------------------------------------------------------------------------------


def test_signs_are_constant_in_batches_and_independent_between_them():
    starts = [0, 100, 290, 500]
    signs = chained_signs(7, 700, 4000, 0.0, starts).astype(float)
    parts = np.split(signs, starts[1:], axis=1)
    assert all((part == part[:, :1]).all() for part in parts)
    correlations = np.corrcoef([part[:, 0] for part in parts])
    assert np.abs(correlations - np.eye(4)).max() < 5 / np.sqrt(4000)
    assert np.abs(signs.mean(axis=0)).max() < 5 / np.sqrt(4000)


def test_chains_of_signs_begin_anew_with_every_chain_of_the_data():
    signs = chained_signs(7, 600, 4000, 0.02, [0, 300]).astype(float)
    assert np.mean(signs[:, 299] * signs[:, 300]) == pytest.approx(0.0, abs=5 / np.sqrt(4000))
    assert np.mean(signs[:, 298] * signs[:, 299]) == pytest.approx(0.96, abs=0.02)


@QUIET
def test_draws_are_signed_sums_over_batches():
    x = autoregression(0.9, 260, seed=5)
    problem = compose(x, PLANE)
    starts = problem.dependence.batches
    assert 2 <= len(starts) <= 10
    h = problem.form.matrix()
    blocks = np.add.reduceat(np.add.reduceat(h, starts, axis=0), starts, axis=1)
    patterns = np.array([*itertools.product([-1, 1], repeat=len(starts))])
    squares = np.einsum("pi,ij,pj->p", patterns, blocks, patterns)
    possible = np.unique((squares - np.trace(h)) / (260 * 259))
    result = gs.ksd_test(x, PLANE, null=gs.WildBootstrap(200), rng=1)
    gaps = np.abs(result.null_distribution[:, None] - possible).min(axis=1)
    assert gaps.max() < 1e-5 * np.abs(possible).max()
    assert result.smallest_pvalue == pytest.approx(max(0.5 ** (len(starts) - 1), 1 / 201))


def test_without_dependence_signs_are_what_they_are_for_independent_rows():
    x = PLANE.sample(150, rng=1)
    plain = gs.ksd_test(x, PLANE, null=gs.WildBootstrap(99, flip=0.5), rng=1)
    np.testing.assert_array_equal(
        gs.ksd_test(x, PLANE, null=gs.WildBootstrap(99), rng=1).null_distribution, plain.null_distribution
    )


@QUIET
@trials(60, 400)
def test_the_level_is_kept_on_a_markov_chain(trials):
    null = gs.WildBootstrap(99)
    found = [
        gs.ksd_test(autoregression(0.8, 400, seed, 1), Normal(0, 1), null=null, rng=seed).pvalue
        for seed in range(trials)
    ]
    check_level(found, 0.1)


# --- what tests say ----------------------------------------------------------------------------

TESTS = {
    "ksd": gs.ksd_test,
    "aggregated": gs.aggregated_test,
    "fssd": gs.fssd_test,
    "regularised": gs.regularised_test,
    "mmd": gs.mmd_test,
    "m3d": gs.m3d_test,
    "relative": lambda data, model, rng: gs.relative_ksd_test(data, model, Normal([1.0, 0.0]), rng=rng),
}


@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
def test_every_test_warns_of_dependent_rows_and_names_the_effective_sample_size(test):
    with pytest.warns(gs.CalibrationWarning, match=r"worth about \d+\.?\d* independent ones"):
        result = test(autoregression(0.9, 400, seed=2), PLANE, rng=1)
    assert any("depend on each other" in note for note in result.notes)


def test_finite_sets_find_a_shift_among_dependent_rows():
    """p was .82 where the draws were not divided by n(n − 1) as the statistic is."""
    x, where = autoregression(0.7, 800, seed=3), [[-1.0, 0.0], [1.0, 0.5], [0.0, -1.0]]
    options = {"locations": where, "optimise": False, "rng": 1}
    with pytest.warns(gs.CalibrationWarning):
        right, wrong = (gs.fssd_test(rows, PLANE, **options) for rows in (x, x + np.array([0.6, 0.0])))
    assert right.pvalue > 0.01 and wrong.pvalue < 0.01


@pytest.mark.parametrize("null", [gs.MonteCarlo(99), gs.Spectral(), gs.WildBootstrap(99, flip=0.4)], ids=repr)
def test_a_null_distribution_for_independent_rows_is_called_so(null):
    x = autoregression(0.9, 400, seed=2)
    how = "flip=0.4 signs change too soon" if isinstance(null, gs.WildBootstrap) else "takes them for indep"
    with pytest.warns(gs.CalibrationWarning, match=rf"{how}.*null=WildBootstrap\(\)"):
        result = gs.ksd_test(x, PLANE, null=null, rng=1)
    # A true model: what it says is no evidence.
    assert result.pvalue <= 0.05 and "Cannot decide: the rows depend on each other" in str(result)


def test_who_says_that_rows_are_independent_is_taken_at_their_word():
    result = gs.ksd_test(autoregression(0.9, 400, seed=2), PLANE, null=gs.WildBootstrap(99, flip=0.5), rng=1)
    assert "Strong evidence" in str(result) and "takes them for independent" in str(result)


@QUIET
def test_a_large_pvalue_of_wrong_rows_that_come_first_is_not_called_lack_of_evidence():
    """As in many a simulation: a tenth of the rows is wrong, and these are the first."""
    x = PLANE.sample(500, rng=1)
    x[:50] = 4.0
    result = gs.ksd_test(x, PLANE, rng=1)
    assert result.pvalue > 0.05
    assert "Cannot decide: in their order 500 rows are worth about" in str(result)
    assert gs.ksd_test(np.random.default_rng(1).permutation(x), PLANE, rng=1).pvalue <= 0.01


def test_doubtful_dependence_that_an_autoregression_does_not_see_is_none():
    for seed in range(200):
        found = dependence([np.random.default_rng(seed).standard_normal((60, 1))], [60])
        assert found.clear or not found.found or found.time > 1.001


def test_sorted_rows_are_not_called_dependent_and_the_note_says_by_what_they_are_sorted():
    x = PLANE.sample(120, rng=3)
    for rows in (x[np.argsort(x[:, 1])], x[np.argsort(-x[:, 1])]):
        result = gs.ksd_test(rows, PLANE, rng=1)
        assert any("sorted by column 1" in note for note in result.notes)
        named = gs.ksd_test(pd.DataFrame(rows, columns=["width", "height"]), PLANE, rng=1)
        assert any("sorted by height" in note for note in named.notes)
        assert not any("depend on each other in" in note for note in result.notes)
    assert sorted_by(x) is None
    assert sorted_by(gs.datasets.skye_lavas()) == 2  # published in the order of a trend


def test_a_markov_chain_is_not_taken_for_sorted_rows_and_chains_never_are():
    assert all(sorted_by(autoregression(0.95, 300, seed)) is None for seed in range(100))
    rows = np.sort(np.random.default_rng(1).standard_normal((100, 1)), axis=0)
    assert dependence_of(gs.Chains([rows])).found


def test_too_few_independent_draws_cannot_decide():
    with pytest.warns(gs.CalibrationWarning, match="little to decide on"):
        result = gs.ksd_test(autoregression(0.97, 200, seed=2), PLANE, rng=1)
    assert "Cannot decide" in result.summary()


def test_parts_of_dependent_rows_to_learn_from_come_first():
    with pytest.warns(gs.CalibrationWarning):
        selection = gs.select(autoregression(0.9, 400, seed=2), PLANE, kernels=[gs.IMQ(1.0)], rng=1)
        selection.test(rng=1)
    np.testing.assert_array_equal(selection.train, np.arange(120))
    chains = [autoregression(0.9, n, seed=n) for n in (100, 300)]
    split = gs.select(chains, PLANE, kernels=[gs.IMQ(1.0)], rng=1)
    np.testing.assert_array_equal(split.train, [*range(30), *range(100, 190)])


# --- chains ------------------------------------------------------------------------------------


@QUIET
def test_a_list_an_array_and_chains_are_the_same():
    array = np.array([autoregression(0.8, 120, seed) for seed in range(3)])
    results = [gs.ksd_test(data, PLANE, rng=1) for data in (array, [*array], gs.Chains(array))]
    assert len({result.pvalue for result in results}) == 1
    assert {result.data for result in results} == {"3 chains of 120 draws"}
    assert gs.ksd_test([array[0], array[1][:50]], PLANE, rng=1).data == "2 chains of 50 to 120 draws"


def test_chains_of_one_parameter_and_rows_in_a_list_are_told_apart():
    rng = np.random.default_rng(1)
    assert (
        gs.ksd_test(gs.Chains([*rng.standard_normal((2, 30))]), Normal(0, 1), rng=1).data
        == "2 chains of 30 draws"
    )
    rows = [*rng.standard_normal((30, 2))]
    assert gs.ksd_test(rows, PLANE, rng=1).data is None


def test_a_list_of_arrays_stays_patterns_for_a_model_of_patterns():
    window = gs.Box(0, [1, 1])
    patterns = [np.random.default_rng(k).random((20, 2)) for k in range(30)]
    result = gs.ksd_test(patterns, gs.families.PoissonProcess(20.0, window), rng=1)
    assert "patterns" in result.data


def test_some_rows_of_chains_are_chains_as_far_as_they_go_on():
    chains = gs.Chains([np.arange(10.0), np.arange(5.0)])
    assert chains.take(np.array([0, 3, 9, 11, 14])).sequences == (3, 2)
    assert chains.take(np.array([4, 2, 3])).sequences == (1, 2)


@pytest.mark.parametrize(
    ("chains", "message"),
    [
        ([], "holds no chain"),
        (np.zeros((9, 2)), r"not clear what are chains\. Pass \[x\] for one chain"),
        ([np.zeros((5, 2)), np.zeros((5, 3))], r"different numbers of parameters \(2, 3\)"),
        ([np.zeros((5, 2)), np.full((5, 2), np.nan)], r"Chain 1: .*NaN"),
    ],
    ids=["none", "flat", "widths", "missing"],
)
def test_chains_that_cannot_be_read_are_refused(chains, message):
    with pytest.raises(gs.InputError, match=message):
        gs.Chains(chains)


def test_chains_apart_from_each_other_are_dependent_rows():
    """Chains that stay in different places are worth no more than their number."""
    rng = np.random.default_rng(1)
    chains = gs.Chains([rng.standard_normal((100, 2)) + 3 * k for k in range(4)])
    assert dependence_of(chains).certain and dependence_of(chains).effective < 40


# --- samplers of models ------------------------------------------------------------------------


def test_heavy_tails_of_a_sampler_are_no_markov_chain():
    cauchy = compose(None, gs.families.StudentT(1.0, [0.0], [[1.0]]), without_data=True).model
    for seed in range(60):
        checks = gs.MeanEmbedding().conditions(cauchy, gs.Euclidean(1), None, np.random.default_rng(seed))
        assert checks[0].status == "pass"


def test_a_sampler_that_is_a_markov_chain_is_found():
    chain = gs.Model(
        score=lambda x: -x,
        sample=lambda n, rng: autoregression(0.4, n, rng.integers(99)),
        domain=gs.Euclidean(2),
    )
    check = gs.MeanEmbedding().conditions(chain, gs.Euclidean(2), None, np.random.default_rng(1))[0]
    assert check.status == "fail" and "correlation time" in check.message


@trials(150, 600)
def test_draws_that_are_said_to_be_a_chain_keep_the_level_where_nothing_is_found(trials):
    """A correlation of .5 goes unnoticed in one of three samples of 50 rows; taken for independent, .15."""
    found = []
    for k in range(trials):
        chain = gs.Chains([autoregression(0.5, 50, seed=[k, 50], d=1)])
        found.append(gs.ksd_test(chain, Normal(0, 1), null=gs.WildBootstrap(199), workers=1, rng=k))
    assert all(result.notes == () or "draws of Markov chains" in result.notes[0] for result in found)
    check_level([result.pvalue for result in found], 0.05, 0.1)
