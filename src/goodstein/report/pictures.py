"""Pictures of a result as SVG inside a page."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from goodstein.errors import Explained
from goodstein.plot.choose import shape_of
from goodstein.plot.style import svg
from goodstein.report.elements import Html, element

if TYPE_CHECKING:
    from goodstein.checking.result import CheckResult
    from goodstein.results.result import TestResult

LARGEST = 250_000
"""Characters of one picture."""

ALL = 800_000
"""Of all of them; a page stays below a megabyte."""

MOST_ROWS = 2000
"""Observations that pictures are made of."""


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
    found: list[Html] = []
    test = thinned(result.test)
    for picture in _planned(result):
        before = set(plt.get_fignums())
        try:
            with warnings.catch_warnings(), plt.style.context(["default", {"svg.fonttype": "none"}]):
                warnings.simplefilter("ignore")  # of letters that are missing in a font, and the like
                drawn = test.plot(picture.kind)
                caption = f"{picture.title}. {_small_print(drawn)}"
                drawn = svg(drawn)
            taken = sum(map(len, found))
            named = picture._replace(title=caption.strip())
            found.append(_figure(drawn, named, f"p{len(found)}", min(LARGEST, ALL - taken)))
        except (Explained, ValueError) as error:
            found.append(element("p", f"{picture.title}: not drawn. {error}"))
        finally:
            for figure in set(plt.get_fignums()) - before:
                plt.close(figure)
    return found


def _small_print(drawn: Any) -> str:
    """The words below a picture, taken out of it: on a small screen they would shrink with it."""
    figure = getattr(drawn, "figure", drawn)
    found = [figure.get_supxlabel(), *(legend.get_title().get_text() for legend in figure.legends)]
    if found[0]:
        figure.supxlabel("")
    for legend in figure.legends:
        legend.set_title("")
    return " ".join(" ".join(found).replace(r"\$", "$").split())


def thinned(test: TestResult) -> TestResult:
    """The same test of a part of the data, evenly spaced in their order, where they are many."""
    if not test.asked or len(test.asked[0].data) <= MOST_ROWS:
        return test
    n = len(test.asked[0].data)
    rows = np.linspace(0, n - 1, MOST_ROWS).astype(np.intp)
    some = test.asked[0].data.take(rows)
    return replace(test, n=len(some), asked=tuple(problem.with_data(some) for problem in test.asked))


def _planned(result: CheckResult) -> Iterator[Picture]:
    asked, draws = result.test.asked, len(result.test.null_distribution)
    n = len(asked[0].data) if asked else 0
    part = f" ({MOST_ROWS} of {n} observations, evenly spaced in their order)" if n > MOST_ROWS else ""
    if asked and shape_of(result.test) == "findings":
        yield Picture(
            "where",
            f"What fails, and how far from the model it is{part}",
            "Intervals of what was looked at, each with the sentence that says it.",
        )
    else:
        yield Picture(
            "where",
            f"Where there are more data than the model allows, and where there are less{part}",
            "Picture of the places at which there are more data than the model allows, or less.",
        )
    yield Picture(
        "transform",
        f"Shares of the data below quantiles of the model, which a true model leaves in the band{part}",
        "Shares of the data below quantiles of the model, with simultaneous bands for a true model.",
    )
    yield Picture(
        "null",
        "The statistic among those of a true model",
        f"Histogram of {draws} draws of the statistic under the model, with the observed value marked, "
        f"p = {result.pvalue:.2g}.",
    )


def _figure(drawn: str, picture: Picture, prefix: str, most: int) -> Html:
    if len(drawn) > most:
        return element("p", f"{picture.title}: left out, because it would take {len(drawn) // 1000} kB.")
    return element(
        "figure",
        Html(inline(drawn, prefix)),
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
