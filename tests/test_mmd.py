"""The two-sample test against hand cases, brute force, enumeration and closed forms; level; bad input."""

from __future__ import annotations

import json
import math
import re
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import combinations
from multiprocessing import get_context

import networkx as nx
import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from scipy.stats import chisquare

import goodstein as gs
from goodstein.errors import BandwidthError
from goodstein.stein.pairwise import Pairwise
from goodstein.tests_of_fit import mmd
from levels import check_level, trials

NORMAL = gs.families.Normal
BOTH = {"mmd_test": gs.mmd_test, "m3d_test": gs.m3d_test}


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def drawing(y, **options):
    """A model whose draws are known."""
    points = np.asarray(y, float).reshape(len(y), -1)
    model = gs.Model(score=lambda x: -x, sample=lambda n, rng: points[:n].copy(), name="known", **options)
    model.trusted = True  # they are meant to be the same
    return model


def brute_force(k, first):
    """MMD² by its definition from the whole kernel matrix; `first` are the rows of one sample."""
    rest = np.setdiff1d(np.arange(len(k)), first)
    within, among = (k[np.ix_(rows, rows)][~np.eye(len(rows), dtype=bool)].mean() for rows in (first, rest))
    return within + among - 2 * k[np.ix_(first, rest)].mean()


class Quadratic:
    """A kernel that is no function of a distance."""

    def fitted(self, points):
        return self

    def __call__(self, x, y):
        return (1.0 + x @ y.T) ** 2

    def __repr__(self):
        return "Quadratic()"


# --- the statistic -----------------------------------------------------------------------------


def test_two_and_two_by_hand():
    # x = 0, 1 and y = 0, 2: e^(−½) + e^(−2) − ½(1 + e^(−2) + 2e^(−½)).
    result = gs.mmd_test([0.0, 1.0], drawing([0.0, 2.0]), kernel=gs.Gaussian(1.0), rng=1)
    assert result.statistic == pytest.approx((math.exp(-2) - 1) / 2, rel=1e-12)
    # V: ¼[(2 + 2e^(−½)) + (2 + 2e^(−2)) − 2(1 + e^(−2) + 2e^(−½))] = ½(1 − e^(−½)).
    assert result.v_statistic == pytest.approx((1 - math.exp(-0.5)) / 2, rel=1e-12)
    # Of the six splits of {0, 0, 1, 2} four keep the two zeros apart.
    assert set(np.round(result.null_distribution, 5)) <= {
        round(value, 5) for value in (split((0, 1)), split((0, 2)), split((0, 3)))
    }


def split(first):
    points = np.array([[0.0], [1.0], [0.0], [2.0]])
    return brute_force(np.exp(-cdist(points, points, "sqeuclidean") / 2), np.array(first))


@pytest.mark.parametrize(
    "kernel",
    [
        gs.Gaussian(),
        gs.IMQ(),
        gs.RationalQuadratic(),
        gs.kernels.Matern52(),
        gs.Gaussian() + gs.IMQ(0.3),
        gs.Whitened(gs.Gaussian()),
        Quadratic(),
    ],
    ids=repr,
)
def test_v_statistic_of_equal_multisets_is_zero(kernel):
    x = rng().standard_normal((40, 3))
    result = gs.mmd_test(x, drawing(x[::-1]), kernel=kernel, n_resamples=9, rng=1)
    assert abs(result.v_statistic) < 1e-13 * (1.0 if not isinstance(kernel, Quadratic) else 100.0)
    assert result.statistic < 0
    assert result.pvalue == 1.0


