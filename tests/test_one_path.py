"""Every test goes the same way: compose, audit, calibrate, report; and takes every kind of data it can."""

import pickle
import warnings

import numpy as np
import pytest

import goodstein as gs
from cases import Frequencies, Letters, PlainWords, Words
from goodstein.data import Points
from goodstein.data.rows import SeenRows
from goodstein.families import ERGM, Dirichlet, Exponential, Normal, PoissonProcess
from goodstein.models.provenance import Fit

pytestmark = pytest.mark.usefixtures("few_samples")

RNG = np.random.default_rng(20_261_116)
X = RNG.standard_normal((60, 2))
MODEL = Normal([0.0, 0.0])
WINDOW = gs.Box([0, 0], [1, 1])
PATTERNS = PoissonProcess(8.0, WINDOW).sample(12, rng=1)
RING = np.roll(np.eye(12), 1, axis=1) + np.roll(np.eye(12), -1, axis=1)
COVARIATE = RNG.uniform(-1, 1, 60)
PAIRS = gs.Paired(COVARIATE, COVARIATE + RNG.standard_normal(60))
LINE = gs.ConditionalModel.gaussian(lambda x: x, 1.0)
DURATIONS = gs.Censored(RNG.exponential(size=60), RNG.random(60) < 0.8)

ALL_TESTS = {
    "ksd": lambda model, **options: gs.ksd_test(X, model, **options),
    "aggregated": lambda model, **options: gs.aggregated_test(X, model, **options),
    "regularised": lambda model, **options: gs.regularised_test(X, model, **options),
    "relative": lambda model, **options: gs.relative_ksd_test(X, model, Normal([0.4, 0.0]), **options),
    "fssd": lambda model, **options: gs.fssd_test(X, model, **options),
    "select": lambda model, **options: gs.select(X, model, rng=1).test(**options),
    "mmd": lambda model, **options: gs.mmd_test(X, model, **options),
    "m3d": lambda model, **options: gs.m3d_test(X, model, n_resamples=19, **options),
    "conditional": lambda model, **options: gs.conditional_ksd_test(PAIRS.x, PAIRS.y, LINE, **options),
    "patterns": lambda model, **options: gs.point_pattern_ksd_test(
        PATTERNS, PoissonProcess(8.0, WINDOW), **options
    ),
    "graph": lambda model, **options: gs.graph_ksd_test(RING, ERGM(12, edges=-1.0), **options),
}


@pytest.fixture(params=ALL_TESTS)
def run(request):
    return ALL_TESTS[request.param]


def test_every_test_returns_the_one_result_class(run):
    result = run(MODEL, rng=1)
    assert type(result) is gs.TestResult
    draws = result.null_distribution
    rank = 1 + (draws >= result.statistic - 1e-9 * np.abs(draws).max()).sum()
    tested = result.title != "Relative kernel Stein discrepancy test"  # whose p-value is a normal one
    assert result.pvalue == pytest.approx(rank / (1 + len(draws)), rel=1e-12 if tested else 0.1)
    assert result.statistic_name in str(result) and f"{result.pvalue:.4g}" in result._repr_html_()
    assert result.to_dict()["test"] == result.title
    copy = pickle.loads(pickle.dumps(result))
    assert (copy.pvalue, str(copy)) == (result.pvalue, str(result))


def test_every_test_depends_on_its_seed_alone(run):
    assert run(MODEL, rng=5).pvalue == run(MODEL, rng=np.random.default_rng(5)).pvalue


@pytest.mark.parametrize("name", ["ksd", "aggregated", "regularised", "relative", "mmd", "m3d"])
def test_every_test_of_points_says_that_the_model_was_fitted_to_these_data(name):
    model = gs.as_model(MODEL).remember(Fit(None, SeenRows(X)))
    with pytest.warns(gs.CalibrationWarning, match="was fitted to these very data") as told:
        result = ALL_TESTS[name](model, rng=1)
    assert any("was fitted to these very data" in note for note in result.notes)
    assert {warning.filename for warning in told} == {__file__}


