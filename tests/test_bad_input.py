"""Bad input: a clear error before any heavy work, and nothing altered.

Every refusal is provoked through the public functions, with the Stein matrix out of reach: a
message that came only after n² work would fail here. Messages are checked for what is wrong,
where, and what to do about it.
"""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from pathlib import Path

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats
import shapely
from hypothesis import HealthCheck, assume, given, settings

import goodstein as gs
from goodstein.stein.features import SteinForm

FAMILY = gs.families
LINE, PLANE = FAMILY.Normal(), FAMILY.Normal([0.0, 0.0])
FLAT = FAMILY.Dirichlet([1.0, 1.0, 1.0])
RNG = np.random.default_rng(20_220_328)
POINTS = RNG.normal(size=(20, 2))
INSIDE = RNG.uniform(0.1, 0.9, size=(20, 2))
COMPOSITIONS = RNG.dirichlet([2.0, 2.0, 2.0], size=20)

CALLS = {
    "ksd_test": gs.ksd_test,
    "stein_matrix": gs.stein_matrix,
    "audit": lambda data, model, **options: gs.audit(model, data=data, **options),
}


@pytest.fixture(params=CALLS)
def call(request):
    """Each public function that takes data, as a function of data and model."""
    return CALLS[request.param]


@contextmanager
def no_stein_matrix():
    """The Stein matrix out of reach: whoever touches it has begun the heavy work."""

    def reached(*_, **__):
        raise AssertionError("the Stein matrix was reached before the input was refused")

    with pytest.MonkeyPatch.context() as patch:
        for name in ("block", "matrix"):
            patch.setattr(SteinForm, name, reached)
        for module in ("problems.problem", "nulls.wild", "engine.reduce"):
            patch.setattr(f"goodstein.{module}.quadratic_forms", reached)
        yield


def refused(function, *args, match: str, error: type[Exception] = gs.InputError, **options) -> str:
    """The message with which the input is refused, before any heavy work."""
    with no_stein_matrix(), pytest.raises(error, match=match) as caught:
        function(*args, **options)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


def rows_named(message: str) -> tuple[int, int, int]:
    """How many rows the message counts, of how many, and the first of them."""
    found = re.search(r"(\d+) of (\d+) rows \((?:the first is )?row (\d+)\)", message)
    assert found, message
    count, total, first = map(int, found.groups())
    return count, total, first


def expected_rows(bad: np.ndarray) -> tuple[int, int, int]:
    return int(bad.sum()), len(bad), int(np.flatnonzero(bad)[0])


masks = st.integers(2, 40).flatmap(lambda n: hnp.arrays(bool, n)).filter(np.any)
"""Which rows are bad: at least one."""


# --- shape and type -------------------------------------------------------------------------


@given(n=st.integers(2, 50), d=st.integers(2, 5))
def test_one_dimensional_data_for_several_dimensions_names_both_shapes(n, d):
    message = refused(
        gs.ksd_test, np.arange(float(n)), FAMILY.Normal(np.zeros(d)), match="one row per observ"
    )
    assert f"({n},)" in message
    assert f"(n, {d})" in message


@given(given_columns=st.integers(1, 6), d=st.integers(1, 6), n=st.integers(2, 9))
def test_a_wrong_number_of_columns_names_both_numbers(given_columns, d, n):
    assume(given_columns != d)
    x = np.arange(float(n * given_columns)).reshape(n, given_columns)
    message = refused(gs.ksd_test, x, FAMILY.Normal(np.zeros(d)), match="column")
    assert re.search(rf"\b{given_columns}\b", message)
    assert re.search(rf"\b{d}\b", message)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (POINTS[:, 0], r"shape \(20,\), expected \(n, 2\)"),
        (POINTS[None, None], r"shape \(1, 1, 20, 2\), expected \(n, 2\)"),
        (3.0, r"shape \(\), expected \(n, 2\)"),
        (POINTS[:, :1], "1 column"),
        (np.hstack([POINTS, POINTS]), "4 columns"),
        (np.empty((0, 2)), "0 rows.*at least 2"),
        (POINTS[:1], "1 row.*at least 2"),
        ([], "2"),
        (np.empty((5, 0)), "column"),
        ([[1.0, 2.0], [3.0]], "rectangular|same length|different lengths"),
        (POINTS.astype(object), "object.*(Convert|astype)"),
        (POINTS.astype(str), "real numbers.*(Convert|astype)"),
        (POINTS > 0, "bool"),
        (POINTS + 0j, "complex"),
        (np.array([["2020-01-01", "2021-01-01"]] * 3, "datetime64[D]"), "datetime64"),
        ("data.csv", r"is 'data\.csv', a name .* Read the file first"),
        (Path("data.parquet"), r"a name .* polars\.read_parquet"),
        ({"a": [1.0, 2.0], "b": [3.0]}, "columns of different lengths: 'a' 2, 'b' 1"),
        ({"a": [1.0, 2.0], "b": ["x", "y"]}, "column 'b' has dtype"),
        ({"a": np.zeros((2, 2)), "b": [1.0, 2.0]}, r"column 'a' has shape \(2, 2\)"),
        ({}, "has no columns"),
        (iter(POINTS), "real numbers"),
        (np.ma.masked, "masked"),
    ],
    ids=lambda value: value.replace(" ", "_") if isinstance(value, str) else None,
)
def test_data_of_the_wrong_shape_or_type_are_refused_by_every_function(call, data, match):
    refused(call, data, PLANE, match=match)


@given(dtype=st.sampled_from(["O", "U8", "S8", "?", "c16", "c8", "M8[s]", "m8[s]"]), n=st.integers(2, 9))
def test_what_is_not_a_real_number_is_refused_with_its_dtype(dtype, n):
    x = np.zeros((n, 2), dtype=dtype)
    message = refused(gs.ksd_test, x, PLANE, match="must hold real numbers")
    assert str(x.dtype) in message


