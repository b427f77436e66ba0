"""The finite-set test against its definition, closed forms and the pairwise statistic; level; bad input."""

from __future__ import annotations

import re
import tracemalloc
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

import goodstein as gs
from definitions import CASES, at_pairs
from goodstein.engine.reduce import quadratic_forms
from goodstein.kernels import IMQ, Gaussian, Matern52, RadialKernel, RationalQuadratic, Whitened
from goodstein.kernels.frames import Frame
from goodstein.operators import finite_set
from goodstein.operators.finite_set import FiniteSet, witnesses
from goodstein.pipeline.compose import compose
from goodstein.stein.features import AnchoredFeatures
from goodstein.stein.forms import LowRankForm
from goodstein.tests_of_fit import fssd, locations
from levels import check_level, trials

NORMAL = gs.families.Normal
KINDS = [
    "diagonal g",
    "distance, polygon with a hole",
    "G not symmetric",
    "G with J = 3 > d",
    "LogRatio, Dirichlet",
]
CHOSEN = {case.name: case for case in CASES if case.name in KINDS}


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


# --- the features ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_features_are_the_operator_applied_to_the_kernel(name):
    """τ_jc = q⁻¹ Σ_l ∂_l(q G_lc k(·, v_j)), differentiated by JAX; only the scale is ours."""
    case = CHOSEN[name]
    features = case.features
    where = features.points.mean(axis=0) + 0.3 * rng().standard_normal((3, case.m))
    got = witnesses(features, Gaussian(0.8), where)

    def tau(u, v):
        here = jax.lax.stop_gradient(case.logq(u))

        def flux(w):
            k = jnp.exp(-jnp.sum((w - v) ** 2) / (2 * 0.8**2))
            return jnp.exp(case.logq(w) - here) * case.G(w) * k

        return jnp.einsum("lcl->c", jax.jacfwd(flux)(u))

    expected = at_pairs(tau, case.coordinates(case.data), where)
    expected = expected.reshape(len(expected), -1) / np.sqrt(expected.shape[1] * expected.shape[2])
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


def test_linear_statistic_is_the_pairwise_one():
    tau = rng().standard_normal((40, 6))
    form = LowRankForm(tau)
    pairwise = [tau[i] @ tau[j] for i in range(40) for j in range(40) if i != j]
    assert form.statistic == pytest.approx(np.sum(pairwise) / (40 * 39), rel=1e-12)
    assert form.statistic == pytest.approx(quadratic_forms(form, None, workers=1)[0], rel=1e-12)
    np.testing.assert_allclose(form.matrix(), tau @ tau.T, rtol=1e-12)
    np.testing.assert_allclose(form.take([3, 1]).matrix(), (tau @ tau.T)[np.ix_([3, 1], [3, 1])], rtol=1e-12)


def test_many_locations_give_the_kernel_stein_discrepancy():
    """With v uniform on a long interval, ∫k(x, v)k(x′, v)dv is a Gaussian kernel of width √2ℓ."""
    x = rng().standard_normal((15, 1))
    width, grid = 0.7, np.linspace(-15.0, 15.0, 3001)[:, None]
    got = gs.fssd_test(
        np.repeat(x, 2, axis=0), NORMAL(), kernel=Gaussian(width), optimise=False, locations=grid, rng=1
    )
    problem = compose(np.repeat(x, 2, axis=0), NORMAL(), None, gs.Langevin(), Gaussian(np.sqrt(2) * width))
    # ∫ over 30 units by 3001 points, and ∫k k′ = √π·ℓ·exp(−(x−x′)²/4ℓ²).
    assert got.statistic == pytest.approx(problem.statistic() * np.sqrt(np.pi) * width / 30.0, rel=2e-3)


