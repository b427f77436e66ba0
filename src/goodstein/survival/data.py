"""Right-censored durations: what was seen, and whether it was the event or the end of watching."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self

import numpy as np

from goodstein.constraints import real_array
from goodstein.data.base import Data
from goodstein.errors import InputError, SamplingError, given, must, warn
from goodstein.frozen import Frozen
from goodstein.survival.fields import (
    as_covariates,
    as_entry,
    as_events,
    as_times,
    require_length,
    require_same_index,
)
from goodstein.survival.reading import columns_of, durations_and_events
from goodstein.types import Array, ArrayLike, BoolArray, Column
from goodstein.validation import is_frame, read_frame


class Censored(Frozen, Data):
    """Durations T = min(X, C), each with whether it ended in the event, X ≤ C, or was censored.

    Parameters
    ----------
    durations
        T, (n,): finite and not negative.
    event_observed
        Whether the event was seen, (n,): booleans, or 1 for an event and 0 for a censored duration.
        None: every duration ended in the event.
    entry
        From when on each was watched (late entry, left truncation), (n,), on the same clock as the durations
        and before them: whose event came earlier is not among the data. None: all from time zero on.
    covariates
        What the durations may depend on, (n, p), or (n,) for one; or a data frame, whose names are kept.
        Categories become columns of zeros and ones.

    Notes
    -----
    Tests of censored data take for granted that the censoring times are independent of the event
    times, given entry and covariates; nothing else is assumed of them. Where an event and a censoring fall on
    the same time, the event is taken to come first.

    Where censored data are expected one may also pass a :class:`scipy.stats.CensoredData` with
    right-censored values (its uncensored values come first), a structured array of scikit-survival with
    a boolean and a numeric field, or a plain array of durations that all ended in the event. Of a data frame
    :meth:`from_frame` takes the columns that are named. A fitted regression of lifelines knows its own
    columns, and reads them from the frame.

    Values known only to lie in an interval, or below something, cannot be tested: the operators need to know
    when the event came, if it came.

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
    >>> gs.Censored([5.0, 8.0, 12.0], [1, 0, 1], entry=[0.0, 2.0, 0.0], covariates=[1.5, 0.2, 0.9])
    Censored(3 durations, 33 % censored, 1 entered late, 1 covariate)
    """

    durations: Array
    event_observed: BoolArray
    entry: Array
    covariates: Array | None
    covariate_names: tuple[str, ...]
    _flat: bool
    _source: str

    def __init__(
        self,
        durations: ArrayLike,
        event_observed: ArrayLike | None = None,
        entry: ArrayLike | None = None,
        covariates: Any = None,
    ) -> None:
        others = {"event_observed": event_observed, "entry": entry, "covariates": covariates}
        for name, other in others.items():
            require_same_index(durations, other, name)
        t = as_times(durations, "durations")
        events = np.ones(len(t), bool) if event_observed is None else as_events(event_observed)
        require_length(events, t, "event_observed")
        z, flat, names = as_covariates(covariates, t)
        self._set(durations=t, event_observed=events, told=event_observed is not None, _source="")
        self._set(entry=as_entry(entry, t), covariates=z, covariate_names=names, _flat=flat)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        durations: Any,
        event_observed: Any = None,
        entry: Any = None,
        covariates: Sequence[Any] | None = None,
    ) -> Self:
        """Columns, of these names, of a data frame of pandas, polars or Arrow."""
        columns = columns_of(frame)
        named = {"durations": durations, "event_observed": event_observed, "entry": entry}
        wanted = [(key, name) for key, name in named.items() if name is not None]
        for argument, name in [*wanted, *(("covariates", name) for name in covariates or ())]:
            if name not in columns:
                there = ", ".join(map(repr, list(columns)[:10]))
                raise InputError(f"the data frame has no column {name!r}. It has {there}.", argument=argument)
        z = None if not covariates else read_frame(frame).select(list(covariates)).to_native()
        made = cls(**{key: columns[name] for key, name in wanted}, covariates=z)
        words = {"durations": "durations", "event_observed": "events", "entry": "entry"}
        made._set(_source=f" ({', '.join(f'{words[key]}: column {name!r}' for key, name in wanted)})")
        return made

    def __len__(self) -> int:
        return len(self.durations)

    @property
    def censoring_rate(self) -> float:
        """Share of the durations that are censored."""
        return float(1.0 - self.event_observed.mean())

    def describe(self) -> str:
        said = [_counted(len(self), "duration")]
        rate = self.censoring_rate
        said.append(f"{100.0 * rate:.0f} % censored" if rate else "none censored")
        if self.late:
            said.append(f"{np.count_nonzero(self.entry)} entered late")
        if self.covariates is not None:
            said.append(_counted(self.covariates.shape[1], "covariate"))
        return f"{', '.join(said)}{self._source}"

    @property
    def late(self) -> bool:
        """Whether some were watched only from a later time than zero on."""
        return bool(self.entry.any())

    @property
    def z(self) -> Array | None:
        """The covariates in the shape in which they were handed in, (n, p) or (n,)."""
        return self.covariates[:, 0] if self._flat and self.covariates is not None else self.covariates

    def __repr__(self) -> str:
        return f"Censored({self.describe()})"

    def take(self, rows: Any) -> Censored:
        chosen = {name: getattr(self, name)[rows] for name in ("durations", "event_observed", "entry")}
        z = None if self.covariates is None else self.covariates[rows]
        return _restore({**self.__dict__, **chosen, "covariates": z, "_source": ""})

    @staticmethod
    def stacked(samples: Sequence[Censored]) -> Censored | None:
        first = samples[0]
        if first.covariates is not None or any(sample.late for sample in samples):
            return None
        names = ("durations", "event_observed", "entry")
        parts = {name: np.concatenate([getattr(sample, name) for sample in samples]) for name in names}
        return _restore({**first.__dict__, **parts, "_source": ""})

    def seen_at(self, durations: Array, event_observed: Any, entry: Array | None = None) -> Censored:
        """The same rows, with their covariates, seen to end, and perhaps to enter, at other times."""
        made = Censored(durations, event_observed, self.entry if entry is None else entry)
        kept = ("covariates", "covariate_names", "_flat")
        made._set(**{name: getattr(self, name) for name in kept})
        return made

    def named(self, names: Sequence[str]) -> Censored:
        """The same rows, with other names of their covariates."""
        return _restore({**self.__dict__, "covariate_names": tuple(names)})

    def with_covariates(self, covariates: Array, names: Sequence[str]) -> Censored:
        """The same durations, with other covariates, (n, p)."""
        found = {"covariates": covariates, "covariate_names": tuple(names), "_flat": False}
        return _restore({**self.__dict__, **found})

    @property
    def ended(self) -> BoolArray:
        return self.event_observed

    def as_rows(self) -> Array:
        """Durations, (n, 1), which tell observations apart with and without their events."""
        return self.durations[:, None]

    def as_columns(self) -> dict[str, Column]:
        columns: dict[str, Column] = {"duration": self.durations, "event": self.event_observed}
        if self.late:
            columns["entry"] = self.entry
        z = np.empty((len(self), 0)) if self.covariates is None else self.covariates
        return columns | dict(zip(self.covariate_names, z.T, strict=True))

    def like(self, values: Any, model: Any, domain: Any) -> Censored:
        """Times at which events are seen, unless it is said that some are censored."""
        other = as_censored(values, "This result")
        if self.covariates is not None and other.covariates is None:
            reason = "need covariates, as the durations of the test have them."
            remedy = "Pass Censored(durations, event_observed, covariates=z)."
            raise InputError(reason, argument="data", predicate=True, remedy=remedy)
        if other.late and not self.late:
            reason = "have late entries, and the durations of the test have none."
            raise InputError(reason, argument="data", predicate=True, remedy="Leave `entry` out.")
        return other

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
        """As many durations from the model, censored like these, with the same entries and covariates.

        Durations X come from the model, censoring times C from the Kaplan–Meier estimate of the
        censoring distribution (:meth:`kaplan_meier_censoring`), both given that they are later than the
        entry, and T = min(X, C). What that estimate leaves over beyond the longest duration counts as never
        censored.
        """
        n = len(self)
        x, c = model.durations_like(self, rng), self.draw_censoring(n, rng, self.entry)
        t = np.minimum(x, c)
        if np.isinf(t).any():
            bounded = f"The cumulative hazard of {model.name} is bounded"
            found = f"{int(np.isinf(t).sum())} of {n} draws have neither an event nor a censoring time"
            reason = f"{bounded}, and the longest duration of the data is an event: {found}."
            raise SamplingError(reason, remedy=f"Use {given('null', 'WildBootstrap()')}.")
        return self.seen_at(t, x <= c)

    def log_likelihood(self, hazard: Callable[[Array], Array], cumulative: Callable[[Array], Array]) -> Array:
        """log λ at the events less what Λ grew since the entry, (n,), for λ and Λ as functions of times."""
        out = -cumulative(self.durations)
        if self.late:
            out += cumulative(self.entry)
        with np.errstate(divide="ignore"):
            out[self.event_observed] += np.log(hazard(self.durations[self.event_observed]))
        return out

    def at_risk(self, times: ArrayLike | None = None) -> Array:
        """Y(t) = #{E_k < t ≤ T_k} at each time, E_k the entry; at the durations themselves by default.

        Who is censored at t still counts at t: events come before censorings.
        """
        t = self.durations if times is None else real_array(times, "times")
        if np.isnan(t).any():
            raise must("times", "times, and none of them NaN", times)
        below = np.searchsorted(np.sort(self.durations), t, side="left")
        entered = np.sort(self.entry[self.entry > 0])
        later = len(entered) - np.searchsorted(entered, t, side="left")
        return np.asarray(len(self) - below - later, np.float64)

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

    def draw_censoring(self, n: int, rng: np.random.Generator, after: Array | None = None) -> Array:
        """Draw n censoring times from their Kaplan–Meier estimate, (n,); inf with what is left over.

        `after` are times that they exceed, (n,); where the estimate knows of none, they are inf.
        """
        times, survival = self.kaplan_meier_censoring()
        if after is None:
            left: Array | float = 1.0
        else:
            left = np.append(1.0, survival)[np.searchsorted(times, after, side="right")]
        place = np.searchsorted(-survival, -left * rng.random(n), side="left")
        return np.where(np.asarray(left) > 0, np.append(times, np.inf)[place], np.inf)

    def to_scipy(self) -> Any:
        """As a :class:`scipy.stats.CensoredData`, for example to fit one of SciPy's distributions.

        >>> import goodstein as gs
        >>> import scipy.stats
        >>> data = gs.Censored([1.0, 2.0, 3.0], [True, True, False])
        >>> print("%.3f" % scipy.stats.expon.fit(data.to_scipy(), floc=0)[1])  # total time over events
        3.000
        """
        from scipy.stats import CensoredData

        if self.late:
            raise InputError("SciPy's fits know nothing of late entry.", remedy="Use a fitter of lifelines.")
        return CensoredData.right_censored(self.durations, ~self.event_observed)

    def _arguments(self) -> tuple[Hashable, ...]:
        z = None if self.covariates is None else self.covariates.tobytes()
        return self.durations.tobytes(), self.event_observed.tobytes(), self.entry.tobytes(), z

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (dict(self.__dict__),)


def _restore(attributes: dict[str, Any]) -> Censored:
    data = Censored.__new__(Censored)
    data._set(**attributes)
    return data


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def as_censored(data: Any, asked_by: str) -> Censored:
    """Whatever stands for durations with events; in a plain array all durations are events."""
    if isinstance(data, Censored):
        return data
    if not is_frame(data):
        return Censored(*durations_and_events(data, asked_by))
    columns = columns_of(data)
    if len(columns) == 1:
        return Censored(*columns.values())
    there = ", ".join(map(repr, list(columns)[:10]))
    reason = f"a data frame with columns {there} does not say which are durations and which are events."
    remedy = 'Name them: Censored.from_frame(df, durations="...", event_observed="...").'
    raise InputError(reason, argument="data", remedy=remedy)
