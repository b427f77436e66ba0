"""Posteriors of Stan, PyMC and numpyro, draws with names, and gradients in an array."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.special import expit, logit

import goodstein as gs
from goodstein.data.named import named_draws

RNG = np.random.default_rng(1)
MU, TAU = RNG.normal(size=(2, 60)), RNG.gamma(2.0, size=(2, 60))
M = RNG.uniform(size=(2, 60, 2, 3))
DRAWS = {"mu": MU, "tau": TAU, "m": M}


class BridgeStan:
    """mu ~ N(0, 1), tau ~ Gamma(2, 1), m ~ uniform (2 × 3), with the methods of bridgestan.StanModel."""

    def name(self):
        return "stand_in"

    def param_unc_num(self):
        return 8

    def param_names(self, include_tp=False, include_gq=False):
        # Stan counts from one, and along the columns of a matrix first.
        return ["mu", "tau", *(f"m.{i}.{j}" for j in (1, 2, 3) for i in (1, 2))]

    param_unc_names = param_names

    def param_unconstrain(self, theta):
        assert theta.shape == (8,)
        return np.concatenate([theta[:1], np.log(theta[1:2]), logit(theta[2:])])

    def log_density(self, u):
        p = expit(u[2:])
        return -0.5 * u[0] ** 2 + 2 * u[1] - np.exp(u[1]) + np.log(p * (1 - p)).sum()

    def log_density_gradient(self, theta_unc, propto=True, jacobian=True):
        u = np.asarray(theta_unc)
        slope = np.concatenate([-u[:1], 2 - np.exp(u[1:2]), 1 - 2 * expit(u[2:])])
        return self.log_density(u), slope


def moved(mu, tau, m):
    """As Stan orders them."""
    return np.column_stack([mu.ravel(), np.log(tau.ravel()), logit(m.transpose(0, 1, 3, 2).reshape(-1, 6))])


class Fit:
    """What is used of a CmdStanMCMC."""

    __module__ = "cmdstanpy.stanfit.mcmc"
    column_names = ("lp__", "mu", "tau", *(f"m[{i},{j}]" for j in (1, 2, 3) for i in (1, 2)), "y_new")

    def draws(self, *, concat_chains):
        assert not concat_chains
        columns = [0 * MU, MU, TAU, *(M[..., i, j] for j in range(3) for i in range(2)), MU + 1]
        return np.stack(columns, axis=-1).transpose(1, 0, 2)  # (draws, chains, columns)


def test_draws_of_stan_are_moved_to_unconstrained_space_by_their_names():
    model = gs.as_model(BridgeStan())
    expected = gs.ksd_test(gs.Chains(list(moved(**DRAWS).reshape(2, 60, 8))), model, rng=1)
    assert expected.pvalue > 0.05
    for draws in (DRAWS, {**DRAWS, "y_new": MU}, Fit()):
        found = gs.ksd_test(draws, BridgeStan(), rng=1)
        assert found.pvalue == expected.pvalue
        assert found.data == "2 chains of 60 draws"
        assert found.columns[:4] == ("mu", "tau", "m[1,1]", "m[2,1]")
        assert found.model == "stand_in, unconstrained parameters"


def test_the_worst_parameter_is_named():
    wrong = {**DRAWS, "tau": 2.0 * TAU}
    found = gs.ksd_test(wrong, BridgeStan(), rng=1).explain()
    assert found.findings[0].columns == ("tau",)
    assert found.findings[0].fails


def test_missing_parameters_and_wrong_shapes_are_told():
    with pytest.raises(gs.InputError, match=r"hold no tau, a parameter of stand_in.*they hold mu, m\."):
        gs.ksd_test({"mu": MU, "m": M}, BridgeStan())
    with pytest.raises(gs.InputError, match=r"draws of m have shape \(3, 2\), and stand_in.* has \(2, 3\)"):
        gs.ksd_test({**DRAWS, "m": M.transpose(0, 1, 3, 2)}, BridgeStan())
    with pytest.raises(gs.InputError, match="differ in their numbers of chains and draws"):
        gs.ksd_test({**DRAWS, "mu": MU[:, :5]}, BridgeStan())


def test_columns_of_cmdstanpy_keep_their_names_without_those_of_the_sampler():
    found = named_draws(Fit())
    assert found.names == ("mu", "tau", *(f"m[{i},{j}]" for i in (1, 2) for j in (1, 2, 3)), "y_new")
    assert np.array_equal(found.variables["m"], M)
    assert np.array_equal(found.variables["tau"], TAU)


def test_containers_of_arviz_keep_names_and_chains():
    arviz = pytest.importorskip("arviz_base")
    b = RNG.normal(size=(4, 50, 2))
    tree = arviz.from_dict(
        {"posterior": {"a": b[..., 0], "b": b}}, coords={"school": ["x", "y"]}, dims={"b": ["school"]}
    )
    result = gs.ksd_test(tree, gs.families.Normal([0, 0, 0]), rng=1, audit=False)
    assert result.columns == ("a", "b[x]", "b[y]")
    assert result.data == "4 chains of 50 draws"
    other = arviz.from_dict({"posterior": DRAWS})
    assert gs.ksd_test(other, BridgeStan(), rng=1).pvalue == gs.ksd_test(DRAWS, BridgeStan(), rng=1).pvalue


# --- numpyro -----------------------------------------------------------------------------------------


def numpyro_model():
    numpyro = pytest.importorskip("numpyro")
    dist = numpyro.distributions

    def model(y=None):
        mu = numpyro.sample("mu", dist.Normal(0.0, 2.0))
        tau = numpyro.sample("tau", dist.Gamma(2.0, 1.0))
        p = numpyro.sample("p", dist.Beta(2.0, 3.0).expand([2]).to_event(1))
        numpyro.sample("y", dist.Normal(mu + p.sum(), tau), obs=y)
        numpyro.deterministic("twice", 2 * mu)

    return model


def test_a_numpyro_model_is_the_density_of_unconstrained_parameters():
    model, y = numpyro_model(), np.array([0.3, -1.0, 2.2])
    posterior = gs.from_numpyro(model, y=y)

    def log_density(u):
        mu, tau, p = u[0], np.exp(u[1]), expit(u[2:])
        prior = -0.5 * (mu / 2) ** 2 + np.log(tau) - tau + (np.log(p) + 2 * np.log1p(-p)).sum()
        likelihood = -len(y) * np.log(tau) - 0.5 * (((y - mu - p.sum()) / tau) ** 2).sum()
        return prior + likelihood + np.log(tau) + np.log(p * (1 - p)).sum()  # and the Jacobian

    at = RNG.normal(size=(5, 4))
    expected = np.array([log_density(u) for u in at])
    assert np.allclose(np.diff(posterior.logpdf(at)), np.diff(expected), rtol=1e-10)
    step = 1e-6 * np.eye(4)
    numeric = [[(log_density(u + e) - log_density(u - e)) / 2e-6 for e in step] for u in at]
    assert np.allclose(posterior.score(at), numeric, atol=1e-7)


SIGMA = np.array([0.7, 1.3, 2.1])


def test_models_that_a_sampler_has_seen_in_single_precision_are_evaluated_in_double():
    """JAX takes an array around a function as it saw it first, as long as something compiled holds it."""
    numpyro, jax = pytest.importorskip("numpyro"), pytest.importorskip("jax")
    offset = np.array([0.1, -0.2, 0.3])

    def inner(mu, y):
        return ((y - mu - offset) / SIGMA) ** 2

    def log_density(mu):
        return -0.5 * (mu[0] ** 2 + jax.numpy.sum(inner(mu[0], 1.0)))

    def model():
        mu = numpyro.sample("mu", numpyro.distributions.Normal(0.0, 1.0))
        numpyro.sample("y", numpyro.distributions.Normal(mu + offset, SIGMA), obs=np.ones(3))

    held = jax.jit(jax.grad(log_density))
    assert held(jax.numpy.ones(1)).dtype == np.float32
    at = np.array([[0.3], [-1.1], [0.8]])
    expected = -at + ((1.0 - at - offset) / SIGMA**2).sum(axis=1, keepdims=True)
    for posterior in (
        gs.from_numpyro(model),
        gs.Model(logpdf=log_density, domain=gs.Euclidean(1)),
        gs.Model(logpdf=jax.jit(log_density), domain=gs.Euclidean(1)),
        gs.Model(logpdf=partial(lambda shift, mu: log_density(mu + shift), 0.0), domain=gs.Euclidean(1)),
    ):
        np.testing.assert_allclose(posterior.score(at), expected, rtol=1e-12)
    assert held(jax.numpy.ones(1)).dtype == np.float32


def test_draws_of_numpyro_are_moved_by_their_names():
    posterior = gs.from_numpyro(numpyro_model(), y=np.array([0.3, -1.0, 2.2]))
    draws = {"mu": MU, "tau": 1.0 + 0.1 * TAU, "p": M[..., 0, :2], "twice": 2 * MU}
    rows = np.column_stack([MU.ravel(), np.log(draws["tau"].ravel()), logit(draws["p"]).reshape(-1, 2)])
    expected = gs.ksd_test(rows.reshape(2, 60, 4), posterior, rng=1).pvalue
    found = gs.ksd_test(draws, posterior, rng=1)
    assert found.columns == ("mu", "tau", "p[0]", "p[1]")
    assert found.pvalue == expected
    flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in draws.items()}
    assert gs.ksd_test(flat, posterior, rng=1).data == "a chain of 120 draws"

    class MCMC:
        __module__ = "numpyro.infer.mcmc"

        def get_samples(self, group_by_chain):
            return draws if group_by_chain else flat

    assert gs.ksd_test(MCMC(), posterior, rng=1).pvalue == expected


def test_numpyro_models_that_have_no_gradient_are_refused():
    numpyro = pytest.importorskip("numpyro")
    dist = numpyro.distributions

    def discrete():
        numpyro.sample("k", dist.Poisson(2.0))

    def empty(y):
        numpyro.sample("y", dist.Normal(0.0, 1.0), obs=y)

    def part():
        with numpyro.plate("rows", 10, subsample_size=3):
            numpyro.sample("z", dist.Normal(0.0, 1.0))

    def model(y):
        numpyro.sample("y", dist.Normal(numpyro.sample("mu", dist.Normal(0.0, 1.0)), 1.0), obs=y)

    assert gs.from_numpyro(model, 1.0).name.startswith("numpyro model, ")
    with pytest.raises(gs.ScoreError, match=r"model of numpyro, pass from_numpyro\(model, \.\.\.\)"):
        gs.ksd_test(np.random.default_rng(1).normal(size=(50, 1)), model)
    with pytest.raises(gs.InputError, match=r"has discrete parameters \(k\)"):
        gs.from_numpyro(discrete)
    with pytest.raises(gs.InputError, match="has no parameters"):
        gs.from_numpyro(empty, 1.0)
    with pytest.raises(gs.InputError, match="plate rows takes a random part"):
        gs.from_numpyro(part)
    with pytest.raises(gs.InputError, match=r"must be a function with numpyro\.sample statements"):
        gs.from_numpyro(3)


# --- PyMC --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_pymc():
    pymc = pytest.importorskip("pymc")
    with pymc.Model() as model:
        low = pymc.Normal("low", 0.0, 1.0)
        pymc.Uniform("x", low, low + 2.0)  # a bound that is a parameter too
        pymc.Gamma("tau", 2.0, 1.0, shape=2)
    posterior = gs.as_model(model)
    rng = np.random.default_rng(1)
    low, tau = rng.normal(size=(2, 200)), rng.gamma(2.0, size=(2, 200, 2))
    x = low + rng.uniform(0, 2, size=(2, 200))
    draws = {"low": low, "x": x, "tau": tau}
    result = gs.ksd_test(draws, model, rng=1)
    assert result.pvalue > 0.05
    rows = np.column_stack([low.ravel(), logit((x - low) / 2).ravel(), np.log(tau).reshape(-1, 2)])
    assert gs.ksd_test(rows.reshape(2, 200, 4), posterior, rng=1).pvalue == pytest.approx(
        result.pvalue, abs=0.01
    )
    assert gs.ksd_test({**draws, "tau": 1.4 * tau}, posterior, rng=1).pvalue < 0.05
    with pymc.Model() as discrete:
        pymc.Poisson("k", 2.0)
    with pytest.raises(gs.InputError, match="has discrete parameters"):
        gs.as_model(discrete)


# --- gradients ---------------------------------------------------------------------------------------

X = np.random.default_rng(4).normal(size=(200, 3))


def score(x):
    return -x * [1.0, 2.0, 0.5]


def test_gradients_give_the_test_that_the_score_gives():
    for data, gradients in (
        (X, score(X)),
        (X.reshape(4, 50, 3), score(X).reshape(4, 50, 3)),
        (list(X.reshape(4, 50, 3)), list(score(X).reshape(4, 50, 3))),
        (X, score(X).tolist()),
    ):
        expected = gs.ksd_test(data, score, rng=1)
        assert gs.ksd_test(data, gs.Gradients(gradients), rng=1).pvalue == expected.pvalue
    one = gs.ksd_test(X[:, 0], gs.Gradients(-X[:, 0]), rng=1).pvalue
    assert one == gs.ksd_test(X[:, 0], lambda x: -x, rng=1).pvalue


def test_parts_and_other_orders_keep_their_own_gradients():
    known = gs.as_model(gs.Gradients(score(X))).at(gs.Chains(X.reshape(4, 50, 3)))
    rows = np.random.default_rng(1).permutation(200)[:70]
    assert np.array_equal(known.score(X[rows]), score(X[rows]))
    expected = gs.aggregated_test(X, score, rng=1)
    assert gs.aggregated_test(X, gs.Gradients(score(X)), rng=1).pvalue == expected.pvalue
    assert gs.thin(X, gs.Gradients(score(X)), 20).tolist() == gs.thin(X, score, 20).tolist()
    with pytest.raises(
        gs.ScoreError, match=r"known at the 200 draws alone; 1 of 1 rows \(row 0\) are others"
    ):
        known.score([[0.0, 0.0, 0.0]])


def test_what_looks_elsewhere_is_refused_and_check_goes_on_without_it():
    found = gs.check(X, gs.Gradients(score(X)), null=gs.WildBootstrap(199), rng=1)
    assert set(found.missing) == {"tolerance", "detectable"}
    named = {finding.columns for finding in found.explanation.findings if finding.fails}
    assert named == {("column 1",), ("column 2",)}  # variances of one half and of two
    for ask in (
        lambda: gs.ksd_test(X, gs.Gradients(score(X)), tolerance=0.1),
        lambda: gs.ksd_test(X, gs.Gradients(score(X)), rng=1).witness([[0.0, 0.0, 0.0]]),
    ):
        with pytest.raises(gs.InputError, match="known at the"):
            ask()


@pytest.mark.parametrize(
    "gradients, message",
    [
        (score(X)[:-1], r"gradients of shape \(199, 3\) for draws of shape \(200, 3\)"),
        (np.where(X > 2.5, np.nan, X), "`gradients`: .* are not finite"),
        ("a", "`gradients` of Gradients must be"),
        (np.zeros((2, 2, 2, 2)), "must be an array of the shape of the draws"),
        ([], "must be an array of the shape of the draws"),
    ],
    ids=["count", "nan", "text", "axes", "empty"],
)
def test_gradients_that_do_not_fit_are_refused(gradients, message):
    with pytest.raises(gs.InputError, match=message):
        gs.ksd_test(X, gs.Gradients(gradients), rng=1)


def test_equal_draws_must_have_equal_gradients():
    x = np.vstack([X, X[:1]])
    assert gs.ksd_test(x, gs.Gradients(score(x)), rng=1).pvalue <= 1
    with pytest.raises(gs.InputError, match="Rows 0 and 200 are the same draw, and their gradients differ"):
        gs.ksd_test(x, gs.Gradients(np.vstack([score(X), [[0.0, 0.0, 0.0]]])), rng=1)
    with pytest.raises(gs.ScoreError, match="Gradients belong to draws"):
        gs.Gradients(score(X)).score(X)
