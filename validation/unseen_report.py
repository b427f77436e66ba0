"""What the frozen suite says: the aggregated test beside the best of its rivals, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from report import BOUND, NULL, SHARE, Rates, grid, power_table, short
from results import Results, rows_of
from rivals import KERNEL
from scipy.stats import binom
from tables import Table
from unseen import CENSORED, SCORE_ONLY

from goodstein.power.rates import SIZE_CONFIDENCE

HERE, LEVEL = Path(__file__).parent, 0.05
UNSEEN = f"""# How much do the tests find in cells that nobody tuned on?

Written by `make validate` (`validation/run.py unseen`); all numbers are in `unseen.csv`.

The cells of this suite were fixed before any test was run on them, and are not changed: other models and
departures than those of `power.md`, on all domains, of the kinds that occur in practice, with effects for
which the {BOUND} is about .95. The aggregated test is the library's, with its defaults. Where
it simulates its null distribution it does so once for all trials of a model, with 499 samples, as do M3D
(999) and the classical tests (499), so that all of them are exact up to the error of these samples; the
others have 499 draws of the wild bootstrap, MMD 199 permutations. The tests of a table see the same draws of
the data.

- *Kernel tests* are `ksd_test`, the collection of KSDAgg, `regularised_test`, and, where the model can be
  drawn from, `mmd_test` and `m3d_test`. *Classical tests* are those of the domain, their null distributions
  simulated under the model; they are given what they need: draws of the model, or the law of the censoring.
- In tables with *{SCORE_ONLY.strip(" ()")}* a test knows the score of the model, on a lattice its
  probabilities up to a factor, and no more, so that classical tests do not apply. In those with
  *{CENSORED.strip(" ()")}* it does not know the law of the censoring, so that it cannot draw data either.
- The *best* test is the best in hindsight, the aggregated test not among the candidates, and a test whose
  size is too large (↑, beyond the central 99.9 % of the binomial distribution) neither. The largest of many
  rates is also a little too high by chance. The *share* is the power of the aggregated test over that of the
  best. It is not judged where no test finds twice the level: such a cell does not count as one in which the
  aggregated test falls short.
- *Before* is what the aggregated test found when the suite was frozen (`unseen_before.csv`).
"""


class Verdict(NamedTuple):
    """One cell."""

    table: str
    law: str
    bound: float | None
    before: float | None
    """What the aggregated test found when the suite was frozen."""
    ours: float
    kernel: tuple[str, float]
    """The best kernel test and its power."""
    best: tuple[str, float]
    """The best of all."""
    rivals: tuple[float, ...]
    """The power of every rival."""
    trials: int

    @property
    def drawn(self) -> bool:
        """Whether data can be drawn from the model."""
        return not self.table.endswith((SCORE_ONLY, CENSORED))


def share(ours: float, best: float) -> float:
    """Infinite where two rates near the level cannot be told apart."""
    return ours / best if best >= 2 * LEVEL else np.inf


def _share(ours: float, best: float) -> str:
    found = share(ours, best)
    return f"{found:.2f}" if np.isfinite(found) else "–"


@lru_cache
def before() -> dict[tuple[str, str], float]:
    """By table and law."""
    return {(table, law): float(rate) for table, law, rate in rows_of(HERE / "unseen_before.csv")}


def verdicts(tables: Sequence[Table], known: Results) -> list[Verdict]:
    """All cells in which the aggregated test and a rival have been measured."""
    found = []
    for one in (Rates(table, known) for table in tables):
        for law in one.laws:
            ours, rates = one.rate(law, one.ours), one.valid(law)
            rates.pop(one.ours, None)
            kernel = {test: rate for test, rate in rates.items() if test in KERNEL}
            if ours is None or not kernel:
                continue
            best, first = (max(some.items(), key=lambda item: item[1]) for some in (rates, kernel))
            old, bound = before().get((one.table.name, law)), one.rate(law, BOUND)
            trials = known[one.table.name, law, one.ours].trials
            every = tuple(rates.values())
            found.append(Verdict(one.table.name, law, bound, old, ours, first, best, every, trials))
    return found


_MEANS: dict[str, Callable[[Verdict], float | None]] = {
    "mean bound": lambda one: one.bound,
    "before": lambda one: one.before,
    "aggregated": lambda one: one.ours,
    "best kernel test": lambda one: one.kernel[1],
    "best test": lambda one: one.best[1],
}


def _mean(values: Sequence[float | None]) -> float | None:
    """None unless all of them are known."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def _summary(found: Sequence[Verdict]) -> list[str]:
    """Counts and means, for all cells, and for those with and without draws."""
    rows = []
    groups = {
        "all": found,
        "data can be drawn": [one for one in found if one.drawn],
        "they cannot": [one for one in found if not one.drawn],
    }
    for name, some in groups.items():
        if not some:
            continue
        shares = {
            kind: np.array([share(one.ours, getattr(one, kind)[1]) for one in some])
            for kind in ("best", "kernel")
        }
        means = [_mean([value(one) for one in some]) for value in _MEANS.values()]
        counts = [f"{np.count_nonzero(shares[kind] >= SHARE)}" for kind in ("best", "kernel")]
        lowest = [f"{shares[kind].min():.2f}" for kind in ("best", "kernel")]
        rows.append([name, str(len(some)), *map(short, means), *counts, *lowest])
    head = ["cells", "number", *_MEANS]
    head += [f"≥ {short(SHARE, 1)} of the best", f"≥ {short(SHARE, 1)} of the best kernel test"]
    return grid([*head, "lowest share", "lowest share of the best kernel test"], rows)


