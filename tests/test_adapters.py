"""as_model: every kind of object that it accepts, against closed forms, and every refusal."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import goodstein as gs
from goodstein import families
from goodstein.adapters import as_model
from goodstein.domains import Box, Euclidean, Naturals, Orthant, Simplex
from goodstein.errors import InputError, ScoreError
from goodstein.foreign import describe
from goodstein.models import Model


def points(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


COVARIANCE = np.array([[2.0, 0.5], [0.5, 1.0]])


# --- models, families, objects, functions -------------------------------------------------


def test_model_is_returned_as_it_is():
    model = Model(score=lambda x: -x)
    assert as_model(model) is model


def test_family():
    family = families.Normal([1.0, -1.0], COVARIANCE)
    model = as_model(family)
    x = points(5, 2)
    assert model.name == repr(family)
    assert model.domain == Euclidean(2)
    assert_array_equal(model.score(x), family.score(x))
    assert_array_equal(model.logpdf(x), family.logpdf(x))
    assert_array_equal(model.sample(4, rng=1), family.sample(4, rng=1))
    assert repr(pickle.loads(pickle.dumps(model))) == repr(model)


def test_family_with_weighted_score():
    model = as_model(families.Dirichlet([2.0, 0.5, 1.0]))
    zeros = np.array([[0.0, 0.5, 0.5], [0.2, 0.3, 0.5]])
    assert_allclose(model.weighted_score(zeros), [[1.0, -0.5, 0.0]] * 2)
    with pytest.raises(
        ScoreError, match=r"not finite at 1 of 2 rows \(row 0\). Of these, 1 lie on the boundary of Sim"
    ):
        model.score(zeros)


class Mine:
    """The least that a user's own model must have."""

    def score(self, x):
        return -x


class MineInFull(Mine):
    domain = Orthant(2)

    def logpdf(self, x):
        return -0.5 * (x**2).sum(axis=1)

    def sample(self, n, rng):
        return np.abs(rng.standard_normal((n, 2)))

    def weighted_score(self, x):
        return -(x**2)

    def __repr__(self):
        return "half normal"


def test_object_with_score():
    x = points(4, 2)
    model = as_model(Mine())
    assert (model.name, model.domain, model.has_logpdf, model.has_sample) == ("Mine", None, False, False)
    assert_array_equal(model.score(x), -x)
    full = as_model(MineInFull())
    assert (full.name, full.domain, full.has_logpdf) == ("half normal", Orthant(2), True)
    assert full.sample(3, rng=0).shape == (3, 2)
    assert_array_equal(full.weighted_score(x), -(x**2))


def test_object_with_logpdf_only():
    class Density:
        def logpdf(self, x):
            return -0.5 * (x**2).sum(axis=-1)

    assert_allclose(as_model(Density()).score(points(4, 2)), -points(4, 2), rtol=1e-10)


def test_domain_of_an_object():
    model = Mine()
    model.domain = "positive"
    with pytest.raises(
        InputError, match=r"attribute `domain` of Mine must be a goodstein.domains.Domain or None, got 'p"
    ):
        as_model(model)


def test_function():
    assert_array_equal(as_model(lambda x: -x).score(points(4, 2)), -points(4, 2))
    with pytest.raises(ScoreError, match=r"This looks like a log density: pass Model\(logpdf=...\)"):
        as_model(lambda x: -0.5 * np.sum(x**2, axis=-1)).score(points(4, 2))


@pytest.mark.parametrize("thing", [3, None, "normal", [1.0, 2.0]])
def test_anything_else(thing):
    with pytest.raises(InputError) as caught:
        as_model(thing)
    assert f"cannot use {thing!r} of type {type(thing).__name__}. Accepted are\n" in str(caught.value)
    for accepted in (
        "a score function",
        "scipy.stats.norm(0, 1)",
        "GaussianMixture",
        ".log_prob",
        ".logpdf(x)",
    ):
        assert accepted in str(caught.value)


def test_array_is_not_a_model():
    with pytest.raises(InputError, match=r"cannot use array\(\[0., 0.\]\) of type numpy.ndarray"):
        as_model(np.zeros(2))


