"""``goodstein test``: one test of one model."""

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
from goodstein.command.pictures import PLOT, draw, drawable
from goodstein.lazy import deferred
from goodstein.results.result import TestResult

METHODS = {
    "ksd": deferred("goodstein.tests_of_fit.ksd"),
    "aggregated": deferred("goodstein.tests_of_fit.aggregated"),
}


@click.command(
    "test",
    epilog=examples(
        "goodstein test lavas.csv dirichlet:alpha=2,3,1 --columns A,F,M",
        "goodstein test dataset:skye_lavas logistic_normal --fit",
    ),
)
@data_argument
@model_argument()
@takes(FIT, DATA, PLACE)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="ksd",
    show_default=True,
    help="One kernel Stein discrepancy, or many at once.",
)
@takes(NULL, RUN, PLOT, PRINT)
def command(data: str, model: str, **options: Any) -> None:
    """Test whether MODEL fits DATA.

    DATA is a file (CSV, TSV, JSON, NPY, Parquet), - for standard input, or dataset:NAME. MODEL is
    a name with parameters, such as normal:mean=0,cov=1, a name with --fit, or file.py:name.
    """
    picture = drawable(options["plot"])
    question = ask(data, [model], options)
    (chosen,) = question.models
    assert question.observed is not None
    with question.working("Testing"):
        function = getattr(METHODS[options["method"]], f"{options['method']}_test")
        result: TestResult = function(question.observed.data, chosen.model, **question.arguments(chosen))
        question.said.extend(result.notes)
    if picture is not None:
        draw(result, picture, question.printer)
    record = {**question.record(), "reject": rejects(result, question.level), "result": brief(result)}
    question.printer.result(
        "test", record, lambda: f"{result}\n\n{verdict(result, question.level)}\n{question.footer()}"
    )


def rejects(result: TestResult, level: float) -> bool | None:
    """Whether the model is rejected; None where there is no p-value."""
    return None if result.undefined else bool(result.pvalue <= level)


def verdict(result: TestResult, level: float) -> str:
    """The decision at the level that was asked for."""
    rejected = rejects(result, level)
    if rejected is None:
        return "  There is no p-value."
    if result.undecided(level):
        return f"  At level {level:g} nothing is decided."
    return f"  At level {level:g} the model is {'rejected' if rejected else 'not rejected'}."


def brief(result: TestResult) -> dict[str, Any]:
    """A result without the draws of its null distribution."""
    return {name: value for name, value in result.to_dict().items() if name != "null_distribution"}