@pytest.mark.parametrize(("n", "m"), [(7, 12), (23, 5), (2, 30), (150, 230)])
def test_statistic_is_the_double_sum(n, m):
    x, y = rng(n).standard_normal((n, 2)), rng(m).standard_normal((m, 2)) + 0.4
    pooled = np.concatenate([x, y])
    distances = cdist(pooled, pooled, "sqeuclidean")
    width = np.median(pdist(pooled))
    result = gs.mmd_test(x, drawing(y), kernel=gs.Gaussian(), n_draws=m, n_resamples=49, rng=1)
    assert result.kernel.bandwidth == pytest.approx(width, rel=1e-12)
    expected = brute_force(np.exp(-distances / (2 * width**2)), np.arange(n))
    assert result.statistic == pytest.approx(expected, rel=1e-9, abs=1e-13)
    result = gs.mmd_test(x, drawing(y), kernel=gs.IMQ(0.7), n_draws=m, n_resamples=49, rng=1)
    expected = brute_force(1 / np.sqrt(1 + distances / 0.49), np.arange(n))
    assert result.statistic == pytest.approx(expected, rel=1e-9, abs=1e-13)
    assert result.n == n
    assert result.details["n_draws"] == m


def test_whitening_takes_out_linear_maps():
    x, y, a = (
        rng(1).standard_normal((30, 2)),
        rng(2).standard_normal((30, 2)),
        np.array([[3.0, 1], [0, 0.01]]),
    )
    plain = gs.mmd_test(x, drawing(y), kernel=gs.Whitened(gs.Gaussian()), rng=1)
    mapped = gs.mmd_test(x @ a, drawing(y @ a), kernel=gs.Whitened(gs.Gaussian()), rng=1)
    assert mapped.statistic == pytest.approx(plain.statistic, rel=1e-8)
    assert mapped.pvalue == plain.pvalue


def test_far_points_keep_their_distances():
    """Two clusters 1e9 apart: inside each distances are of order one."""
    x, y = rng(1).standard_normal((20, 2)), rng(2).standard_normal((20, 2))
    x[10:] += 1e9
    y[10:] += 1e9
    pooled = np.concatenate([x, y])
    result = gs.mmd_test(x, drawing(y), kernel=gs.Gaussian(1.0), n_resamples=9, rng=1)
    expected = brute_force(np.exp(-cdist(pooled, pooled, "sqeuclidean") / 2), np.arange(20))
    assert result.statistic == pytest.approx(expected, rel=1e-9)


def test_population_value_between_normals():
    """E k(x, y) = (ℓ²/s)^(d/2) exp(−‖Δ‖²/2s), s = ℓ² + σ² + τ², for x ~ N(0, σ²), y ~ N(Δ, τ²)."""
    width, sigma, tau, delta, d = 1.3, 0.8, 1.2, 0.3, 2

    def mean(a, b, shift):
        s = width**2 + a**2 + b**2
        return (width**2 / s) ** (d / 2) * math.exp(-d * shift**2 / (2 * s))

    expected = mean(sigma, sigma, 0) + mean(tau, tau, 0) - 2 * mean(sigma, tau, delta)
    model = NORMAL(np.full(d, delta), tau**2 * np.eye(d))
    values = [
        gs.mmd_test(
            sigma * rng(k).standard_normal((150, d)),
            model,
            kernel=gs.Gaussian(width),
            n_draws=250,
            n_resamples=1,
            rng=k,
        ).statistic
        for k in range(100)
    ]
    error = np.std(values) / math.sqrt(len(values))
    assert error < 0.06 * expected
    assert abs(np.mean(values) - expected) < 4 * error


def test_constant_in_the_kernel_adds_nothing():
    class Raised(Quadratic):
        def __call__(self, x, y):
            return super().__call__(x, y) + 1000.0

    x, y = rng(1).standard_normal((30, 2)), rng(2).standard_normal((20, 2))
    plain, raised = (
        gs.mmd_test(x, drawing(y), kernel=kernel, n_draws=20, rng=1) for kernel in (Quadratic(), Raised())
    )
    assert raised.statistic == pytest.approx(plain.statistic, rel=1e-9)
    np.testing.assert_allclose(raised.null_distribution, plain.null_distribution, atol=1e-9)


# --- the permutations --------------------------------------------------------------------------


