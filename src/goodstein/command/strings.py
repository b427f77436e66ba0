"""Strings that stand for a model or a domain, such as ``dirichlet:alpha=0.5,0.5,0.5``.

    string    = name [":" item {separator item}]        separator = "," | ";"
    item      = [parameter "="] value
    value     = number | word | JSON list

An item with ``=`` begins a new parameter. One without goes on with the list of the one before it, after a
semicolon with a new row of it: ``mean=0,0;cov=1,0;0,1`` is a vector and a matrix, and so is
``mean=[0,0],cov=[[1,0],[0,1]]``. What stands before the first parameter belongs to the first one that the
model or domain has. Nothing is evaluated.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from goodstein.command.escaping import quoted
from goodstein.errors import InputError

LONGEST = 100_000
"""Characters of a string; a longer one is no model that somebody has written."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf")
WORD = re.compile(r"[A-Za-z_][\w-]*")
PARAMETER = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*)", re.DOTALL)
WORDS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True)
class Spec:
    """A name, the values by parameter, and those that stand before the first one; None without."""

    text: str
    name: str
    first: Any
    parameters: Mapping[str, Any]


def parse(text: str) -> Spec:
    """The parts of a string.

    >>> from goodstein.command.strings import parse
    >>> parse("normal:mean=0,0;cov=1,0;0,1").parameters
    {'mean': [0, 0], 'cov': [[1, 0], [0, 1]]}
    >>> parse("dirichlet:0.5,0.5").first
    [0.5, 0.5]
    >>> parse("student_t:df=3").parameters
    {'df': 3}
    """
    if len(text) > LONGEST:
        raise InputError(f"{quoted(text)} is {len(text)} characters long, which is no model or domain.")
    name, colon, rest = text.partition(":")
    if not WORD.fullmatch(name.strip()):
        raise InputError(
            f"{quoted(text)} is no name of a model or domain.",
            remedy="Write a name and parameters, such as normal:mean=0,cov=1, or file.py:name for your own.",
        )
    rows: dict[str, list[list[Any]]] = {}
    current = ""
    for separator, item in _items(rest, text) if colon else ():
        found = PARAMETER.fullmatch(item)
        if found:
            current, item = found[1], found[2]
            if current in rows:
                raise InputError(f"{quoted(text)} gives {current} twice.")
            rows[current] = [[]]
        elif separator == ";":
            rows.setdefault(current, []).append([])
        rows.setdefault(current, [[]])[-1].append(_value(item, text))
    values = {parameter: _shaped(lists, text) for parameter, lists in rows.items()}
    return Spec(text, name.strip(), values.pop("", None), values)


COMPARED = 2000
"""Words with which one is compared: a table may have a million columns."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of a message about a word that nobody knows: the nearest one, or all of them."""
    options = list(known)
    near = difflib.get_close_matches(word, options[:COMPARED], 1, 0.6)
    if not near:
        folded = {option.casefold(): option for option in options[:COMPARED]}
        near = [folded[match] for match in difflib.get_close_matches(word.casefold(), folded, 1, 0.6)]
    if near:
        return f"Did you mean {quoted(near[0])}?"
    shown = [quoted(option, 40) for option in options[:30]]
    more = f" and {len(options) - 30} more" if len(options) > 30 else ""
    return f"There are {', '.join(shown)}{more}."


def _items(rest: str, text: str) -> Iterable[tuple[str, str]]:
    """What stands between separators outside of brackets, each with the separator before it."""
    separator, depth, start = "", 0, 0
    for place, character in enumerate(rest):
        depth += (character == "[") - (character == "]")
        if depth < 0 or depth > 4:
            break
        if depth == 0 and character in ",;":
            yield separator, rest[start:place]
            separator, start = character, place + 1
    if depth:
        raise InputError(
            f"the brackets of {quoted(text)} do not close, or are deeper than an array has axes."
        )
    yield separator, rest[start:]


def _value(item: str, text: str) -> Any:
    bare = item.strip()
    if bare.startswith("["):
        try:
            return json.loads(bare)
        except (ValueError, RecursionError):
            raise _unread(bare, text) from None
    if NUMBER.fullmatch(bare):
        return int(bare) if re.fullmatch(r"[+-]?\d{1,15}", bare) else float(bare)
    if bare in WORDS:
        return WORDS[bare]
    if WORD.fullmatch(bare):
        return bare
    raise _unread(bare, text)


def _shaped(rows: list[list[Any]], text: str) -> Any:
    """A value alone, a list, or a list of rows."""
    if len({len(row) for row in rows}) > 1:
        lengths = ", ".join(str(len(row)) for row in rows[:6])
        raise InputError(f"the rows of a matrix in {quoted(text)} have different lengths: {lengths}.")
    if len(rows) > 1:
        return rows
    return rows[0][0] if len(rows[0]) == 1 else rows[0]


def _unread(item: str, text: str) -> InputError:
    reason = f"{quoted(item) if item else 'nothing'} in {quoted(text)} is no number, word or list."
    return InputError(reason, remedy="Write numbers such as 0.5, lists such as 0,1 or [0,1], or name=value.")
