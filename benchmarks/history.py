"""The ratios of every complete run, one after the other, and what has become worse since the run before."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Sequence
from pathlib import Path

from report import Row

import goodstein as gs

HISTORY = Path(__file__).with_name("history.csv")
COLUMNS = ("date", "version", "processor", "target", "what", "value", "low", "high", "unit", "better")

WORSE = 1.15
"""By this factor a median must be worse to count, besides lying beyond the spread of the run before."""


def entries(rows: Sequence[Row], processor: str) -> list[dict[str, str]]:
    """The rows of a run as the file holds them; which way is better is that of the bound, or of a ratio."""
    today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M")
    return [
        {
            "date": today,
            "version": gs.__version__,
            "processor": processor,
            "target": row.target,
            "what": row.what,
            "value": f"{row.measured.value:.4g}",
            "low": f"{row.measured.low:.4g}",
            "high": f"{row.measured.high:.4g}",
            "unit": row.unit,
            "better": "more" if row.more_is_better else "less",
        }
        for row in rows
        if row.measured is not None
    ]


def previous(processor: str, path: Path = HISTORY) -> list[dict[str, str]]:
    """The entries of the last run on the same kind of processor."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        found = [entry for entry in csv.DictReader(file) if entry["processor"] == processor]
    return [entry for entry in found if entry["date"] == found[-1]["date"]]


def regressions(before: Sequence[dict[str, str]], now: Sequence[dict[str, str]]) -> list[str]:
    """What is worse than in the run before, in words. Times are not compared, only ratios and memory."""
    known = {(entry["target"], entry["what"]): entry for entry in before}
    found = []
    for entry in now:
        old = known.get((entry["target"], entry["what"]))
        if old is None or entry["unit"] in ("s", "ms"):
            continue
        value, was = float(entry["value"]), float(old["value"])
        more = entry["better"] == "more"
        beyond = value < float(old["low"]) if more else value > float(old["high"])
        factor = was / value if more else value / was
        if beyond and factor > WORSE:
            found.append(
                f"{entry['what']}: {was:g} → {value:g} {entry['unit']}, {100 * (factor - 1):.0f} % worse"
            )
    return found


def append(new: Sequence[dict[str, str]], path: Path = HISTORY) -> None:
    """Add a run to the file."""
    first = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if first:
            writer.writeheader()
        writer.writerows(new)
