"""The tables that ship with the package are the published ones."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import shapely

import goodstein as gs
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


# Rows, and for durations the sums that belong to the means and events which textbooks print of these tables.
KNOWN = {
    "aml": (23, {"time": 678, "status": 18}),
    "arrivals": (254, {}),
    "cells": (42, {}),
    "chorley": (1036, {}),
    "finnish_pines": (126, {}),
    "humberside": (203, {}),
    "japanese_pines": (65, {}),
    "longleaf": (584, {}),
    "lung": (228, {"time": 69593, "status": 165}),
    "new_zealand_trees": (86, {}),
    "osteocytes": (644, {}),
    "ovarian": (26, {"status": 12}),
    "pigeons": (108, {}),
    "redwood": (62, {}),
    "skye_lavas": (23, {}),
    "swedish_pines": (71, {}),
    "turtles": (76, {}),
    "veteran": (137, {"time": 16663, "status": 128}),
    "winds": (310, {}),
}


def test_names_are_those_of_the_loaders():
    assert datasets.names() == sorted(KNOWN)
    assert set(KNOWN) | {"Dataset", "about", "names"} == set(datasets.__all__)


@pytest.mark.parametrize("name", KNOWN)
def test_table_has_its_rows_and_columns(name):
    about = datasets.about(name)
    table = about.table()
    rows, sums = KNOWN[name]
    assert list(table) == list(about.columns)
    assert {len(column) for column in table.values()} == {rows}
    for column, total in sums.items():
        assert table[column].sum() == total
    assert f"\n  {rows} rows\n" in str(about)
    assert about.references
    assert "GPL" in about.source
    documented = getattr(datasets, name).__doc__
    assert all(reference in documented for reference in about.references)


@pytest.mark.parametrize("name", KNOWN)
def test_a_test_takes_what_is_loaded(name):
    about = datasets.about(name)
    data = getattr(datasets, name)()
    if about.domain is None:
        assert isinstance(data, gs.Censored)
        assert (data.event_observed == (about.table()["status"] == 1)).all()
    elif name == "osteocytes":
        assert len(data) == 40
        assert all(about.domain.contains(pattern).all() for pattern in data)
    else:
        assert about.domain.contains(data.reshape(len(data), -1)).all()
        assert len(data) == KNOWN[name][0]


def test_areas_of_the_regions_are_the_published_ones():
    # spatstat.data: 204487 square units of 100 metres, and 315.155 square kilometres.
    for name, area in {"humberside": 204487, "chorley": 315.155}.items():
        assert shapely.Polygon(datasets.catalogue.read_points(f"{name}_region")).area == pytest.approx(
            area, 1e-5
        )


def test_a_name_that_is_not_there():
    with pytest.raises(
        gs.InputError, match=r"^`name`: there is no table 'redwoods'\. Did you mean 'redwood'\?$"
    ):
        datasets.about("redwoods")
    with pytest.raises(gs.InputError, match=r"There are aml, arrivals, .*, winds\.$"):
        datasets.about("titanic")


def test_the_documentation_lists_them_all():
    page = (Path(__file__).parents[1] / "docs" / "datasets.md").read_text(encoding="utf-8")
    for name in KNOWN:
        assert f"| `{name}` | {datasets.about(name).title} |" in page
