"""Durations and events as other libraries and data frames hold them."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from goodstein.errors import InputError
from goodstein.foreign import bases
from goodstein.validation import read_frame

Columns: TypeAlias = dict[Any, np.ndarray[Any, Any]]
"""Of a data frame, by name."""

DURATIONS = {"t", "time", "times", "duration", "durations", "survival_time", "tenure", "futime"}
EVENTS = {"e", "event", "events", "event_observed", "observed", "status", "death", "dead", "died", "fustat"}
"""Names, in small letters, by which columns of a data frame are known for durations and for events."""

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


def told_apart(columns: Columns) -> tuple[Any, Any]:
    """The names of the columns of durations and of events, by these names or by what they hold."""
    names = list(columns)
    durations, events = ([n for n in names if str(n).casefold() in known] for known in (DURATIONS, EVENTS))
    reversed_ = [n for n in names if "cens" in str(n).casefold() and _binary(columns[n])]
    if len(names) == 2 and reversed_:
        (other,) = (name for name in names if name != reversed_[0])
        reason = f"by its name the column {reversed_[0]!r} marks censored durations, not events."
        remedy = f"Pass Censored({_cell(other)}, {_cell(reversed_[0])} == 0), or == 1 if it marks events."
        raise InputError(reason, argument="data", remedy=remedy)
    if len(names) == 2 and not (durations and events):
        # One name or none tells: then what is in the columns, if it agrees.
        events = events or [name for name in names if _binary(columns[name]) and name not in durations]
        durations = durations or [name for name in names if name not in events]
    if len(names) != 2 or len(durations) != 1 or len(events) != 1:
        binary = sum(_binary(columns[name]) for name in names)
        found = f"{len(names)} columns" if len(names) != 2 else f"{binary} columns of zeros and ones"
        reason = f"the data frame has {found}, so it does not say which are durations and which are events."
        pair = [_cell(found[0] if len(found) == 1 else "...") for found in (durations, events)]
        raise InputError(reason, argument="data", remedy=f"Pass Censored({', '.join(pair)}).")
    return durations[0], events[0]


def _cell(name: Any) -> str:
    """A column of a data frame as one writes it."""
    return f'df["{name}"]' if isinstance(name, str) else f"df[{name!r}]"


def _binary(values: Any) -> bool:
    return values.dtype.kind == "b" or (values.dtype.kind in "iuf" and bool(np.isin(values, (0, 1)).all()))


def columns_of(frame: Any) -> Columns:
    """The columns of a data frame as arrays, by name; holes are refused where a column is used."""
    table = read_frame(frame)
    return {name: table.get_column(name).to_numpy() for name in table.columns}
