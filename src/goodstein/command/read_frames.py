"""Parquet files, through polars or pyarrow, whichever is installed."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.command.escaping import short
from goodstein.command.read_arrays import as_column
from goodstein.command.sources import MOST_NUMBERS, Source
from goodstein.command.table import Table, Wanted, choose
from goodstein.errors import InputError


def read_parquet(source: Source, wanted: Wanted) -> Table:
    """The columns of a Parquet file; the others are not read."""
    library = _library()
    with source.opened() as file:
        try:
            names, rows = library.header(file)
            rows = rows if wanted.rows is None else min(rows, wanted.rows)
            chosen = [names[k] for k in choose(names, wanted, source.name)]
            if rows * len(chosen) > MOST_NUMBERS:
                raise InputError(
                    f"{source.name} holds {rows} rows of {len(chosen)} columns, more than the {MOST_NUMBERS} "
                    "numbers that are read.",
                    remedy="Name fewer --columns, or read the beginning: --rows 1000000.",
                )
            file.seek(0)
            frame = library.columns(file, chosen, rows)
        except InputError:
            raise
        except Exception as error:  # both have many kinds of their own
            raise InputError(f"{source.name} is damaged: {short(str(error), 100)}.") from None
    made = {}
    for name in chosen:
        series = frame.get_column(name)
        kind, numeric = series.dtype, series.dtype.is_numeric()
        values = np.asarray(series.to_numpy() if numeric else np.array(series.to_list(), dtype=object))
        made[name] = as_column(values, name in wanted.words)
        if kind.is_temporal():
            remedy = "Dates become numbers as times since one of them, for example in days."
            raise InputError(f"{source.name}: column {short(name)!r} holds dates or times.", remedy=remedy)
    return Table(source.name, made)


class _Polars:
    """Reading with polars."""

    def __init__(self, polars: Any) -> None:
        self.polars = polars

    def header(self, file: Any) -> tuple[list[str], int]:
        names = list(self.polars.read_parquet_schema(file))
        file.seek(0)
        return names, int(self.polars.scan_parquet(file).select(self.polars.len()).collect().item())

    def columns(self, file: Any, names: list[str], rows: int) -> Any:
        return _narwhals(self.polars.scan_parquet(file).select(names).head(rows).collect())


class _PyArrow:
    """Reading with pyarrow."""

    def header(self, file: Any) -> tuple[list[str], int]:
        from pyarrow.parquet import ParquetFile

        found = ParquetFile(file)
        return list(found.schema_arrow.names), int(found.metadata.num_rows)

    def columns(self, file: Any, names: list[str], rows: int) -> Any:
        from pyarrow.parquet import read_table

        return _narwhals(read_table(file, columns=names).slice(0, rows))


def _narwhals(frame: Any) -> Any:
    import narwhals as nw

    return nw.from_native(frame, eager_only=True)


def _library() -> Any:
    try:
        import polars
    except ImportError:
        pass
    else:
        return _Polars(polars)
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        remedy = 'pip install "goodstein[io]", or save the table as CSV.'
        raise InputError("Parquet files need polars or pyarrow:", remedy=remedy) from None
    return _PyArrow()