@given(lengths=st.lists(st.integers(1, 4), min_size=2, max_size=6).filter(lambda c: len(set(c)) > 1))
def test_ragged_rows_are_refused(lengths):
    refused(gs.ksd_test, [[1.0] * k for k in lengths], PLANE, match="`data`")


def test_no_data_at_all_are_refused():
    for function in (gs.ksd_test, gs.stein_matrix):
        refused(function, None, PLANE, match="`data`.*None|real numbers")


@pytest.mark.parametrize("dtype", ["i1", "u2", "i8", "f2", "f4", "g"])
def test_every_real_dtype_is_taken_at_its_value(dtype):
    x = np.array([[0, 1], [2, 3], [1, 5]], dtype=dtype)
    expected = gs.stein_matrix(x.astype(float), PLANE)
    np.testing.assert_array_equal(gs.stein_matrix(x, PLANE), expected)


def test_one_dimension_may_be_flat_or_a_column():
    x = POINTS[:, 0]
    np.testing.assert_array_equal(gs.stein_matrix(x, LINE), gs.stein_matrix(x[:, None], LINE))


@pytest.mark.parametrize("unit", [1e100, 1e-100])
@pytest.mark.parametrize("test", [gs.ksd_test, gs.aggregated_test])
def test_sizes_that_no_bandwidth_can_have_are_about_the_data_and_not_about_the_kernel(test, unit):
    said = r"`data`: distances of \S+ between points are beyond the range.*Rescale the data and the model"
    refused(test, unit * POINTS[:, 0], LINE, match=said, rng=1)


def test_arrays_that_lie_the_wrong_way_are_told_how_they_lie():
    rng = np.random.default_rng(1)
    refused(gs.ksd_test, rng.normal(size=(2, 50)), PLANE, match=r"Rows are observations: pass data\.T")
    chains = list(rng.normal(size=(4, 50)))
    refused(gs.ksd_test, chains, LINE, match=r"chain of one parameter, pass Chains\(list\(data\)\); else")
    assert gs.ksd_test(gs.Chains(chains), LINE, rng=1).n == 200
    refused(gs.ksd_test, rng.normal(size=(50, 3)), PLANE, match="Pass the columns that the model describes")


def test_all_points_equal_leave_no_bandwidth_and_the_way_out_works():
    x = np.ones((10, 2))
    refused(gs.ksd_test, x, PLANE, match=r"all 10 points are equal.*IMQ\(bandwidth=1\.0\)")
    refused(gs.stein_matrix, x, PLANE, match=r"all 10 points are equal")
    assert 0 < gs.ksd_test(x, PLANE, kernel=gs.IMQ(bandwidth=1.0), rng=1).pvalue <= 1


@given(
    n=st.integers(2, 30),
    value=st.floats(-1e6, 1e6),
    null=st.sampled_from([gs.WildBootstrap(9), gs.Spectral(9)]),
)
def test_equal_points_are_refused_at_any_place_and_number(n, value, null):
    x = np.full((n, 2), value)
    refused(gs.ksd_test, x, PLANE, null=null, match=f"all {n} points are equal")


# --- NaN, infinity, masks -------------------------------------------------------------------


@given(bad=masks, d=st.integers(1, 4), seed=st.integers(0, 99))
def test_nan_is_counted_and_the_first_row_named(bad, d, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(len(bad), d))
    x[bad, rng.integers(d, size=bad.sum())] = np.nan
    message = refused(gs.ksd_test, x, FAMILY.Normal(np.zeros(d)), match="hold NaN.*Remove or complete")
    assert rows_named(message) == expected_rows(bad)


@given(bad=masks, value=st.sampled_from([np.inf, -np.inf]), d=st.integers(1, 4), seed=st.integers(0, 99))
def test_infinity_is_counted_and_the_first_row_named(bad, value, d, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(len(bad), d))
    x[bad, rng.integers(d, size=bad.sum())] = value
    message = refused(gs.ksd_test, x, FAMILY.Normal(np.zeros(d)), match="infinite.*Remove or correct")
    assert rows_named(message) == expected_rows(bad)


def test_nan_and_infinity_are_refused_by_every_function(call):
    x = POINTS.copy()
    x[7, 1] = np.nan
    assert rows_named(refused(call, x, PLANE, match="NaN")) == (1, 20, 7)
    x[7, 1] = np.inf
    assert rows_named(refused(call, x, PLANE, match="infinite")) == (1, 20, 7)


@given(bad=masks, d=st.integers(1, 3))
def test_masked_values_are_counted_and_the_first_row_named(bad, d):
    x = np.ma.masked_array(
        np.arange(float(len(bad) * d)).reshape(-1, d), mask=np.repeat(bad[:, None], d, axis=1)
    )
    message = refused(gs.ksd_test, x, FAMILY.Normal(np.zeros(d)), match="masked.*Remove or complete")
    assert rows_named(message) == expected_rows(bad)


def test_a_masked_array_without_masked_values_is_an_array():
    x = np.ma.masked_array(POINTS, mask=np.zeros_like(POINTS, dtype=bool))
    np.testing.assert_array_equal(gs.stein_matrix(x, PLANE), gs.stein_matrix(POINTS, PLANE))


# --- data frames ----------------------------------------------------------------------------

FRAMES = {
    "pandas": lambda x: pd.DataFrame(x, columns=["a", "b"]),
    "pandas, columns without names": pd.DataFrame,
    "pandas, rows taken out": lambda x: pd.DataFrame(np.vstack([x, x]), columns=["a", "b"]).iloc[len(x) :],
    "pandas, nullable": lambda x: pd.DataFrame(x, columns=["a", "b"]).astype("Float64"),
    "pandas, a name twice": lambda x: pd.DataFrame(x, columns=["a", "a"]),
    "polars": lambda x: pl.DataFrame(x, schema=["a", "b"]),
}
SERIES = {
    "pandas": lambda x: pd.Series(x, name="a"),
    "pandas, without name": pd.Series,
    "pandas, selected from a frame": lambda x: pd.DataFrame({0: x})[0],
    "polars": lambda x: pl.Series("a", x),
    "polars, without name": pl.Series,
}


