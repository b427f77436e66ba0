"""Conditional models: the Stein kernel against its definition, quadrature, enumeration and special cases."""

from __future__ import annotations

import re
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import goodstein as gs
from definitions import assert_same, at_pairs, check_form
from goodstein.conditional.operator import Conditional
from goodstein.kernels import IMQ, Gaussian, Matern52, Whitened
from goodstein.pipeline.compose import compose
from levels import check_level, trials

RNG = np.random.default_rng(20_200_803)
N = 12
X, Y = RNG.normal(size=(N, 3)), RNG.normal(size=(N, 2))
SLOPES = np.array([[1.0, -0.5], [0.3, 0.8], [-0.7, 0.2]])


def compose_conditional(x, y, model, *, domain=None, operator=None, kernel=None, x_kernel=None):
    """The problem of pairs."""
    outer = operator if isinstance(operator, Conditional) else Conditional(operator)
    outer = outer if x_kernel is None else replace(outer, x_kernel=x_kernel)
    return compose(gs.Paired(x, y), model, domain, outer, kernel)


def matrix(x, y, model, **options) -> np.ndarray:
    """The Stein matrix of pairs."""
    return compose_conditional(x, y, model, **options).form.matrix()


def wiggly_score(y, x):
    """Of a density exp(−y⁴/4 + y·sin(x)) of each coordinate of y."""
    return -(y**3) + np.sin(x[..., :1])


def line(y, x):
    """The score of y | x ~ N(2x, 1)."""
    return 2.0 * x - y


# --- the definition ----------------------------------------------------------------------------


def densities():
    def heteroscedastic(y, x):
        scale = jnp.exp(0.3 * x[0])
        return -0.5 * jnp.sum(((y - x @ SLOPES) / scale) ** 2)

    def coupled(y, x):
        return -0.25 * jnp.sum(y**4) + y[0] * y[1] * jnp.sin(x[0]) + y[1] * x[2]

    return {"heteroscedastic": heteroscedastic, "coupled": coupled}


@pytest.mark.parametrize("name", ["heteroscedastic", "coupled"])
@pytest.mark.parametrize("kernel", ["Gaussian", "IMQ"])
def test_definition(name, kernel):
    """h = k(x, x′) Σ_i ∂_i ∂′_i [p(y|x) p(y′|x′) l(y, y′)] / p p′, differentiated by JAX."""
    logp = densities()[name]

    def l(u, v):  # noqa: E743 - as in the formula
        rho = jnp.sum((u - v) ** 2)
        return jnp.exp(-rho / (2 * 0.8**2)) if kernel == "Gaussian" else (1 + rho / 0.8**2) ** -0.5

    def h(a, b):
        (x, y), (xx, yy) = jnp.split(a, [3]), jnp.split(b, [3])
        here = jax.lax.stop_gradient(logp(y, x) + logp(yy, xx))

        def joint(u, v):
            return jnp.exp(logp(u, x) + logp(v, xx) - here) * l(u, v)

        mixed = jax.jacfwd(jax.jacrev(joint, argnums=1), argnums=0)(y, yy)
        return jnp.exp(-jnp.sum((x - xx) ** 2) / (2 * 1.3**2)) * jnp.trace(mixed)

    pairs = np.hstack([X, Y])
    expected = at_pairs(h, pairs, pairs)
    chosen = Gaussian(0.8) if kernel == "Gaussian" else IMQ(0.8)
    model = gs.ConditionalModel(logpdf=logp)
    got = matrix(X, Y, model, kernel=chosen, x_kernel=Gaussian(1.3))
    assert_same(got, expected, 1e-10)
    assert np.linalg.eigvalsh(got).min() > -1e-10 * np.trace(got)


