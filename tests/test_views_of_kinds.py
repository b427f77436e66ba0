"""Views of durations, pairs and patterns, against their definitions."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import percentileofscore

import goodstein as gs
from goodstein.adapters.durations import as_survival_model
from goodstein.numerics.polynomials import legendre, over_survival
from goodstein.operators.views.trends import Trends
from goodstein.patterns import Distances, Numbers, quadrature
from goodstein.patterns.process import as_process
from goodstein.pipeline.choice import choose_null
from goodstein.pipeline.compose import compose

# --- durations -------------------------------------------------------------------------------------


def weight(k):
    """Legendre polynomials as NumPy has them."""
    return lambda u: np.sqrt(2 * k + 1) * np.polynomial.legendre.Legendre.basis(k)(2 * u - 1)


def test_legendre_polynomials_and_their_integrals_over_survival():
    v = np.array([0.0, 0.3, 1.1, 4.0])
    for k in range(7):
        np.testing.assert_allclose(legendre(-np.expm1(-v), 6)[:, k], weight(k)(-np.expm1(-v)), atol=1e-12)
        # ∫ w(s)/(1 − s) ds with s = 1 − exp(−r), ds = exp(−r) dr.
        by_hand = [quad(lambda r, k=k: weight(k)(-np.expm1(-r)), 0, end)[0] for end in v]
        np.testing.assert_allclose(over_survival(v, 6)[:, k], by_hand, atol=1e-10)
    assert over_survival(v, 0).shape == legendre(v, 0).shape == (4, 1)
    assert np.isfinite(over_survival(np.array([1e-12, 700.0]), 40)).all()


def test_timing_is_the_weighted_difference_of_observed_and_expected_events():
    model = as_survival_model(gs.families.Weibull(2.0, 1.7))
    data = gs.Censored([0.4, 1.9, 3.0, 2.2], [1, 0, 1, 1])
    tau = gs.Timing(3).features(model, model.domain, data).tau
    for i, (t, event) in enumerate(zip(data.durations, data.event_observed, strict=True)):
        for k in range(4):

            def w(s, k=k):
                return weight(k)(-np.expm1(-model.cumulative_hazard([s])[0]))

            expected = quad(lambda s, w=w: w(s) * model.hazard([s])[0], 0, t)[0]
            assert tau[i, k] == pytest.approx(event * w(t) - expected, abs=1e-7)
    # Degree 0 is the one-sample log-rank test: O − E.
    assert tau[:, 0].sum() == pytest.approx(3 - model.cumulative_hazard(data.durations).sum())


def test_standardised_timing_is_in_units_of_the_variation_given_who_is_at_risk():
    rng = np.random.default_rng(2)
    model = as_survival_model(gs.families.Weibull(2.0, 1.7))
    entry = np.where(rng.random(40) < 0.5, 0.3, 0.0)
    data = gs.Censored(entry + rng.uniform(0.1, 3.0, 40), rng.random(40) < 0.6, entry)
    tau = gs.Timing(3).features(model, model.domain, data).tau
    # ∫ w_k w_l Ȳ dΛ₀, in u with dΛ₀ = du/(1 − u), from every entry to every end.
    ends, starts = (-np.expm1(-model.cumulative_hazard(t)) for t in (data.durations, np.maximum(entry, 1e-9)))

    def variation(k, m):
        return np.mean(
            [
                quad(lambda u: weight(k)(u) * weight(m)(u) / (1 - u), a, b)[0]
                for a, b in zip(starts, ends, strict=True)
            ]
        )

    covariance = np.array([[variation(k, m) for m in range(4)] for k in range(4)])
    expected = tau @ np.linalg.solve(covariance, tau.T)
    found = gs.Timing(3, standardised=True).features(model, model.domain, data).tau
    np.testing.assert_allclose(found @ found.T, expected, atol=1e-6 * np.abs(expected).max())
    assert repr(gs.Timing(5, standardised=True)) == "Timing(5, standardised=True)"


def test_the_collection_of_durations_sees_a_hazard_that_rises_when_few_are_at_risk():
    found = 0
    for k in range(10):
        rng = np.random.default_rng(k)
        v, end = rng.exponential(size=150), rng.uniform(0.0, 3.0, 150)
        late = np.where(v > 1.6, 1.6 + (v - 1.6) / 6, v)
        data = gs.Censored(np.minimum(late, end), late <= end)
        found += (
            gs.aggregated_test(data, gs.families.Exponential(1.0), null=gs.MonteCarlo(99), rng=k).pvalue
            <= 0.05
        )
    assert found >= 7, found


def test_timing_sees_late_events_that_a_smooth_function_of_the_distribution_does_not():
    found = {"late": 0, "smooth": 0}
    for k in range(10):
        rng = np.random.default_rng(k)
        v = rng.exponential(size=150)
        late = np.where(v > 1.0, 1.0 + 2.2 * (v - 1.0), v)  # the hazard falls to less than a half
        model, null = gs.families.Exponential(1.0), gs.WildBootstrap(199)
        found["late"] += gs.ksd_test(late, model, operator=gs.Timing(1), null=null, rng=k).pvalue <= 0.05
        found["smooth"] += gs.ksd_test(late, model, operator=gs.Martingale(), null=null, rng=k).pvalue <= 0.05
    assert found["late"] >= found["smooth"] + 5, found


def test_timing_along_a_covariate_is_martingale_residuals_times_polynomials_of_its_ranks():
    rng = np.random.default_rng(3)
    z = rng.normal(size=(12, 2))
    entry = np.where(rng.random(12) < 0.5, 0.1, 0.0)
    data = gs.Censored(0.2 + rng.exponential(size=12), rng.random(12) < 0.7, entry, z)
    model = gs.SurvivalRegression(cumulative_hazard=lambda t, z: (t * np.exp(z[:, 0])) ** 1.5)
    operator = gs.Timing(0, covariate=1, trend=2).fitted(data, None)
    # By lifelines' definition: event less the growth of the cumulative hazard while watched.
    rate = np.exp(z[:, 0]) ** 1.5
    residuals = data.event_observed - rate * (data.durations**1.5 - data.entry**1.5)
    ranks = (percentileofscore(z[:, 1], z[:, 1], "mean")) / 100
    curves = np.stack([weight(k)(ranks) for k in range(3)], axis=1)
    # Whatever the basis of their span, the Stein matrix of orthonormal functions is that of the projection.
    curves = np.linalg.qr(curves)[0] * np.sqrt(12)
    expected = np.outer(residuals, residuals) * (curves @ curves.T)
    tau = operator.features(model, None, data).tau
    np.testing.assert_allclose(tau @ tau.T, expected, atol=1e-9)


def test_the_collection_of_a_survival_regression_names_the_covariate_whose_form_is_wrong():
    rng = np.random.default_rng(4)
    z = rng.normal(size=(200, 2))
    data = gs.Censored(rng.exponential(np.exp(0.6 * z[:, 1] ** 2)), covariates=z)
    model = gs.SurvivalRegression(cumulative_hazard=lambda t, z: t / np.exp(0.4))
    found = gs.aggregated_test(data, model, rng=1)
    best = max(found.members, key=lambda member: member.evidence)
    assert found.pvalue < 0.01
    assert best.looks_at.startswith("how many events there are along `z1`"), best.looks_at


def test_timing_says_what_it_needs():
    with pytest.raises(gs.InputError, match="needs durations with covariates"):
        model = gs.families.Exponential()
        gs.ksd_test(gs.Censored(np.arange(1.0, 30.0)), model, operator=gs.Timing(0, trend=2))
    with pytest.raises(gs.InputError, match="needs a `trend`"):
        gs.Timing(0, covariate=1)
    assert repr(gs.Timing(0, covariate=1, trend=2)) == "Timing(0, covariate=1, trend=2)"


# --- pairs -----------------------------------------------------------------------------------------


def test_trends_are_orthonormal_polynomials_of_ranks():
    rng = np.random.default_rng(1)
    x = np.column_stack([np.exp(rng.normal(size=80)), rng.integers(0, 2, 80), np.ones(80)])
    curves = Trends.of(x, 3)(x)
    # The constant, three powers of the ranks, and whether the second is one.
    assert curves.shape == (80, 5)
    np.testing.assert_allclose(curves.T @ curves / 80, np.eye(5), atol=1e-9)
    ranks = np.argsort(np.argsort(x[:, 0]))
    for target in (np.ones(80), ranks, ranks**3, x[:, 1]):
        fit = curves @ (curves.T @ target) / 80
        np.testing.assert_allclose(fit, target, rtol=1e-7, atol=1e-6)
    alone = Trends.of(x, 2, 0)
    np.testing.assert_allclose(alone(x[:7]), alone(x)[:7])
    assert alone(x).shape == (80, 3)


NO_SAMPLER = gs.ConditionalModel(score=lambda y, x: np.sin(x) - y)
GROWING = gs.ConditionalModel.gaussian(np.sin, lambda x: np.exp(0.3 * x))


@pytest.mark.parametrize("operator", [gs.Residuals(0), gs.Residuals(1)], ids=repr)
def test_the_identity_of_residuals_holds_at_every_x(operator):
    """By Gauss–Hermite quadrature in y, at each x; the model with another scale breaks that of degree 1."""
    node, w = np.polynomial.hermite_e.hermegauss(120)
    x = np.linspace(-2, 2, 9)
    grid = np.repeat(x, 120)
    y = np.sin(grid) + np.exp(0.3 * grid) * np.tile(node, 9)
    problem = compose(gs.Paired(grid, y), GROWING, operator=operator)
    means = (np.tile(w / w.sum(), 9)[:, None] * problem.features.tau).reshape(9, 120, -1).sum(axis=1)
    assert np.abs(means).max() < 0.02  # the curve of the others is that of all but for 4 of 1080
    if operator.degree:
        wide = compose(gs.Paired(grid, y), gs.ConditionalModel.gaussian(np.sin, 1.0), operator=operator)
        means = (np.tile(w / w.sum(), 9)[:, None] * wide.features.tau).reshape(9, 120, -1).sum(axis=1)
        assert np.abs(means).max() > 0.3


def test_residuals_are_scores_about_a_curve():
    rng = np.random.default_rng(2)
    x, y = rng.uniform(-2, 2, 50), rng.normal(size=50)
    problem = compose(gs.Paired(x, y), GROWING, operator=gs.Residuals(1, trend=2))
    curves = Trends.of(x[:, None], 2)(x[:, None])
    about = np.empty(50)
    for i in range(50):  # the curve nearest to the others
        rest = np.arange(50) != i
        about[i] = y[i] - curves[i] @ np.linalg.lstsq(curves[rest], y[rest], rcond=None)[0]
    s = (np.sin(x) - y) / np.exp(0.6 * x)
    size = np.median(np.abs(about)) / 0.6745

    def psi(z):
        return z / (1 + z**2 / (4 * size**2))

    slope = (psi(about + 1e-5) - psi(about - 1e-5)) / 2e-5
    np.testing.assert_allclose(problem.features.tau, (s * psi(about) + slope)[:, None] * curves, atol=1e-7)
    # Others are seen in the same units, about the curve of all data.
    some = gs.Paired(x[:4], y[:4])
    beside = problem.fitted_operator.features_beside(problem.features, problem.model, problem.domain, some)
    around = (y - curves @ (curves.T @ y) / 50)[:4]
    slope = (psi(around + 1e-5) - psi(around - 1e-5)) / 2e-5
    np.testing.assert_allclose(
        beside.tau[50:], (s[:4] * psi(around) + slope)[:, None] * curves[:4], atol=1e-7
    )


class Scripted:
    """A sampler whose draws are known: y = x + the next number, the same for all n rows."""

    def __init__(self, steps, n):
        self.steps, self.n, self.k = steps, n, 0

    def __call__(self, x, rng):
        calls = self.k + np.arange(len(x)) // self.n
        self.k += len(x) // self.n
        return x + self.steps[calls % len(self.steps)]


def scripted(steps, n):
    model = gs.ConditionalModel(score=lambda y, x: x - y, sample=Scripted(steps, n))
    model.trusted = True  # else it is asked whether it uses its generator, which it does not
    return model


def test_residuals_against_draws_by_hand():
    """Of six draws three give mean and deviation, and the others what is expected."""
    steps = np.array([-1.0, 0.0, 2.5, 0.3, -0.4, 1.7])
    x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.5, 0.0, 2.2, 5.0])
    problem = compose(gs.Paired(x, y), scripted(steps, 4), operator=gs.DrawnResiduals(2, trend=0, draws=6))
    z, other = ((value - steps[:3].mean()) / steps[:3].std() for value in (y - x, steps[3:]))
    np.testing.assert_allclose(problem.features.tau[:, 0], z**2 - (other**2).mean())
    ranks = compose(gs.Paired(x, y), scripted(steps, 4), operator=gs.DrawnRanks(1, draws=6)).features.tau
    u = np.array([percentileofscore(steps[:3], value, "mean") for value in [*(y - x), *steps[3:]]]) / 100
    np.testing.assert_allclose(ranks[:, 0], np.sqrt(3) * (2 * u[:4] - 2 * u[4:].mean()), atol=1e-12)


def test_draws_of_many_rows_are_made_in_parts_of_which_each_row_keeps_its_own(monkeypatch):
    monkeypatch.setattr("goodstein.conditional.given_draws.CHUNK", 80)
    x = np.linspace(-1, 1, 7)
    model = gs.ConditionalModel.gaussian(lambda x: 100 * x, 1.0)
    seen = compose(gs.Paired(x, 100 * x), model, operator=gs.DrawnResiduals(1, trend=0, draws=40))
    assert np.abs(seen.features.tau).max() < 1.5


def test_the_collection_of_pairs_sees_a_wave_of_the_mean():
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, 200)
    model, wave = gs.ConditionalModel.gaussian(lambda x: x, 1.0), 0.6 * np.sin(9 * x)
    result = gs.aggregated_test((x, x + wave + rng.normal(size=200)), model, null=gs.MonteCarlo(99), rng=1)
    best = max(result.members, key=lambda member: member.evidence)
    assert result.pvalue == 0.01
    assert repr(best.operator) == "DrawnResiduals(1, trend=8, draws=500)"


def test_simulated_samples_of_pairs_share_their_draws():
    """x is the same array: 100 draws are made for each view and for its audit, not for each of 19 samples."""
    steps = np.random.default_rng(1).normal(size=997)
    model, x = scripted(steps, 30), np.linspace(-1, 1, 30)
    operators, null = [gs.DrawnResiduals(1), gs.DrawnResiduals(1, trend=0)], gs.MonteCarlo(19)
    gs.aggregated_test((x, x + steps[:30]), model, operators=operators, null=null, audit=False, rng=1)
    assert model._functions["sample"].k < 19 + 6 * 100


def test_views_find_what_is_wrong_along_x():
    rng = np.random.default_rng(3)
    x = rng.uniform(-2, 2, (150, 2))
    model = gs.ConditionalModel.gaussian(lambda x: x[:, 0], 1.0)
    bent = gs.Paired(x, x[:, 0] + 0.5 * (x[:, 1] ** 2 - 4 / 3) + rng.normal(size=150))
    result = gs.aggregated_test(bent, model, null=gs.MonteCarlo(39), rng=1)
    best = max(result.members, key=lambda member: member.evidence)
    assert best.looks_at == "the mean of residuals along covariate 1" and result.pvalue == 0.025


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gs.Residuals(2), "degree"),
        (lambda: gs.Residuals(covariate=-1), "`covariate` of Residuals must be the place of a column"),
        (lambda: gs.DrawnRanks(trend=1.5), "trend"),
        (lambda: gs.DrawnResiduals(draws=2), "draws"),
        (lambda: gs.Residuals(operator=gs.Martingale()), "an operator in y"),
        (lambda: seen_by(gs.Residuals(0, 3)), "looks along covariate 3, but there are the columns 0 to 0"),
        (lambda: seen_by(gs.DrawnRanks(), NO_SAMPLER), "has no sampler"),
        (lambda: Numbers(-1), "degree"),
        (lambda: Numbers(1, gs.Langevin()), "must be Papangelou"),
        (lambda: Distances([0.1, -1]), "radii"),
    ],
)
def test_what_is_no_such_view(call, message):
    with pytest.raises(gs.InputError, match=message):
        call()


def seen_by(operator, model=GROWING):
    x = np.linspace(-1, 1, 20)
    return gs.conditional_ksd_test(x, np.sin(x), model, operator=operator, rng=1)


def test_states_have_residuals_against_draws_only():
    model = gs.ConditionalModel(logpdf=lambda y, x: y * x, domain=gs.Lattice(2, 1))
    data = gs.Paired(np.linspace(-1, 1, 20), np.tile([0.0, 1.0], 10))
    with pytest.raises(gs.InputError, match="Use DrawnResiduals"):
        gs.ksd_test(data, model, operator=gs.Residuals(), rng=1)


# --- patterns --------------------------------------------------------------------------------------

SQUARE = gs.Box([0, 0], [1, 1])
STRAUSS = gs.families.Strauss(20.0, 0.4, 0.1, SQUARE)


def generator(f, model, pattern, nodes, weights):
    """A f by its definition, births at the nodes."""
    rate = weights * model.papangelou(nodes, pattern)
    births = sum(r * (f(np.vstack([pattern, u])) - f(pattern)) for r, u in zip(rate, nodes, strict=True))
    deaths = sum(f(np.delete(pattern, k, axis=0)) - f(pattern) for k in range(len(pattern)))
    return births + deaths


def test_numbers_are_the_generator_of_sums_of_points():
    patterns = gs.Patterns(STRAUSS.sample(4, rng=1))
    model = as_process(STRAUSS, None)
    nodes, weights = quadrature(SQUARE)
    count = Numbers(0).features(model, SQUARE, patterns).tau[:, 0]
    by_hand = [generator(len, model, p, nodes, weights) for p in patterns]
    np.testing.assert_allclose(np.abs(count), np.abs(by_hand), rtol=1e-9)
    # Of a homogeneous intensity the orthonormal functions of degree 1 are 1, √12(x − ½) and √12(y − ½).
    slope = Numbers(1).features(model, SQUARE, patterns).tau
    plain = [
        [generator(lambda p, g=g: g(p).sum(), model, p, nodes, weights) for p in patterns]
        for g in (lambda p: np.ones(len(p)), *(lambda p, j=j: np.sqrt(12) * (p[:, j] - 0.5) for j in (0, 1)))
    ]
    np.testing.assert_allclose(slope @ slope.T, np.array(plain).T @ np.array(plain), rtol=1e-7)


def test_distances_are_the_generator_of_sums_of_pairs():
    """With κ less its means, by quadrature of the same nodes."""
    model, radius = as_process(STRAUSS, None), 0.3
    patterns = gs.Patterns([p[:8] for p in STRAUSS.sample(2, rng=2)])
    nodes, weights = quadrature(SQUARE, None, radius)
    shares = weights / weights.sum()

    def kappa(a, b):
        return np.exp(-((a[:, None] - b) ** 2).sum(axis=2) / (2 * radius**2))

    both = shares @ kappa(nodes, nodes) @ shares

    def centred(a, b):
        left, right = kappa(a, nodes) @ shares, kappa(b, nodes) @ shares
        return kappa(a, b) - left[:, None] - right + both

    def f(pattern):
        return centred(pattern, pattern)[np.triu_indices(len(pattern), 1)].sum()

    size = np.sqrt(shares @ centred(nodes, nodes) ** 2 @ shares)
    by_hand = [generator(f, model, p, nodes, weights) / size for p in patterns]
    seen = Distances([radius]).features(model, SQUARE, patterns).tau[:, 0]
    np.testing.assert_allclose(seen, by_hand, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("view", [Numbers(2), Distances()], ids=repr)
def test_the_mean_of_views_of_patterns_is_zero_under_the_model(view):
    model = gs.families.PoissonProcess(lambda u: 30.0 * u[:, 0], SQUARE)
    tau = view.features(as_process(model, None), SQUARE, gs.Patterns(model.sample(100, rng=3))).tau
    assert (np.abs(tau.mean(axis=0)) < 4.5 * tau.std(axis=0) / 10).all()


# --- the null distribution that the library chooses --------------------------------------------------


def chosen(data, model):
    return choose_null("auto", compose(data, model), automatic=True)


def test_pairs_and_durations_are_simulated_where_that_can_be():
    x = np.linspace(-1, 1, 50)
    assert chosen(gs.Paired(x, x), GROWING).null.simulates
    assert "no sampler" in chosen(gs.Paired(x, x), NO_SAMPLER).reason
    t = np.linspace(0.1, 2, 50)
    assert chosen(gs.Censored(t, t < 1), gs.families.Exponential(1.0)).null.simulates
    own = gs.SurvivalModel(hazard=lambda t: 1 + 0 * t, cumulative_hazard=lambda t: t)
    assert "sampler of its own" in chosen(gs.Censored(t), own).reason
    broken = gs.SurvivalModel(
        hazard=lambda t: 1 + 0 * t, cumulative_hazard=lambda t: t, sample=lambda n, rng: np.full(n, np.inf)
    )
    assert "fails" in chosen(gs.Censored(t), broken).reason
