"""Can the test keep its level? The second step of every test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from goodstein.auditing.fitted import check_fitted
from goodstein.auditing.modes import DRAWS, check_modes
from goodstein.auditing.report import AuditReport, Check
from goodstein.auxiliary.functions import ProductOfParts
from goodstein.data.points import Points
from goodstein.domains import Box, Simplex
from goodstein.errors import InputError, SamplingError, SteinIdentityError, given, takes
from goodstein.models.model import Model
from goodstein.nulls.base import Null
from goodstein.operators import LogRatio, MeanEmbedding, Mirrored, Operator, Standardised
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


def observed_checks(
    problem: Problem, null: Null | None, refit: str | None = None, *, others: Sequence[Operator] = ()
) -> list[Check]:
    """What is seen in the data themselves, before the null distribution is drawn.

    `null` is the null method that will be used, None where a test has a method of its own; `refit` says
    what to do about a model that was fitted to the same data, None where the usual advice holds; `others` are
    operators beside the problem's.
    """
    corrected = null is not None and null.refits
    found = check_fitted(problem.model, problem.observations, corrected=corrected, remedy=refit)
    # Comparing the data with draws sees how the mass is shared, and so do tests with a method of their own.
    if null is not None and not any(isinstance(part, MeanEmbedding) for part in (problem.operator, *others)):
        found += check_groups(problem, null)
    return found


def check_groups(problem: Problem, null: Null) -> list[Check]:
    """Whether there are isolated modes, whose shares a test by scores does not see."""
    model, data = problem.model, problem.data
    if not isinstance(model, Model) or not isinstance(data, Points) or model.estimated:
        return []
    drawn = None
    # A group may be missing among the data. Samplers of a user's own may be slow.
    if model.has_sample and (null.simulates or model.batched):
        try:
            drawn = model.sample(DRAWS, np.random.default_rng(0))
        except (InputError, SamplingError):
            drawn = None
    return check_modes(model, problem.domain, problem.observations, drawn)


def report_of(problem: Problem, checks: Sequence[Check]) -> AuditReport:
    """Checks of a problem, with what they are about."""
    where = problem.data.kind if problem.domain is None else repr(problem.domain)
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
    advice = f"Valid here: {given('operator', *valid)}."
    if not valid:
        advice = (
            "No operator of this library is valid for this density here; check the score near the boundary."
        )
    return replace(check, message=f"{check.message} {advice}", accepts=None)


def refusal(report: AuditReport) -> SteinIdentityError | InputError:
    """Why a test is refused, in words."""
    reasons = " ".join(report.messages("fail"))
    remedy = "(audit=False runs the test all the same.)" if takes("audit") else None
    if all(check.of_data for check in report.checks if check.status == "fail"):
        return InputError(reasons, argument="data", remedy=remedy)
    return SteinIdentityError(
        f"{report.operator} is not valid for {report.model} on {report.domain}. {reasons}", remedy=remedy
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
