"""``goodstein datasets``: the tables that ship."""

from __future__ import annotations

from typing import Any

import click

from goodstein.command.escaping import quoted
from goodstein.command.options import PRINT, examples, takes
from goodstein.command.output import Printer, writable, write
from goodstein.command.strings import nearest
from goodstein.datasets.catalogue import Dataset, about, names
from goodstein.engine import files
from goodstein.errors import InputError


@click.command(
    "datasets",
    epilog=examples(
        "goodstein datasets skye_lavas",
        "goodstein test dataset:skye_lavas dirichlet --fit",
    ),
)
@click.argument("name", required=False)
@click.option("--output", metavar="FILE", help="Write the published table as CSV; - for standard output.")
@takes(PRINT)
def command(name: str | None, output: str | None, as_json: bool, quiet: bool) -> None:
    """List the tables that ship, or say what is known of the one with this NAME."""
    printer = Printer(as_json, quiet)
    if name is None:
        if output is not None:
            raise click.UsageError("--output needs the name of a table")
        tables = [about(one) for one in names()]
        record: dict[str, Any] = {"datasets": [_record(table) for table in tables]}
        width = max(len(table.name) for table in tables)
        lines = [f"  {table.name:<{width}}  {table.title}" for table in tables]
        head = "Tables that ship; use one as dataset:NAME.\n"
        printer.result("datasets", record, lambda: "\n".join([head, *lines]))
        return
    name = name.removeprefix("dataset:")
    if name not in names():
        raise InputError(f"there is no table {quoted(name)}.", remedy=nearest(name, names()))
    found = about(name)
    if output is None:
        printer.result("datasets", {"datasets": [_record(found)]}, lambda: str(found))
    elif output == "-":
        click.echo(_csv(found), nl=False)
    else:
        write(writable(output, ".csv"), _csv(found))
        printer.note(f"Wrote {output}.")


def _record(table: Dataset) -> dict[str, Any]:
    return {
        "name": table.name,
        "title": table.title,
        "rows": len(next(iter(table.table().values()))),
        "columns": dict(table.columns),
        "domain": None if table.domain is None else repr(table.domain),
        "references": list(table.references),
        "source": table.source,
    }


def _csv(table: Dataset) -> str:
    columns = table.table()
    lines = zip(*(_cells(values.tolist()) for values in columns.values()), strict=True)
    return str(files.csv_text([columns, *lines]))


def _cells(values: list[Any]) -> list[Any]:
    """Whole numbers without a point, and nothing where nothing is known."""
    return [
        ("" if cell != cell else int(cell) if cell.is_integer() else cell)
        if isinstance(cell, float)
        else cell
        for cell in values
    ]