def _by_chance(found: Sequence[Verdict]) -> str:
    """How often chance keeps a test whose power is that of the best, in every cell, below its share."""
    rng, repeats = np.random.default_rng(0), 1000
    shares = np.empty((repeats, len(found)))
    for k, one in enumerate(found):
        seen = rng.binomial(one.trials, one.rivals, (repeats, len(one.rivals))).max(axis=1) / one.trials
        same = rng.binomial(one.trials, one.best[1], repeats) / one.trials
        shares[:, k] = np.where(seen >= 2 * LEVEL, same / np.maximum(seen, LEVEL), np.inf)
    counts, lowest = np.count_nonzero(shares >= SHARE, axis=1), shares.min(axis=1)
    error = short(0.5 / np.sqrt(min(one.trials for one in found)))
    return (
        f"With so many trials a rate of one half has a standard error of {error}, and the best of many tests "
        "is so by chance too. A test that had exactly the power of the best in every cell, its trials "
        f"independent of theirs, would be seen with {short(SHARE, 1)} of it in {counts.mean():.0f} of "
        f"{len(found)} cells, and its lowest share would be {lowest.mean():.2f}."
    )


def _single(tables: Sequence[Table], known: Results) -> list[str]:
    """The mean power of tests that apply in many cells, beside that of ours in the same cells."""
    rows = []
    rates = [Rates(table, known) for table in tables]
    for test in dict.fromkeys(test for table in tables for test in table.tests[1:]):
        own = [(one.rate(law, test), one.rate(law, one.ours)) for one in rates for law in one.laws]
        pairs = [(theirs, ours) for theirs, ours in own if theirs is not None and ours is not None]
        if pairs:
            theirs, ours = np.mean(pairs, axis=0)
            rows.append([test, str(len(pairs)), short(theirs), short(ours)])
    return grid(["test", "cells", "mean power", "aggregated there"], rows)


def _sizes(tables: Sequence[Table], known: Results) -> list[str]:
    """How often tests reject true models: each pooled over all models, and those out of the limits."""
    rows, out = [], []
    tail = (1 - SIZE_CONFIDENCE) / 2
    for test in dict.fromkeys(test for table in tables for test in table.tests):
        rejected = trials = models = 0
        for table in tables:
            for one in Rates(table, known).measured(test, NULL):
                models, trials = models + 1, trials + one.trials
                rejected += one.rejected(table.level)
                mark = one.mark(table.level, table.draws)
                if mark:
                    out.append(f"- {table.name}: {test}, {short(one.rate(table.level))} {mark}")
        if trials:
            low, high = binom.ppf([tail, 1 - tail], trials, LEVEL) / trials
            rate = rejected / trials
            mark = " ↓" if rate < low else " ↑" if rate > high else ""
            limits = f"{short(low)} – {short(high)}"
            rows.append([test, str(models), str(trials), f"{short(rate)}{mark}", limits])
    lines = grid(["test", "models", "trials", "rejected", "99.9 % limits"], rows)
    return [*lines, "", "Single models out of their limits:", "", *(out or ["- none"])]


def unseen_report(tables: Sequence[Table], known: Results) -> str:
    """The whole report."""
    found = verdicts(tables, known)
    rows = [
        [
            f"{one.table.removeprefix('Unseen: ')}: {one.law}",
            short(one.bound),
            short(one.before),
            short(one.ours),
            *(text for name, rate in (one.kernel, one.best) for text in (name, short(rate))),
            _share(one.ours, one.kernel[1]),
            _share(one.ours, one.best[1]),
        ]
        for one in found
    ]
    head = ["cell", "bound", "before", "aggregated", "best kernel test", "power", "best test", "power"]
    parts = [UNSEEN, "## Summary", "", *_summary(found), ""]
    if found:
        parts += [_by_chance(found), ""]
    missing = sum(key not in known for table in tables for key in table.keys)
    if missing:
        gap = "A rival counts as valid where its size has not been measured."
        parts += [f"**{missing} rates have not been measured yet.** {gap}", ""]
    parts += ["## Every test", "", *_single(tables, known), ""]
    parts += ["## Sizes at the level .05", "", *_sizes(tables, known), ""]
    parts += ["## Cells", "", *grid([*head, "share of kernel", "share"], rows), ""]
    for table in tables:
        if any(key in known for key in table.keys):
            parts += [power_table(table, known), ""]
    return "\n".join(parts)
