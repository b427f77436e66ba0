"""Models that were fitted to the very data: who knows it, what is said, and what is refused."""

import copy
import pickle
import warnings

import lifelines
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.mixture import GaussianMixture as Mixture
from sklearn.neighbors import KernelDensity

import goodstein as gs
from goodstein.adapters.durations import as_survival_model
from goodstein.data.rows import SeenRows
from goodstein.families import (
    ERGM,
    Bingham,
    Dirichlet,
    Exponential,
    GaussianMixture,
    Ising,
    Kent,
    Laplace,
    LogisticNormal,
    Normal,
    PiecewiseExponential,
    Poisson,
    PoissonProcess,
    Potts,
    ProbabilisticPCA,
    StudentT,
    Truncated,
    VonMises,
    VonMisesFisher,
    Weibull,
)
from goodstein.models.provenance import Fit
from levels import check_level

FAST = gs.WildBootstrap(19)
NORMALS = gs.estimate.AnyNormal()
SQUARE = gs.Box([0, 0], [1, 1])
SPHERE = VonMisesFisher([0.0, 0.0, 1.0], 3.0)


def x(n=60, d=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def durations(n=60, seed=0):
    rng = np.random.default_rng(seed)
    t, c = rng.weibull(1.5, n), rng.exponential(2.0, n)
    return gs.Censored(np.minimum(t, c), t <= c)


def fitted(fitter, data):
    return fitter.fit(data.durations, data.event_observed)


# --- who knows what it was fitted to ------------------------------------------------------------------------

POINTS = {
    "Normal": (Normal.fit, lambda seed: x(seed=seed)),
    "StudentT": (lambda data: StudentT.fit(data, df=5.0), lambda seed: x(seed=seed)),
    "Laplace": (Laplace.fit, lambda seed: x(seed=seed)),
    "GaussianMixture": (lambda data: GaussianMixture.fit(data, 2, rng=1), lambda seed: x(seed=seed)),
    "ProbabilisticPCA": (lambda data: ProbabilisticPCA.fit(data, 1), lambda seed: x(d=3, seed=seed)),
    "Dirichlet": (Dirichlet.fit, lambda seed: Dirichlet([5, 3, 1]).sample(60, seed)),
    "LogisticNormal": (LogisticNormal.fit, lambda seed: Dirichlet([5, 3, 1]).sample(60, seed)),
    "VonMises": (VonMises.fit, lambda seed: VonMises(1.0, 2.0).sample(60, seed)),
    "VonMisesFisher": (VonMisesFisher.fit, lambda seed: SPHERE.sample(60, seed)),
    "Kent": (Kent.fit, lambda seed: SPHERE.sample(60, seed)),
    "Bingham": (Bingham.fit, lambda seed: SPHERE.sample(60, seed)),
    "Exponential": (Exponential.fit, lambda seed: Exponential(2.0).sample(60, seed)),
    "Weibull": (Weibull.fit, lambda seed: Weibull(1.0, 1.5).sample(60, seed)),
    "estimate, normal": (
        lambda data: gs.estimate.ScoreMatching().fit(data, gs.estimate.AnyNormal()).model,
        lambda seed: x(seed=seed),
    ),
    "estimate, minimum Stein": (
        lambda data: gs.estimate.MinimumStein().fit(data, gs.estimate.AnyNormal()).model,
        lambda seed: x(seed=seed),
    ),
    "estimate, truncated": (
        lambda data: gs.estimate.TruncatedScoreMatching().fit(data, NORMALS, domain=SQUARE).model,
        lambda seed: np.random.default_rng(seed).beta(2, 2, (60, 2)),
    ),
    "estimate, a density": (
        lambda data: gs.estimate.ScoreMatching().fit(
            data, gs.estimate.Parametric(score=lambda y, theta: theta[0] - y, start=[[0.0]])
        ).model,
        lambda seed: x(d=1, seed=seed),
    ),
    "scikit-learn": (lambda data: Mixture(2, random_state=0).fit(data), lambda seed: x(seed=seed)),
    "scikit-learn, diagonal": (
        lambda data: Mixture(2, covariance_type="diag", random_state=0).fit(data),
        lambda seed: x(d=1, seed=seed),
    ),
    "scikit-learn, spherical": (
        lambda data: Mixture(2, covariance_type="spherical", random_state=0).fit(data),
        lambda seed: x(seed=seed),
    ),
}  # fmt: skip

OTHERS = {
    "durations": (Weibull.fit, durations),
    "piecewise": (lambda data: PiecewiseExponential.fit(data, [0.5]), durations),
    "lifelines": (lambda data: fitted(lifelines.LogNormalFitter(), data), durations),
    "patterns": (
        lambda data: PoissonProcess.fit(data, SQUARE),
        lambda seed=0: PoissonProcess(20.0, SQUARE).sample(30, seed),
    ),
    "graph": (
        lambda data: ERGM.fit(data, ["edges"]),
        lambda seed=0: ERGM(12, edges=-1.0).graphs(ERGM(12, edges=-1.0).sample(1, seed))[0],
    ),
    "Ising": (
        lambda data: Ising.fit(data, penalty=0.01),
        lambda seed=0: np.sign(x(n=80, d=6, seed=seed)),
    ),
    "Potts": (
        lambda data: Potts.fit(data, [0, 1, 2], penalty=0.01),
        lambda seed=0: np.random.default_rng(seed).integers(3, size=(80, 4)).astype(float),
    ),
}

ROUTES = POINTS | OTHERS


def told(data, model, **options):
    """Whether a test says that the model was fitted to the data."""
    options = {"null": gs.MonteCarlo(9) if isinstance(model, ERGM) else FAST} | options
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = gs.ksd_test(data, model, rng=1, audit=False, **options)
    heard = [str(w.message) for w in caught if "was fitted to" in str(w.message)]
    assert all(message in result.notes for message in heard)
    return bool(heard)


@pytest.mark.parametrize("name", ROUTES)
def test_every_fit_is_recognised_on_its_own_rows_and_on_no_others(name):
    fit, draw = ROUTES[name]
    data, model = draw(seed=0), fit(draw(seed=0))
    assert told(data, model)
    assert not told(draw(seed=1), model)


@pytest.mark.parametrize("name", [name for name in POINTS if not name.startswith("scikit-learn")])
def test_so_are_some_of_the_rows_in_any_order_and_among_others(name):
    fit, draw = POINTS[name]
    data, other = draw(seed=0), draw(seed=1)
    model = gs.as_model(fit(data))
    assert model.provenance.concerns(data[::-1])
    assert model.provenance.concerns(data[5:35])
    assert model.provenance.concerns(np.vstack([other, data[:20]]))
    assert not model.provenance.concerns(np.vstack([other, data[:2]]))
    assert not model.provenance.concerns(other)


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (Normal.fit(x()), "maximum likelihood"),
        (Bingham.fit(SPHERE.sample(50, 0)), "score matching"),
        (Kent.fit(SPHERE.sample(50, 0)), "moments and score matching"),
        (Ising.fit(np.sign(x(80, 3)), penalty=0.1), "penalised maximum likelihood"),
        (Ising.fit(np.sign(x(80, 3)), method="pseudolikelihood"), "maximum pseudo-likelihood"),
        (gs.estimate.MinimumStein().fit(x(), gs.estimate.AnyNormal()).model, "minimum Stein discrepancy"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_method_is_known(model, method):
    assert model.provenance.method == method


def test_a_fit_can_be_made_again_to_other_rows():
    other = 2.0 * x() + [3.0, -1.0]
    again = Normal.fit(x()).provenance.refit(other)
    np.testing.assert_allclose(again.mean, other.mean(axis=0))
    np.testing.assert_allclose(again.cov, np.cov(other.T, bias=True))


def test_a_fit_is_no_part_of_the_value_and_goes_where_it_goes():
    data = x()
    model = Normal.fit(data)
    plain = Normal(model.mean, model.cov)
    assert (model, hash(model), repr(model)) == (plain, hash(plain), repr(plain))
    assert plain.provenance is None
    inside = data[(data > 0).all(axis=1)]
    for moved in (
        copy.copy(model),
        pickle.loads(pickle.dumps(model)),
        gs.as_model(model),
        pickle.loads(pickle.dumps(gs.as_model(model))),
        gs.as_model(model).on(gs.Orthant(2)),
        Truncated(model, gs.Orthant(2)),
        pickle.loads(pickle.dumps(Truncated(model, gs.Orthant(2)))),
        GaussianMixture.fit(data, 2, rng=1).latent(),
    ):
        assert moved.provenance.concerns(data) and moved.provenance.concerns(inside)
    assert told(inside, model, domain=gs.Orthant(2))
    graph = ERGM.fit(OTHERS["graph"][1](), ["edges"])
    assert len(pickle.loads(pickle.dumps(graph)).provenance.rows) == 1


def test_what_is_changed_after_the_fit_does_not_matter():
    data = x()
    model = Normal.fit(data)
    kept = data.copy()
    data += 1.0
    assert model.provenance.concerns(kept) and not model.provenance.concerns(data)


def test_a_refit_repeats_the_fit_with_its_options_and_random_numbers():
    data = np.vstack([x(30, 1), x(30, 1) + 8.0])  # two groups: EM is done in no time
    rng = np.random.default_rng(3)
    model = GaussianMixture.fit(data, 2, rng=rng)
    refit = model.provenance.refit
    assert refit(data) == model and refit(data) == model
    assert refit(data).provenance.concerns(data)
    assert repr(Normal.fit(data).provenance.refit) == "Normal.fit"
    assert "GaussianMixture.fit(x, n_components=2" in repr(refit)


# --- data whose rows may be equal by chance -----------------------------------------------------------------


@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_rounded_data_of_the_same_law_are_not_taken_for_the_same(decimals):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        data, other = (np.round(rng.normal(3.0, 2.0, (150, 1)), decimals) for _ in range(2))
        rows = SeenRows(data)
        assert not rows.among(other).any()
        assert not gs.as_model(Mixture(1).fit(data)).provenance.concerns(other)
    if decimals:
        order = rng.permutation(150)
        assert rows.among(data[order]).all() and rows.among(data[order[:100]]).all()


def test_rows_in_single_precision_are_recognised():
    data = x(200)
    single = data.astype(np.float32)
    for fitted, tested in ((data, single), (single, data)):
        known = Normal.fit(fitted).provenance.rows.among(np.asarray(tested, float)[::-2])
        assert known.all() and len(known) == 100
        assert not Normal.fit(fitted).provenance.rows.among(np.asarray(x(200, seed=1), tested.dtype)).any()
    with pytest.raises(gs.InputError, match="made of these very data"):
        gs.ksd_test(single, scipy.stats.gaussian_kde(data.T), rng=1)
    assert gs.ksd_test(single, Normal.fit(data), rng=1).null == gs.FittedWildBootstrap()


def test_data_too_large_to_be_squared_are_not_taken_for_fitted():
    data = 1e200 * x(50, 1)
    assert not gs.as_model(scipy.stats.norm(0.0, 1.0)).provenance.concerns(data)


def test_states_of_a_lattice_are_recognised_where_there_are_enough_of_them():
    few, many = (np.sign(x(200, d)) for d in (2, 12))
    assert not Ising.fit(few, penalty=0.1).provenance.concerns(np.sign(x(200, 2, seed=1)))
    assert Ising.fit(few, penalty=0.1).provenance.concerns(few[::-1])  # a fit does not see the order
    model = Ising.fit(many, penalty=0.1)
    assert model.provenance.concerns(many[::-1]) and model.provenance.concerns(many[:100])
    assert not model.provenance.concerns(np.sign(x(200, 12, seed=1)))


def test_a_fit_to_few_values_is_known_in_any_order():
    counts = np.random.default_rng(0).poisson(0.5, 60)
    model = Poisson.fit(counts)
    orders = (counts, np.random.default_rng(1).permutation(counts), np.sort(counts))
    assert {repr(gs.ksd_test(order, model, rng=1).null) for order in orders} == {
        repr(gs.FittedWildBootstrap())
    }
    # Other counts from the same law are hardly ever these.
    others = [np.random.default_rng(seed).poisson(0.5, 60) for seed in range(1, 100)]
    assert sum(model.provenance.concerns(other[:, None].astype(float)) for other in others) <= 5


def test_whole_days_are_recognised_and_other_patients_are_not():
    def days(seed):
        data = durations(120, seed)
        return gs.Censored(np.ceil(200.0 * data.durations), data.event_observed)

    model = as_survival_model(fitted(lifelines.WeibullFitter(), days(0)))
    assert model.provenance.concerns(days(0).take(np.arange(120)[::-1]))
    assert not any(model.provenance.concerns(days(seed)) for seed in range(1, 20))


def test_small_graphs_can_be_equal_by_chance():
    small, large = (np.zeros((n, n)) for n in (4, 12))
    for graph in (small, large):
        graph[0, 1] = graph[1, 0] = graph[2, 3] = graph[3, 2] = 1.0
    large[4:8, 4:8] = 1.0 - np.eye(4)
    assert not ERGM.fit(small, ["edges"]).provenance.concerns(gs.graphs.as_graph(small))
    assert ERGM.fit(large, ["edges"]).provenance.concerns(gs.graphs.as_graph(large))


# --- what is said -------------------------------------------------------------------------------------------


def test_the_warning_names_the_call_that_is_right():
    data = x()
    right = r"fitted to these very data.*null=FittedWildBootstrap\(\) or ParametricBootstrap\(\)"
    with pytest.warns(gs.CalibrationWarning, match=right):
        gs.ksd_test(data, Normal.fit(data), null=FAST, rng=1)
    part = r"other rows than those that are tested: .*gs\.split.*; or test all rows of the fit: ksd_test"
    for test in (gs.fssd_test, lambda *given, rng: gs.ksd_test(given[0][:30], given[1], null=FAST, rng=rng)):
        with pytest.warns(gs.CalibrationWarning, match=part):
            test(data, Normal.fit(data), rng=1)
    with pytest.warns(gs.CalibrationWarning, match="60 of these 70 rows.*all of these rows and no others"):
        gs.ksd_test(np.vstack([data, x(10, seed=1)]), Normal.fit(data), null=FAST, rng=1)
    own = gs.Model(score=lambda y: -y).remember(Fit(None, SeenRows(data)))
    with pytest.warns(gs.CalibrationWarning, match=r"Fit it to some of the rows.*gs\.split\(data"):
        gs.ksd_test(data, own, null=FAST, rng=1)


def test_a_test_by_draws_decides_nothing_for_a_kernel_density_of_the_same_rows():
    data = x(100)
    with pytest.warns(gs.CalibrationWarning, match="made of these very data"):
        result = gs.mmd_test(data, scipy.stats.gaussian_kde(data.T), rng=1)
    assert result.pvalue > 0.05 and result.undecided() == "the model is made of these very data."


def test_a_large_pvalue_after_a_fit_that_nothing_takes_account_of_decides_nothing():
    data = x(200)
    with pytest.warns(gs.CalibrationWarning):
        result = gs.mmd_test(data, Normal.fit(data), rng=1)
    assert result.pvalue > 0.05
    why = "the model was fitted to these very data, and the test takes no account of that."
    assert result.undecided() == why and f"Cannot decide: {why}" in str(result)
    with pytest.warns(gs.CalibrationWarning):
        wrong = gs.mmd_test(data**3, Normal.fit(data**3), rng=1)
    assert "Strong evidence" in str(wrong) and wrong.undecided() == ""


@pytest.mark.parametrize(
    ("test", "effect"),
    [
        (lambda *given, rng: gs.ksd_test(*given, tolerance=0.05, rng=rng), "is conservative"),
        (lambda *given, rng: gs.equivalence_test(*given, margin=0.3, rng=rng), "may be too small"),
    ],
    ids=["tolerance", "equivalence"],
)
def test_where_a_model_may_be_wrong_no_null_distribution_is_advised_that_would_be_refused(test, effect):
    data = x(100)
    with pytest.warns(gs.CalibrationWarning, match=rf"the p-value {effect}.*test it on the others") as told:
        test(data, Normal.fit(data), rng=1)
    assert not any("null=" in str(warning.message) for warning in told)


@pytest.mark.parametrize(
    "fit",
    [
        lambda data: Normal(data.mean(axis=0), np.cov(data.T)),
        lambda data: scipy.stats.norm(data.mean(), data.std(ddof=1)),
        lambda data: scipy.stats.norm(*scipy.stats.norm.fit(data)),
        lambda data: scipy.stats.multivariate_normal(data.mean(axis=0), np.cov(data.T)),
    ],
    ids=["ours", "by hand", "scipy", "multivariate"],
)
def test_a_model_that_was_fitted_by_hand_is_known_by_its_mean(fit):
    said = r"has the mean of these very data to the last digit.*ParametricBootstrap\(fit\)"
    data = x(50, 1)
    with pytest.warns(gs.CalibrationWarning, match=said):
        gs.ksd_test(data, fit(data), null=FAST, rng=1)
    for seed in range(1, 20):
        assert not gs.as_model(fit(data)).provenance.concerns(x(50, 1, seed))
    whole = np.round(10.0 * x(50, 1))  # means of whole numbers can be equal
    assert not gs.as_model(fit(whole)).provenance.concerns(whole)


def test_centred_data_are_fitted_data():
    data = x(50, 2)
    with pytest.warns(gs.CalibrationWarning, match="or they to it"):
        gs.ksd_test((data - data.mean(axis=0)) / data.std(axis=0), Normal([0, 0], 1.0), null=FAST, rng=1)


def test_durations_fitted_by_scipy_are_known_by_their_mean():
    data = Exponential(2.0).sample(50, 1)
    model = gs.as_model(scipy.stats.expon(*scipy.stats.expon.fit(data, floc=0)))
    assert model.provenance.concerns(data)
    assert not model.provenance.concerns(Exponential(2.0).sample(50, 2))


def test_a_null_that_refits_says_nothing():
    data = x()
    result = gs.ksd_test(data, Normal.fit(data), null=gs.ParametricBootstrap(n_resamples=9), rng=1)
    assert result.notes == ()
    assert any("takes account of" in message for message in result.audit.messages("pass"))
    assert isinstance(gs.ksd_test(data, Normal.fit(data), rng=1).null, gs.FittedWildBootstrap)


# --- kernel densities ---------------------------------------------------------------------------------------

DENSITIES = {
    "scikit-learn": lambda data: KernelDensity(bandwidth=0.4).fit(data),
    "scipy": lambda data: scipy.stats.gaussian_kde(data.T),
    "own": lambda data: gs.models.kde.GaussianKDE(data, 0.1 * np.eye(data.shape[1])),
}


@pytest.mark.parametrize("name", DENSITIES)
def test_a_kernel_density_of_the_same_rows_is_refused_and_one_of_others_is_not(name):
    data = x(120)
    model = DENSITIES[name](data)
    said = r"`data`: .* made of these very data .* first, second = gs\.split\(data, rng=0\)\. \(audit=False"
    for test in (gs.ksd_test, gs.aggregated_test, gs.fssd_test):
        with pytest.raises(gs.InputError, match=said):
            test(data[::-1], model, rng=1)
    with pytest.raises(gs.InputError, match=r"made of 60 of these 80 rows"):
        gs.ksd_test(np.vstack([data[:60], x(20, seed=1)]), model, rng=1)
    with pytest.raises(gs.InputError, match="made of these very data"):
        gs.relative_ksd_test(data, model, Normal([0, 0], 1.0), rng=1)
    # No refit corrects for it either.
    with pytest.raises(gs.InputError, match="made of these very data"):
        gs.ksd_test(data, model, null=gs.ParametricBootstrap(DENSITIES[name], 9), rng=1)
    for test in (gs.ksd_test, gs.aggregated_test):
        result = test(data, model, audit=False, null=FAST, rng=1)
        assert any("overruled" in note and "made of these very data" in note for note in result.notes)
    first, second = gs.split(data, rng=1)
    notes = gs.ksd_test(second, DENSITIES[name](first), null=FAST, rng=1).notes
    assert not any("made of" in note for note in notes)


# --- splits -------------------------------------------------------------------------------------------------


def test_a_split_has_every_row_once_and_keeps_the_kind():
    pandas = pytest.importorskip("pandas")
    data = x(50)
    first, second = gs.split(data, 0.3, rng=1)
    assert (len(first), len(second)) == (15, 35)
    np.testing.assert_array_equal(np.sort(np.vstack([first, second]), axis=0), np.sort(data, axis=0))
    same, _ = gs.split(data, 0.3, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(first, same)
    frame = pandas.DataFrame(data, columns=["a", "b"])
    a, b = gs.split(frame, 0.3, rng=1)
    assert list(a.columns) == ["a", "b"] and len(b) == 35
    np.testing.assert_array_equal(a.to_numpy(), first)
    assert [len(part) for part in gs.split(durations(), rng=1)] == [30, 30]
    assert [len(part) for part in gs.split([data[:3], data[3:4], data[4:]], 0.3, rng=1)] == [1, 2]
    with pytest.raises(gs.InputError, match="one part is empty"):
        gs.split(data[:2], 0.1)


# --- what ParametricBootstrap takes -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Weibull", "LogNormal"])
def test_fitters_of_lifelines_their_classes_and_methods_are_refitted(name):
    data = durations(80)
    kind = getattr(lifelines, f"{name}Fitter")
    model = fitted(kind(), data)
    before = {key: getattr(model, key) for key in model._fitted_parameter_names}
    results = [
        gs.ksd_test(data, model, null=gs.ParametricBootstrap(fit, 9), rng=1)
        for fit in (kind, kind(), kind().fit, model, model.fit, None)
    ]
    assert len({result.pvalue for result in results}) == 1
    assert all(result.notes == () for result in results)
    assert {key: getattr(model, key) for key in before} == before  # nobody has refitted this one


@pytest.mark.parametrize(
    "fitter",
    [
        lifelines.WeibullFitter(),
        lifelines.ExponentialFitter(),
        lifelines.LogNormalFitter(),
        lifelines.LogLogisticFitter(),
        lifelines.PiecewiseExponentialFitter([0.4, 1.0]),
        lifelines.GeneralizedGammaFitter(),
    ],
    ids=lambda fitter: type(fitter).__name__,
)
def test_refits_are_the_maximum_that_lifelines_finds(fitter):
    other = durations(120, seed=1)
    refit = as_survival_model(fitted(copy.copy(fitter), durations(120))).provenance.refit
    again = as_survival_model(refit.begun(durations(120))(other))
    full = as_survival_model(fitted(copy.copy(fitter), other))
    event = other.event_observed

    def likelihood(model):
        return (
            np.log(model.hazard(other.durations[event])).sum()
            - model.cumulative_hazard(other.durations).sum()
        )

    assert likelihood(again) >= likelihood(full) - 1e-3
    times = np.array([0.2, 0.5, 1.0, 1.5])
    np.testing.assert_allclose(again.cumulative_hazard(times), full.cumulative_hazard(times), rtol=0.02)
    assert again.provenance.concerns(other)


def test_a_class_of_a_users_own_is_refitted_by_its_own_likelihood():
    class Linear(lifelines.fitters.ParametricUnivariateFitter):
        _fitted_parameter_names = ("a_", "b_")
        _bounds = ((1e-6, None), (1e-6, None))

        def _cumulative_hazard(self, params, times):
            return params[0] * times + params[1] * times**2

    data = durations(80)
    model = fitted(Linear(), data)
    refit = as_survival_model(model).provenance.refit
    again, full = refit(durations(80, seed=1)), fitted(Linear(), durations(80, seed=1))
    t = np.array([0.5, 1.0])
    expected = full.cumulative_hazard_at_times(t)
    np.testing.assert_allclose(again.cumulative_hazard(t), expected, rtol=1e-2)
    assert refit.fitter is model


def test_families_estimators_and_distributions_of_scipy():
    y = Dirichlet([5, 3, 1]).sample(60, 1)
    fits = (Dirichlet.fit, Dirichlet, Dirichlet([1, 1, 1]), Dirichlet.fit(y), None)
    found = {
        gs.ksd_test(y, Dirichlet.fit(y), null=gs.ParametricBootstrap(fit, 9), rng=1).pvalue for fit in fits
    }
    assert len(found) == 1
    data = x(80, 1)
    normal = scipy.stats.norm
    null = [gs.ParametricBootstrap(fit, 19) for fit in (normal, normal.fit, Normal)]
    frozen = normal(*normal.fit(data[:, 0]))
    assert len({gs.ksd_test(data, frozen, null=each, rng=1).pvalue for each in null}) == 1
    assert repr(null[0]) == "ParametricBootstrap(scipy.stats.norm, n_resamples=19)"
    mixture = Mixture(2, random_state=0).fit(data)
    for fit in (mixture, mixture.fit, Mixture(2, random_state=0)):
        result = gs.ksd_test(data, mixture, null=gs.ParametricBootstrap(fit, 3), rng=1)
        assert not any("another model" in note for note in result.notes)
    weibull = scipy.stats.weibull_min
    assert gs.ParametricBootstrap(weibull)._refitting(None)(durations()).args


@pytest.mark.parametrize(
    ("fit", "said"),
    [
        (3, r"cannot be 3\. Accepted are"),
        (gs.families.Uniform, r"cannot be Uniform\. Accepted are"),
        (GaussianMixture, r"lambda x: GaussianMixture\.fit\(x, n_components=\.\.\.\)"),
        (KernelDensity(), "`fit`: a kernel density has no parameters"),
        (KernelDensity().fit, "`fit`: a kernel density has no parameters"),
        (Mixture, r"Pass an instance: GaussianMixture\(\.\.\.\)"),
        (lifelines.KaplanMeierFitter, "`fit`: lifelines' KaplanMeierFitter is a step function"),
        (lifelines.CoxPHFitter(), "`fit`: lifelines' CoxPHFitter is not fitted yet"),
        (
            lifelines.PiecewiseExponentialFitter,
            r"ParametricBootstrap\(PiecewiseExponentialFitter\(\.\.\.\)\)",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_refitted_says_what_to_write(fit, said):
    with pytest.raises(gs.InputError, match=said):
        gs.ParametricBootstrap(fit)


def test_pvalues_of_refits_are_uniform_at_both_ends():
    """Of U itself, which grows with scores that fits overstate, hardly any were above .9."""
    pvalues = []
    for seed in range(50):
        data = x(10, 1, seed)
        null = gs.ParametricBootstrap(n_resamples=19)
        pvalues.append(gs.ksd_test(data, Normal.fit(data), null=null, rng=seed).pvalue)
    check_level(pvalues, 0.1, 0.5)
    check_level(1.05 - np.array(pvalues), 0.15)


def test_a_model_that_does_not_know_its_fit_needs_one():
    with pytest.raises(gs.InputError, match=r"ParametricBootstrap\(\) has no `fit`, and Normal"):
        gs.ksd_test(x(), Normal([0, 0], 1.0), null=gs.ParametricBootstrap(), rng=1)


@pytest.mark.parametrize("what", ["family", "mixture", "density"])
def test_columns_in_another_order_than_in_the_fit(what):
    rng = np.random.default_rng(1)
    train, data = (pd.DataFrame(rng.normal(size=(n, 2)) * [1, 2], columns=["a", "b"]) for n in (200, 60))
    makers = {"family": gs.families.Normal.fit, "mixture": Mixture().fit, "density": KernelDensity().fit}
    model = makers[what](train)
    with pytest.raises(gs.InputError, match=r"columns b, a, but .* was fitted to a, b") as told:
        gs.ksd_test(data[["b", "a"]], model, rng=1)
    # What the message says to pass is taken, and is the test of the columns in their order.
    call = str(told.value).partition("Pass ")[2].removesuffix(".")
    again = gs.ksd_test(eval(call, {"data": data[["b", "a"]]}), model, rng=1)
    assert again.pvalue == gs.ksd_test(data, model, rng=1).pvalue
    # Other names say nothing, nor does an array.
    gs.ksd_test(data.rename(columns={"a": "x"}), model, rng=1)
    gs.ksd_test(data.to_numpy(), model, rng=1)
