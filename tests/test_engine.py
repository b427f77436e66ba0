"""The engine against dense float64 algebra, and its promise that seeds alone decide the result."""

from __future__ import annotations

import gc
import multiprocessing
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import goodstein as gs
from goodstein.engine import schemes
from goodstein.engine.columns import column_sums
from goodstein.engine.executors import check_workers, one_blas_thread, run
from goodstein.engine.reduce import Alone, joint_quadratic_forms, quadratic_forms
from goodstein.engine.schemes import IndependentSigns, OrthogonalSigns
from goodstein.engine.signs import Bits, chained_signs, hadamard, independent_signs
from goodstein.engine.triangle import above_diagonal, upper_tiles
from goodstein.engine.workspace import scratch
from goodstein.errors import InputError
from goodstein.families import Dirichlet, LogNormal, Normal, StudentT
from goodstein.kernels import IMQ, Gaussian
from goodstein.nulls import Calibration
from goodstein.numerics.ranges import cut
from goodstein.pipeline.audit import check_standing_alone
from goodstein.pipeline.compose import compose
from goodstein.stein.features import SteinFeatures, SteinForm
from goodstein.stein.forms import BlockForm, DenseForm, LowRankForm

SEED = 20_220_328
SPAWN = multiprocessing.get_context("spawn")  # JAX, once loaded, does not let itself be forked


def gaussian_form(n: int, d: int = 3, kernel=None, *, scale: float = 1.0) -> SteinForm:
    x = np.random.default_rng(n).standard_normal((n, d)) * scale
    return SteinForm(SteinFeatures(x, -x / scale**2), kernel or IMQ(1.0))


def off_diagonal(form: SteinForm) -> np.ndarray:
    h = form.matrix()
    np.fill_diagonal(h, 0.0)
    return h


def dense_draws(h: np.ndarray, signs: np.ndarray) -> np.ndarray:
    n = len(h)
    signs = signs.astype(float)
    return np.einsum("bi,bi->b", signs @ h, signs) / (n * (n - 1))


def orthogonal_signs_as_printed(weights: OrthogonalSigns) -> np.ndarray:
    """Every draw's signs written out, in the order of the data."""
    order = weights.order()
    order = np.arange(weights.n) if order is None else order
    block = np.repeat(np.arange(weights.blocks), np.diff(weights.edges))
    patterns = hadamard(weights.blocks)
    permuted = np.array([eta * pattern[block] for eta in weights.signs for pattern in patterns])
    signs = np.empty_like(permuted)
    signs[:, order] = permuted
    return signs[: weights.count]


@pytest.mark.parametrize("n", [2, 3, 7, 255, 256, 257, 700, 1100, 2100])
@pytest.mark.parametrize("scheme", [IndependentSigns, OrthogonalSigns])
def test_statistic_and_draws_equal_the_dense_quadratic_forms(n, scheme):
    form, weights = gaussian_form(n), scheme(SEED, n, 130)
    h = off_diagonal(form)
    signs = weights.signs if scheme is IndependentSigns else orthogonal_signs_as_printed(weights)
    statistic, draws = quadratic_forms(form, weights)
    expected = dense_draws(h, signs)
    assert statistic == pytest.approx(h.sum() / (n * (n - 1)), rel=1e-11, abs=1e-15)
    assert draws.shape == (130,)
    np.testing.assert_allclose(draws, expected, rtol=0, atol=5e-6 * np.sqrt((expected**2).mean()))


@pytest.mark.parametrize("n", [900, 1100])
def test_many_forms_in_narrow_tiles_have_the_draws_of_one(n):
    """Of the first tile of a strip only some blocks of rows have columns above the diagonal."""
    form, weights = gaussian_form(n), OrthogonalSigns(SEED, n, 130)
    statistics, draws = joint_quadratic_forms([Alone(form)] * 10, weights, tile=64)
    expected = dense_draws(off_diagonal(form), orthogonal_signs_as_printed(weights))
    np.testing.assert_allclose(statistics, off_diagonal(form).sum() / (n * (n - 1)), rtol=1e-10)
    np.testing.assert_allclose(draws, np.tile(expected, (10, 1)), rtol=0, atol=5e-6 * expected.std())