def test_stein_identity_given_x_by_quadrature():
    """∫ h((x, y), (x′, y′)) p(y | x) dy = 0 at every x, x′, y′; y on the line and on an interval."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    for low, high, logp, domain in (
        (-20.0, 20.0, lambda y, x: -0.5 * (y - np.sin(x)) ** 2 / (1 + 0.5 * x) ** 2, None),
        (0.0, 1.0, lambda y, x: x * np.log(y) + 2 * x * np.log1p(-y), gs.Box(0, 1)),
    ):
        y = low + (high - low) * (nodes + 1) / 2
        others_x, others_y = np.array([0.2, 1.0, 1.7]), low + (high - low) * np.array([0.4, 0.55, 0.5])
        model = gs.ConditionalModel(logpdf=logp, domain=domain)
        for x in (1.0, 2.0):
            h = matrix(
                np.append(np.full(200, x), others_x),
                np.append(y, others_y),
                model,
                kernel=IMQ((high - low) / 5),
                x_kernel=Gaussian(0.6),
            )[:200, 200:]
            p = weights * np.exp(logp(y, np.full(200, x)))
            scale = p @ np.abs(h)
            assert (np.abs(p @ h) < 1e-7 * scale).all()


def test_discrete_outcomes_by_enumeration():
    """Three levels, p(y | x) ∝ exp(x·y²/2): Σ_y p(y | x) h((x, y), (x′, y′)) = 0."""
    lattice = gs.Lattice(3, 1)
    model = gs.ConditionalModel(logpdf=lambda y, x: 0.5 * x * y**2, domain=lattice)
    levels = np.arange(3.0)
    x = np.repeat([-0.5, 0.3, 1.1], 3)
    y = np.tile(levels, 3)
    options = {"kernel": gs.Hamming(1.0), "x_kernel": Gaussian(0.7)}
    h = matrix(x, y, model, operator=gs.Difference(), **options)
    bounded = matrix(x, y, model, **options)
    for group in range(3):
        rows = slice(3 * group, 3 * group + 3)
        p = np.exp(0.5 * x[rows] * levels**2)
        np.testing.assert_allclose(p @ h[rows] / p.sum(), 0.0, atol=1e-12)
        np.testing.assert_allclose(p @ bounded[rows] / p.sum(), 0.0, atol=1e-12)
    # One entry by hand, with r = p(y + 1)/p(y), levels in cyclic order, and l = e^{−[a ≠ b]}.
    a, b = 1, 5  # (x, y) = (−.5, 1) and (.3, 2)
    l = np.where(np.eye(3) > 0, 1.0, np.exp(-1.0))  # noqa: E741
    r = [np.exp(0.5 * x[i] * (((y[i] + 1) % 3) ** 2 - y[i] ** 2)) for i in (a, b)]
    i, j = int(y[a]), int(y[b])
    # (T f)(y) = s f(y) − f(y) + f(y − 1) = f(y − 1) − r f(y)
    expected = l[i - 1, j - 1] - r[1] * l[i - 1, j] - r[0] * l[i, j - 1] + r[0] * r[1] * l[i, j]
    assert h[a, b] == pytest.approx(expected * np.exp(-(0.8**2) / (2 * 0.7**2)), rel=1e-12)


# --- special cases -----------------------------------------------------------------------------


@pytest.mark.parametrize("operator", [None, gs.Langevin()], ids=["default", "Langevin"])
def test_constant_x_is_the_ordinary_test(operator):
    x = np.full((40, 2), 0.7)
    y = np.random.default_rng(2).normal(size=(40, 2))
    model = gs.ConditionalModel(score=lambda y, x: x - y)
    plain = gs.families.Normal([0.7, 0.7])
    options = {"operator": operator, "kernel": IMQ()}
    np.testing.assert_array_equal(matrix(x, y, model, **options), gs.stein_matrix(y, plain, **options))
    one = gs.conditional_ksd_test(x, y, model, rng=3, **options)
    other = gs.ksd_test(y, plain, rng=3, **options)
    assert (one.statistic, one.pvalue) == (other.statistic, other.pvalue)
    assert "Constant()" in str(one)


def test_standardised_outcomes_with_constant_x():
    y = np.random.default_rng(2).beta(2, 2, size=40)
    model = gs.ConditionalModel(logpdf=lambda y, x: np.log(y) + np.log1p(-y) + 0 * x, domain=gs.Box(0, 1))
    plain = gs.Model(logpdf=lambda y: np.log(y[:, 0]) + np.log1p(-y[:, 0]), domain=gs.Box(0, 1))
    expected = gs.stein_matrix(y, plain)
    assert_same(matrix(np.ones(40), y, model, kernel=IMQ()), expected, 1e-8)


def test_categories_that_share_nothing_are_tested_apart():
    x = np.repeat([0.0, 1.0, 2.0], 4)
    y = Y[:, 0]
    means = np.array([0.5, -1.0, 0.0])
    model = gs.ConditionalModel.gaussian(lambda x: means[x.astype(int)])
    h = matrix(
        x, y, model, kernel=Gaussian(1.0), x_kernel=lambda a, b: (a[:, None, 0] == b[None, :, 0]) * 1.0
    )
    for group in range(3):
        rows = slice(4 * group, 4 * group + 4)
        alone = gs.stein_matrix(y[rows], gs.families.Normal(means[group]), kernel=Gaussian(1.0))
        np.testing.assert_allclose(h[rows, rows], alone, rtol=1e-12)
        assert not np.delete(h[rows], np.s_[rows], axis=1).any()


def test_bandwidths_come_from_x_and_y_separately():
    problem = compose_conditional(100 * X, Y, gs.ConditionalModel(score=wiggly_score))
    x_kernel = problem.fitted_operator.x_kernel
    assert x_kernel.bandwidths == pytest.approx(0.5 * gs.Median()(x_kernel.coordinates(100 * X)))
    seen = problem.fitted_kernel.coordinates(Y)
    assert problem.fitted_kernel.bandwidths == pytest.approx(0.5 * gs.Median()(seen))
    discrete = compose_conditional(x1, (x1 > 0) * 1.0, line_odds, domain=gs.Lattice(2, 1))
    assert discrete.kernel == gs.Hamming()


@pytest.mark.parametrize(
    "kernel", [IMQ(), Gaussian(0.7), Matern52(), Gaussian() + IMQ(), Whitened(Gaussian())], ids=str
)
def test_kernels_in_x(kernel):
    model = gs.ConditionalModel(score=wiggly_score)
    got = matrix(X, Y, model, x_kernel=kernel)
    alone = matrix(X, Y, model, x_kernel=lambda a, b: np.ones((len(a), len(b))))
    fitted = kernel.fitted(X)
    gram = fitted.kernel(*[X @ fitted.linear_map] * 2) if hasattr(fitted, "linear_map") else fitted(X, X)
    np.testing.assert_allclose(got, alone * gram, rtol=1e-10, atol=1e-12)


def line_odds(y, x):
    """The difference score 1 − p(1 − y | x)/p(y | x) for log-odds x."""
    return 1.0 - np.exp((1.0 - 2.0 * y) * x)


def test_an_offset_of_a_million_does_no_harm():
    whole = check_form(compose_conditional(X, Y, gs.ConditionalModel(score=wiggly_score)).form)
    far = compose_conditional(X + 1e6, Y, gs.ConditionalModel(score=lambda y, x: wiggly_score(y, x - 1e6)))
    assert_same(far.form.matrix(), whole, 1e-7)


# --- how models may be written -----------------------------------------------------------------


def test_functions_of_all_shapes_give_the_same():
    x, y, beta = X, Y[:, 0], SLOPES[:, 0]
    expected = matrix(x, y, gs.ConditionalModel(score=lambda y, x: x @ beta - y))
    same = {
        "column": (x, y[:, None], lambda y, x: (x @ beta)[:, None] - y),
        "flat function, column data": (x, y[:, None], lambda y, x: x @ beta - y if y.ndim < 2 else 1 / 0),
        "one row": (x, y, lambda y, x: float(x @ beta) - y),
        "frames": (pd.DataFrame(x), pd.Series(y), lambda y, x: x @ beta - y),
        "JAX": (x, y, lambda y, x: jnp.dot(x, beta) - y),
    }
    for name, (covariates, outcomes, score) in same.items():
        got = matrix(covariates, outcomes, gs.ConditionalModel(score=score))
        np.testing.assert_allclose(got, expected, rtol=1e-12, err_msg=name)
    densities = {
        "numerical": lambda y, x: -0.5 * (y - x @ beta) ** 2,
        "JAX, one row": lambda y, x: -0.5 * jnp.sum((y - x @ beta) ** 2),
    }
    for name, logpdf in densities.items():
        got = matrix(x, y, gs.ConditionalModel(logpdf=logpdf))
        np.testing.assert_allclose(got, expected, rtol=1e-7, err_msg=name)


def test_plain_score_functions_and_objects():
    x, y = X[:, 0], Y[:, 0]
    expected = matrix(x, y, gs.ConditionalModel(score=line))

    class Line:
        domain = gs.Euclidean(1)

        def score(self, y, x):
            return line(y, x)

    for model in (line, Line()):
        np.testing.assert_array_equal(matrix(x, y, model), expected)


def test_gaussian_models():
    x, y = X, Y[:, 0]
    regressor = LinearRegression().fit(x, y)
    by_hand = gs.ConditionalModel(score=lambda y, x: -(y - regressor.predict(x)) / 0.25)
    expected = matrix(x, y, by_hand)
    np.testing.assert_allclose(
        matrix(x, y, gs.ConditionalModel.gaussian(regressor, 0.5)), expected, rtol=1e-12
    )
    np.testing.assert_allclose(
        matrix(x, y[:, None], gs.ConditionalModel.gaussian(regressor.predict, lambda x: 0.5)),
        expected,
        rtol=1e-12,
    )
    # Two outcomes, a scale of their own each and one that grows.
    model = gs.ConditionalModel.gaussian(lambda x: x @ SLOPES, [0.5, 2.0])
    np.testing.assert_allclose(model.score(Y, X), -(Y - X @ SLOPES) / np.array([0.25, 4.0]))
    growing = gs.ConditionalModel.gaussian(
        lambda x: x @ SLOPES, lambda x: np.exp(np.stack([x[:, 0], x[:, 1]], 1))
    )
    scale = np.exp(X[:, :2])
    np.testing.assert_allclose(growing.score(Y, X), -(Y - X @ SLOPES) / scale**2)
    # The log density against the score, and the sampler against both.
    numerical = gs.ConditionalModel(logpdf=growing.logpdf)
    np.testing.assert_allclose(numerical.score(Y, X), growing.score(Y, X), rtol=1e-7)
    many = np.tile(X[:1], (20_000, 1))
    drawn = growing.sample(many, rng=1)
    np.testing.assert_allclose(drawn.mean(axis=0), (X @ SLOPES)[0], atol=0.05)
    np.testing.assert_allclose(drawn.std(axis=0), scale[0], rtol=0.03)


def test_a_transposed_score_is_never_read_as_rows():
    """It is right for single rows, and so they are asked for one by one."""
    turned = gs.ConditionalModel(score=lambda y, x: (x @ SLOPES - y).T)
    np.testing.assert_allclose(turned.score(Y, X), X @ SLOPES - Y, rtol=1e-12)


def test_regressors_that_were_fitted_to_data_frames():
    """They get their columns' names back, so that they neither warn (an error here) nor fail."""
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named, plain = (LinearRegression().fit(x, Y[:, 0]) for x in (frame, X))
    picky = make_pipeline(ColumnTransformer([("all", "passthrough", ["c", "a"])]), LinearRegression())
    picky.fit(frame, Y[:, 0])
    expected = matrix(X, Y[:, 0], gs.ConditionalModel.gaussian(plain))
    for x in (frame, X):
        assert_same(matrix(x, Y[:, 0], gs.ConditionalModel.gaussian(named)), expected, 1e-12)
        score = gs.ConditionalModel.gaussian(picky).score(Y[:, 0], x)
        np.testing.assert_allclose(score, picky.predict(frame) - Y[:, 0], rtol=1e-12)


