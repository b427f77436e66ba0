"""``goodstein fit``: the parameters of a family."""

from __future__ import annotations

import inspect
import json
from typing import Any

import click
import numpy as np

from goodstein.command.asking import ask
from goodstein.command.options import DATA, PLACE, PRINT, data_argument, examples, model_argument, takes
from goodstein.models.provenance import provenance_of
from goodstein.text import plain


@click.command(
    "fit",
    epilog=examples(
        "goodstein fit dataset:skye_lavas dirichlet",
        'goodstein test other.csv "$(goodstein fit lavas.csv dirichlet --quiet)"',
    ),
)
@data_argument
@model_argument()
@takes(DATA, PLACE)
@click.option("--seed", type=click.IntRange(0), help="Seed of everything random.")
@takes(PRINT)
def command(data: str, model: str, **options: Any) -> None:
    """Fit a family to DATA, and print the member of it as it is written for other commands.

    Parameters in MODEL are options of the fit, such as gaussian_mixture:n_components=2.
    """
    question = ask(data, [model], {**options, "fit": True})
    (chosen,) = question.models
    found = chosen.model
    fit = provenance_of(found)
    method = None if fit is None else fit.method
    parameters = _parameters(found)
    text = _written(chosen.text.partition(":")[0], parameters)
    record = {
        **question.record(),
        "model": repr(found),
        "method": method,
        "parameters": parameters,
        "string": text,
    }

    def said() -> str:
        return text if question.printer.quiet else f"{found!r}, by {method}\n\n  {text}"

    question.printer.result("fit", record, said)


def _parameters(model: Any) -> dict[str, Any]:
    """Parameters by name: of a truncated model those of what was truncated."""
    inner = getattr(model, "model", model)
    names = [name for name in inspect.signature(type(inner)).parameters if name != "domain"]
    return {name: plain(np.asarray(getattr(inner, name))) for name in names if hasattr(inner, name)}


def _written(name: str, parameters: dict[str, Any]) -> str:
    """The string that stands for the model."""
    items = (f"{key}={json.dumps(value, separators=(',', ':'))}" for key, value in parameters.items())
    return f"{name}:{','.join(items)}"
