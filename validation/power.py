"""Measure how often every test rejects false models, and write power.md and power.csv.

    python validation/power.py [--trials N] [--only PATTERN] [--workers N] [--quick] [--fresh]

A cell is one scenario under one law of the data: the null model, whose rate is the size of the tests, or
an alternative. All tests of a cell see the same draws. What is in power.csv already is kept if it has the
same fingerprint (the p-values of its first trials, so that a change of the library is noticed) and at
least as many trials. Every finished cell is written at once.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from power_report import BOUND, NULL, Measured, cell_line, levels, markdown, scenario_table
from scenario import Alternative, Scenario

from goodstein.power.rates import rejections
from goodstein.power.ratio import RatioTest
from goodstein.power.runner import Runner
from goodstein.power.trials import FIRST, Outcome, fingerprint, run_trials, seed_of

HERE = Path(__file__).parent
MODULES = (
    "suite",
    "survival",
    "directional",
    "discrete",
    "latent",
    "conditional",
    "patterns",
    "graphs",
    "fssd",
    "euclid",
)
"""The scenarios are in power_<name>.py."""
CHUNK = 10
"""Trials that a worker takes at a time."""
NULL_DRAWS, ALTERNATIVE_DRAWS = 4000, 2000
"""Draws for the threshold and for the power of the Neyman–Pearson test."""

Key = tuple[str, str, str]
"""Scenario, law, test."""


@lru_cache(maxsize=1)
def collected() -> dict[str, Scenario]:
    """All scenarios by name, in the order of the report."""
    modules = [import_module(f"power_{name}") for name in MODULES if find_spec(f"power_{name}")]
    return by_name(scenario for module in modules for scenario in module.scenarios())


def by_name(scenarios: Iterable[Scenario]) -> dict[str, Scenario]:
    """Scenarios by their names, which seed the trials and must be unique, as must be those of the laws."""
    found: dict[str, Scenario] = {}
    for scenario in scenarios:
        labels = [NULL, *(alternative.label for alternative in scenario.alternatives)]
        assert scenario.name not in found, f"two scenarios are called {scenario.name!r}"
        assert len(set(labels)) == len(labels), f"{scenario.name}: two laws have the same label"
        assert BOUND not in scenario.tests, f"{scenario.name}: the bound is no test"
        found[scenario.name] = scenario
    return found


def main(argv: Sequence[str] | None = None, folder: Path = HERE) -> None:
    """Run what is missing and write the reports."""
    options = arguments(argv)
    scenarios = collected()
    chosen = {name: one for name, one in scenarios.items() if options.only.casefold() in name.casefold()}
    if not chosen:
        raise SystemExit(f"No scenario has {options.only!r} in its name.")
    known = {} if options.quick else read(folder / "power.csv", scenarios)
    cells = [(one, law) for one in chosen.values() for law in laws(one)]
    with Pool(options.workers) as pool:
        for number, (scenario, law) in enumerate(cells, 1):
            start = time.perf_counter()
            trials = min(options.trials, scenario.trials or options.trials)
            fresh = measure(scenario, law, trials, {} if options.fresh else known, pool)
            known |= fresh
            if fresh and not options.quick:
                write(known, scenarios, folder)
            note = f"{time.perf_counter() - start:.1f} s" if fresh else "known"
            print(f"[{number}/{len(cells)}] {cell_line(scenario, law, known)} {note}", flush=True)
    if options.quick:
        print(*("\n" + scenario_table(scenario, known) for scenario in chosen.values()), sep="\n")
    else:
        write(known, scenarios, folder)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, help="trials a cell (default 500; slow scenarios have fewer)")
    parser.add_argument(
        "--only", default="", metavar="PATTERN", help="only scenarios with this in their name"
    )
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count(), help="processes (default: all cores; 0: this one)"
    )
    parser.add_argument("--quick", action="store_true", help="100 trials a cell, printed only")
    parser.add_argument("--fresh", action="store_true", help="measure again what is known")
    options = parser.parse_args(argv)
    if options.trials is not None and options.trials < FIRST:
        parser.error(f"--trials must be at least {FIRST}")
    options.trials = options.trials or (100 if options.quick else 500)
    return options


class Pool(Runner):
    """Where trials are run, in chunks."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers or None)
        self.null_ratios: dict[str, np.ndarray] = {}
        """By scenario, (draws, alternatives): all alternatives share the draws of the null."""

    def run(self, task: Callable[..., Any], items: range, *names: Any) -> list[Any]:
        """The results of a task for all items, which it takes in chunks, in their order."""
        edges = [*range(items.start, items.stop, CHUNK), items.stop]
        parts = self.all(task, [(*names, range(*ends)) for ends in pairwise(edges)])
        return [result for part in parts for result in part]


def laws(scenario: Scenario) -> list[str]:
    """The null first, then the alternatives."""
    return [NULL, *(alternative.label for alternative in scenario.alternatives)]


def alternative_of(scenario: Scenario, law: str) -> Alternative | None:
    """The alternative with this label; None for the null."""
    return next((one for one in scenario.alternatives if one.label == law), None)


