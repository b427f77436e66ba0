"""What the numbers mean, in Markdown: do tests keep their level, and how much do they find?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import numpy as np
from points import DEFAULTS, INVALID
from results import BOUND, LEVELS, Key, Measured, Results, draws_of
from scipy.stats import binom
from tables import NULL, Table

from goodstein.power.rates import SIZE_CONFIDENCE, size_mark, wilson


def short(rate: float | None, digits: int = 3) -> str:
    """A rate without its leading zero."""
    return "–" if rate is None else f"{rate:.{digits}f}".removeprefix("0")


def grid(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """A table; columns are aligned to the right but for the first ones."""
    rule = "".join(":--|" if column < left else "--:|" for column in range(len(head)))
    return [f"| {' | '.join(head)} |", f"|{rule}", *(f"| {' | '.join(row)} |" for row in rows)]


# Sizes.

SIZES = """# Do the tests keep their level?

Written by `make validate` (`validation/run.py size`); all numbers are in `size.csv`.

Every row draws data from a model, tests that same model, and counts how often the test rejects it at
the levels .01, .05 and .10. A valid test does so with just these probabilities, up to the error of a finite
number of trials: a rate is marked **↑** (too high, liberal) or **↓** (too low, conservative) if it lies
outside the central 99.9 % of the binomial distribution. Of a thousand rates one is marked by chance alone.
A liberal test reports effects that do not exist; a conservative one keeps its promise, but finds less.

A test is calibrated by the wild bootstrap with 999 draws of orthogonal signs unless its name or the text
above the table says otherwise. A p-value is a multiple of 1/(B + 1), B the number of draws, and a level
between two such values is compared with the lower one. *KS* is the p-value of the Kolmogorov–Smirnov test
that the p-values of a row, made continuous by a uniform share of that step, are uniform; rows that were
measured before it was introduced do not have it. Those rows are also older than the metric of the score:
where they are of default tests on R^d and boxes, the kernel saw the points in the given coordinates.

Rates within these limits are not marked:
"""
LEVEL_NAMES = [short(level, 2) for level in LEVELS]


def size_report(tables: Sequence[Table], known: Results) -> str:
    """The whole report."""
    rows = [(table, key) for table in tables for key in table.keys]
    trials = sorted({one.trials for one in known.values()})
    limits = [[str(count), *(_limits(level, count) for level in LEVELS)] for count in trials]
    parts = [SIZES, *grid(["trials", *LEVEL_NAMES], limits, 0), "", *_summary_of_sizes(rows, known), ""]
    missing = sum(key not in known for _, key in rows)
    if missing:
        parts += [f"**{missing} rows have not been measured yet.**", ""]
    for table in tables:
        if any(key in known for key in table.keys):
            parts += [size_table(table, known), ""]
    return "\n".join(parts)


def _limits(level: float, trials: int) -> str:
    tail = (1 - SIZE_CONFIDENCE) / 2
    lower, upper = binom.ppf([tail, 1 - tail], trials, level)
    return f"{short(lower / trials, 4)} – {short(upper / trials, 4)}"


def marks(table: Table, key: Key, known: Results) -> list[str]:
    """At each level ↑, ↓ or nothing."""
    return [known[key].mark(level, draws_of(table, key[2])) for level in LEVELS]


def remark(table: Table, key: Key, known: Results) -> str:
    """Why a row is marked, if it is."""
    if not any(marks(table, key, known)):
        return ""
    fitting = (text for pattern, text in table.notes.items() if fnmatchcase(f"{key[1]} | {key[2]}", pattern))
    return next(fitting, "**Not explained.**")


def _marked(rate: float, mark: str) -> str:
    return f"**{short(rate, 4)}** {mark}" if mark else short(rate, 4)


def _summary_of_sizes(rows: Sequence[tuple[Table, Key]], known: Results) -> list[str]:
    """Rows pooled, so that small deviations shared by many rows show."""
    measured = [(table, key) for table, key in rows if key in known]
    valid = [(table, key) for table, key in measured if table.name != INVALID]
    found = [marks(table, key, known) for table, key in valid]
    unexplained = sum("Not explained" in remark(table, key, known) for table, key in valid)
    defaults = [known[key] for table, key in measured if table.name == DEFAULTS]
    pooled = []
    for n in sorted({one.n for one in defaults}):
        trials = sum(one.trials for one in defaults if one.n == n)
        counts = {level: sum(one.rejected(level) for one in defaults if one.n == n) for level in LEVELS}
        rates = [_marked(count / trials, size_mark(count, trials, level)) for level, count in counts.items()]
        pooled.append([f"all default tests, n = {n}", str(trials), *rates])
    return [
        "## Summary",
        "",
        f"{len(valid)} rows: {sum('↑' in some for some in found)} marked as liberal, "
        f"{sum('↓' in some for some in found)} as conservative, {unexplained or 'none'} of them without "
        f"explanation; {len(measured) - len(valid)} further rows are warning examples. The default tests "
        "taken together, where the error is smallest:",
        "",
        *grid(["rows", "trials", *LEVEL_NAMES], pooled),
    ]


def size_table(table: Table, known: Results) -> str:
    """The rows of a table, with the explanations as numbered notes below."""
    remarks = {key: remark(table, key, known) for key in table.keys if key in known}
    notes = list(dict.fromkeys(filter(None, remarks.values())))
    tested = any(known[key].uniform is not None for key in remarks)
    rows = []
    for key, text in remarks.items():
        one = known[key]
        found = zip(LEVELS, marks(table, key, known), strict=True)
        row = [key[1], key[2], str(one.trials), *(_marked(one.rate(level), mark) for level, mark in found)]
        row += [short(one.uniform)] if tested else []
        rows.append([*row, *([str(1 + notes.index(text)) if text else ""] if notes else [])])
    head = [
        "model",
        "test",
        "trials",
        *LEVEL_NAMES,
        *(["KS"] if tested else []),
        *(["note"] if notes else []),
    ]
    lines = [f"## {table.name}", "", table.about, "", *grid(head, rows, 2)]
    if notes:
        lines += ["", *(f"{number}. {note}" for number, note in enumerate(notes, 1))]
    return "\n".join(lines)


# Power.

POWER = f"""# How much do the tests find?