def test_class_is_not_a_model():
    with pytest.raises(
        InputError, match=r"is the class Normal, not one of its instances. Call it.*Normal\(...\)"
    ):
        as_model(families.Normal)
    with pytest.raises(InputError, match=r"or fit it: Normal\.fit\(\.\.\.\)"):
        as_model(families.Normal)
    with pytest.raises(InputError, match=r"or fit it: WeibullFitter\(\)\.fit\(\.\.\.\)"):
        as_model(pytest.importorskip("lifelines").WeibullFitter)


def test_a_fit_of_scipy_says_how_to_write_its_distribution():
    from scipy import stats

    x = np.random.default_rng(1).normal(size=30)
    fitted = stats.fit(stats.norm, x, [(-5, 5), (0.1, 5)])
    with pytest.raises(InputError, match=r"Pass scipy\.stats\.norm\(\*fitted\.params\)"):
        as_model(fitted)
    assert as_model(stats.norm(*fitted.params)).has_logpdf


def test_describe():
    assert describe(Mine()) == "Mine"
    assert describe(MineInFull()) == "half normal"
    assert describe("x" * 200) == "str"


# --- scipy.stats, one dimension -----------------------------------------------------------

UNIVARIATE = {
    "norm": ((1, 2), lambda x: -(x - 1) / 4, Euclidean(1)),
    "t": ((5,), lambda x: -6 * x / (5 + x**2), Euclidean(1)),
    "logistic": ((), lambda x: -np.tanh(x / 2), Euclidean(1)),
    "gumbel_r": ((), lambda x: np.exp(-x) - 1, Euclidean(1)),
    "expon": ((), lambda x: -np.ones_like(x), Orthant(1)),
    "gamma": ((0.7,), lambda x: -0.3 / x - 1, Orthant(1)),
    "lognorm": ((2,), lambda x: -(1 + np.log(x) / 4) / x, Orthant(1)),
    "weibull_min": ((1.5,), lambda x: 0.5 / x - 1.5 * np.sqrt(x), Orthant(1)),
    "beta": ((0.7, 2), lambda x: -0.3 / x - 1 / (1 - x), Box(0, 1)),
    "uniform": ((1, 2), np.zeros_like, Box(1, 3)),
    "pareto": ((3,), lambda x: -4 / x, Box(1, np.inf)),
}


@pytest.mark.parametrize("name", UNIVARIATE)
def test_scipy_univariate(name):
    from scipy import stats

    arguments, score, domain = UNIVARIATE[name]
    rv = getattr(stats, name)(*arguments)
    model = as_model(rv)
    x = model.sample(300, rng=1)
    assert model.domain == domain
    assert x.shape == (300, 1)
    assert domain.contains(x).all()
    assert_array_equal(x, model.sample(300, rng=1))
    assert_allclose(model.logpdf(x), rv.logpdf(x[:, 0]))
    assert_allclose(model.score(x), score(x), rtol=1e-8, atol=1e-8)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.score(x[:5]), model.score(x[:5]))


def test_scipy_names():
    from scipy import stats

    assert as_model(stats.norm(1, scale=2.5)).name == "scipy.stats.norm(1, scale=2.5)"
    assert as_model(stats.expon()).name == "scipy.stats.expon()"


def test_scipy_subclass():
    from scipy import stats

    class Triangle(stats.rv_continuous):
        def _logpdf(self, x):
            return np.log(2 * x)

    model = as_model(Triangle(a=0, b=1, name="triangle")())
    assert model.domain == Box(0, 1)
    assert_allclose(model.score([[0.25], [0.5]]), [[4.0], [2.0]], rtol=1e-9)


