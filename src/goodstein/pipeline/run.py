"""From a problem to a result: audit, calibrate, report."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from goodstein.auditing.boundary import check_boundary, check_connected
from goodstein.auditing.report import AuditReport, Check
from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers, check_workers
from goodstein.errors import CalibrationWarning, InputError, SteinIdentityError
from goodstein.nulls import Null
from goodstein.nulls.base import Calibration
from goodstein.operators import Operator
from goodstein.problems.problem import Problem
from goodstein.results.result import TestResult

Found = TypeVar("Found")

DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning, ImportWarning)
"""Warnings that are no business of a result."""


def draw_seeds(generator: np.random.Generator) -> tuple[int, int, int]:
    """Seeds of the audit's probes, of the null distribution and of the operator, in this order.

    Seeds, not spawned generators: not every bit generator can spawn.
    """
    probes, null, operator = (int(seed) for seed in generator.integers(0, 1 << 63, size=3))
    return probes, null, operator


def check_null(null: Any) -> None:
    """Raise where `null` is no null method."""
    if not hasattr(null, "calibrate") or isinstance(null, type):
        raise InputError(
            f"`null` must be a null method such as WildBootstrap(), Spectral(), MonteCarlo() or "
            f"ParametricBootstrap(fit), got {null!r}."
        )


def run_test(
    problem: Problem,
    *,
    null: Null,
    workers: Workers,
    seeds: tuple[int, int, int],
    audit: bool,
    title: str = "Kernel Stein discrepancy test",
    details: Mapping[str, Any] | None = None,
) -> TestResult:
    """Audit the problem, calibrate its statistic, and say what was found.

    Functions that are called by users call this one directly, so that warnings point at the user.
    """
    check_workers(workers)
    check_null(null)
    probe_rng, null_rng = map(np.random.default_rng, seeds[:2])
    simulated = getattr(null, "simulates", False)
    report = quick_audit(problem, probe_rng, simulated=simulated)
    notes: list[str] = []
    if not report.valid:
        if audit:
            raise SteinIdentityError(refusal(report))
        reasons = " ".join(report.messages("fail"))
        notes.append(f"The audit refused this test and was overruled; its p-value is not valid. {reasons}")
    for check in report.checks:
        if check.status != "warn" or (check.asymptotic and simulated):
            continue
        notes.append(check.message)
        if check.asymptotic:
            warnings.warn(check.message, CalibrationWarning, stacklevel=3)
    calibration, told = calibrated(problem, null, workers, null_rng, stacklevel=4)
    notes += told
    return TestResult(
        statistic=calibration.statistic,
        v_statistic=_v_statistic(problem, calibration.statistic),
        pvalue=calibration.pvalue,
        null_distribution=calibration.draws,
        n=problem.form.n,
        model=problem.model.name,
        domain=problem.domain,
        operator=problem.fitted_operator,
        kernel=problem.fitted_kernel,
        null=null,
        audit=report,
        notes=tuple(notes),
        data=describe_data(problem.data),
        title=title,
        details=details or {},
    )


def calibrated(
    problem: Problem, null: Null, workers: Workers, rng: np.random.Generator, *, stacklevel: int
) -> tuple[Calibration, list[str]]:
    """The null distribution, and all warnings on the way to it; see :func:`recorded`."""
    return recorded(
        problem,
        null,
        lambda: null.calibrate(problem, workers=workers, rng=rng),
        stacklevel=stacklevel + 1,
    )


def recorded(
    problem: Problem, null: Null, calibrate: Callable[[], Found], *, stacklevel: int
) -> tuple[Found, list[str]]:
    """What a calibration returns, and all warnings on the way to it, which belong to the result as notes.

    Each is also given once, `stacklevel` frames up: 3 where the function that the user calls calls this
    one.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _warn_if_fitted(problem, null)
        found = calibrate()
    # Deprecations concern whoever wrote the library that a fit or a score calls, not the reader.
    for w in caught:
        if issubclass(w.category, DEVELOPERS):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    told = [w for w in caught if not issubclass(w.category, DEVELOPERS)]
    notes = []
    for message in dict.fromkeys((str(w.message), w.category) for w in told):
        warnings.warn(*message, stacklevel=stacklevel)
        notes.append(message[0])
    return found, notes


def _warn_if_fitted(problem: Problem, null: Null) -> None:
    """Warn where the model knows that it was fitted to these data, and the null method does not refit."""
    fitted = getattr(problem.model, "was_fitted_to", None)
    if fitted is None or getattr(null, "refits", False) or not fitted(problem.data):
        return
    warnings.warn(
        f"{problem.model.name} was fitted to these very data, so the p-value is conservative: the model fits "
        "too well by design. Use null=ParametricBootstrap(fit), with the function that fitted it.",
        CalibrationWarning,
        stacklevel=2,
    )


def _v_statistic(problem: Problem, statistic: float) -> float:
    """V = Σ_ij H_ij / n², from U, which leaves out the diagonal."""
    n = problem.form.n
    return (statistic * n * (n - 1) + float(problem.form.diagonal().sum())) / n**2


def describe_data(data: Any) -> str | None:
    """What the data say of themselves, if they are more than an array."""
    own = getattr(data, "describe", None)
    return None if own is None or isinstance(data, np.ndarray) else str(own())


def conditions(
    model: Any, domain: Domain, operator: Operator, data: Any, rng: np.random.Generator
) -> list[Check]:
    """What Stein's identity needs: the operator's own checks, or those of boundary and connectedness."""
    own = getattr(operator, "conditions", None)
    if own is not None:
        return list(own(model, domain, data, rng))
    return [check_connected(domain), check_boundary(model, domain, operator, data, rng)]


def quick_audit(problem: Problem, rng: np.random.Generator, *, simulated: bool = False) -> AuditReport:
    """The checks that cost next to nothing, before every test.

    What fails for large-sample approximations only is no failure of a null distribution that is simulated.
    """
    checks = conditions(problem.model, problem.domain, problem.operator, problem.data, rng)
    if simulated:
        checks = [replace(c, status="warn") if c.asymptotic and c.status == "fail" else c for c in checks]
    return AuditReport(problem.model.name, repr(problem.domain), short(problem.operator), tuple(checks))


def refusal(report: AuditReport) -> str:
    """Why a test is refused, in words."""
    reasons = " ".join(report.messages("fail"))
    return (
        f"{report.operator} is not valid for {report.model} on {report.domain}. {reasons} "
        "(audit=False runs the test all the same.)"
    )


def short(operator: Operator) -> str:
    """An operator without what was left out."""
    return repr(operator).replace("auxiliary=None", "")