@pytest.mark.parametrize("flip", [0.5, 0.1])
@pytest.mark.parametrize("workers", [1, 2])
def test_many_signs_are_held_in_bits_which_changes_no_number(flip, workers, monkeypatch):
    def found():
        weights = IndependentSigns(SEED, 700, 130, flip)
        statistic, draws = quadratic_forms(gaussian_form(700), weights, workers=workers)
        columns = column_sums(gaussian_form(700), 700, slice(0, 300), weights, workers=workers)
        sums = weights.sums(np.linspace(-1.0, 1.0, 700))
        return type(weights.signs), statistic, draws, columns.sums, columns.largest, sums

    held, *numbers = found()
    monkeypatch.setattr(schemes, "MOST_HELD", 700 * 129)
    small, *others = found()
    assert (held, small) == (np.ndarray, Bits)
    for one, other in zip(numbers[:-1], others[:-1], strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(numbers[-1], others[-1], atol=1e-4)
    signs = independent_signs(SEED, 700, 130) if flip == 0.5 else chained_signs(SEED, 700, 130, flip)
    np.testing.assert_allclose(others[-1], signs.astype(float) @ np.linspace(-1.0, 1.0, 700), atol=1e-4)


class Least(BlockForm):
    """A form with no more than what is asked for."""

    def __init__(self, values):
        self.values = values

    n = property(lambda self: len(self.values))

    def block(self, rows, cols):
        return np.outer(self.values[rows], self.values[cols]) + np.minimum.outer(
            np.arange(self.n)[rows], np.arange(self.n)[cols]
        )

    def diagonal(self):
        return self.values**2 + np.arange(self.n)


@pytest.mark.parametrize("n", [5, 256, 700])
def test_a_form_needs_blocks_and_a_diagonal_only(n):
    values = np.random.default_rng(n).standard_normal(n)
    form = Least(values)
    expected = np.outer(values, values) + np.minimum.outer(np.arange(n), np.arange(n))
    np.testing.assert_allclose(form.matrix(), expected, rtol=1e-14)
    assert form.mean() == pytest.approx(expected.mean(), rel=1e-12)
    order = np.random.default_rng(1).permutation(n)[: n - 1]
    np.testing.assert_allclose(form.take(order).matrix(), expected[np.ix_(order, order)], rtol=1e-14)
    np.testing.assert_allclose(form.take(order).diagonal(), expected.diagonal()[order], rtol=1e-14)
    some = np.array([0, 1, 3, n - 1])
    np.testing.assert_allclose(form.columns(some), expected[:, some], rtol=1e-14)
    weights = OrthogonalSigns(SEED, n, 40)
    statistic, draws = quadratic_forms(form, weights)
    h = expected - np.diag(expected.diagonal())
    assert statistic == pytest.approx(h.sum() / (n * (n - 1)), rel=1e-9)
    wanted = dense_draws(h, orthogonal_signs_as_printed(weights))
    np.testing.assert_allclose(draws, wanted, rtol=0, atol=5e-6 * np.sqrt((wanted**2).mean()))


def test_features_of_finite_rank_make_means_in_linear_time():
    tau = np.random.default_rng(3).standard_normal((50, 4))
    form, h = LowRankForm(tau), tau @ tau.T
    assert form.mean() == pytest.approx(h.mean(), rel=1e-12)
    assert form.statistic == pytest.approx((h.sum() - np.trace(h)) / (50 * 49), rel=1e-12)


@pytest.mark.parametrize(("n", "height", "width"), [(1, 4, 4), (10, 3, 4), (57, 8, 20), (64, 16, 16)])
def test_tiles_cover_the_upper_triangle_once(n, height, width):
    seen = np.zeros((n, n))
    for rows, cols in upper_tiles(cut(0, n, height), n, width):
        ones = np.ones((rows.stop - rows.start, cols.stop - cols.start))
        assert len(ones) <= height and ones.shape[1] <= width
        seen[rows, cols] += above_diagonal(ones, rows, cols)
    np.testing.assert_array_equal(seen, np.triu(np.ones((n, n)), 1))


def test_a_strip_wider_than_what_is_held_at_a_time():
    form = gaussian_form(4500, d=1)
    weights = IndependentSigns(SEED, 4500, 5)
    statistic, draws = quadratic_forms(form, weights)
    h = off_diagonal(form)
    assert statistic == pytest.approx(h.sum() / (4500 * 4499), rel=1e-9)
    np.testing.assert_allclose(draws, dense_draws(h, weights.signs), rtol=0, atol=1e-5 * np.abs(draws).max())


@pytest.mark.parametrize("scheme", [IndependentSigns, OrthogonalSigns])
def test_workers_change_nothing_not_even_the_last_bit(scheme):
    form, weights = gaussian_form(1100), scheme(SEED, 1100, 99)
    reference = quadratic_forms(form, weights, workers=1)
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2, mp_context=SPAWN) as processes:
        for workers in (2, 3, -1, None, threads, processes):
            statistic, draws = quadratic_forms(form, weights, workers=workers)
            assert statistic == reference[0]
            assert np.array_equal(draws, reference[1])


