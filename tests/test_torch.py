"""Models written with PyTorch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose, assert_array_equal

import goodstein as gs
from goodstein.adapters import as_model
from goodstein.domains import Box, Euclidean, Simplex
from goodstein.errors import InputError, NumericalScoreWarning, ScoreError
from goodstein.models import Model

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

PRECISION = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.7]])


def points(n, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def matrix():
    return torch.tensor(PRECISION)


LOGPDFS = {
    "batch": lambda x: -0.5 * torch.einsum("ni,ij,nj->n", x, matrix(), x),
    "point": lambda x: -0.5 * torch.dot(x, torch.mv(matrix(), x)),
    "point with a branch": lambda x: -0.5 * torch.dot(x if x[0] > 0 else x * 1.0, torch.mv(matrix(), x)),
    "takes NumPy too": lambda x: -0.5 * ((torch.as_tensor(x) @ matrix()) * torch.as_tensor(x)).sum(-1),
}


@pytest.mark.parametrize("n", [1, 3, 8])
@pytest.mark.parametrize("form", LOGPDFS)
def test_logpdf(form, n):
    x = points(n)
    model = Model(logpdf=LOGPDFS[form])
    assert_allclose(model.score(x), -x @ PRECISION, rtol=1e-12, atol=1e-13)
    assert_allclose(model.logpdf(x), -0.5 * np.einsum("ni,ij,nj->n", x, PRECISION, x), rtol=1e-12)
    assert model.score(x).dtype == np.float64


def differentiates_inside(x):
    x = x.detach().requires_grad_(True)
    (gradient,) = torch.autograd.grad(-0.5 * torch.dot(x, torch.mv(matrix(), x)), x)
    return gradient


SCORES = {
    "batch": lambda x: -torch.einsum("ni,ij->nj", x, matrix()),
    "point": lambda x: -torch.mv(matrix(), x),
    "point that differentiates inside": differentiates_inside,
}


@pytest.mark.parametrize("n", [1, 3, 8])
@pytest.mark.parametrize("form", SCORES)
def test_score(form, n):
    x = points(n)
    assert_allclose(as_model(SCORES[form]).score(x), -x @ PRECISION, rtol=1e-12, atol=1e-13)


def test_on_the_line():
    x = points(6, 1)
    assert_allclose(Model(logpdf=lambda x: -0.5 * torch.square(x)).score(x), -x)
    number = Model(logpdf=lambda x: -0.5 * torch.tensor(float(x), dtype=torch.float64) ** 2)
    assert_allclose(number.logpdf(x), -0.5 * x[:, 0] ** 2)


class Network(torch.nn.Module):
    """log q(x) = -|Wx|²/2, as a module with parameters."""

    def __init__(self, dtype):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3, bias=False, dtype=dtype)
        with torch.no_grad():
            self.layer.weight.copy_(torch.tensor(np.linalg.cholesky(PRECISION).T))

    def forward(self, x):
        return -0.5 * (self.layer(x) ** 2).sum(-1)


def test_module_in_double_precision():
    x = points(5)
    with torch.no_grad():  # the user's grad mode must not matter
        assert_allclose(Model(logpdf=Network(torch.float64)).score(x), -x @ PRECISION, rtol=1e-12, atol=1e-13)


def test_module_in_single_precision_warns():
    x = points(5)
    model = Model(logpdf=Network(torch.float32))
    with pytest.warns(
        NumericalScoreWarning, match=r"`logpdf` of Network takes float32 tensors only.*\.double\(\)"
    ):
        score = model.score(x)
    assert_allclose(score, -x @ PRECISION, rtol=1e-5, atol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.score(x)  # said once


def test_default_dtype_is_untouched():
    before = torch.get_default_dtype()
    Model(logpdf=LOGPDFS["batch"]).score(points(4))
    assert torch.get_default_dtype() == before


def test_detached_result():
    model = Model(logpdf=lambda x: -0.5 * torch.square(x.detach()).sum(-1))
    with pytest.raises(
        ScoreError, match=r"torch function, but differentiating it failed: .*is it detached, or constant"
    ):
        model.score(points(4))


def test_complex_values():
    with pytest.raises(ScoreError, match="returned complex128 values where real numbers are expected"):
        as_model(lambda x: torch.complex(x, x)).score(points(5))


def test_nothing_works():
    with pytest.raises(
        ScoreError, match=r"- torch, shape \(4, 3\): returned shape \(2, 2\)[\s\S]*- torch float32"
    ):
        as_model(lambda x: torch.ones(2, 2)).score(points(5))


# --- torch.distributions ------------------------------------------------------------------


def test_multivariate_normal():
    normal = torch.distributions.MultivariateNormal(torch.ones(3).double(), precision_matrix=matrix())
    model = as_model(normal)
    x = model.sample(6, rng=0)
    assert model.domain == Euclidean(3)
    assert_allclose(model.score(x), -(x - 1) @ PRECISION, rtol=1e-9)


def test_univariate():
    model = as_model(torch.distributions.Normal(1.0, 2.0))
    x = points(5, 1)
    assert model.domain == Euclidean(1)
    assert_allclose(model.score(x), -(x - 1) / 4, rtol=1e-12)
    assert model.sample(4, rng=0).shape == (4, 1)


SUPPORTS = {
    "exponential": (lambda: torch.distributions.Exponential(torch.tensor(2.0)), Box(0, np.inf)),
    "gamma": (lambda: torch.distributions.Gamma(torch.tensor(2.0), torch.tensor(1.0)), Box(0, np.inf)),
    "beta": (lambda: torch.distributions.Beta(torch.tensor(2.0), torch.tensor(3.0)), Box(0, 1)),
    "uniform": (
        lambda: torch.distributions.Independent(
            torch.distributions.Uniform(torch.tensor([0.0, 1.0]), torch.tensor([2.0, 3.0])), 1
        ),
        Box([0, 1], [2, 3]),
    ),
    "dirichlet": (lambda: torch.distributions.Dirichlet(torch.ones(3)), Simplex(3)),
}


@pytest.mark.parametrize("name", SUPPORTS)
def test_supports(name):
    make, domain = SUPPORTS[name]
    model = as_model(make())
    assert model.domain == domain
    assert domain.contains(model.sample(20, rng=0)).all()


def test_beta_score():
    x = np.random.default_rng(0).random((7, 1))
    model = as_model(torch.distributions.Beta(torch.tensor(2.0).double(), torch.tensor(3.0).double()))
    assert_allclose(model.score(x), 1 / x - 2 / (1 - x), rtol=1e-10)


def test_sampling_is_reproducible_and_leaves_the_global_state():
    model = as_model(torch.distributions.Normal(0.0, 1.0))
    state = torch.random.get_rng_state()
    assert_array_equal(model.sample(5, rng=1), model.sample(5, rng=1))
    assert not np.array_equal(model.sample(5, rng=1), model.sample(5, rng=2))
    assert torch.equal(state, torch.random.get_rng_state())


def test_batch_of_distributions():
    with pytest.raises(
        InputError, match=r"is 3 distributions \(batch_shape \(3,\)\).*Independent\(distribution, 1\)"
    ):
        as_model(torch.distributions.Normal(torch.zeros(3), torch.ones(3)))


def test_distribution_of_matrices():
    with pytest.raises(InputError, match=r"a distribution of arrays of shape \(2, 2\)"):
        as_model(torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)))


@pytest.mark.parametrize(
    ("distribution", "same"),
    [
        (torch.distributions.Poisson(torch.tensor(3.0)), scipy.stats.poisson(3)),
        (torch.distributions.Binomial(5, torch.tensor(0.3)), scipy.stats.binom(5, 0.3)),
        (torch.distributions.Bernoulli(torch.tensor(0.3)), scipy.stats.bernoulli(0.3)),
        (torch.distributions.Geometric(torch.tensor(0.3)), scipy.stats.geom(0.3, loc=-1)),
    ],
    ids=lambda case: type(case).__name__,
)
def test_counts(distribution, same):
    model = as_model(distribution)
    assert model.domain == gs.Naturals(1)
    states = np.arange(8.0)[:, None]
    assert_allclose(model.logpdf(states), same.logpmf(states[:, 0]), rtol=1e-5)
    drawn = model.sample(4000, rng=1)
    assert abs(drawn.mean() - same.mean()) < 4 * same.std() / np.sqrt(4000)
    data = same.rvs(size=100, random_state=2)
    theirs = gs.ksd_test(data, same, rng=1)
    assert_allclose(gs.ksd_test(data, distribution, rng=1).statistic, theirs.statistic, rtol=1e-4)


def test_states_that_are_no_counts():
    with pytest.raises(InputError, match=r"no counts that vary one by one.*Multinomial\(n, p\)"):
        as_model(torch.distributions.Multinomial(5, torch.tensor([0.2, 0.8])))


def test_flow():
    class Flow(torch.nn.Module):
        def log_prob(self, x):
            return -0.5 * torch.einsum("ni,ij,nj->n", x, matrix(), x)

        def sample(self, n):
            raise NotImplementedError

    model = as_model(Flow())
    assert not model.has_sample
    assert_allclose(model.score(points(4)), -points(4) @ PRECISION, rtol=1e-12)
