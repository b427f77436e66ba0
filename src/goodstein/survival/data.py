"""Right-censored durations: what was seen, and whether it was the event or the end of watching."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Self

import numpy as np

from goodstein.data.base import Data
from goodstein.errors import InputError, SamplingError, describe_rows, given, refuse_rows, warn
from goodstein.foreign import bases, contents
from goodstein.frozen import Frozen
from goodstein.types import Array, ArrayLike, BoolArray, Column
from goodstein.validation import is_frame, read_frame, refuse_masked

DURATIONS = {"t", "time", "times", "duration", "durations", "survival_time", "tenure", "futime"}
EVENTS = {"e", "event", "events", "event_observed", "observed", "status", "death", "dead", "died", "fustat"}
"""Names, in small letters, by which columns of a data frame are known for durations and for events."""


class Censored(Frozen, Data):
    """Durations T = min(X, C), each with whether it ended in the event, X ≤ C, or was censored.

    Parameters
    ----------
    durations
        T, (n,): finite and not negative.
    event_observed
        Whether the event was seen, (n,): booleans, or 1 for an event and 0 for a censored duration.
        None: every duration ended in the event.

    Notes
    -----
    Tests of censored data take for granted that the censoring times are independent of the event
    times; nothing else is assumed of them. Where an event and a censoring fall on the same time, the
    event is taken to come first.

    Where censored data are expected one may also pass a :class:`scipy.stats.CensoredData` with
    right-censored values (its uncensored values come first), a structured array of scikit-survival with
    a boolean and a numeric field, a data frame with two columns, or a plain array of durations that all ended
    in the event. The columns of a frame are known by their names, such as time and status, duration and
    event, T and E; where these do not tell, events are the one column of zeros and ones. The result says
    which column was taken for what, and where that is not clear the frame is refused.

    Examples
    --------
    >>> import goodstein as gs
    >>> data = gs.Censored([5.0, 8.0, 12.0, 20.0], [True, False, True, False])
    >>> data
    Censored(4 durations, 50 % censored)
    >>> data.durations[data.event_observed]
    array([ 5., 12.])
    >>> import pandas as pd
    >>> aml = pd.DataFrame({"time": [9, 13, 13], "status": [1, 1, 0], "x": ["a", "a", "b"]})
    >>> gs.Censored.from_frame(aml, durations="time", event_observed="status").describe()
    "3 durations, 33 % censored (durations: column 'time', events: column 'status')"
    """

    durations: Array
    event_observed: BoolArray
    _source: str

    def __init__(self, durations: ArrayLike, event_observed: ArrayLike | None = None) -> None:
        index: Any = getattr(durations, "index", None)
        other: Any = getattr(event_observed, "index", None)
        if hasattr(index, "equals") and hasattr(other, "equals") and not index.equals(other):
            why = "so it is not clear which values belong together"
            remedy = "Align them, or pass .to_numpy() of both to pair them by position."
            both = "`durations` and `event_observed`"
            raise InputError(f"{both} are Series with different indexes, {why}.", remedy=remedy)
        t = _as_durations(durations)
        events = np.ones(len(t), bool) if event_observed is None else _as_events(event_observed)
        if len(t) != len(events):
            sizes = f"`durations` has {len(t)} values and `event_observed` has {len(events)}"
            raise InputError(f"{sizes}: each duration needs one.")
        self._set(durations=t, event_observed=events, told=event_observed is not None, _source="")

    @classmethod
    def from_frame(cls, frame: Any, *, durations: Any, event_observed: Any) -> Self:
        """Two columns, of these names, of a data frame of pandas, polars or Arrow."""
        columns = _columns(frame)
        for argument, name in (("durations", durations), ("event_observed", event_observed)):
            if name not in columns:
                there = ", ".join(map(repr, list(columns)[:10]))
                raise InputError(f"the data frame has no column {name!r}. It has {there}.", argument=argument)
        made = cls(columns[durations], columns[event_observed])
        made._set(_source=f" (durations: column {durations!r}, events: column {event_observed!r})")
        return made

    def __len__(self) -> int:
        return len(self.durations)

    @property
    def censoring_rate(self) -> float:
        """Share of the durations that are censored."""
        return float(1.0 - self.event_observed.mean())

    def describe(self) -> str:
        rate = f"{100.0 * self.censoring_rate:.0f} % censored" if self.censoring_rate else "none censored"
        return f"{len(self)} duration{'' if len(self) == 1 else 's'}, {rate}{self._source}"

    def __repr__(self) -> str:
        return f"Censored({self.describe()})"

    def take(self, rows: Any) -> Censored:
        return Censored(self.durations[rows], self.event_observed[rows] if self.told else None)

    @property
    def ended(self) -> BoolArray:
        return self.event_observed

    def as_rows(self) -> Array:
        """Durations, (n, 1), which tell observations apart with and without their events."""
        return self.durations[:, None]

    def as_columns(self) -> dict[str, Column]:
        return {"duration": self.durations, "event": self.event_observed}

    def like(self, values: Any, model: Any, domain: Any) -> Censored:
        """Times at which events are seen, unless it is said that some are censored."""
        return as_censored(values, "This result")

    def validate(self, model: Any, domain: Any) -> None:
        """Warn where no event was seen, from which little can be learnt."""
        if len(self) < 2:
            raise InputError("has 1 duration; a test needs at least 2.", argument="data", predicate=True)
        if not self.event_observed.any():
            warn(
                f"All {len(self)} durations are censored: the test sees only that no event came. Where the "
                "model expects few events its p-value is not valid, unless by "
                f"{given('null', 'MonteCarlo()')}."
            )

    def drawn(self, model: Any, domain: Any, rng: np.random.Generator) -> Censored:
        """As many durations from the model, censored like these.

        Durations X come from the model, censoring times C from the Kaplan–Meier estimate of the
        censoring distribution (:meth:`kaplan_meier_censoring`), and T = min(X, C). What that
        estimate leaves over beyond the longest duration counts as never censored.
        """
        n = len(self)
        x, c = model.durations(n, rng), self.draw_censoring(n, rng)
        t = np.minimum(x, c)
        if np.isinf(t).any():
            bounded = f"The cumulative hazard of {model.name} is bounded"
            found = f"{int(np.isinf(t).sum())} of {n} draws have neither an event nor a censoring time"
            reason = f"{bounded}, and the longest duration of the data is an event: {found}."
            raise SamplingError(reason, remedy=f"Use {given('null', 'WildBootstrap()')}.")
        return Censored(t, x <= c)

    def log_likelihood(self, hazard: Callable[[Array], Array], cumulative: Callable[[Array], Array]) -> Array:
        """log λ at the events less Λ, (n,), for λ and Λ as functions of times."""
        out = -cumulative(self.durations)
        with np.errstate(divide="ignore"):
            out[self.event_observed] += np.log(hazard(self.durations[self.event_observed]))
        return out

    def at_risk(self, times: ArrayLike | None = None) -> Array:
        """Y(t) = #{T_k ≥ t} at each time; at the durations themselves by default.

        Who is censored at t still counts at t: events come before censorings.
        """
        t = self.durations if times is None else np.asarray(times, np.float64)
        below = np.searchsorted(np.sort(self.durations), t, side="left")
        return np.asarray(len(self) - below, np.float64)

    def kaplan_meier_censoring(self) -> tuple[Array, Array]:
        """Kaplan–Meier estimate of the censoring time: where P(C > t) falls, and to what.

        Those whose event came at t are no longer at risk of being censored at t. If the longest duration
        is an event, the estimate does not reach zero: nothing is known of that share of the censoring
        times but that they are longer than every time returned.

        >>> import goodstein as gs
        >>> gs.Censored([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1]).kaplan_meier_censoring()
        (array([2.]), array([0.66666667]))
        """
        times, censored = np.unique(self.durations[~self.event_observed], return_counts=True)
        events = np.sort(self.durations[self.event_observed])
        same = np.searchsorted(events, times, side="right") - np.searchsorted(events, times, side="left")
        return times, np.asarray(np.cumprod(1.0 - censored / (self.at_risk(times) - same)), np.float64)

    def draw_censoring(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n censoring times from their Kaplan–Meier estimate, (n,); inf with what is left over."""
        times, survival = self.kaplan_meier_censoring()
        place = np.searchsorted(-survival, -rng.random(n), side="left")
        return np.append(times, np.inf)[place]

    def to_scipy(self) -> Any:
        """As a :class:`scipy.stats.CensoredData`, for example to fit one of SciPy's distributions.

        >>> import goodstein as gs
        >>> import scipy.stats
        >>> data = gs.Censored([1.0, 2.0, 3.0], [True, True, False])
        >>> print("%.3f" % scipy.stats.expon.fit(data.to_scipy(), floc=0)[1])  # total time over events
        3.000
        """
        from scipy.stats import CensoredData

        return CensoredData.right_censored(self.durations, ~self.event_observed)

    def _arguments(self) -> tuple[Hashable, ...]:
        return self.durations.tobytes(), self.event_observed.tobytes()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.durations, self.event_observed if self.told else None, self._source)