def test_warnings_about_calibration_point_at_the_caller_and_are_notes():
    few = gs.Censored([1.0, 2.0, 3.0, 4.0], [True, False, False, False])
    for call in (gs.ksd_test, gs.aggregated_test):
        with pytest.warns(gs.CalibrationWarning) as told:
            result = call(few, Exponential(10.0), null=gs.WildBootstrap(99), rng=1)
        assert {warning.filename for warning in told} == {__file__}
        assert {str(warning.message) for warning in told} <= set(result.notes)
    with pytest.warns(gs.CalibrationWarning) as told:
        gs.relative_ksd_test(
            few, Exponential(10.0), Exponential(5.0), operator=gs.Martingale(None), audit=False, rng=1
        )
    assert {warning.filename for warning in told} == {__file__}


def test_the_warning_that_nothing_but_censoring_was_seen_points_at_the_caller():
    with pytest.warns(gs.CalibrationWarning, match="All 5 durations are censored") as told:
        data = gs.Censored(np.arange(1.0, 6.0), np.zeros(5))
        gs.ksd_test(data, Exponential(100.0), null=gs.MonteCarlo(19), rng=1)
    assert {warning.filename for warning in told} == {__file__}


def test_a_result_with_a_function_in_its_null_can_be_stored():
    null = gs.ParametricBootstrap(lambda x: Normal(x.mean(axis=0)), 9)
    result = gs.ksd_test(X, Normal(X.mean(axis=0)), null=null, rng=1)
    copy = pickle.loads(pickle.dumps(result))
    assert str(copy) == str(result) and copy.to_json() == result.to_json()


def test_the_members_of_a_collection_are_in_the_html():
    result = gs.aggregated_test(X, MODEL, rng=1)
    page = result._repr_html_()
    assert all(f"{member.adjusted_pvalue:.4g}" in page for member in result.members)
    assert page.count("<tr>") > len(result.members)


# --- the audit -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operator", [gs.Langevin(), gs.Dilation(), gs.Regularised(gs.Langevin()), gs.Dilation(gs.Langevin())]
)
def test_a_score_that_is_not_that_of_the_log_density_is_found_inside_other_operators(operator):
    wrong = gs.Model(score=lambda x: -2 * x, logpdf=lambda x: -(x**2).sum(axis=1) / 2, name="wrong")
    report = gs.audit(wrong, operator=operator, data=X, rng=1)
    assert not report.valid
    assert any(
        check.name == "score against log density" and check.status == "fail" for check in report.checks
    )
    right = gs.Model(score=lambda x: -x, logpdf=lambda x: -(x**2).sum(axis=1) / 2, name="right")
    assert gs.audit(right, operator=operator, data=X, rng=1).valid


def test_tails_are_looked_at_inside_other_operators():
    growing = gs.Model(score=lambda x: x, name="growing")
    for operator in (gs.Langevin(), gs.Dilation()):
        checks = {check.name: check for check in gs.audit(growing, operator=operator, data=X, rng=1).checks}
        assert checks["tails"].status == "warn"


def test_the_score_of_a_conditional_model_is_compared_with_its_log_density():
    wrong = gs.ConditionalModel(score=lambda y, x: 2 * (x - y), logpdf=lambda y, x: -((y - x) ** 2) / 2)
    assert not gs.audit(wrong, data=PAIRS, rng=1).valid
    assert gs.audit(LINE, data=PAIRS, rng=1).valid


@pytest.mark.parametrize(
    ("operator", "left"),
    [(gs.Regularised(draws=0), 3200), (gs.Regularised(gs.Langevin(), fraction=0.5, draws=0), 3000)],
)
def test_identity_is_checked_where_some_rows_are_split_off(operator, left):
    """A fifth of 4000 draws, or half of them, of which no more than 1000 are ever split off."""
    report = gs.audit(Normal(0.0), operator=operator, data=X[:, 0], rng=1)
    last = report.checks[-1]
    assert last.name == "Stein's identity by simulation" and last.status == "pass"
    assert f"({left} draws)" in last.message


def test_log_ratios_on_a_lattice_are_refused():
    model = gs.families.Ising(np.zeros((3, 3)), np.zeros(3))
    with pytest.raises(gs.InputError, match=r"MeanEmbedding\(logratio=True\) is for a Simplex"):
        gs.ksd_test(model.sample(30, rng=1), model, operator=gs.MeanEmbedding(logratio=True), rng=1)


