"""The learnt auxiliary function: objective and gradient, the boundary, refusals, level, power."""

from __future__ import annotations

import pickle
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import check_grad

import goodstein as gs
from definitions import evaluated
from goodstein.auxiliary import learnt
from goodstein.auxiliary.functions import default_auxiliary
from goodstein.data.rows import SeenRows
from goodstein.kernels import IMQ, Gaussian
from goodstein.pipeline.compose import compose
from levels import check_level, trials

NORMAL = gs.families.Normal
LINE = gs.Euclidean(1)
L_SHAPE = gs.Polygon([(0, 0), (4, 0), (4, 2), (2, 2), (2, 4), (0, 4)])
UNEQUAL = gs.families.GaussianMixture([0.5, 0.5], [[-4.0], [4.0]], [[[0.05**2]], [[1.0]]])
"""One component in which the score is large, one in which it is not."""


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


PLACES = {
    "R^2": (NORMAL([0.0, 0.0]), lambda n, rng: 0.3 + rng.standard_normal((n, 2))),
    "ball": (
        gs.families.Truncated(NORMAL(np.zeros(2)), gs.Ball(2)),
        lambda n, rng: gs.Ball(2).sample_uniform(n, rng),
    ),
    "box": (gs.families.Uniform(gs.Box([0, 0], [1, 2])), lambda n, rng: rng.beta(2, 1, (n, 2)) * [1, 2]),
    "simplex": (gs.families.Dirichlet([0.5, 0.7, 2.0]), lambda n, rng: rng.dirichlet([1, 1, 1], n)),
    "polygon": (
        gs.families.Uniform(L_SHAPE),
        lambda n, rng: gs.families.Truncated(NORMAL([1.0, 1.0], 2.0), L_SHAPE).sample(n, rng),
    ),
}


def objective(place: str, kernel=None, penalty: float = 0.02):
    """That of the domain's own g at 40 points, with four bumps."""
    model, draw = PLACES[place]
    operator = gs.Standardised() if model.domain.has_boundary else gs.Standardised(gs.auxiliary.Unit())
    problem = compose(draw(40, rng(3)), model, None, operator, kernel or IMQ())
    bumps = learnt._bumps(problem.features.points, 4, rng(2))
    return problem, bumps, learnt.PenalisedCriterion(problem.features, problem.fitted_kernel, bumps, penalty)


THETA = np.array([0.5, -0.3, 0.8, 0.1])


@pytest.mark.parametrize("kernel", [IMQ(), Gaussian(0.7), Gaussian(0.4) + IMQ(1.0)], ids=["imq", "g", "sum"])
@pytest.mark.parametrize("place", PLACES)
def test_gradient_of_the_objective(place, kernel):
    _, _, target = objective(place, kernel)
    for theta in (np.zeros(4), THETA):
        error = check_grad(lambda t: target(t)[0], lambda t: target(t)[1], theta, epsilon=1e-6)
        assert error < 1e-5 * (1 + np.abs(target(theta)[1]).max())


@pytest.mark.parametrize("place", PLACES)
def test_criterion_is_that_of_the_operator_with_this_g(place):
    """The tilted Stein matrix against the one that any test with this g computes."""
    problem, bumps, target = objective(place)
    domain = problem.domain
    tilt = learnt.Bumps(bumps.centres, bumps.widths, THETA)
    base = default_auxiliary(domain).fitted(problem.observations, domain)

    def value(x):
        g = base.value(x, domain)
        return (g.T * tilt.value(x, domain)).T

    def gradient(x):
        g, dg = base.evaluate(x, domain)
        r, dr = tilt.evaluate(x, domain)
        return dg * r[:, None] + (g[:, None] if g.ndim == 1 else g) * dr

    h = gs.stein_matrix(
        problem.observations,
        problem.model,
        domain=domain,
        operator=gs.Standardised(gs.Auxiliary(value, gradient)),
        kernel=problem.fitted_kernel,
    )
    n = len(h)
    rows = [sum(h[i, j] for j in range(n) if j != i) / (n - 1) for i in range(n)]
    got = target.criterion(THETA)
    assert got.value == pytest.approx(np.mean(rows) / (2 * np.std(rows, ddof=1)), rel=2e-3)
    assert got.u / got.sigma == pytest.approx(np.mean(rows) / (2 * np.std(rows, ddof=1)), rel=1e-9)


