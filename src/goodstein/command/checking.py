"""``goodstein check``: audit, the recommended test, what fails and how wrong it is; as text, JSON or HTML."""

from __future__ import annotations

import json
from typing import Any

import click

from goodstein.command.asking import ask
from goodstein.command.options import DATA, FIT, PLACE, PRINT, RUN, examples, takes
from goodstein.command.output import as_record, writable, write
from goodstein.command.pictures import PLOT, draw, drawable
from goodstein.lazy import deferred

library = deferred("goodstein")


@click.command(
    "check",
    epilog=examples(
        "goodstein check dataset:skye_lavas dirichlet --fit",
        "goodstein check incomes.csv normal --fit --columns age,income --output report.html",
    ),
)
@click.argument("data")
@click.argument("model")
@takes(FIT, DATA, PLACE, RUN)
@click.option("--output", metavar="FILE", help="Write a report, .html, or the record, .json.")
@takes(PLOT, PRINT)
def command(data: str, model: str, output: str | None, **options: Any) -> None:
    """Check whether MODEL fits DATA: is a test valid, does it reject, what fails, and how wrong is it.

    DATA is a file (CSV, TSV, JSON, NPY, NPZ, Parquet, Arrow), - for standard input, or dataset:NAME. MODEL is
    a name with parameters, such as normal:mean=0,cov=1, a name with --fit, or file.py:name.
    """
    path = None if output is None else writable(output, ".html", ".json")
    picture = drawable(options["plot"])
    question = ask(data, [model], options)
    (chosen,) = question.models
    assert question.observed is not None
    with question.working("Checking"):
        found = library.check(
            question.observed.data,
            chosen.model,
            domain=question.place,
            level=question.level,
            workers=options["workers"],
            rng=question.seed,
        )
    record = {**question.record(), "result": json.loads(found.to_json())}
    if path is not None and path.suffix.lower() == ".json":
        write(path, as_record("check", record))
    elif path is not None:
        with question.working("Writing the report"):
            found.to_html(path)
    if picture is not None:
        draw(found, picture)
    question.printer.result("check", record, lambda: f"{found}\n\n{question.footer()}")
