"""Colours, words and fonts of all pictures; matplotlib is imported only when something is drawn.

Colours are those of Okabe and Ito, which the colour-blind can tell apart, and no picture rests on them alone:
what is more and what is less is hatched in two ways, named in the legend and written into the picture, so
that a grey print says the same. Lines and letters have the colours of matplotlib's settings.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from goodstein.constraints import check_share
from goodstein.errors import InputError, must

if TYPE_CHECKING:
    from matplotlib.axes import Axes


CHARACTER = 0.6
"""Width of a character, as a share of the size of its font."""
SHRUNK = (1.0, 0.85, 0.7)
"""Sizes of the font that are tried for a title, until it has at most so many lines."""
MOST_LINES = 3

MOST_POINTS = 2000
"""Observations that are drawn at most."""
VECTORS = 300
"""Points beyond which a cloud is stored as pixels, so that a file stays small."""
SMALL_PRINT, ENTRY = 7.5, 8.5
"""Sizes of the letters of a caption and of a legend."""
LONGEST_NAME = 40
"""Characters of a name that came with data."""

COORDINATES = re.compile(r' [dxy]="[^"]*"')
DECIMALS = re.compile(r"(\.\d\d)\d+")
"""Digits of a coordinate that nobody sees."""

FIRST = ("data", "observations", "Kaplan–Meier")
"""What a legend names first."""

HATCHES = {"more": "////", "less": "----"}
"""Lines alone: every dot of a hatch is a circle, and a file of circles is large."""


F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Palette:
    """The colours of one picture."""

    ink: Any
    paper: Any
    more: str
    less: str
    data: str
    faint: str

    def side(self, which: str) -> str:
        """The colour of more or of less."""
        return self.more if which == "more" else self.less


def draws(*attributes: str) -> Callable[[F], F]:
    """Check the arguments of a picture: an object with one of these attributes, axes and a level."""

    def guarded(function: F) -> F:
        @wraps(function)
        def checked(*arguments: Any, **options: Any) -> Any:
            given = signature(function).bind(*arguments, **options).arguments
            (name, drawn), ax = next(iter(given.items())), given.get("ax")
            if isinstance(drawn, type) or not any(hasattr(drawn, one) for one in attributes):
                raise must(name, f"an object with `{attributes[0]}`", drawn, function.__name__)
            if ax is not None and (isinstance(ax, type) or not hasattr(ax, "get_window_extent")):
                raise must("ax", "Axes of matplotlib, or None", ax, function.__name__)
            if "level" in given and given["level"] is not signature(function).parameters["level"].default:
                check_share(given["level"], "level")
            return function(*arguments, **options)

        return cast("F", checked)

    return guarded


@contextmanager
def canvas(ax: Axes | None, size: tuple[float, float] = (6.4, 4.0)) -> Iterator[tuple[Axes, Palette]]:
    """The axes given, or those of a new figure, and the colours to draw with."""
    with drawing() as (plt, palette):
        if ax is None:
            ax = plt.subplots(figsize=size, layout="constrained")[1]
        yield ax, palette


@contextmanager
def drawing() -> Iterator[tuple[Any, Palette]]:
    """matplotlib, and the colours that go with its settings."""
    try:
        import matplotlib.pyplot as plt
        from matplotlib.colors import to_rgb
    except ImportError as error:
        raise ImportError('Plots need matplotlib: pip install "goodstein[plot]".') from error
    # A notebook's way to draw turns its pictures on when it is loaded, which must not be undone below.
    plt.draw_if_interactive()
    # Names come from strangers' files: they are no programs in TeX.
    with plt.rc_context({"text.usetex": False, "hatch.linewidth": 0.6}):
        ink = plt.rcParams["text.color"]
        light = np.dot(to_rgb(ink), (0.299, 0.587, 0.114)) < 0.5
        sides = ("#D55E00", "#0072B2") if light else ("#F28E4B", "#6CBEF0")
        greys = ("#b9bec6", "#6a7078") if light else ("#555b66", "#9aa1ab")
        yield plt, Palette(ink, plt.rcParams["axes.facecolor"], *sides, *greys)


def safe(text: object, longest: int = LONGEST_NAME) -> str:
    r"""A name as matplotlib may write it: no formulas, no control characters, not too long.

    >>> from goodstein.plot.style import safe
    >>> print(safe("a$b$\x1b[0m" + chr(0x202E)))
    a\$b\$[0m
    """
    words = "".join(" " if c.isspace() else c for c in str(text))
    words = " ".join("".join(c for c in words if unicodedata.category(c)[0] != "C").split())
    words = words if len(words) <= longest else f"{words[: longest - 1]}…"
    return words.replace("$", r"\$")


def set_title(ax: Axes, text: str) -> None:
    """A title to the left, on as many lines as it needs, in a smaller font where these are many."""
    title = ax.set_title("", loc="left")
    if len(ax.figure.axes) == 1:  # how wide the axes are is known when their labels are laid out
        ax.figure.draw_without_rendering()
    width = 72.0 / ax.figure.dpi * ax.get_window_extent().width
    font, lines = fitted(text, width, float(title.get_fontsize()))
    title.set(text=lines, fontsize=font)


def fitted(text: str, width: float, font: float) -> tuple[float, str]:
    """A size of the font and the lines of a text that has so many points of width."""
    for share in SHRUNK:
        lines = wrap(safe(text, 1000), max(20, int(width / (CHARACTER * share * font))))
        if len(lines) <= MOST_LINES:
            break
    return share * font, "\n".join(lines)


def bare(ax: Axes, *sides: str) -> None:
    """Take frames away: right and top, or those named."""
    for side in sides or ("right", "top"):
        ax.spines[side].set_visible(False)


def blank(ax: Axes) -> None:
    """No frame and no ticks, and the same scale both ways."""
    ax.set_aspect("equal")
    ax.set(xticks=[], yticks=[])
    bare(ax, "left", "right", "top", "bottom")


def drawn_rows(n: int, most: int = MOST_POINTS) -> npt.NDArray[np.intp]:
    """Which of n observations are drawn: all, or every so many in their order, the same for equal n."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))


def left_out(n: int, most: int = MOST_POINTS) -> str:
    """The sentence that says so."""
    return f"{most} of {n} observations are drawn, evenly spaced in their order." if n > most else ""


def names_of(columns: Sequence[str] | None, count: int, default: str = "column") -> list[str]:
    """The columns' names, or their numbers."""
    if columns is not None and len(columns) == count:
        return [safe(name) for name in columns]
    return [f"{default} {j}" for j in range(count)] if count > 1 else [default]


def finish(ax: Axes, title: str, *sentences: str, extra: Sequence[Any] = (), columns: int = 2) -> Axes:
    """Title, legend and small print; the last two below the axes, where they hide nothing."""
    text = safe(" ".join(sentence for sentence in sentences if sentence), 1000)
    handles, labels = ax.get_legend_handles_labels()
    shown = dict(zip(labels, handles, strict=True)) | {entry.get_label(): entry for entry in extra}
    labels = sorted(shown, key=lambda label: label not in FIRST)  # the others in the order of drawing
    handles = [shown[label] for label in labels]
    options: dict[str, Any] = {"frameon": False, "title_fontsize": SMALL_PRINT, "alignment": "left"}
    if len(ax.figure.axes) == 1 and ax.figure.get_layout_engine() is not None:
        width = 72.0 * ax.figure.get_size_inches()[0]
        longest = max(map(len, labels), default=0) + 6
        columns = max(1, min(columns, int(width / (CHARACTER * ENTRY * longest))))
        options["title"] = "\n".join(wrap(text, int(width / (CHARACTER * SMALL_PRINT)))) or None
        ax.figure.legend(handles, labels, loc="outside lower center", ncol=columns, fontsize=ENTRY, **options)
    elif handles:
        ax.legend(handles, labels, loc="best", fontsize="x-small", **options)
    set_title(ax, title)
    return ax


def svg(picture: Any) -> str:
    """A picture as SVG on a transparent ground, the same text whenever it is drawn.

    Parameters
    ----------
    picture
        The axes or the figure that a function of this room returned.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Normal(0, 1)
    >>> result = gs.ksd_test(model.sample(50, rng=1), model, rng=1)
    >>> gs.plot.svg(result.plot("null")).startswith("<svg")
    True
    """
    figure = getattr(picture, "figure", picture)
    if not hasattr(figure, "savefig"):
        raise InputError("must be axes or a figure.", argument="picture", predicate=True)
    dpi = 110 if len(figure.axes) == 1 else 72  # of clouds that are stored as pixels
    with drawing() as (plt, _):
        out = io.StringIO()
        with plt.rc_context({"svg.hashsalt": "goodstein"}):
            figure.savefig(
                out, format="svg", transparent=True, metadata={"Date": None, "Creator": None}, dpi=dpi
            )
        plt.close(figure)
    text = out.getvalue()
    # A hundredth of a point is nothing to the eye. In these tags there are no words, but there are scales.
    text = text[text.index("<svg") :]
    return re.sub(r"<(?:path|use)[^<>]*>", lambda tag: COORDINATES.sub(_short, tag[0]), text)


def _short(coordinates: re.Match[str]) -> str:
    return DECIMALS.sub(r"\1", coordinates[0])
