"""The audit: it refuses what cannot be valid, lets pass what can, and says why in words.

The truth is known in closed form here. At a face where q ~ δ^(α−1) and g ~ δ^a Stein's identity
needs α − 1 + a > 0 and a finite variance 2a + α > 2 (`methods.md` §2; Dirichlet with the
geometric mean is erratum E3, the one-face functions E2, disconnected domains E8, Exp(1) E11).
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings

import goodstein as gs
from goodstein.auditing.agreement import ROWS, check_agreement
from goodstein.auditing.conditions import exponents
from goodstein.domains import Domain, Face
from goodstein.stein.features import SteinForm

FAMILY = gs.families
SIMPLEX = gs.Simplex(3)
HALF, TWO = FAMILY.Dirichlet([0.5, 0.5, 0.5]), FAMILY.Dirichlet([2.0, 2.0, 2.0])
GEOMETRIC = gs.Standardised(gs.GeometricMean())
PRODUCT = gs.Standardised(gs.ProductOfParts())
DISTANCE = gs.Standardised(gs.BoundaryDistance())
SQUARE = gs.Polygon([(0, 0), (4, 0), (4, 4), (0, 4)], holes=[[(1, 1), (3, 1), (3, 3), (1, 3)]])
TRIANGLE = gs.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])


def dirichlet_score(alpha):
    return lambda x: (np.asarray(alpha) - 1.0) / x


def dirichlet_logpdf(alpha):
    return lambda x: ((np.asarray(alpha) - 1.0) * np.log(x)).sum(axis=1)


DIRICHLET = {
    "family": FAMILY.Dirichlet,
    "bare score": lambda alpha: gs.Model(score=dirichlet_score(alpha), domain=SIMPLEX),
    "numpy log density": lambda alpha: gs.Model(logpdf=dirichlet_logpdf(alpha), domain=SIMPLEX),
    "scipy": scipy.stats.dirichlet,
}


def check(report: gs.AuditReport, name: str):
    """The one check whose name begins like this."""
    (found,) = [item for item in report.checks if item.name.startswith(name)]
    return found


def refusal(data, model, **options) -> str:
    """What `ksd_test` says when it refuses, before any entry of the Stein matrix."""

    def reached(*_, **__):
        raise AssertionError("the Stein matrix was reached")

    with pytest.MonkeyPatch.context() as patch, pytest.raises(gs.SteinIdentityError) as caught:
        patch.setattr(SteinForm, "block", reached)
        gs.ksd_test(data, model, rng=1, **options)
    return str(caught.value)


def recommended(message: str) -> list:
    """The operators that a refusal recommends, made from its own words."""
    (advice,) = re.findall(r"Valid here: operator=(.*?)\. ?(?:\(audit|$)", message)
    names = {name: getattr(gs, name) for name in gs.__all__}
    return [eval(text.removeprefix("operator="), names) for text in advice.split(" or ")]


# --- Dirichlet: the cases that must come out right -------------------------------------------


@pytest.mark.parametrize("form", DIRICHLET)
@pytest.mark.parametrize("operator", [GEOMETRIC, gs.Langevin()], ids=repr)
def test_dirichlet_one_half_is_refused_where_the_flux_does_not_vanish(form, operator):
    model = DIRICHLET[form]([0.5, 0.5, 0.5])
    report = gs.audit(model, operator=operator, rng=1)
    assert not report.valid
    boundary = check(report, "boundary")
    assert boundary.status == "fail"
    assert re.search(r"x_[123] = 0", boundary.message)
    message = refusal(HALF.sample(30, rng=1), model, operator=operator)
    assert re.search(r"face x_[123] = 0", message)
    assert "Stein's identity fails" in message
    assert "δ^-0.50" in message
    assert "audit=False" in message


@pytest.mark.parametrize("form", DIRICHLET)
@pytest.mark.parametrize("operator", [PRODUCT, DISTANCE, gs.Mirrored(), gs.LogRatio(), None], ids=repr)
def test_dirichlet_one_half_is_accepted_by_operators_that_are_linear_at_the_faces(form, operator):
    model = DIRICHLET[form]([0.5, 0.5, 0.5])
    boundary = check(gs.audit(model, operator=operator, rng=1), "boundary")
    assert boundary.status == "pass"
    assert "0.50" in boundary.message
    gs.ksd_test(HALF.sample(30, rng=1), model, operator=operator, rng=1)


@pytest.mark.parametrize("form", DIRICHLET)
def test_dirichlet_two_is_accepted_with_the_geometric_mean(form):
    report = gs.audit(DIRICHLET[form]([2.0, 2.0, 2.0]), operator=GEOMETRIC, rng=1)
    assert check(report, "boundary").status == "pass"
    assert "1.33" in check(report, "boundary").message


def test_a_refusal_recommends_operators_that_run():
    x = HALF.sample(40, rng=3)
    operators = recommended(refusal(x, HALF, operator=GEOMETRIC))
    assert len(operators) >= 2
    for operator in operators:
        assert 0 < gs.ksd_test(x, HALF, operator=operator, rng=1).pvalue <= 1
        assert gs.audit(HALF, operator=operator, rng=1).valid


@pytest.mark.parametrize("alpha", [0.5, 0.6, 0.9, 1.2, 1.3])
def test_the_geometric_mean_of_three_parts_is_refused_up_to_alpha_four_thirds(alpha):
    """Identity: α > 1 − 1/3; variance: α > 2 − 2/3."""
    message = refusal(HALF.sample(30, rng=1), FAMILY.Dirichlet([alpha, 3.0, 3.0]), operator=GEOMETRIC)
    assert "x_1 = 0" in message
    assert ("Stein's identity fails" in message) == (alpha < 2 / 3)
    assert ("no finite variance" in message) == (alpha > 2 / 3)


@pytest.mark.parametrize("alpha", [1.4, 2.0, 10.0])
def test_the_geometric_mean_of_three_parts_is_accepted_beyond_alpha_four_thirds(alpha):
    assert gs.audit(FAMILY.Dirichlet([alpha, 3.0, 3.0]), operator=GEOMETRIC, rng=1).valid


@given(bad=st.integers(0, 3), parts=st.integers(2, 6))
@settings(max_examples=20)
def test_the_face_that_is_to_blame_is_the_one_that_is_named(bad, parts):
    bad %= parts
    alpha = np.full(parts, 5.0)
    alpha[bad] = 0.2
    message = refusal(np.full((2, parts), 1 / parts), FAMILY.Dirichlet(alpha), operator=GEOMETRIC)
    assert f"x_{bad + 1} = 0" in message
    assert "faces are affected" not in message


# --- edges where the density is positive -----------------------------------------------------

POSITIVE_ON_THE_EDGE = {
    "uniform on a box": (FAMILY.Uniform(gs.Box(0, [1, 1])), r"x_[12] = [01]"),
    "normal on a box": (FAMILY.Truncated(FAMILY.Normal([0, 0]), gs.Box(-1, [1, 2])), r"x_[12] = (-1|1|2)"),
    "normal in a ball": (FAMILY.Truncated(FAMILY.Normal([0, 0, 0]), gs.Ball(3)), r"‖x‖ = 1"),
    "normal in an interval": (FAMILY.Truncated(FAMILY.Normal(), gs.Ball(1)), r"‖x‖ = 1"),
    "uniform on a polygon": (FAMILY.Uniform(SQUARE), "outer ring|hole 1"),
    "uniform on a polytope": (FAMILY.Uniform(TRIANGLE), r"row [012]"),
    "uniform on a simplex": (FAMILY.Uniform(SIMPLEX), r"x_[123] = 0"),
    "normal on the orthant": (FAMILY.Truncated(FAMILY.Normal([1, 1]), gs.Orthant(2)), r"x_[12] = 0"),
    "student in a half-plane": (
        FAMILY.Truncated(FAMILY.StudentT(2.5, [0, 0]), gs.Polytope([[1, 1]], [1])),
        "row 0",
    ),
    "exponential": (scipy.stats.expon(), "x_1 = 0"),
    "exponential, elsewhere": (scipy.stats.expon(loc=-7, scale=100), "x_1 = -7"),
    "half-Cauchy": (scipy.stats.halfcauchy(), "x_1 = 0"),
    "half-normal": (scipy.stats.halfnorm(), "x_1 = 0"),
    "uniform": (scipy.stats.uniform(), r"x_1 = [01]"),
    "truncated normal": (scipy.stats.truncnorm(-1, 2), r"x_1 = (-1|2)"),
    "Pareto": (scipy.stats.pareto(3), "x_1 = 1"),
}


@pytest.mark.parametrize("name", POSITIVE_ON_THE_EDGE)
def test_a_density_that_is_positive_on_an_edge_is_refused_with_langevin(name):
    model, face = POSITIVE_ON_THE_EDGE[name]
    message = refusal(gs.as_model(model).sample(30, 1), model, operator=gs.Langevin())
    assert re.search(face, message)
    assert "Stein's identity fails" in message
    assert recommended(message)


@pytest.mark.parametrize("name", POSITIVE_ON_THE_EDGE)
def test_the_default_operator_accepts_a_density_that_is_positive_on_an_edge(name):
    model, _ = POSITIVE_ON_THE_EDGE[name]
    report = gs.audit(model, rng=1)
    assert report.valid, str(report)
    assert check(report, "Stein's identity").status == "pass"


@pytest.mark.parametrize("name", POSITIVE_ON_THE_EDGE)
def test_what_a_refusal_recommends_is_valid_by_the_whole_audit(name):
    model, _ = POSITIVE_ON_THE_EDGE[name]
    message = refusal(gs.as_model(model).sample(30, 1), model, operator=gs.Langevin())
    for operator in recommended(message):
        report = gs.audit(model, operator=operator, rng=1)
        assert report.valid, str(report)
        assert not report.messages("warn"), str(report)


def test_exponential_on_the_half_line_is_refused_with_langevin_in_every_form():
    x = scipy.stats.expon().rvs(30, random_state=1)
    forms = [
        gs.Model(score=lambda x: -np.ones_like(x), domain=gs.Orthant(1)),
        gs.Model(logpdf=lambda x: -x[:, 0], domain=gs.Orthant(1)),
        scipy.stats.expon(),
        scipy.stats.gamma(1.0),
        scipy.stats.weibull_min(1.0),
    ]
    for model in forms:
        assert "x_1 = 0" in refusal(x, model, operator=gs.Langevin())
    assert "x_1 = 0" in refusal(x, lambda x: -np.ones_like(x), domain=gs.Orthant(1), operator=gs.Langevin())


@pytest.mark.parametrize("upper", [10.0, 1e3, 1e5, 1e7])
def test_a_far_away_end_does_not_hide_the_near_one(upper):
    """N(0, 1) on [0, upper]: the density at 0 is positive, however far the other end is.

    At the other end it is positive too, if only just, so either may be named.
    """
    model = FAMILY.Truncated(FAMILY.Normal(), gs.Box(0, upper))
    assert "x_1 = " in refusal(model.sample(50, rng=1), model, operator=gs.Langevin())
    assert check(gs.audit(model, operator=gs.Langevin(), rng=1), "boundary").status == "fail"


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 1e6])
def test_units_do_not_matter(scale):
    box = gs.Box(0, [scale, 2 * scale])
    x = FAMILY.Uniform(box).sample(40, rng=1)
    refusal(x, FAMILY.Uniform(box), operator=gs.Langevin())
    assert gs.audit(FAMILY.Uniform(box), rng=1).valid


# --- univariate distributions of scipy, by their numerical scores -----------------------------


@pytest.mark.parametrize(
    ("distribution", "density", "langevin"),
    [
        (scipy.stats.beta(0.5, 0.5), -0.5, False),
        (scipy.stats.beta(1.5, 4.0), 0.5, False),
        (scipy.stats.beta(2.0, 4.0), 1.0, False),
        (scipy.stats.beta(2.5, 3.5), 1.5, True),
        (scipy.stats.expon(), 0.0, False),
        (scipy.stats.gamma(0.3), -0.7, False),
        (scipy.stats.gamma(3.5), 2.5, True),
        (scipy.stats.weibull_min(0.7), -0.3, False),
        (scipy.stats.weibull_min(2.5), 1.5, True),
        (scipy.stats.halfcauchy(), 0.0, False),
        (scipy.stats.uniform(), 0.0, False),
        (scipy.stats.truncnorm(-1, 2), 0.0, False),
        (scipy.stats.chi2(1), -0.5, False),
        (scipy.stats.arcsine(), -0.5, False),
        (scipy.stats.lognorm(0.5), None, True),
        (scipy.stats.invgamma(2), None, True),
    ],
    ids=lambda value: value.dist.name + str(value.args) if hasattr(value, "dist") else None,
)
def test_scipy_distributions_come_out_as_their_exponents_say(distribution, density, langevin):
    model = gs.as_model(distribution)
    x = model.sample(50, np.random.default_rng(1))
    found = exponents(model, model.domain, gs.Langevin().boundary_weight, x, np.random.default_rng(1))
    worst = min(found, key=lambda e: e.density)
    if density is not None:
        assert worst.density == pytest.approx(density, abs=1e-3)
    assert all(e.weight == 0 for e in found)
    assert check(gs.audit(model, operator=gs.Langevin(), data=x, rng=1), "boundary").status == (
        "pass" if langevin else "fail"
    )
    assert check(gs.audit(model, data=x, rng=1), "boundary").status == "pass"


# --- exponents against known ones ------------------------------------------------------------


def power(a: float, low: float = 0.0, high: float = 1.0) -> gs.Auxiliary:
    """g = (x − l)^a (u − x)^a with its derivative."""

    def value(x):
        return ((x - low) * (high - x))[:, 0] ** a

    def gradient(x):
        return a * ((x - low) * (high - x)) ** (a - 1) * (low + high - 2 * x)

    return gs.Auxiliary(value, gradient)


def beta_score(alpha: float, low: float = 0.0, high: float = 1.0):
    return lambda x: (alpha - 1.0) * (1.0 / (x - low) - 1.0 / (high - x))


@given(
    alpha=st.floats(0.05, 8.0),
    a=st.floats(0.05, 4.0),
    low=st.floats(-100.0, 100.0),
    width=st.floats(1e-3, 1e3),
)
def test_exponents_are_those_of_the_beta_density_and_of_a_power(alpha, a, low, width):
    high = low + width
    box = gs.Box(low, high)
    model = gs.Model(score=beta_score(alpha, low, high), domain=box)
    operator = gs.Standardised(power(a, low, high))
    found = exponents(model, box, operator.boundary_weight, None, np.random.default_rng(0))
    assert [e.face for e in found] == [f"x_1 = {low:g}", f"x_1 = {high:g}"]
    for e in found:
        assert e.density == pytest.approx(alpha - 1, abs=2e-3)
        assert e.weight == pytest.approx(a, abs=2e-3)


@given(alpha=st.floats(0.05, 5.0), a=st.floats(0.05, 3.0))
def test_the_line_between_valid_and_invalid_is_the_one_of_theory(alpha, a):
    identity, variance = alpha - 1 + a, 2 * a + alpha - 2
    assume(min(abs(identity), abs(variance)) > 0.02)
    model = gs.Model(score=beta_score(alpha), domain=gs.Box(0, 1))
    report = gs.audit(model, operator=gs.Standardised(power(a)), rng=0)
    assert report.valid == (identity > 0 and variance > 0), str(report)
    if not report.valid:
        why = "Stein's identity fails" if identity < 0 else "no finite variance"
        assert why in check(report, "boundary").message


@given(alpha=st.floats(-3.0, -0.02), a=st.floats(1.0, 6.0))
def test_what_has_no_finite_integral_is_no_density_whatever_the_operator(alpha, a):
    model = gs.Model(score=beta_score(alpha), domain=gs.Box(0, 1))
    report = gs.audit(model, operator=gs.Standardised(power(a)), rng=0)
    assert "no finite integral" in check(report, "boundary").message
    assert not report.valid
    assert "Valid here" not in str(report)


@given(alpha=st.lists(st.floats(0.05, 4.0), min_size=2, max_size=5), seed=st.integers(0, 9))
def test_linear_operators_on_the_simplex_are_valid_for_every_alpha(alpha, seed):
    model = FAMILY.Dirichlet(alpha)
    for operator in (PRODUCT, DISTANCE, gs.Mirrored(), gs.LogRatio()):
        found = exponents(model, model.domain, operator.boundary_weight, None, np.random.default_rng(seed))
        assert [e.face for e in found] == [f"x_{i + 1} = 0" for i in range(len(alpha))]
        for e, concentration in zip(found, alpha, strict=True):
            assert e.valid
            assert e.density == pytest.approx(concentration - 1, abs=5e-3)
            assert e.weight == pytest.approx(1.0, abs=5e-3)


@given(power_of=st.floats(0.1, 2.0), d=st.integers(1, 4))
@settings(max_examples=30)
def test_on_a_ball_every_power_of_the_radius_is_linear_at_the_sphere(power_of, d):
    assume(power_of > 1 - d / 2)
    model = FAMILY.Uniform(gs.Ball(d, radius=3.0))
    operator = gs.Standardised(gs.BallPower(power_of))
    (found,) = exponents(model, model.domain, operator.boundary_weight, None, np.random.default_rng(0))
    assert found.weight == pytest.approx(1.0, abs=5e-3)
    assert found.density == pytest.approx(0.0, abs=5e-3)


# --- auxiliary functions that vanish on some faces only --------------------------------------


@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_scalar_function_that_vanishes_on_one_face_of_the_simplex_is_refused(part):
    """E2: with the uniform Dirichlet and g = x_i, E[T 1] = 1, not 0."""
    operator = gs.Standardised(gs.Auxiliary(lambda x: x[:, part], lambda x: np.eye(3)[[part] * len(x)]))
    model = FAMILY.Dirichlet([1.0, 1.0, 1.0])
    message = refusal(model.sample(30, rng=1), model, operator=operator)
    named = re.search(r"face x_(\d) = 0", message)
    assert named
    assert int(named[1]) != part + 1
    assert "2 of 3 faces" in message


def test_one_function_per_part_is_refused_on_the_simplex():
    model = FAMILY.Dirichlet([1.0, 1.0, 1.0])
    operator = gs.Standardised(gs.Auxiliary(lambda x: x, np.ones_like))
    with pytest.raises(gs.InputError, match=r"must be scalar and vanish on every face.*ProductOfParts\(\)"):
        gs.ksd_test(model.sample(30, rng=1), model, operator=operator)


def test_a_diagonal_function_on_a_box_need_vanish_only_on_the_sides_of_its_own_coordinate():
    model = FAMILY.Uniform(gs.Box(0, [1, 1]))

    def both(x):
        return x * (1 - x)

    def upper_side_forgotten(x):
        return np.column_stack([x[:, 0] * (1 - x[:, 0]), x[:, 1]])

    assert gs.audit(model, operator=gs.Standardised(gs.Auxiliary(both)), rng=1).valid
    report = gs.audit(model, operator=gs.Standardised(gs.Auxiliary(upper_side_forgotten)), rng=1)
    assert "x_2 = 1" in check(report, "boundary").message
    assert "faces are affected" not in check(report, "boundary").message


def test_a_tangential_matrix_in_the_ball_passes_and_the_identity_matrix_does_not():
    model = FAMILY.Uniform(gs.Ball(2))
    tangential = gs.MatrixStandardised(
        lambda x: np.eye(2) - x[:, :, None] * x[:, None, :], lambda x: -3.0 * x
    )
    assert gs.audit(model, operator=tangential, rng=1).valid
    plain = gs.MatrixStandardised(lambda x: np.broadcast_to(np.eye(2), (len(x), 2, 2)), np.zeros_like)
    assert not gs.audit(model, operator=plain, rng=1).valid


def test_an_auxiliary_function_that_is_zero_everywhere_is_no_test():
    """It passes every check at the boundary, and has no power against anything."""
    model = FAMILY.Uniform(gs.Box(0, 1))
    operator = gs.Standardised(gs.Auxiliary(lambda x: 0.0 * x[:, 0], np.zeros_like))
    with pytest.raises(ValueError, match="zero"):
        gs.ksd_test(model.sample(30, rng=1), model, operator=operator)


# --- densities and domains of other kinds ----------------------------------------------------


@pytest.mark.parametrize(
    "operator", [gs.Langevin(), GEOMETRIC, PRODUCT, gs.Mirrored(), gs.LogRatio()], ids=repr
)
def test_a_logistic_normal_vanishes_faster_than_any_power_and_every_operator_is_accepted(operator):
    model = FAMILY.LogisticNormal([0.0, 0.5], [[1.0, 0.3], [0.3, 0.5]])
    report = gs.audit(model, operator=operator, rng=1)
    assert report.valid, str(report)
    bare = gs.Model(score=model.score, domain=SIMPLEX)
    assert gs.audit(bare, operator=operator, rng=1).valid


@pytest.mark.parametrize(
    ("box", "faces"),
    [
        (gs.Box([0.0, -np.inf], [1.0, np.inf]), ["x_1 = 0", "x_1 = 1"]),
        (gs.Box([0.0, 0.0], [np.inf, 1.0]), ["x_1 = 0", "x_2 = 0", "x_2 = 1"]),
        (gs.Box([-np.inf, 2.0], [0.0, np.inf]), ["x_1 = 0", "x_2 = 2"]),
        (gs.Box([-np.inf, -np.inf], [np.inf, 5.0]), ["x_2 = 5"]),
    ],
    ids=repr,
)
def test_on_boxes_with_infinite_sides_the_finite_ones_are_probed(box, faces):
    model = FAMILY.Truncated(FAMILY.Normal([0.0, 0.0], 4.0), box)
    found = exponents(gs.as_model(model), box, gs.Langevin().boundary_weight, None, np.random.default_rng(0))
    assert [e.face for e in found] == faces
    assert not any(e.identity for e in found)
    assert gs.audit(model, rng=1).valid
    assert gs.audit(model, operator=gs.Mirrored(), rng=1).valid
    x = model.sample(40, rng=1)
    message = refusal(x, model, operator=gs.Langevin())
    assert any(face in message for face in faces)


@pytest.mark.parametrize("df", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("d", [1, 3])
def test_a_student_t_is_accepted_on_the_whole_space(df, d):
    model = FAMILY.StudentT(df, np.zeros(d))
    report = gs.audit(model, rng=1)
    assert report.valid, str(report)
    assert not report.messages("warn")
    assert gs.audit(gs.Model(score=model.score, domain=gs.Euclidean(d)), rng=1).valid


@pytest.mark.parametrize(
    "model",
    [
        FAMILY.Normal([0, 0]),
        FAMILY.Laplace([0, 0]),
        scipy.stats.norm(),
        scipy.stats.t(2),
        scipy.stats.cauchy(),
    ],
)
def test_densities_on_the_whole_space_are_accepted(model):
    assert gs.audit(model, rng=1).valid


@dataclass(frozen=True)
class TwoIntervals(Domain):
    """[0, 1] ∪ [2, 3], which may or may not say that it is in two pieces."""

    connected: bool | None = False
    dim = 1
    bounded = True

    def contains(self, x):
        return (((x >= 0) & (x <= 1)) | ((x >= 2) & (x <= 3))).all(axis=1)

    def boundary_distance(self, x):
        return np.abs(x[:, 0, None] - [0.0, 1.0, 2.0, 3.0]).min(axis=1)

    def default_auxiliary(self):
        return gs.Auxiliary(self.boundary_distance, lambda x: np.where(x % 1 < 0.5, 1.0, -1.0))

    def faces(self, interior, rng):
        ends = [(0.0, 1.0), (1.0, -1.0), (2.0, 1.0), (3.0, -1.0)]
        return [
            Face(f"x = {end:g}", np.array([[end]]), np.array([[inward]]), np.array([0.5]))
            for end, inward in ends
        ]

    def sample_uniform(self, n, rng):
        return rng.uniform(size=(n, 1)) + 2.0 * rng.integers(2, size=(n, 1))


def test_a_domain_in_pieces_is_refused_because_the_test_cannot_see_their_shares():
    """E8: masses (.9, .1) against (.5, .5) on two intervals leave the discrepancy at zero."""
    domain = TwoIntervals()
    model = FAMILY.Uniform(domain)
    rng = np.random.default_rng(1)
    lopsided = rng.uniform(size=(200, 1)) + 2.0 * (rng.uniform(size=(200, 1)) < 0.1)
    message = refusal(lopsided, model)
    assert "not connected" in message
    assert "each piece" in message
    result = gs.ksd_test(lopsided, model, audit=False, rng=1)
    assert result.pvalue > 0.05  # blind to the shares, as the refusal said
    assert "not connected" in " ".join(result.notes)


def test_a_domain_that_may_be_in_pieces_is_tested_with_a_note():
    model = FAMILY.Uniform(TwoIntervals(connected=None))
    report = gs.audit(model, rng=1)
    assert report.valid
    assert check(report, "connectedness").status == "warn"
    result = gs.ksd_test(model.sample(40, rng=1), model, rng=1)
    assert any("not known whether" in note and "connected" in note for note in result.notes)
    assert "connected" in str(result)


@dataclass(frozen=True)
class Faceless(Domain):
    """[0, 1] without a word about where its boundary is."""

    dim = 1
    bounded = True

    def contains(self, x):
        return ((x >= 0) & (x <= 1)).all(axis=1)

    def sample_uniform(self, n, rng):
        return rng.uniform(size=(n, 1))


def test_a_domain_that_shows_no_faces_is_tested_with_a_note():
    model = FAMILY.Uniform(Faceless())
    report = gs.audit(gs.Model(score=model.score, domain=Faceless()), operator=gs.Langevin(), rng=1)
    assert check(report, "boundary").status == "warn"
    result = gs.ksd_test(model.sample(40, rng=1), model, operator=gs.Langevin(), rng=1)
    assert any("not checked" in note for note in result.notes)


@dataclass(frozen=True)
class Bare:
    """The Langevin operator without a word about the boundary."""

    def features(self, model, domain, data):
        return gs.SteinFeatures(data, model.score(data))


def test_an_operator_that_says_nothing_of_the_boundary_is_tested_with_a_note():
    model = FAMILY.Uniform(gs.Box(0, 1))
    report = gs.audit(model, operator=Bare(), rng=1)
    assert check(report, "boundary").status == "warn"
    result = gs.ksd_test(model.sample(40, rng=1), model, operator=Bare(), rng=1)
    assert any("boundary_weight" in note and "not checked" in note for note in result.notes)
    normal = FAMILY.Normal()
    assert gs.ksd_test(normal.sample(40, rng=1), normal, operator=Bare(), rng=1).notes == ()


def test_the_simulation_finds_out_an_operator_that_said_nothing_of_the_boundary():
    report = gs.audit(FAMILY.Uniform(gs.Box(0, 1)), operator=Bare(), rng=1)
    assert check(report, "Stein's identity").status == "fail"
    assert not report.valid


# --- audit=False ------------------------------------------------------------------------------


def test_an_overruled_audit_runs_and_the_result_says_so_everywhere():
    x = HALF.sample(40, rng=1)
    result = gs.ksd_test(x, HALF, operator=GEOMETRIC, audit=False, rng=1)
    assert not result.audit.valid
    assert result.to_dict()["valid"] is False
    (note,) = result.notes
    assert "overruled" in note
    assert "not valid" in note
    assert "Stein's identity fails" in note
    for text in (result.summary(), str(result), result._repr_html_()):
        assert "overruled" in text


def test_switching_the_audit_off_leaves_a_valid_test_as_it_is():
    x = HALF.sample(40, rng=1)
    with_audit, without = (gs.ksd_test(x, HALF, audit=audit, rng=1) for audit in (True, False))
    assert without.notes == ()
    assert without.pvalue == with_audit.pvalue
    np.testing.assert_array_equal(without.null_distribution, with_audit.null_distribution)


# --- what only gs.audit looks at --------------------------------------------------------------


@pytest.mark.parametrize("factor", [1.001, -1.0, 0.0])
def test_a_score_that_is_not_the_derivative_of_the_log_density_fails(factor):
    model = gs.Model(
        score=lambda x: -factor * x, logpdf=lambda x: -0.5 * (x**2).sum(axis=1), domain=gs.Euclidean(2)
    )
    report = gs.audit(model, data=FAMILY.Normal([0, 0]).sample(60, rng=1), rng=1)
    found = check(report, "score against log density")
    assert found.status == "fail"
    assert not report.valid
    assert re.search(r"\d+ of 50 points: at point \d+", found.message)


def test_a_score_that_is_the_derivative_of_the_log_density_passes():
    for model in (FAMILY.Normal([0, 1], [[2, 1], [1, 2]]), FAMILY.StudentT(3.0, [0, 0]), HALF, TWO):
        assert check(gs.audit(model, rng=1), "score against log density").status == "pass"


def test_on_the_simplex_only_the_tangential_part_of_the_score_has_to_agree():
    extended = gs.Model(
        score=lambda x: (0.5 - 1.0) / x + 17.0,  # log q + 17(Σx − 1): the same density
        logpdf=dirichlet_logpdf([0.5, 0.5, 0.5]),
        domain=SIMPLEX,
    )
    assert check(gs.audit(extended, data=HALF.sample(50, rng=1), rng=1), "score against").status == "pass"


@pytest.mark.parametrize("shift", [0.2, -0.2])
def test_a_sampler_of_another_law_fails_the_identity(shift):
    normal = FAMILY.Normal([0, 0])
    model = gs.Model(
        score=normal.score,
        sample=lambda n, rng: rng.normal([shift, 0.0], 1.0, size=(n, 2)),
        domain=gs.Euclidean(2),
    )
    report = gs.audit(model, rng=1)
    assert check(report, "Stein's identity").status == "fail"
    assert "standard errors" in check(report, "Stein's identity").message
    assert not report.valid


def test_the_ambient_divergence_on_the_simplex_fails_the_identity():
    """§9: G = diag(x) − xxᵀ has the tangential divergence 1 − d·x, the ambient one is 1 − (d + 1)x."""

    def matrix(x):
        return x[:, :, None] * np.eye(3) - x[:, :, None] * x[:, None, :]

    tangential = gs.MatrixStandardised(matrix, lambda x: 1.0 - 3.0 * x)
    ambient = gs.MatrixStandardised(matrix, lambda x: 1.0 - 4.0 * x)
    assert gs.audit(TWO, operator=tangential, rng=1).valid
    assert check(gs.audit(TWO, operator=ambient, rng=1), "derivatives of the weight").status == "fail"


@pytest.mark.parametrize(
    ("score", "domain"),
    [
        (lambda x: x, gs.Euclidean(2)),
        (np.ones_like, gs.Orthant(1)),
        (np.zeros_like, gs.Euclidean(1)),
        (lambda x: -0.9 * x / (1 + x**2), gs.Euclidean(1)),
        (np.ones_like, gs.Orthant(8)),
        (lambda x: x, gs.Box([0.0, -np.inf], [1.0, np.inf])),
    ],
    ids=["flipped normal", "flipped exponential", "flat", "too heavy", "high dimension", "strip"],
)
def test_a_score_of_no_density_gives_a_warning_about_the_tails(score, domain):
    report = gs.audit(score, domain=domain, rng=1)
    tails = check(report, "tails")
    assert tails.status == "warn"
    assert "check its sign" in tails.message


def test_a_growing_weight_under_heavy_tails_gives_a_warning():
    report = gs.audit(scipy.stats.halfcauchy(), operator=gs.Mirrored(), rng=1)
    assert check(report, "tails").status == "warn"
    assert "variance" in check(report, "tails").message


@pytest.mark.parametrize(
    "score", [lambda x: -(x**2).sum(axis=1), lambda x: 1 / 0, lambda x: np.full_like(x, np.nan)]
)
def test_a_score_that_cannot_be_evaluated_is_not_called_valid(score):
    x = FAMILY.Normal([0, 0]).sample(20, rng=1)
    with pytest.raises(gs.ScoreError):
        gs.audit(score, data=x, rng=1)


def test_a_model_is_audited_on_a_part_of_its_domain():
    x = np.random.default_rng(1).uniform(-0.5, 0.5, size=(40, 2))
    for data in (None, x):
        assert gs.audit(FAMILY.Normal([0, 0]), domain=gs.Ball(2), data=data, rng=1).valid
        report = gs.audit(FAMILY.Normal([0, 0]), domain=gs.Ball(2), operator=gs.Langevin(), data=data, rng=1)
        assert not report.valid


def test_a_sampler_that_leaves_the_domain_is_not_blamed_on_data_that_nobody_gave():
    model = gs.Model(
        score=lambda x: -x, sample=lambda n, rng: 9.0 + rng.normal(size=(n, 2)), domain=gs.Box(0, [1, 1])
    )
    with pytest.raises(gs.DomainError, match="sampler") as caught:
        gs.audit(model, rng=1)
    assert "`data`" not in str(caught.value)


def test_simulated_zeros_of_a_dirichlet_do_not_stop_the_audit():
    """With α = .01 one draw in a thousand has a part below the least float64."""
    report = gs.audit(FAMILY.Dirichlet([0.01, 0.01, 0.01]), rng=1)
    assert check(report, "boundary").status == "pass"
    assert "`data`" not in str(report)


# --- trust in the audit itself ----------------------------------------------------------------

TRUE_MODELS = {
    "normal": (FAMILY.Normal([0, 0]), None),
    "student": (FAMILY.StudentT(1.0, [0]), None),
    "uniform square": (FAMILY.Uniform(gs.Box(0, [1, 1])), None),
    "dirichlet, log-ratio": (FAMILY.Dirichlet([0.2, 0.5, 2.0]), None),
    "dirichlet, product": (HALF, PRODUCT),
}


def test_true_models_hardly_ever_fail_the_simulated_identity():
    """The check is made at level 1e-4: of 60 audits .006 should fail, and two with probability 2e-5."""
    failed = [
        (name, seed)
        for name, (model, operator) in TRUE_MODELS.items()
        for seed in range(12)
        if not gs.audit(model, operator=operator, rng=seed).valid
    ]
    assert len(failed) <= 1, failed


@pytest.mark.parametrize(
    "distribution", [scipy.stats.beta(0.5, 0.5), scipy.stats.gamma(0.2)], ids=["beta", "gamma"]
)
def test_an_audit_is_a_report_and_not_a_shower_of_warnings(distribution):
    """Warnings are errors here; rows of a simulated sample mean nothing to the user."""
    for seed in range(8):
        assert gs.audit(distribution, rng=seed).valid


@given(seed=st.integers(0, 10**6))
@settings(max_examples=15)
def test_the_verdict_at_the_boundary_does_not_depend_on_the_seed(seed):
    for operator, valid in [(GEOMETRIC, False), (PRODUCT, True), (gs.Mirrored(), True)]:
        assert (
            gs.audit(gs.Model(score=HALF.score, domain=SIMPLEX), operator=operator, rng=seed).valid == valid
        )


def test_no_runtime_warning_escapes_from_points_close_to_the_boundary():
    with np.errstate(all="warn"):
        for alpha in ([0.01, 0.01, 0.01], [0.5, 1.0, 50.0], [1e-3, 1.0, 1.0]):
            for operator in (GEOMETRIC, PRODUCT, DISTANCE, gs.Mirrored(), gs.LogRatio(), gs.Langevin()):
                model = gs.Model(score=dirichlet_score(alpha), domain=SIMPLEX)
                gs.audit(model, operator=operator, rng=1)


def test_a_score_that_breaks_down_at_the_boundary_gives_a_note_in_plain_words():
    def score(x):
        return np.where(x < 1e-3, np.nan, 0.0)

    x = np.random.default_rng(1).uniform(0.1, 0.9, size=(40, 2))
    result = gs.ksd_test(x, score, domain=gs.Box(0, [1, 1]), rng=1)
    (note,) = result.notes
    assert "close to the boundary" in note
    assert "of 40 rows" not in note
    assert "Remove" not in note  # there are no such rows in the data


# --- the report -------------------------------------------------------------------------------


def test_a_report_can_be_read():
    report = gs.audit(HALF, operator=GEOMETRIC, rng=1)
    text = str(report)
    assert "NOT valid" in text.splitlines()[0]
    for item in report.checks:
        assert item.name in text
        assert item.message in text
        assert item.status in ("pass", "warn", "fail", "skip")
    assert "Dirichlet([0.5, 0.5, 0.5])" in text
    assert "GeometricMean" in text
    assert "Simplex(3)" in text
    page, record = report._repr_html_(), json.loads(report.to_json())
    assert page.count("<tr>") == len(report.checks)
    assert record["valid"] is False and record["operator"] == report.operator
    for item, row in zip(report.checks, record["checks"], strict=True):
        assert html.escape(item.message) in page
        assert (row["name"], row["status"], row["message"]) == (item.name, item.status, item.message)
    assert "is valid" in str(gs.audit(TWO, rng=1)).splitlines()[0]


def test_a_report_names_all_its_checks():
    names = [item.name for item in gs.audit(TWO, rng=1).checks]
    for expected in ("boundary", "connectedness", "tails", "score against log density", "Stein's identity"):
        assert sum(name.startswith(expected) for name in names) == 1


def test_the_same_seed_gives_the_same_report():
    assert str(gs.audit(HALF, rng=5)) == str(gs.audit(HALF, rng=5))


def test_a_report_is_frozen():
    report = gs.audit(TWO, rng=1)
    with pytest.raises(AttributeError):
        report.checks = ()


# --- score and log density, before every test --------------------------------------------------------

INCONSISTENT = {
    "twice": lambda x: -2.0 * x,
    "sign": lambda x: x,
    "shift": lambda x: 5.0 - x,
}


MODES = gs.families.GaussianMixture([0.5, 0.5], [[-0.5, 0.0], [0.5, 0.0]], 1e-6)


def quadratic(x):
    return -0.5 * (x**2).sum(axis=1)


@pytest.mark.parametrize("constant", [0.0, -1e3])
@pytest.mark.parametrize("score", INCONSISTENT.values(), ids=INCONSISTENT)
def test_a_score_that_is_not_that_of_the_log_density_is_told_by_the_plain_call(score, constant):
    x = gs.families.Normal([0.0, 0.0]).sample(60, rng=1)
    model = gs.Model(score=score, logpdf=lambda z: quadratic(z) + constant)
    for test in (gs.ksd_test, gs.aggregated_test):
        with pytest.warns(gs.CalibrationWarning, match="is not the derivative of its log density"):
            result = test(x, model, rng=1)
        assert any("One of both is wrong" in note for note in result.notes)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("score", "logpdf"),
    [
        (np.negative, quadratic),
        (np.negative, lambda x: quadratic(x) + 1e6),
        (np.negative, lambda x: (quadratic(x) - 1e5).astype(np.float32)),
        (lambda x: -np.sign(x), lambda x: -np.abs(x).sum(axis=1)),
        (lambda x: np.zeros_like(x), lambda x: np.zeros(len(x))),
        (MODES.score, MODES.logpdf),
    ],
    ids=["right", "constant", "single precision", "kinks", "flat", "modes"],
)
def test_and_no_other_is(score, logpdf):
    x = gs.families.Normal([0.0, 0.0]).sample(60, rng=1)
    domain = gs.Box([-9, -9], [9, 9])
    model = gs.as_model(gs.Model(score=score, logpdf=logpdf, domain=domain))
    assert check_agreement(model, domain, x) == []


def test_one_direction_takes_two_evaluations_of_the_log_density_for_each_row():
    asked = []

    def logpdf(x):
        asked.append(len(x))
        return quadratic(x)

    model = gs.as_model(gs.Model(score=np.negative, logpdf=logpdf, domain=gs.Euclidean(40), batched=True))
    del asked[:]
    assert check_agreement(model, gs.Euclidean(40), gs.families.Normal(np.zeros(40)).sample(500, rng=1)) == []
    assert sum(asked) <= 2 * ROWS
