"""Tables as text and as HTML, for everything here that reports one."""

from __future__ import annotations

import html
from collections.abc import Sequence

from goodstein.results.result import short

Line = Sequence[str]


def readable(thing: object) -> str:
    """A repr with its numbers to six digits, and without what was left out.

    >>> from goodstein.text import readable
    >>> from goodstein.kernels import IMQ
    >>> readable(IMQ(bandwidth=1.23456789))
    'IMQ(bandwidth=1.23457, exponent=-0.5)'
    """
    return short(thing).replace("auxiliary=None", "").replace("auxiliary=", "")


def as_text(header: Line, lines: Sequence[Line]) -> list[str]:
    """Lines of text: the first column to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    text = []
    for line in (header, *lines):
        cells = [
            f"{cell:<{width}}" if _is_words(lines, i) else f"{cell:>{width}}"
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append("  " + "  ".join(cells).rstrip())
    return text


def _is_words(lines: Sequence[Line], column: int) -> bool:
    return any(line[column][:1].isalpha() for line in lines)


def as_html(title: str, header: Line, lines: Sequence[Line], notes: Sequence[str]) -> str:
    """The same for a notebook."""
    rows = "".join(
        "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in line) + "</tr>"
        for tag, line in [("th", header), *(("td", line) for line in lines)]
    )
    told = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return f"<div><strong>{html.escape(title)}</strong><table>{rows}</table>{told}</div>"
