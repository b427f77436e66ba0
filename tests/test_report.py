"""The report: one file that stands alone, whatever names are in it."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import browser
import goodstein as gs
from goodstein.data.points import Points
from goodstein.report.citation import citations
from goodstein.report.pictures import inline

pytestmark = pytest.mark.usefixtures("few_samples")

ROOT = Path(__file__).parents[1]
HOSTILE = "<script>alert('1')</script>\"'><img src=x onerror=alert(2)>&amp;\x1b[31m\u202e$x^$_{"
MODEL = gs.families.Normal([0.0, 0.0])
X = MODEL.sample(60, rng=1) + np.array([0.6, 0.0])
OUTSIDE_PICTURES = set(
    re.findall(
        r"\w+",
        "html head meta title style body main section h1 h2 p ul li table thead tbody tr th td div code "
        "figure figcaption strong svg details summary",
    )
)
VOID = ("meta",)


class Page(HTMLParser):
    """Elements of a page with their attributes, each of which has to be closed in its turn."""

    def __init__(self, text):
        super().__init__()
        self.found, self.open, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes), "svg" in self.open))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append((tag, dict(attributes), "svg" in self.open))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "svg"} & set(self.open):
            self.words.append(data)

    def attributes(self, tag):
        return [attributes for name, attributes, _ in self.found if name == tag]


@pytest.fixture(scope="module")
def result():
    frame = pd.DataFrame(X, columns=["height", HOSTILE])
    return gs.check(frame, MODEL, null=gs.WildBootstrap(199), rng=1)


@pytest.fixture(scope="module")
def written(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    result.to_html(path)
    return path


def text_of(path):
    return path.read_text(encoding="utf-8")


def test_it_is_one_file_that_asks_for_nothing(written):
    text = text_of(written)
    page = Page(text)
    assert {name for name, _, drawn in page.found if not drawn} <= OUTSIDE_PICTURES
    assert "script" not in {name for name, *_ in page.found}
    for _, attributes, _ in page.found:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "xlink:href"):
            assert attributes.get(name, "#").startswith(("#", "data:"))
    assert not re.search(r"url\((?!#|data:)|@import", text)
    policy = next(a["content"] for a in page.attributes("meta") if "http-equiv" in a)
    assert policy.startswith("default-src 'none'")


def test_it_can_be_read_aloud(written):
    page = Page(text_of(written))
    assert page.attributes("html") == [{"lang": "en"}]
    headings = [name for name, *_ in page.found if re.fullmatch(r"h\d", name)]
    assert headings[0] == "h1" and headings.count("h1") == 1 and set(headings) == {"h1", "h2"}
    figures = page.attributes("figure")
    assert figures and all(len(figure["aria-label"]) > 20 for figure in figures)
    assert all(cell["scope"] in ("row", "col") for cell in page.attributes("th"))
    assert all(region["aria-label"] for region in page.attributes("div"))


def test_members_stand_below_their_headings(result, written):
    part = r'aria-label="Members of the test".*?</table>'
    (table,) = re.findall(part, text_of(written), flags=re.DOTALL)
    head, *lines = (
        [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", line, flags=re.DOTALL)]
        for line in re.findall(r"<tr>.*?</tr>", table, flags=re.DOTALL)
    )
    assert head == ["looks at", "member", "weight", "p", "adjusted p"]
    for member, line in zip(result.test.members, lines, strict=True):
        assert [float(cell) for cell in line[2:]] == pytest.approx(
            [member.weight, member.pvalue, member.adjusted_pvalue], rel=0.01
        )


def test_words_below_pictures_are_text_of_the_page(written):
    text = text_of(written)
    page = Page(text)
    captions = " ".join(re.findall(r"<figcaption>(.*?)</figcaption>", text, flags=re.DOTALL))
    assert "a slope upwards" in captions and "a slope upwards" in " ".join(page.words)
    assert not any("slope" in svg for svg in re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL))


def test_everything_is_there(result, written):
    words = " ".join(" ".join(Page(text_of(written)).words).split())
    for part in (
        result.verdict,
        "not explained",
        "shift of height",
        "What a small p-value means",
        "connectedness",
        f"--seed {result.seed}",
        f"goodstein {gs.__version__}",
        "arXiv:2106.12105",
        f"{len(X)} observations on Euclidean(2)",
    ):
        assert part in words, part


def test_names_of_strangers_are_words(result):
    test = replace(result.test, model=HOSTILE, notes=(HOSTILE,), details={HOSTILE: HOSTILE})
    hostile = replace(result, test=test, options={"domain": HOSTILE})
    page = Page(page_of(hostile))
    assert {name for name, _, drawn in page.found if not drawn} <= OUTSIDE_PICTURES
    assert not {name for name, *_ in page.found} & {"script", "img"}
    assert HOSTILE[:27] in " ".join(page.words)
    assert page_of(hostile).replace("\n", "").isprintable()


def page_of(result):
    return sys.modules["goodstein.report.page"].page(result)


def test_the_data_are_not_in_it(result):
    x = np.round(np.linspace(-1.2345678, 1.7654321, 60), 7)
    values = [f"{value:.5f}"[:-1] for value in x[1:-1] if abs(value) > 0.1]
    found = gs.check(x, gs.families.Normal(0, 1), null=gs.WildBootstrap(99), rng=1)
    words = " ".join(Page(page_of(found)).words)
    assert [value for value in values if value in words] == []


def test_the_same_result_makes_the_same_page_and_leaves_matplotlib_as_it_was(result, written):
    import matplotlib.pyplot as plt

    before, settings = plt.get_fignums(), dict(plt.rcParams)
    assert page_of(result) == text_of(written)
    with plt.style.context("dark_background"):
        assert page_of(result) == text_of(written)
    assert plt.get_fignums() == before and dict(plt.rcParams) == settings


def test_a_million_rows_take_less_than_a_megabyte(result):
    rng = np.random.default_rng(0)
    data = Points(rng.normal(size=(1_000_000, 2)), tuple(f"{k} {'name' * 1000}" for k in range(2)))
    asked = tuple(replace(problem, data=data) for problem in result.test.asked)
    model, notes = "model" * 100_000, ("note" * 10_000,) * 3
    test = replace(result.test, n=len(data), asked=asked, model=model, notes=notes)
    text = page_of(replace(result, test=test))
    assert len(text.encode()) < 1_000_000


def test_without_matplotlib_there_is_a_line_instead(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    page = Page(page_of(result))
    assert page.attributes("svg") == [] and "goodstein[plot]" in " ".join(page.words)


def test_it_is_written_whole_or_not_at_all(result, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("before")
    with pytest.raises(gs.InputError, match="no folder"):
        result.to_html(tmp_path / "nowhere" / "report.html")
    with pytest.raises(gs.InputError, match="is no file"):
        result.to_html(tmp_path)
    monkeypatch.setattr("goodstein.checking.result.page", lambda result: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        result.to_html(path)
    monkeypatch.setattr("goodstein.checking.result.page", lambda result: "after")
    monkeypatch.setattr("os.replace", lambda *paths: (_ for _ in ()).throw(OSError(28, "no space left")))
    with pytest.raises(gs.ResourceError, match="no space left"):
        result.to_html(path)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"] and path.read_text() == "before"


def test_pictures_do_not_share_names():
    svg = '<?xml?><svg id="a"><metadata>\n<x/></metadata><use href="#b" style="c: url(#d)"/>id="e"</svg>'
    assert inline(svg, "p1") == (
        '<svg aria-hidden="true" id="p1-a"><use href="#p1-b" style="c: url(#p1-d)"/>id="e"</svg>'
    )


def test_the_citation_is_that_of_the_repository():
    cff = " ".join((ROOT / "CITATION.cff").read_text(encoding="utf-8").split())
    software, article = citations()
    assert software == "The goodstein developers. {}, version {}.".format(
        re.search(r'title: "(.*?)"', cff)[1], re.search(r"version: (\S+) license", cff)[1]
    )
    assert 'name: "The goodstein developers"' in cff
    known = re.search(
        r"title: >- (.*?) authors: - family-names: (\w+) given-names: (\w+) year: (\d+).*?volume: (\d+).*?"
        r'value: "(.*?)"',
        cff,
    )
    assert all(part in article for part in known.groups())


@pytest.mark.skipif(browser.found() is None, reason="There is no Chromium here.")
def test_a_browser_shows_it_at_both_widths_in_both_colours_and_prints_it(written, tmp_path):
    with browser.Browser() as page:
        papers = set()
        for width, dark in ((390, False), (1440, True)):
            page.open(written, width=width, dark=dark)
            assert page.requested() == [written.as_uri()] and page.said() == []
            assert page.ask("document.documentElement.scrollWidth") <= width
            # The one table with five columns is moved sideways by itself.
            others = 'main *:not(svg *):not([aria-label="Members of the test"] *)'
            wider = f"[...document.querySelectorAll('{others}')].filter(e => e.getBoundingClientRect()"
            assert page.ask(f"{wider}.right > innerWidth + 1).length") == 0
            sizes = page.ask(
                "[...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect())"
                ".map(r => [r.width, r.height])"
            )
            assert sizes and all(w > 200 and h > 100 for w, h in sizes)
            papers.add(page.ask("getComputedStyle(document.body).backgroundColor"))
        assert len(papers) == 2
        page("Emulation.setEmulatedMedia", media="print", features=[])
        assert page.ask(
            "[...document.querySelectorAll('table')].every(t => getComputedStyle(t).breakInside == 'avoid' "
            "&& t.scrollWidth <= t.parentElement.clientWidth + 1)"
        )
        page.pdf(tmp_path / "report.pdf")
        assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