def test_model_is_described():
    model = gs.ConditionalModel(score=line, name="straight line").on(gs.Euclidean(1))
    assert repr(model) == "ConditionalModel(straight line, domain=Euclidean(1))"
    assert gs.ConditionalModel(score=line).name == "score=line"
    assert "LinearRegression" in gs.ConditionalModel.gaussian(LinearRegression()).name
    assert gs.Paired(X, Y[:, 0]).describe() == "12 pairs (x, y), x with 3 columns, y with 1 column"


# --- the test ----------------------------------------------------------------------------------


def sample(n: int, seed: int, noise=None):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, n)
    return x, 2.0 * x + (rng.normal(size=n) if noise is None else noise(x, rng))


LINE = gs.ConditionalModel.gaussian(lambda x: 2.0 * x)


@trials(100, 300)
def test_level(trials):
    found = (gs.conditional_ksd_test(*sample(100, k), LINE, rng=k).pvalue for k in range(trials))
    check_level(found, 0.05, 0.2)


@pytest.mark.parametrize(
    "noise",
    [
        lambda x, rng: 0.8 * np.cos(2 * x) + rng.normal(size=len(x)),
        lambda x, rng: (0.5 + 0.6 * np.abs(x)) * rng.normal(size=len(x)),
        lambda x, rng: np.where(x > 1, 1.0, 0.0) + rng.normal(size=len(x)),
    ],
    ids=["another mean", "another scale", "wrong for large x only"],
)
def test_wrong_models_are_found(noise):
    x, y = sample(500, 1, noise)
    assert gs.conditional_ksd_test(x, y, LINE, rng=1).pvalue < 0.01


