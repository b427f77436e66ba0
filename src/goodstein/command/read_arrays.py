"""Arrays of NumPy in files, NPY; nothing is unpickled, and the header is read before the numbers."""

from __future__ import annotations

import math
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from goodstein.command.escaping import short
from goodstein.command.sources import MOST_NUMBERS, Source
from goodstein.command.table import Column, Table, Wanted, as_numbers, as_word, choose
from goodstein.errors import InputError


def read_array(source: Source, wanted: Wanted) -> Table:
    """The columns of an array (n, d), or of a structured one."""
    with source.opened() as file:
        try:
            array = _read(file, source.name, source.size)
        except (ValueError, EOFError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{source.name} is damaged: {short(str(error), 100)}.") from None
    if array.dtype.names:
        columns = {name: array[name].reshape(-1) for name in array.dtype.names}
    elif array.ndim in (1, 2):
        table = array[:, None] if array.ndim == 1 else array
        columns = {str(k): column for k, column in enumerate(table.T)}
    else:
        shape = "one number" if not array.ndim else f"an array of shape {array.shape}"
        remedy = "Save an array (n, d), one row for each observation."
        raise InputError(f"{source.name} holds {shape}.", remedy=remedy)
    names = list(columns)
    made = {}
    for k in choose(names, wanted, source.name):
        values = columns[names[k]][: wanted.rows]
        made[names[k]] = as_column(values, names[k] in wanted.words)
    return Table(source.name, made, bool(array.dtype.names))


def as_column(values: np.ndarray[Any, Any], words: bool) -> Column:
    """An array (n,) as a column."""
    column = Column(np.empty(0), [as_word(cell) for cell in values.tolist()] if words else None)
    if values.dtype.kind in "iuf":
        column.values = values.astype(np.float64)
    else:
        cells = values.tolist() if values.dtype.kind in "bUO" else [str(cell) for cell in values]
        column.values = np.array(as_numbers(cells, 0, column), np.float64)
    return column


def _read(file: BinaryIO, name: str, size: int) -> np.ndarray[Any, Any]:
    """One array, if it is of numbers and not larger than its file and what is taken into memory."""
    version = npy.read_magic(file)
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, order, kind = header(file)
    if kind.hasobject:
        remedy = "Save the numbers alone, or the table as CSV or Parquet."
        raise InputError(f"{name} holds objects of Python, which are not unpickled.", remedy=remedy)
    count = math.prod(shape)
    if count * max(1, len(kind.names or ())) > MOST_NUMBERS:
        raise InputError(
            f"{name} holds {count} numbers, more than the {MOST_NUMBERS} that are read.",
            remedy="Save fewer rows, or Parquet, of which only the --columns are read.",
        )
    if count * kind.itemsize > size:
        raise InputError(f"{name} is damaged: it says that it holds more numbers than there are bytes.")
    content = file.read(count * kind.itemsize)
    return np.frombuffer(content, kind, count).reshape(shape, order="F" if order else "C")
