"""Ratios of densities as auxiliary functions: recovery, derivatives, the boundary, refusals, level."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

import goodstein as gs
from goodstein.auxiliary import ratio
from goodstein.data.rows import SeenRows
from levels import check_level, trials

NORMAL = gs.families.Normal
LINE = gs.Euclidean(1)
L_SHAPE = gs.Polygon([(0, 0), (4, 0), (4, 2), (2, 2), (2, 4), (0, 4)])
METHODS = ["rulsif", "kde"]

PLACES = {
    "R^2": (NORMAL([0.0, 0.0]), lambda n, rng: NORMAL([0.4, 0.0], [[1.5, 0.3], [0.3, 1.0]]).sample(n, rng)),
    "ball": (
        gs.families.Truncated(NORMAL(np.zeros(3)), gs.Ball(3)),
        lambda n, rng: gs.Ball(3).sample_uniform(n, rng),
    ),
    "box": (gs.families.Uniform(gs.Box([0, 0], [1, 2])), lambda n, rng: rng.beta(2, 1, (n, 2)) * [1, 2]),
    "half-line": (gs.families.Gamma(0.7), lambda n, rng: rng.gamma(1.0, size=(n, 1))),
    "simplex": (gs.families.Dirichlet([0.5, 0.7, 2.0]), lambda n, rng: rng.dirichlet([1, 1, 1], n)),
    "polygon": (
        gs.families.Uniform(L_SHAPE),
        lambda n, rng: gs.families.Truncated(NORMAL([1.0, 1.0], 2.0), L_SHAPE).sample(n, rng),
    ),
}


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def found(place: str, method: str, n: int = 80):
    model, draw = PLACES[place]
    x = draw(n, rng(3))
    return model, x, gs.auxiliary.density_ratio(x, model, method=method, rng=1)


# --- what it is -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_recovers_the_relative_ratio_of_two_normals(method):
    """Against the densities of SciPy, in L²(p); a constant, the best that knows nothing, is far off."""
    p, q, alpha = norm(0.5, 1.3), norm(0.0, 1.0), 0.1
    x = p.rvs(size=800, random_state=1)[:, None]
    g = gs.auxiliary.density_ratio(x, NORMAL(0.0, 1.0), method=method, alpha=alpha, floor=1e-9, rng=1)
    fresh = p.rvs(size=4000, random_state=2)
    odds = q.pdf(fresh) / p.pdf(fresh)
    if method == "kde":  # its constant is such that the median of q/p is one
        odds /= np.median(odds)
    truth = odds / (alpha * odds + 1 - alpha)
    truth /= truth.mean()
    error = np.sqrt(np.mean((g.value(fresh[:, None], LINE) - truth) ** 2))
    assert error < 0.12
    assert truth.std() > 0.4


def test_coefficients_minimise_the_objective_among_those_that_are_not_negative():
    on_nu, on_de = rng(1).random((30, 6)), rng(2).random((30, 6))
    theta = ratio.least_squares(on_nu, on_de, 0.2, 0.05)

    def objective(theta):
        square = 0.2 * np.mean((on_nu @ theta) ** 2) + 0.8 * np.mean((on_de @ theta) ** 2)
        return 0.5 * square + 0.025 * theta @ theta - np.mean(on_nu @ theta)

    best = minimize(objective, np.full(6, 0.3), bounds=[(0, None)] * 6, tol=1e-14)
    assert (theta >= 0).all() and (theta == 0).any()
    assert objective(theta) <= best.fun + 1e-9


def test_leave_one_out_is_what_it_says():
    """Every pair left out in turn, and the estimate made anew without it."""
    on_nu, on_de, alpha = rng(1).random((12, 4)), rng(2).random((12, 4)), 0.3
    for penalty, got in zip((0.1, 2.0), ratio.leave_one_out(on_nu, on_de, alpha, (0.1, 2.0)), strict=True):
        scores = []
        for i in range(12):
            keep = np.arange(12) != i
            a, b = on_nu[keep], on_de[keep]
            matrix = (alpha * a.T @ a + (1 - alpha) * b.T @ b) / 11 + penalty * np.eye(4)
            theta = np.linalg.solve(matrix, a.mean(axis=0))
            nu, de = on_nu[i] @ theta, on_de[i] @ theta
            scores.append(0.5 * (alpha * nu**2 + (1 - alpha) * de**2) - nu)
        assert got == pytest.approx(np.mean(scores), rel=1e-10)


def test_kde_ratio_is_the_tempered_ratio_and_does_not_overflow_far_out():
    x = rng().standard_normal((50, 1))
    g = gs.auxiliary.density_ratio(x, gs.families.StudentT(3, [0.0]), method="kde")
    far = np.array([[-1e3], [30.0], [1e6]])
    value, slope = g.evaluate(far, LINE)
    assert np.isfinite(value).all() and np.isfinite(slope).all()
    # The tails of q are heavier than those of the estimate: r is at its bound 1/α, and flat.
    assert value == pytest.approx(value[0], rel=1e-9)
    np.testing.assert_allclose(slope, 0.0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("place", PLACES)
def test_mean_one_positive_and_smooth(place, method):
    model, x, g = found(place, method)
    domain = model.domain
    assert g.value(x, domain).mean() == pytest.approx(1.0)
    inner = PLACES[place][1](30, rng(5))
    value, slope = g.evaluate(inner, domain)
    np.testing.assert_allclose(value, g.value(inner, domain), rtol=1e-12)
    assert (value > 0).all()
    basis = np.eye(domain.dim) if domain.basis is None else domain.basis
    for i, direction in enumerate(basis):
        if value.ndim == 1:
            expected, got = _along(lambda p: g.value(p, domain), inner, direction), slope @ direction
        else:
            expected, got = _along(lambda p, i=i: g.value(p, domain)[:, i], inner, direction), slope[:, i]
        np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-6 * np.abs(slope).max())


def _along(function, x, direction, step=1e-6):
    return (function(x + step * direction) - function(x - step * direction)) / (2 * step)


def test_drift_is_finite_where_parts_are_zero():
    """Dirichlet: g·s is 0·∞ on a face, b is the limit from inside."""
    model, _, g = found("simplex", "rulsif")
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


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("place", ["ball", "box", "half-line", "simplex", "polygon"])
def test_vanishes_on_the_boundary_and_passes_the_audit(place, method):
    model, x, g = found(place, method)
    for face in model.domain.faces(x, rng()):
        weight = gs.Standardised(g).boundary_weight(
            model.domain, face.points + 1e-12 * face.normals, face.normals
        )
        assert np.abs(weight).max() < 1e-9
    report = gs.audit(model, operator=gs.Standardised(g), rng=2)
    assert report.valid, str(report)


def test_without_boundary_function_the_audit_refuses():
    model, draw = PLACES["box"]
    g = gs.auxiliary.density_ratio(draw(50, rng()), model, boundary=gs.auxiliary.Unit(), rng=1)
    with pytest.raises(gs.SteinIdentityError):
        gs.ksd_test(draw(50, rng(2)), model, operator=gs.Standardised(g))


# --- training rows --------------------------------------------------------------------------------


def test_refuses_training_rows():
    x = rng().standard_normal((90, 1))
    g = gs.auxiliary.density_ratio(x[:40], NORMAL(), rng=1)
    operator = gs.Standardised(g)
    assert gs.ksd_test(x[40:], NORMAL(), operator=operator, rng=1).n == 50
    for rows, told in [(x[:40], "40 of 40"), (x, "40 of 90"), (x[39:], "1 of 51 rows .row 0.")]:
        with pytest.raises(
            gs.InputError, match=rf"`data`: {told}.*40 training rows.*density_ratio.*Pass other rows"
        ):
            gs.ksd_test(rows, NORMAL(), operator=operator, rng=1)
    with pytest.raises(gs.InputError, match="training rows"):
        gs.stein_matrix(x, NORMAL(), operator=operator)
    with pytest.raises(gs.InputError, match="training rows"):
        gs.ksd_test(-0.0 + x[::-1], NORMAL(), operator=pickle.loads(pickle.dumps(operator)))


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


def test_simulated_samples_and_workers_give_the_same_p_value():
    x = rng().standard_normal((60, 1))
    g = gs.auxiliary.density_ratio(x[:30], NORMAL(), rng=1)
    results = [
        gs.ksd_test(
            x[30:], NORMAL(), operator=gs.Standardised(g), null=gs.MonteCarlo(39), workers=workers, rng=1
        )
        for workers in (1, 2)
    ]
    assert results[0].pvalue == results[1].pvalue
    again = gs.auxiliary.density_ratio(x[:30], NORMAL(), rng=1)
    np.testing.assert_array_equal(again.value(x, LINE), g.value(x, LINE))
    assert "density_ratio(rulsif, 30 rows)" in str(results[0])


# --- level ----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The features are so skewed:goodstein.errors.CalibrationWarning")
@trials(60, 200)
@pytest.mark.parametrize("method", METHODS)
def test_level_on_held_out_rows(method, trials):
    found = []
    for trial in range(trials):
        x = rng(1000 + trial).standard_normal((90, 1))
        g = gs.auxiliary.density_ratio(x[:30], NORMAL(), method=method, rng=trial)
        options = {"null": gs.WildBootstrap(99), "workers": 1, "rng": trial}
        found.append(gs.ksd_test(x[30:], NORMAL(), operator=gs.Standardised(g), **options).pvalue)
    check_level(found, 0.1, 0.2)


# --- bad input ------------------------------------------------------------------------------------

SCORE_ONLY = gs.Model(score=lambda x: -x, domain=LINE, name="no sampler")
ON_PLANE = gs.Model(score=lambda x: -x, domain=gs.Euclidean(2), name="no sampler")
POINTS, PLANE = rng().standard_normal((30, 1)), rng().standard_normal((30, 2))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"method": "uniform"}, "`method` must be 'rulsif' or 'kde'"),
        ({"alpha": 1.0}, "`alpha` must be a number between 0 and 1"),
        ({"floor": 0}, "`floor` must be a positive number"),
        ({"n_centres": 0}, "`n_centres` must be an integer"),
        ({"boundary": gs.Standardised()}, "`boundary` must be an auxiliary function"),
        ({"training": POINTS[:5]}, "`training` has 5 rows; at least 10"),
        ({"training": PLANE, "model": ON_PLANE}, r'has no sampler. .*method="kde"'),
        ({"model": SCORE_ONLY, "method": "kde"}, r'has only a score.*method="rulsif"'),
        ({"training": [[0.0, 1.0]] * 20, "model": NORMAL([0, 0]), "method": "kde"}, "lie in a subspace"),
        ({"training": POINTS, "model": gs.families.VonMises(0, 1)}, "none of them"),
        (
            {"training": gs.Censored(np.abs(POINTS[:, 0])), "model": gs.families.Exponential()},
            "`training`: auxiliary functions are found on points",
        ),
        ({"training": np.full((20, 1), np.nan)}, "hold NaN"),
    ],
)
def test_bad_input(options, told):
    training = options.pop("training", POINTS)
    model = options.pop("model", NORMAL())
    with pytest.raises(gs.InputError, match=told):
        gs.auxiliary.density_ratio(training, model, **options)


def test_another_domain_is_refused():
    g = gs.auxiliary.density_ratio(np.abs(POINTS), gs.families.Gamma(1.0), rng=1)
    with pytest.raises(gs.InputError, match=r"was found on .* and cannot be used on"):
        gs.ksd_test(POINTS, NORMAL(), operator=gs.Standardised(g))
