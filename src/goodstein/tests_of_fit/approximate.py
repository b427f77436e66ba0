"""The test by a part of the Stein matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.engine.executors import Workers, check_workers
from goodstein.nulls.approximate import Nystrom, approximated
from goodstein.pipeline.audit import quick_audit, require_valid
from goodstein.pipeline.choice import choose_null
from goodstein.pipeline.compose import Seeds
from goodstein.pipeline.run import run_test
from goodstein.problems.problem import Problem
from goodstein.results.result import TestResult


def approximate_test(
    problem: Problem,
    approximation: Nystrom,
    *,
    null: Any,
    workers: Workers,
    seeds: Seeds,
    audit: bool,
) -> TestResult:
    """The test by an approximate statistic."""
    check_workers(workers)
    signs = approximated(choose_null(null, problem).null, approximation)
    if audit:
        # Before the score is evaluated, which need not be possible where a test is refused.
        require_valid([quick_audit(problem, np.random.default_rng(seeds[0]))])
    looked = approximation.told(problem.form.n)
    return run_test(
        problem,
        null=signs,
        workers=workers,
        seeds=seeds,
        audit=audit,
        title=f"{problem.operator.title}, approximate",
        details={"approximation": looked},
        statistic_name=f"KSD², U-statistic of {looked}",
    )
