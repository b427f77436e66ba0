"""What must not change the result, and what must change it in a known way."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import helmert

import goodstein as gs
from definitions import BOWL, CROSSED, ENTROPIC, PARTS_MATRIX, SKEWED, assert_same
from goodstein.adapters import as_model
from goodstein.data import Points
from goodstein.engine.signs import independent_signs
from goodstein.families import (
    Dirichlet,
    GaussianMixture,
    LogisticNormal,
    Normal,
    StudentT,
    Truncated,
    Uniform,
)
from goodstein.kernels import IMQ, Gaussian, Matern52, Whitened
from goodstein.nulls.base import draw_seed
from goodstein.problems.problem import Problem

# What must not change is not the level.
pytestmark = pytest.mark.filterwarnings(
    "ignore:The features are so skewed:goodstein.errors.CalibrationWarning"
)

COV = np.array([[1.5, 0.6], [0.6, 0.8]])
NORMAL = Normal([0.2, 1.0], COV)
MIXTURE = GaussianMixture([0.3, 0.7], [[-1, 0.5], [1, 0]], [COV, 0.5 * np.eye(2)])
BOX = gs.Box([0.0, -1.0], [1.0, 2.0])
STRIP = gs.Box([0.0, -np.inf], [np.inf, np.inf])

rng = np.random.default_rng(20_220_328)
PLANE = np.round(rng.standard_normal((40, 2)) * 2**20) / 2**20  # so that adding 1e6 loses no digits
IN_BOX = np.round(rng.uniform(BOX.lower, BOX.upper, (40, 2)) * 2**20) / 2**20
IN_STRIP = np.abs(PLANE)
PARTS = rng.dirichlet([1.0, 2.0, 1.5], 40)

SIMPLEX_OPERATORS = [
    gs.LogRatio(),
    gs.Mirrored(),
    gs.Langevin(),
    gs.Standardised(),
    gs.Standardised(gs.ProductOfParts(2)),
    gs.Standardised(gs.ProductOfParts(0.5)),
    gs.Standardised(gs.GeometricMean()),
    gs.Standardised(gs.BoundaryDistance()),
    gs.Standardised(
        gs.Auxiliary(lambda x: x.min(axis=1) * (1 - (x**2).sum(axis=1)))
    ),  # differentiated numerically
    pytest.param(ENTROPIC, id="G = diag(x) - xx'"),
    pytest.param(PARTS_MATRIX, id="G = prod(x) I"),
]


def named(operator) -> str:
    return repr(operator).replace("auxiliary=None", "")


# --- the normalising constant, and scale of g ----------------------------------------------------


def quartic(x):
    return -0.25 * (x**4).sum(axis=-1) + 0.5 * x[..., 0] * x[..., 1]


@pytest.mark.parametrize(
    ("logpdf", "rtol"),
    [(quartic, 1e-9), (lambda x: jnp.asarray(quartic(x)), 0.0)],
    ids=["differentiated numerically", "differentiated by JAX"],
)
@pytest.mark.parametrize("log_constant", [-3.0, 50.0])
def test_a_constant_factor_of_the_density_changes_nothing(logpdf, rtol, log_constant):
    matrices = [
        gs.stein_matrix(PLANE, gs.Model(logpdf=function), kernel=IMQ(1.0))
        for function in (logpdf, lambda x: logpdf(x) + log_constant)
    ]
    assert_same(matrices[1], matrices[0], rtol)


@pytest.mark.parametrize("c", [3.7, 1e-80, 1e80])
@pytest.mark.parametrize("kind", ["scalar", "diagonal", "matrix"])
def test_a_multiple_of_g_multiplies_the_matrix_by_its_square_and_keeps_the_pvalue(kind, c):
    def operator(factor):
        if kind == "matrix":
            return gs.MatrixStandardised(
                lambda x: factor * SKEWED.G(x), lambda x: factor * SKEWED.divergence(x)
            )
        given = BOWL if kind == "scalar" else CROSSED
        return gs.Standardised(
            gs.Auxiliary(lambda x: factor * given._value(x), lambda x: factor * given._gradient(x))
        )

    common = {"kernel": IMQ(1.0)}
    one, other = (gs.stein_matrix(PLANE, MIXTURE, operator=operator(f), **common) for f in (1.0, c))
    assert_same(other / c**2, one, 1e-12)
    one, other = (gs.ksd_test(PLANE, MIXTURE, operator=operator(f), rng=3, **common) for f in (1.0, c))
    assert other.pvalue == one.pvalue
    assert other.statistic == pytest.approx(c**2 * one.statistic, rel=1e-10)


# --- coordinates ---------------------------------------------------------------------------------

SHIFT = np.array([1e6, -1e6])
TRIANGLE = np.array([(0.0, -1.0), (1.0, -1.0), (0.5, 2.0)])


def shifted_polytope(shift):
    normals = np.array([[0.0, -1.0], [6.0, 1.0], [-6.0, 1.0]])
    return gs.Polytope(normals, np.array([1.0, 5.0, -1.0]) + normals @ shift)


@pytest.mark.parametrize(
    ("domain", "operator"),
    [
        (lambda shift: gs.Euclidean(2), gs.Langevin()),
        (lambda shift: gs.Box(BOX.lower + shift, BOX.upper + shift), gs.Standardised()),
        (lambda shift: gs.Box(BOX.lower + shift, BOX.upper + shift), gs.Standardised(gs.BoundaryDistance())),
        (lambda shift: gs.Box(BOX.lower + shift, BOX.upper + shift), gs.Mirrored()),
        (lambda shift: gs.Box(BOX.lower + shift, np.inf), gs.Standardised()),
        (lambda shift: gs.Ball(2, 3.0, shift), gs.Standardised(gs.BallPower(1))),
        (shifted_polytope, gs.Standardised()),
        (lambda shift: gs.Polygon(TRIANGLE + shift), gs.Standardised()),
    ],
    ids=lambda value: named(value) if not callable(value) else None,
)
def test_a_translation_of_data_and_model_changes_nothing(domain, operator):
    """By 1e6, far beyond any bandwidth; a polygon's feet are rounded at that magnitude, to 1e-10."""
    data = IN_BOX[
        np.abs(IN_BOX[:, 0] - 0.5) < (2 - IN_BOX[:, 1]) / 6
    ]  # in the triangle, and so in all of them
    for kernel in (IMQ(0.7), Gaussian(), Matern52(0.7)):
        matrices = []
        for shift in (np.zeros(2), SHIFT):
            model = Truncated(Normal(NORMAL.mean + shift, COV), domain(shift))
            matrices.append(gs.stein_matrix(data + shift, model, operator=operator, kernel=kernel))
        assert_same(matrices[1], matrices[0], 1e-8)