def test_mean_of_the_features_in_closed_form():
    """Under N(δ, 1), E[T k(·, v)] = −δ·E k(x, v) with E k = ℓ(ℓ²+1)^(−1/2)·exp(−(v−δ)²/2(ℓ²+1))."""
    delta, width, v = 0.4, 0.8, np.array([[-0.5], [1.0]])
    x = delta + rng().standard_normal((200_000, 1))
    result = gs.fssd_test(x, NORMAL(), kernel=Gaussian(width), optimise=False, locations=v, rng=1)
    spread = width**2 + 1
    mean = -delta * width / np.sqrt(spread) * np.exp(-((v[:, 0] - delta) ** 2) / (2 * spread))
    assert result.statistic == pytest.approx(float(np.mean(mean**2)), rel=0.03)
    assert result.n == len(x) and result.details["n_train"] == 0


def test_null_distribution_has_the_limit_variance():
    """One location: n·U ⇒ ω(Z² − 1) with ω = E τ², by quadrature."""
    v, width, n = 0.3, 0.9, 50_000

    def tau(x):
        k = np.exp(-((x - v) ** 2) / (2 * width**2))
        return -x * k - (x - v) / width**2 * k

    omega = quad(lambda x: tau(x) ** 2 * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi), -10, 10)[0]
    x = rng().standard_normal(n)
    draws = (
        n
        * gs.fssd_test(
            x, NORMAL(), kernel=Gaussian(width), optimise=False, locations=[[v]], n_resamples=20_000, rng=1
        ).null_distribution
    )
    # The variance of (Z²−1)² is 56, so the relative error of the variance is √(56/4/20000) = .026.
    assert draws.var() == pytest.approx(2 * omega**2, rel=0.1)
    assert draws.mean() == pytest.approx(0.0, abs=4 * omega * np.sqrt(2 / 20_000))
    assert draws.min() == pytest.approx(-omega, rel=0.02)


# --- learning ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.7), IMQ(0.9), RationalQuadratic(0.5, 0.7), Gaussian(0.4) + IMQ(1.0)]
)
@pytest.mark.parametrize("name", ["diagonal g", "G with J = 3 > d"])
def test_gradient_of_the_criterion(kernel, name):
    features = CHOSEN[name].features
    criterion = locations.LocationCriterion(features, kernel)
    v = features.points.mean(axis=0) + 0.5 * rng().standard_normal((3, features.points.shape[1]))
    z = np.append(v.ravel(), 0.3)

    def value(z):
        return criterion(z[:-1].reshape(v.shape), float(z[-1]))[0]

    _, by_location, by_theta = criterion(v, 0.3)
    steps = 1e-5 * np.eye(len(z))
    numerical = np.array([(value(z + step) - value(z - step)) / 2e-5 for step in steps])
    np.testing.assert_allclose(np.append(by_location.ravel(), by_theta), numerical, rtol=1e-6, atol=1e-8)


def test_criterion_is_signal_over_noise():
    """U and 4·Var(τ·E τ), with γ, from the features alone."""
    features = CHOSEN["diagonal g"].features
    v = features.points[:2] + 0.1
    tau = witnesses(features, Gaussian(0.7).scaled(np.exp(0.15)), v)
    mean = tau.mean(axis=0)
    u = ((tau @ tau.T).sum() - np.trace(tau @ tau.T)) / (len(tau) * (len(tau) - 1))
    unit = np.median((features.value**2).sum(axis=1)) / features.value.shape[1]
    expected = u / np.sqrt(4 * np.var(tau @ mean) + 0.01 * unit**2)
    assert locations.LocationCriterion(features, Gaussian(0.7))(v, 0.3)[0] == pytest.approx(
        expected, rel=1e-10
    )


