"""How results speak: as text, as HTML for notebooks, and as plain numbers for JSON."""

from __future__ import annotations

import json
import math
import pickle
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from goodstein.errors import safe_repr

Line = Sequence[str]

QUOTED = re.compile("`([^`]+)`")
"""Names of columns and arguments, in messages and findings."""

LONGEST_DETAIL = 80
"""Characters of a list in the summary."""


def visible(text: str) -> str:
    r"""The text on one line, without what a terminal or a browser would obey: that is written as escapes.

    Names of columns and models come from strangers' files.

    >>> from goodstein.text import visible
    >>> visible("a\x1b[31mb\u202ec")
    'a\\x1b[31mb\\u202ec'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def cut(text: str, most: int = 300) -> str:
    """The beginning of a long text.

    >>> from goodstein.text import cut
    >>> cut("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def some_of(names: Sequence[str], most: int = 8) -> str:
    """Names in a list, the first of them where there are many.

    >>> from goodstein.text import some_of
    >>> some_of(["a", "b", "c", "d"], 3)
    'a, b and 2 more'
    """
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"


def as_html(text: str) -> str:
    """The text inside an attribute of a page, or inside an element as it stands."""
    from html import escape

    return escape(visible(text))


def marked(text: str) -> str:
    """The text inside an element of a page, with names in backticks as code.

    >>> from goodstein.text import marked
    >>> marked("mean of `a < b`")
    'mean of <code>a &lt; b</code>'
    """
    return QUOTED.sub(r"<code>\1</code>", as_html(text))


@dataclass(frozen=True)
class Table:
    """Cells in lines below a header; without one, names and what they stand for."""

    header: Line
    lines: Sequence[Line]
    title: str = ""

    def text(self) -> list[str]:
        """Lines of text: the first column and words to the left, numbers to the right."""
        shown = [self.header, *self.lines] if self.header else self.lines
        shown = [[visible(cell) for cell in line] for line in shown]
        columns = [
            [f"{cell:{'<' if self._is_words(i) else '>'}{max(map(len, column))}}" for cell in column]
            for i, column in enumerate(zip(*shown, strict=True))
        ]
        return ["  " + "  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]

    def html(self) -> str:
        """The same for a page: words to the left, and headers that say what they head."""

        def cell(tag: str, text: str, column: int) -> str:
            side = " style='text-align:left'" if self._is_words(column) else ""
            return f"<{tag}{side}>{marked(text)}</{tag[:2]}>"

        def row(first: str, others: str, line: Line) -> str:
            cells = (cell(others if i or not text else first, text, i) for i, text in enumerate(line))
            return f"<tr>{''.join(cells)}</tr>"

        head = "th scope='col'"
        heads = f"<thead>{row(head, head, self.header)}</thead>" if self.header else ""
        rows = [row("th scope='row'", "td", line) for line in self.lines]
        title = f"<strong>{marked(self.title)}</strong>" if self.title else ""
        return f"{title}<table>{heads}<tbody>{''.join(rows)}</tbody></table>"

    def _is_words(self, column: int) -> bool:
        return not (self.header and column) or any(
            line[column].lstrip("`")[:1].isalpha() for line in self.lines
        )


class Report(ABC):
    """A dataclass that reports something: a title, tables and notes, and all of it as JSON.

    A subclass has :meth:`_tables`; the other parts where there is something to say.
    """

    @abstractmethod
    def _tables(self) -> Sequence[Table]:
        """What is reported."""

    def _title(self) -> str:
        return ""

    def _notes(self) -> Sequence[str]:
        return ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, strings and lists."""
        own = [part.name for part in fields(self) if not part.name.startswith("_")]  # type: ignore[arg-type]
        return {name: plain(getattr(self, name)) for name in own}

    def to_json(self, **options: Any) -> str:
        """:meth:`to_dict` as JSON; options go to :func:`json.dumps`."""
        return json.dumps(self.to_dict(), **options)

    def __str__(self) -> str:
        blocks = [[self._title()]]
        for table in self._tables():
            blocks += [[table.title], table.text()]
        blocks.append([f"  {visible(note)}" for note in self._notes()])
        return "\n\n".join("\n".join(block) for block in blocks if any(block))

    def _repr_html_(self) -> str:
        tables = "".join(table.html() for table in self._tables())
        notes = "".join(f"<p>{marked(note)}</p>" for note in self._notes())
        return f"<div><strong>{as_html(self._title())}</strong>{tables}{notes}</div>"


class Words(str):
    """What is left of an object that cannot be stored: its description."""

    __slots__ = ()
    __repr__ = str.__str__


def storable(thing: Any) -> Any:
    """The thing itself if it can be pickled, otherwise its description; a user's function often cannot."""
    try:
        pickle.dumps(thing)
    except Exception:
        return Words(safe_repr(thing))
    return thing


def plain(value: Any) -> Any:
    """Numbers, strings, lists and dictionaries; None for NaN and infinities, which JSON does not have."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (int, float, str, type(None))) else safe_repr(value)


def short(thing: object) -> str:
    """A repr with its numbers to six digits, which is what a person reads."""
    return re.sub(r"\d+\.\d{6,}(e[+-]?\d+)?", lambda number: f"{float(number[0]):.6g}", safe_repr(thing))


def readable(thing: object) -> str:
    """The same without what was left out.

    >>> from goodstein.text import readable
    >>> from goodstein.kernels import IMQ
    >>> readable(IMQ(bandwidth=1.23456789))
    'IMQ(bandwidth=1.23457, exponent=-0.5)'
    """
    return short(thing).replace("auxiliary=None", "").replace("auxiliary=", "")


def about(count: float) -> str:
    """A number of things to three digits, without powers of ten.

    >>> about(1957.3), about(44.71)
    ('1960', '44.7')
    """
    rounded = float(f"{count:.3g}")
    return f"{rounded:.0f}" if rounded >= 1000 else f"{rounded:.3g}"


def brief(value: object) -> str:
    """A detail on one line; of a long list its beginning."""
    text = " ".join((value if isinstance(value, str) else short(value)).split())
    if len(text) <= LONGEST_DETAIL or not isinstance(value, list | tuple | np.ndarray):
        return text
    items = [short(item) for item in (value.tolist() if isinstance(value, np.ndarray) else value)]
    shown = items[0]
    for item in items[1:]:
        if len(shown) + len(item) > LONGEST_DETAIL - 20:
            break
        shown += f", {item}"
    return f"[{shown[:LONGEST_DETAIL]}, …] ({len(items)} in all)"
