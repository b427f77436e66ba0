"""What can be said of a test before it is made."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from goodstein.auditing.agreement import check_repeatable
from goodstein.auditing.report import AuditReport, Check
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.operators.base import Operator
from goodstein.pipeline.audit import quick_audit, report_of
from goodstein.pipeline.compose import compose
from goodstein.pipeline.probes import check_skewed
from goodstein.pipeline.simulated import check_identity, drawn_from
from goodstein.problems.problem import Problem
from goodstein.types import RNG, ArrayLike
from goodstein.validation import as_generator

LOOKED_AT = 200
"""Draws at which a model is looked at where there are no data."""


def audit(
    model: Any,
    *,
    domain: Domain | None = None,
    operator: Operator | None = None,
    data: ArrayLike | None = None,
    rng: RNG = None,
) -> AuditReport:
    """Say whether a test of this model, on this domain, with this operator, is valid.

    Checks that Stein's identity and a finite variance are possible at every face of the boundary,
    that the domain is connected, that the density is integrable far out, that score and log
    density agree, and, if the model can be sampled, that E[T k(·, y)] = 0.

    Parameters
    ----------
    model, domain, operator
        As in :func:`ksd_test`.
    data
        Points at which to look at the model; without them draws from the model are used.
    rng
        Seed or generator.

    Returns
    -------
    AuditReport
        Print it to read it; ``.valid`` says whether any check failed.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Dirichlet([0.5, 0.5, 0.5])
    >>> gs.audit(model, rng=1).valid
    True
    >>> gs.audit(model, operator=gs.Standardised(gs.GeometricMean()), rng=1).valid
    False
    """
    generator = as_generator(rng)
    problem = compose(data, model, domain, operator, without_data=True)
    if data is not None:
        _ = problem.features  # an error here is about the user's own rows
        observations = problem.observations
    else:
        drawn = drawn_from(problem, LOOKED_AT, generator)
        observations = None if drawn is None else drawn.observations
        if drawn is not None:
            problem = problem.with_data(drawn)
    quick = quick_audit(problem, generator)
    checks = [*quick.checks, *thorough_checks(problem, observations, generator, identity=quick.valid)]
    if problem.data is not None and all(check.status != "fail" for check in checks):
        with suppress(InputError):  # the operator cannot be evaluated at some draw, as the identity says
            checks += check_skewed(problem)
    return report_of(problem, checks)


def thorough_checks(
    problem: Problem, observations: Any, rng: np.random.Generator, *, identity: bool = True
) -> list[Check]:
    """What is not looked at before every test; Stein's `identity` where nothing else failed."""
    checks = problem.operator.thorough(problem.model, problem.domain, observations, rng)
    if identity and all(check.status != "fail" for check in checks):
        checks = [*checks, check_identity(problem, rng)]
    return [*checks, *check_repeatable(problem.model)]