def _restore(durations: Array, event_observed: BoolArray | None, source: str) -> Censored:
    data = Censored(durations, event_observed)
    data._set(_source=source)
    return data


def as_censored(data: Any, asked_by: str) -> Censored:
    """Whatever stands for durations with events; in a plain array all durations are events."""
    if isinstance(data, Censored):
        return data
    if "CensoredData" in bases(data):
        return _from_scipy(data)
    if is_frame(data):
        return _from_columns(data)
    if isinstance(data, np.ma.MaskedArray):
        return Censored(data)
    try:
        array = np.asarray(data)
    except ValueError:
        array = np.empty((0, 0, 0))
    if _is_structured(array):
        kinds = {array.dtype[name].kind: name for name in array.dtype.names or ()}
        time = next(name for kind, name in kinds.items() if kind != "b")
        return Censored(array[time], array[kinds["b"]])
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        found = f"{type(data).__name__}{f' of shape {array.shape}' if array.size else ''}"
        other = "an array (n,) of durations that all ended in the event"
        remedy = f"Pass Censored(durations, event_observed), or {other}."
        raise InputError(f"{asked_by} is for durations, got {found}.", argument="data", remedy=remedy)
    return Censored(array)


def _is_structured(data: Any) -> bool:
    """An array of records with a boolean and a numeric field, as scikit-survival makes them."""
    names = data.dtype.names if isinstance(data, np.ndarray) else None
    kinds = sorted(data.dtype[name].kind for name in names or ())
    return len(kinds) == 2 and kinds[0] == "b" and kinds[1] in "fiu"