@pytest.mark.parametrize("series", [pd.Series, pl.Series], ids=["pandas", "polars"])
def test_a_series_of_parameters_is_a_vector(series):
    """Such as the coefficients of a fit."""
    assert gs.CoxModel(series([0.3, -0.2])).coefficients.tolist() == [0.3, -0.2]
    assert gs.families.Dirichlet(series([1.0, 2.0])) == gs.families.Dirichlet([1.0, 2.0])


@pytest.mark.parametrize("kind", FRAMES)
def test_a_data_frame_counts_as_its_numbers(kind):
    expected = gs.stein_matrix(POINTS, PLANE)
    np.testing.assert_array_equal(gs.stein_matrix(FRAMES[kind](POINTS), PLANE), expected)


@pytest.mark.parametrize("kind", SERIES)
def test_a_series_counts_as_one_column(kind):
    expected = gs.stein_matrix(POINTS[:, 0], LINE)
    np.testing.assert_array_equal(gs.stein_matrix(SERIES[kind](POINTS[:, 0]), LINE), expected)


@pytest.mark.parametrize("kind", SERIES)
def test_a_series_for_two_dimensions_is_refused(kind):
    refused(gs.ksd_test, SERIES[kind](POINTS[:, 0]), PLANE, match="`data` has")


@given(bad=masks, library=st.sampled_from(["pandas", "pandas nullable", "polars"]))
def test_missing_cells_are_counted_with_the_first_row_and_a_column(bad, library):
    values = [None if missing else float(i) for i, missing in enumerate(bad)]
    other = np.arange(float(len(bad)))
    if library == "polars":
        frame = pl.DataFrame({"good": other, "holes": pl.Series(values, dtype=pl.Float64)})
    else:
        dtype = "float64" if library == "pandas" else "Float64"
        frame = pd.DataFrame({"good": other, "holes": pd.array(values, dtype=dtype)})
    message = refused(gs.ksd_test, frame, PLANE, match="missing values.*Remove or complete|NaN")
    assert rows_named(message) == expected_rows(bad)
    assert "holes" in message


def test_nan_of_polars_which_is_not_missing_there_is_refused_all_the_same():
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, float("nan"), 3.0]})
    assert rows_named(refused(gs.ksd_test, frame, PLANE, match="NaN")) == (1, 3, 1)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["u", "v", "w"]),
        pd.Series([True, False, True]),
        pd.Categorical(["u", "v", "u"]),
        pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]),
    ],
    ids=["strings", "booleans", "categories", "dates"],
)
def test_columns_that_are_not_numbers_are_named(column):
    frame = pd.DataFrame({"silica": [1.0, 2.0, 3.0], "rock type": column})
    message = refused(gs.ksd_test, frame, PLANE, match="rock type.*[Ss]elect the numeric columns")
    assert "silica" not in message


@pytest.mark.parametrize("column", [["u", "v", "w"], [True, False, True]], ids=["strings", "booleans"])
def test_columns_of_polars_that_are_not_numbers_are_named(column):
    frame = pl.DataFrame({"silica": [1.0, 2.0, 3.0], "rock type": column})
    refused(gs.ksd_test, frame, PLANE, match="rock type.*[Ss]elect the numeric columns")


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (pl.DataFrame(POINTS).lazy(), "collect"),
        (pl.col("a"), "`data`"),
        (pd.Index(POINTS[:, 0]), "`data`"),
        (pd.DataFrame(), "column"),
        (pd.DataFrame({"a": [], "b": []}, dtype=float), "0 rows"),
    ],
    ids=["lazy frame", "expression", "index", "no columns", "no rows"],
)
def test_what_is_nearly_a_data_frame_is_refused_in_our_own_words(data, match):
    refused(gs.ksd_test, data, PLANE, match=match)


# --- domains --------------------------------------------------------------------------------

DOMAINS = {
    "box": gs.Box([0.0, 0.0], [1.0, 2.0]),
    "strip": gs.Box([0.0, -np.inf], [1.0, np.inf]),
    "orthant": gs.Orthant(2),
    "ball": gs.Ball(2, radius=2.0, center=[1.0, 1.0]),
    "polygon": gs.Polygon([(0, 0), (1, 0), (1, 1), (0, 1)], holes=[[(0.1, 0.1), (0.2, 0.1), (0.2, 0.2)]]),
    "polytope": gs.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 2]),
}


@given(bad=masks, name=st.sampled_from(sorted(DOMAINS)), seed=st.integers(0, 99))
def test_points_outside_are_counted_and_the_first_row_named(bad, name, seed):
    domain = DOMAINS[name]
    x = np.random.default_rng(seed).uniform(0.3, 0.9, size=(len(bad), 2))
    x[bad, 0] = -7.0
    message = refused(
        gs.ksd_test,
        x,
        lambda z: -z,
        domain=domain,
        error=gs.DomainError,
        match="outside.*Remove them or pass the right `domain`",
    )
    assert repr(domain) in message
    assert rows_named(message) == expected_rows(bad)


def test_points_outside_are_refused_by_every_function(call):
    message = refused(call, POINTS, FAMILY.Uniform(gs.Box(0, [1, 1])), error=gs.DomainError, match="outside")
    assert rows_named(message) == expected_rows(~((POINTS >= 0) & (POINTS <= 1)).all(axis=1))


def test_points_outside_the_models_own_domain_are_refused_though_the_given_one_holds_them():
    model = FAMILY.Uniform(gs.Box(0, [1, 1]))
    x = INSIDE.copy()
    x[3] = [1.5, 0.5]
    message = refused(
        gs.ksd_test, x, model, domain=gs.Ball(2, radius=5), error=gs.DomainError, match="outside"
    )
    assert rows_named(message) == (1, 20, 3)


