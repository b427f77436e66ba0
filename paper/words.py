"""What the report says: the texts of text/, in which braces name numbers.

A text is Markdown in paragraphs. ``{power:.3f}`` is a number as Python formats it, ``{verdict!c}`` has
a capital, ``{slope:−.2f}`` has a minus sign and ``{share:.0 %}`` a space; what was not measured is a dash.
Beyond Markdown there are

- paragraphs ``![name] caption``, which are figures,
- lines ``| for rows: {cell} | {size:.3f} |`` of tables, which stand once for every row,
- paragraphs ``?name …``, which stand only if there is something of this name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from string import Formatter
from typing import Any

from setting import HERE


class _Words(Formatter):
    def format_field(self, value: Any, spec: str) -> str:
        if value is None:
            return "–"
        if spec.endswith(" %"):
            return f"{format(100 * value, spec[:-2] + 'f')} %"
        return signed(value, spec[1:]) if spec.startswith("−") else format(value, spec)

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        return value.capitalize() if conversion == "c" else super().convert_field(value, conversion)


def signed(value: float, spec: str = "g") -> str:
    """A number with a minus sign in place of a hyphen."""
    return format(value, spec).replace("-", "−")


def put(text: str, values: Mapping[str, Any] | None) -> str:
    """A text with its numbers; a dash where there are none."""
    return "–" if values is None else _Words().vformat(text, (), values)


def fill(name: str, values: Mapping[str, Any]) -> str:
    """A file of text/ with its numbers."""
    text = (HERE / "text" / f"{name}.md").read_text(encoding="utf-8")
    return "\n\n".join(filter(None, (_paragraph(piece, values) for piece in text.strip().split("\n\n"))))


def _paragraph(text: str, values: Mapping[str, Any]) -> str:
    condition = re.match(r"\?(\w+)\s", text)
    if condition:
        return _paragraph(text[condition.end() :], values) if values[condition[1]] else ""
    if text.startswith("|"):
        return "\n".join(line for row in text.splitlines() for line in _lines(row, values))
    text = put(re.sub(r"\n(?!- ) *", " ", text), values)
    return re.sub(r"^!\[(\w+)\] (.*)", r"![\2](figures/\1.png)\n\n*\2*", text)


def _lines(row: str, values: Mapping[str, Any]) -> list[str]:
    repeated = re.match(r"\| for (\w+): (.*)", row)
    if not repeated:
        return [put(row, values)]
    return [put(f"| {repeated[2]}", {**one, "row": one}) for one in values[repeated[1]]]


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], *, text: int = 1) -> str:
    """A Markdown table with columns that depend on the results; the first are text, the others numbers."""
    lines = [header, ["---"] * text + ["---:"] * (len(header) - text), *rows]
    return "\n".join(
        f"| {' | '.join('–' if cell is None else str(cell) for cell in line)} |" for line in lines
    )


class Span:
    """The least and the largest of some numbers: "0.007–0.017", or one where they look alike."""

    def __init__(self, values: Iterable[float]) -> None:
        several = sorted(values) or [0]
        self.low, self.high = several[0], several[-1]

    def __format__(self, spec: str) -> str:
        low, high = (format(value, spec) for value in (self.low, self.high))
        return low if low == high else f"{low}–{high}"

    def __rmul__(self, factor: float) -> Span:
        return Span([factor * self.low, factor * self.high])


def of_samples(share: float) -> str:
    """How many samples, in words where it is all of them."""
    return "all samples" if share == 1 else f"{share:.1%} of samples"


SIZE = "{size:.3f}{size_mark}"
"""A size with its mark, to be put with a row."""
