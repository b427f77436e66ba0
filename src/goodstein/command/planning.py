"""``goodstein power``: how often a test finds an alternative, or how many observations it needs for that."""

from __future__ import annotations

from typing import Any

import click

from goodstein.adapters.truncated import Truncated
from goodstein.command.asking import ask
from goodstein.command.models import choose
from goodstein.command.options import PLACE, PRINT, RUN, examples, model_argument, takes
from goodstein.command.testing import METHODS
from goodstein.domains.base import Domain
from goodstein.power import Cell, power_study, sample_size


@click.command(
    "power",
    epilog=examples(
        "goodstein power normal:mean=0 normal:mean=0.5 --n 50",
        "goodstein power normal:mean=0 student_t:df=3 --power 0.9",
    ),
)
@model_argument()
@model_argument("alternative")
@click.option(
    "--n", type=click.IntRange(2), help="Observations; left out, the number that --power needs is sought."
)
@click.option(
    "--power", type=float, default=0.8, show_default=True, help="Power that is wanted, without --n."
)
@click.option(
    "--trials", type=click.IntRange(10), default=200, show_default=True, help="Simulated data sets."
)
@takes(PLACE)
@click.option(
    "--method", type=click.Choice(list(METHODS)), default="ksd", show_default=True, help="Which test."
)
@takes(RUN, PRINT)
def command(model: str, alternative: str, n: int | None, power: float, trials: int, **options: Any) -> None:
    """Simulate how often a test of MODEL rejects it if the data come from ALTERNATIVE."""
    question = ask(None, [model], options)
    say = question.printer.note
    other = choose(alternative, fit=False, observed=None, place=question.place, seed=question.seed, say=say)
    test = getattr(METHODS[options["method"]], f"{options['method']}_test")
    null, law = (_restricted(chosen.model, question.place) for chosen in (*question.models, other))
    workers, level = options["workers"], question.level
    if n is None:
        with question.working("Seeking the sample size"):
            found: Any = sample_size(
                null,
                law,
                test,
                power=power,
                level=level,
                trials=trials,
                workers=workers,
                rng=question.seed,
            )
    else:
        with question.working("Simulating"):
            found = power_study(
                [Cell(null, law, n)],
                {options["method"]: test},
                trials=trials,
                level=level,
                workers=workers,
                seed=question.seed,
            )
    record = {**question.record(), "result": found.to_dict()}
    question.printer.result("power", record, lambda: f"{found}\n\n{question.footer()}")


def _restricted(model: Any, place: Domain | None) -> Any:
    """The model on a part of its domain."""
    own = getattr(model, "domain", place)
    return model if place is None or own == place else Truncated(model, place)
