"""Discrete data: the lattice, its kernels, and the difference operator against its definition.

The definition is evaluated on the whole lattice with permutation matrices: with P the matrix of the shift,
(P f)(x) = f(¬_i x), the operator is the matrix T_i = diag(s_i) − (I − Pᵀ), and H = Σ_i T_i K T_iᵀ.
"""

from __future__ import annotations

import re
import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import goodstein as gs
from definitions import check_form
from goodstein.domains import Lattice
from goodstein.errors import DomainError, InputError, ScoreError, SteinIdentityError
from goodstein.kernels import IMQ, CategoricalProduct, Gaussian, Hamming, Matern52
from goodstein.kernels.base import as_kernel
from goodstein.operators.difference import Difference
from goodstein.operators.difference_form import GramForm, ProductForm, RadialForm

# Tests of what is computed do not mind that some states of their models are rare.
pytestmark = pytest.mark.filterwarnings("ignore:(For|About) [0-9]+%")

RNG = np.random.default_rng(20_180_706)
SHAPES = [(2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (3, 3), (4, 1), (4, 2), (4, 3)]
SHAPE_IDS = [f"L{levels}-d{d}" for levels, d in SHAPES]


@dataclass(frozen=True)
class Opaque:
    """A kernel of which nothing is known but its values."""

    inner: object

    def fitted(self, points):
        return self

    def __call__(self, x, y):
        return self.inner(x, y)


@dataclass(frozen=True)
class Same:
    """k(x, y) = 1{x = y}."""

    def fitted(self, points):
        return self

    def __call__(self, x, y):
        return (x[:, None, :] == y[None, :, :]).all(axis=2).astype(float)


def probabilities(levels, d, seed=0):
    """A random mass function, not too close to zero, (L^d,)."""
    q = np.random.default_rng([levels, d, seed]).dirichlet(np.full(levels**d, 2.0)) + 0.2 / levels**d
    return q / q.sum()


def model_of(q, lattice):
    """A model that knows only the log probabilities, up to a constant."""
    table = np.log(q).reshape((len(lattice.levels),) * lattice.dim) + 3.7
    return gs.Model(logpdf=lambda x: table[tuple(lattice.encode(x).T)], domain=lattice, name="table")


def random_tables(levels, d, seed=0):
    root = np.random.default_rng([levels, d, seed, 1]).normal(size=(d, levels, 2 * levels))
    return np.exp(0.3 * np.einsum("iak,ibk->iab", root, root) / levels)


def shift_matrix(levels, d, i, step=1):
    """P with (P f)(x) = f(x with coordinate i moved by `step`), in the order of `Lattice.states`."""
    index = np.arange(levels**d).reshape((levels,) * d)
    matrix = np.zeros((levels**d, levels**d))
    matrix[index.ravel(), np.roll(index, -step, axis=i).ravel()] = 1.0
    return matrix


def definition(q, levels, d, gram, bound=None, step=-1):
    """H on the whole lattice from the definition; `step` is that of the test functions."""
    n = len(q)
    total = np.zeros((n, n))
    for i in range(d):
        ratio = (shift_matrix(levels, d, i) @ q) / q
        operator = np.diag(1.0 - ratio) - (np.eye(n) - shift_matrix(levels, d, i, step))
        if bound is not None:
            operator = operator @ np.diag(1.0 / (1.0 + ratio / bound))
        total += operator @ gram @ operator.T
    return total


KERNELS = {
    "Hamming": lambda levels, d: Hamming(),
    "Hamming-4": lambda levels, d: Hamming(4.0),
    "one-table": lambda levels, d: CategoricalProduct(random_tables(levels, 1)[0]),
    "tables": lambda levels, d: CategoricalProduct(random_tables(levels, d)),
    "IMQ": lambda levels, d: IMQ(1.2),
    "Gaussian": lambda levels, d: Gaussian(0.8),
    "Matern": lambda levels, d: Matern52(1.5),
    "sum": lambda levels, d: Gaussian(0.8) + IMQ(2.0),
    "function": lambda levels, d: Opaque(CategoricalProduct(random_tables(levels, d))),
    "indicator": lambda levels, d: Same(),
}


@pytest.mark.parametrize("bound", [None, 10.0, 1.0, 0.1])
@pytest.mark.parametrize(("levels", "d"), SHAPES, ids=SHAPE_IDS)
def test_definition_and_identity(levels, d, bound):
    lattice = Lattice(levels, d)
    q, states = probabilities(levels, d), lattice.states()
    for name, make in KERNELS.items():
        kernel = make(levels, d)
        got = gs.stein_matrix(states, model_of(q, lattice), operator=Difference(bound), kernel=kernel)
        expected = definition(q, levels, d, kernel(states, states), bound)
        scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        assert np.abs(got - expected).max() <= 1e-12 * scale.max(), name
        # E_q h(·, y) = 0 at every y.
        assert np.abs(q @ got).max() <= 1e-12, name
        assert np.linalg.eigvalsh(got)[0] >= -1e-12 * scale.max(), name


@pytest.mark.parametrize(("levels", "d"), [(3, 1), (3, 2), (4, 2)])
def test_forward_shift_of_test_functions_is_wrong(levels, d):
    q, states = probabilities(levels, d), Lattice(levels, d).states()
    gram = Hamming()(states, states)
    assert np.abs(q @ definition(q, levels, d, gram, step=1)).max() > 0.1
    assert np.abs(q @ definition(q, levels, d, gram, step=-1)).max() < 1e-14


def test_forward_shift_goes_unnoticed_with_two_levels():
    q, states = probabilities(2, 3), Lattice(2, 3).states()
    gram = Hamming()(states, states)
    forward, backward = (definition(q, 2, 3, gram, step=step) for step in (1, -1))
    np.testing.assert_allclose(forward, backward, rtol=1e-14)


def test_values_by_hand():
    # d = 1, two levels, k = 1{x = y}: h(1, 1) = (s_1 − 1)² + 1 and h(1, 0) = s_1 + s_0 − 2.
    q0, q1 = 0.3, 0.7
    s0, s1 = 1 - q1 / q0, 1 - q0 / q1
    model = gs.Model(score=lambda x: np.where(x == 1, s1, s0), domain=Lattice(2, 1))
    h = gs.stein_matrix([[0], [1]], model, operator=gs.Difference(), kernel=Same())
    np.testing.assert_allclose(h, [[(s0 - 1) ** 2 + 1, s1 + s0 - 2], [s1 + s0 - 2, (s1 - 1) ** 2 + 1]])


def test_value_by_hand_three_levels():
    # d = 1, q = (1, 2, 4)/7, k = 1{x = y}; T f(0) = f(2) − 2f(0), T f(1) = f(0) − 2f(1),
    # T f(2) = f(1) − f(2)/4, so h is the Gram matrix of (−2, 0, 1), (1, −2, 0), (0, 1, −¼).
    table = gs.families.CategoricalTable([1.0, 2.0, 4.0])
    h = gs.stein_matrix([[0], [1], [2]], table, operator=gs.Difference(), kernel=Same())
    np.testing.assert_allclose(h, [[5, -2, -0.25], [-2, 5, -2], [-0.25, -2, 1.0625]])


@pytest.mark.parametrize("bound", [None, 10.0])
def test_every_route_to_the_model_gives_the_same(bound):
    lattice, d = Lattice((-1, 1), 4), 4
    theta = np.array([[0, 0.4, 0, -0.3], [0.4, 0, 0.2, 0], [0, 0.2, 0, 0.7], [-0.3, 0, 0.7, 0]])
    mu = np.array([0.1, -0.4, 0.0, 0.3])

    def log_one(x):  # one point at a time
        return float(mu @ x + sum(theta[i, j] * x[i] * x[j] for i in range(d) for j in range(i)))

    def score(x):
        return 1 - np.exp(-2 * x * (mu + x @ theta))

    x = lattice.sample_uniform(60, RNG)
    expected = gs.stein_matrix(x, gs.families.Ising(theta, mu), operator=Difference(bound))
    for model in (
        gs.Model(logpdf=log_one, domain=lattice),
        gs.Model(score=score, domain=lattice),
        gs.Model(score=score, logpdf=log_one, domain=lattice),
    ):
        np.testing.assert_allclose(
            gs.stein_matrix(x, model, operator=Difference(bound)), expected, rtol=1e-12, atol=1e-12
        )


def test_routes_with_three_levels_and_a_bound():
    lattice, q = Lattice(3, 2), probabilities(3, 2)
    table = gs.families.CategoricalTable(q.reshape(3, 3))
    x = lattice.sample_uniform(40, RNG)
    expected = gs.stein_matrix(x, table)
    score_only = gs.Model(score=table.score, domain=lattice)
    np.testing.assert_allclose(gs.stein_matrix(x, score_only), expected, rtol=1e-12)
    np.testing.assert_allclose(gs.stein_matrix(x, model_of(q, lattice)), expected, rtol=1e-12)


def test_jax_log_probability():
    jnp = pytest.importorskip("jax.numpy")
    lattice = Lattice(2, 3)
    x = lattice.sample_uniform(30, RNG)
    model = gs.Model(logpdf=lambda z: jnp.sum(z) * 0.3 + jnp.prod(z), domain=lattice)
    plain = gs.Model(logpdf=lambda z: 0.3 * z.sum(axis=1) + z.prod(axis=1), domain=lattice)
    np.testing.assert_allclose(gs.stein_matrix(x, model), gs.stein_matrix(x, plain), rtol=1e-6)


def test_normalising_constant_does_not_matter():
    lattice = Lattice(3, 3)
    q, x = probabilities(3, 3), lattice.sample_uniform(50, RNG)
    tables = [gs.families.CategoricalTable(c * q.reshape(3, 3, 3)) for c in (1.0, 1e-200, 1e200)]
    first, *others = (gs.stein_matrix(x, table, operator=gs.Difference()) for table in tables)
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("bound", [None, 10.0])
def test_relabelling(bound):
    # New names for the levels, in the same cyclic order, and another order of the coordinates.
    q = probabilities(3, 2).reshape(3, 3)
    names, turned = (5.0, -2.0, 0.5), (-2.0, 0.5, 5.0)
    x = Lattice(3, 2).sample_uniform(50, RNG)
    operator = Difference(bound)
    expected = gs.stein_matrix(x, gs.families.CategoricalTable(q), operator=operator)
    renamed = np.array(names)[x.astype(int)]
    for model in (
        gs.families.CategoricalTable(q, names),
        gs.families.CategoricalTable(np.roll(q, -1, axis=(0, 1)), turned),
    ):
        np.testing.assert_allclose(gs.stein_matrix(renamed, model, operator=operator), expected, rtol=1e-12)
    swapped = gs.stein_matrix(x[:, ::-1], gs.families.CategoricalTable(q.T), operator=operator)
    np.testing.assert_allclose(swapped, expected, rtol=1e-12)


def test_forms_and_their_parts(monkeypatch):
    lattice = Lattice(3, 7)
    x = lattice.sample_uniform(90, RNG)
    model = gs.families.Potts(3, np.ones((7, 7)) - np.eye(7), RNG.normal(size=(7, 3)))
    features = Difference(10.0).features(gs.as_model(model), lattice, x)
    kernel = CategoricalProduct(random_tables(3, 7))
    whole = features.form(kernel)
    assert isinstance(whole, ProductForm)
    matrix = whole.matrix()
    by_definition = features.form(as_kernel(Opaque(kernel)))
    assert isinstance(by_definition, GramForm)
    np.testing.assert_allclose(by_definition.matrix(), matrix, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(by_definition.diagonal(), whole.diagonal(), rtol=1e-12)
    # Coordinates are taken in parts; the parts do not matter.
    monkeypatch.setattr("goodstein.operators.difference_form.MAX_COLUMNS", 7)
    np.testing.assert_allclose(features.form(kernel).matrix(), matrix, rtol=1e-11, atol=1e-11)
    radial = features.form(IMQ(1.5))
    assert isinstance(radial, RadialForm)
    np.testing.assert_allclose(
        radial.matrix(), features.form(as_kernel(Opaque(IMQ(1.5)))).matrix(), rtol=1e-11
    )
    for form in (whole, by_definition, radial):
        check_form(form)


def test_similarities_close_to_zero_lose_no_digits():
    # κ(a, b) = 1e-9 off the diagonal: quotients of similarities are 1e9, yet nothing cancels.
    table = np.full((3, 3), 1e-9)
    np.fill_diagonal(table, 1.0)
    q, states = probabilities(3, 2), Lattice(3, 2).states()
    kernel = CategoricalProduct(table)
    h = gs.stein_matrix(states, model_of(q, Lattice(3, 2)), operator=Difference(), kernel=kernel)
    expected = definition(q, 3, 2, kernel(states, states))
    np.testing.assert_allclose(h, expected, rtol=0, atol=1e-14 * expected.max())


def test_many_coordinates_need_little_memory():
    n, d = 2000, 200
    lattice = Lattice(2, d)
    x = lattice.sample_uniform(n, RNG)
    model = gs.Model(score=lambda z: -np.expm1(0.1 * (1 - 2 * z)), domain=lattice, batched=True)
    tracemalloc.start()
    try:
        result = gs.ksd_test(x, model, null=gs.WildBootstrap(99), workers=1, rng=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.n == n
    assert peak < 100e6  # an array n × n × d would take 6.4e9 bytes, n × n 3.2e7


# Impossible states.


def holed(lattice, *impossible):
    """Independent random weights, zero at some states."""
    q = probabilities(len(lattice.levels), lattice.dim)
    states = lattice.states()
    for state in impossible:
        q[(states == state).all(axis=1)] = 0.0
    q /= q.sum()
    with np.errstate(divide="ignore"):
        log = np.log(q).reshape((len(lattice.levels),) * lattice.dim)
    model = gs.Model(logpdf=lambda x: log[tuple(lattice.encode(x).T)], domain=lattice, name="holed")
    return model, q, states


@pytest.mark.parametrize(
    ("lattice", "impossible"),
    [(Lattice(2, 3), [(0, 0, 0), (1, 1, 1)]), (Lattice(3, 2), [(1, 1), (0, 2)]), (Lattice(4, 1), [(2,)])],
    ids=["votes", "table", "line"],
)
def test_bounded_weights_allow_impossible_states(lattice, impossible):
    model, q, states = holed(lattice, *impossible)
    x = states[q > 0]
    h = gs.stein_matrix(x, model)  # Difference(bound=10), the default
    assert np.abs(q[q > 0] @ h).max() < 1e-13
    report = gs.audit(model, data=x, rng=1)
    assert report.valid
    assert f"probability zero at {len(impossible)} of {len(states)} states" in str(report)
    # Without the bound the flux from the impossible states is missing.
    assert np.abs(q[q > 0] @ gs.stein_matrix(x, model, operator=Difference())).max() > 1e-3
    with pytest.raises(SteinIdentityError, match=r"probability zero at .* states, the first is \(.*bound=10"):
        gs.ksd_test(x, model, operator=Difference(), rng=1)


def test_pieces_that_no_step_connects():
    # Only 00 and 11 remain, which differ in two coordinates.
    model, q, states = holed(Lattice(2, 2), (0, 1), (1, 0))
    x = np.repeat(states[q > 0], 5, axis=0)
    with pytest.raises(SteinIdentityError, match=r"fall into 2 sets .* Lattice\(count, 1\)"):
        gs.ksd_test(x, model, rng=1)


def test_zero_next_to_the_data_of_a_large_lattice():
    lattice = Lattice(2, 12)
    logpdf = lambda x: np.where(x[:, 3] * x[:, 5] == 1, -np.inf, 0.0)  # noqa: E731
    x = lattice.sample_uniform(200, np.random.default_rng(1))
    x = x[x[:, 3] * x[:, 5] == 0]
    model = gs.Model(logpdf=logpdf, domain=lattice, name="exclusive")
    with pytest.raises(
        SteinIdentityError, match=r"probability zero next to \d+ of \d+ rows: row \d+ with col"
    ):
        gs.ksd_test(x, model, operator=Difference(), rng=1)
    assert gs.ksd_test(x, model, rng=1).pvalue > 0.01


def test_score_of_exactly_one_is_doubtful():
    # A ratio below 2^-53 is rounded to zero; without log probabilities nobody can tell.
    lattice = Lattice(2, 11)
    score = lambda x: np.where(x == 0, 1.0, 0.5)  # noqa: E731
    x = lattice.sample_uniform(30, RNG)
    result = gs.ksd_test(x, gs.Model(score=score, domain=lattice), operator=Difference(), rng=1)
    assert any("is exactly one at" in note for note in result.notes)
    tiny = gs.Model(logpdf=lambda z: -50.0 * z.sum(axis=1), domain=lattice)
    both = gs.Model(score=lambda z: -np.expm1(-50.0 * (1 - 2 * z)), logpdf=tiny.logpdf, domain=lattice)
    report = gs.audit(both, operator=Difference(), data=np.zeros((20, 11)), rng=1)
    assert "positive probabilities" in str(report)
    assert report.checks[0].status == "pass"


# Level.


def test_rare_states_break_the_unbounded_operator_and_not_the_bounded_one():
    # Five deaths are expected once in 2800 counts, but balance 55% of the mass.
    table = gs.families.CategoricalTable(stats.poisson(0.6).pmf(np.arange(6)))
    samples = [table.sample(50, rng=seed) for seed in range(100)]
    null = gs.WildBootstrap(199)
    bounded = [gs.ksd_test(x, table, null=null, workers=1, rng=1).pvalue for x in samples]
    assert np.mean(np.array(bounded) <= 0.05) <= 0.12  # 0.05 ± 3 standard errors
    plain = [gs.ksd_test(x, table, operator=Difference(), null=null, workers=1, rng=1) for x in samples]
    assert np.mean([result.pvalue <= 0.05 for result in plain]) > 0.9
    assert all(any("Difference(bound=10)" in note for note in result.notes) for result in plain)
    # Simulation takes the missing states into account.
    exact = [
        gs.ksd_test(x, table, operator=Difference(), null=gs.MonteCarlo(19), workers=1, rng=k).pvalue
        for k, x in enumerate(samples[:60])
    ]
    assert np.mean(np.array(exact) <= 0.05) <= 0.15


@pytest.mark.filterwarnings("ignore:The features are so skewed:goodstein.errors.CalibrationWarning")
@pytest.mark.filterwarnings("default:About")
def test_a_bound_does_not_help_where_most_neighbours_are_rare():
    """Of 100 items with a prevalence of .5 % there is often none that has it, and nothing to balance."""
    table = gs.families.CategoricalTable([0.995, 0.005])
    null, rejected = gs.WildBootstrap(99), 0
    for seed in range(40):
        x = table.sample(100, rng=seed)
        with pytest.warns(gs.CalibrationWarning, match=r"About \d+% of the statistic's variance.*MonteCarlo"):
            rejected += gs.ksd_test(x, table, null=null, workers=1, rng=1).pvalue <= 0.05
    assert rejected > 15  # of 40
    assert gs.ksd_test(x, table, null=gs.MonteCarlo(19), rng=1).notes == ()


def test_a_bound_is_not_doubted_where_it_helps():
    counts = gs.families.CategoricalTable(stats.poisson(0.6).pmf(np.arange(6)))
    spins = gs.families.Ising(0.1 * (np.ones((6, 6)) - np.eye(6)))
    three = gs.families.CategoricalTable([0.3, 0.3, 0.4])
    score_only = gs.Model(score=three.score, domain=three.domain)
    for model, sampler in ((counts, counts), (spins, spins), (score_only, three)):
        assert gs.ksd_test(sampler.sample(100, rng=1), model, rng=1).notes == ()


def test_a_score_that_is_no_difference_score_is_found_out():
    x = np.random.default_rng(0).integers(0, 2, (80, 3))
    with pytest.raises(gs.SteinIdentityError, match=r"no difference score.*multiply to .* not to one"):
        gs.ksd_test(x, lambda x: -x, domain=gs.Lattice(2, 3), rng=1)


def test_rare_states_are_not_announced_where_there_are_none():
    model = gs.families.Ising(np.zeros((4, 4)), 0.2)
    result = gs.ksd_test(model.sample(100, rng=1), model, operator=Difference(), rng=1)
    assert result.notes == ()
    assert [check.name for check in result.audit.checks][-1] == "rare states"
    three = gs.families.CategoricalTable([0.3, 0.3, 0.4])
    score_only = gs.Model(score=three.score, domain=three.domain)
    assert gs.ksd_test(three.sample(100, rng=1), score_only, operator=Difference(), rng=1).notes == ()


def test_power_and_nulls():
    model = gs.families.Ising(np.zeros((5, 5)))
    coupled = gs.families.Ising(0.4 * (np.ones((5, 5)) - np.eye(5)))
    x = coupled.sample(200, rng=3)
    for null in (gs.WildBootstrap(), gs.Spectral(), gs.MonteCarlo(99)):
        assert gs.ksd_test(x, model, null=null, rng=1).pvalue <= 0.01
        assert gs.ksd_test(x, coupled, null=null, rng=1).pvalue > 0.05
    first = gs.ksd_test(x, model, null=gs.MonteCarlo(49), rng=5, workers=1)
    second = gs.ksd_test(x, model, null=gs.MonteCarlo(49), rng=5, workers=2)
    np.testing.assert_array_equal(first.null_distribution, second.null_distribution)


def test_defaults_and_result():
    model = gs.families.Ising(np.zeros((3, 3)))
    result = gs.ksd_test(model.sample(50, rng=1), model, rng=1)
    assert result.operator == Difference(bound=10.0)
    assert result.kernel == Hamming()
    assert "Lattice((-1, 1), 3)" in str(result)
    radial = gs.ksd_test(model.sample(50, rng=1), model, kernel=IMQ(), rng=1)
    assert radial.kernel.bandwidth == pytest.approx(np.sqrt(2), rel=0.5)  # distances of codes, 0 to √3


def test_audit_without_data():
    assert gs.audit(gs.families.CategoricalTable(np.ones((3, 3))), rng=1).valid
    report = gs.audit(gs.Model(score=lambda x: 0 * x, domain=Lattice(2, 3)), operator=Difference(), rng=1)
    assert report.valid
    assert {check.status for check in report.checks} == {"pass", "skip"}


# Bad input.

COIN = gs.families.Ising(np.zeros((2, 2)))
FLAT = gs.families.CategoricalTable(np.ones((3, 3)))
DATA = FLAT.sample(30, rng=1)


def table_lookup(x):
    return np.zeros((3, 3))[x[:, 0], x[:, 1]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: gs.ksd_test((COIN.sample(20, rng=1) + 1) / 2, COIN),
            DomainError,
            r"`data`: \d+ of 20 rows .* outside Lattice\(\(-1, 1\), 2\).* holds 0, but the levels are -1, 1",
        ),
        (
            lambda: gs.ksd_test(DATA + 0.5, FLAT),
            DomainError,
            r"`data`: 30 of 30 rows .* column 0 of row 0 holds .*5, but the levels are 0, 1, 2",
        ),
        (lambda: gs.ksd_test(DATA[:, :1], FLAT), InputError, "`data` has 1 column, but"),
        (
            lambda: gs.ksd_test(DATA, gs.Model(score=lambda x: -x), operator=gs.Difference()),
            DomainError,
            r"Difference\(\) is for discrete data, but the domain is Euclidean\(2\). Pass domain=Lattice",
        ),
        (
            lambda: gs.ksd_test(DATA, FLAT, operator=gs.Langevin()),
            DomainError,
            r"Lattice\(3, 2\) is discrete, so there are no derivatives on it",
        ),
        (
            lambda: gs.ksd_test(DATA, FLAT, operator=gs.Standardised()),
            DomainError,
            "has no auxiliary function of its own",
        ),
        (
            lambda: gs.ksd_test(DATA, FLAT, kernel=gs.Whitened()),
            InputError,
            r"Difference\(\) cannot use Whitened.* Use Hamming\(\)",
        ),
        (
            lambda: gs.ksd_test(DATA, FLAT, kernel=CategoricalProduct(np.ones((2, 2)) + np.eye(2))),
            InputError,
            "is 2×2, but the lattice has 3 levels",
        ),
        (
            lambda: gs.ksd_test(DATA, FLAT, kernel=CategoricalProduct(random_tables(3, 4))),
            InputError,
            "tables for 4 coordinates, but the lattice has 2",
        ),
        (
            lambda: gs.ksd_test(DATA, FLAT, kernel=Opaque(lambda x, y: np.ones(len(x)))),
            InputError,
            r"returned shape \(\d+,\) for \d+ and \d+ states; expected",
        ),
        (
            lambda: gs.ksd_test(RNG.normal(size=(30, 1)), gs.families.Normal(), kernel=Hamming()),
            InputError,
            r"Hamming\(rate=1.0\) compares states of a Lattice and has no derivatives",
        ),
        (
            lambda: gs.ksd_test(
                RNG.normal(size=(30, 1)), gs.families.Normal(), kernel=CategoricalProduct(np.ones((2, 2)))
            ),
            InputError,
            "compares states of a Lattice",
        ),
        (
            lambda: gs.ksd_test(DATA, gs.Model(logpdf=table_lookup, domain=Lattice(3, 2))),
            ScoreError,
            r"States arrive as floats. .*Lattice\(3, 2\).encode\(x\), or pass the table itself",
        ),
        (
            lambda: gs.ksd_test(DATA, gs.Model(score=lambda x: 2 - x, domain=Lattice(3, 2))),
            ScoreError,
            r"exceeds one at \d+ of 30 rows .*1 − q\(¬x\)/q\(x\), not a derivative of log q",
        ),
        (
            lambda: gs.ksd_test(
                DATA,
                gs.Model(logpdf=lambda x: np.where(x[:, 0] == 0, -np.inf, 0), domain=Lattice(3, 2), name="m"),
                audit=False,
            ),
            ScoreError,
            r"m has log probability -inf at \d+ of 30 rows .*cannot occur under the model. Remove them",
        ),
        (
            lambda: gs.ksd_test(
                DATA,
                gs.Model(logpdf=lambda x: np.where(x[:, 0] == 0, 800, 0), domain=Lattice(3, 2), name="m"),
                operator=gs.Difference(),
            ),
            ScoreError,
            r"difference score of m is not finite at \d+ of 30 rows.*1e308 times as probable",
        ),
        (
            lambda: gs.ksd_test(
                COIN.sample(20, rng=1), gs.families.Ising(np.zeros((2, 2)), 400.0), operator=gs.Difference()
            ),
            ScoreError,
            r"The score of Ising.* is not finite at \d+ of 20 rows .*1e308 times as probable",
        ),
        (
            lambda: gs.ksd_test(DATA, gs.families.Normal([0, 0]), domain=Lattice(3, 2)),
            SteinIdentityError,
            "A score belongs to one lattice and is no derivative of log q",
        ),
        (
            lambda: gs.ksd_test(
                DATA[DATA.max(axis=1) < 2],
                gs.families.CategoricalTable([[1, 2, 3]] * 3),
                domain=Lattice(2, 2),
            ),
            SteinIdentityError,
            "They differ: at row",
        ),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=re.compile(message, re.DOTALL)):
        call()


def test_bounded_weights_stand_extreme_ratios():
    model = gs.Model(logpdf=lambda x: np.where(x[:, 0] == 0, 800.0, 0.0), domain=Lattice(3, 2))
    h = gs.stein_matrix(DATA, model)
    assert np.isfinite(h).all()
