"""Pictures of a result as SVG inside a page."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from goodstein.errors import Explained
from goodstein.report.elements import Html, element

if TYPE_CHECKING:
    from goodstein.checking.result import CheckResult

LARGEST = 250_000
"""Characters of one picture; four of them leave a page below a megabyte."""

SAVED: dict[str, Any] = {"format": "svg", "metadata": {"Date": None, "Creator": None}}


class Picture(NamedTuple):
    """What a picture is of, in a heading and in a sentence for those who do not see it."""

    kind: str | None
    title: str
    alternative: str


def pictures(result: CheckResult) -> list[Html]:
    """All that can be drawn, each a figure; one line where nothing can."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return [element("p", 'No pictures: they need pip install "goodstein[plot]".')]
    found = []
    for number, picture in enumerate(_planned(result)):
        settings = {"svg.fonttype": "none", "svg.hashsalt": "goodstein", "text.usetex": False}
        before = plt.get_fignums()
        try:
            with plt.rc_context({**settings}):
                drawn: Any = result.test.plot()
                out = io.StringIO()
                getattr(drawn, "figure", drawn).savefig(out, **SAVED)
            found.append(_figure(out.getvalue(), picture, f"p{number}"))
        except (Explained, ValueError) as error:
            found.append(element("p", f"{picture.title}: not drawn. {error}"))
        finally:
            for figure in set(plt.get_fignums()) - set(before):
                plt.close(figure)
    return found


def _planned(result: CheckResult) -> Iterator[Picture]:
    test = result.test
    p = f"p = {test.pvalue:.2g}"
    yield Picture(
        "null",
        "The statistic among those of a true model",
        f"Histogram of {len(test.null_distribution)} draws of the statistic under the model, with the "
        f"observed value marked, {p}.",
    )


def _figure(svg: str, picture: Picture, prefix: str) -> Html:
    if len(svg) > LARGEST:
        return element("p", f"{picture.title}: left out, because it would take {len(svg) // 1000} kB.")
    return element(
        "figure",
        Html(inline(svg, prefix)),
        element("figcaption", picture.title),
        role="img",
        aria_label=picture.alternative,
    )


def inline(svg: str, prefix: str) -> str:
    """A picture as part of a page: no prologue, no licence, and names that no other picture has."""
    found = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    # Inside tags only: a name in the picture may look like one of these.
    found = re.sub(
        r"<[^<>]+>",
        lambda tag: re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", tag[0]),
        found,
    )
    return found.replace("<svg ", '<svg aria-hidden="true" ', 1)
