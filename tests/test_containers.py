"""Data in containers of other packages: read, or refused in words that help.

Those that are not installed here are stood for by classes with the same names, modules and attributes.
"""

from __future__ import annotations

import re
import warnings

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyproj
import pytest
import shapely

import goodstein as gs
from goodstein.foreign import contents

X = np.random.default_rng(1).normal(size=(40, 2))
MODEL = gs.families.Normal([0.0, 0.0])
POINTS = [shapely.Point(row) for row in X]
EXPECTED = gs.ksd_test(X, MODEL, rng=1).pvalue


def foreign(name, module, **attributes):
    """A class of this name that says it comes from another package."""
    return type(name, (), {"__module__": module, **attributes})


# --- geometries --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "points",
    [POINTS, tuple(POINTS), np.array(POINTS), pd.Series(POINTS), shapely.MultiPoint(POINTS)],
    ids=["list", "tuple", "array", "Series", "MultiPoint"],
)
def test_points_of_shapely_are_rows(points):
    assert gs.ksd_test(points, MODEL, rng=1).pvalue == EXPECTED


def test_heights_are_a_third_coordinate_where_all_have_one():
    high = [shapely.Point(1.0, 2.0, 3.0), shapely.Point(4.0, 5.0, 6.0)]
    assert contents(high).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert contents([*high, shapely.Point(0.0, 0.0)]).shape == (3, 2)


@pytest.mark.parametrize(
    "shapes, message",
    [
        (
            [POINTS[0], shapely.box(0, 0, 1, 1)],
            r"1 of 2 rows \(row 1\) are no points \(Polygon\).*\.centroid",
        ),
        (shapely.LineString(X), r"1 of 1 rows \(row 0\) are no points \(LineString\)"),
        ([POINTS[0], None], r"1 of 2 rows \(row 1\) are no points \(NoneType\)"),
        ([POINTS[0], shapely.Point()], r"1 of 2 rows \(row 1\) are empty points"),
    ],
    ids=["polygon", "line", "missing", "empty"],
)
def test_other_shapes_are_no_points(shapes, message):
    with pytest.raises(gs.InputError, match=message):
        gs.ksd_test(shapes, MODEL)


def geo_frame(points, system):
    series = foreign("GeoSeries", "geopandas.geoseries", crs=system, __iter__=lambda self: iter(points))
    return foreign("GeoDataFrame", "geopandas.geodataframe", geometry=series())()


def test_points_of_geopandas_are_rows():
    metres = pyproj.CRS.from_epsg(27700)
    for system in (None, metres):
        assert gs.ksd_test(geo_frame(POINTS, system), MODEL, rng=1).pvalue == EXPECTED
    with pytest.raises(gs.InputError, match="Polygon"):
        gs.ksd_test(geo_frame([shapely.box(0, 0, 1, 1)], None), MODEL)
    with pytest.raises(gs.InputError, match="no geometry column"):
        gs.ksd_test(foreign("GeoDataFrame", "geopandas.geodataframe")(), MODEL)


def test_degrees_are_told():
    with pytest.warns(UserWarning, match=r"degrees of longitude and latitude.*to_crs.*from_lonlat"):
        gs.ksd_test(geo_frame(POINTS, pyproj.CRS.from_epsg(4326)), MODEL, rng=1)


def test_points_of_shapely_are_a_pattern():
    window = gs.Box([-5, -5], [5, 5])
    process = gs.families.PoissonProcess(lambda x: np.full(len(x), 0.4), window)
    patterns = [X[:20], X[20:]]
    shapes = [shapely.MultiPoint(part) for part in patterns]
    expected = gs.point_pattern_ksd_test(patterns, process, rng=1)
    assert gs.point_pattern_ksd_test(shapes, process, rng=1).pvalue == expected.pvalue


# --- draws -------------------------------------------------------------------------------------------


class DataArray:
    """What is used of xarray's."""

    __module__ = "xarray.core.dataarray"

    def __init__(self, values, dims):
        self.values, self.dims = np.asarray(values), tuple(dims)

    def transpose(self, *dims):
        return DataArray(self.values.transpose([self.dims.index(dim) for dim in dims]), dims)


class Dataset(dict):
    """What is used of xarray's."""

    __module__ = "xarray.core.dataset"

    @property
    def data_vars(self):
        return list(self)


MU = np.random.default_rng(2).normal(size=(4, 50))
BETA = np.random.default_rng(3).normal(size=(4, 50, 2))
DRAWS = np.concatenate([MU[..., None], BETA], axis=-1)


def posterior(**more):
    return Dataset(
        mu=DataArray(MU, ["chain", "draw"]),
        beta=DataArray(BETA.transpose(2, 0, 1), ["beta_dim", "chain", "draw"]),
        **more,
    )


def inference_data(groups):
    names = {"groups": lambda self: list(groups), "__getitem__": lambda self, name: groups[name], **groups}
    return foreign("InferenceData", "arviz.data.inference_data", **names)()


