"""Pieces of REPORT.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], *, text: int = 1) -> str:
    """A Markdown table; the first columns are text, the others are aligned to the right."""
    lines = [_line(header), _line(["---"] * text + ["---:"] * (len(header) - text))]
    return "\n".join([*lines, *(_line(["" if cell is None else str(cell) for cell in row]) for row in rows)])


def figure(name: str, caption: str) -> str:
    """A figure with what it shows."""
    return f"![{caption}](figures/{name}.png)\n\n*{caption}*"


def of_samples(share: float) -> str:
    """How many samples, in words where it is all of them."""
    return "all samples" if share == 1 else f"{share:.1%} of samples"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