@pytest.mark.parametrize("m", [3, 4])
def test_permutations_are_all_splits_equally_often(m):
    x, y = rng(1).standard_normal((3, 1)), rng(2).standard_normal((m, 1)) + 1.0
    pooled = np.concatenate([x, y])
    k = np.exp(-cdist(pooled, pooled, "sqeuclidean") / 2)
    splits = np.array([brute_force(k, np.array(s)) for s in combinations(range(3 + m), 3)])
    result = gs.mmd_test(
        x, drawing(y), kernel=gs.Gaussian(1.0), n_draws=m, n_resamples=20_000, rng=1, workers=1
    )
    values, counts = np.unique(splits.round(5), return_counts=True)  # with n = m a split and its mirror
    got = values[np.argmin(np.abs(result.null_distribution[:, None] - values), axis=1)]
    np.testing.assert_allclose(got, result.null_distribution, atol=1e-5)
    observed = [np.sum(got == value) for value in values]
    assert chisquare(observed, 20_000 * counts / counts.sum()).pvalue > 1e-4
    exact = np.mean(splits >= splits[0] - 1e-12)
    assert result.pvalue == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000) + 1e-4)


@pytest.mark.parametrize(("n", "m"), [(40, 40), (60, 25), (30, 700)])
@pytest.mark.parametrize("width", [0.5, 1.0, 1e3], ids=str)
def test_draws_are_the_statistics_of_permuted_labels(n, m, width):
    """In single precision, but to a small part of their spread, also where the kernel is almost constant."""
    pooled = rng().standard_normal((n + m, 2))
    pairwise = Pairwise(gs.Gaussian(width), pooled)
    labels = mmd.Labels(5, n, m, 20)
    found = mmd.two_sample(pairwise, pairwise.placed(pooled), labels)
    k = np.exp(-cdist(pooled, pooled, "sqeuclidean") / (2 * width**2))
    expected = [brute_force(k, np.flatnonzero(row > 0)) for row in labels.permuted]
    assert {int(np.sum(row > 0)) for row in labels.permuted} == {n}
    np.testing.assert_allclose(found.draws, expected, rtol=0, atol=1e-5 * np.std(expected))


@trials(300, 1500)
@pytest.mark.parametrize("m", [20, 33])
def test_level_is_exact(m, trials):
    """At 19 permutations P(p ≤ .05) = .05 for continuous data, whatever n and m."""
    pvalues = []
    for k in range(trials):
        x = rng(k).standard_normal((20, 1))
        pvalues.append(gs.mmd_test(x, NORMAL(), n_draws=m, n_resamples=19, rng=10_000 + k).pvalue)
    check_level(pvalues, 0.05, 0.2, 0.5)


def test_ties_count_against_rejection():
    """Coin tosses: most splits have the statistic of another, up to rounding."""
    coin = gs.families.CategoricalTable([1.0, 1.0])
    found = [
        gs.mmd_test(coin.sample(12, rng=k), coin, n_resamples=39, rng=1000 + k, n_draws=17).pvalue
        for k in range(400)
    ]
    check_level(found, 0.05, 0.2, conservative=True)
    same = gs.mmd_test(np.zeros((5, 1)), drawing(np.zeros(9), domain=gs.Lattice(2, 1)), n_draws=9, rng=1)
    assert (same.statistic, same.pvalue) == (0.0, 1.0)


def test_bandwidth_does_not_know_which_rows_are_data():
    x, y = rng(1).standard_normal((800, 1)), rng(2).standard_normal((800, 1)) ** 3
    one, other = gs.mmd_test(x, drawing(y), n_resamples=1, rng=1), gs.mmd_test(y, drawing(x), n_resamples=1)
    assert one.kernel == other.kernel
    assert one.statistic == pytest.approx(other.statistic, rel=1e-9)


def test_same_result_for_all_workers():
    x = rng().standard_normal((600, 3))
    expected = gs.mmd_test(x, NORMAL(np.zeros(3)), n_draws=700, n_resamples=99, rng=7, workers=1)
    with (
        ThreadPoolExecutor(2) as threads,
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes,
    ):
        for workers in (2, -1, None, threads, processes):
            got = gs.mmd_test(x, NORMAL(np.zeros(3)), n_draws=700, n_resamples=99, rng=7, workers=workers)
            assert got.statistic == expected.statistic
            assert got.pvalue == expected.pvalue
            np.testing.assert_array_equal(got.null_distribution, expected.null_distribution)
    generator = gs.mmd_test(x, NORMAL(np.zeros(3)), n_draws=700, n_resamples=99, rng=rng(7))
    assert generator.statistic == expected.statistic


