"""The aggregated test: its p-value is valid whatever the collection."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import kstest

import goodstein as gs
from goodstein.nulls.base import JointCalibration
from goodstein.nulls.combine import combined, log_survival
from goodstein.pipeline.compose import compose
from goodstein.tests_of_fit.default_members import default_collection
from goodstein.tests_of_fit.members.entries import Entry
from levels import check_level, trials

pytestmark = pytest.mark.usefixtures("few_samples")

NORMAL = gs.families.Normal([0.0, 0.0])
GAUSSIANS = [gs.Gaussian(gs.Median(scale)) for scale in (0.25, 0.5, 1.0, 2.0)]


def sample(n=100, seed=1):
    return NORMAL.sample(n, rng=seed)


# --- combining -----------------------------------------------------------------------------------


def exchangeable(rng, count, draws, dependence):
    """A joint null distribution of skewed and dependent statistics, data and draws alike."""
    common = rng.standard_normal((3, draws + 1)) ** 2 - 1
    own = rng.standard_normal((count, draws + 1)) ** 2 - 1
    mix = np.linspace(0.0, 1.0, count)[:, None]
    values = dependence * (mix * common[0] + (1 - mix) * common[1]) + (1 - dependence) * own
    values *= np.exp(np.linspace(-3, 3, count))[:, None]  # the members have different scales
    return JointCalibration(values[:, 0], values[:, 1:])


@pytest.mark.parametrize(("count", "dependence"), [(1, 0.0), (2, 0.5), (30, 0.0), (30, 0.9)])
@pytest.mark.parametrize("weighted", [False, True])
@trials(400, 2000)
def test_the_p_value_is_uniform_under_exchangeability(count, dependence, weighted, trials):
    rng = np.random.default_rng([count, int(10 * dependence), weighted])
    weights = np.arange(1.0, count + 1) if weighted else np.ones(count)
    weights /= weights.sum()
    joint = (exchangeable(rng, count, 99, dependence) for _ in range(trials))
    p = np.array([combined(drawn, weights).calibration.pvalue for drawn in joint])
    # p takes the values 1/100, 2/100, …: made continuous, it is uniform.
    assert kstest(p - rng.random(len(p)) / 100, "uniform").pvalue > 1e-3
    check_level(p, 0.01, 0.05, 0.1)


def test_copies_of_a_member_change_nothing():
    x = sample() * 1.15
    one = gs.aggregated_test(x, NORMAL, kernels=[gs.IMQ()], rng=3)
    many = gs.aggregated_test(x, NORMAL, kernels=[gs.IMQ()] * 7, rng=3)
    assert many.pvalue == one.pvalue
    assert {member.adjusted_pvalue for member in many.members} == {one.pvalue}


@pytest.mark.parametrize("signs", ["orthogonal", "iid"])
def test_one_member_is_the_test_itself(signs):
    null = gs.WildBootstrap(499, signs=signs)
    for seed in range(5):
        x = sample(seed=seed)
        alone = gs.ksd_test(x, NORMAL, kernel=gs.IMQ(), null=null, rng=seed)
        one = gs.aggregated_test(
            x, NORMAL, operators=[gs.Langevin()], kernels=[gs.IMQ()], null=null, rng=seed
        )
        assert one.pvalue == alone.pvalue
        assert one.members[0].pvalue == alone.pvalue
        assert one.members[0].statistic == alone.statistic


def test_adjusted_p_values_are_those_of_a_closed_test():
    result = gs.aggregated_test(sample() * 1.2, NORMAL, rng=1)
    adjusted = [member.adjusted_pvalue for member in result.members]
    assert min(adjusted) >= result.pvalue
    assert all(member.adjusted_pvalue >= member.pvalue - 1e-3 for member in result.members)
    best = max(result.members, key=lambda member: member.evidence)
    assert best.adjusted_pvalue == min(adjusted)
    assert (result.operator, result.kernel) == (best.operator, best.kernel)


def test_combining_by_hand():
    """Three draws, two members that take the values 0, 1, 2, 3: evidence is in the order of the values.

    The largest of each draw are 1, 2 and 3. One of them is at least 3, all three are at least 0. In the sum
    of the shares divided by p-values only the last draw comes to that of the data.
    """
    joint = JointCalibration(np.array([3.0, 0.0]), np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]))
    found = combined(joint, np.array([0.5, 0.5]), merge=False)
    assert found.adjusted.tolist() == [(1 + 1) / 4, (1 + 3) / 4]
    assert found.calibration.pvalue == 0.5
    assert found.evidence[0] > found.evidence[1]
    # With most of the weight on the second member even its smallest value counts for more than the first's.
    found = combined(joint, np.array([1e-9, 1.0 - 1e-9]), merge=False)
    assert found.evidence[1] > found.evidence[0] and found.calibration.pvalue == found.adjusted[1] == 1.0


def test_the_statistic_is_the_harmonic_mean_of_p_values():
    rng = np.random.default_rng(4)
    joint = exchangeable(rng, 4, 999, 0.3)
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    values = np.column_stack([joint.statistics, joint.draws])
    p = np.exp([log_survival(row) for row in values])
    expected = 1.0 / (weights[:, None] / p).sum(axis=0)
    found = combined(joint, weights, merge=False).calibration
    assert np.exp(-found.statistic) == pytest.approx(expected[0])
    assert np.exp(-found.draws) == pytest.approx(expected[1:])


def test_members_that_are_nearly_the_same_count_as_one():
    """A noisy copy shares the weight of the member that it resembles, and the third keeps its own."""
    rng = np.random.default_rng(5)
    first, third = rng.chisquare(3, (2, 1000))
    values = np.array([first, first + 0.01 * rng.standard_normal(1000), third])
    joint = JointCalibration(values[:, 0], values[:, 1:])
    assert combined(joint, np.full(3, 1 / 3)).weights == pytest.approx([0.25, 0.25, 0.5])
    assert combined(joint, np.full(3, 1 / 3), merge=False).weights == pytest.approx([1 / 3] * 3)
    alone = JointCalibration(values[[0, 2], 0], values[[0, 2], 1:])
    pair, three = combined(alone, np.full(2, 1 / 2)), combined(joint, np.full(3, 1 / 3))
    assert three.calibration.pvalue == pytest.approx(pair.calibration.pvalue, abs=0.01)


def test_weights_are_relative_and_move_the_p_value_towards_their_member():
    x = sample(200) * 1.12
    common = {"operators": [gs.Langevin(), gs.Dilation()], "kernels": [gs.IMQ()], "rng": 1}
    plain = gs.aggregated_test(x, NORMAL, **common)
    scaled = gs.aggregated_test(x, NORMAL, weights=[7.0, 7.0], **common)
    assert scaled.pvalue == plain.pvalue
    single = [member.pvalue for member in plain.members]
    best = int(np.argmin(single))
    favoured = [0.01, 0.01]
    favoured[best] = 0.99
    assert gs.aggregated_test(x, NORMAL, weights=favoured, **common).pvalue <= plain.pvalue
    assert gs.aggregated_test(x, NORMAL, weights=favoured[::-1], **common).pvalue >= plain.pvalue
    nearly = [1e-9, 1e-9]
    nearly[best] = 1.0
    assert gs.aggregated_test(x, NORMAL, weights=nearly, **common).pvalue == pytest.approx(single[best])


def test_log_survival_is_decreasing_and_near_the_truth():
    values = np.random.default_rng(1).exponential(size=4000)
    got = log_survival(values)
    order = np.argsort(values)
    assert (np.diff(got[order]) < 0).all()
    # The truth is −v; the tail is a straight line.
    assert np.max(np.abs(got + values)[values < 4]) < 0.35
    assert np.max(np.abs(got / -values - 1)[values > 4]) < 0.15


@pytest.mark.parametrize(
    "values",
    [np.zeros(50), np.r_[np.zeros(40), np.arange(10.0)], np.r_[np.arange(10.0), np.full(40, 9.0)]],
    ids=["constant", "mostly smallest", "mostly largest"],
)
def test_log_survival_with_ties(values):
    got = log_survival(values)
    assert np.isfinite(got).all()
    order = np.argsort(values, kind="stable")
    assert (np.diff(got[order]) <= 0).all()
    assert len(np.unique(got)) == len(np.unique(values))


def test_values_that_differ_by_rounding_show_nothing():
    values = -5.8 + 1e-15 * np.random.default_rng(1).standard_normal(50)
    assert not log_survival(values).any()


# --- the function --------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_seed_and_workers(workers):
    x = sample(1100)
    first = gs.aggregated_test(x, NORMAL, rng=5, workers=workers)
    second = gs.aggregated_test(x, NORMAL, rng=5, workers=None)
    assert first.pvalue == second.pvalue
    assert np.array_equal(first.null_distribution, second.null_distribution)


def test_a_collection_finds_shifts_and_stretches():
    x = sample(200)
    shifted, stretched = x + np.array([0.5, 0.0]), x * 1.35
    for data in (shifted, stretched):
        assert gs.aggregated_test(data, NORMAL, rng=1).pvalue <= 0.01


def test_simulated_nulls():
    x = sample(40)
    exact = gs.aggregated_test(x, NORMAL, null=gs.MonteCarlo(99), rng=1)
    assert 0.01 <= exact.pvalue <= 1
    assert exact.null_distribution.shape == (99,)
    far = gs.aggregated_test(x + 1, NORMAL, null=gs.MonteCarlo(99), rng=1)
    assert far.pvalue == 0.01
    fit = gs.families.Normal.fit
    fitted = gs.aggregated_test(x, fit(x), null=gs.ParametricBootstrap(fit, 39), rng=1)
    assert fitted.pvalue > 0.05


def test_monte_carlo_statistics_are_those_of_single_tests():
    x = sample(40)
    kernels = [gs.Gaussian(gs.Median(0.5)), gs.IMQ()]
    joint = gs.aggregated_test(x, NORMAL, kernels=kernels, null=gs.MonteCarlo(59), rng=1)
    for kernel, member in zip(kernels, joint.members, strict=True):
        alone = gs.ksd_test(x, NORMAL, kernel=kernel, null=gs.MonteCarlo(59), rng=1)
        assert member.statistic == pytest.approx(alone.statistic, rel=1e-5)
        assert member.pvalue == pytest.approx(alone.pvalue)


@trials(60, 600)
def test_level_of_the_default_collection(trials):
    """600 samples of a true model notice a level of .09 instead of .05."""
    null = gs.WildBootstrap(199)
    found = (
        gs.aggregated_test(NORMAL.sample(60, rng=[9, k]), NORMAL, null=null, workers=1, rng=k).pvalue
        for k in range(trials)
    )
    check_level(found, 0.05, 0.2)


def result_of(data, model, **options):
    return gs.aggregated_test(data, model, null=gs.WildBootstrap(99), rng=1, **options)


DOMAINS = {
    "R^3": gs.families.Normal([0.0, 0.0, 0.0]),
    "simplex": gs.families.Dirichlet([0.5, 0.5, 0.5]),
    "ball": gs.families.Truncated(gs.families.Normal([0.0, 0.0]), gs.Ball(2)),
    "box": gs.families.Uniform(gs.Box(0, [1, 1])),
    "half-line": gs.families.Gamma(2.0),
    "polygon": gs.families.Uniform(gs.Polygon([(0, 0), (2, 0), (0, 2)])),
    "circle": gs.families.VonMises(0.0, 1.0),
    "sphere": gs.families.UniformOnSphere(3),
    "lattice": gs.families.Ising(0.2 * (np.ones((4, 4)) - np.eye(4))),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_every_domain_has_a_collection(name):
    model = DOMAINS[name]
    x = model.sample(80, rng=3)
    result = result_of(x, model)
    assert len(result.members) >= 3
    assert result.audit.valid
    assert result.pvalue > 0.01
    assert not result.notes


def test_durations_have_a_collection():
    rng = np.random.default_rng(1)
    t, c = rng.exponential(size=80), rng.exponential(2.0, size=80)
    data = gs.Censored(np.minimum(t, c), t <= c)
    result = result_of(data, gs.families.Exponential(1.0))
    assert len(result.members) >= 4
    assert result.pvalue > 0.01


def test_members_of_the_default_collection_that_are_not_valid_are_left_out(monkeypatch):
    model = gs.families.Dirichlet([0.5, 0.5, 0.5])
    x = model.sample(50, rng=1)
    ours = default_collection(compose(x, model), False)
    broken = {"broken": [Entry(gs.Standardised(gs.GeometricMean()), [gs.IMQ()])]}
    collection = "goodstein.tests_of_fit.aggregated.default_collection"
    monkeypatch.setattr(collection, lambda *_: broken | ours)
    result = result_of(x, model)
    assert len(result.members) == sum(entry.size for entries in ours.values() for entry in entries)
    assert (
        "Left out, because the audit refused it: Standardised(auxiliary=GeometricMean())" in result.notes[0]
    )
    assert result.audit.valid
    monkeypatch.setattr(collection, lambda *_: broken)
    with pytest.raises(gs.SteinIdentityError, match="not valid"):
        result_of(x, model)


def test_operators_that_are_named_must_be_valid():
    model = gs.families.Dirichlet([0.5, 0.5, 0.5])
    with pytest.raises(gs.SteinIdentityError, match="not valid"):
        result_of(model.sample(20, rng=1), model, operators=[gs.Standardised(gs.GeometricMean())])
    overruled = result_of(
        model.sample(20, rng=1), model, operators=[gs.Standardised(gs.GeometricMean())], audit=False
    )
    assert "overruled" in overruled.notes[0]
    assert "not valid" in str(overruled)


# --- the result ----------------------------------------------------------------------------------


def test_the_result_tells_of_its_members():
    result = gs.aggregated_test(sample() * 1.4, NORMAL, rng=1)
    assert type(result) is gs.TestResult and result.members
    text = str(result)
    for word in ("members", "adjusted p", "Dilation(Langevin())", "p-value"):
        assert word in text
    record = json.loads(result.to_json())
    assert len(record["members"]) == len(result.members)
    assert sum(member["weight"] for member in record["members"]) == pytest.approx(1.0)
    assert "<table>" in result._repr_html_()
    assert repr(result)


def test_the_plot_of_the_null_is_that_of_the_harmonic_mean():
    pytest.importorskip("matplotlib").use("Agg")
    ax = gs.aggregated_test(sample(), NORMAL, null=gs.WildBootstrap(99), rng=1).plot("null")
    assert ax.get_xlabel() == "−log of the members' harmonic mean p"


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"null": gs.Spectral()}, "cannot draw the statistics of several tests jointly"),
        ({"null": "wild"}, "`null` must be a null method"),
        ({"kernels": []}, "`kernels` is empty"),
        ({"kernels": gs.IMQ()}, r"`kernels` must be a list such as \[Gaussian\(\)\]"),
        ({"kernels": [gs.IMQ]}, "must be a kernel such as"),
        ({"kernels": [None]}, r"`kernels`\[0\] is None"),
        ({"operators": []}, "`operators` is empty"),
        ({"operators": gs.Langevin()}, r"`operators` must be a list such as \[Langevin\(\)\]"),
        ({"operators": ["Langevin"]}, "must be an operator such as"),
        ({"kernels": GAUSSIANS, "weights": [1.0]}, "must be 4 numbers"),
        ({"kernels": GAUSSIANS[:2], "weights": [1.0, 0.0]}, "`weights` must be positive numbers"),
        ({"kernels": GAUSSIANS[:2], "weights": [1.0, "a"]}, "`weights` must be real numbers"),
        ({"workers": 0}, "`workers` must be"),
    ],
)
def test_mistakes_are_named(options, message):
    with pytest.raises(gs.InputError, match=message):
        gs.aggregated_test(sample(), NORMAL, rng=1, **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Langevin",), "`operator` of Dilation must be an operator"),
        ((None, "middle"), "`centre` of Dilation must be real numbers"),
        ((None, [0.0, np.nan]), "`centre` of Dilation must be finite numbers"),
    ],
)
def test_dilation_names_mistakes(arguments, message):
    with pytest.raises(gs.InputError, match=message):
        gs.Dilation(*arguments)


def test_dilation_needs_plain_features_and_its_own_dimension():
    with pytest.raises(gs.InputError, match="has 3 coordinates, the data 2"):
        gs.ksd_test(sample(), NORMAL, operator=gs.Dilation(centre=[0.0, 0.0, 0.0]), rng=1)
    with pytest.raises(gs.InputError, match="cannot be stretched"):
        gs.ksd_test(sample(), NORMAL, operator=gs.Dilation(gs.SecondOrder()), rng=1)


# --- samplers that are not what they should be -----------------------------------------------------


def chain(n, rng):
    """A stationary chain, each draw nearly the one before."""
    x = np.empty((n, 1))
    x[0] = rng.standard_normal()
    for i in range(1, n):
        x[i] = 0.99 * x[i - 1] + np.sqrt(1 - 0.99**2) * rng.standard_normal()
    return x


def test_a_sampler_that_is_a_chain_is_left_out():
    model = gs.Model(score=lambda x: -x, domain=gs.Euclidean(1), sample=chain, batched=True)
    x = gs.families.Normal(0.0, 1.0).sample(60, rng=1)
    result = result_of(x, model)
    assert "Successive draws" in result.notes[0]
    assert not any(isinstance(member.operator, gs.MeanEmbedding) for member in result.members)
    with pytest.raises(gs.SteinIdentityError, match="needs independent ones"):
        gs.ksd_test(x, model, operator=gs.MeanEmbedding(), rng=1)


def test_a_sampler_that_finds_nothing_is_no_obstacle():
    """Rejection from a normal distribution on a box far out in its tail."""
    model, box = gs.families.Normal([0.0, 0.0]), gs.Box([9.0, 9.0], [10.0, 10.0])
    x = 9.0 + np.random.default_rng(1).uniform(0.01, 0.5, (40, 2))
    result = result_of(x, model, domain=box)
    assert "Left out the members that compare data with draws" in result.notes[0]


def test_a_model_that_every_operator_refuses_does_not_pass_on_its_draws_alone():
    model = gs.Model(
        score=lambda x: -x, domain=gs.Circle(), sample=gs.families.VonMises(0.0, 1.0).sample, batched=True
    )
    with pytest.raises(gs.SteinIdentityError):
        result_of(model.sample(50, rng=1), model)


def test_the_order_of_draws_is_of_no_importance():
    """A sampler that returns its draws in order, smallest first."""
    normal = gs.families.Normal(0.0, 1.0)

    def ordered(n, rng):
        return np.sort(normal.sample(n, rng), axis=0)

    model = gs.Model(score=lambda x: -x, domain=gs.Euclidean(1), sample=ordered, batched=True)
    p = [gs.m3d_test(normal.sample(40, rng=[2, k]), model, n_resamples=39, rng=k).pvalue for k in range(40)]
    assert 0.3 < np.mean(p) < 0.7


def test_kernels_may_be_a_generator():
    x = sample(40)
    kernels = (gs.Gaussian(width) for width in (1.0, 2.0))
    result = gs.aggregated_test(x, NORMAL, operators=[gs.Langevin(), gs.Dilation()], kernels=kernels, rng=1)
    assert len(result.members) == 4


def test_members_with_different_numbers_of_observations_cannot_share_signs():
    operators = [gs.Langevin(), gs.Regularised(gs.Langevin(), draws=0)]
    with pytest.raises(gs.InputError, match="different numbers of observations"):
        gs.aggregated_test(sample(60), NORMAL, operators=operators, null=gs.WildBootstrap(), rng=1)


@trials(40, 400)
@pytest.mark.parametrize(("d", "n"), [(1, 20), pytest.param(20, 10, marks=pytest.mark.slow)])
def test_the_level_holds_in_small_samples(d, n, trials):
    """The centre of a dilation must not be that of the observation itself; 400 trials notice .10."""
    model, null = gs.families.Normal(np.zeros(d)), gs.WildBootstrap(99)
    found = (
        gs.aggregated_test(model.sample(n, rng=[7, k]), model, null=null, workers=1, rng=k).pvalue
        for k in range(trials)
    )
    check_level(found, 0.05, 0.2)


@pytest.mark.parametrize(("parts", "alpha"), [(80, 0.5), (200, 1.0)])
@pytest.mark.slow
def test_simplices_of_many_parts_are_tested(parts, alpha):
    """∏ x_j underflows there, and second moments are many; other members see all that there is to see."""
    model = gs.families.Dirichlet(np.full(parts, alpha))
    true = gs.aggregated_test(model.sample(40, rng=1), model, rng=1)
    assert true.pvalue > 0.01
    assert not any("Left out" in note for note in true.notes)
    other = gs.families.Dirichlet(np.full(parts, 2.0 * alpha)).sample(40, rng=1)
    assert gs.aggregated_test(other, model, rng=1).pvalue <= 0.01


def test_data_with_large_products_and_a_model_without_are_compared_all_the_same():
    """Draws of the model would underflow where the data do not."""
    model = gs.families.Dirichlet(np.full(45, 0.1))
    x = gs.families.Dirichlet(np.full(45, 20.0)).sample(30, rng=1)
    assert gs.aggregated_test(x, model, null=gs.MonteCarlo(99), rng=1).pvalue == 0.01


def test_a_sampler_that_draws_something_else_is_told():
    model = gs.Model(score=lambda x: -x, sample=lambda n, rng: rng.normal(size=(n - 1, 2)), batched=True)
    x = np.random.default_rng(1).normal(size=(40, 2))
    notes = gs.aggregated_test(x, model, null=gs.WildBootstrap(99), rng=1).notes
    assert any("returned shape (1, 2); expected (2, 2)" in note for note in notes)


@pytest.mark.parametrize("zeros", [False, True])
def test_where_parts_are_zero_log_ratios_are_left_out(zeros):
    """A thousandth of the parts of Dirichlet(.01, .01, .01) is too small for a number, simulated ones too."""
    model = gs.families.Dirichlet([0.01] * 3) if not zeros else gs.families.Dirichlet([1.0] * 3)
    x = model.sample(30, rng=1)
    if zeros:
        x[4] = [0.0, 0.25, 0.75]
    result = gs.aggregated_test(x, model, null=gs.MonteCarlo(99), rng=1)
    assert result.pvalue > 0.01 and "Left out LogRatio()" in result.notes[0]
    assert not any("LogRatio" in repr(member.operator) for member in result.members)


def test_members_share_their_draws_of_the_model():
    """However many members look at draws, a simulated sample is one call of the sampler."""
    calls = []

    def sample(n, rng):
        calls.append(n)
        return rng.standard_normal((n, 12))

    model = gs.Model(score=lambda x: -x, sample=sample, domain=gs.Euclidean(12), batched=True)
    model.sample(2, rng=0)  # by which it is found out whether draws repeat
    x = np.random.default_rng(0).standard_normal((60, 12))
    counts = []
    for resamples in (1, 6):
        calls.clear()
        gs.aggregated_test(x, model, null=gs.MonteCarlo(resamples), workers=1, rng=1)
        counts.append(len(calls))
    assert counts[1] - counts[0] == 5


@pytest.mark.filterwarnings("ignore:.*fitting the data gives another model")
@pytest.mark.parametrize(
    ("null", "draws"),
    [
        (gs.MonteCarlo(3), 250),
        (gs.ParametricBootstrap(gs.families.Normal.fit, 3), 20),
        (gs.WildBootstrap(9), 20),
    ],
)
def test_draws_are_many_where_simulated_samples_share_them(null, draws):
    """20 000 for 80 observations: their error is then a sixteenth of that of the data."""
    model = gs.families.Normal([0.0, 0.0])
    members = gs.aggregated_test(model.sample(80, rng=1), model, null=null, workers=1, rng=1).members
    inner = [getattr(member.operator, "operator", None) or member.operator for member in members]
    views = [one for one in inner if isinstance(one, gs.MeanEmbedding)]
    regularised = [m.operator.operator for m in members if isinstance(m.operator, gs.Regularised)]
    assert {one.draws for one in views if one not in regularised} == {draws}
    assert [one.draws for one in regularised] == [20]
