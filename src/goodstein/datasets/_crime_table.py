"""Rows of a table of crimes: which to take, and where they are."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.errors import InputError
from goodstein.types import Array

# What a column may be called, once letters are small and spaces and underscores are gone; in order of
# preference.
NAMES = {
    "latitude": ("latitude", "lat"),
    "longitude": ("longitude", "lon", "lng", "long"),
    "type": ("primarytype",),
    "year": ("year",),
    "date": ("date",),
}

# "07/04/2020 11:30:00 PM" in an export today, "07/04/2020 23:30" in older ones.
DATES = ("%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M", "%m/%d/%Y")

# The portal gives some records the coordinates (0, 0) on its own grid (Illinois East, in feet), far from
# the city; in degrees that is the first of these points. Others write latitude 0 and longitude 0.
NOWHERE = ((36.619446, -91.686566), (0.0, 0.0))

SHOWN = 5  # how many of the values that are there a message names


@dataclass(frozen=True)
class Rows:
    """The rows with the type and year asked for and a location, and how many have not."""

    lonlat: Array
    rows: npt.NDArray[np.intp]
    rows_read: int
    other_types: int
    other_years: int
    unlocated: int
    notes: tuple[str, ...]


def read_rows(table: Any, primary_type: str | None, year: int | None) -> Rows:
    """Read a path or a data frame row by row; each row is left out for the first reason that applies."""
    columns, records = _open(table)
    where = _find_columns(columns)
    latitude, longitude = (_required(where, columns, name) for name in ("latitude", "longitude"))
    kind, notes = _type_column(where, primary_type)
    dated = _date_column(where, columns, year)
    if year is not None:
        notes = (*notes, f"year: {year}")
    wanted = "" if primary_type is None else _plain(primary_type)
    types: Counter[str] = Counter()
    years: Counter[int] = Counter()
    lonlat: list[tuple[float, float]] = []
    rows: list[int] = []
    unlocated = 0
    number = -1
    for number, record in enumerate(records):
        if kind is not None:
            value = "" if _missing(record[kind]) else str(record[kind]).strip()
            if value.upper() != wanted:
                types[value] += 1
                continue
        if dated is not None:
            found = _year(record[dated], number)
            if found != year:
                years[found] += 1
                continue
        lat = _degrees(record[latitude], number, "latitude", 90.0)
        lon = _degrees(record[longitude], number, "longitude", 180.0)
        if np.isnan(lat) or np.isnan(lon) or _is_nowhere(lat, lon):
            unlocated += 1
            continue
        lonlat.append((lon, lat))
        rows.append(number)
    read = number + 1
    if not read:
        raise InputError("`table` has no rows.")
    _require_rows(read, lonlat, types, years, primary_type, year)
    return Rows(
        np.array(lonlat), np.array(rows, np.intp), read, types.total(), years.total(), unlocated, notes
    )


def _open(table: Any) -> tuple[list[str], Iterator[Sequence[Any]]]:
    """Names of the columns, and the rows one after the other."""
    if isinstance(table, (str, PathLike)):
        lines = _lines(Path(table))
        header = next(lines, None)
        if header is None:
            raise InputError(
                f"`table`: {Path(table).name} is empty; expected a line with the names of the columns."
            )
        return list(header), _same_length(lines, len(header))
    import narwhals as nw

    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        remedy = "Call .collect() on it first" if hasattr(table, "collect") else "Pass one of these"
        raise InputError(
            f"`table` must be the path of a CSV file or a data frame, got {type(table).__name__}. {remedy}."
        ) from None
    # get_column, not frame[name]: names may be numbers.
    values = [frame.get_column(name).to_list() for name in frame.columns]
    return [str(name) for name in frame.columns], iter(zip(*values, strict=True))


def _lines(path: Path) -> Iterator[list[str]]:
    """The lines of a CSV file that are not empty; fields in quotes may hold commas and line breaks."""
    with path.open(encoding="utf-8-sig", newline="") as file:  # a spreadsheet may have put a mark in front
        reader = csv.reader(file)
        try:
            yield from (line for line in reader if line)
        except (csv.Error, UnicodeDecodeError) as error:
            raise InputError(
                f"`table`: {path.name} cannot be read as CSV after line {reader.line_num}: {error}. Save it "
                "as comma-separated values in UTF-8."
            ) from None


def _same_length(lines: Iterator[list[str]], width: int) -> Iterator[list[str]]:
    for number, line in enumerate(lines):
        if len(line) != width:
            raise InputError(
                f"`table`: row {number} has {len(line)} fields, but there are {width} columns. Is the "
                "download complete, and are fields with commas in quotes?"
            )
        yield line


def _find_columns(columns: Sequence[str]) -> dict[str, int]:
    """Where the columns are that have a meaning here."""
    plain = ["".join(filter(str.isalnum, name)).lower() for name in columns]
    found = {}
    for meaning, names in NAMES.items():
        for name in names:
            places = [i for i, column in enumerate(plain) if column == name]
            if len(places) > 1:
                both = " and ".join(repr(columns[i]) for i in places[:2])
                raise InputError(f"`table` has two columns for the {meaning}, {both}. Drop or rename one.")
            if places:
                found[meaning] = places[0]
                break
    return found


def _required(where: dict[str, int], columns: Sequence[str], meaning: str) -> int:
    if meaning not in where:
        raise InputError(f"`table` has no column {meaning.title()!r}. It has {_named(columns, 10)}.")
    return where[meaning]


def _type_column(where: dict[str, int], primary_type: str | None) -> tuple[int | None, tuple[str, ...]]:
    if primary_type is None:
        return None, ("all types of crime",)
    if "type" not in where:
        return None, (f"no column 'Primary Type': all rows taken, whether {_plain(primary_type)} or not",)
    return where["type"], (f"type of crime: {_plain(primary_type)}",)


def _date_column(where: dict[str, int], columns: Sequence[str], year: int | None) -> int | None:
    if year is None:
        return None
    place = where.get("year", where.get("date"))
    if place is None:
        raise InputError(
            f"`year`: the table has neither a column 'Year' nor 'Date' to find {year} in. It has "
            f"{_named(columns, 10)}. Pass year=None to take all rows."
        )
    return place


def _plain(name: str) -> str:
    return name.strip().upper()


def _named(names: Sequence[str], most: int) -> str:
    listed = ", ".join(repr(name) for name in names[:most])
    return f"{listed} and {len(names) - most} more" if len(names) > most else listed


def _missing(value: Any) -> bool:
    """None, an empty field, or one of the values that are not equal to themselves."""
    if isinstance(value, str):
        return value.strip().lower() in ("", "nan", "null", "na")
    return value is None or bool(value != value)


def _year(value: Any, row: int) -> int:
    """The year of a date, or of a field that holds nothing else."""
    if not _missing(value):
        if hasattr(value, "year"):
            return int(value.year)
        text = str(value).strip()
        try:
            number = float(text)
            if number.is_integer():
                return int(number)
        except ValueError:
            found = _date(text)
            if found is not None:
                return found.year
    raise InputError(
        f"`table`: row {row} has no date that can be read, but {value!r}. Expected a year, "
        "'07/04/2020 11:30:00 PM' or '2020-07-04 23:30'. Correct it, or pass year=None."
    )


def _date(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    for form in DATES:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    return None


def _degrees(value: Any, row: int, name: str, most: float) -> float:
    """A latitude or longitude, NaN where there is none."""
    if _missing(value):
        return np.nan
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"`table`: the {name} of row {row} is {value!r}, not a number.") from None
    if not abs(number) <= most:
        raise InputError(
            f"`table`: the {name} of row {row} is {number:g}, not between -{most:g} and {most:g} degrees. "
            "Are the columns exchanged, or in another unit?"
        )
    return number


def _is_nowhere(lat: float, lon: float) -> bool:
    return any(abs(lat - a) < 1e-5 and abs(lon - b) < 1e-5 for a, b in NOWHERE)


def _require_rows(
    read: int,
    located: Sequence[object],
    types: Counter[str],
    years: Counter[int],
    primary_type: str | None,
    year: int | None,
) -> None:
    """Say why no row is left, if none is."""
    if located:
        return
    if types.total() == read:
        most = ", ".join(f"{name or '(empty)'} ({count})" for name, count in types.most_common(SHOWN))
        raise InputError(
            f"`primary_type`: none of the {read} rows is {primary_type!r}. The most frequent: {most}."
        )
    if years.total() == read - types.total():
        most = ", ".join(f"{name} ({count})" for name, count in years.most_common(SHOWN))
        raise InputError(f"`year`: none of the {years.total()} rows is of {year}. The most frequent: {most}.")
    raise InputError(f"`table`: none of the {read - types.total() - years.total()} rows has a location.")