def test_scipy_new_style():
    from scipy import stats

    x = points(20, 1)
    normal = as_model(stats.Normal(mu=1.0, sigma=2.0))
    assert (normal.name, normal.domain) == ("Normal(mu=1.0, sigma=2.0)", Euclidean(1))
    assert_allclose(normal.score(x), -(x - 1) / 4, rtol=1e-9)
    assert_array_equal(normal.sample(5, rng=2), normal.sample(5, rng=2))
    assert normal.sample(5, rng=2).shape == (5, 1)

    mixture = as_model(stats.Mixture([stats.Normal(), stats.Normal(mu=2.0)], weights=[0.3, 0.7]))
    exact = families.GaussianMixture([0.3, 0.7], [0.0, 2.0], 1.0)
    assert "\n" not in mixture.name
    assert_allclose(mixture.score(x), exact.score(x), rtol=1e-8, atol=1e-8)

    gamma = as_model(stats.make_distribution(stats.gamma)(a=2.0))
    assert gamma.domain == Orthant(1)
    assert_allclose(gamma.score(np.abs(x)), 1 / np.abs(x) - 1, rtol=1e-8)

    half = as_model(stats.truncate(stats.Normal(), 0.0, 2.0))
    assert half.domain == Box(0, 2)
    inside = np.linspace(0.01, 1.99, 9)[:, None]
    assert_allclose(half.score(inside), -inside, rtol=1e-8)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("poisson", r"scipy.stats.poisson has no parameters yet"),
        ("poisson([1.0, 2.0])", r"scipy.stats.poisson holds an array of distributions"),
        ("skellam(2, 3)", r"has states from -inf on, no counts.*StateSpace"),
        ("multivariate_hypergeom([2, 3], 2)", r"is discrete, and does not say on which states.*Naturals"),
    ],
)
def test_scipy_discrete(name, message):
    """Those of counts are models; see test_counts.py."""
    from scipy import stats

    with pytest.raises(InputError, match=message):
        as_model(eval(f"stats.{name}", {"stats": stats}))
    assert as_model(stats.multinomial(3, [0.2, 0.8])).domain.dim == 2
    table = as_model(stats.rv_discrete(values=([0, 1, 2], [0.2, 0.3, 0.5])))
    assert_allclose(np.exp(table.logpdf(np.array([[0.0], [2.0]]))), [0.2, 0.5])


def test_scipy_directions_live_on_circles_and_spheres():
    from scipy import stats

    circle = as_model(stats.vonmises(2.0, loc=0.4))
    assert circle.domain == gs.Circle()
    assert_allclose(circle.score([[1.0]]), [[-2.0 * np.sin(0.6)]])
    sphere = as_model(stats.vonmises_fisher([0, 0, 1], 3))
    assert sphere.domain == gs.Sphere(3)
    assert_allclose(sphere.score([[1.0, 0.0, 0.0]]), [[0.0, 0.0, 3.0]])
    assert as_model(stats.uniform_direction(4)).domain == gs.Sphere(4)


def test_scipy_without_parameters():
    from scipy import stats

    with pytest.raises(
        InputError, match=r"scipy.stats.norm has no parameters yet. Call it: scipy.stats.norm\(loc, scale\)"
    ):
        as_model(stats.norm)
    with pytest.raises(InputError, match=r"Call it: scipy.stats.multivariate_normal\(...\)"):
        as_model(stats.multivariate_normal)
    with pytest.raises(InputError, match=r"is the class Normal"):
        as_model(stats.Normal)


def test_scipy_arrays_of_distributions():
    from scipy import stats

    with pytest.raises(
        InputError, match=r"scipy.stats.norm holds an array of distributions, of shape \(2,\)"
    ):
        as_model(stats.norm([0, 1], 1))
    with pytest.raises(
        InputError, match=r"scipy.stats.Normal holds an array of distributions, of shape \(2,\)"
    ):
        as_model(stats.Normal(mu=[0.0, 1.0]))


# --- scipy.stats, several dimensions ------------------------------------------------------


def test_scipy_multivariate_normal():
    from scipy import stats

    model = as_model(stats.multivariate_normal([1, -1], COVARIANCE))
    x = points(6, 2)
    assert model.name == repr(families.Normal([1, -1], COVARIANCE))
    assert_allclose(model.score(x), -(x - [1, -1]) @ np.linalg.inv(COVARIANCE))
    by_precision = stats.Covariance.from_precision(np.linalg.inv(COVARIANCE))
    assert_allclose(as_model(stats.multivariate_normal([1, -1], by_precision)).score(x), model.score(x))
    assert_allclose(as_model(stats.multivariate_normal(3.0, 2.0)).score([[1.0]]), [[1.0]])


