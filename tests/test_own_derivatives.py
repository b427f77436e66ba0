"""Derivatives and growth of what users write: weights of operators, and kernels.

The library's own functions, wrapped as a user's, are right in all units; spoilt ones are wrong. For
powers of ‖x‖ under Student's t it is known in closed form whether E g² is finite.
"""

import numpy as np
import pytest

import goodstein as gs
from goodstein.auditing.derivatives import check_derivatives
from goodstein.auxiliary import BoxProduct, Decaying, GeometricMean
from goodstein.auxiliary.base import as_auxiliary
from goodstein.kernels import IMQ, Gaussian, Matern52, RationalQuadratic, Whitened
from goodstein.kernels.base import as_kernel
from goodstein.kernels.own import check_profiles
from goodstein.operators.base import as_operator

FAMILY = gs.families
NORMAL = FAMILY.Normal(0.0, 1.0)


def named(report, name):
    """The status of a check."""
    return next(check.status for check in report.checks if check.name == name)


# --- weights ----------------------------------------------------------------------------------


class Own:
    """A user's object with the values of one of the library's, its derivatives perhaps spoilt."""

    def __init__(self, auxiliary, spoil=lambda dg: dg):
        self.auxiliary, self.spoil = auxiliary, spoil

    def evaluate(self, x, domain):
        g, dg = self.auxiliary.evaluate(x, domain)
        return g, self.spoil(dg)


def uniform(domain, n, seed=0):
    """Rows in a domain, some of them close to its boundary."""
    return FAMILY.Uniform(domain).sample(n, rng=seed)


SQUARE = [[0, 0], [3, 0], [3, 1], [1, 1], [1, 2], [0, 2]]


def places(unit):
    """Auxiliary functions, domains and rows in one unit of length."""
    ball, box = gs.Ball(3, radius=unit), gs.Box([0, 5 * unit], [1, 6 * unit])
    land, rng = gs.Polygon(unit * np.array(SQUARE)), np.random.default_rng(1)
    return {
        "ball": (gs.BallPower(2), ball, uniform(ball, 200)),
        "ball, kink at the centre": (gs.BallPower(1.0), ball, uniform(ball, 200)),
        "ball, steep": (gs.BallPower(8), ball, uniform(ball, 30)),
        "distance in a ball": (gs.BoundaryDistance(), ball, uniform(ball, 200)),
        "box": (BoxProduct(), box, uniform(box, 200)),
        "distance in a box": (gs.BoundaryDistance(), box, uniform(box, 200)),
        "polygon": (gs.BoundaryDistance(), land, uniform(land, 200)),
        "R^5": (Decaying(), gs.Euclidean(5), unit * rng.standard_normal((50, 5))),
        "orthant": (BoxProduct(), gs.Orthant(2), unit * rng.exponential(size=(99, 2))),
        "cauchy": (Decaying(), gs.Euclidean(2), unit * rng.standard_cauchy((200, 2))),
    }


PLACES = {f"{name}, {unit:g}": each for unit in (1e-6, 1.0, 1e6) for name, each in places(unit).items()} | {
    "parts": (gs.ProductOfParts(), gs.Simplex(3), FAMILY.Dirichlet([0.3, 1, 4]).sample(200, rng=1)),
    "steep parts": (gs.ProductOfParts(0.3), gs.Simplex(4), FAMILY.Dirichlet([0.3] * 4).sample(200, rng=1)),
    "mean of parts": (GeometricMean(), gs.Simplex(8), FAMILY.Dirichlet(np.ones(8)).sample(60, rng=1)),
    "rounded": (BoxProduct(2.0), gs.Orthant(1), np.arange(1.0, 9.0)[:, None].repeat(9, 0)),
    "many coordinates": (Decaying(), gs.Euclidean(80), np.random.default_rng(1).standard_normal((100, 80))),
}