@pytest.mark.parametrize("kernel", [Gaussian(1.5), IMQ(1.0)])
@pytest.mark.parametrize("scheme", [IndependentSigns, OrthogonalSigns])
def test_tile_size_does_not_change_a_pvalue(scheme, kernel):
    for seed in range(10):
        form, weights = gaussian_form(600, kernel=kernel), scheme(seed, 600, 99)
        reference = Calibration(*quadratic_forms(form, weights))
        for tile in (37, 100, 511):
            other = Calibration(*quadratic_forms(form, weights, tile=tile))
            assert other.pvalue == reference.pvalue
            assert other.statistic == pytest.approx(reference.statistic, rel=1e-10)


def test_signs_are_a_function_of_seed_draw_and_row_alone():
    large = independent_signs(SEED, 700, 200)
    assert set(np.unique(large)) == {-1.0, 1.0}
    for n, draws in ((1, 1), (300, 64), (256, 65), (699, 200)):
        np.testing.assert_array_equal(independent_signs(SEED, n, draws), large[:draws, :n])
    assert not np.array_equal(independent_signs(SEED + 1, 700, 200), large)
    chains = chained_signs(SEED, 700, 50, 0.1)
    np.testing.assert_array_equal(chained_signs(SEED, 400, 20, 0.1), chains[:20, :400])


def test_signs_are_balanced_and_uncorrelated():
    signs = independent_signs(SEED, 1024, 1024).astype(float)
    n = signs.size
    assert abs(signs.mean()) < 4 / np.sqrt(n)
    for shifted in (signs[1:] * signs[:-1], signs[:, 1:] * signs[:, :-1], signs[:, 64:] * signs[:, :-64]):
        assert abs(shifted.mean()) < 4 / np.sqrt(shifted.size)


def test_chained_signs_have_the_correlation_of_the_chain():
    flip = 0.1
    signs = chained_signs(SEED, 2000, 500, flip).astype(float)
    assert abs(signs.mean(axis=0)).max() < 5 / np.sqrt(500)
    for lag in (1, 2, 5, 300):
        expected = (1 - 2 * flip) ** lag
        products = (signs[:, lag:] * signs[:, :-lag]).mean(axis=1)
        assert abs(products.mean() - expected) < 5 * products.std() / np.sqrt(500)


def test_hadamard_rows_are_orthogonal():
    for order in (1, 2, 4, 32):
        h = hadamard(order)
        np.testing.assert_array_equal(h @ h.T, order * np.eye(order))


def test_every_orthogonal_draw_is_marginally_rademacher():
    # Over seeds, each sign of each draw is fair and independent of the other signs of the draw.
    n, count, seeds = 300, 8, 400
    signs = np.array([orthogonal_signs_as_printed(OrthogonalSigns(s, n, count)) for s in range(seeds)])
    assert OrthogonalSigns(0, n, count).blocks == 8
    assert abs(signs.mean(axis=0)).max() < 5.2 / np.sqrt(seeds)
    pairs = (signs[:, :, ::2] * signs[:, :, 1::2]).mean(axis=0)
    assert abs(pairs).max() < 5.2 / np.sqrt(seeds)


@pytest.mark.parametrize("ordering", ["random", "sorted"])
def test_orthogonal_pvalues_are_as_accurate_as_independent_ones(ordering):
    """sd of p̂ over seeds, on one matrix, against the binomial sd."""
    n, count, seeds = 600, 199, 120
    x = np.random.default_rng(3).standard_normal((n, 1))
    x = np.sort(x, axis=0) if ordering == "sorted" else x
    form = SteinForm(SteinFeatures(x, -x), IMQ(1.0))
    reference = quadratic_forms(form, IndependentSigns(1, n, 20_000))[1]
    threshold = np.quantile(reference, 0.9)
    estimates = [
        np.mean(quadratic_forms(form, OrthogonalSigns(s, n, count))[1] >= threshold) for s in range(seeds)
    ]
    binomial = np.sqrt(0.1 * 0.9 / count)
    assert abs(np.mean(estimates) - 0.1) < 4 * binomial / np.sqrt(seeds) + 0.006
    assert 0.8 < np.std(estimates) / binomial < 1.2


