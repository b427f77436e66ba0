"""From what a user hands in to a float64 array (n, d), or a message that says what to change."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.errors import InputError, describe_rows
from goodstein.types import Array, ArrayLike


def as_data(data: ArrayLike, dim: int | None = None, *, where: str = "the model") -> Array:
    """Observations as rows of a float64 array; nothing is altered, dropped or imputed.

    Parameters
    ----------
    data
        An array, nested sequence, or a data frame of pandas, polars or Arrow.
    dim
        Number of columns that are expected; None takes what is there.
    where
        What expects them, for the message.
    """
    array = as_array(data)
    if array.dtype.kind not in "iuf":
        raise InputError(
            f"`data` must hold real numbers, got dtype {array.dtype}. If they are numbers, convert them: "
            "data.astype(float). Otherwise drop what is not a number."
        )
    x = np.array(array, dtype=np.float64, order="C")
    if x.ndim == 1 and (dim is None or dim == 1):
        x = x[:, None]
    if x.ndim != 2:
        expected = "(n, d)" if dim is None else f"(n, {dim})"
        hint = f" One-dimensional data do not fit {where}, which has {dim} dimensions." if x.ndim == 1 else ""
        raise InputError(
            f"`data` has shape {array.shape}, expected {expected}: one row per observation, one column per "
            f"coordinate.{hint}"
        )
    if dim is not None and x.shape[1] != dim:
        raise InputError(
            f"`data` has {_count(x.shape[1], 'column')}, but {where} has {_count(dim, 'dimension')}. "
            "Pass the columns that the model describes, or a model of these columns."
        )
    if x.shape[1] == 0:
        raise InputError("`data` has no columns.")
    if len(x) < 2:
        raise InputError(f"`data` has {_count(len(x), 'row')}; a test needs at least 2.")
    missing = np.isnan(x).any(axis=1)
    if missing.any():
        raise InputError(
            f"`data`: {describe_rows(missing)} hold NaN. Remove or complete them before the test; goodstein "
            "never drops or imputes values."
        )
    infinite = np.isinf(x).any(axis=1)
    if infinite.any():
        raise InputError(f"`data`: {describe_rows(infinite)} hold infinite values. Remove or correct them.")
    return x


def as_array(data: ArrayLike) -> np.ndarray[Any, Any]:
    """Whatever a user hands in as an array of any kind of number; masked and missing values are refused."""
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        mask = np.atleast_1d(np.ma.getmaskarray(data))
        masked = mask.reshape(len(mask), -1).any(axis=1)
        raise InputError(f"`data`: {describe_rows(masked)} hold masked values. Remove or complete them.")
    root = type(data).__module__.partition(".")[0]
    if root in ("pandas", "polars", "pyarrow", "modin", "narwhals", "duckdb"):
        return _from_frame(data)
    try:
        return np.asarray(data)
    except ValueError as error:
        reason = "its rows differ in length" if "inhomogeneous" in str(error) else str(error)
        raise InputError(
            f"`data` is not a rectangular array of numbers: {reason}. Every row needs one number for each "
            "column."
        ) from None


def _from_frame(data: Any) -> np.ndarray[Any, Any]:
    import narwhals as nw

    if type(data).__module__.startswith("pandas") and data.ndim == 2 and not data.columns.is_unique:
        data = data.set_axis(range(data.shape[1]), axis=1)  # pandas lets two columns share a name
    try:
        frame = nw.from_native(data, allow_series=True, eager_only=True)
    except TypeError:
        remedy = (
            "Call .collect() on it first" if hasattr(data, "collect") else "Pass an array or a data frame"
        )
        raise InputError(
            f"`data`: cannot read an object of type {type(data).__module__.partition('.')[0]}."
            f"{type(data).__name__}. {remedy}."
        ) from None
    if isinstance(frame, nw.Series):
        frame = frame.to_frame()
    other = [name for name, dtype in frame.schema.items() if not dtype.is_numeric()]
    if other:
        raise InputError(
            f"`data` has columns that are not numbers: {', '.join(map(str, other[:5]))}. Select the numeric "
            "columns that the model describes."
        )
    # get_column, not frame[name]: names may be numbers.
    missing = [name for name in frame.columns if frame.get_column(name).is_null().any()]
    if missing:
        bad = np.zeros(len(frame), bool)
        for name in missing:
            bad |= frame.get_column(name).is_null().to_numpy()
        raise InputError(
            f"`data`: {describe_rows(bad)} hold missing values (column {missing[0]!r}). Remove or complete "
            "them before the test."
        )
    return np.asarray(frame.to_numpy())


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def check_count(value: object, name: str, least: int = 1) -> int:
    """An integer argument of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"`{name}` must be an integer of at least {least}, got {value!r}.")
    return int(value)
