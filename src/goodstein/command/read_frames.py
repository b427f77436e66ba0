"""Parquet and Arrow files, through polars or pyarrow, whichever is installed."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.command.escaping import short
from goodstein.command.read_arrays import as_column
from goodstein.command.sources import MOST_NUMBERS, Source
from goodstein.command.table import Table, Wanted, choose
from goodstein.errors import InputError


def read_frames(source: Source, wanted: Wanted) -> Table:
    """The columns of a Parquet or Arrow file; the others are not read."""
    library = _library()
    with source.opened() as file:
        try:
            names, rows = library.header(file, source.kind)
            rows = rows if wanted.rows is None else min(rows, wanted.rows)
            chosen = [names[k] for k in choose(names, wanted, source.name)]
            if rows * len(chosen) > MOST_NUMBERS:
                raise InputError(
                    f"{source.name} holds {rows} rows of {len(chosen)} columns, more than the {MOST_NUMBERS} "
                    "numbers that are read.",
                    remedy="Name fewer --columns, or read the beginning: --rows 1000000.",
                )
            file.seek(0)
            frame = library.columns(file, source.kind, chosen, rows)
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

    def header(self, file: Any, kind: str) -> tuple[list[str], int]:
        schema = self.polars.read_parquet_schema if kind == "parquet" else self.polars.read_ipc_schema
        names = list(schema(file))
        file.seek(0)
        scan = self.polars.scan_parquet if kind == "parquet" else self.polars.scan_ipc
        return names, int(scan(file).select(self.polars.len()).collect().item())

    def columns(self, file: Any, kind: str, names: list[str], rows: int) -> Any:
        scan = self.polars.scan_parquet if kind == "parquet" else self.polars.scan_ipc
        return _narwhals(scan(file).select(names).head(rows).collect())


class _PyArrow:
    """Reading with pyarrow."""

    def header(self, file: Any, kind: str) -> tuple[list[str], int]:
        if kind == "parquet":
            from pyarrow.parquet import ParquetFile

            found = ParquetFile(file)
            return list(found.schema_arrow.names), int(found.metadata.num_rows)
        from pyarrow.ipc import open_file

        batches = open_file(file)
        return list(batches.schema.names), sum(
            batches.get_batch(k).num_rows for k in range(batches.num_record_batches)
        )

    def columns(self, file: Any, kind: str, names: list[str], rows: int) -> Any:
        if kind == "parquet":
            from pyarrow.parquet import read_table

            return _narwhals(read_table(file, columns=names).slice(0, rows))
        from pyarrow.ipc import open_file

        return _narwhals(open_file(file).read_all().select(names).slice(0, rows))


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
        raise InputError("Parquet and Arrow files need polars or pyarrow:", remedy=remedy) from None
    return _PyArrow()
