"""Words from files and strangers, made fit for a terminal: no control characters, and not at length."""

from __future__ import annotations

LONGEST = 60
"""Characters of a cell or a name in a message."""

LONGEST_LINE = 1200
"""Characters of a message."""


def safe(text: str) -> str:
    r"""The text without what a terminal would obey: such characters are written as escapes.

    >>> from goodstein.command.escaping import safe
    >>> safe("a\x1b[31mb\u202ec")
    'a\\x1b[31mb\\u202ec'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def safe_lines(text: str) -> str:
    """The same for a text of several lines."""
    return "\n".join(safe(line.replace("\t", " ")) for line in text.split("\n"))


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """A message on one line, of bounded length."""
    line = safe(" ".join(text.split()))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def short(text: str, longest: int = LONGEST) -> str:
    """The beginning of a name or a cell."""
    return one_line(text[: 4 * longest], longest)


def quoted(text: object, longest: int = LONGEST) -> str:
    """A name or a cell in a message, in quotation marks."""
    return f"'{short(str(text), longest)}'"