def test_a_translation_keeps_the_pvalue():
    for signs in ("iid", "orthogonal"):
        results = [
            gs.ksd_test(PLANE + s, Normal(NORMAL.mean + s, COV), null=gs.WildBootstrap(signs=signs), rng=1)
            for s in (np.zeros(2), SHIFT)
        ]
        assert results[1].pvalue == results[0].pvalue


@pytest.mark.parametrize("kernel", [IMQ(), Gaussian(0.8), Matern52(1.0), Gaussian(0.5) + IMQ(2.0)], ids=repr)
@pytest.mark.parametrize(
    ("model", "operator"),
    [
        (lambda turn: Normal(turn @ NORMAL.mean, turn @ COV @ turn.T), gs.Langevin()),
        (lambda turn: StudentT(5, turn @ NORMAL.mean, turn @ COV @ turn.T), gs.Standardised(BOWL)),
        (
            lambda turn: Truncated(Normal(turn @ NORMAL.mean, turn @ COV @ turn.T), gs.Ball(2, 4.0)),
            gs.Standardised(gs.BallPower(4)),
        ),
    ],
    ids=["Langevin", "scalar g", "ball"],
)
def test_a_rotation_of_data_and_model_changes_nothing(model, operator, kernel):
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((2, 2)))
    for rotation in (turn, turn @ np.diag([1.0, -1.0])):
        expected = gs.stein_matrix(PLANE, model(np.eye(2)), operator=operator, kernel=kernel)
        got = gs.stein_matrix(PLANE @ rotation.T, model(rotation), operator=operator, kernel=kernel)
        assert_same(got, expected, 1e-11)


