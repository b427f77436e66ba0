"""The tables that ship with the package are the published ones."""

import subprocess
import sys

import numpy as np

from goodstein import datasets


def test_skye_lavas_are_compositions():
    x = datasets.skye_lavas()
    assert x.shape == (23, 3)
    assert x.dtype == np.float64
    assert (x > 0).all()
    np.testing.assert_allclose(x.sum(axis=1), 1.0, rtol=0, atol=1e-15)


def test_skye_lavas_are_aitchisons_table():
    # Aitchison (1986), Data 6: whole per cents that sum to 100. The first and last rows and the column means,
    # and checksums, of another copy of the table, that see every number and the order of rows.
    percent = 100 * datasets.skye_lavas()
    table = np.rint(percent)
    np.testing.assert_allclose(percent, table, rtol=0, atol=1e-12)
    assert (table.sum(axis=1) == 100).all()
    assert table[0].tolist() == [52, 42, 6]
    assert table[-1].tolist() == [24, 56, 20]
    np.testing.assert_allclose(table.mean(axis=0), [26.826, 53.739, 19.435], atol=5e-4)
    assert (np.arange(1, 24) @ table).tolist() == [5769, 15159, 6672]
    assert (np.arange(1, 24) ** 2 @ table).tolist() == [81019, 237035, 114346]
    assert (np.arange(1, 24) @ table**2).tolist() == [137631, 836837, 179462]


def test_skye_lavas_belong_to_the_caller():
    x = datasets.skye_lavas()
    x[:] = 0.0
    assert datasets.skye_lavas()[0, 0] == 0.52


def test_loading_needs_numpy_only():
    code = (
        "import sys; from goodstein.datasets import skye_lavas; skye_lavas(); "
        "heavy = 'pandas polars narwhals matplotlib shapely scipy.stats jax torch'; "
        "print([m for m in heavy.split() if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