def test_learning_improves_on_random_locations_and_stays_near_the_data():
    x = rng().laplace(size=(400, 2)) / np.sqrt(2)
    features = gs.Langevin().features(gs.as_model(NORMAL([0, 0])), gs.Euclidean(2), x)
    learnt = locations.learn(features, Gaussian(), None, 5, rng(2))
    random = [
        locations.LocationCriterion(features, Gaussian().fitted(x))(
            locations.draw_locations(x, 5, rng(k)), 0.0
        )[0]
        for k in range(20)
    ]
    assert learnt.criterion > max(random)
    assert (learnt.locations >= x.min(axis=0) - x.std(axis=0)).all()
    assert (learnt.locations <= x.max(axis=0) + x.std(axis=0)).all()
    median = Gaussian().fitted(x).bandwidth
    assert 2**-2.3 * median < learnt.kernel.bandwidth < 2**2.3 * median


def test_locations_are_drawn_from_the_fitted_normal():
    x = rng().standard_normal((500, 2)) @ np.array([[2.0, 1.0], [0.0, 0.5]]) + [3.0, -1.0]
    drawn = locations.draw_locations(x, 20_000, rng(2))
    np.testing.assert_allclose(drawn.mean(axis=0), x.mean(axis=0), atol=0.06)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(x.T, bias=True), atol=0.12)


def test_rows_that_were_learnt_from_are_not_tested(monkeypatch):
    seen = {}
    learn, calibrate = locations.learn, fssd.SpectralOfFeatures.calibrate

    def watched_learn(features, *rest):
        seen["train"] = features.points
        return learn(features, *rest)

    def watched_calibrate(self, problem, **options):
        seen["test"] = problem.observations
        return calibrate(self, problem, **options)

    monkeypatch.setattr(fssd, "learn", watched_learn)
    monkeypatch.setattr(fssd.SpectralOfFeatures, "calibrate", watched_calibrate)
    x = rng().standard_normal((200, 2))
    result = gs.fssd_test(x, NORMAL([0, 0]), train_fraction=0.3, rng=1)
    together = np.concatenate([seen["train"], seen["test"]])
    assert len(seen["train"]) == result.details["n_train"] == 60 and result.n == 140
    np.testing.assert_array_equal(np.sort(together, axis=0), np.sort(x, axis=0))


# --- the test ----------------------------------------------------------------------------------


@trials(60, 200)
def test_level(trials):
    found = (
        gs.fssd_test(rng(k).standard_normal((200, 1)), NORMAL(), n_resamples=499, rng=k).pvalue
        for k in range(trials)
    )
    check_level(found, 0.05, 0.2)


def test_gauss_against_laplace():
    """The one-dimensional example of Jitkrittum et al.: the same mean and variance."""
    rejections = []
    for n in (200, 1000):
        found = [
            gs.fssd_test(rng(k).laplace(size=n) / np.sqrt(2), NORMAL(), rng=k).pvalue <= 0.05
            for k in range(30)
        ]
        rejections.append(sum(found))
    assert rejections[0] < rejections[1] and rejections[1] >= 28


@pytest.mark.parametrize(
    ("model", "other"),
    [
        (
            gs.families.Truncated(NORMAL([0, 0]), gs.Box([0, 0], [1, 1])),
            gs.families.Uniform(gs.Box([0, 0], [1, 1])),
        ),
        (gs.families.Dirichlet([2.0, 1.0, 1.0]), gs.families.Dirichlet([1.0, 1.0, 1.0])),
    ],
)
def test_domains_with_boundary(model, other):
    assert gs.fssd_test(model.sample(2000, rng=1), model, rng=1).pvalue > 0.02
    assert gs.fssd_test(model.sample(2000, rng=1), other, rng=1).pvalue < 0.01


def test_result_does_not_depend_on_units():
    x = rng().laplace(size=(300, 2))
    one = gs.fssd_test(x, NORMAL([0, 0]), rng=3)
    other = gs.fssd_test(1000 * x, NORMAL([0, 0], 1e6), rng=3)
    assert other.pvalue == pytest.approx(one.pvalue, abs=1e-3)  # a search amplifies rounding errors
    assert other.statistic == pytest.approx(one.statistic, rel=1e-3)
    np.testing.assert_allclose(
        np.array(other.details["locations"]) / 1000, one.details["locations"], rtol=1e-3
    )


