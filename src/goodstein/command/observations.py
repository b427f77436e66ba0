"""From the columns of a table to what a test takes: points, angles, directions or durations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.command.escaping import quoted, short
from goodstein.command.read_arrays import as_column
from goodstein.command.reading import Layout, read
from goodstein.command.strings import nearest
from goodstein.command.table import Table, Wanted, choose, refuse_text, split_names
from goodstein.data.base import Data
from goodstein.data.points import Points
from goodstein.data.weights import as_weights
from goodstein.domains.base import Domain
from goodstein.domains.lonlat import from_lonlat
from goodstein.errors import DomainError, InputError, quiet
from goodstein.lazy import deferred
from goodstein.types import Array, BoolArray

SHIPPED = "dataset:"
"""What stands before the name of a table that ships."""

datasets = deferred("goodstein.datasets.catalogue")
survival = deferred("goodstein.survival.data")


@dataclass(frozen=True)
class Choice:
    """What the options say of the columns."""

    columns: str | None = None
    weights: str | None = None
    duration: str | None = None
    event: str | None = None
    entry: str | None = None
    covariates: str | None = None
    lon: str | None = None
    lat: str | None = None
    degrees: bool = False
    radians: bool = False
    close: bool = False
    drop_missing: bool = False
    rows: int | None = None
    layout: Layout = field(default_factory=Layout)

    def check(self) -> None:
        """Raise where options exclude each other, before a file is opened."""
        if (self.lon is None) != (self.lat is None):
            missing = "--lat" if self.lat is None else "--lon"
            raise InputError(f"directions need both --lon and --lat, and {missing} is missing.")
        kinds = {"--columns": self.columns, "--duration": self.duration, "--lon": self.lon}
        given = [name for name, value in kinds.items() if value is not None]
        if len(given) > 1:
            reason = f"{given[0]} and {given[1]} say different things of the data."
            raise InputError(reason, remedy="Pass one of them.")
        if self.event is not None and self.duration is None:
            raise InputError("--event needs --duration.", remedy="Pass --duration time --event status.")
        for name, value in {"--entry": self.entry, "--covariates": self.covariates}.items():
            if value is not None and self.duration is None:
                raise InputError(f"{name} needs --duration.", remedy="Pass --duration time --event status.")
        if self.weights is not None and self.duration is not None:
            raise InputError("--weights is for points, not for durations.", remedy="Leave it out.")
        if self.degrees and self.radians:
            raise InputError("--degrees and --radians exclude each other.", remedy="Pass one of them.")
        if self.rows is not None and self.rows < 2:
            raise InputError(f"--rows must be at least 2, got {self.rows}.")

    @property
    def event_column(self) -> str:
        """The column of events; empty without."""
        return (self.event or "").partition("=")[0]

    @property
    def event_value(self) -> str:
        """What stands in it for an event; empty where it holds ones and zeros."""
        return (self.event or "").partition("=")[2].strip()

    @property
    def wanted(self) -> Wanted:
        """What has to be read for that."""
        words = frozenset({self.event_column} if self.event_value else ())
        named = tuple(filter(None, (self.duration, self.event_column, self.entry, self.lon, self.lat)))
        named += () if self.covariates is None else split_names(self.covariates)
        if self.columns is not None:
            named = split_names(self.columns)
        if named and self.weights is not None and self.weights not in named:
            named = (*named, self.weights)
        return Wanted(tuple(dict.fromkeys(named)) or None, words, self.rows)


@dataclass(frozen=True)
class Observed:
    """Data for a test, and where they come from.

    `lines` are the lines of the file on which the observations stand; `domain` is that of a table that ships;
    `angles` says that it is known in which unit angles are.
    """

    data: Any
    source: str
    notes: tuple[str, ...] = ()
    lines: npt.NDArray[np.intp] | None = None
    domain: Domain | None = None
    angles: bool = False

    @property
    def points(self) -> Array | None:
        """The rows, (n, d); None for data of another kind."""
        return self.data.observations if isinstance(self.data, Points) else None

    @property
    def dim(self) -> int | None:
        """Number of columns; None for data of another kind."""
        return None if self.points is None else int(self.points.shape[1])

    @property
    def sample(self) -> Any:
        """What a fit takes."""
        if isinstance(self.data, Points) and self.data.weights is not None:
            raise InputError("fits have no place for --weights.", remedy="Name the parameters of the model.")
        return self.data if self.points is None else self.points

    def shuffled(self, seed: int) -> Observed:
        """The same observations in random order."""
        if not isinstance(self.data, Data):
            raise InputError(f"--shuffle is for rows, and {self.source} has none.", remedy="Leave it out.")
        order = np.random.default_rng(seed).permutation(len(self.data))
        lines = None if self.lines is None else self.lines[order]
        notes = (*self.notes, "Took the rows in random order.")
        data = self.data.take(order)
        object.__setattr__(data, "unordered", True)
        return replace(self, data=data, notes=notes, lines=lines)

    def summary(self) -> dict[str, Any]:
        """The data in a record."""
        names = self.data.names if isinstance(self.data, Points) else None
        return {"source": self.source, "n": len(self.data), "columns": None if names is None else list(names)}


def observe(source: str, choice: Choice) -> Observed:
    """The observations that the user names."""
    choice.check()
    if not source.startswith(SHIPPED):
        return _made(read(source, choice.wanted, choice.layout), choice)
    name = source.removeprefix(SHIPPED)
    if name not in datasets.names():
        remedy = f"{nearest(name, datasets.names())} All of them: goodstein datasets."
        raise InputError(f"there is no table {quoted(name)}.", remedy=remedy)
    about = datasets.about(name)
    if choice.wanted.columns is None:
        return _ready(about, source, choice.rows)
    published = about.table()
    names = list(published)
    chosen = [names[k] for k in choose(names, choice.wanted, source)]
    columns = {one: as_column(published[one][: choice.rows], one in choice.wanted.words) for one in chosen}
    return _made(Table(source, columns), choice)


def _ready(about: Any, source: str, rows: int | None) -> Observed:
    """A table that ships, as the library loads it."""
    data = about.load()
    if isinstance(data, np.ndarray):
        x = data[:rows].reshape(len(data[:rows]), -1)
        names = tuple(about.columns)
        data = Points(x, names if len(names) == x.shape[1] else None)
    elif rows is not None:
        raise InputError(f"--rows is for tables of points, and {source} is none.", remedy="Leave it out.")
    return Observed(data, source, domain=about.domain, angles=True)


def _made(table: Table, choice: Choice) -> Observed:
    """The observations that the columns of a table are."""
    coded = choice.event_column if choice.event_value else ""
    refuse_text(table, [name for name in table.columns if name != coded])
    kept, notes = _complete(table, choice.drop_missing, coded)
    lines = None if table.lines is None else table.lines[kept]
    columns = {name: column.values[kept] for name, column in table.columns.items()}
    weights = _weights(columns, choice.weights, table.source)
    if choice.duration is not None:
        marks: Any = columns.get(choice.event_column)
        if coded:
            marks = _marks(table, coded, choice.event_value)[kept]
        data = _durations(columns, marks, choice)
        return Observed(data, table.source, notes, lines)
    if choice.lon is not None and choice.lat is not None:
        points = Points(_directions(columns[choice.lon], columns[choice.lat], choice), weights=weights)
        return Observed(points, table.source, (*notes, *_exchanged(columns, choice)), lines, angles=True)
    x = np.column_stack(list(columns.values()))
    if choice.degrees:
        x = np.radians(x)
    if choice.close:
        x, said = _closed(x, table.source)
        notes = (*notes, said)
    names = tuple(short(name, 80) for name in columns) if table.named else None
    angles = choice.degrees or choice.radians
    return Observed(Points(x, names, weights=weights), table.source, notes, lines, angles=angles)


def _weights(columns: dict[str, Array], name: str | None, source: str) -> Array | None:
    """The column of weights, taken out of the others."""
    if name is None:
        return None
    if name not in columns:
        remedy = nearest(name, list(columns))
        raise InputError(f"{source}: there is no column {quoted(name)} of weights.", remedy=remedy)
    found = columns.pop(name)
    if not columns:
        remedy = "Name the columns of the data with --columns."
        raise InputError(f"{source}: there is no column beside {quoted(name)}.", remedy=remedy)
    try:
        return as_weights(found, len(found))
    except InputError as error:
        raise error.told("--weights") from None


def _complete(table: Table, drop: bool, coded: str) -> tuple[BoolArray, tuple[str, ...]]:
    """Which rows have all their values; where some have not, that is refused unless they may be left out."""
    missing = {name: np.isnan(column.values) for name, column in table.columns.items()}
    if coded:
        missing[coded] = np.array([not word for word in table.columns[coded].words or ()])
    incomplete = np.any(list(missing.values()), axis=0)
    if not incomplete.any():
        return ~incomplete, ()
    holes = {name: int(rows.sum()) for name, rows in missing.items() if rows.any()}
    counts = ", ".join(f"{quoted(name, 30)} {count}" for name, count in list(holes.items())[:8])
    found = f"{int(incomplete.sum())} of {len(table)} rows"
    if drop and not incomplete.all():
        return ~incomplete, (f"Left out {found} with missing values (by column: {counts}).",)
    first = table.where(int(np.argmax(incomplete)))
    raise InputError(
        f"{table.source}: {found} have missing values, the first is {first}; by column: {counts}.",
        remedy="Complete them." if drop else "Complete them, or leave these rows out with --drop-missing.",
    )


def _marks(table: Table, name: str, value: str) -> BoolArray:
    """Where a column of codes says that the event was seen."""
    words = np.array(table.columns[name].words)
    numbers = table.columns[name].values
    try:
        same = (words == value) | (numbers == float(value))
    except ValueError:
        same = words == value
    if not same.any():
        codes = sorted(set(words.tolist()))
        reason = f"{table.source}: column {quoted(name)} is {quoted(value)} nowhere."
        raise InputError(reason, remedy=nearest(value, codes))
    return np.asarray(same)


def _durations(columns: dict[str, Array], marks: Any, choice: Choice) -> Any:
    """Durations with their events, entries and covariates."""
    assert choice.duration is not None
    entry = None if choice.entry is None else columns[choice.entry]
    names = () if choice.covariates is None else split_names(choice.covariates)
    z = np.column_stack([columns[name] for name in names]) if names else None
    try:
        return survival.Censored(columns[choice.duration], marks, entry, z).named(names)
    except InputError as error:
        if error.argument != "event_observed":
            option = "--entry" if error.argument == "entry" else "--duration"
            raise error.told(option) from None
        remedy = f"Say which value stands for the event, for example --event {choice.event_column}=2."
        raise error.told("--event", remedy=remedy) from None


def _directions(lon: Array, lat: Array, choice: Choice) -> Array:
    """Unit vectors of longitudes and latitudes."""
    small = np.abs(lon).max() <= 2 * np.pi and np.abs(lat).max() <= np.pi / 2
    if small and not (choice.radians or choice.degrees):
        raise InputError(
            "all longitudes are within ±2π and all latitudes within ±π/2: they look like radians.",
            remedy="Pass --radians, or --degrees if they are degrees.",
        )
    try:
        with quiet(UserWarning):
            return from_lonlat(lon, lat, degrees=not choice.radians)
    except DomainError as error:
        if error.argument != "latitude":
            raise error.told("--lon") from None
        swapped = (np.abs(lon) <= (np.pi / 2 if choice.radians else 90.0)).all()
        exchange = f"Exchange them: --lon {quoted(choice.lat)} --lat {quoted(choice.lon)}."
        raise error.told("--lat", remedy=exchange if swapped else "Correct or remove them.") from None


def _exchanged(columns: dict[str, Array], choice: Choice) -> tuple[str, ...]:
    """What is said where the names are those of the other coordinate, and the values of both fit either."""
    lon, lat = str(choice.lon), str(choice.lat)
    within = np.pi / 2 if choice.radians else 90.0
    if not (lon.lower().startswith("lat") and lat.lower().startswith("lon")):
        return ()
    if (np.abs(columns[lon]) > within).any():
        return ()
    said = f"Longitudes are taken from {quoted(lon)} and latitudes from {quoted(lat)}."
    return (f"{said} If that is not meant, exchange them: --lon {quoted(lat)} --lat {quoted(lon)}.",)


def _closed(x: Array, source: str) -> tuple[Array, str]:
    """Parts as shares of the sum of their row, and what was done."""
    total = x.sum(axis=1)
    bad = (x < 0).any(axis=1) | ~(total > 0)
    if bad.any():
        reason = f"{source}: {int(bad.sum())} of {len(x)} rows have a negative part, or only zeros."
        raise InputError(reason, remedy="--close is for parts of a whole; correct or remove such rows.")
    said = f"Divided each row by its sum, which was from {total.min():.6g} to {total.max():.6g}."
    return x / total[:, None], said
