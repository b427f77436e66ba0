"""Durations and events as other libraries and data frames hold them."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.errors import InputError
from goodstein.foreign import bases
from goodstein.validation import read_frame

OTHER_CENSORING = (
    "Only right-censored data can be tested: of an event that is known up to an interval no operator has "
    "mean zero. Where the intervals are short beside the durations, test their middles; where they "
    "are few and the same for all, test the counts in them."
)


def durations_and_events(data: Any, asked_by: str) -> tuple[Any, Any]:
    """Both columns of whatever holds them; no events, None, where all durations are events."""
    if "CensoredData" in bases(data):
        return _of_scipy(data)
    if isinstance(data, np.ma.MaskedArray):
        return data, None
    try:
        array = np.asarray(data)
    except ValueError:
        array = np.empty((0, 0, 0))
    if is_structured(array):
        kinds = {array.dtype[name].kind: name for name in array.dtype.names or ()}
        time = next(name for kind, name in kinds.items() if kind != "b")
        return array[time], array[kinds["b"]]
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        found = f"{type(data).__name__}{f' of shape {array.shape}' if array.size else ''}"
        other = "an array (n,) of durations that all ended in the event"
        remedy = f"Pass Censored(durations, event_observed), or {other}."
        raise InputError(f"{asked_by} is for durations, got {found}.", argument="data", remedy=remedy)
    return array, None


def is_structured(data: Any) -> bool:
    """An array of records with a boolean and a numeric field, as scikit-survival makes them."""
    names = data.dtype.names if isinstance(data, np.ndarray) else None
    kinds = sorted(data.dtype[name].kind for name in names or ())
    return len(kinds) == 2 and kinds[0] == "b" and kinds[1] in "fiu"


def _of_scipy(data: Any) -> tuple[Any, Any]:
    # SciPy has no public access to these.
    left, interval = len(data._left), len(data._interval)
    if left or interval:
        found = f"{left} left-censored and {interval} interval-censored values."
        raise InputError(found, argument="data", remedy=OTHER_CENSORING)
    durations = np.concatenate([data._uncensored, data._right])
    return durations, np.arange(len(durations)) < len(data._uncensored)


def columns_of(frame: Any) -> dict[Any, np.ndarray[Any, Any]]:
    """The columns of a data frame as arrays, by name; holes are refused where a column is used."""
    table = read_frame(frame)
    return {name: table.get_column(name).to_numpy() for name in table.columns}
