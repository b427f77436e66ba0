"""Many rows: how much memory a test takes, and data that stay in their file."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import goodstein as gs
from goodstein.families import Normal
from goodstein.pipeline.compose import compose
from goodstein.validation import as_data

N, D = 60_000, 10
MODEL = Normal(np.zeros(D))


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(N, D))


def interrupt(done, total):
    if done:
        raise KeyboardInterrupt


def peak(action):
    """Bytes for each row that are held at the same time, at the most."""
    tracemalloc.start()
    try:
        action()
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return most / N


@pytest.mark.parametrize("workers", [1, 2])
def test_a_million_rows_fit_into_two_gigabytes(rows, workers):
    """Memory is linear in n, and at its peak when the first strip is done: factors and signs are there."""

    def test():
        with pytest.raises(KeyboardInterrupt):
            gs.ksd_test(rows, MODEL, workers=workers, progress=interrupt, rng=1)

    gs.ksd_test(rows[:1000], MODEL, rng=1)  # what is imported and remembered
    # Scratch of threads does not grow with n, and at a million rows is nothing.
    assert peak(test) < 1700 + workers * 20e6 / N


@pytest.fixture(scope="module")
def files(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    np.save(folder / "double.npy", rows)
    np.save(folder / "single.npy", rows.astype(np.float32))
    return folder


def test_a_mapped_array_stays_in_its_file(files, rows):
    for mode in ("r", "r+", "c"):
        mapped = np.load(files / "double.npy", mmap_mode=mode)
        seen = compose(mapped, MODEL).observations
        assert np.shares_memory(seen, mapped) and not seen.flags.writeable
        assert np.shares_memory(as_data(mapped[100:]), mapped)
        assert np.shares_memory(as_data(mapped[0]), mapped)  # one column
    assert peak(lambda: as_data(mapped)) < 0.5 * 8 * D
    few = gs.WildBootstrap(19)
    found = gs.ksd_test(mapped[:500], MODEL, null=few, rng=1)
    assert found.pvalue == gs.ksd_test(rows[:500], MODEL, null=few, rng=1).pvalue


def test_a_mapped_array_in_single_precision_is_copied_once(files, rows):
    mapped = np.load(files / "single.npy", mmap_mode="r")
    assert not np.shares_memory(as_data(mapped), mapped)
    assert peak(lambda: as_data(mapped)) < 1.3 * 8 * D
    np.testing.assert_array_equal(as_data(mapped), rows.astype(np.float32).astype(float))


def test_a_score_that_writes_does_not_write_to_the_file(files):
    mapped = np.load(files / "double.npy", mmap_mode="r+")[:50]
    before = np.array(mapped)

    def score(x):
        x *= -1.0
        return x

    gs.ksd_test(mapped, score, null=gs.WildBootstrap(19), rng=1)
    np.testing.assert_array_equal(mapped, before)


def test_data_frames_are_copied_once(files, rows):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(rows, schema=[f"x{k}" for k in range(D)])
    frame.write_parquet(files / "rows.parquet")
    frame.write_ipc(files / "rows.arrow")
    mapped = polars.read_ipc(files / "rows.arrow")
    for read in (polars.read_parquet(files / "rows.parquet"), mapped):
        as_data(read[:10])  # what is imported and remembered
        # Of a column at a time there may be another copy, and a mask.
        assert peak(lambda: as_data(read)) < 1.6 * 8 * D  # noqa: B023
        np.testing.assert_array_equal(as_data(read), rows)


def test_columns_of_different_kinds_become_numbers_as_before():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": np.arange(4, dtype=np.int8), "b": np.linspace(0, 1, 4)})
    np.testing.assert_array_equal(as_data(frame), frame.to_numpy(float))
    own = as_data(frame)
    frame.loc[0, "b"] = 7.0
    assert own[0, 1] == 0.0
