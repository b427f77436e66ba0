"""Tables in text: CSV and TSV, line by line."""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Iterator
from itertools import islice
from typing import TextIO

import numpy as np

from goodstein.command.escaping import quoted, short
from goodstein.command.sources import MOST_NUMBERS, MOST_TEXT, Source
from goodstein.command.table import Column, Table, Wanted, as_numbers, as_word, choose
from goodstein.errors import InputError

BLOCK = 20_000
"""Rows that are held as text at a time."""

LONGEST_LINE = 1 << 20
"""Characters; a longer line is no row of a table."""

SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas", " ": "spaces"}
PARQUET = "Convert it to Parquet, of which only the --columns are read, or read its beginning: --rows 100000."


def read_text(source: Source, wanted: Wanted, delimiter: str | None = None, header: bool = True) -> Table:
    """The columns of a CSV or TSV file; cells that are not asked for are not looked at."""
    if wanted.rows is None:
        source.require_size(MOST_TEXT, PARQUET)
    mark = delimiter or ("\t" if source.kind == "tsv" else ",")
    with source.opened() as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        try:
            return _read(text, source.name, wanted, mark, header)
        except UnicodeDecodeError as error:
            reason = (
                f"{source.name} is no text in UTF-8: byte {error.object[error.start]:#x} at {error.start}."
            )
            raise InputError(reason, remedy="Save it as UTF-8.") from None
        except csv.Error as error:
            raise InputError(f"{source.name} is no table of text: {short(str(error), 80)}.") from None
        finally:
            text.detach()


def _read(text: TextIO, source: str, wanted: Wanted, mark: str, header: bool) -> Table:
    reader = csv.reader(_lines(text, source), delimiter=mark, skipinitialspace=True)
    rows = _filled(reader)
    first = next(rows, None)
    if first is None:
        raise InputError(f"{source} is empty.", remedy="A test needs a table with at least two rows.")
    line, cells = first
    names = [cell.strip() for cell in cells]
    _refuse_other_separator(names, mark, source)
    if header and all(_is_number(name) for name in names):
        raise InputError(
            f"{source}: the first line holds numbers, no names of columns: {quoted(mark.join(names))}.",
            remedy="Pass --no-header if it is a row of data; the columns are then called 0, 1, …",
        )
    if not header:
        names = [str(k) for k in range(len(cells))]
    places = choose(names, wanted, source)
    columns = {names[k]: Column(np.empty(0), [] if names[k] in wanted.words else None) for k in places}
    numbers = {name: array("d") for name in columns}
    lines = array("q")
    body = rows if header else _again(first, rows)
    if wanted.rows is not None:
        body = islice(body, wanted.rows)
    while block := list(islice(body, BLOCK)):
        for line, cells in block:
            if len(cells) != len(names):
                reason = f"{source}: line {line} has {len(cells)} cells, the first line has {len(names)}."
                raise InputError(reason, remedy="Correct it, or say what separates cells: --delimiter ';'.")
        if (len(lines) + len(block)) * len(places) > MOST_NUMBERS:
            raise InputError(f"{source} holds more than {MOST_NUMBERS} numbers.", remedy=PARQUET)
        for k in places:
            column, taken = columns[names[k]], [cells[k] for _, cells in block]
            if column.words is not None:
                column.words.extend(map(as_word, taken))
            try:
                numbers[names[k]].extend(map(float, taken))
            except ValueError:
                del numbers[names[k]][len(lines) :]
                numbers[names[k]].extend(as_numbers(taken, len(lines), column))
        lines.extend(line for line, _ in block)
    for name, column in columns.items():
        column.values = np.array(numbers[name])
    return Table(source, columns, header, np.array(lines, np.intp))


def _lines(text: TextIO, source: str) -> Iterator[str]:
    """Lines of bounded length."""
    number = 0
    while line := text.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE and not line.endswith("\n"):
            raise InputError(f"{source}: line {number} is longer than a row of a table can be.")
        if "\0" in line:
            raise InputError(f"{source}: line {number} holds zero bytes, so this is no text.")
        yield line


def _filled(reader: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not empty, with the number of the line on which they end."""
    for cells in reader:
        if cells and (len(cells) > 1 or cells[0].strip()):
            yield reader.line_num, cells  # type: ignore[attr-defined]


def _again(
    first: tuple[int, list[str]], rows: Iterator[tuple[int, list[str]]]
) -> Iterator[tuple[int, list[str]]]:
    yield first
    yield from rows


def _refuse_other_separator(names: list[str], mark: str, source: str) -> None:
    """Raise where the only name of a column holds what separates the cells of other tables."""
    if len(names) > 1:
        return
    for other, word in SEPARATORS.items():
        if other != mark and other in names[0].strip():
            shown = "$'\\t'" if other == "\t" else f"'{other}'"
            raise InputError(
                f"{source} has one column, {quoted(names[0])}: its cells seem to be separated by {word}.",
                remedy=f"Pass --delimiter {shown}.",
            )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