@pytest.mark.parametrize("inner", [IMQ(), Gaussian(1.2), Matern52()], ids=repr)
@pytest.mark.parametrize(
    "linear_map",
    [np.array([[2.0, 0.7], [-0.3, 0.5]]), np.diag([1e-6, 1e3]), np.array([[1.0, 1e3], [0.0, 1.0]])],
    ids=["general", "units", "shear"],
)
def test_a_whitened_kernel_does_not_see_linear_maps(linear_map, inner):
    """Of data and model; with the metric taken from the data, and the Langevin operator."""

    def moved(model, matrix):
        covs = [matrix @ cov @ matrix.T for cov in model.covs]
        return GaussianMixture(model.weights, model.means @ matrix.T, covs)

    kernel = Whitened(inner)
    expected = gs.stein_matrix(PLANE, MIXTURE, kernel=kernel)
    got = gs.stein_matrix(PLANE @ linear_map.T, moved(MIXTURE, linear_map), kernel=kernel)
    assert_same(got, expected, 1e-7)  # the covariance of sheared data has a condition of 1e6
    one, other = (
        gs.ksd_test(PLANE @ m.T, moved(MIXTURE, m), kernel=kernel, rng=2) for m in (np.eye(2), linear_map)
    )
    assert other.pvalue == one.pvalue
    # A kernel that is not whitened does see them.
    plain = gs.stein_matrix(PLANE @ linear_map.T, moved(MIXTURE, linear_map), kernel=inner)
    assert np.abs(plain / np.trace(plain) - expected / np.trace(expected)).max() > 1e-3


@pytest.mark.parametrize("operator", [gs.Standardised(), gs.Mirrored()], ids=named)
@pytest.mark.parametrize("domain", [BOX, STRIP], ids=repr)
def test_units_of_one_coordinate_do_not_change_the_operator_on_a_box(domain, operator):
    """g_i ∂_i and b_i have no unit where g_i is a length, so that only the kernel knows the units.

    A mirrored half-line has g = x and a free coordinate g = 1 there, which is not a length.
    """
    data = IN_BOX if domain is BOX else IN_STRIP
    units = np.array([1000.0, 1.0]) if operator == gs.Mirrored() else np.array([1000.0, 0.01])
    found = []
    for unit in (np.ones(2), units):
        box = gs.Box(domain.lower * unit, domain.upper * unit)
        model = as_model(Truncated(Normal(NORMAL.mean * unit, COV * np.outer(unit, unit)), box))
        found.append(Problem(Points(data * unit), model, box, operator, IMQ()).features)
    one, other = found
    np.testing.assert_allclose(other.value, one.value, rtol=1e-11)
    np.testing.assert_allclose(other.weight, one.weight * units, rtol=1e-11)
    np.testing.assert_allclose(other.points, one.points * units, rtol=1e-15)


@pytest.mark.parametrize("domain", [BOX, STRIP], ids=repr)
def test_a_common_unit_changes_nothing_on_a_box(domain):
    """With g and the bandwidth taken from the data or the box."""
    data = IN_BOX if domain is BOX else IN_STRIP
    expected = gs.stein_matrix(data, Truncated(NORMAL, domain))
    for unit in (1e-5, 1e4):
        box = gs.Box(domain.lower * unit, domain.upper * unit)
        model = Truncated(Normal(NORMAL.mean * unit, COV * unit**2), box)
        assert_same(gs.stein_matrix(data * unit, model), expected, 1e-11)


