"""How often many tests reject in many cells, all on the same draws."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from goodstein.constraints import check_count, check_flag, check_seed, check_share, is_function
from goodstein.engine.executors import Workers
from goodstein.engine.progress import ProgressLike, begin, watching
from goodstein.errors import InputError, ResourceError, must
from goodstein.numerics.ranges import cut
from goodstein.power.cell import Cell
from goodstein.power.neyman_pearson import RatioTest, check_threshold
from goodstein.power.record import Record
from goodstein.power.result import Key, PowerStudy
from goodstein.power.runner import Runner, perform
from goodstein.power.trials import BLOCK, CHUNK, FIRST, Source, Test, Work
from goodstein.types import Array


def power_study(
    cells: Iterable[Cell],
    tests: Mapping[str, Test],
    *,
    trials: int = 500,
    level: float | Sequence[float] = 0.05,
    size: bool = True,
    bound: bool = True,
    bound_draws: tuple[int, int] = (20_000, 5_000),
    workers: Workers = None,
    path: str | os.PathLike[str] | None = None,
    seed: int = 0,
    progress: ProgressLike = None,
) -> PowerStudy:
    """Measure size and power of several tests in several cells, all on the same draws.

    Parameters
    ----------
    cells
        What is tested against what; see :class:`Cell`.
    tests
        By name: functions ``(data, model, *, rng)`` that return a :class:`TestResult`, or anything else with
        an attribute ``pvalue``, or the p-value itself. :func:`ksd_test` and its siblings are such functions,
        with options as ``functools.partial(gs.ksd_test, kernel=gs.Gaussian())``.
    trials
        Data sets from every law.
    level
        One level, or several; the first is that of the tables.
    size
        Whether to measure the size too, with data from the null model. Cells with the same null and n share
        it.
    bound
        Whether to simulate the Neyman–Pearson bound where the likelihood ratio is known.
    bound_draws
        Data sets of the null, for its threshold, and of the alternative, for its power.
    workers
        None: this process. A number: so many processes, -1 for all cores; in a script the call must then
        stand under ``if __name__ == "__main__":``. Or any :class:`concurrent.futures.Executor`, a Dask
        client included. The results are the same for all of them. Interrupted, a study cancels what waits
        and ends processes of its own at once; those of your executor end what they are at, a second's work or
        one trial, and are yours to end should this process be killed.
    path
        A folder that keeps every finished piece of work at once, in a small file for each law and test. A
        call with the same path goes on where the last one was stopped, takes more trials, or adds tests and
        cells; what has changed is measured anew, which the first trials of every test and cell tell. Two
        studies may write to one folder at a time: at worst both compute the same cell.
    seed
        Together with the name of the cell and the number of the trial it seeds everything random.
    progress
        As in :func:`ksd_test`; counted are trials, and blocks of draws for the bound.

    Returns
    -------
    PowerStudy
        Print it, or see its methods.

    Raises
    ------
    RuntimeError
        If a test fails; the message names cell, test and trial.
    ResourceError
        If workers die, or memory or the disk runs out; the same call goes on with what is in `path`.

    Notes
    -----
    A trial depends on nothing but the seed, the names of cell and test and its number: not on the workers,
    and not on the other tests and cells. Tests that use threads of their own compete with other
    processes; give them ``workers=1``.

    Examples
    --------
    >>> import goodstein as gs
    >>> from goodstein.families import Normal
    >>> cell = gs.Cell(Normal(0, 1), Normal(0.5, 1), 30, name="shift")
    >>> study = gs.power_study([cell], {"KSD": gs.ksd_test}, trials=40)
    >>> study.power("shift", "KSD").value > 0.4
    True
    >>> abs(study.bound("shift").value - 0.863) < 0.02  # Φ(√30·0.5 − 1.645) = 0.863
    True
    """
    chosen, functions = _check_tests(cells, tests)
    trials = check_count(trials, "trials", FIRST)
    levels = check_levels(level)
    seed = check_seed(seed)
    for name, value in {"size": size, "bound": bound}.items():
        check_flag(value, name)
    # Where nothing but the null is simulated there is no threshold to be found.
    bounded = [cell for cell in chosen if bound and cell.alternative is not None]
    asked = [level for cell in bounded for level in ([*levels] if cell.level is None else [cell.level])]
    draws = _check_draws(bound_draws, min(asked, default=1.0))
    places = _sources(chosen, tuple(functions), size)
    sources = list(dict.fromkeys(places.values()))
    work = Work(tuple(sources), functions, tuple(chosen), seed)
    record = Record(path)
    with watching(progress, "Simulating"), Runner(workers) as runner:
        parts: dict[str, Any] = {f"`tests`: {name!r}": test for name, test in functions.items()}
        parts |= {f"`cells`: {cell.name!r}": cell for cell in chosen}
        todo = partial(perform, runner.packed(work, parts))
        try:
            marks = _trials(sources, trials, record, runner, todo)
            bounds = _bounds(chosen, draws, record, runner, todo) if bound else {}
        except ResourceError as error:
            raise error.told(remedy=f"{error.remedy} {record.kept}") from error
    pvalues: dict[Key, Array] = {}
    seconds: dict[Key, Array] = {}
    own = {cell.name: tuple(functions) if cell.tests is None else cell.tests for cell in chosen}
    for (cell, kind), source in places.items():
        # A null law that several cells share has the tests of all of them.
        for test in (test for test in source.tests if test in own[cell]):
            known = record.trials(source.label, test, marks[sources.index(source)][test])
            pairs = np.array([known[k] for k in range(trials)])
            pvalues[cell, kind, test], seconds[cell, kind, test] = pairs.T
    return PowerStudy(tuple(chosen), tuple(functions), levels, trials, pvalues, seconds, bounds)


def _trials(
    sources: Sequence[Source], trials: int, record: Record, runner: Runner, todo: Any
) -> list[dict[str, str]]:
    """Run the trials that the record has not; the fingerprints by source and test."""
    marks: list[dict[str, str]] = [{} for _ in sources]
    tasks: list[tuple[Any, ...]] = [("first", place) for place in range(len(sources))]
    finished = begin(len(tasks))
    for place, (found, first) in runner.results(todo, tasks):
        marks[place] = found
        for test, mark in found.items():
            outcomes = {k: one[test] for k, one in enumerate(first)}
            record.add_trials(sources[place].label, test, mark, outcomes)
        finished(1)
    finished = begin(sum(len(numbers) for *_, numbers in _missing(sources, marks, trials, record)))
    # Workers hand back what they have after a while, and the rest is given out once more.
    while tasks := list(_missing(sources, marks, trials, record)):
        for number, outcomes in runner.results(todo, tasks):
            _, place, names, numbers = tasks[number]
            for test in names:
                some = {k: one[test] for k, one in zip(numbers, outcomes, strict=False)}
                record.add_trials(sources[place].label, test, marks[place][test], some)
            finished(len(outcomes))
    return marks


def _missing(
    sources: Sequence[Source], marks: Sequence[dict[str, str]], trials: int, record: Record
) -> Iterator[tuple[str, int, tuple[str, ...], tuple[int, ...]]]:
    """Pieces of work: tests of one source that miss the same trials."""
    for place, source in enumerate(sources):
        for start in range(0, trials, CHUNK):
            groups: dict[tuple[int, ...], list[str]] = {}
            for test in source.tests:
                known = record.trials(source.label, test, marks[place][test])
                missing = tuple(k for k in range(start, min(start + CHUNK, trials)) if k not in known)
                groups.setdefault(missing, []).append(test)
            for missing, names in groups.items():
                if missing:
                    yield "trials", place, tuple(names), missing


def _bounds(
    cells: Sequence[Cell], draws: tuple[int, int], record: Record, runner: Runner, todo: Any
) -> dict[str, RatioTest]:
    """The Neyman–Pearson bounds of the cells whose likelihood ratios are known."""
    places = [place for place, cell in enumerate(cells) if cell.pair is not None]
    found = runner.all(todo, [("first_ratios", place) for place in places])
    marks = {place: f"{mark} {draws[0]} {draws[1]}" for place, mark in zip(places, found, strict=True)}
    kept = {place: record.bound(cells[place].name, marks[place]) for place in places}
    bounds = {place: bound for place, bound in kept.items() if bound is not None}
    sizes = dict(zip(("null", "alternative"), draws, strict=True))
    tasks: list[tuple[Any, ...]] = [
        ("ratios", place, which, block, part.stop - part.start)
        for place in places
        if place not in bounds
        for which, count in sizes.items()
        for block, part in enumerate(cut(0, count, BLOCK))
    ]
    open_: dict[int, dict[tuple[str, int], Array]] = {}
    finished = begin(len(tasks))
    for number, values in runner.results(todo, tasks):
        _, place, which, block, _ = tasks[number]
        ready = open_.setdefault(place, {})
        ready[which, block] = values
        if sum(map(len, ready.values())) == sum(draws):
            joined = (np.concatenate([ready[key] for key in sorted(ready) if key[0] == w]) for w in sizes)
            bounds[place] = RatioTest.of(*joined)
            record.add_bound(cells[place].name, marks[place], bounds[place])
            del open_[place]
        finished(1)
    return {cells[place].name: bounds[place] for place in places}


def _sources(cells: Sequence[Cell], tests: tuple[str, ...], size: bool) -> dict[tuple[str, str], Source]:
    """The laws of the data by cell and kind; cells with the same null share one."""

    def apply(some: Sequence[Cell]) -> tuple[str, ...]:
        return tuple(test for test in tests if any(one.tests is None or test in one.tests for one in some))

    kind = "alternative"
    places = {
        (cell.name, kind): Source(cell.name, kind, cell.model, cell.alternative_law, cell.n, apply([cell]))
        for cell in cells
        if cell.alternative_law is not None
    }
    left = [cell for cell in cells if size or cell.alternative_law is None]
    while left:
        group = [cell for cell in left if cell.shares_null_with(left[0])]
        first = group[0]
        null = Source(first.null_name, "null", first.model, first.null_law, first.n, apply(group))
        places |= {(cell.name, "null"): null for cell in group}
        left = [cell for cell in left if cell not in group]
    return places


def _check_tests(cells: Any, tests: Any) -> tuple[list[Cell], dict[str, Test]]:
    listed = isinstance(cells, Iterable) and not isinstance(cells, Mapping | str)
    chosen = list(cells) if listed and getattr(cells, "ndim", 1) == 1 else []
    if not chosen or not all(isinstance(cell, Cell) for cell in chosen):
        raise InputError(
            f"`cells` must be one or more gs.Cell(model, alternative, n), in a list; got "
            f"{type(cells).__name__}{'' if not chosen else f' with a {type(chosen[0]).__name__}'}."
        )
    names = [cell.name for cell in chosen]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise InputError(
            f"two of them are called {double!r}. Names seed the draws and must differ; pass "
            "Cell(..., name=...).",
            argument="cells",
        )
    functions = tests.values() if isinstance(tests, Mapping) else ()
    if not functions or not all(map(is_function, functions)):
        wanted = "names with functions (data, model, *, rng) -> TestResult, such as {'KSD': gs.ksd_test}"
        raise must("tests", wanted, tests)
    if not all(isinstance(name, str) and name for name in tests):
        raise InputError(f"their names must be strings, got {list(tests)!r}.", argument="tests")
    for cell in chosen:
        unknown = sorted(set(cell.tests or ()) - set(tests))
        if unknown:
            raise InputError(
                f"{cell.name!r} names tests that are not among `tests`: {', '.join(unknown)}.",
                argument="cells",
            )
    return chosen, dict(tests)


def check_levels(level: Any) -> tuple[float, ...]:
    """One level or several, as a tuple."""
    several = level if isinstance(level, list | tuple) and level else (level,)
    return tuple(check_share(one, "level") for one in several)


def _check_draws(draws: Any, level: float) -> tuple[int, int]:
    if not isinstance(draws, list | tuple) or len(draws) != 2:
        raise must("bound_draws", "two numbers, draws of the null and of the alternative", draws)
    null, alternative = (check_count(count, "bound_draws", 100) for count in draws)
    check_threshold(null, level, "bound_draws")
    return null, alternative