@pytest.mark.parametrize(
    ("x", "model", "domain"),
    [
        (INSIDE, FAMILY.Uniform(gs.Box(0, [1, 1])), gs.Euclidean(2)),
        (COMPOSITIONS, FAMILY.Dirichlet([2.0, 2.0, 2.0]), gs.Box(0, [1, 1, 1])),
        (np.linspace(0.1, 0.9, 20), scipy.stats.beta(2, 2), gs.Orthant(1)),
        (np.linspace(0.1, 9.0, 20), scipy.stats.expon(), gs.Euclidean(1)),
    ],
    ids=["box in the plane", "simplex in a box", "interval in the half-line", "half-line in the line"],
)
def test_a_domain_that_reaches_beyond_the_models_own_is_refused(x, model, domain):
    """There the density drops to zero at an edge that the operator does not know of."""
    refused(gs.ksd_test, x, model, domain=domain, match="beyond|within")


@given(factor=st.floats(1e-3, 1e3).filter(lambda f: abs(f - 1) > 1e-5), bad=masks, parts=st.integers(2, 5))
def test_rows_that_do_not_sum_to_one_are_counted_and_never_rescaled(factor, bad, parts):
    x = np.random.default_rng(0).dirichlet(np.full(parts, 2.0), size=len(bad))
    x[bad] *= factor
    message = refused(
        gs.ksd_test,
        x,
        FAMILY.Dirichlet(np.ones(parts)),
        error=gs.DomainError,
        match="do not sum to 1.*re-close",
    )
    assert rows_named(message) == expected_rows(bad)


def test_percentages_are_recognised_and_the_advice_works():
    message = refused(gs.ksd_test, 100 * COMPOSITIONS, FLAT, error=gs.DomainError, match="percentages")
    code = message.partition("re-close them: ")[2].rstrip(".")
    as_percentages = [np.float32, pd.DataFrame, pl.DataFrame, jnp.asarray, np.ndarray.tolist]
    for container in as_percentages:
        known = {"np": np, "x": container(100 * COMPOSITIONS)}
        exec(code, known)
        assert 0 < gs.ksd_test(known["x"], FLAT, rng=1).pvalue <= 1


@pytest.mark.parametrize("excess", [4e-8, -9e-7, 0.0])
def test_sums_within_rounding_of_one_pass_and_are_noted(excess):
    result = gs.ksd_test(COMPOSITIONS * (1 + excess), FLAT, rng=1)
    noted = [note for note in result.notes if "Rows of the data are off Simplex(3) by up to" in note]
    assert len(noted) == (excess != 0)
    assert not noted or f"{abs(excess):.2g}" in noted[0]


def test_the_tolerance_is_named_where_it_ends():
    with pytest.raises(
        gs.DomainError, match=r"sums to 1\.000002; Simplex\(3\) needs rows that do, within 1e-06"
    ):
        gs.ksd_test(COMPOSITIONS * (1 + 2e-6), FLAT)
    x = gs.from_lonlat([10.0, 20.0, 130.0], [3.0, 40.0, 50.0])
    with pytest.raises(
        gs.DomainError, match=r"not unit vectors within 1e-06: the norm of row 0 is 1\.000002"
    ):
        gs.ksd_test(x * (1 + 2e-6), FAMILY.VonMisesFisher([0, 0, 1], 1.0))


@pytest.mark.parametrize(
    "model, operators",
    [
        (FAMILY.Dirichlet([2.0, 3.0, 40.0]), [gs.LogRatio(), gs.Mirrored(), gs.Standardised()]),
        (FAMILY.LogisticNormal(np.zeros(2), np.eye(2)), [gs.LogRatio(), gs.Standardised()]),
        (FAMILY.VonMisesFisher([0.0, 0.6, 0.8], 50.0), [gs.SecondOrder(), gs.Coordinate()]),
        (FAMILY.Kent(np.eye(3), 20.0, 5.0), [gs.SecondOrder(), gs.Coordinate()]),
    ],
    ids=["Dirichlet", "LogisticNormal", "VonMisesFisher", "Kent"],
)
def test_single_precision_hardly_changes_a_statistic(model, operators):
    """Compositions and unit vectors in single precision are off by rounding, and are taken as they are."""
    x = model.sample(80, rng=1)
    for operator in operators:
        exact, rounded = (
            gs.stein_matrix(data, model, operator=operator) for data in (x, x.astype(np.float32))
        )
        assert np.abs(rounded - exact).max() < 1e-4 * np.abs(exact).max()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = gs.ksd_test(jnp.asarray(x, jnp.float32), model, rng=1)
    assert any("as after rounding" in note for note in result.notes)
    assert abs(result.pvalue - gs.ksd_test(x, model, rng=1).pvalue) <= 0.002


@pytest.mark.parametrize(
    ("row", "match"),
    [
        ([0.6, 0.5, -0.1], "negative parts.*-0.1"),
        ([1e-12 + 0.5, 0.5, -1e-12], "negative parts"),
        ([0.0, 0.0, 0.0], "only zeros"),
    ],
)
def test_rows_that_are_no_compositions_are_refused_and_not_clipped(row, match):
    x = COMPOSITIONS.copy()
    x[11] = row
    assert rows_named(refused(gs.ksd_test, x, FLAT, error=gs.DomainError, match=match)) == (1, 20, 11)


@pytest.mark.parametrize(
    ("domain", "point"), [(gs.Box(0, [1, 1]), [1 + 1e-9, 0.5]), (gs.Ball(2), [1 + 1e-9, 0.0])], ids=repr
)
def test_a_point_barely_outside_is_refused_and_not_clipped(domain, point):
    x = np.vstack([0.5 * INSIDE, point])
    message = refused(gs.ksd_test, x, FAMILY.Uniform(domain), error=gs.DomainError, match="outside")
    assert rows_named(message) == (1, 21, 20)


