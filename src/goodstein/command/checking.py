"""``goodstein check``: audit, the recommended test, what fails and how wrong it is; as text, JSON or HTML."""

from __future__ import annotations

from typing import Any

import click

from goodstein.checking.check import check
from goodstein.checking.result import CheckResult
from goodstein.command.asking import ask
from goodstein.command.options import (
    DATA,
    FIT,
    NULL,
    PLACE,
    PRINT,
    RUN,
    data_argument,
    examples,
    model_argument,
    takes,
)
from goodstein.command.output import as_record, writable, write
from goodstein.command.pictures import PLOT, draw, drawable, left_out


@click.command(
    "check",
    epilog=examples(
        "goodstein check dataset:skye_lavas dirichlet --fit",
        "goodstein check incomes.csv normal --fit --columns age,income --output report.html",
    ),
)
@data_argument
@model_argument()
@takes(FIT, DATA, PLACE, NULL, RUN)
@click.option("--explain", is_flag=True, help="Add the table of everything that was looked at.")
@click.option("--output", metavar="FILE", help="Write a report, .html, or the record, .json.")
@takes(PLOT, PRINT)
def command(data: str, model: str, explain: bool, output: str | None, **options: Any) -> None:
    """Check whether MODEL fits DATA: is a test valid, does it reject, what fails, and how wrong is it.

    DATA is a file (CSV, TSV, JSON, NPY, Parquet), - for standard input, or dataset:NAME. MODEL is
    a name with parameters, such as normal:mean=0,cov=1, a name with --fit, or file.py:name.
    """
    path = None if output is None else writable(output, ".html", ".json")
    picture = drawable(options["plot"])
    question = ask(data, [model], options)
    (chosen,) = question.models
    assert question.observed is not None
    with question.working("Checking"):
        arguments = question.arguments(chosen)
        found = check(question.observed.data, chosen.model, level=question.level, **arguments)
        question.said.extend(found.notes)
    record = {**question.record(), "reject": found.rejected, "result": found.to_dict()}
    if path is not None and path.suffix.lower() == ".json":
        write(path, as_record("check", record))
        question.printer.note(f"Wrote {path}.")
    elif path is not None:
        with question.working("Writing the report"):
            found.to_html(path)
        question.printer.note(f"Wrote {path}.{left_out()}")
    if picture is not None:
        draw(found, picture, question.printer)
    question.printer.result("check", record, lambda: f"{found}{_table(found) if explain else ''}")


def _table(found: CheckResult) -> str:
    """Everything that was looked at, or why there is nothing."""
    return "\n\n" + (found.missing["explanation"] if found.explanation is None else str(found.explanation))