def test_scipy_multivariate_t():
    from scipy import stats

    rv = stats.multivariate_t([1, -1], COVARIANCE, df=4)
    x = points(6, 2)
    model = as_model(rv)
    assert_allclose(model.score(x), Model(logpdf=rv.logpdf).score(x), rtol=1e-8, atol=1e-8)
    normal = as_model(stats.multivariate_t([1, -1], COVARIANCE, df=np.inf))
    assert_allclose(normal.score(x), -(x - [1, -1]) @ np.linalg.inv(COVARIANCE))


def test_scipy_dirichlet():
    from scipy import stats

    model = as_model(stats.dirichlet([1.0, 2.0, 3.0]))
    x = model.sample(5, rng=0)
    assert model.domain == Simplex(3)
    assert_allclose(model.score(x), [0.0, 1.0, 2.0] / x)
    assert_allclose(model.logpdf(x), stats.dirichlet([1.0, 2.0, 3.0]).logpdf(x.T))


def test_scipy_kernel_density():
    from scipy import stats

    data = points(40, 2, seed=3)
    rv = stats.gaussian_kde(data.T, bw_method=0.4, weights=np.arange(1, 41))
    model = as_model(rv)
    x = points(3, 2)
    assert_allclose(model.logpdf(x), rv.logpdf(x.T), rtol=1e-12)
    assert_allclose(model.score(x), Model(logpdf=rv.logpdf).score(x), rtol=1e-8, atol=1e-8)
    assert model.name == "scipy.stats.gaussian_kde of 40 points"


def test_scipy_other_multivariate():
    from scipy import stats

    vectors = type(stats.multivariate_normal(0, 1)).__mro__[1]  # the base of all frozen ones

    class Vectors(vectors):
        dim = 2
        logpdf = staticmethod(stats.multivariate_normal([0, 0], COVARIANCE).logpdf)
        rvs = staticmethod(stats.multivariate_normal([0, 0], COVARIANCE).rvs)

    model = as_model(Vectors())
    assert_allclose(model.score(points(4, 2)), -points(4, 2) @ np.linalg.inv(COVARIANCE), rtol=1e-9)
    assert model.sample(1, rng=0).shape == (1, 2)
    assert_array_equal(model.sample(3, rng=0), model.sample(3, rng=0))


REFUSED = {
    "wishart(3, np.eye(2))": "scipy.stats.wishart is not a distribution of vectors. Flatten it yourself",
    "matrix_normal()": "scipy.stats.matrix_normal is not a distribution of vectors",
    "vonmises(2, scale=3)": "scipy.stats.vonmises must have one kappa, one loc and no scale",
    "ortho_group(3)": "scipy.stats.ortho_group has no log density",
    "qmc.Sobol(2)": "scipy.stats.Sobol is not a distribution",
}


@pytest.mark.parametrize("text", REFUSED)
def test_scipy_refused(text):
    from scipy import stats

    with pytest.raises(InputError, match=REFUSED[text]):
        as_model(eval(f"stats.{text}", {"stats": stats, "np": np}))


