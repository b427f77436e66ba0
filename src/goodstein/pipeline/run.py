"""Calibrate and report: the last steps of every test, and the path from a problem to its result."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from goodstein.auditing.report import AuditReport
from goodstein.engine.executors import Workers, check_workers, one_blas_thread
from goodstein.errors import given, heard, warn, within_memory
from goodstein.nulls.base import Calibration
from goodstein.pipeline.audit import observed_checks, overruled, quick_audit, require_valid
from goodstein.pipeline.choice import choose_null, independent, told_of
from goodstein.pipeline.compose import Seeds
from goodstein.problems.problem import Problem
from goodstein.results.member import Member
from goodstein.results.result import VERY_SMALL, TestResult

Found = TypeVar("Found")

DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning, ImportWarning)
"""Warnings that are no business of a result."""

SEARCH = "scipy.optimize"
"""Where warnings about a step of a search come from; whoever fits looks at where the search ended."""


def run_test(
    problem: Problem,
    *,
    null: Any,
    workers: Workers,
    seeds: Seeds,
    audit: bool,
    title: str | None = None,
    details: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
    statistic_name: str | None = None,
) -> TestResult:
    """Audit the problem, calibrate its statistic, and say what was found."""
    check_workers(workers)
    choice = choose_null(null, problem)
    chosen = choice.null
    report = quick_audit(problem, np.random.default_rng(seeds[0]), simulated=chosen.simulates)
    if audit:
        # Before the score is evaluated, which need not be possible where a test is refused.
        require_valid([report])
    choice = independent(choice, problem)
    if choice.null is not chosen:
        chosen = choice.null
        report = quick_audit(problem, np.random.default_rng(seeds[0]))
    checks, early = recorded(lambda: observed_checks(problem, chosen, thorough=audit))
    report = report.extended(checks)
    if audit:
        require_valid([report])
    notes = [*notes, *overruled(report), *caveats(report, chosen.simulates), *early]
    calibration, told = recorded(
        lambda: chosen.calibrate(problem, workers=workers, rng=np.random.default_rng(seeds[1]))
    )
    operator = problem.fitted_operator
    return report_test(
        problem,
        calibration,
        report,
        [*notes, *told],
        null=chosen.given,
        n=problem.form.n,
        operator=operator.given,
        kernel=problem.fitted_kernel.given,
        v_statistic=problem.v_statistic(calibration.statistic),
        title=title or operator.title,
        details={**(details or {}), **operator.details(problem.form.n), **told_of(choice)},
        statistic_name=statistic_name or operator.statistic_name,
        asked=[problem],
        smallest=chosen.smallest_pvalue(problem, problem.form.n),
    )


def report_test(
    problem: Problem,
    calibration: Calibration,
    report: AuditReport,
    notes: Sequence[str],
    *,
    null: Any,
    n: int,
    operator: Any,
    kernel: Any,
    title: str,
    statistic_name: str,
    v_statistic: float | None = None,
    details: Mapping[str, Any] | None = None,
    pvalue: float | None = None,
    claim: str = "against the model",
    members: tuple[Member, ...] = (),
    smallest: float = 0.0,
    asked: Sequence[Problem] = (),
) -> TestResult:
    """What was found, and how.

    `smallest` is the smallest p-value however many draws there are, `asked` what the result may ask later.
    """
    drawn = 0.0 if pvalue is not None else 1.0 / (1 + len(calibration.draws))
    drawn_by = problem.model.drawn_by
    told = {} if drawn_by is None else {"draws of the model": drawn_by}
    return TestResult(
        statistic=calibration.statistic,
        v_statistic=v_statistic,
        pvalue=calibration.pvalue if pvalue is None else pvalue,
        null_distribution=calibration.draws,
        n=n,
        model=report.model,
        domain=problem.domain,
        operator=operator,
        kernel=kernel,
        null=null,
        audit=report,
        notes=tuple(notes),
        data=problem.data.describe(),
        title=title,
        details={**(details or {}), **told},
        statistic_name=statistic_name,
        claim=claim,
        members=members,
        smallest_pvalue=max(smallest, drawn),
        columns=problem.data.names,
        # Without features and forms, which are made again where they are needed.
        asked=tuple(replace(part) for part in asked),
        limit=_limit(smallest, drawn, n, null, problem.model, problem.data.weights is not None),
    )


def _limit(smallest: float, drawn: float, n: int, null: Any, model: Any, weighted: bool) -> str:
    """Why there is no p-value of .01, and what to do about it; nothing where there is one."""
    if max(smallest, drawn) <= VERY_SMALL:
        return ""
    if drawn > smallest:
        draws = round(1.0 / drawn) - 1
        return f"{draws} draws of the null distribution have no p-value below {drawn:.3g}; take more of them."
    # A simulated sample is independent, which dependent data, with chains of signs, are not.
    batches = smallest > 0.5 ** (n - 1)
    # Nobody knows the weights of simulated rows.
    independent = smallest == 0.5 ** (n - 1) and model.has_sample and not weighted
    remedy = "more are needed; if their order means nothing, shuffle them" if batches else "more are needed"
    remedy = f"use {given('null', 'MonteCarlo()')}" if independent else remedy
    return f"{n} observations have no p-value below {smallest:.3g} with {type(null).__name__}; {remedy}."


def caveats(report: AuditReport, simulated: bool) -> list[str]:
    """What the audit warns of; what concerns the null distribution is also given as a warning."""
    notes = []
    for check in report.checks:
        # Of a test that was overruled nothing is promised about large samples either.
        if check.status != "warn" or (check.asymptotic and (simulated or report.refused)):
            continue
        notes.append(check.message)
        if check.asymptotic or check.loud:
            warn(check.message)
    return notes


def recorded(calibrate: Callable[[], Found]) -> tuple[Found, list[str]]:
    """What a calibration returns, and all warnings on the way to it, as notes and once to the caller."""
    with heard() as caught, one_blas_thread(), within_memory():
        found = calibrate()
    # Deprecations concern whoever wrote the library that a fit or a score calls, not the reader.
    for w in caught:
        if issubclass(w.category, DEVELOPERS):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    told = [w for w in caught if not issubclass(w.category, DEVELOPERS)]
    # SciPy silences its line search by itself, but not where several threads fit at the same time.
    told = [w for w in told if not w.category.__module__.startswith(SEARCH)]
    notes = []
    for message, category in dict.fromkeys((str(w.message), w.category) for w in told):
        warn(message, category)
        notes.append(message)
    return found, notes