def test_monte_carlo_keeps_x(monkeypatch):
    x, y = sample(60, 1)
    seen = []
    like = gs.Paired.drawn

    def watched(self, model, domain, rng):
        drawn = like(self, model, domain, rng)
        seen.append(drawn)
        return drawn

    monkeypatch.setattr(gs.Paired, "drawn", watched)
    result = gs.conditional_ksd_test(x, y, LINE, null=gs.MonteCarlo(19), workers=1, rng=1)
    assert len(seen) == 20 and result.pvalue * 20 == pytest.approx(round(result.pvalue * 20))
    for pairs in seen:
        np.testing.assert_array_equal(pairs.x, x)
        assert pairs.y.shape == y.shape and not np.array_equal(pairs.y, y)
    spectral = gs.conditional_ksd_test(x, y, LINE, null=gs.Spectral(), rng=1)
    assert spectral.statistic == pytest.approx(result.statistic, rel=1e-12)


def fit_line(pairs):
    """Least squares through the origin, with the residuals' scale."""
    slope = pairs.x @ pairs.y / (pairs.x @ pairs.x)
    return gs.ConditionalModel.gaussian(lambda x: slope * x, float(np.std(pairs.y - slope * pairs.x)))


def test_parametric_bootstrap():
    x, y = sample(60, 1)
    null = gs.ParametricBootstrap(fit_line, 49)
    assert gs.conditional_ksd_test(x, y, fit_line(gs.Paired(x, y)), null=null, rng=1).pvalue > 0.02
    bent = y + 1.5 * x**2
    assert gs.conditional_ksd_test(x, bent, fit_line(gs.Paired(x, bent)), null=null, rng=1).pvalue == 0.02