# --- scikit-learn -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sklearn_data():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.standard_normal((60, 2)), 3 + rng.standard_normal((40, 2)) @ COVARIANCE])


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sklearn_mixture(sklearn_data, covariance_type, dtype):
    mixture = pytest.importorskip("sklearn.mixture")
    fitted = mixture.GaussianMixture(2, covariance_type=covariance_type, random_state=0)
    fitted.fit(sklearn_data.astype(dtype))
    model = as_model(fitted)
    x = points(9, 2)
    tolerance = 1e-10 if dtype is np.float64 else 1e-4
    assert_allclose(model.logpdf(x), fitted.score_samples(x), rtol=tolerance)
    assert_allclose(model.score(x), Model(logpdf=model.logpdf).score(x), rtol=1e-8, atol=1e-8)
    assert model.domain == Euclidean(2)
    assert model.sample(5, rng=0).shape == (5, 2)


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 101.0)], ids=["equal", "weighted"])
@pytest.mark.parametrize("bandwidth", [0.3, "scott"])
def test_sklearn_kernel_density(sklearn_data, weights, bandwidth):
    neighbors = pytest.importorskip("sklearn.neighbors")
    fitted = neighbors.KernelDensity(bandwidth=bandwidth).fit(sklearn_data, sample_weight=weights)
    model = as_model(fitted)
    x = points(9, 2)
    assert_allclose(model.logpdf(x), fitted.score_samples(x), rtol=1e-10)
    assert_allclose(model.score(x), Model(logpdf=fitted.score_samples).score(x), rtol=1e-7, atol=1e-7)
    drawn = model.sample(20_000, rng=0)
    assert_array_equal(drawn[:5], model.sample(20_000, rng=0)[:5])
    assert_allclose(drawn.mean(axis=0), np.average(sklearn_data, axis=0, weights=weights), atol=0.06)
    assert "KernelDensity" in model.name
    assert "100 points" in model.name


def test_sklearn_kernel_density_in_another_metric(sklearn_data):
    neighbors = pytest.importorskip("sklearn.neighbors")
    same = neighbors.KernelDensity(metric="minkowski", metric_params={"p": 2}).fit(sklearn_data)
    assert as_model(same).domain == Euclidean(2)
    for other in ({"metric": "manhattan"}, {"metric": "minkowski", "metric_params": {"p": 1}}):
        with pytest.raises(
            InputError, match=r"metric other than the Euclidean one.*Refit with .*metric='euclidean'"
        ):
            as_model(neighbors.KernelDensity(**other).fit(sklearn_data))


def test_sklearn_kernel_density_with_another_kernel(sklearn_data):
    neighbors = pytest.importorskip("sklearn.neighbors")
    with pytest.raises(
        InputError, match=r"not differentiable everywhere.*KernelDensity\(kernel='gaussian'\)"
    ):
        as_model(neighbors.KernelDensity(kernel="tophat").fit(sklearn_data))


def test_sklearn_refused():
    mixture = pytest.importorskip("sklearn.mixture")
    from sklearn.linear_model import LinearRegression
    from sklearn.neighbors import KernelDensity

    for unfitted in (mixture.GaussianMixture(2), KernelDensity()):
        with pytest.raises(InputError, match=r"is not fitted yet. Call .fit\(X\) first"):
            as_model(unfitted)
    # Its .score() must not be taken for a Stein score.
    with pytest.raises(
        InputError, match=r"LinearRegression is not a density .*figure of merit, not a gradient"
    ):
        as_model(LinearRegression())
    with pytest.raises(InputError, match="BayesianGaussianMixture is not a density with a known score"):
        as_model(mixture.BayesianGaussianMixture())


def test_estimator_of_ones_own_with_a_stein_score():
    base = pytest.importorskip("sklearn.base")

    class Estimator(base.BaseEstimator):
        def score(self, x):
            return -x

    assert_array_equal(as_model(Estimator()).score(points(4, 2)), -points(4, 2))


# --- JAX ----------------------------------------------------------------------------------

PRECISION = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.7]])


def jax_functions(jnp, jax):
    return {
        "batch": lambda x: -0.5 * jnp.einsum("ni,ij,nj->n", x, PRECISION, x),
        "point": lambda x: -0.5 * x @ jnp.asarray(PRECISION) @ x,
        "compiled": jax.jit(lambda x: -0.5 * jnp.sum((x @ PRECISION) * x, axis=-1)),
        "rejects NumPy": lambda x: -0.5 * jnp.sum((x.at[0].add(0.0) @ PRECISION) * x, axis=-1),
    }


@pytest.mark.parametrize(
    ("form", "n"),
    [("batch", 1), ("batch", 3), ("point", 1), ("point", 3), ("compiled", 8), ("rejects NumPy", 8)],
)
def test_jax_logpdf(form, n):
    jax = pytest.importorskip("jax")
    import jax.numpy as jnp

    x = points(n, 3)
    model = Model(logpdf=jax_functions(jnp, jax)[form])
    assert_allclose(model.score(x), -x @ PRECISION, rtol=1e-12, atol=1e-13)
    assert_allclose(model.logpdf(x), -0.5 * np.einsum("ni,ij,nj->n", x, PRECISION, x), rtol=1e-12)
    assert jnp.ones(1).dtype == jnp.float32  # the user's configuration is as it was


