"""What the numbers of the power table mean, and how they are printed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scenario import Scenario

from goodstein.power.rates import size_mark, wilson

NULL = "null"
"""The label of the law under which the rate is the size of the tests."""
BOUND = "Neyman–Pearson bound"


def levels(scenario: Scenario) -> tuple[float, float, float]:
    """The levels at which rejections are counted; the last is that of the table."""
    return 0.01, 0.05, scenario.level


@dataclass(frozen=True)
class Measured:
    """The rejections of one test under one law."""

    test: str
    trials: int
    rejections: tuple[float, ...]
    """One number for each of :func:`levels`; a randomised test may reject by halves."""
    fingerprint: str
    seconds: float | None = None
    """Median time of one test."""
    upper: float | None = None
    """Of the bound: what it does not exceed, with the error of its threshold included."""

    @property
    def rate(self) -> float:
        """At the level of the scenario."""
        return self.rejections[-1] / self.trials

    def record(self) -> tuple[Any, ...]:
        """The columns of the CSV file from the trials on."""
        counts = tuple(f"{count:.2f}".removesuffix(".00") for count in self.rejections)
        upper = "" if self.upper is None else f"{self.upper:.5f}"
        seconds = "" if self.seconds is None else f"{self.seconds:.2g}"
        return (self.trials, self.test, *counts, upper, seconds, self.fingerprint)


def mark(measured: Measured, level: float) -> str:
    """↑ or ↓ where the rate under the null is too high or too low for the level."""
    return size_mark(measured.rejections[-1], measured.trials, level)


def short(rate: float, digits: int = 3) -> str:
    """A rate without its leading zero."""
    return f"{rate:.{digits}f}".removeprefix("0")


def cell_line(scenario: Scenario, law: str, known: Mapping[Any, Measured]) -> str:
    """One line for the terminal."""
    tests = [test for test in (*scenario.tests, BOUND) if (scenario.name, law, test) in known]
    rates = ", ".join(f"{test} {short(known[scenario.name, law, test].rate)}" for test in tests)
    return f"{scenario.name} | {law}: {rates}"


def markdown(scenarios: Iterable[Scenario], known: Mapping[Any, Measured]) -> str:
    """The whole report."""
    scenarios = list(scenarios)
    cells = {(one.name, law) for one in scenarios for law in _laws(one)}
    missing = len(cells - {key[:2] for key in known})
    parts = [INTRODUCTION, suite(scenarios, known), summary(scenarios, known)]
    if missing:
        parts.append(f"**{missing} of {len(cells)} columns have not been measured yet.**\n")
    measured = [one for one in scenarios if any((one.name, law, _first(one)) in known for law in _laws(one))]
    return "\n".join([*parts, *(scenario_table(one, known) for one in measured)])


INTRODUCTION = f"""# How much do the tests find?

Written by `make validate` (`validation/power.py`); all numbers are in `power.csv`.

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


def _laws(scenario: Scenario) -> list[str]:
    return [NULL, *(alternative.label for alternative in scenario.alternatives)]


def _first(scenario: Scenario) -> str:
    return next(iter(scenario.tests))


def _mean_power(scenario: Scenario, test: str, known: Mapping[Any, Measured]) -> float | None:
    """Over all alternatives; None unless all of them have been measured."""
    found = [known.get((scenario.name, one.label, test)) for one in scenario.alternatives]
    return None if None in found else float(np.mean([one.rate for one in found if one is not None]))


def _liberal(scenario: Scenario, test: str, known: Mapping[Any, Measured]) -> bool:
    size = known.get((scenario.name, NULL, test))
    return size is not None and mark(size, scenario.level) == "↑"


SHARE = 0.9
"""Share of the best single test's power that the aggregated test is to reach."""


def suite(scenarios: Sequence[Scenario], known: Mapping[Any, Measured]) -> str:
    """Cell by cell, the aggregated test beside the best single test, their average, and the bound."""
    lines, short_of, cells, above = [], [], 0, 0
    for scenario in scenarios:
        for law in scenario.alternatives if scenario.judged else ():
            rates = {
                test: known[scenario.name, law.label, test].rate
                for test in scenario.tests
                if (scenario.name, law.label, test) in known and not _liberal(scenario, test, known)
            }
            ours = rates.pop(_first(scenario), None)
            if ours is None or not rates:
                continue
            best = max(rates, key=lambda test: rates[test])
            mean = float(np.mean(list(rates.values())))
            limit = known.get((scenario.name, law.label, BOUND))
            share = ours / rates[best] if rates[best] > 0 else math.inf
            # Two rates near the level cannot be told apart, and their ratio means nothing.
            enough = share >= SHARE or rates[best] < 2 * scenario.level
            cells, above = cells + 1, above + (ours >= mean)
            name = f"{scenario.name.removeprefix('Suite: ')}: {law.label}"
            if not enough:
                reason = scenario.reasons.get(law.label, "no reason found yet.")
                short_of.append(f"- {name} ({short(ours)} of {short(rates[best])}): {reason}")
            columns = [
                name,
                "–" if limit is None else short(limit.rate),
                short(ours),
                best,
                short(rates[best]),
                f"{share:.2f}{'' if enough else ' †'}",
                short(mean),
                f"{ours / mean:.2f}" if mean > 0 else "–",
            ]
            lines.append(f"| {' | '.join(columns)} |")
    if not lines:
        return ""
    text = [
        "## The suite: the aggregated test against every single test",
        "",
        "`aggregated_test` with nothing but its defaults, cell by cell; the tables of the suite are below. "
        "The best single test is the best in hindsight, which no user can choose. † marks cells in which the "
        f"aggregated test has less than {short(SHARE, 1)} of its power (where that is at least twice the "
        f"level): {len(short_of)} of {cells}. In {above} of {cells} cells it has at least the average power "
        "of the single tests.",
        "",
        "The collections and their weights were chosen on simulations like these; some weights were changed "
        "after a look at this very table, and measured again on the same draws. So the shares are a little "
        "too good, and on departures of another kind expect less.",
        "",
        "| cell | bound | aggregated | best single test | power | share | average | ratio |",
        "|:--|--:|--:|:--|--:|--:|--:|--:|",
        *lines,
    ]
    if short_of:
        text += ["", "Where it falls short, and why:", "", *short_of]
    return "\n".join(text) + "\n"