def _from_scipy(data: Any) -> Censored:
    # SciPy has no public access to these.
    left, interval = len(data._left), len(data._interval)
    if left or interval:
        found = f"{left} left-censored and {interval} interval-censored values."
        raise InputError(found, argument="data", remedy="Only right-censored data can be tested.")
    durations = np.concatenate([data._uncensored, data._right])
    return Censored(durations, np.arange(len(durations)) < len(data._uncensored))


def _from_columns(frame: Any) -> Censored:
    """A frame with one column of durations, or with a second one of events, by their names or contents."""
    columns = _columns(frame)
    names = list(columns)
    if len(names) == 1:
        return Censored(columns[names[0]])
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
    return Censored.from_frame(frame, durations=durations[0], event_observed=events[0])


def _cell(name: Any) -> str:
    """A column of a data frame as one writes it."""
    return f'df["{name}"]' if isinstance(name, str) else f"df[{name!r}]"


def _binary(values: Any) -> bool:
    return values.dtype.kind == "b" or (values.dtype.kind in "iuf" and bool(np.isin(values, (0, 1)).all()))


def _columns(frame: Any) -> dict[Any, np.ndarray[Any, Any]]:
    """The columns of a data frame as arrays, by name; holes are refused where a column is used."""
    table = read_frame(frame)
    return {name: table.get_column(name).to_numpy() for name in table.columns}


def _as_array(values: Any, name: str) -> np.ndarray[Any, Any]:
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


def _as_durations(values: Any) -> Array:
    array = _as_array(values, "durations")
    if array.dtype.kind not in "iuf":
        hints = {"b": "Are durations and events swapped?"}
        hints["m"] = "Divide by a unit of time: durations / np.timedelta64(1, 'D')."
        hint = hints.get(array.dtype.kind, "If they are numbers, convert them; remove what is missing.")
        reason = f"must hold real numbers, got dtype {array.dtype}."
        raise InputError(reason, argument="durations", predicate=True, remedy=hint)
    t = array.astype(np.float64) + 0.0  # no negative zeros: equal values have equal bytes
    for bad, what in ((np.isnan(t), "NaN"), (np.isinf(t), "infinite values"), (t < 0, "negative values")):
        refuse_rows(bad, f"hold {what}.", "Remove or correct them.", argument="durations")
    return t


def _as_events(values: Any) -> BoolArray:
    array = _as_array(values, "event_observed")
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
        hint = coding if (array[wrong] == 2).all() else None
        raise InputError(reason, argument="event_observed", predicate=True, rows=wrong, remedy=hint)
    return np.asarray(array, dtype=bool)