def test_result_says_what_was_done():
    x, y = sample(50, 1)
    text = str(gs.conditional_ksd_test(x, y, LINE, rng=1))
    assert text.startswith("Kernel conditional Stein discrepancy test")
    assert "50 pairs (x, y), x with 1 column, y with 1 column" in text
    assert re.search(r"Conditional\(operator=Langevin\(\), x_kernel=Gaussian\(bandwidth=[\d.]+", text)


def test_operator_may_hold_everything():
    x, y = sample(50, 1)
    one = gs.conditional_ksd_test(x, y, LINE, operator=gs.Conditional(gs.Langevin(), Gaussian(0.5)), rng=1)
    other = gs.conditional_ksd_test(x, y, LINE, x_kernel=Gaussian(0.5), rng=1)
    assert (one.statistic, one.pvalue) == (other.statistic, other.pvalue)


def test_boundary_is_audited_at_the_x_of_the_data():
    rng = np.random.default_rng(1)
    x = rng.uniform(0.2, 3.0, 100)
    y = rng.beta(1 + x, 1.0)
    model = gs.ConditionalModel(score=lambda y, x: x / y, domain=gs.Box(0, 1), name="Beta(1 + x, 1)")
    with pytest.raises(gs.SteinIdentityError, match=r"Given the x of row \d+: Near the face x_1 = 1"):
        gs.conditional_ksd_test(x, y, model, operator=gs.Langevin(), rng=1)
    result = gs.conditional_ksd_test(x, y, model, rng=1)
    assert result.pvalue > 0.01 and result.audit.valid
    assert "Standardised" in str(result.operator)


# --- bad input ---------------------------------------------------------------------------------