@pytest.mark.parametrize("name", PLACES)
def test_right_derivatives_pass_and_wrong_ones_do_not(name):
    auxiliary, domain, x = PLACES[name]
    auxiliary = auxiliary.fitted(x, domain)

    def status(spoil=lambda dg: dg):
        own = as_auxiliary(Own(auxiliary, spoil)).supplied(domain)
        return {check_derivatives(own, domain, x, np.random.default_rng(k))[0].status for k in range(3)}

    assert status() == {"pass"}
    assert status(lambda dg: -dg) == {"fail"}
    assert status(lambda dg: 0.5 * dg) == {"fail"}


def test_kinks_noise_and_single_precision_are_no_errors():
    x, rng = np.random.default_rng(1).standard_normal((200, 2)), np.random.default_rng(2)
    grid = np.linspace(0, 6, 601)

    def bell(r):
        return 1 / (1 + r**2)

    def slope(x, r):
        return x * (-2 / (1 + r**2) ** 2)[:, None]

    values = {
        "single": lambda x: bell(np.hypot(*x.T)).astype(np.float32),
        "interpolated": lambda x: np.interp(np.hypot(*x.T), grid, bell(grid)),
        "noisy": lambda x: bell(np.hypot(*x.T)) + 1e-6 * rng.standard_normal(len(x)),
    }
    for name, value in values.items():
        own = gs.Auxiliary(value, lambda x: slope(x, np.hypot(*x.T))).supplied(gs.Euclidean(2))
        assert check_derivatives(own, gs.Euclidean(2), x, rng)[0].status == "pass", name