@given(bad=masks)
def test_zeros_in_compositions_name_the_operators_that_take_them_and_these_do(bad):
    x = np.random.default_rng(0).dirichlet([2.0, 2.0, 2.0], size=len(bad))
    x[bad] = [0.0, 0.25, 0.75]
    message = refused(gs.ksd_test, x, FLAT, match=r"Mirrored\(\).*ProductOfParts\(\)")
    assert rows_named(message) == expected_rows(bad)
    for operator in (gs.Mirrored(), gs.Standardised(gs.ProductOfParts())):
        matrix = gs.stein_matrix(x, FLAT, operator=operator, kernel=gs.IMQ(1.0))
        assert np.isfinite(matrix).all()


def test_zeros_are_refused_where_the_auxiliary_function_has_no_derivative():
    x = np.vstack([COMPOSITIONS, [0.0, 0.5, 0.5]])
    model = FAMILY.Dirichlet([3.0, 3.0, 3.0])
    message = refused(
        gs.ksd_test,
        x,
        model,
        operator=gs.Standardised(gs.GeometricMean()),
        match=r"zeros.*ProductOfParts\(\)",
    )
    assert rows_named(message) == (1, 21, 20)


def test_zeros_under_the_boundary_distance_are_refused_with_advice_that_works():
    x = np.vstack([COMPOSITIONS, [0.0, 0.5, 0.5]])
    model = FAMILY.Dirichlet([0.5, 0.5, 0.5])
    message = refused(
        gs.ksd_test,
        x,
        model,
        operator=gs.Standardised(gs.BoundaryDistance()),
        error=gs.ScoreError,
        match="not finite.*boundary",
    )
    assert rows_named(message) == (1, 21, 20)


def test_domain_and_model_of_different_dimension_are_refused_by_every_function(call):
    message = refused(call, POINTS, PLANE, domain=gs.Ball(3), match="dimension")
    assert "Ball(3)" in message
    assert "Euclidean(2)" in message or "2 dimensions" in message


@pytest.mark.parametrize("domain", ["box", gs.Box, (0, 1), 3], ids=repr)
def test_what_is_no_domain_is_refused_by_every_function(call, domain):
    refused(call, INSIDE, PLANE, domain=domain, match="`domain` must be a domain such as")
    refused(gs.audit, PLANE, domain=domain, match="[Dd]omain")


@pytest.mark.parametrize(
    ("shape", "match"),
    [
        ([(0, 0), (1, 1), (1, 0), (0, 1)], r"Self-intersection.*0\.5 0\.5.*make_valid"),
        (shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)]), "Self-intersection"),
        (shapely.MultiPolygon([shapely.box(0, 0, 1, 1), shapely.box(2, 2, 3, 3)]), "2 parts.*not connected"),
        (shapely.box(0, 0, 1, 1) | shapely.box(1, 1, 2, 2), "2 parts.*not connected"),
        (shapely.MultiPolygon([shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1)]), "not valid|not connected"),
        ([(0, 0), (1, 1)], "at least 3 different vertices"),
        ([(0, 0), (1, 1), (2, 2)], "no area|not valid"),
        ([(0, 0), (np.nan, 1), (2, 2)], "`shape` must be finite numbers"),
        (shapely.LineString([(0, 0), (1, 1)]), "LineString"),
        ("counties.shp", "vertices.*shapely.*geopandas"),
        (
            {"type": "Polygon", "coordinates": [[(0, 50), (1, 50), (1, 51), (0, 50)]]},
            "longitudes.*[Pp]roject",
        ),
    ],
)
def test_a_polygon_that_is_none_is_refused(shape, match):
    refused(gs.Polygon, shape, error=gs.DomainError, match=match)


@given(st.integers(3, 8), st.integers(0, 20))
def test_a_star_that_crosses_itself_is_refused_and_its_convex_hull_is_not(k, seed):
    """{2k+1 / 2} star polygons visit every other corner, and cross."""
    m = 2 * k - 1
    angle = 2 * np.pi * np.arange(m) / m + seed
    corners = np.column_stack([np.cos(angle), np.sin(angle)])
    refused(
        gs.Polygon, corners[(2 * np.arange(m)) % m], error=gs.DomainError, match="not valid.*[Ss]elf-inters"
    )
    assert gs.Polygon(corners).dim == 2


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: gs.Box(1, 0), "lower.*below.*upper"),
        (lambda: gs.Box([0, 0], [1, 1, 1]), "2 coordinates.*3"),
        (lambda: gs.Ball(2, radius=0), "radius.*positive"),
        (lambda: gs.Ball(2, center=[0]), "center.*2 coordinates"),
        (lambda: gs.Simplex(1), "at least 2"),
        (lambda: gs.Euclidean(2.5), "`d` must be an integer of at least 1"),
        (lambda: gs.Polytope([[1.0], [-1.0]], [0, -1]), "empty"),
        (lambda: gs.Polytope([[1.0, 0.0], [-1.0, 0.0]], [0, 0]), "no interior"),
    ],
)
def test_a_domain_that_is_no_region_is_refused(make, match):
    refused(make, error=gs.DomainError, match=match)


# --- models and families --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "named"),
    [(None, "None"), ("normal", "'normal'"), (3, "3"), (POINTS, "ndarray"), ([1, 2], "list")],
    ids=["None", "string", "number", "array", "list"],
)
def test_an_unknown_model_says_what_was_got_and_what_is_accepted(call, model, named):
    message = refused(call, POINTS, model, match="(?s)cannot use.*[Aa]ccepted")
    assert named in message
    for accepted in ("score", "logpdf", "scipy.stats", "scikit-learn", "families"):
        assert accepted in message


