"""REPORT.md: what the paper prints, what we find, and why they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from setting import Row, Rows, Setting
from verdicts import REPRODUCED, judge, keeps_level, published
from words import fill, put

import goodstein as gs

CORRECTED = {("simplex", "bd-KSD(g1)"): "bd-KSD(product of parts)", ("n", "KSD(g=1)"): "bd-KSD(p=2)"}
"""By group of cells and test: a test of the same kind that keeps its level, if the described one does not."""
REASONS = {
    ("ball", None): "no test of level .01 can reach it",
    ("simplex", "bd-KSD(g1)"): "the test rejects true models too often",
    ("simplex", None): "not explained: the printed power rises more slowly with ν than ours",
    ("n", None): "not a property of the test, whose size is right in more trials",
}
"""Why ours differs, by group of cells and test."""


def write_report(setting: Setting, parts: Sequence[str]) -> Path:
    path = setting.folder / "REPORT.md"
    path.write_text(text(setting, parts), encoding="utf-8", newline="\n")
    return path


def text(setting: Setting, parts: Sequence[str]) -> str:
    """The report, from the results that there are."""
    glance, sections = [], []
    for part in parts:
        if not setting.read(part):
            continue
        title, _, body = section(setting, part).partition("\n\n")
        if body.startswith("> "):
            summary, _, body = body.partition("\n\n")
            glance.append(f"- **{title[3:]}:** {summary[2:]}")
        sections += [title, body]
    rates = judged(setting)
    values = {"version": gs.__version__, "glance": "\n".join(glance), "sections": "\n\n".join(sections)}
    return fill("report", values | {"groups": groups(rates), "rates": map(rate_line, rates)}) + "\n"


def section(setting: Setting, part: str) -> str:
    """The text of a part; every claim that published.csv has of it must be judged there."""
    claims = published().where(part=part, quantity="claim")
    said = Rows(row | {"said": f"{row['where']}: *{row['text']}*"} for row in claims).by("cell", "test")
    known = {cell: {test: row["said"] for test, row in tests.items()} for cell, tests in said.items()}
    found = fill(part, {"claim": known} | import_module(part).values(setting))
    missing = [row["text"] for row in claims if row["text"] not in found]
    assert not missing, f"text/{part}.md says nothing of {missing}"
    return found


# Every printed rate, beside ours


def judged(setting: Setting) -> list[tuple[Row, Row, str, dict[str, Row]]]:
    """All printed rates with our row, the verdict, and all rows of the cell."""
    found = []
    for entry in published():
        if entry["quantity"] in ("power", "size"):
            here = setting.read(entry["part"]).by("cell", "test").get(entry["cell"], {})
            if entry["test"] in here:
                row = here[entry["test"]]
                found.append((entry, row, judge(entry, row), here))
    return found


def groups(rates: list[tuple[Row, Row, str, dict[str, Row]]]) -> list[Row]:
    """How many numbers have which verdict."""
    lines = []
    for label, prefix in (("Table 1, ball", "ball"), ("Table 1, simplex", "simplex"), ("Table 2", "n = ")):
        some = [(row, verdict) for entry, row, verdict, _ in rates if entry["cell"].startswith(prefix)]
        counts = Counter(verdict for _, verdict in some)
        wrong = sum(prefix != "n = " and not keeps_level(row) for row, _ in some)
        said = ", ".join(f"{verdict}: {count}" for verdict, count in counts.most_common())
        more = f"; {wrong} of the {len(some)} are of a test that does not keep its level" if wrong else ""
        lines.append({"label": label, "count": len(some), "said": said + more})
    return lines


def rate_line(rate: tuple[Row, Row, str, dict[str, Row]]) -> dict[str, Any]:
    """One line of the table of all printed rates."""
    entry, row, verdict, here = rate
    group, test, power = (
        entry["cell"].split(",")[0].split(" ")[0],
        entry["test"],
        entry["quantity"] == "power",
    )
    invalid = power and not keeps_level(row)
    words = f"{verdict}, test invalid" if invalid else verdict
    if verdict != REPRODUCED or invalid:
        words += f": {REASONS.get((group, test), REASONS[group, None])}"
    other = here.get(CORRECTED.get((group, test), ""))
    form = "{power:.3f} ({size:.3f})" if power else "{size:.3f}, {test}"
    return {
        **entry,
        "ours": row[entry["quantity"]],
        "size": row["size"],
        "corrected": put(form, other) if other or invalid else "as described",
        "aggregated": put(form, here.get("goodstein aggregated") if power else None),
        "most": row["bound"] if power else None,
        "verdict": words,
    }