# --- domains, both tests -----------------------------------------------------------------------


@pytest.mark.parametrize("name", BOTH)
def test_angles_come_round(name):
    model = gs.families.VonMises(0.5, 1.0)
    x = model.sample(40, rng=1)
    turned = x + 2 * np.pi * rng().integers(-3, 4, size=x.shape)
    one, other = (BOTH[name](data, model, n_resamples=99, rng=1) for data in (x, turned))
    assert one.statistic == pytest.approx(other.statistic, rel=1e-5)
    assert one.kernel.bandwidth < 2.0
    assert one.pvalue == other.pvalue


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    "model",
    [
        gs.families.VonMisesFisher([0.0, 0.0, 1.0], 2.0),
        gs.families.Dirichlet([0.5, 0.5, 0.5]),
        gs.families.Uniform(gs.Torus(2)),
        gs.families.CategoricalTable([[6, 3, 1], [2, 5, 3], [1, 2, 7]]),
        gs.families.StudentT(1.0, 0.0, 1.0),
        gs.families.Exponential(2.0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_domain_has_a_default(name, model):
    result = BOTH[name](model.sample(50, rng=3), model, n_resamples=49, rng=1)
    assert 0.02 < result.pvalue <= 1.0
    assert isinstance(result.kernel, gs.Hamming if isinstance(result.domain, gs.Lattice) else gs.Gaussian)
    assert result.audit.valid


@pytest.mark.parametrize("name", BOTH)
def test_wrong_models_are_found(name):
    simplex, lattice = gs.families.Dirichlet([2.0, 2.0, 2.0]), gs.families.CategoricalTable([5, 3, 1])
    cases = [
        (simplex.sample(100, rng=1), gs.families.Dirichlet([2.0, 2.0, 4.0]), None),
        (simplex.sample(100, rng=1), gs.families.Dirichlet([2.0, 2.0, 4.0]), gs.Whitened(gs.Gaussian())),
        (lattice.sample(100, rng=1), gs.families.CategoricalTable([3, 3, 3]), None),
        (lattice.sample(100, rng=1), gs.families.CategoricalTable([3, 3, 3]), gs.Gaussian()),
        (
            lattice.sample(100, rng=1),
            gs.families.CategoricalTable([3, 3, 3]),
            gs.CategoricalProduct(np.eye(3) + 1),
        ),
    ]
    for data, model, kernel in cases:
        assert BOTH[name](data, model, kernel=kernel, n_resamples=99, rng=1).pvalue == 0.01


@pytest.mark.parametrize("name", BOTH)
def test_smaller_domain_truncates_the_model(name):
    box = gs.Box([0.0], [np.inf])
    half = np.abs(rng().standard_normal((200, 1)))
    assert BOTH[name](half, NORMAL(), domain=box, n_resamples=99, rng=1).pvalue > 0.05
    assert BOTH[name](half, NORMAL(), n_resamples=99, rng=1).pvalue == 0.01


@pytest.mark.parametrize("name", BOTH)
def test_result_says_what_was_done(name):
    result = BOTH[name](rng().standard_normal(50), NORMAL(), n_resamples=49, rng=1)
    text = result.summary()
    title = "Maximum mean discrepancy test" if name == "mmd_test" else "Moderated maximum mean discrepancy"
    assert text.startswith(title)
    for part in ("n_draws", "n_resamples=49", "Gaussian(bandwidth=", "50 observations on Euclidean(1)"):
        assert part in text
    assert "operator" not in text
    assert "Assumed, not checked: the rows of the data are independent" in str(result.audit)
    assert json.loads(result.to_json())["pvalue"] == result.pvalue
    assert len(result.null_distribution) == 49
    assert "(m" in result._repr_html_().lower()


# --- bad input, both tests ---------------------------------------------------------------------

POINTS = rng().standard_normal((20, 2))
PLANE = NORMAL([0.0, 0.0])
REFUSED = {
    "no sampler": (
        (POINTS, lambda x: -x),
        {},
        gs.InputError,
        "compares the data with draws from the model, but .* has no sampler. Pass Model(..., "
        "sample=function of (n, rng)), or use ksd_test, which needs the score only.",
    ),
    "leaves the domain": (
        (np.full((5, 1), 0.5), drawing(np.linspace(0.5, 2.0, 200), domain=gs.Box(0, 1))),
        {"n_draws": 100},
        gs.DomainError,
        "The sampler of known leaves the domain: ",
    ),
    "outside": ((POINTS, gs.families.Uniform(gs.Box([0, 0], [1, 1]))), {}, gs.DomainError, "lie outside Box"),
    "censored": (
        (gs.Censored([1.0, 2.0, 3.0], [True, False, True]), gs.families.Exponential(1.0)),
        {},
        gs.InputError,
        "takes points, an array (n, d), and draws points from the model, not 3 durations, 33 % censored. For "
        "censored durations, and for these data, use ksd_test(data, model, null=MonteCarlo()).",
    ),
    "pattern": (
        (2 * [POINTS % 1], gs.families.PoissonProcess(5.0, gs.Box([0, 0], [1, 1]))),
        {},
        gs.InputError,
        "takes points, an array (n, d), and draws points from the model, not 2 point patterns",
    ),
    "graph": (
        (nx.path_graph(5), gs.families.ERGM(5, edges=0.0)),
        {},
        gs.InputError,
        "takes points, an array (n, d), and draws points from the model, not one graph with 5 nodes",
    ),
    "columns": ((POINTS, NORMAL()), {}, gs.InputError, "`data` has 2 columns, but .* has 1 dimension."),
    "one row": ((POINTS[:1], PLANE), {}, gs.InputError, "`data` has 1 row; a test needs at least 2."),
    "n_draws": ((POINTS, PLANE), {"n_draws": 1}, gs.InputError, "`n_draws` must be an integer of at least 2"),
    "n_resamples": (
        (POINTS, PLANE),
        {"n_resamples": 0},
        gs.InputError,
        "`n_resamples` must be an integer of",
    ),
    "workers": ((POINTS, PLANE), {"workers": 0}, gs.InputError, "`workers` must be a positive number"),
    "rng": ((POINTS, PLANE), {"rng": -1}, gs.InputError, "`rng` must be None, a non-negative integer"),
    "domain": ((POINTS, PLANE), {"domain": "plane"}, gs.InputError, "`domain` must be a domain such as"),
    "kernel": ((POINTS, PLANE), {"kernel": 3}, gs.InputError, "`kernel` must be a kernel such as"),
    "Hamming": (
        (POINTS, PLANE),
        {"kernel": gs.Hamming()},
        gs.InputError,
        "Hamming(rate=1.0) compares states of a Lattice, but the model lives on Euclidean(2). Use Gaussian() "
        "or IMQ(), or pass domain=Lattice(levels, d).",
    ),
    "table": (
        ([[0], [1], [2]], gs.families.CategoricalTable([1, 1, 1])),
        {"kernel": gs.CategoricalProduct(np.eye(2) + 1)},
        gs.InputError,
        "`table` of CategoricalProduct is 2×2, but the lattice has 3 levels.",
    ),
}


class Mute:
    def fitted(self, points):
        return self

    def __repr__(self):
        return "Mute()"


@pytest.mark.parametrize("case", [*REFUSED])
@pytest.mark.parametrize("name", BOTH)
def test_bad_input(name, case):
    arguments, options, error, message = REFUSED[case]
    with pytest.raises(error, match=re.escape(message).replace(r"\.\*", ".*")):
        BOTH[name](*arguments, **{"rng": 1, **options})


@pytest.mark.parametrize("name", BOTH)
def test_kernel_that_cannot_be_evaluated(name):
    with pytest.raises(gs.InputError, match=re.escape("Mute() can neither be called, k(x, y), nor has it")):
        BOTH[name](POINTS, PLANE, kernel=Mute())


def test_equal_points_have_no_bandwidth():
    with pytest.raises(BandwidthError, match="all 8 points are equal"):
        gs.mmd_test(np.zeros(4), drawing(np.zeros(4)))