@pytest.mark.parametrize("name", ["tiny bandwidth", "far cluster", "outlier", "huge score", "tiny score"])
def test_single_precision_products_do_not_move_the_draws(name):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((400, 2))
    score, width = -x, 1.0
    if name == "tiny bandwidth":
        width = 1e-2
    elif name == "far cluster":
        x[200:] += 1e6
    elif name == "outlier":
        x[7] = 1e8
        score = -x / (1 + x**2)
    elif name == "huge score":
        score = -1e30 * x
    elif name == "tiny score":
        score, width = -1e-30 * x, 1e30
    form = SteinForm(SteinFeatures(x, score), Gaussian(width))
    weights = IndependentSigns(SEED, 400, 200)
    _, draws = quadratic_forms(form, weights)
    expected = dense_draws(off_diagonal(form), weights.signs)
    spread = expected.std()
    assert spread > 0
    np.testing.assert_allclose(draws, expected, rtol=0, atol=1e-5 * spread)
    assert len(np.unique(draws)) > 100


def test_far_clusters_keep_their_digits():
    """Two clusters 1e6 bandwidths apart: each block equals that of the cluster by itself."""
    rng = np.random.default_rng(6)
    near, scores = rng.standard_normal((40, 2)), rng.standard_normal((80, 2))
    both = np.vstack([near, near + 1e6])
    rounded = both[40:] - 1e6
    h = SteinForm(SteinFeatures(both, scores), IMQ(1.0)).matrix()
    alone = SteinForm(SteinFeatures(rounded, scores[40:]), IMQ(1.0)).matrix()
    np.testing.assert_allclose(h[40:, 40:], alone, rtol=1e-12, atol=1e-13)


def test_forms_and_weights_travel_to_other_processes_without_their_caches():
    form, weights = gaussian_form(300), IndependentSigns(SEED, 300, 2000)
    quadratic_forms(form, weights)
    assert len(pickle.dumps(weights)) < 1000
    copy = pickle.loads(pickle.dumps(form))
    np.testing.assert_array_equal(copy.matrix(), form.matrix())


def test_cut_covers_everything_once():
    for start, stop, step in ((0, 1, 5), (3, 700, 256), (0, 256, 256), (0, 257, 256)):
        pieces = cut(start, stop, step)
        rows = [i for piece in pieces for i in range(piece.start, piece.stop)]
        assert rows == list(range(start, stop))
        assert max(piece.stop - piece.start for piece in pieces) <= step


def test_results_keep_the_order_of_the_items():
    with ProcessPoolExecutor(2, mp_context=SPAWN) as processes:
        assert run(abs, [-3, 2, -1, 0, 5], processes, size=0) == [3, 2, 1, 0, 5]
    assert run(abs, range(-50, 0), 4, size=0) == list(range(50, 0, -1))