# --- operators are asked alike whatever the data ---------------------------------------------------


class Asked:
    """An operator that remembers what it was asked."""

    def __init__(self, inner, takes):
        self.inner, self.takes, self.asked = inner, takes, []

    def features(self, model, domain, data):
        return self.inner.features(model, domain, data)

    def on(self, domain):
        self.asked.append("on")
        return self

    def seeded(self, seed):
        self.asked.append("seeded")
        return self

    def fitted(self, data, domain):
        self.asked.append("fitted")
        return self

    def default_kernel(self):
        return self.inner.default_kernel()


@pytest.mark.parametrize(
    ("data", "model", "inner", "takes"),
    [
        (X, MODEL, gs.Langevin(), None),
        (DURATIONS, Exponential(1.0), gs.Martingale(), gs.Censored),
        (PATTERNS, PoissonProcess(8.0, WINDOW), gs.patterns.Papangelou(), gs.Patterns),
    ],
    ids=["points", "durations", "patterns"],
)
def test_on_seeded_and_fitted_are_called_for_every_kind_of_data(data, model, inner, takes):
    operator = Asked(inner, takes)
    result = gs.ksd_test(data, model, operator=operator, rng=1)
    assert {"on", "seeded", "fitted"} <= set(operator.asked)
    assert result.pvalue == gs.ksd_test(data, model, operator=inner, rng=1).pvalue
    assert result.operator is operator


# --- kinds of data ---------------------------------------------------------------------------------

KINDS = {
    "points": (X, MODEL),
    "durations": (DURATIONS, Exponential(1.0)),
    "pairs": (PAIRS, LINE),
    "patterns": (gs.Patterns(PATTERNS), PoissonProcess(8.0, WINDOW)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_one_call_takes_every_kind(kind):
    data, model = KINDS[kind]
    assert 0 < gs.ksd_test(data, model, rng=1).pvalue <= 1
    assert 0 < gs.aggregated_test(data, model, rng=1).pvalue <= 1
    assert gs.audit(model, data=data, rng=1).valid
    assert gs.stein_matrix(data, model).shape[0] == len(data)
    problem_size = gs.ksd_test(data, model, null=gs.MonteCarlo(9), rng=1)
    assert problem_size.n == len(data)


@pytest.mark.parametrize("kind", ["points", "durations", "pairs"])
def test_selection_takes_every_kind_with_rows_enough(kind):
    data, model = KINDS[kind]
    selection = gs.select(data, model, rng=1)
    assert selection.n_train + selection.n_test == len(data)
    assert 0 < selection.test(rng=1).pvalue <= 1
    with pytest.raises(gs.InputError, match="training rows"):
        selection.test(data, rng=1)


def test_relative_tests_take_pairs_and_patterns():
    worse = gs.ConditionalModel.gaussian(lambda x: x + 3.0, 1.0)
    assert gs.relative_ksd_test(PAIRS, worse, LINE, rng=1).pvalue < 0.01
    denser = PoissonProcess(30.0, WINDOW)
    assert gs.relative_ksd_test(PATTERNS, denser, PoissonProcess(8.0, WINDOW), rng=1).pvalue < 0.05


def test_conveniences_are_the_same_test():
    options = {"rng": 3}
    assert (
        gs.conditional_ksd_test(PAIRS.x, PAIRS.y, LINE, **options).pvalue
        == gs.ksd_test(PAIRS, LINE, **options).pvalue
    )
    model = PoissonProcess(8.0, WINDOW)
    assert (
        gs.point_pattern_ksd_test(PATTERNS, model, **options).pvalue
        == gs.ksd_test(PATTERNS, model, **options).pvalue
    )
    graph = ERGM(12, edges=-1.0)
    assert gs.graph_ksd_test(RING, graph, **options).pvalue == gs.ksd_test(RING, graph, **options).pvalue
    assert gs.ksd_test(gs.Graph(RING), graph, **options).null == gs.MonteCarlo(199)
    assert (
        gs.ksd_test((PAIRS.x, PAIRS.y), LINE, **options).pvalue == gs.ksd_test(PAIRS, LINE, **options).pvalue
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gs.ksd_test(RING, ERGM(12, edges=-1.0), null=gs.WildBootstrap()), "has to be simulated"),
        (lambda: gs.relative_ksd_test(RING, ERGM(12, edges=-1.0), ERGM(12, edges=-2.0)), "one observation"),
        (lambda: gs.select(RING, ERGM(12, edges=-1.0)), "cannot be split"),
        (lambda: gs.fssd_test(DURATIONS, Exponential(1.0)), "fssd_test takes points.*60 durations"),
        (lambda: gs.mmd_test(PAIRS, LINE), "mmd_test takes points.*60 pairs"),
        (lambda: gs.m3d_test(PATTERNS, PoissonProcess(8.0, WINDOW)), "m3d_test takes points"),
        (
            lambda: gs.ksd_test(X, LINE),
            r"ndarray holds no pairs. Pass Paired\(x, y\), or use conditional_ksd_test",
        ),
        (
            lambda: gs.ksd_test(X, MODEL, operator=gs.patterns.Papangelou()),
            "must be a point process|papangelou",
        ),
    ],
)
def test_what_makes_no_sense_is_said_clearly(call, message):
    with pytest.raises(gs.InputError, match=message):
        call()