x1, y1 = X[:, 0], Y[:, 0]
WITHOUT_SAMPLER = gs.ConditionalModel(score=line, name="line")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((x1[:-1], y1, line), {}, "`x` has 11 rows and `y` has 12. Row i of both"),
        ((np.where(x1 > 1, np.nan, x1), y1, line), {}, "`x`: .* hold NaN"),
        ((x1, np.append(y1[:-1], np.inf), line), {}, r"`y`: 1 of 12 rows \(row 11\) hold infinite"),
        ((["a"] * 12, y1, line), {}, "`x` must hold real numbers"),
        ((x1, y1, lambda y: -y), {}, r"`model` must take two arguments, score\(y, x\).*ksd_test\(y, model\)"),
        ((x1, y1, gs.families.Normal()), {}, "model of y alone and does not look at x"),
        ((x1, y1, gs.Model(score=lambda y: -y)), {}, "model of y alone and does not look at x"),
        ((x1, y1, LinearRegression()), {}, r"predicts y but is no distribution.*ConditionalModel.gaussian"),
        ((x1, y1, 3.0), {}, "cannot use an object of type float"),
        ((x1, y1, gs.ConditionalModel), {}, "is the class ConditionalModel, not one of its instances"),
        ((X, Y, lambda y, x: x - y), {}, r"maps outcomes \(n, 2\) and covariates \(n, 3\) to \(n, 2\)"),
        ((X, y1, lambda y, x: np.zeros(5)), {}, r"returned shape \(5,\)"),
        ((x1, y1, lambda y, x: y / 0.0 * np.nan), {}, "is not finite at 12 of 12 rows"),
        ((x1, y1, line), {"domain": gs.Box(0, 1)}, r"`y`: .* lie outside Box\(\[0, 1\]\)"),
        (
            (x1, y1, line),
            {"domain": gs.Euclidean(2)},
            r"`y`: Euclidean\(2\) needs an array of shape \(n, 2\)",
        ),
        ((x1, y1, LINE.on(gs.Euclidean(1))), {"domain": gs.Euclidean(2)}, "has 2 dimensions, but .* has 1"),
        ((x1, y1, line), {"x_kernel": "rbf"}, "`x_kernel` must be a kernel such as Gaussian"),
        (
            (x1, y1, line),
            {"x_kernel": lambda a, b: np.ones(3)},
            r"`x_kernel` returned an array of shape \(3,\)",
        ),
        ((x1, y1, line), {"operator": gs.Langevin}, "`operator` of Conditional must be an operator"),
        ((x1, y1, line), {"kernel": 1.0}, "`kernel` must be a kernel"),
        ((x1, y1, line), {"rng": -1}, "`rng` must be None"),
        ((x1, y1, line), {"null": "wild"}, "`null` must be a null method"),
        (
            (x1, y1, WITHOUT_SAMPLER),
            {"null": gs.MonteCarlo(9)},
            r"line has no sampler. Pass ConditionalModel\(..., sample=function of \(x, rng\)\), or use",
        ),
        (
            (np.repeat([1e200, -1e200], 6), y1, line),
            {},
            "`x`: values of magnitude",
        ),
    ],
    ids=lambda value: re.sub(r"\W+", "_", value)[:40] if isinstance(value, str) else "",
)
def test_bad_input(arguments, options, message):
    with np.errstate(all="ignore"), pytest.raises(gs.InputError, match=message):
        gs.conditional_ksd_test(*arguments, **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gs.ConditionalModel(), "needs a `score` or a `logpdf`"),
        (lambda: gs.ConditionalModel(score=3), r"`score` of ConditionalModel must be a function of \(y, x\)"),
        (
            lambda: gs.ConditionalModel(score=lambda y: y),
            "`score` of ConditionalModel must take two arguments",
        ),
        (lambda: gs.ConditionalModel(score=line, sample=lambda x: x), r"two arguments, sample\(x, rng\)"),
        (
            lambda: gs.ConditionalModel(score=line, domain=1),
            "`domain` of ConditionalModel must be a domain of y",
        ),
        (
            lambda: gs.ConditionalModel.gaussian(1.0),
            "`mean` of ConditionalModel.gaussian must be a function of x",
        ),
        (lambda: gs.ConditionalModel.gaussian(np.sin, -1.0), "`scale` of ConditionalModel.gaussian must be"),
        (
            lambda: gs.ConditionalModel.gaussian(np.sin, "wide"),
            "`scale` of ConditionalModel.gaussian must be",
        ),
        (
            lambda: gs.ConditionalModel.gaussian(np.sin, lambda x: x).score(y1, x1),
            "`scale` of ConditionalModel.gaussian is not positive at",
        ),
        (
            lambda: gs.ConditionalModel.gaussian(lambda x: x).score(y1, X),
            r"`mean` of ConditionalModel.gaussian returned shape \(12, 3\) for outcomes of shape \(12,\)",
        ),
        (
            lambda: gs.ConditionalModel.gaussian(lambda x: (x @ SLOPES).T).score(Y, X),
            r"`mean` of ConditionalModel.gaussian returned shape \(2, 12\) for outcomes of shape \(12, 2\)",
        ),
        (
            lambda: gs.ConditionalModel.gaussian(np.sin, [1.0, 2.0]).score(y1, x1),
            "`scale` of ConditionalModel.gaussian has 2 numbers, but y has 1 column. Pass one number",
        ),
        (
            lambda: gs.ConditionalModel.gaussian(np.sin, [1.0, 2.0]).score(y1[:2], x1[:2]),
            "`scale` of ConditionalModel.gaussian has 2 numbers, but y has 1 column. Pass one number",
        ),
        (
            lambda: gs.conditional_ksd_test(X, y1, gs.ConditionalModel.gaussian(lambda x: x[:, 0], [1, 2])),
            "`scale` of ConditionalModel.gaussian has 2 numbers, but y has 1 column",
        ),
        (
            lambda: gs.ksd_test(y1, WITHOUT_SAMPLER),
            r"model of y given x, and ndarray holds no pairs. Pass Paired\(x, y\), or use conditional",
        ),
        (lambda: gs.audit(WITHOUT_SAMPLER), "does not say where y lives: pass `domain` or `data`"),
        (lambda: gs.as_model(LINE), r"model of y given x. Use conditional_ksd_test\(x, y, model\)"),
        (
            lambda: gs.ksd_test(y1, gs.families.Normal(), operator=gs.Conditional()),
            r"is a model of y alone and does not look at x.*For a model without covariates use ksd_test",
        ),
        (
            lambda: gs.audit(gs.Model(score=lambda x: -x, domain=gs.Euclidean(1)), operator=gs.Conditional()),
            "is a model of y alone and does not look at x",
        ),
        (lambda: WITHOUT_SAMPLER.logpdf(y1, x1), "line has no log density"),
        (lambda: WITHOUT_SAMPLER.score(y1, x1[:5]), r"`y` has shape \(12,\) and `x` has shape \(5,\)"),
        (lambda: gs.Conditional(gs.Langevin), "`operator` of Conditional must be an operator in y"),
        (lambda: gs.Conditional(gs.Conditional()), "not another Conditional"),
    ],
)
def test_bad_models(make, message):
    with pytest.raises(gs.InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("sampler", "domain", "error", "message"),
    [
        (lambda x, rng: x[:-1], None, gs.SamplingError, r"returned shape \(11,\) for 12 rows of x"),
        (lambda x, rng: np.full((12, 2), 1.0), None, gs.SamplingError, r"the outcomes have shape \(12,\)"),
        (lambda x, rng: x * np.nan, None, gs.SamplingError, "values that are not finite in 12 of 12 rows"),
        (lambda x, rng: x - 9.0, gs.Box(-5, 5), gs.DomainError, "The sampler of line leaves the domain"),
    ],
    ids=["rows", "columns", "NaN", "outside"],
)
def test_bad_samplers(sampler, domain, error, message):
    model = gs.ConditionalModel(score=line, sample=sampler, domain=domain, name="line")
    with pytest.raises(error, match=message):
        gs.conditional_ksd_test(x1, y1, model, null=gs.MonteCarlo(9), rng=1)
    with pytest.raises(gs.SamplingError, match="line has no sampler"):
        WITHOUT_SAMPLER.sample(x1)


def test_operators_must_ask_for_the_observations():
    class Elsewhere:
        def features(self, model, domain, data):
            return gs.SteinFeatures(data[:5], model.score(data[:5]))

    with pytest.raises(gs.InputError, match="5 outcomes were asked for at 12 rows of covariates"):
        matrix(x1, y1, line, operator=Elsewhere())


def test_one_pair_can_be_taken_and_not_be_tested():
    pairs = gs.Paired(np.arange(6.0).reshape(3, 2), [1.0, 2.0, 3.0])
    one = pairs.take(np.array([2]))
    assert len(one) == 1 and one.x.tolist() == [[4.0, 5.0]] and one.y.tolist() == [3.0]
    with pytest.raises(gs.InputError, match="`x` has 1 row; a test needs at least 2"):
        gs.ksd_test(one, gs.ConditionalModel(score=lambda y, x: -y), rng=1)
