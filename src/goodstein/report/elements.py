"""Elements of a page: whatever is not an element already is escaped, so nothing can be forgotten."""

from __future__ import annotations

from goodstein.text import Table, as_html, cut, marked

LONGEST = 2000
"""Characters of a text that are shown; names come from strangers' files, and a page has a limit."""


class Html(str):
    """Text of a page that needs no escaping."""

    __slots__ = ()


def element(name: str, *parts: str, **attributes: str) -> Html:
    """An element with its parts; `class_` is the attribute class, and `aria_label` is aria-label.

    >>> from goodstein.report.elements import element
    >>> element("p", element("b", "a < b"), " & c", class_="note")
    '<p class="note"><b>a &lt; b</b> &amp; c</p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{as_html(cut(value, LONGEST))}"'
        for key, value in attributes.items()
    )
    return Html(f"<{name}{given}>{joined(*parts)}</{name}>")


def joined(*parts: str) -> Html:
    """Parts one after the other."""
    return Html("".join(part if isinstance(part, Html) else marked(cut(part, LONGEST)) for part in parts))


def paragraphs(*texts: str) -> Html:
    """Each text as a paragraph; empty ones are left out."""
    return joined(*(element("p", text) for text in texts if text))


def listed(*texts: str) -> Html:
    """A list of points."""
    return element("ul", *(element("li", text) for text in texts))


def tabled(table: Table, label: str) -> Html:
    """A table, which on a narrow screen can be moved sideways by itself."""
    header, *lines = ([cut(cell) for cell in line] for line in (table.header, *table.lines))
    content = Html(Table(header, lines, table.title).html())
    return element("div", content, class_="table", role="region", aria_label=label, tabindex="0")
