"""Circle, torus and sphere: the coordinate-dependent operator, geometry, audits and messages."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.polynomial.legendre import leggauss
from numpy.testing import assert_allclose

import goodstein as gs
from definitions import at_pairs, double_precision
from directions import against, angles, from_angles
from goodstein.operators.coordinate import spherical_fields


@pytest.fixture(autouse=True)
def double():
    """Other tests see JAX as it is."""
    with double_precision():
        yield


FAMILY = gs.families
RNG = np.random.default_rng(20_200_601)
BOTH = [gs.Coordinate(), gs.SecondOrder()]


# --- the operator on the sphere by its definition ---------------------------------------------------

A4 = np.array([[2.0, 0.3, 0, 0.1], [0.3, -1, 0.5, 0], [0, 0.5, 0.4, 0.2], [0.1, 0, 0.2, 0]])
SPHERES = {
    "vMF on S¹": (FAMILY.VonMisesFisher([0.6, 0.8], 1.5), lambda x: 1.5 * x @ jnp.array([0.6, 0.8])),
    "vMF on S²": (FAMILY.VonMisesFisher([0, 0.6, 0.8], 3.0), lambda x: 3 * x @ jnp.array([0, 0.6, 0.8])),
    "Bingham on S³": (FAMILY.Bingham(A4), lambda x: x @ A4 @ x),
    "uniform on S⁴": (FAMILY.UniformOnSphere(5), lambda x: 0.0 * x[0]),
}


@pytest.mark.parametrize("auxiliary", [True, False])
@pytest.mark.parametrize("case", SPHERES)
def test_the_operator_applied_twice_in_angles(case, auxiliary):
    """(qJ)⁻¹ ∂_j(q J g_j ·) in both arguments of the kernel, by automatic differentiation in θ."""
    model, logpdf = SPHERES[case]
    m = model.dim - 1

    def weight(theta):
        sines = jnp.append(jnp.sin(theta[:-1]), 1.0)
        return sines if auxiliary else jnp.ones(m)

    def density(theta):
        volume = sum((m - 1 - i) * jnp.log(jnp.sin(theta[i])) for i in range(m - 1))
        return jnp.exp(logpdf(from_angles(theta, jnp)) + volume)

    def applied(f, axis):
        def value(u):
            inner = lambda v: density(v) * (weight(v) @ axis) * f(v)  # noqa: E731
            return jax.jvp(inner, (u,), (axis,))[1] / density(u)

        return value

    def kernel(u, v):
        return (1 + jnp.sum((from_angles(u, jnp) - from_angles(v, jnp)) ** 2) / 1.1**2) ** -0.5

    def h(u, v):
        def one(axis):
            return applied(lambda a: applied(lambda b: kernel(a, b), axis)(v), axis)(u)

        return jax.vmap(one)(jnp.eye(m)).sum()

    theta = angles(5, m)
    expected = at_pairs(h, theta, theta)
    got = gs.stein_matrix(from_angles(theta), model, operator=gs.Coordinate(auxiliary), kernel=gs.IMQ(1.1))
    assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_reference_value_on_the_circle():
    h = gs.stein_matrix([[0.4], [1.5]], FAMILY.VonMises(0, 1.3), kernel=gs.Gaussian(0.5**0.5))
    assert np.exp(2) * h[0, 1] == pytest.approx(-7.48741442488, rel=1e-11)


def test_the_circle_as_angles_and_as_unit_vectors_is_the_same_test():
    theta = FAMILY.VonMises(0.5, 2.0).sample(60, rng=1)
    x = np.column_stack([np.cos(theta), np.sin(theta)])
    mu = [np.cos(0.5), np.sin(0.5)]
    for operator in BOTH:
        a = gs.stein_matrix(theta, FAMILY.VonMises(0.5, 2.0), operator=operator)
        b = gs.stein_matrix(x, FAMILY.VonMisesFisher(mu, 2.0), operator=operator)
        assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_whole_turns_change_nothing():
    theta = FAMILY.VonMises(0.5, 2.0).sample(40, rng=1)
    moved = theta + 2 * np.pi * RNG.integers(-3, 4, size=theta.shape)
    for operator in BOTH:
        a, b = (gs.ksd_test(t, FAMILY.VonMises(0.5, 2.0), operator=operator, rng=1) for t in (theta, moved))
        assert a.statistic == pytest.approx(b.statistic, rel=1e-9)
        assert a.pvalue == b.pvalue


@pytest.mark.parametrize("d", [3, 5])
def test_poles_are_finite_and_the_limit_of_their_neighbourhood(d):
    """At x = ±e_i every angle before the pole is fixed; fields vanish there, divergences are bounded."""
    poles = np.vstack([np.eye(d), -np.eye(d)])
    fields, divergence = spherical_fields(poles, True)
    assert np.isfinite(fields).all()
    assert (np.abs(divergence) <= d).all()
    near = poles + 1e-9 * RNG.normal(size=poles.shape)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    assert_allclose(spherical_fields(near, True)[0], fields, atol=1e-8)
    model = FAMILY.VonMisesFisher(np.eye(d)[0], 2.0)
    h = gs.stein_matrix(poles, model, operator=gs.Coordinate())
    assert np.isfinite(h).all()
    assert gs.ksd_test(poles, model, operator=gs.Coordinate(), rng=1).pvalue > 0
    with pytest.raises(gs.ScoreError, match="not finite at"):
        gs.stein_matrix(poles, model, operator=gs.Coordinate(False))


# --- Stein's identity by quadrature -----------------------------------------------------------------


@pytest.mark.parametrize("operator", BOTH, ids=repr)
def test_the_identity_on_the_circle(operator):
    theta = np.linspace(0, 2 * np.pi, 256, endpoint=False)[:, None]
    model = FAMILY.VonMises(0.7, 3.0)
    assert np.exp(model.logpdf(theta)).mean() * 2 * np.pi == pytest.approx(1.0, rel=1e-12)
    h = against(model, operator, gs.IMQ(0.6), np.array([[0.1], [2.5]]), theta)
    assert_allclose((h * np.exp(model.logpdf(theta))).sum(axis=1), 0.0, atol=1e-10 * np.abs(h).max())


def sphere_grid(m, nodes):
    """Angles, points and weights on the sphere of dimension m: Gauss in all angles but the last."""
    t, w = leggauss(nodes)
    t, w = 0.5 * np.pi * (t + 1), 0.5 * np.pi * w
    last = 2 * np.pi * np.arange(nodes) / nodes
    grids = np.meshgrid(*[t] * (m - 1), last, indexing="ij")
    theta = np.stack([g.ravel() for g in grids], axis=1)
    weights = np.full(len(theta), 2 * np.pi / nodes)
    for i in range(m - 1):
        weights *= np.sin(theta[:, i]) ** (m - 1 - i) * np.interp(theta[:, i], t, w)
    return theta, from_angles(theta), weights


S2 = sphere_grid(2, 40)
S4 = sphere_grid(4, 14)
MODELS = {
    "vMF on S²": FAMILY.VonMisesFisher([0.48, 0.6, 0.64], 2.0),
    "Kent on S²": FAMILY.Kent(np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0], 3.0, 1.0),
    "Bingham on S²": FAMILY.Bingham(A4[:3, :3]),
    "vMF on S⁴": FAMILY.VonMisesFisher(np.array([1, -1, 2, 0, 1]) / 7**0.5, 1.5),
}


@pytest.mark.parametrize("operator", BOTH, ids=repr)
@pytest.mark.parametrize("case", MODELS)
def test_the_identity_on_spheres(case, operator):
    model = MODELS[case]
    _, x, weights = S2 if model.dim == 3 else S4
    q = weights * np.exp(model.logpdf(x))
    if isinstance(model, FAMILY.VonMisesFisher):
        assert q.sum() == pytest.approx(1.0, rel=1e-9)
    y = FAMILY.UniformOnSphere(model.dim).sample(3, rng=1)
    h = against(model, operator, gs.Gaussian(1.0), y, x)
    size = np.abs(h) @ q
    assert np.all(np.abs(h @ q) < 1e-7 * size)


def test_the_printed_coordinate_theorem_fails_and_the_corrected_one_holds():
    """Erratum E5: g = log J does not make the operator of R^d one of the sphere; q → qJ does."""
    theta, x, weights = S2
    model = FAMILY.VonMisesFisher([0, 0, 1.0], 1.0)
    q = weights * np.exp(model.logpdf(x))
    polar = theta[:, 0]
    slope = np.einsum(
        "nk,nk->n",
        model.score(x),
        np.stack(
            [-np.sin(polar), np.cos(polar) * np.cos(theta[:, 1]), np.cos(polar) * np.sin(theta[:, 1])], axis=1
        ),
    )
    f, df = np.cos(polar), -np.sin(polar)
    log_j, cot = np.log(np.sin(polar)), np.cos(polar) / np.sin(polar)
    printed = (q * (log_j * slope * f + cot * f + log_j * df)).sum()
    corrected = (q * ((slope + cot) * f + df)).sum()
    assert abs(printed) > 0.5
    assert abs(corrected) < 1e-10


# --- audits ------------------------------------------------------------------------------------------


def test_no_auxiliary_on_the_sphere_is_refused_with_the_reason():
    model = FAMILY.UniformOnSphere(3)
    x = model.sample(50, rng=1)
    with pytest.raises(gs.SteinIdentityError, match=r"no finite variance.*Coordinate\(\) or operator=Second"):
        gs.ksd_test(x, model, operator=gs.Coordinate(False))
    assert gs.ksd_test(x, model, operator=gs.Coordinate(False), audit=False, rng=1).pvalue > 0
    flat = FAMILY.UniformOnSphere(2)  # on the circle there is no pole
    assert gs.ksd_test(flat.sample(50, rng=1), flat, operator=gs.Coordinate(False), rng=1).audit.valid


def test_a_density_that_does_not_come_round_is_refused():
    theta = RNG.normal(size=(30, 1))
    for operator in BOTH:
        with pytest.raises(
            gs.SteinIdentityError, match=r"Not a density on Circle\(\): the score of.*whole turn"
        ):
            gs.ksd_test(theta, lambda x: -x, domain=gs.Circle(), operator=operator)
        with pytest.raises(gs.SteinIdentityError, match=r"gains 12\.6 in a whole turn of the angle"):
            gs.ksd_test(theta, lambda x: np.full_like(x, 2.0), domain=gs.Circle(), operator=operator)
    logpdf = gs.Model(logpdf=lambda x: (np.cos(x) + 0.5 * x).sum(axis=1), domain=gs.Torus(2))
    with pytest.raises(gs.SteinIdentityError, match=r"gains 3\.14 in a whole turn of coordinate 1"):
        gs.ksd_test(RNG.normal(size=(30, 2)), logpdf)


TURN = 2 * np.pi


def kinked(c, a):
    """A log density that rises by a on (0, c) and falls on the rest of the circle, and its score."""
    fall = a * c / (TURN - c)

    def logpdf(t):
        u = t % TURN
        return np.where(u < c, a * u, a * c - fall * (u - c))

    return logpdf, lambda t: np.where(t % TURN < c, a, -fall)


def two_peaks(kappa):
    def logpdf(t):
        return np.logaddexp(kappa * np.cos(t), kappa * np.cos(t - 2) - 1)

    def score(t):
        share = np.exp(kappa * np.cos(t) - logpdf(t))
        return -kappa * (share * np.sin(t) + (1 - share) * np.sin(t - 2))

    return logpdf, score


JUMPS = {
    "given score": {"logpdf": lambda t: 0.3 * (t % TURN), "score": lambda t: 0.3 + 0 * t},
    "numerical score": {"logpdf": lambda t: 0.3 * (t % TURN)},
    "mild": {"logpdf": lambda t: np.log(1 + 0.2 * (t % TURN) / TURN)},
    "under a peak": {
        "logpdf": lambda t: 50 * np.cos(t) + 0.1 * (t % TURN),
        "score": lambda t: 0.1 - 50 * np.sin(t),
    },
}


@pytest.mark.parametrize("case", JUMPS)
@pytest.mark.parametrize("operator", BOTH, ids=repr)
def test_a_jump_that_a_wrapped_log_density_hides_is_refused(case, operator):
    """q(2π⁻) ≠ q(0): E f′ + s f = [q f] over a turn is not zero, although both functions are periodic."""
    theta = FAMILY.VonMises(0.5, 1.0).sample(50, rng=1)
    model = gs.Model(**JUMPS[case], name="sawtooth")
    for seed in range(30):  # from some starts a numerical derivative meets the jump
        with pytest.raises(gs.SteinIdentityError, match=r"sawtooth gains .* jumps.*such as a Box"):
            gs.ksd_test(theta, model, domain=gs.Circle(), operator=operator, rng=seed)


def test_a_jump_in_the_second_angle_is_found():
    model = gs.Model(logpdf=lambda t: 2 * np.cos(t[:, 0]) + 0.1 * (t[:, 1] % TURN))
    with pytest.raises(gs.SteinIdentityError, match=r"gains 0\.628 in a whole turn of coordinate 2"):
        gs.ksd_test(RNG.uniform(0, TURN, size=(30, 2)), model, domain=gs.Torus(2))


@pytest.mark.filterwarnings("ignore:The features are so skewed:goodstein.errors.CalibrationWarning")
@pytest.mark.filterwarnings("ignore::goodstein.errors.NumericalScoreWarning")
def test_peaks_and_kinks_are_no_jumps():
    """Sums of a score around the circle are a little wrong if it has kinks, depending on where they start."""
    models = [FAMILY.VonMises(1.0, kappa) for kappa in (0.5, 5.0, 500.0, 1e5)]
    pairs = [two_peaks(kappa) for kappa in (10.0, 300.0, 1e4)]
    pairs += [kinked(c, a) for c, a in ((np.pi, 1.0), (2.0, 1.5), (4.4, 0.4), (0.7, 20.0))]
    for logpdf, score in pairs:
        models += [gs.Model(score=score), gs.Model(logpdf=logpdf), gs.Model(logpdf=logpdf, score=score)]
    for model in models:
        for seed in range(4):
            theta = np.random.default_rng(seed).uniform(0, TURN, size=(12, 1))
            report = gs.ksd_test(theta, model, domain=gs.Circle(), null=gs.WildBootstrap(9), rng=seed).audit
            assert "Everything is the same after a whole turn." in report.messages("pass"), report


def test_a_density_with_a_zero_has_no_score_all_around():
    model = gs.Model(logpdf=lambda t: np.log(np.clip(np.cos(t), 0, None)), domain=gs.Circle())
    theta = np.arcsin(RNG.uniform(-0.9, 0.9, size=(20, 1)))
    assert gs.ksd_test(theta, model, rng=1).audit.valid


def test_degrees_are_noticed():
    radians = FAMILY.VonMises(1.5, 2.0).sample(60, rng=1)
    model = FAMILY.VonMises(1.5, 2.0)
    note = r"The angles reach over \d+ turns. If they are degrees, convert them: np.radians\(data\)"
    for operator in BOTH:
        with pytest.warns(gs.CalibrationWarning, match=note):
            result = gs.ksd_test(np.degrees(radians) % 360, model, operator=operator, rng=1)
        assert any(re.match(note, text) for text in result.notes)
        turned = radians + np.repeat([0.0, 6 * np.pi], 30)[:, None]
        followed = gs.ksd_test(turned, model, operator=operator, rng=1)
        assert any(re.match(note, text) for text in followed.notes)  # and no warning
        for theta in (radians, radians + np.pi, radians + 100):
            assert not any("turns" in text for text in gs.ksd_test(theta, model, rng=1).notes)


@pytest.mark.parametrize("operator", BOTH, ids=repr)
def test_a_score_that_is_not_that_of_the_log_density_is_found(operator):
    wrong = gs.Model(
        score=lambda x: np.tile([0, 0, -2.0], (len(x), 1)),
        logpdf=lambda x: 2.0 * x[:, 2],
        domain=gs.Sphere(3),
        name="wrong sign",
    )
    x = FAMILY.UniformOnSphere(3).sample(30, rng=1)
    with pytest.raises(gs.SteinIdentityError, match="One of the two is wrong"):
        gs.ksd_test(x, wrong, operator=operator)


def test_a_log_density_alone_is_enough():
    mu = np.array([0.0, 0.6, 0.8])
    model = FAMILY.VonMisesFisher(mu, 2.0)
    x = model.sample(50, rng=1)
    numpy_only = gs.Model(logpdf=lambda x: 2.0 * x @ mu, domain=gs.Sphere(3))
    for operator in BOTH:
        a, b = (gs.ksd_test(x, m, operator=operator, rng=1) for m in (model, numpy_only))
        assert a.statistic == pytest.approx(b.statistic, rel=1e-6)


def test_a_log_density_of_unit_vectors_alone_is_differentiated_on_the_sphere():
    """As that of scipy, which refuses all others; numerical steps leave the sphere."""
    mu = np.array([0.0, 0.6, 0.8])
    model = FAMILY.VonMisesFisher(mu, 2.0)
    x = model.sample(50, rng=1)

    def one(v):
        if abs(v @ v - 1) > 1e-12:
            raise ValueError("not a unit vector")
        return 2.0 * v @ mu

    for logpdf in (scipy.stats.vonmises_fisher(mu, 2.0).logpdf, one):
        theirs = gs.Model(logpdf=logpdf, domain=gs.Sphere(3))
        tangential = gs.Sphere(3).project(x, np.tile(2.0 * mu, (50, 1)))
        assert_allclose(theirs.score(x), tangential, atol=1e-7)
        for operator in BOTH:
            a, b = (gs.ksd_test(x, m, operator=operator, rng=1) for m in (model, theirs))
            assert a.statistic == pytest.approx(b.statistic, rel=1e-6)


def test_a_von_mises_distribution_of_scipy_on_the_circle():
    theta = FAMILY.VonMises(0.4, 2.0).sample(60, rng=1)
    ours = gs.ksd_test(theta, FAMILY.VonMises(0.4, 2.0), rng=1)
    theirs = gs.ksd_test(theta, scipy.stats.vonmises(2.0, loc=0.4), domain=gs.Circle(), rng=1)
    assert theirs.statistic == pytest.approx(ours.statistic, rel=1e-6)


@pytest.mark.parametrize(
    "operator",
    [
        gs.Langevin(),
        gs.Standardised(),
        gs.MatrixStandardised(lambda x: np.tile(np.eye(3), (len(x), 1, 1)), np.zeros_like),
    ],
    ids=["Langevin", "Standardised", "Matrix"],
)
def test_operators_of_flat_space_are_refused_on_manifolds(operator):
    model = FAMILY.VonMisesFisher([0, 0, 1.0], 2.0)
    with pytest.raises(gs.InputError, match=r"Sphere\(3\) is none of them. Leave `operator` out"):
        gs.ksd_test(model.sample(20, rng=1), model, operator=operator)


def test_coordinates_are_refused_in_flat_space():
    x = RNG.normal(size=(20, 2))
    with pytest.raises(gs.InputError, match=r"Coordinate works on Circle, Torus, Sphere and Chart"):
        gs.ksd_test(x, FAMILY.Normal([0, 0]), operator=gs.Coordinate())


def test_models_of_one_manifold_do_not_move_to_another():
    model = FAMILY.VonMisesFisher([0, 0, 1.0], 2.0)
    x = model.sample(20, rng=1)
    with pytest.raises(gs.DomainError, match=r"is a density on Sphere\(3\), which says nothing about Euclid"):
        gs.ksd_test(x, model, domain=gs.Euclidean(3))


# --- bad input ---------------------------------------------------------------------------------------


def test_directions_must_be_unit_vectors():
    model = FAMILY.UniformOnSphere(3)
    x = model.sample(20, rng=1)
    x[4] *= 1.25
    x[7] *= 1 + 2e-6
    message = r"2 of 20 rows \(the first is row 4\) are not unit.*norm of row 4 is 1\.25.*never renormalises"
    for function in (gs.ksd_test, gs.stein_matrix):
        with pytest.raises(gs.DomainError, match=message):
            function(x, model)
    x[4] = 0
    with pytest.raises(gs.DomainError, match=r"1 of 20 rows \(row 4\) are the zero vector"):
        gs.ksd_test(x, model)
    ok = model.sample(20, rng=1) * (1 + 1e-9)
    assert gs.ksd_test(ok, model, rng=1).pvalue > 0
    with pytest.raises(gs.InputError, match="has 2 columns, but UniformOnSphere"):
        gs.ksd_test(ok[:, :2], model)
    with pytest.raises(gs.InputError, match="hold NaN"):
        gs.ksd_test(np.where(ok == ok[3], np.nan, ok), model)


def test_directions_in_half_precision_and_the_advice_for_them():
    model = FAMILY.VonMisesFisher([0, 0, 1.0], 5.0)
    x = model.sample(30, rng=1).astype(np.float16)
    x /= np.linalg.norm(x, axis=1, keepdims=True)  # not enough: the quotient is rounded again
    with pytest.raises(gs.DomainError, match="in double precision, if that is meant: x = ") as error:
        gs.ksd_test(x, model)
    names = {"np": np, "x": x}
    exec(re.search(r"meant: (.*)\.$", str(error.value)).group(1), names)
    assert gs.ksd_test(names["x"], model, rng=1).pvalue > 0
    mu = x[np.abs(np.linalg.norm(x.astype(float), axis=1) - 1).argmax()]
    with pytest.raises(gs.InputError, match="in double precision, if that is meant: mu = ") as error:
        FAMILY.VonMisesFisher(mu, 5.0)
    names = {"np": np, "mu": mu}
    exec(re.search(r"meant: (.*)\.$", str(error.value)).group(1), names)
    assert FAMILY.VonMisesFisher(names["mu"], 5.0).dim == 3
    assert FAMILY.VonMisesFisher(names["mu"].astype(np.float32), 5.0).dim == 3


def test_angles_of_the_wrong_shape():
    with pytest.raises(gs.InputError, match="has 2 columns"):
        gs.ksd_test(np.zeros((10, 2)), FAMILY.VonMises(0, 1))
    with pytest.raises(gs.InputError, match=r"has shape \(10,\), expected \(n, 2\)"):
        gs.ksd_test(np.zeros(10), np.zeros_like, domain=gs.Torus(2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gs.Sphere(1), "`d` must be an integer of at least 2"),
        (lambda: gs.Torus(0), "`d` must be an integer of at least 1"),
        (lambda: gs.Coordinate(auxiliary="sin"), "must be True, False or an auxiliary function"),
    ],
)
def test_arguments_that_make_no_sense(make, message):
    with pytest.raises(gs.InputError, match=message):
        make()


def test_own_auxiliary_functions_are_for_charts():
    model = FAMILY.UniformOnSphere(3)
    with pytest.raises(gs.InputError, match=r"is True or False.*see Chart"):
        gs.ksd_test(model.sample(9, rng=1), model, operator=gs.Coordinate(gs.Auxiliary(np.sin)))


# --- end to end ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", BOTH, ids=repr)
def test_sizes_and_power_in_a_few_trials(operator):
    """Sixty trials at level .05: more than ten rejections have probability 2·10⁻⁴."""
    sphere, axis = FAMILY.UniformOnSphere(3), FAMILY.VonMisesFisher([0.8, 0, 0.6], 1.5)
    null = gs.WildBootstrap(199)
    false, true = (
        sum(
            gs.ksd_test(q.sample(50, rng=i), sphere, operator=operator, null=null, rng=i).pvalue <= 0.05
            for i in range(60)
        )
        for q in (sphere, axis)
    )
    assert false <= 10
    assert true >= 55


def test_fitted_directions_with_the_parametric_bootstrap():
    x = FAMILY.Kent(np.eye(3), 12.0, 5.5).sample(150, rng=1)
    fit = FAMILY.VonMisesFisher.fit
    assert gs.ksd_test(x, fit(x), null=gs.ParametricBootstrap(fit, 49), rng=1).pvalue <= 0.05
    fit = FAMILY.Kent.fit
    assert gs.ksd_test(x, fit(x), null=gs.ParametricBootstrap(fit, 49), rng=1).pvalue > 0.05


def test_longitudes_and_latitudes_are_unit_vectors():
    """Against the great-circle distance of two cities, 5837 km from London to New York by the haversine."""
    lon, lat = np.array([-0.1276, -74.0060]), np.array([51.5074, 40.7128])
    x = gs.from_lonlat(lon, lat)
    half = np.radians(np.array([lat[1] - lat[0], lon[1] - lon[0]])) / 2
    cosines = np.cos(np.radians(lat)).prod()
    haversine = 2 * np.arcsin(np.sqrt(np.sin(half[0]) ** 2 + cosines * np.sin(half[1]) ** 2))
    assert_allclose(np.arccos(x[0] @ x[1]), haversine, rtol=1e-12)
    assert 5560 < 6371 * haversine < 5580
    assert_allclose(gs.from_lonlat(np.radians(lon), np.radians(lat), degrees=False), x, atol=1e-15)
    assert_allclose(gs.from_lonlat(lon % 360, lat), x, atol=1e-15)
    table = pd.DataFrame({"lon": lon, "lat": lat})
    np.testing.assert_array_equal(gs.from_lonlat(table["lon"], table["lat"]), x)
    assert gs.Sphere(3).contains(x).all()


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: gs.from_lonlat([40.7, 51.5], [-174.0, 0.1]),
            r"`latitude`: 1 of 2 rows \(row 0\) lie beyond a pole, ±90°.*longitude comes first, exchange",
        ),
        (lambda: gs.from_lonlat([150.0], [95.0]), r"beyond a pole, ±90°. Remove or correct them"),
        (lambda: gs.from_lonlat([10.0], [80.0], degrees=False), r"±1.5708.*need degrees=True"),
        (lambda: gs.from_lonlat([361.0, 4.0], [0.0, 9.0]), r"`longitude`: 1 of 2.*outside −180° … 360°"),
        (lambda: gs.from_lonlat([1.0, 4.0], [0.0]), "`longitude` has 2 values and `latitude` has 1"),
        (lambda: gs.from_lonlat([np.nan, 4.0], [0.0, 1.0]), "`longitude`: 1 of 2 rows .* hold NaN"),
        (lambda: gs.from_lonlat(["a"], [0.0]), "`longitude` must be real numbers"),
        (
            lambda: gs.ksd_test(np.ones((20, 2)), FAMILY.VonMisesFisher([0, 0, 1.0], 1.0)),
            r"If they are longitudes and latitudes, pass from_lonlat\(longitude, latitude\)",
        ),
        (
            lambda: gs.ksd_test(np.ones((20, 2)), FAMILY.VonMises(0.0, 1.0)),
            r"cosines and sines, pass the angles: np.arctan2\(sine, cosine\)",
        ),
        (
            lambda: gs.ksd_test(np.ones((20, 2)), gs.families.Dirichlet([1.0, 2.0, 3.0])),
            r"If the last part is left out, append it: x = np.column_stack",
        ),
    ],
)
def test_angles_that_cannot_be_read_are_refused_with_a_remedy(call, message):
    with pytest.raises(gs.InputError, match=message):
        call()


def test_radians_that_are_taken_for_degrees_are_noticed():
    with pytest.warns(UserWarning, match="Are they radians"):
        gs.from_lonlat([3.0, -2.0], [1.5, -0.2])
