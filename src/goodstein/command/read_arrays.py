"""Arrays of NumPy in files, NPY and NPZ; nothing is unpickled, and headers are read before numbers."""

from __future__ import annotations

import math
import zipfile
import zlib
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from goodstein.command.escaping import quoted, short
from goodstein.command.sources import MOST_NUMBERS, Source
from goodstein.command.table import Column, Table, Wanted, as_numbers, as_word, choose
from goodstein.errors import InputError

MOST_ARRAYS = 10_000
"""Arrays in one file."""


def read_arrays(source: Source, wanted: Wanted) -> Table:
    """The columns of an array (n, d), of a structured one, or of several arrays (n,) with names."""
    with source.opened() as file:
        try:
            if source.kind == "npy":
                arrays = {"": _read(file, source.name, source.size)}
            else:
                arrays = _unpacked(file, source.name)
        except (
            ValueError,
            EOFError,
            zipfile.BadZipFile,
            zlib.error,
            NotImplementedError,
            RuntimeError,
        ) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{source.name} is damaged: {short(str(error), 100)}.") from None
    columns, named = _columns(arrays, source.name)
    names = list(columns)
    made = {}
    for k in choose(names, wanted, source.name):
        values = columns[names[k]][: wanted.rows]
        made[names[k]] = as_column(values, names[k] in wanted.words)
    return Table(source.name, made, named)


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


def _unpacked(file: BinaryIO, name: str) -> dict[str, np.ndarray[Any, Any]]:
    with zipfile.ZipFile(file) as archive:
        members = [one for one in archive.infolist() if one.filename.endswith(".npy")]
        if not members or len(members) > MOST_ARRAYS:
            raise InputError(
                f"{name} holds {len(members)} arrays of NumPy.", remedy="Save one, or a few columns."
            )
        found, total = {}, 0
        for member in members:
            total += member.file_size
            if total > 8 * MOST_NUMBERS:
                raise InputError(f"{name} unpacks to more than is read.", remedy="Save fewer rows.")
            with archive.open(member) as part:
                array = _read(part, f"{name}, {quoted(member.filename)}", member.file_size)  # type: ignore[arg-type]
            found[member.filename.removesuffix(".npy")] = array
    return found


def _columns(arrays: dict[str, np.ndarray[Any, Any]], source: str) -> tuple[dict[str, Any], bool]:
    if len(arrays) == 1:
        (array,) = arrays.values()
        if array.dtype.names:
            return {name: array[name].reshape(-1) for name in array.dtype.names}, True
        if array.ndim in (1, 2):
            table = array[:, None] if array.ndim == 1 else array
            return {str(k): table[:, k] for k in range(table.shape[1])}, False
        shape = "one number" if not array.ndim else f"an array of shape {array.shape}"
        raise InputError(
            f"{source} holds {shape}.", remedy="Save an array (n, d), one row for each observation."
        )
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) > 1 or len(next(iter(shapes))) != 1:
        listed = ", ".join(f"{quoted(name, 20)} {array.shape}" for name, array in list(arrays.items())[:6])
        remedy = "Save one array (n, d), or columns (n,) of equal length."
        raise InputError(f"{source} holds arrays of different kinds: {listed}.", remedy=remedy)
    return dict(arrays), True