def measure(
    scenario: Scenario, law: str, trials: int, known: Mapping[Key, Measured], pool: Pool
) -> dict[Key, Measured]:
    """What is missing of a cell, or has changed."""
    first = pool.run(trial, range(FIRST), scenario.name, law, tuple(scenario.tests))
    marks = {
        test: fingerprint(f"{scenario.name} {law} {test}", [one[test].pvalue for one in first])
        for test in scenario.tests
    }
    todo = tuple(
        test for test in marks if not enough(known.get((scenario.name, law, test)), marks[test], trials)
    )
    found: dict[Key, Measured] = {}
    rest = pool.run(trial, range(FIRST, trials), scenario.name, law, todo) if todo else []
    for test in todo:
        p, seconds, _ = np.array([one[test] for one in [*first, *rest]]).T
        counts = tuple(float(rejections(p, level)) for level in levels(scenario))
        found[scenario.name, law, test] = Measured(
            test, trials, counts, marks[test], seconds=float(np.median(seconds))
        )
    return found | measure_bound(scenario, law, known, pool)


def enough(old: Measured | None, mark: str, trials: int) -> bool:
    """Whether a known result need not be measured again."""
    return old is not None and old.fingerprint == mark and old.trials >= trials


def measure_bound(
    scenario: Scenario, law: str, known: Mapping[Key, Measured], pool: Pool
) -> dict[Key, Measured]:
    """The Neyman–Pearson bound of a cell, where both densities are known."""
    alternative = alternative_of(scenario, law)
    if alternative is None or alternative.log_ratio is None:
        return {}
    key, name = (scenario.name, law, BOUND), scenario.name
    first = pool.run(ratios, range(FIRST), name, law, (law,))
    mark = fingerprint(" ".join(key), np.ravel(first))
    if enough(known.get(key), mark, ALTERNATIVE_DRAWS):
        return {}
    labels = tuple(one.label for one in scenario.alternatives if one.log_ratio is not None)
    if name not in pool.null_ratios:
        pool.null_ratios[name] = np.array(pool.run(ratios, range(NULL_DRAWS), name, NULL, labels))
    null = pool.null_ratios[name][:, labels.index(law)]
    other = np.ravel(pool.run(ratios, range(ALTERNATIVE_DRAWS), name, law, (law,)))
    test = RatioTest.of(null, other)
    counts = tuple(test.power(level) * ALTERNATIVE_DRAWS for level in levels(scenario))
    return {key: Measured(BOUND, ALTERNATIVE_DRAWS, counts, mark, upper=test.interval(scenario.level)[1])}


def trial(name: str, law: str, tests: Sequence[str], numbers: range) -> list[dict[str, Outcome]]:
    """Some tests in some trials; they depend on nothing but names and number."""
    scenario = collected()[name]
    alternative = alternative_of(scenario, law)
    draw = scenario.null if alternative is None else alternative.draw
    return run_trials(draw, scenario.n, {test: scenario.tests[test] for test in tests}, numbers, (name, law))


def ratios(name: str, source: str, labels: Sequence[str], numbers: range) -> list[list[float]]:
    """The log likelihood ratios of some alternatives at draws from one law."""
    scenario = collected()[name]
    drawn_from = alternative_of(scenario, source)
    draw = scenario.null if drawn_from is None else drawn_from.draw
    functions = [one.log_ratio for label in labels if (one := alternative_of(scenario, label)) is not None]
    found = []
    for k in numbers:
        # Other draws than those of the trials, so that the bound does not err with them.
        data = draw(scenario.n, np.random.default_rng([seed_of(name, source), k, 1]))
        values = [float(function(data)) for function in functions if function is not None]
        if any(map(math.isnan, values)):
            raise RuntimeError(f"{name} | {source}: a log likelihood ratio of draw {k} is NaN.")
        found.append(values)
    return found


FIELDS = (
    "scenario",
    "law",
    "n",
    "level",
    "trials",
    "test",
    "rejections_0.01",
    "rejections_0.05",
    "rejections_level",
    "upper",
    "seconds",
    "fingerprint",
)


def read(path: Path, scenarios: Mapping[str, Scenario]) -> dict[Key, Measured]:
    """Known results of what still exists."""
    if not path.exists():
        return {}
    known = {}
    with path.open(encoding="utf-8", newline="") as file:
        for record in csv.DictReader(file):
            scenario = scenarios.get(record["scenario"])
            if (
                scenario is None
                or record["law"] not in laws(scenario)
                or record["test"] not in (*scenario.tests, BOUND)
                or (int(record["n"]), float(record["level"])) != (scenario.n, scenario.level)
            ):
                continue
            known[record["scenario"], record["law"], record["test"]] = Measured(
                record["test"],
                int(record["trials"]),
                tuple(float(record[f"rejections_{which}"]) for which in ("0.01", "0.05", "level")),
                record["fingerprint"],
                seconds=float(record["seconds"]) if record["seconds"] else None,
                upper=float(record["upper"]) if record["upper"] else None,
            )
    return known


def write(known: Mapping[Key, Measured], scenarios: Mapping[str, Scenario], folder: Path) -> None:
    """Both files, each replaced in one step."""
    records = [
        dict(
            zip(
                FIELDS, (name, law, scenario.n, scenario.level, *known[name, law, test].record()), strict=True
            )
        )
        for name, scenario in scenarios.items()
        for law in laws(scenario)
        for test in (*scenario.tests, BOUND)
        if (name, law, test) in known
    ]
    replace(folder / "power.md", markdown(scenarios.values(), known))
    temporary = folder / "power.csv.part"
    with temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    temporary.replace(folder / "power.csv")


def replace(path: Path, text: str) -> None:
    """Write a file so that it is never half written."""
    temporary = path.with_suffix(path.suffix + ".part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


if __name__ == "__main__":
    main()