def summary(scenarios: Sequence[Scenario], known: Mapping[Any, Measured]) -> str:
    """Per scenario the power of our test beside the best other test and the bound."""
    lines = [
        "## Summary",
        "",
        "Power averaged over the alternatives of a scenario: the first test of its table, which is ours; the "
        "best of the other tests without ↑, one test for all alternatives, because a user must choose "
        "without knowing the alternative; and the bound. A ratio above one means that ours finds more.",
        "",
        "| scenario | ours | power | best other | power | ours / other | bound | ours / bound |",
        "|:--|:--|--:|:--|--:|--:|--:|--:|",
    ]
    for scenario in scenarios:
        ours = _first(scenario)
        power = _mean_power(scenario, ours, known)
        if power is None:
            continue
        others = {
            test: mean
            for test in scenario.tests
            if test != ours
            and not _liberal(scenario, test, known)
            and (mean := _mean_power(scenario, test, known)) is not None
        }
        best = max(others, key=lambda test: others[test], default="")
        limit = _mean_power(scenario, BOUND, known)
        cells = [
            scenario.name,
            f"{ours} ↑" if _liberal(scenario, ours, known) else ours,
            short(power),
            best or "–",
            short(others[best]) if best else "–",
            f"{power / others[best]:.2f}" if best and others[best] > 0 else "–",
            "–" if limit is None else short(limit),
            f"{power / limit:.2f}" if limit else "–",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def scenario_table(scenario: Scenario, known: Mapping[Any, Measured]) -> str:
    """One scenario: tests in rows, laws in columns."""
    published = [name for one in scenario.alternatives for name in one.published]
    tests = [*dict.fromkeys([*scenario.tests, *published])]
    head = ["test", f"{NULL} (size)", *(one.label for one in scenario.alternatives), "time"]
    lines = [
        f"## {scenario.name}",
        "",
        f"{scenario.about} n = {scenario.n}, level {short(scenario.level, 2)}. {_error(scenario, known)}",
        "",
        f"| {' | '.join(head)} |",
        f"|:--|{'--:|' * (len(head) - 1)}",
    ]
    best = {one.label: _best(scenario, one.label, known) for one in scenario.alternatives}
    for test in tests:
        size = known.get((scenario.name, NULL, test))
        cells = [
            test,
            "" if size is None else f"{short(size.rate)} {mark(size, scenario.level)}".strip(),
        ]
        for one in scenario.alternatives:
            found = known.get((scenario.name, one.label, test))
            text = "" if found is None else short(found.rate)
            if found is not None and found.rate == best[one.label] and not _liberal(scenario, test, known):
                text = f"**{text}**"
            cells.append(f"{text} {_published(scenario, one, test, known)}".strip())
        times = [found.seconds for law in _laws(scenario) if (found := known.get((scenario.name, law, test)))]
        cells.append(_time(times))
        lines.append(f"| {' | '.join(cells)} |")
    bounds = [known.get((scenario.name, one.label, BOUND)) for one in scenario.alternatives]
    if any(bounds):
        cells = [f"*{BOUND}*", short(scenario.level)]
        cells += ["" if one is None else f"*{short(one.rate)}*" for one in bounds]
        lines.append(f"| {' | '.join([*cells, ''])} |")
    if any("‡" in line for line in lines):
        lines += ["", "‡ above the bound: impossible at this level."]
    return "\n".join(lines) + "\n"


def _error(scenario: Scenario, known: Mapping[Any, Measured]) -> str:
    trials = sorted({one.trials for key, one in known.items() if key[0] == scenario.name and key[2] != BOUND})
    if not trials:
        return ""
    half = [(upper - lower) / 2 for lower, upper in (wilson(rate, trials[0]) for rate in (0.5, 0.05))]
    count = f"{trials[0]}" if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    return (
        f"{count} trials: a rate of .5 is known to ±{short(half[0])}, one of .05 or .95 to ±{short(half[1])} "
        "(Wilson, 95 %)."
    )


def _best(scenario: Scenario, law: str, known: Mapping[Any, Measured]) -> float | None:
    rates = [
        known[scenario.name, law, test].rate
        for test in scenario.tests
        if (scenario.name, law, test) in known and not _liberal(scenario, test, known)
    ]
    return max(rates, default=None)


def _published(scenario: Scenario, alternative: Any, test: str, known: Mapping[Any, Measured]) -> str:
    """The published rate in brackets, marked if it is above the bound."""
    if test not in alternative.published:
        return ""
    rate = float(alternative.published[test])
    limit = known.get((scenario.name, alternative.label, BOUND))
    above = limit is not None and limit.upper is not None and rate > limit.upper
    return f"[{short(rate)}{' ‡' if above else ''}]"


def _time(seconds: Sequence[float | None]) -> str:
    known = [value for value in seconds if value is not None]
    if not known:
        return ""
    typical = float(np.median(known))
    return f"{1000 * typical:.2g} ms" if typical < 0.0995 else f"{typical:.2g} s"