def tree(groups, data_vars=()):
    names = {
        "groups": ("/", *(f"/{name}" for name in groups)),
        "data_vars": data_vars,
        "to_dataset": lambda self: data_vars,
        "__getitem__": lambda self, name: tree({}, groups[name]),
    }
    return foreign("DataTree", "xarray.core.datatree", **names)()


@pytest.mark.parametrize(
    "draws",
    [
        posterior(),
        inference_data({"posterior": posterior()}),
        tree({"prior": None, "posterior": posterior()}),
    ],
    ids=["Dataset", "InferenceData", "DataTree"],
)
def test_draws_are_chains_with_variables_side_by_side(draws):
    np.testing.assert_array_equal(contents(draws), DRAWS)
    result = gs.ksd_test(draws, gs.families.Normal(np.zeros(3)), rng=1)
    assert result.data == "4 chains of 50 draws"
    assert result.pvalue == gs.ksd_test(DRAWS, gs.families.Normal(np.zeros(3)), rng=1).pvalue


def test_other_arrays_of_xarray_are_rows_where_that_is_clear():
    assert contents(DataArray(X, ["obs", "coordinate"])).tolist() == X.tolist()
    assert contents(DataArray(X[:, 0], ["obs"])).shape == (40, 1)
    table = Dataset(a=DataArray(X[:, 0], ["obs"]), b=DataArray(X[:, 1], ["obs"]))
    assert gs.ksd_test(table, MODEL, rng=1).pvalue == EXPECTED


@pytest.mark.parametrize(
    "draws, message",
    [
        (DataArray(np.zeros((3, 4, 5)), ["time", "lat", "lon"]), "dimensions (time, lat, lon) does not say"),
        (
            posterior(m=DataArray(np.zeros(3), ["obs"])),
            "the variable 'm' of this Dataset has the dimensions (obs)",
        ),
        (Dataset(), "holds no variables"),
        (
            inference_data({"prior": posterior()}),
            "no group 'posterior' in this InferenceData, which holds prior",
        ),
        (tree({"prior": posterior()}), "no group 'posterior' in this DataTree"),
        ({"mu": X.T, "sigma": X[:, 1]}, "is a dict whose column 'mu' has shape"),
    ],
    ids=["field", "other", "empty", "prior", "tree", "dict"],
)
def test_draws_that_are_not_clear_are_refused(draws, message):
    with pytest.raises(gs.InputError, match=re.escape(message)):
        gs.ksd_test(draws, MODEL)


# --- arrays and columns ------------------------------------------------------------------------------


def records():
    table = np.zeros(len(X), dtype=[("a", float), ("b", float)])
    table["a"], table["b"] = X.T
    return table


@pytest.mark.parametrize("table", [{"a": X[:, 0], "b": list(X[:, 1])}, records()], ids=["dict", "records"])
def test_columns_with_names_need_no_data_frame(table):
    found = gs.ksd_test(table, MODEL, rng=1)
    assert found.pvalue == EXPECTED
    assert found.columns == ("a", "b")


class Tensor:
    """What is used of PyTorch's: one that requires a gradient, or lies elsewhere, is no array at once."""

    __module__ = "torch"

    def __init__(self, values, ready=False):
        self._values, self._ready = np.asarray(values), ready

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    def detach(self):
        return Tensor(self._values)

    def cpu(self):
        return Tensor(self._values, ready=True)

    def is_floating_point(self):
        return self._values.dtype.kind == "f"

    def double(self):
        return Tensor(self._values.astype(np.float64), self._ready)

    def numpy(self):
        assert self._ready
        return self._values


def test_tensors_are_arrays():
    assert gs.ksd_test(Tensor(X), MODEL, rng=1).pvalue == EXPECTED
    spins = gs.families.Ising(np.zeros((2, 2)))
    whole = np.where(X > 0, 1, -1)
    assert gs.ksd_test(Tensor(whole), spins, rng=1).pvalue == gs.ksd_test(whole, spins, rng=1).pvalue
    assert abs(gs.ksd_test(jnp.asarray(X, jnp.float32), MODEL, rng=1).pvalue - EXPECTED) < 0.01
    for chains in (jnp.asarray(X.reshape(2, 20, 2)), Tensor(X.reshape(2, 20, 2))):
        assert gs.ksd_test(chains, MODEL, rng=1).data == "2 chains of 20 draws"


DAYS = pd.date_range("2026-01-01", periods=40)


