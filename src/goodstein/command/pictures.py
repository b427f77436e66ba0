"""Pictures in files, where the extra `plot` is installed."""

from __future__ import annotations

import io
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from goodstein.command.output import Printer, writable, write
from goodstein.errors import InputError

ENDINGS = (".svg", ".png", ".pdf")
PLOT = [click.option("--plot", metavar="FILE", help="Draw the result as .svg, .png or .pdf.")]


def drawable(path: str | None) -> Path | None:
    """Where a picture goes, or an error before any work is done."""
    if path is None:
        return None
    try:
        import matplotlib
    except ImportError:
        raise InputError("--plot needs matplotlib:", remedy='pip install "goodstein[plot]".') from None
    matplotlib.use("Agg")
    return writable(path, *ENDINGS, option="--plot")


def left_out() -> str:
    """What is said of a report where there can be no pictures."""
    there = find_spec("matplotlib") is not None
    return "" if there else ' It has no pictures: they need pip install "goodstein[plot]".'


def draw(result: Any, path: Path, printer: Printer) -> None:
    """What a result draws of itself, as a file."""
    drawn = result.plot()
    figure = getattr(drawn, "figure", drawn)
    content = io.BytesIO()
    figure.savefig(content, format=path.suffix.lstrip(".").lower())
    write(path, content.getvalue())
    printer.note(f"Wrote {path}.")