def test_same_seed_same_result_and_result_is_complete():
    x = rng().standard_normal((200, 1))
    one, other = (gs.fssd_test(x, NORMAL(), rng=5) for _ in range(2))
    assert one.to_json() == other.to_json()
    assert gs.fssd_test(x, NORMAL(), rng=6).pvalue != one.pvalue
    assert set(one.details) == {
        "locations",
        "distinct locations",
        "bandwidth",
        "n_train",
        "power criterion",
    }
    text = str(one)
    assert text.startswith("Finite-set Stein discrepancy test") and "FSSD², U-statistic" in text
    assert "FiniteSet(Langevin(), 5 locations)" in text and one.kernel.bandwidth == one.details["bandwidth"]
    assert one.v_statistic >= one.statistic
    assert isinstance(one, gs.TestResult)


def test_locations_that_coincide_are_counted_once():
    v = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1e-6], [1.0, 1e-6], [0.0, 1.0]])
    for kernel in (Gaussian(0.5), IMQ(0.5), Gaussian(0.5) + IMQ(2.0)):
        assert locations.distinct(v, kernel) == 3
        assert locations.distinct(1e-7 * v, kernel) == 1
    flat = Whitened(Gaussian(1.0), np.diag([1.0, 1e-14]))
    assert locations.distinct(v, flat) == 2  # the second coordinate is shrunk to nothing
    x = rng().standard_normal((100, 2))
    two = gs.fssd_test(x, NORMAL([0, 0]), optimise=False, locations=v[[0, 1, 0, 1]], rng=1)
    assert two.details["distinct locations"] == 2
    assert len(two.to_dict()["details"]["locations"]) == 4


def test_given_bandwidth_is_kept_and_whitening_is_allowed():
    x = rng().standard_normal((400, 2)) * [1.0, 100.0]
    model = NORMAL([0, 0], np.diag([1.0, 1e4]))
    assert gs.fssd_test(x, model, kernel=Gaussian(3.0), rng=1).details["bandwidth"] == 3.0
    one = gs.fssd_test(x, model, kernel=Whitened(Gaussian()), rng=1)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]]) @ np.diag([5.0, 0.1])
    other = gs.fssd_test(
        x @ turn.T, NORMAL([0, 0], turn @ model.cov @ turn.T), kernel=Whitened(Gaussian()), rng=1
    )
    assert other.statistic == pytest.approx(one.statistic, rel=0.02)
    np.testing.assert_allclose(
        np.array(one.details["locations"]) @ turn.T, other.details["locations"], rtol=0.05
    )


def test_start_locations_can_be_given():
    x = rng().laplace(size=(300, 1))
    result = gs.fssd_test(x, NORMAL(), locations=[0.5, -0.5], rng=1)
    assert np.shape(result.details["locations"]) == (2, 1)


def test_features_are_held_once_and_made_of_few_rows_at_a_time(monkeypatch):
    x, model = rng().standard_normal((150_000, 6)), NORMAL(np.zeros(6))
    where = rng().standard_normal((8, 6))

    def test(rows=x):
        return gs.fssd_test(rows, model, optimise=False, locations=where, rng=1)

    test(x[:100])  # what is loaded at first is no matter
    tracemalloc.start()
    whole = test()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    features = 8 * 150_000 * 48
    assert peak < 2.2 * features
    for module in (fssd, finite_set):
        monkeypatch.setattr(module, "TOGETHER", 777)
    np.testing.assert_allclose(test().null_distribution, whole.null_distribution, rtol=1e-9)
    assert test().statistic == whole.statistic


def test_more_features_than_rows():
    result = gs.fssd_test(rng().standard_normal((60, 4)), NORMAL(np.zeros(4)), n_locations=20, rng=1)
    assert np.isfinite(result.null_distribution).all()


