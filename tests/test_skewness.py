"""How skewed features are where a model has no sampler: chains from the data, and the verdicts."""

import numpy as np
import pytest
import scipy.stats as st
from numpy.testing import assert_array_equal

import goodstein as gs
from goodstein.auditing.skewness import carrying, decisive, needed
from goodstein.data.points import Points
from goodstein.errors import CalibrationWarning
from goodstein.models import chain
from goodstein.models.chain import chained
from goodstein.pipeline.compose import compose, draw_seeds
from goodstein.pipeline.probes import Probes, squared_norms

pytestmark = pytest.mark.filterwarnings("ignore::goodstein.errors.CalibrationWarning")

ALPHA = np.array([0.05, 0.5, 5.0])
HALF_PLANE = gs.Polytope([[-1.0, -1.0]], [-2.0])


def model(domain, **functions):
    return gs.Model(domain=domain, batched=True, **functions)


def cut_off(n, rng):
    x = rng.standard_normal((40 * n, 2))
    return x[x.sum(axis=1) >= 2][:n]


DIRICHLET = model(gs.Simplex(3), score=lambda x: (ALPHA - 1) / x)
CUT_OFF = model(HALF_PLANE, score=lambda x: -x)
SPREAD = np.array([[1.0, 0.0], [3.0, 1.0]])
RARE = model(gs.Naturals(), logpdf=lambda x: st.poisson.logpmf(x[:, 0], 0.05))

