"""How much of a test can be had in a given time."""

from __future__ import annotations

import re
import time
from typing import Any, NamedTuple

import numpy as np

from goodstein.constraints import number
from goodstein.engine.executors import Workers, as_pool, available_cores, one_blas_thread
from goodstein.engine.reduce import quadratic_forms
from goodstein.engine.schemes import IndependentSigns, OrthogonalSigns
from goodstein.errors import InputError, must
from goodstein.nulls.approximate import Approximation, Nystrom
from goodstein.nulls.base import Null
from goodstein.nulls.wild import WildBootstrap
from goodstein.problems.problem import Problem
from goodstein.stein.forms import BlockForm

UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
PATTERN = re.compile(r"(\d+(?:\.\d+)?) ?(s|min|h)")

LANDMARKS = (4000, 2000, 1000, 500, 250, 125)
"""Numbers of landmarks that are tried, the most first."""

ROWS, TILE = 1024, 256
"""Rows of the test that is timed, and of the square by which products are."""

SPARE = 0.7
"""Share of the budget that an estimate may fill: times vary, and cores get in each other's way."""


class Plan(NamedTuple):
    """What to do, and why."""

    approximation: Approximation | None
    reason: str


def seconds(budget: Any) -> float:
    """A time in seconds, from a number of them or from "30 s", "1 min", "2 h"."""
    wanted = "a positive number of seconds, or a text such as '30 s', '1 min' or '2 h'"
    if isinstance(budget, str):
        found = PATTERN.fullmatch(budget)
        if found is None or not float(found[1]) > 0.0:
            raise must("budget", wanted, budget)
        return float(found[1]) * UNITS[found[2]]
    return number(budget, "budget", above=0.0, wanted=wanted)


def plan(problem: Problem, null: Null, left: float, *, workers: Workers) -> Plan:
    """The exact test if its estimate fits in what is `left` of the time, else the most landmarks that do."""
    if not isinstance(null, WildBootstrap):
        raise InputError(
            f"is for tests by random signs, whose time can be told before, not for {null.given!r}.",
            argument="budget",
            predicate=True,
        )
    form = problem.form
    if form.factor is not None:
        return Plan(None, "exact: linear in the number of rows by itself")
    n, cores = form.n, _cores(workers)
    patterns = null.signs == "orthogonal" and null.flip in ("auto", 0.5) and not problem.dependence.found
    entry, bare, product = _measured(
        form, (OrthogonalSigns if patterns else IndependentSigns), null.n_resamples
    )
    exact = entry * n**2 / 2 / cores
    if exact <= SPARE * left:
        return Plan(None, f"exact: estimated at {shown(exact)}")
    if null.refits:
        raise InputError(
            f"is too short for the exact test, estimated at {shown(exact)}, and an approximate one does not "
            "take account of the fit of the model to these very data.",
            argument="budget",
            predicate=True,
            remedy="Fit the model to some of the rows and test it on the others: "
            "first, second = gs.split(data, rng=0).",
        )
    ladder = [m for m in LANDMARKS if m < n] or [max(2, n // 2)]
    for m in ladder:
        cost = n * m * (bare + product * m) / cores + 20.0 * product * m**3
        if cost <= SPARE * left:
            break
    reason = f"Nystrom({m}): estimated at {shown(cost)}; the exact test at {shown(exact)}"
    return Plan(Nystrom(m), reason if cost <= SPARE * left else f"{reason}. No choice fits in the budget")


def shown(time: float) -> str:
    """A time to one digit, which is all that an estimate is worth.

    >>> from goodstein.pipeline.budget import shown
    >>> shown(0.123), shown(83.0), shown(9000.0)
    ('0.1 s', '1 min', '2 h')
    """
    unit = "s" if time < 60.0 else "min" if time < 3600.0 else "h"
    return f"{float(f'{time / UNITS[unit]:.1g}'):g} {unit}"


def _cores(workers: Workers) -> int:
    if workers is None or isinstance(workers, int):
        return available_cores() if workers in (None, -1) else min(int(workers), available_cores())
    return int(as_pool(workers).hands)


def _measured(form: BlockForm, scheme: Any, draws: int) -> tuple[float, float, float]:
    """Seconds for an entry of the matrix with its part in all draws, for one alone, and for a product."""
    rows = np.linspace(0, form.n - 1, min(ROWS, form.n)).astype(np.intp)
    part = form.take(rows)
    with one_blas_thread():
        square = np.ones((TILE, TILE))
        product = _timed(lambda: square @ square) / TILE**3
        bare = _timed(lambda: part.block(slice(0, part.n // 4), slice(0, part.n))) / (part.n**2 / 4)
        entry = _timed(lambda: quadratic_forms(part, scheme(0, part.n, draws), workers=1)) / (part.n**2 / 2)
    return entry, bare, product


def _timed(task: Any) -> float:
    """The shorter of two times: the first pays for what is made once."""
    found = []
    for _ in range(2):
        start = time.perf_counter()
        task()
        found.append(time.perf_counter() - start)
    return min(found)