def test_jax_logpdf_of_a_mixture():
    pytest.importorskip("jax")
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp

    means = jnp.asarray([[-1.0, 0.0], [2.0, 1.0]])
    # log(0.3) made inside the function is a double only because the function runs in double precision.
    model = Model(
        logpdf=lambda x: logsumexp(
            -0.5 * jnp.sum((x[None, :] - means) ** 2, axis=1) + jnp.log(jnp.asarray([0.3, 0.7]))
        )
    )
    x = points(8, 2)
    exact = families.GaussianMixture([0.3, 0.7], means, 1.0)
    assert_allclose(model.score(x), exact.score(x), rtol=1e-12, atol=1e-12)


def test_jax_score():
    pytest.importorskip("jax")
    import jax.numpy as jnp

    x = points(3, 3)
    for score in (lambda x: -jnp.matmul(x, PRECISION), lambda x: -jnp.asarray(PRECISION) @ x):
        got = as_model(score).score(x)
        assert got.dtype == np.float64
        assert_allclose(got, -x @ PRECISION, rtol=1e-12, atol=1e-13)


def test_jax_on_the_line():
    pytest.importorskip("jax")
    import jax.numpy as jnp

    x = points(6, 1)
    for logpdf in (lambda x: -0.5 * jnp.square(x), lambda x: jnp.where(x > 9, 0.0, -0.5 * x * x)):
        assert_allclose(Model(logpdf=logpdf).score(x), -x, rtol=1e-12)


def test_jax_function_that_cannot_be_differentiated():
    pytest.importorskip("jax")
    import jax.numpy as jnp

    model = Model(logpdf=lambda x: jnp.asarray(-0.5 * np.sum(np.asarray(x) ** 2, axis=-1)))
    with pytest.raises(
        ScoreError, match=r"is a JAX function, but differentiating it failed: Tracer.*Write it with JAX"
    ):
        model.score(points(5, 2))


def test_jax_pickle():
    pytest.importorskip("jax")
    model = Model(logpdf=jax_logpdf)
    x = points(5, 2)
    score = model.score(x)  # compiles
    assert_array_equal(pickle.loads(pickle.dumps(model)).score(x), score)


def jax_logpdf(x):
    import jax.numpy as jnp

    return -0.5 * jnp.sum(x**2, axis=-1)


# --- log_prob and Stan --------------------------------------------------------------------


class _Simplex:
    is_discrete = False


class _Discrete:
    is_discrete = True


class JaxDirichlet:
    """What numpyro's Dirichlet looks like from outside."""

    __module__ = "numpyro.distributions"
    event_shape, batch_shape, support = (3,), (), _Simplex()

    def log_prob(self, x):
        import jax.numpy as jnp

        return jnp.sum(jnp.asarray([0.0, 1.0, 2.0]) * jnp.log(x), axis=-1)

    def sample(self, key, sample_shape=()):
        import jax

        parts = jax.random.uniform(key, (*sample_shape, 3), dtype="float32")  # not Dirichlet, but quick
        return parts / parts.sum(axis=1, keepdims=True)


def test_log_prob_in_the_manner_of_numpyro():
    pytest.importorskip("jax")
    model = as_model(JaxDirichlet())
    assert (model.name, model.domain) == ("JaxDirichlet", Simplex(3))
    x = model.sample(6, rng=1)
    assert model.domain.contains(x).all()
    assert_array_equal(x, model.sample(6, rng=1))
    assert_allclose(model.score(x), [0.0, 1.0, 2.0] / x, rtol=1e-12)


