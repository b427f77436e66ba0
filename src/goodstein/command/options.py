"""Options that several commands share, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from goodstein.command.observations import SHIPPED, Choice
from goodstein.command.reading import Layout
from goodstein.lazy import deferred

datasets = deferred("goodstein.datasets.catalogue")
models = deferred("goodstein.command.models")

Command = TypeVar("Command", bound=Callable[..., Any])

DATA = [
    click.option("--columns", metavar="A,B,C", help="Columns to use, by name; all of them if left out."),
    click.option(
        "--weights", metavar="COLUMN", help="Weights of the rows: importance weights, or those of a survey."
    ),
    click.option("--duration", metavar="COLUMN", help="Durations, for models of lifetimes."),
    click.option(
        "--event",
        metavar="COLUMN[=VALUE]",
        help="Whether the event was seen (1) or the duration is censored (0), or the value that says so.",
    ),
    click.option("--entry", metavar="COLUMN", help="From when on durations were watched (late entry)."),
    click.option("--covariates", metavar="A,B,C", help="Covariates of durations, by name."),
    click.option("--lon", metavar="COLUMN", help="Longitudes of directions, in degrees."),
    click.option("--lat", metavar="COLUMN", help="Latitudes of directions, in degrees."),
    click.option("--degrees", is_flag=True, help="The angles are in degrees."),
    click.option("--radians", is_flag=True, help="The angles are in radians."),
    click.option("--close", is_flag=True, help="Divide each row by its sum, for parts such as percentages."),
    click.option(
        "--drop-missing", is_flag=True, help="Leave out rows with missing values, and say how many."
    ),
    click.option("--shuffle", is_flag=True, help="Take the rows in random order."),
    click.option("--rows", type=int, metavar="N", help="Read the first N rows only."),
    click.option("--delimiter", metavar="C", help="What separates the cells of a text file."),
    click.option("--no-header", is_flag=True, help="The first line is data; columns are called 0, 1, …"),
]
PLACE = [
    click.option("--domain", metavar="NAME", help="Where the data may lie: box:0,1, simplex, sphere, …"),
    click.option(
        "--region", metavar="FILE", help="The same, a polygon: GeoJSON, a table of vertices, a shapefile."
    ),
]
FIT = [click.option("--fit", is_flag=True, help="Fit the models to the data; parameters are then options.")]
RUN = [
    click.option("--seed", type=click.IntRange(0), help="Seed of everything random; it is printed if drawn."),
    click.option("--level", type=float, default=0.05, show_default=True, help="Level of the test."),
    click.option("--workers", type=int, metavar="N", help="Threads; -1 for all cores."),
]
NULL = [
    click.option("--resamples", type=click.IntRange(1), metavar="N", help="Draws of the null distribution."),
    click.option(
        "--null",
        type=click.Choice(["auto", "wild", "spectral", "montecarlo", "parametric"]),
        help="How the null distribution is found; the library chooses if left out.",
    ),
]
PRINT = [
    click.option("--json", "as_json", is_flag=True, help="Print a record for machines."),
    click.option("--quiet", is_flag=True, help="Nothing on standard error but what is wrong."),
]


def _files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    named = datasets.names() if incomplete.startswith(SHIPPED) else [""]
    found = [CompletionItem(SHIPPED + name) for name in named if (SHIPPED + name).startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def _models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in models.names() if name.startswith(incomplete)]


def data_argument(command: Command) -> Command:
    """The data, which shells complete as files."""
    return click.argument("data", shell_complete=_files)(command)


def model_argument(name: str = "model", **options: Any) -> Callable[[Command], Command]:
    """A model, which shells complete by its name."""
    return click.argument(name, shell_complete=_models, **options)


def examples(*lines: str) -> str:
    """The end of a command's help: lines that are shown as they are."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def takes(*groups: list[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    """Give a command groups of options."""

    def decorate(command: Command) -> Command:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return decorate


def choice_of(options: dict[str, Any]) -> Choice:
    """What the options say of the columns."""
    own = {name: options[name] for name in Choice.__dataclass_fields__ if name in options}
    delimiter = options["delimiter"]
    if delimiter in ("\\t", "tab"):
        delimiter = "\t"
    if delimiter is not None and (len(delimiter) != 1 or delimiter in "\r\n\"'"):
        raise click.UsageError("--delimiter is one character, such as ';' or tab")
    return Choice(**own, layout=Layout(delimiter, not options["no_header"]))
