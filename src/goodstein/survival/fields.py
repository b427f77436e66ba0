"""The columns of censored durations: times, events, entries and covariates, as they come and validated."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.errors import InputError, describe_rows, refuse_rows
from goodstein.foreign import contents
from goodstein.types import Array, BoolArray
from goodstein.validation import as_data, column_names, refuse_masked


def as_column(values: Any, name: str) -> np.ndarray[Any, Any]:
    """Values of one column, (n,), of any type."""
    refuse_masked(values, name)
    try:
        array = np.asarray(contents(values))
    except ValueError as error:
        raise InputError(f"is not an array of numbers: {error}", argument=name, predicate=True) from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"must have shape (n,), got {array.shape}.", argument=name, predicate=True)
    if not len(array):
        raise InputError("is empty.", argument=name, predicate=True)
    return array


def as_times(values: Any, name: str) -> Array:
    """Times, (n,): finite and not negative."""
    array = as_column(values, name)
    if array.dtype.kind not in "iuf":
        hints = {"b": "Are durations and events swapped?"}
        hints["m"] = f"Divide by a unit of time: {name} / np.timedelta64(1, 'D')."
        hint = hints.get(array.dtype.kind, "If they are numbers, convert them; remove what is missing.")
        reason = f"must hold real numbers, got dtype {array.dtype}."
        raise InputError(reason, argument=name, predicate=True, remedy=hint)
    t = array.astype(np.float64) + 0.0  # no negative zeros: equal values have equal bytes
    for bad, what in ((np.isnan(t), "NaN"), (np.isinf(t), "infinite values"), (t < 0, "negative values")):
        refuse_rows(bad, f"hold {what}.", "Remove or correct them.", argument=name)
    return t


def as_entry(values: Any, durations: Array) -> Array:
    """Times from which on each duration was watched, (n,); zeros without."""
    if values is None:
        return np.zeros(len(durations))
    entry = as_times(values, "entry")
    require_length(entry, durations, "entry")
    late = (entry > 0) & (entry >= durations)
    what = "enter when their duration has ended already, or just then: nobody saw them."
    remedy = "Remove them; an entry time is counted from the same origin as the duration."
    refuse_rows(late, what, remedy, argument="entry")
    return entry


def as_covariates(values: Any, durations: Array) -> tuple[Array | None, bool, tuple[str, ...]]:
    """Covariates, (n, p), whether they came as (n,), and their names."""
    if values is None:
        return None, False, ()
    try:
        matrix = as_data(values, least=1)
    except InputError as error:
        text = "Categories become columns of zeros and ones, for example by pandas.get_dummies."
        raise error.told("covariates", remedy=text if "numbers" in str(error) else None) from None
    require_length(matrix, durations, "covariates")
    flat = len(getattr(values, "shape", None) or np.shape(values)) == 1
    usual = ("z",) if matrix.shape[1] == 1 else tuple(f"z{j}" for j in range(matrix.shape[1]))
    return matrix, flat, column_names(values) or usual


def require_length(values: Any, durations: Array, name: str) -> None:
    """Raise where there is not one of them for each duration."""
    if len(values) != len(durations):
        sizes = f"`durations` has {len(durations)} values and `{name}` has {len(values)}"
        raise InputError(f"{sizes}: each duration needs one.")


def as_events(values: Any) -> BoolArray:
    """Whether the event was seen, (n,)."""
    array = as_column(values, "event_observed")
    must = "must hold booleans, or ones and zeros"
    if array.dtype.kind == "O" and all(isinstance(value, (bool, np.bool_)) for value in array):
        array = array.astype(bool)
    if array.dtype.kind not in "biuf":
        remedy = 'Compare with what stands for an event, for example status == "dead".'
        reason = f"{must}, got dtype {array.dtype}."
        raise InputError(reason, argument="event_observed", predicate=True, remedy=remedy)
    wrong = ~np.isin(array, (0, 1))
    if wrong.any():
        reason = f"{must}: {describe_rows(wrong)} do not, the first is {array[wrong][0]:g}."
        coding = "In R's coding, 1 censored and 2 dead, pass status == 2."
        ends = "If they are the later ends of intervals: such events cannot be tested. Pass when each ended, "
        ends += "and whether by the event; short intervals by their middles."
        hint = coding if (array[wrong] == 2).all() else ends if wrong.mean() > 0.5 else None
        raise InputError(reason, argument="event_observed", predicate=True, rows=wrong, remedy=hint)
    return np.asarray(array, dtype=bool)


def require_same_index(durations: Any, other: Any, name: str) -> None:
    """Raise where two Series or frames number their rows in different ways."""
    first, second = (getattr(one, "index", None) for one in (durations, other))
    if hasattr(first, "equals") and hasattr(second, "equals") and not first.equals(second):  # type: ignore[union-attr]
        why = "so it is not clear which values belong together"
        remedy = "Align them, or pass .to_numpy() of both to pair them by position."
        both = f"`durations` and `{name}`"
        raise InputError(f"{both} are Series with different indexes, {why}.", remedy=remedy)
