"""The test by a part of the Stein matrix, named by the user or chosen by a budget of time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from goodstein.engine.executors import Workers, check_workers
from goodstein.nulls.approximate import Approximation, approximated
from goodstein.pipeline.audit import quick_audit, require_valid
from goodstein.pipeline.budget import plan
from goodstein.pipeline.choice import choose_null
from goodstein.pipeline.compose import Seeds
from goodstein.pipeline.run import run_test
from goodstein.problems.problem import Problem
from goodstein.results.result import TestResult


def approximate_test(
    problem: Problem,
    approximation: Approximation | None,
    end: float | None,
    *,
    null: Any,
    workers: Workers,
    seeds: Seeds,
    audit: bool,
) -> TestResult:
    """The approximate test that was named, or else the strongest that is done by the `end`."""
    check_workers(workers)
    chosen = choose_null(null, problem).null
    if approximation is not None:
        signs = approximated(chosen, approximation)
    if audit:
        # Before the score is evaluated, which need not be possible where a test is refused.
        require_valid([quick_audit(problem, np.random.default_rng(seeds[0]))])
    details, notes = {}, []
    if end is not None:
        planned = plan(problem, chosen, end - time.perf_counter(), workers=workers)
        details["budget"] = planned.reason
        if planned.approximation is None:
            return run_test(problem, null=null, workers=workers, seeds=seeds, audit=audit, details=details)
        approximation = planned.approximation
        signs = approximated(chosen, approximation)
        notes.append(
            "The exact test does not fit in the budget. The null hypothesis is the same; less is found than "
            f"by the exact test. For the same p-value on every machine pass approximate={approximation!r}."
        )
    assert approximation is not None
    looked = approximation.told(problem.form.n)
    return run_test(
        problem,
        null=signs,
        workers=workers,
        seeds=seeds,
        audit=audit,
        title=f"{problem.operator.title}, approximate",
        details={"approximation": looked, **details},
        notes=notes,
        statistic_name=f"KSD², U-statistic of {looked}",
    )