def test_invalid_operator_is_refused():
    x = rng().uniform(size=(200, 1))
    model = gs.families.Uniform(gs.Box(0, 1))
    with pytest.raises(gs.SteinIdentityError, match="Langevin"):
        gs.fssd_test(x, model, operator=gs.Langevin(), rng=1)
    result = gs.fssd_test(
        x, NORMAL(0.5, 0.1), operator=gs.Langevin(), domain=gs.Box(0, 1), rng=1, audit=False
    )
    assert "not valid" in str(result)


def test_operator_serves_other_tests():
    x = rng().standard_normal((100, 1))
    operator = FiniteSet(gs.Langevin(), np.array([[-1.0], [0.5]]))
    expected = gs.fssd_test(x, NORMAL(), optimise=False, locations=operator.locations, rng=1)
    result = gs.ksd_test(x, NORMAL(), operator=operator, rng=1)
    assert result.statistic == pytest.approx(expected.statistic, rel=1e-10)
    assert result.pvalue == pytest.approx(expected.pvalue, abs=0.1)


# --- bad input ---------------------------------------------------------------------------------

X = rng().standard_normal((100, 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": Matern52()}, "Matern52 is not real analytic.*Use Gaussian()"),
        ({"kernel": Gaussian() + Matern52()}, "Matern52 is not real analytic"),
        ({"n_locations": 0}, "`n_locations` must be an integer of at least 1, got 0"),
        ({"train_fraction": 1.0}, "`train_fraction` must be a number between 0 and 1, got 1.0"),
        ({"train_fraction": "half"}, "`train_fraction` must be a number between 0 and 1, got 'half'"),
        ({"train_fraction": 0.05}, "100 rows make 5 to learn locations from and 95 to test on.*Use ksd_test"),
        ({"train_fraction": 0.9}, "100 rows make 90 to learn locations from and 10 to test on"),
        (
            {"locations": [[0.0]]},
            r"`locations` must be an array \(J, 2\), one row for each location, got \[\[0\.0\]\]",
        ),
        ({"locations": [[np.nan, 0.0]]}, "`locations` must be finite numbers"),
        ({"locations": "everywhere"}, "`locations` must be real numbers"),
        ({"n_resamples": 0.5}, "`n_resamples` must be an integer of at least 1"),
        ({"rng": "seed"}, "`rng` must be None, a non-negative integer"),
        ({"operator": "Langevin"}, "`operator` must be an operator"),
        ({"kernel": "Gaussian"}, "`kernel` must be a kernel"),
    ],
    ids=lambda value: re.sub(r"\W+", "_", str(value))[:40] if isinstance(value, str) else None,
)
def test_bad_arguments(options, message):
    with pytest.raises(gs.InputError, match=message):
        gs.fssd_test(X, NORMAL([0, 0]), **{"rng": 1, **options})


def test_operators_of_other_forms_are_refused():
    class Other:
        def features(self, model, domain, data):
            return AnchoredFeatures(data, model.score(data), None, np.zeros(1), 1.0)

        def __repr__(self):
            return "Other()"

    with pytest.raises(gs.InputError, match=r"Other\(\) has a Stein kernel of its own form.*Use ksd_test"):
        gs.fssd_test(X[:, 0], NORMAL(), operator=Other(), rng=1)


def test_kernels_without_bandwidth_cannot_be_learnt():
    class Plain:
        analytic = True

        def fitted(self, points):
            return self

        def profiles(self, rho, order=2):
            return [np.exp(-rho) * (-1.0) ** k for k in range(order + 1)]

        def __repr__(self):
            return "Plain()"

    with pytest.raises(
        gs.InputError, match=r"Plain\(\) has no bandwidth that could be chosen.*optimise=False"
    ):
        gs.fssd_test(X, NORMAL([0, 0]), kernel=Plain(), rng=1)
    assert gs.fssd_test(X, NORMAL([0, 0]), kernel=Plain(), optimise=False, rng=1).details["bandwidth"] is None