# --- compositions --------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", SIMPLEX_OPERATORS, ids=named)
def test_the_names_of_the_parts_do_not_matter(operator):
    alpha = np.array([3.0, 2.5, 4.0])
    mean, cov = np.array([0.3, -0.2]), np.array([[0.8, 0.3], [0.3, 0.5]])
    contrasts = helmert(3)
    for order in ([1, 0, 2], [2, 0, 1], [0, 2, 1]):
        turn = contrasts @ np.eye(3)[order] @ contrasts.T  # log-ratios of relabelled parts
        pairs = [
            (Dirichlet(alpha), Dirichlet(alpha[order])),
            (LogisticNormal(mean, cov), LogisticNormal(turn @ mean, turn @ cov @ turn.T)),
        ]
        for one, other in pairs:
            expected = gs.stein_matrix(PARTS, one, operator=operator, kernel=IMQ(0.5))
            got = gs.stein_matrix(PARTS[:, order], other, operator=operator, kernel=IMQ(0.5))
            assert_same(got, expected, 1e-9 if "lambda" in repr(operator) else 1e-11)


def normal_part(x):
    """What changes in the score if log q is extended off the simplex otherwise: any multiple of 1."""
    return (5.0 + np.sin(7 * x[:, :1]) / x[:, 1:2]) * np.ones(3)


@pytest.mark.parametrize("weighted", [False, True], ids=["score", "weighted score"])
@pytest.mark.parametrize("operator", SIMPLEX_OPERATORS, ids=named)
def test_the_extension_of_the_density_off_the_simplex_does_not_matter(operator, weighted):
    model = Dirichlet([3.0, 0.5, 4.0])

    def score(x):
        return model.score(x) + normal_part(x)

    given = {"weighted_score": lambda x: x * score(x)} if weighted else {}
    extended = gs.Model(score=score, domain=model.domain, **given)
    expected = gs.stein_matrix(PARTS, model, operator=operator, kernel=IMQ(0.5))
    assert_same(gs.stein_matrix(PARTS, extended, operator=operator, kernel=IMQ(0.5)), expected, 1e-10)


@pytest.mark.parametrize("operator", SIMPLEX_OPERATORS, ids=named)
def test_a_density_differentiated_within_the_simplex_gives_the_same(operator):
    model = Dirichlet([3.0, 0.5, 4.0])
    numerical = gs.Model(logpdf=model.logpdf, domain=model.domain)
    expected = gs.stein_matrix(PARTS, model, operator=operator, kernel=IMQ(0.5))
    assert_same(gs.stein_matrix(PARTS, numerical, operator=operator, kernel=IMQ(0.5)), expected, 1e-7)


# --- paths ---------------------------------------------------------------------------------------


def test_a_multiple_of_the_identity_is_tested_like_a_scalar():
    def matrix(x):
        return BOWL._value(x)[:, None, None] * np.eye(2)

    scalar, full = (
        gs.ksd_test(PLANE, StudentT(9, [0, 0]), operator=operator, kernel=IMQ(), rng=5)
        for operator in (gs.Standardised(BOWL), gs.MatrixStandardised(matrix, BOWL._gradient))
    )
    assert full.pvalue == scalar.pvalue
    assert full.statistic == pytest.approx(scalar.statistic, rel=1e-11)


def test_a_default_left_out_is_the_default():
    expected = gs.stein_matrix(IN_BOX, Truncated(NORMAL, BOX))
    kernel = Whitened(IMQ(), metric="score")
    explicit = {"operator": gs.Standardised(gs.BoxProduct()), "kernel": kernel, "domain": BOX}
    np.testing.assert_array_equal(gs.stein_matrix(IN_BOX, Truncated(NORMAL, BOX), **explicit), expected)
    np.testing.assert_array_equal(gs.stein_matrix(IN_BOX, NORMAL, domain=BOX), expected)
    unit = gs.stein_matrix(PLANE, NORMAL.score, operator=gs.Standardised(None))
    np.testing.assert_allclose(unit, gs.stein_matrix(PLANE, NORMAL), rtol=1e-12, atol=1e-13)