def test_a_kind_of_data_of_ones_own_needs_a_length_and_rows():
    words, own = ["a", "b"] * 35 + ["a"] * 10, Frequencies()
    exact = gs.ksd_test(Words(words), Letters(0.5), operator=own, null=gs.MonteCarlo(99), rng=1)
    assert exact.pvalue > 0.05
    assert gs.aggregated_test(Words(words), Letters(0.9), operators=[own], rng=1).pvalue <= 0.01
    plain = gs.ksd_test(PlainWords(words), Letters(0.9), operator=own, rng=1)
    assert plain.pvalue <= 0.01 and "80 observations" in str(plain)


def test_a_kind_of_ones_own_is_reported_under_its_name():
    for data in (Words("ab" * 20), PlainWords("ab" * 20)):
        result = gs.ksd_test(data, Letters(0.5), operator=Frequencies(), rng=1)
        assert result.audit.domain == type(data).__name__
    own = Frequencies()
    object.__setattr__(own, "takes", Words)
    with pytest.raises(gs.InputError, match="says nothing without them"):
        gs.audit(Letters(0.5), operator=own)


def test_a_search_of_scipy_leaves_no_note():
    """SciPy's own silence about its line search does not hold where several threads fit."""
    from scipy.optimize._linesearch import LineSearchWarning

    def fit(x):
        warnings.warn("The line search algorithm did not converge", LineSearchWarning, stacklevel=1)
        return MODEL

    result = gs.ksd_test(X, MODEL, null=gs.ParametricBootstrap(fit, 19), rng=1)
    assert not any("line search" in note for note in result.notes)


def test_a_kind_without_an_operator_asks_for_one():
    with pytest.raises(gs.InputError, match=r"no operator of the library for Words\. Pass `operator`"):
        gs.ksd_test(Words("ab" * 5), Letters(0.5), rng=1)


def test_points_are_a_kind_too():
    assert gs.ksd_test(Points(X), MODEL, rng=1).pvalue == gs.ksd_test(X, MODEL, rng=1).pvalue


def test_errors_carry_argument_rows_and_remedy():
    broken = X.copy()
    broken[[3, 7]] = np.nan
    with pytest.raises(gs.InputError) as caught:
        gs.ksd_test(broken, MODEL)
    assert caught.value.argument == "data" and caught.value.rows.tolist() == [3, 7]
    assert caught.value.remedy.startswith("Remove or complete them") and caught.value.remedy in str(
        caught.value
    )
    with pytest.raises(gs.InputError) as caught:
        gs.Paired(broken, X)
    assert caught.value.argument == "x" and str(caught.value).startswith("`x`: 2 of 60 rows")
    with pytest.raises(gs.DomainError) as caught:
        gs.ksd_test(X, Dirichlet([1.0, 1.0]))
    assert caught.value.argument == "data" and len(caught.value.rows)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.remedy == caught.value.remedy


def test_nothing_is_warned_about_where_nothing_is_wrong(run):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(MODEL, rng=1)
