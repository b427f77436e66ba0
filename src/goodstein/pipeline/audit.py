"""Can the test keep its level? The second step of every test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from goodstein.auditing.report import AuditReport, Check, Question
from goodstein.auxiliary.functions import ProductOfParts
from goodstein.domains import Box, Simplex
from goodstein.errors import SteinIdentityError
from goodstein.nulls.base import Null
from goodstein.operators import LogRatio, Mirrored, Operator, Standardised
from goodstein.problems.problem import Problem


def quick_audit(problem: Problem, rng: np.random.Generator, *, simulated: bool = False) -> AuditReport:
    """The checks that cost next to nothing, before every test.

    What fails for large-sample approximations only is no failure of a null distribution that is simulated.
    """
    model, domain, operator = problem.model, problem.domain, problem.operator
    observations = None if problem.data is None else problem.observations
    checks = operator.conditions(model, domain, observations, rng)
    if simulated:
        checks = [replace(c, status="warn") if c.asymptotic and c.status == "fail" else c for c in checks]
    return report_of(problem, [advised(check, domain, operator) for check in checks])


REFIT = "Use null=ParametricBootstrap(fit), with the function that fitted it."


def observed_checks(problem: Problem, null: Null | None, refit: str = REFIT) -> list[Check]:
    """What is seen in the data themselves, before the null distribution is drawn.

    `null` is the null method that will be used, None where a test has a method of its own; `refit` says
    what to do about a model that was fitted to the same data.
    """
    return [*check_fitted(problem, null, refit)]


def check_fitted(problem: Problem, null: Null | None, refit: str) -> list[Check]:
    """Whether the model was fitted to these very data."""
    fit = problem.model.provenance
    if fit is None or (null is not None and null.refits) or not fit.concerns(problem.observations):
        return []
    return [
        Question("other data than those of the fit").warned(
            f"{problem.model.name} was fitted to these very data, so the p-value is conservative: the model "
            f"fits too well by design. {refit}",
            loud=True,
        )
    ]


def report_of(problem: Problem, checks: Sequence[Check]) -> AuditReport:
    """Checks of a problem, with what they are about."""
    where = "graphs" if problem.domain is None else repr(problem.domain)
    return AuditReport(problem.model.name, where, short(problem.operator), tuple(checks))


def short(operator: Any) -> str:
    """An operator without what was left out."""
    return repr(operator).replace("auxiliary=None", "")


def advised(check: Check, domain: Any, operator: Operator) -> Check:
    """A failed check with the operators that would pass it, tried out before they are recommended."""
    if check.accepts is None:
        return check
    candidates: list[Operator] = [Standardised()]
    if isinstance(domain, Simplex):
        candidates = [LogRatio(), Mirrored(), Standardised(ProductOfParts())]
    elif isinstance(domain, Box):
        # On an infinite side the weight of Mirrored grows without bound, which heavy tails do not allow.
        candidates = [Standardised(), Mirrored()] if domain.bounded else [Standardised()]
    valid = [short(other) for other in candidates if other != operator and check.accepts(other)]
    advice = f"Valid here: operator={' or '.join(valid)}."
    if not valid:
        advice = (
            "No operator of this library is valid for this density here; check the score near the boundary."
        )
    return replace(check, message=f"{check.message} {advice}", accepts=None)


def refusal(report: AuditReport) -> SteinIdentityError:
    """Why a test is refused, in words."""
    reasons = " ".join(report.messages("fail"))
    return SteinIdentityError(
        f"{report.operator} is not valid for {report.model} on {report.domain}. {reasons}",
        remedy="(audit=False runs the test all the same.)",
    )


def overruled(report: AuditReport) -> list[str]:
    """The note of a test that was run although it is not valid."""
    if report.valid:
        return []
    reasons = " ".join(report.messages("fail"))
    return [f"The audit refused this test and was overruled; its p-value is not valid. {reasons}"]


def require_valid(reports: Sequence[AuditReport]) -> None:
    """Raise where a test cannot keep its level."""
    for report in reports:
        if not report.valid:
            raise refusal(report)