BALL = gs.Ball(3)
BOWL = (lambda x: 1 - (x**2).sum(axis=1), lambda x: -2 * x)
WRONG = {
    "g": (gs.Standardised(gs.Auxiliary(BOWL[0], lambda x: -x)), BALL),
    "g of one coordinate": (
        gs.Standardised(gs.Auxiliary(BOWL[0], lambda x: -2 * x * [1, 1, -1])),
        BALL,
    ),
    "g inside another": (gs.Standardised(Decaying(gs.Auxiliary(BOWL[0], lambda x: -x))), BALL),
    "matrix": (
        gs.MatrixStandardised(lambda x: np.eye(3) - x[:, :, None] * x[:, None, :], lambda x: -3 * x),
        BALL,
    ),
    "sign": (
        gs.Standardised(gs.Auxiliary(lambda x: 1 / (1 + x[:, 0] ** 2), lambda x: 2 * x / (1 + x**2) ** 2)),
        gs.Euclidean(1),
    ),
    "around another": (gs.Dilation(gs.Standardised(gs.Auxiliary(BOWL[0], lambda x: -x))), BALL),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_derivatives_are_refused_where_the_model_is_a_score(name):
    """Normal scores rejected true models in 80 % and 100 % of calls with the first and the fifth."""
    operator, domain = WRONG[name]
    x = 0.5 * np.random.default_rng(1).standard_normal((60, domain.dim))
    x /= np.maximum(1.0, 1.1 * np.linalg.norm(x, axis=1, keepdims=True)) if domain is BALL else 1.0
    with pytest.raises(gs.SteinIdentityError):
        gs.ksd_test(x, lambda x: -x, domain=domain, operator=operator, rng=1)
    report = gs.audit(lambda x: -x, domain=domain, operator=operator, rng=1)
    assert named(report, "derivatives of the weight") == "fail"
    overruled = gs.ksd_test(x, lambda x: -x, domain=domain, operator=operator, rng=1, audit=False)
    assert overruled.audit.refused


def test_derivatives_on_a_chart_are_compared_too():
    chart = gs.Chart(2, lambda u: np.eye(2), coordinates=gs.Box([0, 0], [1, 1]))
    x = np.random.default_rng(1).uniform(size=(50, 2))
    for sign, status in ((1.0, "pass"), (-1.0, "fail")):
        own = gs.Auxiliary(lambda u: u * (1 - u), lambda u, s=sign: s * (1 - 2 * u))
        report = gs.audit(np.zeros_like, domain=chart, operator=gs.Coordinate(own), data=x, rng=1)
        assert named(report, "derivatives of the weight") == status


def test_the_library_s_own_weights_are_not_looked_at():
    assert gs.BallPower(2).supplied(BALL) == () == Decaying().supplied(BALL)
    assert len(gs.Auxiliary(BOWL[0]).supplied(BALL)) == 1  # derivatives are numerical
    assert len(Decaying(gs.Auxiliary(*BOWL)).supplied(BALL)) == 2


# --- growth -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("nu", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("power", [-2.0, 0.0, 0.3, 0.7, 1.3, 1.7, 4.7, 5.3])
def test_a_weight_may_grow_as_long_as_its_square_has_a_mean(power, nu, dim):
    """E(1 + ‖x‖²)^a is finite under Student's t with ν degrees of freedom if and only if 2a < ν."""
    model = FAMILY.StudentT(nu, np.zeros(dim))
    operator = gs.Standardised(gs.Auxiliary(lambda x: (1 + (x**2).sum(axis=1)) ** (power / 2)))
    finite = 2 * power < nu
    data = model.sample(50, rng=1)
    score = gs.audit(model.score, domain=gs.Euclidean(dim), data=data, operator=operator, rng=1)
    assert (named(score, "tails") == "pass") == score.valid == finite, str(score)


@pytest.mark.parametrize("share", [0.3, 0.45, 0.55, 1.0, 2.0])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_a_weight_that_overflows_is_judged_where_it_does_not(share, unit):
    """With g = q^(−share) of a normal density E g² = ∫q^(1 − 2·share) is finite if share < ½."""
    operator = gs.Standardised(gs.Auxiliary(lambda x: np.exp(share * (x[:, 0] / unit) ** 2 / 2)))
    x = unit * np.random.default_rng(1).standard_normal((60, 1))
    with np.errstate(over="ignore"):
        report = gs.audit(lambda x: -x / unit**2, domain=gs.Euclidean(1), data=x, operator=operator, rng=1)
        assert report.valid == (share < 0.5), str(report)
        if share > 0.5:
            with pytest.raises(gs.SteinIdentityError):
                gs.ksd_test(x, lambda x: -x / unit**2, operator=operator, rng=1)


def test_a_simulated_null_distribution_needs_no_variance():
    operator = gs.Standardised(gs.Auxiliary(lambda x: 1 + x[:, 0] ** 2))
    cauchy, null = FAMILY.StudentT(1.0, [0]), gs.MonteCarlo(19)
    result = gs.ksd_test(cauchy.sample(30, rng=1), cauchy, operator=operator, null=null, rng=1)
    assert named(result.audit, "tails") == "warn" and not result.audit.refused


def test_a_tangential_weight_has_a_variance_too():
    """G turns: its part along x vanishes, and E‖G‖² does not."""

    def turning(x):
        return (np.exp((x**2).sum(axis=1)) * [[-1], [1]] * x.T[::-1]).T[:, :, None]

    operator = gs.MatrixStandardised(turning, lambda x: np.zeros((len(x), 1)))
    with np.errstate(over="ignore"):
        report = gs.audit(lambda x: -x, domain=gs.Euclidean(2), operator=operator, rng=1)
    assert named(report, "tails") == "fail"


def near(x):
    if (np.abs(x) > 8).any():
        raise ValueError("too far")
    return -x


def nearest(x):
    if (np.abs(x) > 2).any():
        raise ValueError("too far")
    return -x


def test_tails_that_cannot_be_seen_are_never_called_valid():
    x = np.clip(np.random.default_rng(1).standard_normal((60, 1)), -2, 2)
    assert gs.audit(near, domain=gs.Euclidean(1), data=x, rng=1).valid  # far enough to see that q falls
    report = gs.audit(nearest, domain=gs.Euclidean(1), data=x, rng=1)
    assert not report.valid and not report.refused and named(report, "tails") == "open"
    assert "is valid" not in str(report)
    assert gs.ksd_test(x, nearest, rng=1).pvalue > 0.01  # Langevin's weight is bounded
    growing = gs.Standardised(gs.Auxiliary(lambda x: 1 + x[:, 0] ** 2))
    with pytest.raises(gs.SteinIdentityError):
        gs.ksd_test(x, nearest, operator=growing, rng=1)
    bounded = gs.Standardised(gs.Auxiliary(lambda x: 1 / (1 + x[:, 0] ** 2)))
    assert gs.ksd_test(x, nearest, operator=bounded, rng=1).pvalue > 0.01


def test_an_operator_of_ones_own_is_asked_for_its_growth():
    class Growing:
        def features(self, model, domain, data):
            g = np.exp(data**2)
            return gs.SteinFeatures(data, g * model.score(data) + 2 * data * g, g)

        def boundary_weight(self, domain, x, normals):
            return np.exp(x**2) * normals

    assert len(as_operator(Growing()).supplied(gs.Euclidean(1))) == 1
    with np.errstate(over="ignore"), pytest.raises(gs.SteinIdentityError):
        gs.ksd_test(NORMAL.sample(50, rng=1), lambda x: -x, operator=Growing(), rng=1)


def test_the_audit_warns_of_skewed_features_as_the_test_does():
    precision = np.linalg.inv([[1, 0.95], [0.95, 1]]) - np.eye(2)

    def ratio(x):
        return np.exp(0.5 * np.einsum("ij,jk,ik->i", x, precision, x)) * (1 - (x**2).sum(axis=1))

    model = FAMILY.Truncated(FAMILY.Normal([0, 0]), gs.Ball(2))
    operator = gs.Standardised(gs.Auxiliary(ratio))
    report = gs.audit(model, operator=operator, rng=1)
    assert named(report, "skewed features") == "warn"
    with pytest.warns(gs.CalibrationWarning):
        gs.ksd_test(model.sample(100, rng=1), model, operator=operator, rng=1)
    plain = gs.audit(model, rng=1)
    assert "skewed features" not in [check.name for check in plain.checks]


# --- kernels ----------------------------------------------------------------------------------


class OwnKernel:
    """A user's kernel: one of the library's, whose profiles are multiplied by some factors."""

    def __init__(self, kernel, factors=(1.0, 1.0, 1.0)):
        self.kernel, self.factors = kernel, factors

    def fitted(self, points):
        return OwnKernel(self.kernel.fitted(points), self.factors)

    def profiles(self, rho, order=2):
        return [c * part for c, part in zip(self.factors, self.kernel.profiles(rho, order), strict=False)]


@pytest.mark.parametrize("length", 10.0 ** np.arange(-6, 7, 2))
@pytest.mark.parametrize("make", [Gaussian, IMQ, RationalQuadratic, Matern52])
def test_right_profiles_pass_and_wrong_ones_do_not(make, length):
    kernel = make(length)
    check_profiles(as_kernel(OwnKernel(kernel)))
    check_profiles(as_kernel(OwnKernel(kernel + Gaussian(30 * length))))
    check_profiles(as_kernel(OwnKernel(kernel, np.ones(3, np.float32))))
    for factors in ((1, -1, 1), (1, 1, -1), (1, 0.5, 0.25), (1, 1, 0), (1, 1.1, 1.1)):
        with pytest.raises(gs.InputError) as caught:
            check_profiles(as_kernel(OwnKernel(kernel, factors)))
        assert caught.value.argument == "kernel"


@pytest.mark.parametrize("test", [gs.ksd_test, gs.aggregated_test, gs.fssd_test])
def test_wrong_profiles_are_refused_by_every_test(test):
    """V was −1.30 and p one with φ′ of the wrong sign."""
    wrong, x = OwnKernel(Gaussian(1.0), (1.0, -1.0, 1.0)), NORMAL.sample(50, rng=1)
    for kernel in (wrong, Gaussian() + as_kernel(wrong), Whitened(as_kernel(wrong))):
        argument = {"kernels": [kernel]} if test is gs.aggregated_test else {"kernel": kernel}
        with pytest.raises(gs.InputError) as caught:
            test(x, NORMAL, **argument, rng=1)
        assert caught.value.argument == "kernel"


def test_a_negative_v_statistic_is_refused():
    """−exp(−ρ/2) has right derivatives and is not positive definite."""
    kernel = OwnKernel(Gaussian(1.0), (-1.0, -1.0, -1.0))
    with pytest.raises(gs.InputError) as caught:
        gs.ksd_test(NORMAL.sample(50, rng=1), NORMAL, kernel=kernel, rng=1)
    assert caught.value.argument == "kernel"
