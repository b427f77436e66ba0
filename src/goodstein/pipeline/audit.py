"""Can the test keep its level? The second step of every test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from goodstein.auditing.agreement import check_agreement, check_kind, check_repeatable
from goodstein.auditing.fitted import Advice, check_fitted
from goodstein.auditing.flags import check_flags
from goodstein.auditing.modes import DRAWS, check_modes
from goodstein.auditing.ranks import are_ranks, is_unit_cube, ranked
from goodstein.auditing.report import AuditReport, Check, Question
from goodstein.auditing.serial import Dependence
from goodstein.auditing.weights import check_weights
from goodstein.auxiliary.functions import ProductOfParts
from goodstein.conditional.model import ConditionalModel
from goodstein.data.base import Data
from goodstein.data.points import Points, draw
from goodstein.domains import Box, Euclidean, Simplex
from goodstein.engine.executors import one_blas_thread
from goodstein.errors import (
    InputError,
    SamplingError,
    SteinIdentityError,
    given,
    takes,
    within_memory,
)
from goodstein.models.model import Model
from goodstein.nulls.base import Null
from goodstein.nulls.fitted import FittedWildBootstrap
from goodstein.nulls.wild import WildBootstrap
from goodstein.operators import (
    LogRatio,
    MeanEmbedding,
    Mirrored,
    Operator,
    Perturbed,
    Standardised,
)
from goodstein.operators.mode_search import check_missing
from goodstein.pipeline.probes import check_skewed, check_standing_alone
from goodstein.pipeline.simulated import check_draws
from goodstein.problems.problem import Problem
from goodstein.text import about


def quick_audit(problem: Problem, rng: np.random.Generator, *, simulated: bool = False) -> AuditReport:
    """The checks that cost next to nothing, before every test.

    What fails for large-sample approximations only is no failure of a null distribution that is simulated.
    """
    model, domain, operator = problem.model, problem.domain, problem.operator
    observations = None if problem.data is None else problem.observations
    with one_blas_thread(), within_memory():
        checks = check_kind(model, domain, observations)
        checks += operator.conditions(model, domain, observations, rng)
    if simulated:
        checks = [
            replace(c, status="warn", message=f"{c.message.partition(' Use ')[0]} This test simulates it.")
            if c.asymptotic and c.status == "fail"
            else c
            for c in checks
        ]
    return report_of(problem, [advised(check, domain, operator) for check in checks])


EXACT = 1e-12
"""How far double precision may leave data off a simplex or a sphere."""

SPARSE = 40
"""Independent observations below which hardly anything can be told."""

SHUFFLE = "if the order means nothing, shuffle the rows"

NOTICEABLE = 1.01
"""Correlation times below this take nothing away."""


def observed_checks(
    problem: Problem,
    null: Null | None,
    advice: Advice | None = None,
    *,
    others: Sequence[Operator] = (),
    dependence: Dependence | None = None,
    thorough: bool = True,
) -> list[Check]:
    """What is seen in the data themselves, before the null distribution is drawn.

    `null` is the null method that will be used, None where a test has a method of its own; `advice` is about
    a model that was fitted to the same data, None where the usual one holds; `others` are
    operators beside the problem's; `dependence` is what the order of the data says to all of them, None for
    the problem's alone. Unless `thorough`, nothing is drawn from the model.
    """
    corrected = (null is not None and null.refits) or problem.operator.corrects_fit
    weighted = problem.data.weights is not None
    found = check_fitted(
        problem.model, problem.observations, corrected=corrected, advice=advice, weighted=weighted
    )
    if isinstance(null, FittedWildBootstrap):
        found += null.few(problem)
    found += [*check_rounding(problem), *check_flags(problem.model, problem.data)]
    found += check_ranks(problem)
    # Of the library's own distributions its tests have asked that.
    asked = isinstance(problem.model, Model) and not (problem.model.closed_form or problem.model.estimated)
    if asked and isinstance(problem.data, Points):
        found += check_agreement(problem.model, problem.domain, problem.observations)
    own = asked or isinstance(problem.model, ConditionalModel)
    if own and thorough:
        found += check_draws(problem)
    if problem.data.weights is not None:
        found += check_weights(problem.data.weights, problem.form.diagonal())
    order = problem.dependence if dependence is None else dependence
    found += check_order(order, null, problem.data)
    alone = check_standing_alone(problem, thorough)
    found += alone
    if null is not None and not (null.simulates or null.bears_skewness or others or alone):
        found += check_skewed(problem, thorough)
    # Draws and moves between modes see how the mass is shared, and so do tests with a method of their own.
    seeing = (MeanEmbedding, Perturbed)
    if null is not None and not any(isinstance(part, seeing) for part in (problem.operator, *others)):
        found += check_groups(problem, null, thorough)
    if null is not None and null.simulates and problem.model.has_sample and not problem.model.trusted:
        problem.simulate(np.random.default_rng(0))  # by which it is found out whether draws repeat
    return [*found, *check_repeatable(problem.model)]


def check_order(dependence: Dependence, null: Null | None, data: Data) -> list[Check]:
    """Whether rows depend on each other in their order, and what that means for the null distribution."""
    question = Question("independent rows")
    if (column := dependence.sorted_by) is not None:
        names = [*data.as_columns()] or [f"column {k}" for k in range(column + 1)]
        return [
            question.warned(
                f"The rows are sorted by {names[column]}, or nearly so, and their order says nothing about "
                "time; whether they depend on each other could not be looked for. Draws of a Markov chain "
                "are Chains([data])."
            )
        ]
    flip = null.flip if isinstance(null, WildBootstrap) else "auto"
    named = not isinstance(flip, str)
    allowed = null is not None and null.allows(dependence)
    if not dependence.found or not (dependence.clear or (allowed and not named)):
        return []
    n, worth = dependence.n, about(dependence.effective)
    how = "depend on each other in the order in which they come"
    if dependence.stated:
        how = "are draws of Markov chains"
    elif not dependence.clear:
        how = f"may {how}, though one random order in {round(1 / dependence.pvalue)} would show as much"
    message = f"The rows {how}."
    if dependence.time > NOTICEABLE:
        message = (
            f"The rows {how}: their correlation time is {dependence.time:.3g} rows, so {n} of them are worth "
            f"about {worth} independent ones."
        )
    if allowed and named:
        return [question.warned(message)]
    if not allowed:
        method = "This test" if null is None else type(null.given).__name__
        wrong = f"{method} takes them for independent"
        if named and flip != 0.5:
            wrong = f"With flip={flip:g} signs change too soon for that"
        message += (
            f" {wrong}, and its p-value is too small. Use {given('null', 'WildBootstrap()')}, or one row in "
            f"{math.ceil(2 * dependence.time)}{'.' if dependence.stated else f'; {SHUFFLE}.'}"
        )
        # Who names a flip of one half says that rows are independent.
        loud = dependence.certain and flip != 0.5
        small = "" if flip == 0.5 else "the rows depend on each other, and the test does not know that"
        return [question.warned(message, loud=loud, small=small)]
    batches = len(dependence.batches)
    message += f" Random signs change between batches of rows only, of which there are {batches}."
    if dependence.effective < SPARSE:
        message += " That is little to decide on: more are needed."
    if dependence.stated:
        # Who has chains knows that their draws are not independent.
        return [question.warned(message)]
    large = ""
    if dependence.clear and dependence.effective < min(SPARSE, 0.5 * n):
        large = f"in their order {n} rows are worth about {worth}; if it means nothing, shuffle them"
    message += f" {SHUFFLE.capitalize()}."
    return [question.warned(message, loud=dependence.certain, large=large)]


def check_groups(problem: Problem, null: Null, thorough: bool = True) -> list[Check]:
    """Whether there are isolated modes, whose shares a test by scores does not see."""
    model, data = problem.model, problem.data
    if not isinstance(model, Model) or not isinstance(data, Points) or model.estimated:
        return []
    if model.quasi_concave or not isinstance(problem.domain, Euclidean | Box):
        return []
    drawn = None
    # A group may be missing among the data. Samplers of a user's own may be slow.
    if thorough and model.has_sample and (null.simulates or model.draws_fast):
        try:
            drawn = model.kept(DRAWS, lambda: model.sample(DRAWS, np.random.default_rng(0)))
        except (InputError, SamplingError):
            drawn = None
    found = check_modes(model, problem.domain, problem.observations, drawn)
    if thorough and not found and model.has_logpdf and not model.has_sample:
        return check_missing(model, problem.domain, problem.observations)
    return found


def check_rounding(problem: Problem) -> list[Check]:
    """Whether the data lie on a domain that is thinner than R^d only up to rounding."""
    off = problem.data.rounding(problem.domain)
    if off <= EXACT:
        return []
    message = f"Rows of the data are off {problem.domain!r} by up to {off:.2g}, as after rounding."
    return [Question("rounding").warned(f"{message} They were taken as they are.")]


def check_ranks(problem: Problem) -> list[Check]:
    """Whether the rows are ranks, where draws of the model are not."""
    rows, model = problem.observations, problem.model
    if not (isinstance(problem.data, Points) and is_unit_cube(problem.domain) and are_ranks(rows)):
        return []
    if model.has_sample and problem.domain is not None:
        try:
            drawn = draw(model, problem.domain, len(rows), np.random.default_rng(0))
        except (InputError, SamplingError):
            return [ranked()]
        if are_ranks(drawn):
            return []
    return [ranked()]


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
    if not report.refused:
        return []
    reasons = " ".join(report.messages("fail"))
    return [f"The audit refused this test and was overruled; its p-value is not valid. {reasons}"]


def require_valid(reports: Sequence[AuditReport]) -> None:
    """Raise where a test cannot keep its level."""
    for report in reports:
        if report.refused:
            raise refusal(report)