@dataclass(frozen=True)
class Matern72(RadialKernel):
    """A user's kernel, not real analytic, that says nothing about it."""

    def profiles(self, rho, order=2):
        c = 7 / self.length**2
        t = np.sqrt(c * rho)
        phi, slope = 1 + t + 2 * t**2 / 5 + t**3 / 15, -c * (3 + 3 * t + t**2) / 30
        return [part * np.exp(-t) for part in (phi, slope, c**2 * (1 + t) / 60)][: order + 1]


@dataclass(frozen=True)
class Cauchy(RadialKernel):
    """Another one, which is and says so."""

    analytic = True

    def profiles(self, rho, order=2):
        u = 1 / (1 + rho / self.length**2)
        return [u, -(u**2) / self.length**2, 2 * u**3 / self.length**4][: order + 1]


@pytest.mark.parametrize(
    "kernel", [Matern72(), Gaussian() + Matern72(), Whitened(Matern72())], ids=["alone", "sum", "whitened"]
)
def test_kernels_that_are_not_declared_analytic_are_refused(kernel):
    message = "Matern72 is not declared real analytic.*Use Gaussian.*say so in its class: analytic = True"
    with pytest.raises(gs.InputError, match=message):
        gs.fssd_test(X, NORMAL([0, 0]), kernel=kernel, rng=1)


@pytest.mark.parametrize("kernel", [Cauchy(), Gaussian() + Cauchy()], ids=["alone", "sum"])
def test_kernels_that_are_declared_analytic_are_used(kernel):
    result = gs.fssd_test(X, NORMAL([0, 0]), kernel=kernel, rng=1)
    assert result.pvalue > 0.01 and kernel.analytic
    assert gs.fssd_test(X + 1.0, NORMAL([0, 0]), kernel=kernel, rng=1).pvalue < 0.01


def test_a_plain_object_declares_itself_too():
    class Plain:
        def fitted(self, points):
            return self

        def profiles(self, rho, order=2):
            return [np.exp(-rho) * (-1.0) ** k for k in range(order + 1)]

        def __repr__(self):
            return "Plain()"

    with pytest.raises(gs.InputError, match=r"Plain\(\) is not declared real analytic"):
        gs.fssd_test(X, NORMAL([0, 0]), kernel=Plain(), optimise=False, rng=1)


def test_discrete_kernels_are_refused():
    with pytest.raises(gs.InputError, match="compares discrete states"):
        gs.fssd_test(X, NORMAL([0, 0]), kernel=gs.Hamming(), rng=1)


def test_other_data_are_refused():
    durations = gs.Censored(np.arange(1.0, 101.0), np.ones(100, dtype=bool))
    with pytest.raises(gs.InputError, match="fssd_test takes points"):
        gs.fssd_test(durations, gs.families.Exponential(0.02), rng=1)


def test_features_with_a_fixed_point_keep_it():
    """Rows that are taken look at the same point, and are a part of the whole matrix."""
    x = rng().standard_normal((6, 1))
    features = AnchoredFeatures(x, -x, None, np.array([0.5]), 2.0)
    some = np.array([4, 1])
    taken = features.take(some)
    assert isinstance(taken, AnchoredFeatures) and taken.anchor_value == 2.0 and taken.anchor == 0.5
    kernel = Gaussian(1.0)
    whole, part = (f.form(kernel).matrix() for f in (features, taken))
    np.testing.assert_allclose(part, whole[np.ix_(some, some)], rtol=1e-12)
    with pytest.raises(gs.ScoreError, match="Features with a fixed point cannot be whitened"):
        features.seen_in(Frame(np.ones(1)))


def test_chart_wants_a_list_of_periodic_coordinates():
    box = gs.Box([0, 0], [1, 1])
    with pytest.raises(gs.DomainError, match=r"`periodic` of Chart must be a list .* such as \[1\], got 1"):
        gs.Chart(2, lambda u: np.eye(2), coordinates=box, periodic=1)
