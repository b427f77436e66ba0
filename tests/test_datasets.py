"""The tables that ship with the package are the published ones."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from goodstein import datasets

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "compositional" / "skye_afm.csv"


def test_skye_lavas_are_compositions():
    x = datasets.skye_lavas()
    assert x.shape == (23, 3)
    assert x.dtype == np.float64
    assert (x > 0).all()
    np.testing.assert_allclose(x.sum(axis=1), 1.0, rtol=0, atol=1e-15)


def test_skye_lavas_are_aitchisons_table():
    # Aitchison (1986), Data 6: whole per cents that sum to 100. The first and last rows and
    # the column means, and a checksum that sees the order of rows.
    percent = 100 * datasets.skye_lavas()
    table = np.rint(percent)
    np.testing.assert_allclose(percent, table, rtol=0, atol=1e-12)
    assert (table.sum(axis=1) == 100).all()
    assert table[0].tolist() == [52, 42, 6]
    assert table[-1].tolist() == [24, 56, 20]
    np.testing.assert_allclose(table.mean(axis=0), [26.826, 53.739, 19.435], atol=5e-4)
    assert (np.arange(1, 24) @ table).tolist() == [5769, 15159, 6672]


def test_skye_lavas_belong_to_the_caller():
    x = datasets.skye_lavas()
    x[:] = 0.0
    assert datasets.skye_lavas()[0, 0] == 0.52


@pytest.mark.skipif(not SHARED.exists(), reason="the copy to compare with is not beside this repository")
def test_skye_lavas_equal_the_independent_copy():
    with SHARED.open() as lines:
        assert lines.readline().strip() == "A,F,M"
        expected = np.loadtxt(lines, delimiter=",")
    np.testing.assert_array_equal(datasets.skye_lavas(), expected / 100)


def test_loading_needs_numpy_only():
    code = (
        "import sys; from goodstein.datasets import skye_lavas; skye_lavas(); "
        "print([m for m in ('pandas', 'polars', 'matplotlib', 'jax', 'torch') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