@pytest.mark.parametrize("place", ["R^2", "simplex"])
def test_derivatives_of_the_bumps(place):
    """Against JAX, along the tangent space."""
    problem, bumps, _ = objective(place)
    domain, x = problem.domain, problem.observations
    value, slope = learnt.Bumps(bumps.centres, bumps.widths, THETA).evaluate(x, domain)
    basis = np.eye(domain.dim) if domain.basis is None else domain.basis

    def g(y):
        z = (y - bumps.centres) / bumps.widths
        bumps_there = jnp.exp(-0.5 * jnp.sum(z**2, axis=1))
        return jnp.exp(jnp.sum(THETA * bumps_there) / jnp.sum(bumps_there))

    expected, derivative = (evaluated(jax.vmap(f), x @ basis.T) for f in (g, jax.grad(g)))
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(slope @ basis.T, derivative, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("place", ["ball", "box", "simplex", "polygon"])
def test_vanishes_on_the_boundary_and_passes_the_audit(place):
    model, draw = PLACES[place]
    x = draw(60, rng(3))
    g = gs.auxiliary.learn(x, model, penalty=0.05, rng=1)
    assert g.value(x, model.domain).mean() == pytest.approx(1.0)
    assert (g.value(draw(30, rng(4)), model.domain) > 0).all()
    for face in model.domain.faces(x, rng()):
        weight = gs.Standardised(g).boundary_weight(
            model.domain, face.points + 1e-12 * face.normals, face.normals
        )
        assert np.abs(weight).max() < 1e-9
    report = gs.audit(model, operator=gs.Standardised(g), rng=2)
    assert report.valid, str(report)


# --- learning -----------------------------------------------------------------------------------------


def test_learning_improves_the_criterion_and_stays_within_its_bounds():
    x = _shifted(200, rng())
    weak, strong = (gs.auxiliary.learn(x, UNEQUAL, penalty=p, max_ratio=8.0, rng=1) for p in (0.01, 100.0))
    assert weak.before.value == strong.before.value
    assert weak.after.value > strong.after.value > weak.before.value
    values = weak.value(np.linspace(-9, 9, 400)[:, None], LINE)
    assert 5.0 < values.max() / values.min() <= 8.0 * (1 + 1e-9)
    assert np.abs(strong.coefficients).max() < 0.01
    # It turns away from the component in which the score is large.
    low, high = weak.value(np.array([[-4.0], [4.0]]), LINE)
    assert high > 3 * low
    assert isinstance(weak.kernel.bandwidth, float)


def test_same_seed_same_function_and_many_rows_are_thinned():
    x = rng().standard_normal((60, 1))
    first, again = (gs.auxiliary.learn(x, NORMAL(), max_rows=30, rng=1) for _ in range(2))
    np.testing.assert_array_equal(first.coefficients, again.coefficients)
    with pytest.raises(gs.InputError, match=r"60 of 60 .* 60 training rows"):
        gs.ksd_test(x, NORMAL(), operator=gs.Standardised(first))


def _shifted(n, generator, shift=0.5):
    narrow = generator.random(n) < 0.5
    wide = 4 + shift + generator.standard_normal(n)
    return np.where(narrow, -4 + 0.05 * generator.standard_normal(n), wide)[:, None]


def test_power_where_the_score_is_large_in_the_wrong_place():
    """Held-out rows with g against all rows without it."""
    found = {"all rows, g = 1": 0, "learnt": 0}
    for trial in range(40):
        x = _shifted(400, rng(trial))
        null = gs.WildBootstrap(99)
        g = gs.auxiliary.learn(x[:150], UNEQUAL, penalty=0.03, max_ratio=100.0, rng=trial)
        options = {"operator": gs.Standardised(g), "kernel": g.kernel, "null": null, "rng": 1, "workers": 1}
        found["learnt"] += gs.ksd_test(x[150:], UNEQUAL, **options).pvalue <= 0.05
        found["all rows, g = 1"] += gs.ksd_test(x, UNEQUAL, null=null, rng=1, workers=1).pvalue <= 0.05
    assert found["learnt"] >= found["all rows, g = 1"] + 6, found


@pytest.mark.filterwarnings("ignore:The features are so skewed:goodstein.errors.CalibrationWarning")
@trials(60, 200)
def test_level_on_held_out_rows(trials):
    found = []
    for trial in range(trials):
        x = rng(2000 + trial).standard_normal((90, 1))
        g = gs.auxiliary.learn(x[:30], NORMAL(), penalty=0.03, rng=trial)
        options = {"kernel": g.kernel, "null": gs.WildBootstrap(99), "workers": 1, "rng": trial}
        found.append(gs.ksd_test(x[30:], NORMAL(), operator=gs.Standardised(g), **options).pvalue)
    check_level(found, 0.1, 0.2)


# --- refusals -----------------------------------------------------------------------------------------


def test_refuses_training_rows():
    x = rng().standard_normal((60, 1))
    g = gs.auxiliary.learn(x[:30], NORMAL(), rng=1)
    copy = pickle.loads(pickle.dumps(g))
    np.testing.assert_array_equal(copy.value(x, LINE), g.value(x, LINE))
    for auxiliary in (g, copy):
        with pytest.raises(
            gs.InputError, match=r"`data`: 30 of 60 rows .*30 training rows on which learn\(30 rows\) was"
        ):
            gs.ksd_test(x, NORMAL(), operator=gs.Standardised(auxiliary))
    result = gs.ksd_test(x[30:], NORMAL(), operator=gs.Standardised(g), null=gs.MonteCarlo(19), rng=1)
    assert result.n == 30


def test_another_domain_and_a_boundary_that_is_none_are_refused():
    x = np.abs(rng().standard_normal((30, 1)))
    g = gs.auxiliary.learn(x, gs.families.Gamma(1.0), rng=1)
    with pytest.raises(gs.InputError, match=r"was found on .* and cannot be used on"):
        gs.ksd_test(-x, NORMAL(), operator=gs.Standardised(g))
    model, draw = PLACES["box"]
    g = gs.auxiliary.learn(draw(50, rng()), model, boundary=gs.auxiliary.Unit(), rng=1)
    with pytest.raises(gs.SteinIdentityError):
        gs.ksd_test(draw(50, rng(2)), model, operator=gs.Standardised(g))


def test_drift_is_finite_where_parts_are_zero():
    """Dirichlet: g·s is 0·∞ on a face, b is the limit from inside."""
    model, draw = PLACES["simplex"]
    g = gs.auxiliary.learn(draw(80, rng(3)), model, penalty=0.05, rng=1)
    simplex, wrapped = model.domain, gs.as_model(model)
    edge = np.array([[0.0, 0.4, 0.6], [0.3, 0.7, 0.0]])
    near = edge + 1e-9 * np.where(edge == 0, 2.0, -1.0)
    drift = g.drift(edge, *g.evaluate(edge, simplex), wrapped)
    limit = g.drift(near, *g.evaluate(near, simplex), wrapped)
    np.testing.assert_allclose(drift, limit, rtol=1e-6, atol=1e-6)
    inner = rng().dirichlet([2, 2, 2], 5)
    value, slope = g.evaluate(inner, simplex)
    plain = value[:, None] * wrapped.score(inner) + slope
    np.testing.assert_allclose(g.drift(inner, value, slope, wrapped), plain, rtol=1e-9)


# --- rows that were seen before -------------------------------------------------------------------------


def test_rounded_data_are_not_refused_for_their_ties():
    for seed in range(5):
        x = np.round(rng(seed).standard_normal((400, 1)), 2)
        rows = SeenRows(x[:150])
        rows.refuse(x[150:], "it")
        for bad in (x[:150], rng(seed).permutation(x[:150]), x[20:120], x[50:200]):
            with pytest.raises(gs.InputError, match="it was chosen"):
                rows.refuse(bad, "it")


def test_ties_of_few_states_are_natural():
    """Coin tosses: nobody can tell which of them were seen before."""
    x = rng().integers(0, 2, (300, 1)).astype(float)
    SeenRows(x[:100], discrete=True).refuse(x[100:], "it")
    SeenRows(x[:100], discrete=True).refuse(x, "it")
    with pytest.raises(
        gs.InputError, match="100 of 100 rows"
    ):  # but a hundred in the same order are no chance
        SeenRows(x[:100], discrete=True).refuse(x[:100], "it")
    SeenRows(x[:10], discrete=True).refuse(x[:10], "it")
    many = rng().integers(0, 2, (400, 12)).astype(float)
    rows = SeenRows(many[:150], discrete=True)
    rows.refuse(many[150:], "it")
    with pytest.raises(gs.InputError, match="it was chosen"):
        rows.refuse(many, "it")


def test_rows_read_from_a_file_may_coincide_by_chance_but_not_all():
    x = np.round(rng().standard_normal((300, 2)), 5)
    x[200] = x[0]
    rows = SeenRows(x[:100])
    rows.refuse(x[100:], "it")
    for bad in (x, x[50:], x[:100]):
        with pytest.raises(gs.InputError, match="it was chosen"):
            rows.refuse(bad, "it")


def test_false_refusals_are_rare():
    """Independent data of many kinds, tied and not: none is refused in 2000 tries."""
    generator = rng()
    for _ in range(500):
        decimals, n = int(generator.integers(0, 5)), int(generator.integers(20, 300))
        x = np.round(generator.standard_normal((n + 40, 1)), decimals)
        SeenRows(x[:40]).refuse(x[40:], "it")
        y = generator.poisson(generator.uniform(0.1, 30), (n + 40, 1)).astype(float)
        SeenRows(y[:40], discrete=True).refuse(y[40:], "it")
        SeenRows(y[40:], discrete=True).refuse(y[:40], "it")
        z = generator.integers(0, 3, (n + 40, 3)).astype(float)
        SeenRows(z[:40], discrete=True).refuse(z[40:], "it")


def test_looking_for_training_rows_is_fast():
    rows = SeenRows(rng().standard_normal((500, 5)))
    x = rng(2).standard_normal((500, 5))
    start = time.perf_counter()
    for _ in range(20):
        rows.refuse(x, "it")
    assert (time.perf_counter() - start) / 20 < 0.01


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"n_features": 0}, "`n_features` must be an integer"),
        ({"penalty": -1.0}, "`penalty` must be a positive number"),
        ({"max_ratio": 1.0}, "`max_ratio` must be a number above 1"),
        ({"max_rows": 5}, "`max_rows` must be an integer of at least 10"),
        ({"kernel": gs.Whitened()}, "`kernel` must be a plain radial kernel"),
        ({"kernel": "gaussian"}, "`kernel` must be a kernel"),
        ({"boundary": 1.0}, "`boundary` must be an auxiliary function"),
        ({"model": gs.families.UniformOnSphere(2)}, "none of them"),
        ({"training": np.ones((5, 2))}, "`training` has 5 rows; at least 10"),
        ({"training": np.full((20, 2), np.nan)}, "hold NaN"),
        (
            {"training": gs.Censored(np.arange(1.0, 31.0)), "model": gs.families.Exponential()},
            "`training`: auxiliary functions are found on points",
        ),
    ],
)
def test_bad_input(options, told):
    x = rng().standard_normal((30, 2))
    model = options.pop("model", NORMAL([0.0, 0.0]))
    if told == "none of them":
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    with pytest.raises(gs.InputError, match=told):
        gs.auxiliary.learn(options.pop("training", x), model, **options)