def test_counts_of_numpyro():
    dist, jnp = pytest.importorskip("numpyro.distributions"), pytest.importorskip("jax.numpy")
    stats = pytest.importorskip("scipy.stats")
    two = as_model(dist.Poisson(jnp.array([1.0, 2.0])).to_event(1))
    assert two.domain == Naturals(2)
    states = np.array([[0.0, 3.0], [4.0, 1.0]])
    expected = stats.poisson([1, 2]).logpmf(states).sum(axis=1)
    assert_allclose(two.logpdf(states), expected, rtol=1e-5)
    assert_allclose(two.sample(4000, rng=1).mean(axis=0), [1, 2], atol=0.1)
    few = as_model(dist.Binomial(5, 0.3)).logpdf(np.arange(8.0)[:, None])
    assert_allclose(few, stats.binom(5, 0.3).logpmf(np.arange(8)), rtol=1e-5)


def test_numpyro():
    dist = pytest.importorskip("numpyro.distributions")
    x = points(6, 3)
    normal = as_model(dist.MultivariateNormal(np.zeros(3), precision_matrix=PRECISION))
    assert normal.domain == Euclidean(3)
    assert_allclose(
        normal.score(x), -x @ PRECISION, rtol=1e-5, atol=1e-6
    )  # its parameters are single precision
    independent = as_model(dist.Normal(np.zeros(3), 2.0).to_event(1))
    assert independent.domain == Euclidean(3)
    assert_allclose(independent.score(x), -x / 4, rtol=1e-12)
    assert independent.sample(4, rng=0).shape == (4, 3)
    gamma = as_model(dist.Gamma(2.0, 1.0))
    assert gamma.domain == Orthant(1)
    assert_allclose(gamma.score(np.abs(x[:, :1])), 1 / np.abs(x[:, :1]) - 1, rtol=1e-12)
    assert as_model(dist.Uniform(1.0, 3.0)).domain == Box(1, 3)
    assert as_model(dist.Beta(2.0, 3.0)).domain == Box(0, 1)
    assert as_model(dist.Dirichlet(np.ones(4))).domain == Simplex(4)
    with pytest.raises(InputError, match=r"3 distributions .*to_event\(1\)"):
        as_model(dist.Normal(np.zeros(3), 1.0))
    with pytest.raises(InputError, match="is discrete"):
        as_model(dist.Multinomial(5, np.array([0.2, 0.8])))


def test_log_prob_without_shapes_or_support():
    class Flow:
        def log_prob(self, x):
            return -0.5 * (x**2).sum(axis=-1)

    class Declared(Flow):
        event_shape = (2,)

    for flow in (Flow(), Declared()):
        model = as_model(flow)
        assert (model.domain, model.has_sample) == (None, False)
        assert_allclose(model.score(points(4, 2)), -points(4, 2), rtol=1e-9)


def test_log_prob_refused():
    class Distribution(JaxDirichlet):
        pass

    discrete, batch, matrices = Distribution(), Distribution(), Distribution()
    discrete.support, batch.batch_shape, matrices.event_shape = _Discrete(), (5,), (2, 2)
    with pytest.raises(InputError, match="is discrete, and its states are no counts that vary one by one"):
        as_model(discrete)
    with pytest.raises(InputError, match=r"is 5 distributions \(batch_shape \(5,\)\), not a joint one"):
        as_model(batch)
    with pytest.raises(InputError, match=r"a distribution of arrays of shape \(2, 2\), not of vectors"):
        as_model(matrices)


class BridgeStan:
    """Standard normal on two unconstrained parameters, with BridgeStan's methods."""

    def param_unc_num(self):
        return 2

    def log_density_gradient(self, theta):
        if np.shape(theta) != (2,):
            raise ValueError("one parameter vector at a time")
        return -0.5 * math.fsum(theta**2), -theta


class PyStan:
    def log_prob(self, theta):
        return -0.5 * float(theta @ theta)

    def grad_log_prob(self, theta):
        return list(-theta)


@pytest.mark.parametrize(("stan", "domain"), [(BridgeStan(), Euclidean(2)), (PyStan(), None)])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_stan(stan, domain, n):
    model = as_model(stan)
    x = points(n, 2)
    assert model.domain == domain
    assert_allclose(model.score(x), -x)
    assert_allclose(model.logpdf(x), -0.5 * (x**2).sum(axis=1))
    assert model.name == type(stan).__name__
