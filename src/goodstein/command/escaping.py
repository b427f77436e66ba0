"""Words from files and strangers, made fit for a terminal: no control characters, and not at length."""

from __future__ import annotations

from goodstein.text import visible

LONGEST = 60
"""Characters of a cell or a name in a message."""

LONGEST_LINE = 1200
"""Characters of a message."""


def safe_lines(text: str) -> str:
    """A text of several lines without what a terminal would obey."""
    return "\n".join(visible(line.replace("\t", " ")) for line in text.split("\n"))


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """A message on one line, of bounded length."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def short(text: str, longest: int = LONGEST) -> str:
    """The beginning of a name or a cell."""
    return one_line(text[: 4 * longest], longest)


def quoted(text: object, longest: int = LONGEST) -> str:
    """A name or a cell in a message, in quotation marks."""
    return f"'{short(str(text), longest)}'"