def test_data_and_model_in_the_wrong_order_are_refused():
    refused(gs.ksd_test, PLANE, POINTS, match="cannot use ndarray")


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (FAMILY.Normal, r"class Normal.*Normal\(\.\.\.\)"),
        (scipy.stats.norm, r"scipy\.stats\.norm.*no parameters.*\(loc, scale\)"),
        (scipy.stats.skellam(3, 2), "skellam has states from -inf on, no counts"),
    ],
    ids=["class", "distribution without parameters", "discrete distribution"],
)
def test_models_that_are_nearly_models_say_what_is_missing(call, model, match):
    refused(call, POINTS[:, 0], model, match=match)


@given(
    alpha=hnp.arrays(float, st.integers(2, 6), elements=st.floats(0.1, 9.0)),
    index=st.integers(0, 5),
    value=st.floats(-5.0, 0.0),
)
def test_a_concentration_that_is_not_positive_is_named_with_its_index(alpha, index, value):
    index %= len(alpha)
    alpha[index] = value
    message = refused(FAMILY.Dirichlet, alpha, match="`alpha` must be positive numbers")
    assert f"index {index}" in message


@given(d=st.integers(2, 5), smallest=st.floats(-2.0, -1e-3) | st.just(0.0), seed=st.integers(0, 99))
def test_singular_and_indefinite_covariances_are_refused_with_their_eigenvalues(d, smallest, seed):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    values = np.append(rng.uniform(1.0, 2.0, d - 1), smallest)
    cov = (basis * values) @ basis.T
    cov = (cov + cov.T) / 2
    kind = "not positive definite" if smallest < 0 else "singular"
    for family in (FAMILY.Normal, FAMILY.LogisticNormal, lambda m, c: FAMILY.StudentT(3.0, m, c)):
        refused(family, np.zeros(d), cov, match=f"{kind}.*smallest eigenvalue")


@pytest.mark.parametrize(
    ("cov", "match"),
    [
        ([[1, 0.2], [0.1, 1]], r"not symmetric.*\[0, 1\]"),
        ([1, 1], r"shape \(2,\).*np\.diag"),
        ([[1, np.nan], [np.nan, 1]], "`cov` must be finite numbers"),
        (np.eye(3), r"2 coordinates.*\(3, 3\)"),
        (-1.0, "not positive definite"),
    ],
)
def test_a_covariance_that_is_none_is_refused(cov, match):
    refused(FAMILY.Normal, [0.0, 0.0], cov, match=match)


@given(bad=masks, value=st.sampled_from([np.nan, np.inf, -np.inf]), d=st.integers(1, 3))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_a_score_that_is_not_finite_names_the_rows_of_the_data(bad, value, d):
    x = np.random.default_rng(0).normal(size=(len(bad), d))
    where = x[bad]

    def score(z):
        hit = (z[:, None, :] == where[None]).all(axis=2).any(axis=1)
        return np.where(hit[:, None], value, -z)

    message = refused(gs.ksd_test, x, score, error=gs.ScoreError, match="score.*not finite")
    assert rows_named(message) == expected_rows(bad)


@pytest.mark.parametrize(
    ("score", "match"),
    [
        (lambda x: -x[:, :1], r"\(n, 2\).*returned shape \(3, 1\)"),
        (lambda x: np.zeros((len(x), 3)), r"\(n, 2\).*returned shape \(3, 3\)"),
        (lambda x: -(x**2).sum(axis=1), "log density: pass Model\\(logpdf="),
        (lambda x: 1.0, r"\(n, 2\)"),
        (lambda x: None, r"\(n, 2\)"),
        (lambda x: -x + 0j, "complex"),
        (lambda x: 1 / 0, "ZeroDivisionError"),
        (lambda: 0.0, "positional argument"),
        (lambda x: -x if len(x) < 10 else -x[:-1], r"returned shape \(19, 2\).*expected \(20, 2\)"),
        (lambda x: np.random.default_rng().normal(size=x.shape), "random, or depends on the other rows"),
    ],
    ids=[
        "one column",
        "three columns",
        "log density",
        "a number",
        "None",
        "complex",
        "raises",
        "no argument",
        "a row short",
        "random",
    ],
)
def test_a_score_of_the_wrong_shape_or_kind_says_what_is_expected(call, score, match):
    refused(call, POINTS, score, error=gs.ScoreError, match=f"(?s){match}")


def test_a_model_of_nothing_is_refused():
    refused(gs.Model, match="needs a `score` or a `logpdf`")
    refused(gs.Model, score="x", match="`score` of Model must be a function")


def test_a_statistic_that_overflows_is_an_error_and_not_a_small_pvalue():
    """A NaN exceeds no draw, so it would pass for the most extreme statistic of all."""
    for null in (gs.WildBootstrap(19), gs.Spectral(19)):
        with pytest.raises(ValueError, match=r"finite|overflow|magnitude"), np.errstate(all="ignore"):
            gs.ksd_test(POINTS, lambda x: -1e200 * x, null=null)


@pytest.mark.parametrize("scale", [1e160, 1e-170])
def test_data_beyond_the_range_of_squares_are_not_blamed_on_the_bandwidth(scale):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"[Rr]escale|units|range|overflow"):
        gs.ksd_test(scale * POINTS, lambda x: -x / scale)


# --- operators, kernels, nulls and the rest --------------------------------------------------


@pytest.mark.parametrize(
    "operator", [gs.Langevin, gs.Standardised, "langevin", gs.BoxProduct(), 1.0], ids=repr
)
def test_what_is_no_operator_is_refused_by_every_function(call, operator):
    refused(call, POINTS, PLANE, operator=operator, match=r"`operator` must be an operator such as ")


@pytest.mark.parametrize("operator", [gs.Langevin, "langevin"], ids=repr)
def test_what_is_no_operator_is_refused_by_an_audit_without_data(operator):
    refused(gs.audit, PLANE, operator=operator, match=r"`operator` must be an operator such as ")


