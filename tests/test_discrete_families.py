"""Families on a lattice: probabilities, scores, samplers and fits, each against something else."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import approx_fprime

import goodstein as gs
from goodstein.errors import InputError
from goodstein.families import BernoulliRBM, CategoricalTable, Ising, Potts
from goodstein.families.discrete import LatticeFamily


def symmetric(d, scale, seed):
    upper = np.triu(np.random.default_rng(seed).normal(scale=scale, size=(d, d)), 1)
    return upper + upper.T


RNG = np.random.default_rng(7)
ISING = Ising(symmetric(4, 0.5, 1), [0.3, -0.2, 0.0, 0.5])
POTTS = Potts(3, symmetric(3, 0.8, 2), np.random.default_rng(3).normal(size=(3, 3)))
NAMED = Potts((2.0, -1.0, 7.0), symmetric(2, 1.0, 4), [0.0, 0.5, -0.3])
RBM = BernoulliRBM(np.random.default_rng(5).normal(size=(2, 4)), [0.3, -0.1, 0.0, 0.2], [0.4, -0.6])
WIDE = BernoulliRBM(np.random.default_rng(6).normal(size=(5, 3)), 0.1, -0.2)
TABLE = CategoricalTable(np.random.default_rng(8).integers(1, 9, size=(3, 3)))
COUNTS = CategoricalTable(stats.poisson(1.2).pmf(np.arange(7)))


def ising_weight(x):
    pairs = itertools.combinations(range(4), 2)
    return np.exp(ISING.mu @ x + sum(ISING.theta[i, j] * x[i] * x[j] for i, j in pairs))


def potts_weight(model):
    levels = list(model.domain.levels)

    def weight(x):
        field = sum(model.field[i, levels.index(value)] for i, value in enumerate(x))
        pairs = itertools.combinations(range(len(x)), 2)
        return np.exp(field + sum(model.couplings[i, j] for i, j in pairs if x[i] == x[j]))

    return weight


def rbm_weight(model):
    """The hidden units summed out one configuration at a time."""

    def weight(x):
        return sum(
            np.exp(model.visible_bias @ x + model.hidden_bias @ h + np.array(h) @ model.weights @ x)
            for h in itertools.product((0, 1), repeat=len(model.weights))
        )

    return weight


WEIGHTS = {
    "ising": (ISING, ising_weight),
    "potts": (POTTS, potts_weight(POTTS)),
    "named levels": (NAMED, potts_weight(NAMED)),
    "rbm": (RBM, rbm_weight(RBM)),
    "wide rbm": (WIDE, rbm_weight(WIDE)),
    "table": (TABLE, lambda x: TABLE.table[int(x[0]), int(x[1])]),
    "counts": (COUNTS, lambda x: stats.poisson(1.2).pmf(x[0])),
}


@pytest.fixture(params=WEIGHTS)
def case(request):
    """A family, its states in the library's order, and its probabilities from the textbook."""
    model, weight = WEIGHTS[request.param]
    states = np.array(list(itertools.product(model.domain.levels, repeat=model.dim)))
    q = np.array([weight(x) for x in states])
    return model, states, q / q.sum()


def test_probabilities(case):
    model, states, q = case
    np.testing.assert_array_equal(model.domain.states(), states)
    np.testing.assert_allclose(np.exp(model.logpdf(states) - model.log_partition()), q, rtol=1e-12)


def frequencies_agree(x, states, q):
    """Pearson's test of a sample against the probabilities."""
    place = {tuple(state): k for k, state in enumerate(states)}
    counts = np.bincount([place[tuple(row)] for row in x], minlength=len(q))
    return stats.chisquare(counts, len(x) * q).pvalue > 1e-3


def test_exact_sampler(case):
    model, states, q = case
    x = model.sample(20_000, rng=11)
    assert frequencies_agree(x, states, q)
    np.testing.assert_array_equal(x[:5], model.sample(20_000, rng=11)[:5])
    assert model.sample(0, rng=1).shape == (0, model.dim)


@pytest.mark.parametrize("name", ["ising", "potts", "rbm", "wide rbm"])
def test_gibbs_sampler(name):
    model, weight = WEIGHTS[name]
    states = model.domain.states()
    q = np.array([weight(x) for x in states])
    codes = model._gibbs(20_000, 40, np.random.default_rng(12))
    assert frequencies_agree(model.domain.decode(codes), states, q / q.sum())


def test_sampler_of_the_visible_units_directly():
    # More visible than hidden units: the hidden ones are enumerated; here the visible ones are instead.
    states = RBM.domain.states()
    q = np.exp(RBM.logpdf(states) - RBM.log_partition())
    assert frequencies_agree(LatticeFamily.sample(RBM, 20_000, rng=3), states, q)


