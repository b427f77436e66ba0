"""The frozen suite: cells on which nothing is tuned, and on which the aggregated test is judged.

Frozen: models, departures, effects and numbers of observations were fixed before anyone looked at what tests
find in them, and stay as they are. Who changes the library may run them, and may not choose by them. The
effects are such that the Neyman–Pearson bound is about .95.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import rivals
from tables import Table, Test

import goodstein as gs
from unseen import directions, discrete, durations, euclidean, higher, others, regions, simplex
from unseen.laws import Case, blind

MODULES = (euclidean, higher, regions, simplex, directions, discrete, durations, others)
SCORE_ONLY, CENSORED = " (score only)", " (censored)"
"""End the names of tables in which tests cannot draw data: from the model, or from the law of censoring."""


def every_case() -> Iterator[Case]:
    return chain.from_iterable(module.cases() for module in MODULES)


def tests_of(case: Case) -> dict[str, Test]:
    """The aggregated test first, then its rivals: kernel tests, and classical ones of the domain."""
    if "censoring" in case.how:
        return rivals.of_durations(case.how["censoring"])
    if isinstance(case.null, gs.ConditionalModel):
        return rivals.OF_PAIRS
    return rivals.of_points(case.null.domain) if case.sampler else rivals.BY_SCORE


def table_of(case: Case) -> Table:
    how: dict[str, Any] = {"n": case.n, "level": 0.05, **case.how}
    laws = {label: make(effect) for label, (make, effect) in case.departures.items()}
    if isinstance(case.null, gs.ConditionalModel):
        cells = [
            gs.Cell(case.null, draw, name=label, log_ratio=ratio, **how)
            for label, (draw, ratio) in laws.items()
        ]
    elif case.sampler or "censoring" in case.how:
        cells = [gs.Cell(case.null, law, name=label, **how) for label, law in laws.items()]
    else:
        model, null = blind(case.null), case.null
        cells = [
            gs.Cell(model, law.sample, name=label, sample_null=null.sample, log_ratio=Ratio(null, law), **how)
            for label, law in laws.items()
        ]
    ending = "" if case.sampler else CENSORED if "censoring" in case.how else SCORE_ONLY
    return Table(f"Unseen: {case.name}{ending}", case.about, [(cells, tests_of(case))], draws=rivals.DRAWS)


class Ratio:
    """The log likelihood ratio of two laws, of a whole data set."""

    def __init__(self, null: Any, law: Any) -> None:
        self.null, self.law = null, law

    def __call__(self, data: Any) -> float:
        return float((self.law.logpdf(data) - self.null.logpdf(data)).sum())


def unseen_tables() -> Iterator[Table]:
    return map(table_of, every_case())
