"""A table from wherever the user says, by the reader for its kind."""

from __future__ import annotations

from dataclasses import dataclass

from goodstein.command import read_arrays, read_json, read_text
from goodstein.command.sources import find
from goodstein.command.table import Table, Wanted
from goodstein.errors import InputError
from goodstein.lazy import deferred

frames = deferred("goodstein.command.read_frames")


@dataclass(frozen=True)
class Layout:
    """How a table of text is written."""

    delimiter: str | None = None
    header: bool = True


def read(source: str, wanted: Wanted, layout: Layout) -> Table:
    """The columns that are wanted, from a file or standard input."""
    found = find(source)
    if found.kind in ("csv", "tsv"):
        table = read_text.read_text(found, wanted, layout.delimiter, layout.header)
    elif found.kind == "json":
        table = read_json.read_json(found, wanted)
    elif found.kind == "npy":
        table = read_arrays.read_array(found, wanted)
    else:
        table = frames.read_parquet(found, wanted)
    if len(table) < 2:
        many = "no rows" if not len(table) else "1 row"
        raise InputError(f"{table.source} has {many} of data.", remedy="A test needs at least two.")
    return table