# --- the order of rows, seeds and workers --------------------------------------------------------

MANY = np.random.default_rng(8).standard_normal((700, 2))  # several strips
SIGNS = ["iid", "orthogonal"]


def ksd_test(data=MANY, *, signs="orthogonal", seed=11, **options):
    null = gs.WildBootstrap(n_resamples=199, signs=signs)
    return gs.ksd_test(data, Normal([0.05, 0], 1.0), null=null, rng=seed, **options)


def test_the_order_of_the_rows_does_not_change_the_statistic():
    expected = ksd_test().statistic
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(MANY))
        assert ksd_test(MANY[order]).statistic == pytest.approx(expected, rel=1e-10)
    assert ksd_test(MANY[np.argsort(MANY[:, 0])]).statistic == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("signs", SIGNS)
def test_only_the_seed_decides(signs):
    reference = ksd_test(signs=signs, workers=1)
    spawn = multiprocessing.get_context("spawn")  # JAX does not survive a fork
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(1, mp_context=spawn) as processes:
        for workers in (1, 2, 3, None, -1, threads, processes):
            result = ksd_test(signs=signs, workers=workers)
            assert result.statistic == reference.statistic
            assert result.pvalue == reference.pvalue
            np.testing.assert_array_equal(result.null_distribution, reference.null_distribution)
    generator = ksd_test(signs=signs, seed=np.random.default_rng(11))
    np.testing.assert_array_equal(generator.null_distribution, reference.null_distribution)


@pytest.mark.parametrize("signs", SIGNS)
def test_other_seeds_give_other_draws_of_the_same_statistic(signs):
    one, other = ksd_test(signs=signs, seed=1), ksd_test(signs=signs, seed=2)
    assert one.statistic == pytest.approx(other.statistic, rel=1e-12)
    assert not np.isin(one.null_distribution, other.null_distribution).any()
    unseeded = [ksd_test(signs=signs, seed=None).null_distribution for _ in range(2)]
    assert not np.isin(*unseeded).any()


@pytest.mark.parametrize("signs", SIGNS)
def test_the_audit_does_not_change_the_result(signs):
    one, other = (ksd_test(signs=signs, audit=audit) for audit in (True, False))
    assert one.pvalue == other.pvalue
    np.testing.assert_array_equal(one.null_distribution, other.null_distribution)
    # Where the audit evaluates the model at faces of a boundary it draws points at random.
    compositions = np.random.default_rng(0).dirichlet([1, 1, 1], 60)
    model = Uniform(gs.Simplex(3))
    pair = [gs.ksd_test(compositions, model, audit=audit, rng=4) for audit in (True, False)]
    np.testing.assert_array_equal(pair[0].null_distribution, pair[1].null_distribution)


def test_u_and_v_statistics_have_the_same_pvalue():
    """With signs ε_i² = 1, so that the diagonal adds the same to the V-statistic and to each of its draws."""
    n, count = 80, 199
    for seed in range(8):
        data = np.random.default_rng(seed).standard_normal((n, 2))
        problem = Problem(
            Points(data), as_model(Normal([0.1, 0], 1.0)), gs.Euclidean(2), gs.Langevin(), IMQ(1.0)
        )
        null = gs.WildBootstrap(n_resamples=count, signs="iid", flip=0.5)
        u = null.calibrate(problem, workers=1, rng=np.random.default_rng(seed))
        h = problem.form.matrix()
        signs = independent_signs(draw_seed(np.random.default_rng(seed)), n, count).astype(float)
        v, draws = h.sum() / n**2, np.einsum("bi,ij,bj->b", signs, h, signs) / n**2
        assert u.pvalue == (1 + np.count_nonzero(draws >= v)) / (1 + count)
        np.testing.assert_allclose(
            draws, (u.draws * n * (n - 1) + np.trace(h)) / n**2, rtol=1e-5, atol=1e-6 * draws.std()
        )