@pytest.mark.parametrize(
    "data, message",
    [
        (
            pd.DataFrame({"day": DAYS, "x": X[:, 0]}),
            r"not numbers: day \(Datetime\).*times since one of them",
        ),
        (pl.DataFrame({"day": DAYS.date.tolist()}), r"not numbers: day \(Date\).*times since one of them"),
        (pd.DataFrame({"for": DAYS - DAYS[0]}), r"for \(Duration\).*Divide durations by a unit"),
        (
            pd.DataFrame({"kind": pd.Categorical(["a", "b"] * 20)}),
            r"kind \(Categorical\).*states of a Lattice",
        ),
        (pd.DataFrame({"seen": X[:, 0] > 0}), r"seen \(Boolean\).*convert them to integers"),
        (DAYS.to_numpy(), r"dtype datetime64.*\(x - x\.min\(\)\) / np\.timedelta64\(1, 'D'\)"),
        ((DAYS - DAYS[0]).to_numpy(), r"dtype timedelta64.*x / np\.timedelta64"),
        (X > 0, r"dtype bool.*x\.astype\(int\)"),
        (X + 1j, "dtype complex128.*real and imaginary parts"),
        (X.astype(str), r"must hold real numbers.*\.astype\(float\)"),
    ],
    ids=["dates", "polars", "spans", "category", "bool", "M8", "m8", "b", "complex", "text"],
)
def test_what_is_no_number_is_refused_with_what_would_be_one(data, message):
    with pytest.raises(gs.InputError, match=message):
        gs.ksd_test(data, MODEL)


def test_nothing_is_warned_of_where_nothing_is_to_be_told():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in (X.tolist(), X, pd.DataFrame(X), POINTS):
            assert gs.ksd_test(data, MODEL, rng=1).pvalue == EXPECTED


# --- arrays of callers -------------------------------------------------------------------------------


def held(thing, depth=0):
    """All arrays within an object, however deep."""
    if isinstance(thing, np.ndarray):
        yield thing
    elif depth < 6 and (hasattr(thing, "__dict__") or isinstance(thing, dict | list | tuple)):
        own = thing if isinstance(thing, dict | list | tuple) else vars(thing)
        for part in own.values() if isinstance(own, dict) else own:
            yield from held(part, depth + 1)


COV, UNIT = np.eye(2) + 0.1, np.array([0.6, 0.8])
EDGES = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
FAMILIES = gs.families


@pytest.mark.parametrize(
    ("make", "arrays"),
    [
        (gs.Censored, [np.ones(5), np.ones(5, dtype=bool)]),
        (gs.Paired, [X, X[:, :1]]),
        (lambda a, b: gs.Patterns([a, b], 2), [X, X[:3]]),
        (lambda a, b: gs.Patterns([a, b]), [X, X[:3]]),
        (lambda a, b: gs.Chains([a, b]), [X, X[:3]]),
        (gs.Chains, [np.stack([X, X])]),
        (gs.Graph, [EDGES]),
        (gs.graphs.as_graph, [EDGES]),
        (gs.Box, [np.zeros(2), np.ones(2)]),
        (lambda c: gs.Ball(2, center=c), [np.zeros(2)]),
        (gs.Polytope, [np.vstack([-np.eye(2), np.ones(2)]), np.array([0.0, 0.0, 1.0])]),
        (gs.Polygon, [np.array([[0.0, 0], [4, 0], [4, 2]])]),
        (lambda levels: gs.Lattice(levels, 2), [np.arange(3.0)]),
        (FAMILIES.Normal, [np.zeros(2), COV]),
        (lambda m, c: FAMILIES.StudentT(4, m, c), [np.zeros(2), COV]),
        (FAMILIES.GaussianMixture, [np.full(2, 0.5), X[:2], np.stack([COV, COV])]),
        (FAMILIES.Dirichlet, [np.ones(3)]),
        (lambda mu: FAMILIES.VonMisesFisher(mu, 2.0), [UNIT]),
        (FAMILIES.Bingham, [np.diag([2.0, 1.0, -3.0])]),
        (FAMILIES.Ising, [1.1 - np.eye(2) * 1.1, np.zeros(2)]),
        (FAMILIES.BernoulliRBM, [X[:2], np.zeros(2), np.zeros(2)]),
        (FAMILIES.CategoricalTable, [np.array([0.3, 0.7])]),
        (FAMILIES.PiecewiseExponential, [np.array([1.0, 3.0]), np.ones(3)]),
        (lambda x: gs.ksd_test(x, MODEL, rng=1), [X]),
    ],
)
def test_arrays_of_callers_stay_their_own(make, arrays):
    """Neither read-only afterwards, nor shared: who writes on changes nothing that was made of them."""
    given = [array.copy() for array in arrays]
    made = make(*given)
    for before, after in zip(arrays, given, strict=True):
        assert after.flags.writeable
        assert np.array_equal(before, after)
        assert not any(np.shares_memory(array, after) for array in held(made))


@pytest.mark.parametrize("family", [gs.families.Normal, gs.families.LogisticNormal, gs.families.Dirichlet])
def test_families_are_fitted_to_columns_with_names(family):
    x = gs.families.Dirichlet([2.0, 3.0, 4.0]).sample(200, rng=1)[
        :, : 2 if family is gs.families.Normal else 3
    ]
    names = ["a", "b", "c"][: x.shape[1]]
    expected = repr(family.fit(x))
    for named in (dict(zip(names, x.T, strict=True)), np.rec.fromarrays(x.T, names=names)):
        fitted = family.fit(named)
        assert repr(fitted) == expected
        result = gs.ksd_test(named, fitted, rng=1)
        assert result.columns == tuple(names) and isinstance(result.null, gs.FittedWildBootstrap)