def test_large_models_sample_by_gibbs():
    d = 20
    ring = np.roll(np.eye(d), 1, axis=1) * 0.4
    model = Ising(ring + ring.T)
    x = model.sample(3000, rng=1, sweeps=60)
    # Neighbours on a ring: E x_i x_{i+1} = (t + t^{d−1})/(1 + t^d) with t = tanh θ.
    t = np.tanh(0.4)
    assert np.mean(x * np.roll(x, 1, axis=1)) == pytest.approx((t + t ** (d - 1)) / (1 + t**d), abs=0.015)
    many = BernoulliRBM(np.zeros((20, 20)), np.linspace(-2, 2, 20))
    np.testing.assert_allclose(
        many.sample(4000, rng=1, sweeps=1).mean(axis=0), 1 / (1 + np.exp(-np.linspace(-2, 2, 20))), atol=0.04
    )
    hidden = BernoulliRBM(np.zeros((3, 40)), np.linspace(-2, 2, 40))
    np.testing.assert_allclose(
        hidden.sample(4000, rng=1).mean(axis=0), 1 / (1 + np.exp(-np.linspace(-2, 2, 40))), atol=0.04
    )
    with pytest.raises(InputError, match=r"1.05e\+06 states; at most 65536 are summed over"):
        model.log_partition()


# Fits.


def expectation(model, function):
    states = model.domain.states()
    return np.exp(model.logpdf(states) - model.log_partition()) @ function(states)


def test_ising_maximum_likelihood_matches_moments():
    x = ISING.sample(300, rng=1)
    fitted = Ising.fit(x)
    np.testing.assert_allclose(expectation(fitted, lambda s: s), x.mean(axis=0), atol=1e-8)
    second = expectation(fitted, lambda s: (s[:, :, None] * s[:, None, :]).reshape(len(s), -1))
    np.testing.assert_allclose(second.reshape(4, 4), x.T @ x / len(x), atol=1e-8)
    large = Ising.fit(ISING.sample(50_000, rng=2))
    np.testing.assert_allclose(large.theta, ISING.theta, atol=0.03)
    np.testing.assert_allclose(large.mu, ISING.mu, atol=0.03)


def conditional_loss(parameters, x, penalty):
    """Minus the mean log of ∏_i q(x_i | the others), from ratios of probabilities alone."""
    d = x.shape[1]
    theta = np.zeros((d, d))
    theta[np.triu_indices(d, 1)] = parameters[d:]
    model = Ising(theta + theta.T, parameters[:d])
    total = 0.0
    for i in range(d):
        flipped = x.copy()
        flipped[:, i] *= -1
        total += np.log1p(np.exp(model.logpdf(flipped) - model.logpdf(x))).mean()
    return total + 0.5 * penalty * parameters @ parameters


@pytest.mark.parametrize("penalty", [0.0, 0.1])
def test_pseudolikelihood_is_stationary(penalty):
    x = ISING.sample(300, rng=1)
    fitted = Ising.fit(x, method="pseudolikelihood", penalty=penalty)
    at = np.concatenate([fitted.mu, fitted.theta[np.triu_indices(4, 1)]])
    assert np.abs(approx_fprime(at, conditional_loss, 1e-6, x, penalty)).max() < 1e-5
    assert np.abs(approx_fprime(0 * at, conditional_loss, 1e-6, x, penalty)).max() > 0.1


def test_penalised_likelihood_is_stationary():
    x = ISING.sample(100, rng=1)
    fitted = Ising.fit(x, penalty=0.05)
    np.testing.assert_allclose(x.mean(axis=0) - expectation(fitted, lambda s: s), 0.05 * fitted.mu, atol=1e-8)


def test_large_ising_fits_by_pseudolikelihood():
    d = 14
    ring = np.roll(np.eye(d), 1, axis=1) * 0.5
    x = Ising(ring + ring.T).sample(4000, rng=1)
    np.testing.assert_allclose(Ising.fit(x).theta, ring + ring.T, atol=0.12)
    with pytest.raises(InputError, match=r'2\^14 states.*Use "pseudolikelihood"'):
        Ising.fit(x, method="likelihood")


def test_potts_maximum_likelihood_matches_moments():
    x = NAMED.sample(400, rng=1)
    fitted = Potts.fit(x, (2.0, -1.0, 7.0))
    levels = np.array([2.0, -1.0, 7.0])
    share = expectation(fitted, lambda s: (s[:, :, None] == levels).reshape(len(s), -1))
    np.testing.assert_allclose(share, (x[:, :, None] == levels).reshape(400, -1).mean(axis=0), atol=1e-8)
    agree = expectation(fitted, lambda s: (s[:, 0] == s[:, 1]).astype(float))
    assert agree == pytest.approx((x[:, 0] == x[:, 1]).mean(), abs=1e-8)
    assert (fitted.field[:, 0] == 0).all()
    with pytest.raises(InputError, match=r"needs 5.9e\+04 states; at most 4096"):
        Potts.fit(np.zeros((5, 10)), 3)


def test_independent_table():
    x = TABLE.sample(200, rng=1)
    fitted = CategoricalTable.independent(x, 3)
    counts = np.histogramdd(x, bins=[np.arange(4) - 0.5] * 2)[0]
    expected = stats.contingency.expected_freq(counts) / 200
    np.testing.assert_allclose(fitted.probabilities, expected)
    np.testing.assert_allclose(TABLE.probabilities.sum(), 1.0)