Written by `make validate` (`validation/run.py power`); all numbers are in `power.csv`.

Every table has one null model and several laws of the data that differ from it more and more; a cell is
the share of trials in which a test rejects the null model. All tests of a table see the same draws.

- The first column is the **size**: the data follow the null model, so the rate should equal the level. It is
  marked ↑ or ↓ if it lies outside the central 99.9 % of the binomial distribution. The power of a test with ↑
  is not comparable: it rejects too much whatever the data.
- The **{BOUND}** is the power of the likelihood-ratio test of the null against just this alternative.
  It knows what a user does not, and no test of this level can have more power. Its threshold comes from
  4000 draws of the null (where the ratio takes few values it rejects at the threshold with the probability
  that makes the level exact, without which it would not be a bound), its power from 2000 of the alternative.
- **Bold** is the best test of a column among those without ↑; the bound is not a candidate.
- Numbers [in brackets] were published elsewhere for the same cell. Those marked ‡ are above the bound by more
  than its error: impossible at this level.
- Times are medians of one test on one core, on the machine that measured them.
"""


class Rates:
    """The numbers of one table of power, as far as they are known."""

    def __init__(self, table: Table, known: Results) -> None:
        self.table = table
        self.ours = table.tests[0]
        self.laws = [cell.name for cell in table.cells]
        self._known = known

    def measured(self, test: str, *laws: str) -> list[Measured]:
        keys = [(self.table.name, law, test) for law in laws or (NULL, *self.laws)]
        return [self._known[key] for key in keys if key in self._known]

    def rate(self, law: str, test: str) -> float | None:
        found = self.measured(test, law)
        return found[0].rate(self.table.level) if found else None

    def mark(self, test: str) -> str:
        """↑ or ↓ where the size is too large or too small."""
        size = self.measured(test, NULL)
        return size[0].mark(self.table.level) if size else ""

    def valid(self, law: str) -> dict[str, float]:
        """The power of the tests that are not liberal."""
        found = {test: self.rate(law, test) for test in self.table.tests if self.mark(test) != "↑"}
        return {test: rate for test, rate in found.items() if rate is not None}

    def mean(self, test: str) -> float | None:
        """The power over all alternatives; None unless all of them have been measured."""
        found = [one.rate(self.table.level) for one in self.measured(test, *self.laws)]
        return float(np.mean(found)) if len(found) == len(self.laws) else None


def power_report(tables: Sequence[Table], known: Results) -> str:
    """The whole report."""
    rates = [Rates(table, known) for table in tables]
    parts = [POWER, *_judged(rates), *_summary_of_power(rates), ""]
    columns = {key[:2] for table in tables for key in table.keys}
    missing = len(columns - {key[:2] for key in known})
    if missing:
        parts += [f"**{missing} of {len(columns)} columns have not been measured yet.**", ""]
    for one in rates:
        if one.measured(one.ours):
            parts += [power_table(one.table, known), ""]
    return "\n".join(parts)


SHARE = 0.9
"""Share of the best single test's power that a judged test is to reach."""