@pytest.mark.parametrize(
    "auxiliary", [gs.BoxProduct, lambda x: x, "distance", 1.0], ids=["class", "function", "string", "number"]
)
def test_what_is_no_auxiliary_function_is_refused(auxiliary):
    refused(gs.Standardised, auxiliary, match=r"`auxiliary` must be an auxiliary function")


@pytest.mark.parametrize(
    ("operator", "x", "model"),
    [
        (gs.LogRatio(), POINTS, PLANE),
        (gs.LogRatio(), INSIDE, FAMILY.Uniform(gs.Box(0, [1, 1]))),
        (gs.LogRatio(), 0.5 * INSIDE, FAMILY.Uniform(gs.Ball(2))),
        (gs.Mirrored(), POINTS, PLANE),
        (gs.Mirrored(), 0.5 * INSIDE, FAMILY.Uniform(gs.Ball(2))),
        (gs.Standardised(gs.BallPower()), INSIDE, FAMILY.Uniform(gs.Box(0, [1, 1]))),
        (gs.Standardised(gs.BoxProduct()), COMPOSITIONS, FLAT),
        (gs.Standardised(gs.GeometricMean()), POINTS, PLANE),
        (gs.Standardised(gs.BoundaryDistance()), POINTS, PLANE),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, np.ndarray) else repr(value),
)
def test_an_operator_on_a_domain_it_is_not_made_for_says_what_to_use(call, operator, x, model):
    message = refused(call, x, model, operator=operator, match="[Uu]se ")
    assert repr(gs.as_model(model).domain) in message


@pytest.mark.parametrize(
    "kernel", ["imq", gs.IMQ, 1.0, lambda x, y: 1.0], ids=["string", "class", "number", "function"]
)
def test_what_is_no_kernel_is_refused(kernel):
    for function in (gs.ksd_test, gs.stein_matrix):
        refused(function, POINTS, PLANE, kernel=kernel, match=r"`kernel` must be a kernel such as IMQ\(\)")


@pytest.mark.parametrize("null", ["wild", 999, gs.WildBootstrap, gs.MonteCarlo], ids=repr)
def test_what_is_no_null_method_is_refused(null):
    refused(
        gs.ksd_test, POINTS, PLANE, null=null, match=r"`null` must be a null method such as WildBootstrap\(\)"
    )


KERNELS = st.sampled_from([gs.Gaussian, gs.IMQ, gs.RationalQuadratic, gs.Matern52])


@given(
    kernel=KERNELS,
    bandwidth=st.floats(max_value=0.0) | st.integers(max_value=0) | st.just(np.nan) | st.just(np.inf),
)
def test_a_bandwidth_that_is_not_positive_is_refused(kernel, bandwidth):
    message = refused(kernel, bandwidth, match="`bandwidth`.*positive")
    assert kernel.__name__ in message


@pytest.mark.parametrize("bandwidth", ["median", [1.0, 2.0], gs.Median, True], ids=repr)
def test_a_bandwidth_that_is_no_number_is_refused(bandwidth):
    refused(
        lambda: gs.ksd_test(POINTS, PLANE, kernel=gs.Gaussian(bandwidth)),
        match=r"`bandwidth` of Gaussian.*Median\(\)",
    )


@given(rule=st.floats(max_value=0.0) | st.just(np.nan))
def test_a_bandwidth_rule_that_returns_no_positive_number_is_refused(rule):
    refused(gs.ksd_test, POINTS, PLANE, kernel=gs.IMQ(lambda points: rule), match="`bandwidth`.*positive")


@pytest.mark.parametrize("scale", [0, -1.0, np.nan, np.inf, "2"], ids=repr)
def test_a_multiple_of_the_median_that_is_not_positive_is_refused(scale):
    refused(gs.Median, scale, match="`scale` of Median must be a positive number")


NULLS = {
    "wild": gs.WildBootstrap,
    "spectral": gs.Spectral,
    "monte carlo": gs.MonteCarlo,
    "parametric": lambda n_resamples: gs.ParametricBootstrap(FAMILY.Normal.fit, n_resamples),
}


@given(
    name=st.sampled_from(sorted(NULLS)),
    count=st.integers(max_value=0) | st.floats() | st.booleans() | st.just("99") | st.none(),
)
def test_fewer_than_one_resample_or_no_whole_number_of_them_is_refused(name, count):
    refused(NULLS[name], count, match="`n_resamples` must be an integer of at least 1")


@pytest.mark.parametrize("flip", [0, 0.0, -0.1, 0.7, True, "a", None, np.nan], ids=repr)
def test_a_flip_outside_its_range_is_refused(flip):
    refused(gs.WildBootstrap, flip=flip, match=r"`flip` must be a probability in \(0, 0\.5\]")


@pytest.mark.parametrize("flip", [np.float32(0.125), np.float64(0.125)], ids=repr)
def test_a_flip_may_be_any_kind_of_number(flip):
    null, plain = (gs.WildBootstrap(19, flip=value) for value in (flip, 0.125))
    assert (
        gs.ksd_test(POINTS, PLANE, null=null, rng=1).pvalue
        == gs.ksd_test(POINTS, PLANE, null=plain, rng=1).pvalue
    )


def test_an_unknown_scheme_of_signs_is_refused():
    refused(gs.WildBootstrap, signs="rademacher", match="`signs` must be 'orthogonal' or 'iid'")


@pytest.mark.parametrize("workers", [0, -2, 1.5, "all", True], ids=repr)
def test_workers_that_are_none_are_refused(workers):
    refused(gs.ksd_test, POINTS, PLANE, workers=workers, match="`workers` must be")


@pytest.mark.parametrize("rng", ["a", -1, 1.5], ids=repr)
def test_a_seed_that_is_none_is_refused(rng):
    with no_stein_matrix(), pytest.raises((TypeError, ValueError), match=r"(?i)seed|integer|rng"):
        gs.ksd_test(POINTS, PLANE, rng=rng)