@pytest.mark.parametrize("method", ["likelihood", "pseudolikelihood"])
def test_no_estimate(method):
    x = ISING.sample(50, rng=1)
    x[:, 1] = x[:, 0]  # two spins that never differ
    with pytest.raises(InputError, match=r"some combination of levels never occurs.*`penalty`"):
        Ising.fit(x, method=method)
    x[:, 1] = 1.0  # and one that never changes
    with pytest.raises(InputError, match=r"some combination of levels never occurs"):
        Ising.fit(x, method=method)
    x[:, 1] = x[:, 0]
    assert Ising.fit(x, method=method, penalty=0.1).theta[0, 1] > 0.5


def test_parametric_bootstrap():
    x = Ising(symmetric(3, 0.4, 9), 0.2).sample(80, rng=1)
    null = gs.ParametricBootstrap(Ising.fit, 39)
    assert gs.ksd_test(x, Ising.fit(x), null=null, rng=1, workers=1).pvalue > 0.05

    def independent(z):
        return Ising(np.zeros((3, 3)), np.arctanh(z.mean(axis=0)))

    strong = Ising(0.5 * (np.ones((3, 3)) - np.eye(3))).sample(200, rng=1)
    null = gs.ParametricBootstrap(independent, 39)
    assert gs.ksd_test(strong, independent(strong), null=null, rng=1, workers=1).pvalue == 0.025


# Values and wrong arguments.


def test_reprs():
    assert repr(CategoricalTable([1, 3])) == "CategoricalTable(table=[1, 3], levels=None)"
    assert repr(CategoricalTable([1, 3], (-1, 1))) == "CategoricalTable(table=[1, 3], levels=(-1.0, 1.0))"
    assert repr(Ising(np.zeros((9, 9)))) == "Ising(d=9, mu=[0, 0, 0, ..., 0])"
    assert repr(Potts(2, np.zeros((1, 1)))) == "Potts(levels=2, couplings=[[0]], field=[[0, 0]])"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Ising([0.0, 1.0]), r"`theta`: expected a square matrix \(d, d\), got shape \(2,\)"),
        (lambda: Ising([[0, 1], [0, 0]]), r"`theta`: must be symmetric.*triangle \+ triangle.T"),
        (lambda: Ising([[0, 1], [1, 2]]), r"diagonal must be zero, but entry \(1, 1\) is 2"),
        (lambda: Ising([[0, np.nan], [1, 0]]), "`theta` must be finite numbers"),
        (lambda: Ising(np.zeros((3, 3)), [1, 2]), "`mu`: expected one number or 3, one for each spin, got 2"),
        (lambda: Ising.fit([[0, 1], [1, 1]]), r"hold states outside Lattice\(\(-1, 1\), 2\)"),
        (
            lambda: Ising.fit([[1, 1], [1, -1]], method="exact"),
            "`method` must be None, 'likelihood' or 'pseudolikelihood'",
        ),
        (lambda: Ising.fit([[1, 1], [1, -1]], penalty=-1), "`penalty` must be a number of at least 0"),
        (lambda: Ising.fit([[1, 1]]), "`x` has 1 row; a fit needs at least 2"),
        (lambda: Potts(3, np.zeros((2, 2)), [1, 2]), r"`field`: expected a number, 3 of them.*shape \(2,\)"),
        (lambda: Potts(3, np.ones((2, 2))), "`couplings`: its diagonal must be zero"),
        (lambda: Potts(1, np.zeros((2, 2))), "`levels` must be an integer of at least 2"),
        (lambda: BernoulliRBM([1.0, 2.0]), r"`weights`: expected shape \(m, d\)"),
        (lambda: BernoulliRBM(np.zeros((2, 3)), [1, 2]), "`visible_bias`: expected one number or 3"),
        (lambda: BernoulliRBM(np.zeros((2, 3)), 0, [1, 2, 3]), "`hidden_bias`: expected one number or 2"),
        (
            lambda: CategoricalTable(np.ones((2, 3))),
            r"all of the same length of at least 2, got shape \(2, 3\)",
        ),
        (lambda: CategoricalTable(1.0), "one axis for each coordinate"),
        (lambda: CategoricalTable([[1, 2], [0, 1]]), r"1 of 4 are not, the first is cell \(1, 0\), 0.*merge"),
        (
            lambda: CategoricalTable([1, 2, 3], (0, 1)),
            "`levels`: there are 2, but each axis of `table` has 3",
        ),
        (lambda: CategoricalTable(np.ones((2,) * 17)), "has 131072 cells; at most 65536"),
        (lambda: CategoricalTable.independent([[0, 1], [1, 1]], 2), "level 0 never occurs in column 1"),
        (lambda: CategoricalTable.independent(np.ones((2, 20)), 2), "too many"),
        (lambda: ISING.sample(-1), "`n` must be an integer of at least 0"),
        (lambda: ISING.sample(3, sweeps=0), "`sweeps` must be an integer of at least 1"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(InputError, match=message):
        call()
