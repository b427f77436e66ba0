"""Every number that the paper prints, beside ours, in one table."""

from __future__ import annotations

from collections import Counter

from setting import Row, Setting
from verdicts import Published, judge, keeps_level, published, rate
from writing import table

TITLE = "Every printed rate"

CORRECTED = {
    ("simplex", "bd-KSD(g1)"): "bd-KSD(product of parts)",
    ("n", "KSD(g=1)"): "bd-KSD(p=2)",
}
"""By group of cells and test: a test of the same kind that keeps its level, if the described one does not."""
BEST = "goodstein aggregated"
FLAT = "not explained: the printed power rises more slowly with ν than ours"
REASONS = {
    ("ball", None): "no test of level .01 can reach it",
    ("simplex", "bd-KSD(g1)"): "the test rejects true models too often",
    ("simplex", None): FLAT,
    ("n", None): "not a property of the test, whose size is right in more trials",
}
"""Why ours differs, by group of cells and test."""


def judged(setting: Setting) -> list[tuple[Published, Row, str, dict[str, Row]]]:
    """All printed rates with our row, the verdict, and all rows of the cell."""
    found = []
    for (part, cell, test), entry in published().items():
        if entry.quantity not in ("power", "size"):
            continue
        here = {row["test"]: row for row in setting.read(part) if row["cell"] == cell}
        if test in here:
            row = here[test]
            found.append((entry, row, judge(entry, row), here))
    return found


def glance(setting: Setting) -> str:
    """How many numbers have which verdict."""
    lines = []
    kinds = {"Table 1, ball": "ball", "Table 1, simplex": "simplex", "Table 2": "n = "}
    entries = judged(setting)
    for label, prefix in kinds.items():
        some = [(row, verdict) for entry, row, verdict, _ in entries if entry.cell.startswith(prefix)]
        counts = Counter(verdict for _, verdict in some)
        wrong = sum(prefix != "n = " and not keeps_level(row) for row, _ in some)
        said = ", ".join(f"{verdict}: {count}" for verdict, count in counts.most_common())
        more = f"; {wrong} of the {len(some)} are of a test that does not keep its level" if wrong else ""
        lines.append([label, len(some), said + more])
    return table(["", "numbers", "verdicts"], lines, text=3)


def section(setting: Setting) -> str:
    """One line for every printed rate."""
    lines = []
    for entry, row, verdict, here in judged(setting):
        group = entry.cell.split(",")[0].split(" ")[0]
        invalid = entry.quantity == "power" and not keeps_level(row)
        name = CORRECTED.get((group, entry.test))
        corrected = here.get(name) if name else None
        best = here.get(BEST)
        words = f"{verdict}, test invalid" if invalid else verdict
        reason = REASONS.get((group, entry.test), REASONS.get((group, None), ""))
        if verdict != "reproduced" or invalid:
            words += f": {reason}" if reason else ""
        lines.append(
            [
                f"{entry.where}: {entry.cell}, {entry.test}",
                rate(entry.value),
                rate(row[entry.quantity]),
                rate(row["size"]),
                _beside(corrected) if corrected else ("as described" if not invalid else "–"),
                _beside(best) if entry.quantity == "power" else "–",
                rate(row["bound"]) if entry.quantity == "power" else "–",
                words,
            ]
        )
    header = [
        "cell and test",
        "printed",
        "ours as described",
        "its size",
        "corrected (size)",
        "aggregated (size)",
    ]
    return "\n\n".join(
        [
            f"## {TITLE}",
            "Rates of rejection at level .01: power in Table 1, size in Table 2. Two rates agree if they "
            "differ by no more than three standard errors; a printed power is impossible if it exceeds the "
            "Neyman–Pearson bound by more than three standard errors of 200 trials at the bound. "
            "*Corrected*: a test of the same kind that keeps its level, where the described one does not.",
            table([*header, "most possible", "verdict"], lines),
        ]
    )


def _beside(row: Row | None) -> str:
    if row is None:
        return "–"
    return (
        f"{rate(row['size'])}, {row['test']}"
        if row["power"] is None
        else (f"{rate(row['power'])} ({rate(row['size'])})")
    )