@pytest.mark.parametrize(
    "rng",
    [
        lambda: 7,
        lambda: np.random.SeedSequence(7),
        lambda: np.random.PCG64(7),
        lambda: np.random.default_rng(7),
        lambda: np.random.Generator(np.random.Philox(key=7)),
    ],
    ids=["int", "SeedSequence", "PCG64", "default_rng", "Philox"],
)
def test_every_generator_that_numpy_takes_is_the_one_that_draws(rng):
    draws = [
        gs.ksd_test(POINTS, PLANE, rng=r).null_distribution for r in (rng(), np.random.default_rng(rng()))
    ]
    np.testing.assert_array_equal(*draws)
    assert not np.array_equal(draws[0], gs.ksd_test(POINTS, PLANE, rng=8).null_distribution)


def test_an_audit_that_knows_no_place_says_what_to_pass():
    refused(gs.audit, lambda x: -x, match="pass `domain` or `data`")


def test_our_errors_are_value_errors_and_a_domain_error_is_an_input_error():
    assert issubclass(gs.InputError, ValueError)
    assert issubclass(gs.DomainError, gs.InputError)
    assert issubclass(gs.ScoreError, ValueError)
    assert issubclass(gs.SteinIdentityError, ValueError)


# --- nothing is altered ---------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
def test_data_are_neither_altered_nor_kept(call, order):
    x = np.array(POINTS, order=order)
    before = x.copy()
    seen = []

    def score(z):
        seen.append(z)
        return -z

    call(x, score)
    np.testing.assert_array_equal(x, before)
    assert not any(np.shares_memory(x, z) for z in seen)


def test_read_only_data_are_no_obstacle(call):
    x = POINTS.copy()
    x.setflags(write=False)
    call(x, PLANE)


def test_a_score_that_writes_into_its_argument_changes_neither_data_nor_result():
    x = POINTS + 3.0
    before = x.copy()

    def careless(z):
        z -= 3.0
        z *= -1.0
        return z

    careful = gs.stein_matrix(x, lambda z: -(z - 3.0))
    np.testing.assert_array_equal(gs.stein_matrix(x, careless), careful)
    np.testing.assert_array_equal(x, before)


def test_the_model_sees_the_data_exactly_as_they_are():
    seen = []

    def score(z):
        seen.append(np.array(z))
        return np.zeros_like(z)

    x = COMPOSITIONS * (1 + 3e-9)  # sums within the tolerance, and not to be re-closed
    gs.ksd_test(x, score, domain=gs.Simplex(3), operator=gs.Standardised(gs.ProductOfParts()))
    assert any(z.shape == x.shape and np.array_equal(z, x) for z in seen)


def test_refused_data_are_not_altered_either(call):
    x = POINTS.copy()
    x[3, 0], x[5, 1] = np.nan, np.inf
    before = x.copy()
    refused(call, x, PLANE, match="NaN")
    np.testing.assert_array_equal(x, before)


def test_parameters_are_copied():
    mean, cov, alpha = np.zeros(2), np.eye(2), np.ones(3)
    normal, dirichlet = FAMILY.Normal(mean, cov), FAMILY.Dirichlet(alpha)
    expected = gs.stein_matrix(POINTS, normal), gs.stein_matrix(COMPOSITIONS, dirichlet)
    mean[:], cov[:], alpha[:] = 9.0, 9.0, 9.0
    np.testing.assert_array_equal(gs.stein_matrix(POINTS, normal), expected[0])
    np.testing.assert_array_equal(gs.stein_matrix(COMPOSITIONS, dirichlet), expected[1])


@pytest.mark.parametrize(
    ("make", "argument", "rows"),
    [
        (lambda: FAMILY.Normal.fit([[0, 1], [np.nan, 2], [3, 4]]), "x", [1]),
        (lambda: FAMILY.Dirichlet.fit([[0.5, 0.5], [0.2, 0.8], [1.0, 0.0]]), "x", [2]),
        (lambda: FAMILY.Weibull.fit([0.0, 1.0, 2.0]), "data", [0]),
        (lambda: FAMILY.Exponential(-1.0), "scale", None),
        (lambda: FAMILY.Kent(np.ones((3, 3)), 1.0, 0.0), "axes", None),
        (lambda: gs.Censored([1.0, -1.0]), "durations", [1]),
        (lambda: gs.Censored([1.0, 1.0], [1, 3]), "event_observed", [1]),
        (lambda: gs.Simplex(2).validate(np.array([[0.5, 0.5], [0.5, 0.6]])), "data", [1]),
        (lambda: gs.Lattice(2, 1).encode([[0], [2]]), "x", [1]),
        (lambda: gs.Euclidean(0), "d", None),
        (lambda: gs.Model(score=3), "score", None),
        (lambda: gs.Model(score=lambda x: x / 0.0 * x).score([[1.0], [2.0]]), None, [0, 1]),
        (lambda: gs.SurvivalModel(hazard=lambda t: -t, cumulative_hazard=np.abs).hazard([0, 1]), None, [1]),
        (lambda: gs.as_model(object()), "model", None),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_errors_carry_their_argument_and_their_rows(make, argument, rows):
    with pytest.raises(gs.InputError) as caught:
        make()
    assert caught.value.argument == argument
    assert (None if caught.value.rows is None else caught.value.rows.tolist()) == rows
    assert str(caught.value).endswith(caught.value.bare)


def test_the_guard_of_this_file_bites():
    """Otherwise every test here could pass for the wrong reason."""
    with no_stein_matrix(), pytest.raises(AssertionError, match="was reached"):
        gs.ksd_test(POINTS, PLANE)
    with no_stein_matrix(), pytest.raises(AssertionError, match="was reached"):
        gs.stein_matrix(POINTS, PLANE)
