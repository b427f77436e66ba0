"""The same bits: whatever the number of BLAS threads, and beside other tests in other threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import goodstein as gs
from cases import OPERATORS
from goodstein.families import ERGM, Dirichlet, Exponential, Normal, PoissonProcess

MANY = {60: 400, 90: 400, 25: 60, 12: 12}
"""Observations for which OpenBLAS divides products among its threads, for those of the cases."""
FIVE = Normal([0.0] * 5)
X = FIVE.sample(500, rng=1)
PARTS = Dirichlet([1.0] * 6)
SQUARE = gs.Box(0, [1, 1])
RNG = np.random.default_rng(1)
POINTS = [RNG.uniform(size=(20, 2)) for _ in range(40)]
EDGES = np.triu(RNG.random((15, 15)) < 0.3, 1).astype(float)
SLOPE = gs.ConditionalModel.gaussian(lambda x: x, 1.0)

TESTS = {
    "ksd": lambda: gs.ksd_test(X, FIVE, rng=1),
    "spectral": lambda: gs.ksd_test(X, FIVE, null=gs.Spectral(99), rng=1),
    "fitted": lambda: gs.ksd_test(X, Normal.fit(X), rng=1),
    "tolerant": lambda: gs.ksd_test(X, FIVE, tolerance=0.1, rng=1),
    "aggregated": lambda: gs.aggregated_test(X, FIVE, null=gs.WildBootstrap(99), rng=1),
    "simplex": lambda: gs.aggregated_test(PARTS.sample(500, rng=1), PARTS, null=gs.WildBootstrap(99), rng=1),
    "fssd": lambda: gs.fssd_test(X, FIVE, rng=1),
    "mmd": lambda: gs.mmd_test(X, FIVE, n_resamples=99, rng=1),
    "m3d": lambda: gs.m3d_test(X, FIVE, n_resamples=99, rng=1),
    "regularised": lambda: gs.regularised_test(X[:200], FIVE, rng=1),
    "relative": lambda: gs.relative_ksd_test(X, FIVE, Normal([0.1] * 5), rng=1),
    "equivalence": lambda: gs.equivalence_test(X, FIVE, margin=0.1, rng=1),
    "select": lambda: gs.select(X, FIVE, rng=1).test(rng=1),
    "conditional": lambda: gs.conditional_ksd_test(X[:, :1], X[:, :1] + X[:, 1:2], SLOPE, rng=1),
    "durations": lambda: gs.ksd_test(np.abs(X[:, :1]), Exponential(1.0), rng=1),
    "patterns": lambda: gs.point_pattern_ksd_test(POINTS, PoissonProcess(20.0, SQUARE), rng=1),
    "graph": lambda: gs.graph_ksd_test(EDGES + EDGES.T, ERGM(15, edges=-1.0), rng=1),
}


def bits(result):
    """All that a test computes."""
    null = result.null_distribution
    return result.statistic, result.pvalue, None if null is None else null.tobytes(), result.notes


def with_threads(run):
    """What a test returns with one BLAS thread and with several."""
    found = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads, user_api="blas"):
            found.append(bits(run()))
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TESTS)
def test_bits_do_not_depend_on_blas_threads(name):
    one, *several = with_threads(TESTS[name])
    assert all(found == one for found in several)


ASKED = {
    "explain": lambda result: result.explain().to_dict(),
    "detectable": lambda result: result.detectable(columns=2).moves,
    "tolerance": lambda result: result.tolerance().share,
    "contributions": lambda result: result.contributions().lower.tobytes(),
}


@pytest.mark.parametrize("name", ASKED)
def test_bits_of_what_is_asked_of_a_result_do_not_depend_on_blas_threads(name):
    result = gs.aggregated_test(X[:300], FIVE, null=gs.WildBootstrap(99), rng=1)
    found = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads, user_api="blas"):
            found.append(ASKED[name](result))
    assert found[0] == found[1] == found[2]


def test_blas_has_one_thread_where_a_result_is_explained():
    # Several wait for each other in what is this small, and take many times the time of one.
    seen = []

    def score(x):
        seen.append({lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"})
        return -x

    model = gs.Model(score=score, sample=lambda n, rng: rng.standard_normal((n, 2)), domain=gs.Euclidean(2))
    result = gs.ksd_test(X[:60, :2], model, rng=1)
    seen.clear()
    with threadpool_limits(2, user_api="blas"):
        result.detectable()
        result.explain()
        result.tolerance()
    assert seen
    assert all(threads == {1} for threads in seen)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("null", [gs.WildBootstrap(49), gs.Spectral(49)], ids=["wild", "spectral"])
@pytest.mark.parametrize("case", OPERATORS, ids=lambda case: case.name)
def test_bits_of_no_operator_depend_on_blas_threads(case, null):
    used = null if case.null is None else case.null
    data = case.data(MANY[case.n])
    one, *several = with_threads(
        lambda: gs.ksd_test(data, case.model, operator=case.operator, null=used, rng=1, audit=False)
    )
    assert all(found == one for found in several)


@pytest.mark.filterwarnings("ignore")
def test_tests_in_several_threads_return_the_bits_of_serial_ones():
    """All kinds of tests at the same time, three times over, in eight threads with workers of their own."""
    serial = {name: bits(run()) for name, run in TESTS.items()}
    names = [*TESTS, *reversed(TESTS), *TESTS]
    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda name: bits(TESTS[name]()), names))
    assert [name for name, got in zip(names, found, strict=True) if got != serial[name]] == []
