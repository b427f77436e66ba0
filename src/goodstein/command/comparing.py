"""``goodstein compare``: several models of the same data, with p-values adjusted for their number."""

from __future__ import annotations

from typing import Any

import click

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
from goodstein.command.testing import METHODS, brief
from goodstein.nulls.holm import holm
from goodstein.text import Table, plain

LONGEST = 60
"""Letters of a model's name; where one has more, all are called as they were written."""


@click.command(
    "compare",
    epilog=examples(
        "goodstein compare dataset:skye_lavas dirichlet:fit logistic_normal:fit dirichlet:alpha=1,1,1",
    ),
)
@data_argument
@model_argument("models", nargs=-1, required=True)
@takes(FIT, DATA, PLACE)
@click.option(
    "--method", type=click.Choice(list(METHODS)), default="ksd", show_default=True, help="Which test."
)
@takes(NULL, RUN, PRINT)
def command(data: str, models: tuple[str, ...], **options: Any) -> None:
    """Test each of several MODELS on the same DATA; p-values are adjusted for their number (Holm).

    A model that is to be fitted is written NAME:fit; --fit fits all of them.
    """
    if len(models) < 2:
        raise click.UsageError("name at least two models; for one: goodstein test")
    question = ask(data, models, options)
    assert question.observed is not None
    function = getattr(METHODS[options["method"]], f"{options['method']}_test")
    results = []
    with question.working("Testing"):
        for chosen in question.models:
            results.append(function(question.observed.data, chosen.model, **question.arguments(chosen)))
            question.said.extend(results[-1].notes)
    adjusted = holm([result.pvalue for result in results])
    found = list(zip(models, results, adjusted, strict=True))
    record = {
        **question.record(),
        "models": [
            {
                "model": text,
                "pvalue": plain(float(result.pvalue)),
                "adjusted_pvalue": plain(float(p)),
                "reject": bool(p <= question.level),
                "result": brief(result),
            }
            for text, result, p in found
        ],
    }

    def said() -> str:
        told = all(len(result.model) <= LONGEST for result in results)
        lines = [
            (
                result.model if told else text,
                f"{result.pvalue:.4g}",
                f"{p:.4g}",
                "rejected" if p <= question.level else "not rejected",
            )
            for text, result, p in found
        ]
        table = Table(("model", "p", "adjusted p", f"at level {question.level:g}"), lines)
        notes = dict.fromkeys(note for result in results for note in result.notes)
        many = results[0].data or f"{results[0].n} observations"
        head = f"{len(models)} models, {many}, p-values adjusted by Holm"
        return "\n".join([head, "", *table.text(), "", *(f"  Note: {n}" for n in notes), question.footer()])

    question.printer.result("compare", record, said)