# Each with a sampler and a probability transform of one function of the points, known in closed form.
LAWS = {
    "simplex, score": (
        DIRICHLET,
        lambda n, rng: rng.dirichlet(ALPHA, n),
        lambda x: st.beta.cdf(x[:, 1], 0.5, 5.05),
    ),
    "polytope, score": (
        CUT_OFF,
        cut_off,
        lambda x: 1 - st.norm.sf(x.sum(axis=1) / np.sqrt(2)) / st.norm.sf(np.sqrt(2)),
    ),
    "box, score": (
        model(gs.Box([0, 0], [1, np.inf]), score=lambda x: np.array([-0.7, 1.0]) / x - [0.0, 1.0]),
        lambda n, rng: np.column_stack([rng.beta(0.3, 1, n), rng.gamma(2, size=n)]),
        lambda x: st.gamma.cdf(x[:, 1], 2),
    ),
    "upper sides, log density": (
        model(gs.Box([-np.inf, 0], [0, 1]), logpdf=lambda x: x[:, 0] - 0.7 * np.log1p(-x[:, 1])),
        lambda n, rng: np.column_stack([-rng.exponential(size=n), rng.beta(1, 0.3, n)]),
        lambda x: st.beta.cdf(x[:, 1], 1, 0.3),
    ),
    "plane, score": (
        model(gs.Euclidean(2), score=lambda x: -x @ np.linalg.inv(SPREAD @ SPREAD.T)),
        lambda n, rng: rng.standard_normal((n, 2)) @ SPREAD.T,
        lambda x: st.norm.cdf(x[:, 1], scale=np.sqrt(10)),
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_chains_from_data_of_the_law_leave_it_as_it_is(name, monkeypatch):
    known, sample, transform = LAWS[name]
    shares, moved = [], []
    for seed in range(10):
        monkeypatch.setattr(chain, "SEED", seed)
        x = sample(100, np.random.default_rng(seed))
        drawn = chained(known, known.domain, x).reshape(-1, *x.shape)
        shares.append([np.mean(transform(y) < p) for y in drawn for p in (0.1, 0.5, 0.9)])
        moved.append(np.mean((drawn[-1] != x).any(axis=1)))
    # A thousand chains; the draws of one may be as good as one draw.
    p = np.array([0.1, 0.5, 0.9])
    found = np.reshape(shares, (10, -1, 3)).mean(axis=(0, 1))
    assert np.all(np.abs(found - p) < 4 * np.sqrt(p * (1 - p) / 1000)), found
    assert np.mean(moved) > 0.9


@pytest.mark.parametrize("name", LAWS)
def test_chains_from_data_of_another_law_come_near(name):
    known, sample, transform = LAWS[name]
    start, end = [], []
    for seed in range(5):
        # Half of the sample, the one at one end.
        x = sample(200, np.random.default_rng(seed))
        x = x[np.argsort(transform(x))[100:]]
        start.append(np.mean(transform(x) < 0.5))
        end.append(np.mean(transform(chained(known, known.domain, x)) < 0.5))
    assert np.mean(end) > np.mean(start) + 0.15


def test_chains_on_counts_and_lattices_leave_the_law_as_it_is(monkeypatch):
    zeros = np.zeros((100, 1))
    share = np.mean(chained(RARE, gs.Naturals(), zeros) > 0)
    assert 0.01 < share < 0.1  # 1 − e^−.05 = .049: states that are not among the data are reached
    lattice = gs.Lattice([-1.0, 1.0], 3)
    tilted = model(lattice, logpdf=lambda x: 0.5 * x.sum(axis=1))
    up = 1 / (1 + np.exp(-1.0))
    shares = []
    for seed in range(10):
        monkeypatch.setattr(chain, "SEED", seed)
        x = np.where(np.random.default_rng(seed).random((100, 3)) < up, 1.0, -1.0)
        shares.append(np.mean(chained(tilted, lattice, x) > 0))
    assert abs(np.mean(shares) - up) < 4 * np.sqrt(up * (1 - up) / 3000)


def test_chains_do_not_depend_on_anything_but_the_data():
    x = np.random.default_rng(1).dirichlet(ALPHA, 80)
    assert_array_equal(chained(DIRICHLET, DIRICHLET.domain, x), chained(DIRICHLET, DIRICHLET.domain, x))
    results = [gs.aggregated_test(x, DIRICHLET, rng=seed) for seed in (1, 2)]
    assert len({len(result.members) for result in results}) == 1


def test_nothing_is_drawn_where_that_cannot_be_trusted():
    x = np.random.default_rng(1).standard_normal((80, 2))
    plane = gs.Euclidean(2)
    slow = gs.Model(score=lambda row: -row if row.ndim == 1 else 1 / 0, domain=plane)
    assert chained(slow, plane, x) is None
    torn = model(plane, score=lambda x: np.where(np.abs(x) > 3, np.nan, -x))
    assert chained(torn, plane, 2.5 * x / np.abs(x).max()) is None
    normal = ORDINARY["normal"][0]
    assert chained(normal, normal.domain, np.random.default_rng(1).standard_normal((80, 3)) + 50) is None
    assert chained(model(gs.Sphere(2), score=lambda x: x), gs.Sphere(2), x) is None


def test_chains_show_how_few_observations_carry_a_statistic_where_the_data_do_not():
    operator = gs.Dilation(gs.LogRatio())
    many = np.random.default_rng(0).dirichlet(ALPHA, 20_000)
    missed = 0
    for seed in range(20):
        x = np.random.default_rng(seed).dirichlet(ALPHA, 80)
        problem = compose(x, DIRICHLET, None, operator, None, draw_seeds(np.random.default_rng(1)))
        missed += 80 * carrying(problem.form.diagonal()) > needed(80)
        assert 80 * carrying(problem.with_data(Points(many)).form.diagonal()) < needed(80)
        assert 80 * carrying(squared_norms(problem, probes=Probes(problem))) < needed(80)
    assert missed >= 3


CELLS = {
    "dirichlet": (DIRICHLET, lambda rng: rng.dirichlet(ALPHA, 80)),
    "half-plane": (CUT_OFF, lambda rng: cut_off(80, rng)),
    "exponential and normal": (
        model(
            gs.Polytope([[-1.0, 0.0]], [0.0]),
            score=lambda x: np.column_stack([np.full(len(x), -1.0), -x[:, 1]]),
        ),
        lambda rng: np.column_stack([rng.exponential(size=80), rng.standard_normal(80)]),
    ),
    "rare counts": (RARE, lambda rng: rng.poisson(0.05, (100, 1)).astype(float)),
    "line": (
        model(gs.Euclidean(1), score=lambda x: 0.2 - np.exp(x)),
        lambda rng: st.loggamma.rvs(0.2, size=(80, 1), random_state=rng),
    ),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_true_model_with_skewed_features_is_not_rejected_too_often(name):
    known, sample = CELLS[name]
    tests = [gs.ksd_test] if name == "line" else [gs.ksd_test, gs.aggregated_test]
    for test in tests:
        results = [test(sample(np.random.default_rng(seed)), known, rng=seed) for seed in range(30)]
        rejected = sum(result.pvalue <= 0.05 and not result.undecided() for result in results)
        assert rejected <= st.binom.ppf(0.999, 30, 0.05)
        # All that are rejected are said not to decide, and those alone.
        doubts = [result.audit.doubt(small=True) for result in results]
        assert np.mean([bool(doubt) for doubt in doubts]) > 0.9
        assert not any(result.audit.doubt(small=False) for result in results)


ORDINARY = {
    "normal": (model(gs.Euclidean(3), score=lambda x: -x), lambda rng: 1.5 * rng.standard_normal((100, 3))),
    "outliers": (model(gs.Euclidean(3), score=lambda x: -x), lambda rng: rng.standard_t(2, (100, 3))),
    "gamma": (
        model(gs.Box([0, 0], [np.inf, np.inf]), score=lambda x: np.array([2.0, 1.0]) / x - 1),
        lambda rng: 1.6 * rng.gamma([3.0, 2.0], size=(100, 2)),
    ),
    "counts": (
        model(gs.Naturals(), logpdf=lambda x: st.poisson.logpmf(x[:, 0], 3.0)),
        lambda rng: rng.poisson(4.5, (100, 1)).astype(float),
    ),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_model_is_rejected_and_decided(name):
    known, sample = ORDINARY[name]
    for test in (gs.ksd_test, gs.aggregated_test):
        results = [test(sample(np.random.default_rng(seed)), known, rng=seed) for seed in range(10)]
        assert sum(bool(result.audit.doubt(small=True)) for result in results) <= 1
    assert sum(result.pvalue <= 0.05 for result in results) >= 8


def test_how_many_observations_decide_without_a_sampler():
    assert [decisive(n) for n in (20, 60, 80, 1000)] == pytest.approx([6.0, 18.0, 24.0, 24.0])
    with pytest.warns(CalibrationWarning):
        result = gs.ksd_test(np.zeros(100), RARE, rng=1)  # the most probable sample there is
    assert any(check.name == "skewed features" and check.small for check in result.audit.checks)
