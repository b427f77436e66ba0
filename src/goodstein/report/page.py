"""The page: one file that needs nothing else, with what was asked, what was found and how.

There is no script in it, a policy forbids the browser to run or fetch any, and all words from outside are
escaped where elements are made (:mod:`goodstein.report.elements`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from goodstein.report.citation import citations
from goodstein.report.elements import Html, element, joined, listed, paragraphs, tabled
from goodstein.report.pictures import pictures
from goodstein.text import Table, as_html, cut, readable, visible

if TYPE_CHECKING:
    from goodstein.checking.result import CheckResult

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLE = Path(__file__).with_name("style.css")

LISTED = 200
"""Views that are listed at most."""

MEANING = (
    "The p-value is the probability of data that look at least as unlike the model as these do, if the model "
    "were true. A small one says that such data would be rare then.",
    "It is not the probability that the model is true, and it does not say how wrong the model is, nor "
    "whether that matters for what you use it for: with enough data every model is rejected, since none is "
    "exactly true. Read it together with what fails and how wrong the model is.",
    "A large p-value does not show that the model is true. The sample may be too small to see what is wrong; "
    "what it could have found is said above.",
    "It holds for one model that was chosen before these data were seen. A model that was fitted to them, or "
    "that is the best of several, looks better than it is unless the test takes account of that; the notes "
    "say where it does.",
)


def page(result: CheckResult) -> str:
    """The whole page, a megabyte at most, the same text whenever it is made of the same result."""
    test = result.test
    parts = [
        element("h1", "Does this model fit these data?"),
        element("p", result.verdict, class_=f"verdict {result.decision.replace(' ', '-')}"),
        tabled(Table((), [(name, _on_paper(text)) for name, text in result.rows()]), "In short"),
        _section("What fails", *_failures(result)),
        _section("Pictures", *pictures(result)),
        _section("How wrong the model is", *_wrong(result)),
        _section("What such a sample could have found", *_could(result)),
        _section("Model", paragraphs(test.model), *_model(result)),
        _section("Can the p-value be trusted?", *_audit(result)),
        _section("The test", *_test(result)),
        _section("What a small p-value means, and what it does not", paragraphs(*MEANING)),
        _section("How to get this again", *_again(result)),
        _section("How to cite", listed(*citations())),
    ]
    style = STYLE.read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{as_html(f'Does {cut(test.model, 80)} fit?')}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n<main>\n{joined(*(Html(f'{part}{chr(10)}') for part in parts))}</main>\n</body>\n</html>\n"
    )


def _section(title: str, *parts: Html) -> Html:
    return element("section", element("h2", title), *parts)


def _failures(result: CheckResult) -> list[Html]:
    explanation = result.explanation
    if explanation is None:
        return [paragraphs(result.missing["explanation"])]
    tables = [tabled(table, "What fails") for table in explanation._tables()]
    caution = "" if result.rejected else "The test as a whole does not reject, so nothing is claimed here."
    failing = explanation.failing[:LISTED]
    lines = [(f"{k}.", finding.statement) for k, finding in enumerate(failing, 1)]
    every = []
    if len(failing) > sum(len(table.lines) for table in explanation._tables()):
        summary = element("summary", f"All {len(failing)} views that fail, one below the other")
        every = [element("details", summary, tabled(Table(("", "what is wrong"), lines), "All that fails"))]
    notes = [_on_paper(note) for note in explanation._notes()]
    return [paragraphs(caution, explanation._title()), *tables, *every, paragraphs(*notes)]


def _on_paper(text: str) -> str:
    """What a result says, without the methods that say more in Python."""
    return (
        text.replace(" (.explain())", ", which see below")
        .replace(", see .table()", "")
        .replace(" (.audit)", "")
    )


def _wrong(result: CheckResult) -> list[Html]:
    found = result.tolerance
    if found is None:
        return [paragraphs(result.missing["tolerance"])]
    confidence = f"({found.level:.0%} confidence)"
    if found.share > 0.0:
        told = (
            f"{found._title()}. So large a part, at least, would have to be exchanged before the model could"
        )
        return [paragraphs(f"{told} be true; the true share may be much larger.")]
    told = "The share of the population that the model cannot explain has no lower bound above zero"
    return [paragraphs(f"{told} {confidence}. It is a cautious bound: a test may reject where it is zero.")]


def _could(result: CheckResult) -> list[Html]:
    found = result.detectable
    if found is None:
        return [paragraphs(result.missing["detectable"])]
    lines = [(move.change, move.words()) for move in found.moves]
    return [
        paragraphs(
            f"At level {found.level:g}, {result.test.n} such observations show each of these changes, alone, "
            f"with a probability of about {found.power:g}. What is smaller would mostly have gone unnoticed."
        ),
        tabled(Table(("change", "size"), lines), "Detectable changes"),
        paragraphs(*found.notes),
    ]


def _model(result: CheckResult) -> list[Html]:
    domain = result.test.domain
    return [] if domain is None else [paragraphs(f"It lives on {domain!r}.")]


def _audit(result: CheckResult) -> list[Html]:
    audit = result.audit
    verdict = "The audit refused this test and was overruled." if audit.refused else "No check failed."
    lines = [(check.name, check.status, check.message) for check in audit.checks]
    table = [tabled(Table(("looked at", "outcome", "found"), lines), "Audit")] if lines else []
    notes = [listed(*result.notes)] if result.notes else []
    return [paragraphs(verdict), *table, *notes]


def _test(result: CheckResult) -> list[Html]:
    test = result.test
    facts = [
        ("test", test.title),
        ("null distribution", readable(test.null)),
        *((name, str(value)) for name, value in test.details.items() if name != "null distribution"),
        ("statistic", f"{test.statistic:.6g} ({test.statistic_name})"),
        ("p-value", f"{test.pvalue:.4g}"),
    ]
    each = (member.line() for member in test.members)
    lines = [
        (seen, f"{operator} with {kernel}", weight, *p) for seen, operator, kernel, weight, _, *p in each
    ]
    members = Table(("looks at", "member", "weight", "p", "adjusted p"), lines)
    return [
        tabled(Table((), facts), "The test"),
        *([tabled(members, "Members of the test")] if lines else []),
    ]


def _again(result: CheckResult) -> list[Html]:
    asked = {"model": result.test.model, **result.options, "level": f"{result.level:g}", "rng": result.seed}
    versions = ", ".join(f"{name} {number}" for name, number in result.versions.items())
    return [
        paragraphs("Call goodstein.check with the same data and model, and with these arguments:"),
        tabled(Table((), [(name, visible(cut(str(words)))) for name, words in asked.items()]), "Arguments"),
        paragraphs(f"In a shell: goodstein check with --seed {result.seed}. Versions: {versions}."),
    ]