def _judged(tables: Sequence[Rates]) -> list[str]:
    """Cell by cell, the aggregated test beside the best single test, their average, and the bound."""
    rows, short_of, above = [], [], 0
    for table, law in ((one, law) for one in tables if one.table.judged for law in one.laws):
        rates = table.valid(law)
        ours = rates.pop(table.ours, None)
        if ours is None or not rates:
            continue
        best = max(rates, key=lambda test: rates[test])
        share = ours / rates[best] if rates[best] > 0 else math.inf
        mean = float(np.mean(list(rates.values())))
        # Two rates near the level cannot be told apart, and their ratio means nothing.
        enough = share >= SHARE or rates[best] < 2 * table.table.level
        above += ours >= mean
        name = f"{table.table.name.removeprefix('Suite: ')}: {law}"
        if not enough:
            reason = table.table.notes.get(law, "no reason found yet.")
            short_of.append(f"- {name} ({short(ours)} of {short(rates[best])}): {reason}")
        row = [name, short(table.rate(law, BOUND)), short(ours), best, short(rates[best])]
        row += [
            f"{share:.2f}{'' if enough else ' †'}",
            short(mean),
            f"{ours / mean:.2f}" if mean > 0 else "–",
        ]
        rows.append(row)
    if not rows:
        return []
    return [
        "## The suite: the aggregated test against every single test",
        "",
        "`aggregated_test` with nothing but its defaults, cell by cell; the tables of the suite are below. "
        "The best single test is the best in hindsight, which no user can choose. † marks cells in which the "
        f"aggregated test has less than {short(SHARE, 1)} of its power (where that is at least twice the "
        f"level): {len(short_of)} of {len(rows)}. In {above} of {len(rows)} cells it has at least the "
        "average power of the single tests.",
        "",
        "The collections and their weights were chosen on simulations like these; some weights were changed "
        "after a look at this very table, and measured again on the same draws. So the shares are a little "
        "too good, and on departures of another kind expect less.",
        "",
        *grid(
            ["cell", "bound", "aggregated", "best single test", "power", "share", "average", "ratio"], rows
        ),
        "",
        *(["Where it falls short, and why:", "", *short_of, ""] if short_of else []),
    ]


def _summary_of_power(tables: Sequence[Rates]) -> list[str]:
    """Per table the power of our test beside the best other test and the bound."""
    rows = []
    for table in tables:
        ours, bound = table.mean(table.ours), table.mean(BOUND)
        if ours is None:
            continue
        means = {test: table.mean(test) for test in table.table.tests[1:] if table.mark(test) != "↑"}
        best = max(means, key=lambda test: means[test] or 0.0, default="–")
        other = means.get(best)
        row = [
            table.table.name,
            f"{table.ours} ↑" if table.mark(table.ours) == "↑" else table.ours,
            short(ours),
        ]
        row += [best, short(other), f"{ours / other:.2f}" if other else "–"]
        rows.append([*row, short(bound), f"{ours / bound:.2f}" if bound else "–"])
    return [
        "## Summary",
        "",
        "Power averaged over the alternatives of a table: its first test, which is ours; the best of the "
        "other tests without ↑, one test for all alternatives, because a user must choose without knowing "
        "the alternative; and the bound. A ratio above one means that ours finds more.",
        "",
        *grid(
            ["table", "ours", "power", "best other", "power", "ours / other", "bound", "ours / bound"], rows
        ),
    ]


def power_table(table: Table, known: Results) -> str:
    """Tests in rows, laws in columns."""
    rates = Rates(table, known)
    best = {law: max(rates.valid(law).values(), default=None) for law in rates.laws}
    rows = []
    for test in dict.fromkeys([*table.tests, *(test for some in table.published.values() for test in some)]):
        size, mark = rates.rate(NULL, test), rates.mark(test)
        row = [test, "" if size is None else f"{short(size)} {mark}".strip()]
        for law in rates.laws:
            rate = rates.rate(law, test)
            bold = "**" if rate is not None and rate == best[law] and mark != "↑" else ""
            text = "" if rate is None else f"{bold}{short(rate)}{bold}"
            row.append(f"{text} {_published(rates, law, test)}".strip())
        rows.append([*row, _time(rates.measured(test))])
    bounds = [rates.rate(law, BOUND) for law in rates.laws]
    if any(bound is not None for bound in bounds):
        limits = ["" if bound is None else f"*{short(bound)}*" for bound in bounds]
        rows.append([f"*{BOUND}*", short(table.level), *limits, ""])
    about = f"{table.about} n = {table.cells[0].n}, level {short(table.level, 2)}. {_error(rates)}"
    head = ["test", f"{NULL} (size)", *rates.laws, "time"]
    lines = [f"## {table.name}", "", about, "", *grid(head, rows)]
    if any("‡" in line for line in lines):
        lines += ["", "‡ above the bound: impossible at this level."]
    return "\n".join(lines)


def _error(rates: Rates) -> str:
    trials = sorted({one.trials for test in rates.table.tests for one in rates.measured(test)})
    if not trials:
        return ""
    half = [(upper - lower) / 2 for lower, upper in (wilson(rate, trials[0]) for rate in (0.5, 0.05))]
    count = f"{trials[0]}" if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    return (
        f"{count} trials: a rate of .5 is known to ±{short(half[0])}, one of .05 or .95 to ±{short(half[1])} "
        "(Wilson, 95 %)."
    )


def _published(rates: Rates, law: str, test: str) -> str:
    """The published rate in brackets, marked if it is above the bound."""
    rate = rates.table.published.get(law, {}).get(test)
    if rate is None:
        return ""
    above = any(bound.upper is not None and rate > bound.upper for bound in rates.measured(BOUND, law))
    return f"[{short(rate)}{' ‡' if above else ''}]"


def _time(measured: Sequence[Measured]) -> str:
    known = [one.seconds for one in measured if one.seconds is not None]
    if not known:
        return ""
    typical = float(np.median(known))
    return f"{1000 * typical:.2g} ms" if typical < 0.0995 else f"{typical:.2g} s"