def test_blas_threads_are_given_back():
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def threads() -> set[int]:
        return {lib["num_threads"] for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"}

    before = threads()
    with one_blas_thread(), one_blas_thread():
        assert threads() == {1}
    assert threads() == before


def test_blas_threads_are_limited_in_all_threads_and_given_back_by_the_last():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    inside, leave = threading.Event(), threading.Event()

    def threads() -> set[int]:
        return {lib["num_threads"] for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"}

    def other() -> set[int]:
        with one_blas_thread():
            inside.set()
            leave.wait(10)
            return threads()

    with threadpoolctl.threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(1) as pool:
        with one_blas_thread():  # in this thread, which then leaves first
            second = pool.submit(other)
            inside.wait(10)
        assert threads() == {1}
        leave.set()
        assert second.result() == {1}
        assert threads() == {2}
        assert pool.submit(other).result() == {1}  # in the other thread alone
        assert threads() == {2}


@pytest.mark.parametrize("workers", [0, -2, 1.5, "two", True])
def test_workers_that_make_no_sense_are_refused(workers):
    with pytest.raises(InputError, match="`workers` must be a positive number of threads"):
        check_workers(workers)


@pytest.mark.parametrize("fill", [1e20, 9.97e36, 1e100])
def test_one_huge_value_does_not_hide_all_others(fill):
    """Beyond about 1e20 a value changes nothing any more: its row is far from all others."""
    x = Normal([0, 0], 1.0).sample(100, rng=1)
    x[17, 0] = fill
    far = x.copy()
    far[17, 0] = 1e15
    kernel = gs.IMQ(1.0)
    found, expected = (gs.ksd_test(rows, Normal([0, 0], 1.0), kernel=kernel, rng=1) for rows in (x, far))
    assert found.pvalue == pytest.approx(expected.pvalue, abs=0.002)
    assert np.std(found.null_distribution) > 0.0


@pytest.mark.parametrize("fill", [1e20, 9.97e36, 1e100])
def test_one_huge_value_says_nothing_about_units(fill):
    """The metric of the score is that of the other rows: a departure in the same column is still seen."""
    model = Normal([0, 0], 1.0)
    x = model.sample(200, rng=3)
    x[17, 0] = fill
    far = x.copy()
    far[17, 0] = 1e6
    found, expected = (gs.ksd_test(rows, model, rng=1).pvalue for rows in (x, far))
    assert found == pytest.approx(expected, abs=0.002)
    x[:, 0] += 0.5
    for other in (model, lambda x: -np.tanh(x) - 0.1 * x):
        assert gs.ksd_test(x, other, rng=1).pvalue < 0.01


@pytest.mark.parametrize("fill", [1e3, 1e20, 9.97e36])
@pytest.mark.parametrize("test", ["ksd", "aggregated", "select"])
def test_a_row_that_stands_alone_is_named(test, fill):
    model = Normal([0, 0], 1.0)
    x = model.sample(60, rng=1)
    x[17, 0] = fill
    if test == "select":
        result = gs.select(x, model, rng=2).test(rng=1)
    else:
        run = gs.ksd_test if test == "ksd" else gs.aggregated_test
        result = run(x, model, null=gs.WildBootstrap(99), rng=1)
    told = [note for note in result.notes if "stands alone" in note]
    assert len(told) == 1
    assert f", [{float(f'{fill:.3g}')!r}, " in told[0]
    if test != "select":  # which counts the rows that it tests
        assert told[0].startswith("Row 17, ")
        assert "np.delete(data, 17, axis=0)" in told[0]


@pytest.mark.parametrize("fill", [1e150, 1e200, 1e308])
@pytest.mark.parametrize("test", [gs.ksd_test, gs.aggregated_test])
def test_values_that_cannot_be_squared_are_refused_by_row(test, fill):
    x = Normal([0, 0], 1.0).sample(60, rng=1)
    x[17, 0] = fill
    if (test, fill) == (gs.ksd_test, 1e150):
        assert test(x, Normal([0, 0], 1.0), rng=1).pvalue > 0.001
        return
    with pytest.raises(InputError, match=r"not finite at 1 of 60 rows \(row 17\)"):
        test(x, Normal([0, 0], 1.0), rng=1)


@pytest.mark.parametrize(
    "model",
    [StudentT(3), StudentT(1), Dirichlet([0.1, 0.1, 0.1]), LogNormal(0, 2), Normal([0, 0], 1.0)],
    ids=["t3", "Cauchy", "Dirichlet", "log-normal", "normal"],
)
def test_no_row_of_a_model_with_heavy_tails_stands_alone(model):
    for seed in range(100):
        problem = compose(model.sample(20, rng=seed), model)
        assert not check_standing_alone(problem)


# --- thin factors ------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [10, 47, 333, 700])
def test_a_thin_factor_has_the_statistic_and_the_draws_of_its_matrix(n):
    tau = np.random.default_rng(n).normal(0.1, 1.0, (n, 4))
    for signs in (
        None,
        OrthogonalSigns(3, n, 99),
        IndependentSigns(3, n, 300),
        IndependentSigns(3, n, 99, 0.1, (0, 5)),
    ):
        statistic, draws = quadratic_forms(LowRankForm(tau), signs)
        expected, others = quadratic_forms(DenseForm(tau @ tau.T), signs)
        assert statistic == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(draws, others, atol=1e-6 * np.abs(others).max(initial=1.0))
    both = joint_quadratic_forms([Alone(DenseForm(tau @ tau.T)), Alone(LowRankForm(2.0 * tau))], signs)
    np.testing.assert_allclose(both[0][1], 4.0 * both[0][0], rtol=1e-9)
    np.testing.assert_allclose(both[1][1], 4.0 * both[1][0], atol=1e-5)


def test_a_factor_with_many_columns_is_not_thin():
    signs = OrthogonalSigns(1, 10, 9)
    for columns, thin in ((5, True), (6, False)):
        form = Alone(LowRankForm(np.ones((10, columns))))
        assert (form.thin(signs) is not None) == thin and form.thin(None) is not None


def test_threads_take_over_the_scratch_arrays_of_those_before():
    """Fresh memory is paid for in page faults; two threads at a time never have the same."""

    def addresses(pool):
        barrier = threading.Barrier(2)

        def address(_):
            found = scratch("taken over", (1000,)).ctypes.data
            barrier.wait(10)
            return found

        return set(pool.map(address, range(2)))

    seen = []
    for _ in range(2):
        with ThreadPoolExecutor(2) as pool:
            seen.append(addresses(pool))
        gc.collect()
    assert len(seen[0]) == len(seen[1]) == 2
    assert seen[0] == seen[1]
