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
    """How a file is written, where its ending does not say it."""

    kind: str | None = None
    delimiter: str | None = None
    header: bool = True


def read(source: str, wanted: Wanted, layout: Layout) -> Table:
    """The columns that are wanted, from a file or standard input."""
    found = find(source, layout.kind)
    if found.kind in ("csv", "tsv"):
        table = read_text.read_text(found, wanted, layout.delimiter, layout.header)
    elif found.kind == "json":
        table = read_json.read_json(found, wanted)
    elif found.kind in ("npy", "npz"):
        table = read_arrays.read_arrays(found, wanted)
    else:
        table = frames.read_frames(found, wanted)
    if len(table) < 2:
        many = "no rows" if not len(table) else "1 row"
        raise InputError(f"{table.source} has {many} of data.", remedy="A test needs at least two.")
    return table
