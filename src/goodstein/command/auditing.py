"""``goodstein audit``: whether a test would be valid, before it is made."""

from __future__ import annotations

from typing import Any

import click

from goodstein.command.asking import ask
from goodstein.command.options import DATA, FIT, PLACE, PRINT, examples, model_argument, takes
from goodstein.tests_of_fit.audit import audit


@click.command(
    "audit",
    epilog=examples(
        "goodstein audit dirichlet:alpha=0.5,0.5,0.5",
        "goodstein audit towns.csv normal:mean=0,0 --region county.geojson",
    ),
)
@model_argument("what", nargs=-1, metavar="[DATA] MODEL")
@takes(FIT, DATA, PLACE)
@click.option("--seed", type=click.IntRange(0), help="Seed of everything random.")
@takes(PRINT)
def command(what: tuple[str, ...], **options: Any) -> None:
    """Say whether a test of MODEL would keep its level, on DATA or on draws from the model."""
    if len(what) not in (1, 2):
        raise click.UsageError("name a model, or data and a model")
    source, model = (None, what[0]) if len(what) == 1 else what
    question = ask(source, [model], options)
    with question.working("Auditing"):
        data = None if question.observed is None else question.observed.data
        report = audit(question.models[0].model, domain=question.place, data=data, rng=question.seed)
    record = {**question.record(), "valid": report.valid, "result": report.to_dict()}
    question.printer.result("audit", record, lambda: str(report))
