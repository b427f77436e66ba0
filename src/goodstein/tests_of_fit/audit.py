"""What can be said of a test before it is made."""

from __future__ import annotations

from contextlib import suppress
from statistics import NormalDist
from typing import Any

import numpy as np

from goodstein.auditing.agreement import check_repeatable
from goodstein.auditing.report import AuditReport, Check, Question
from goodstein.domains.base import Domain
from goodstein.errors import InputError, NumericalScoreWarning, quiet
from goodstein.operators.base import Operator
from goodstein.pipeline.audit import quick_audit, report_of
from goodstein.pipeline.compose import compose
from goodstein.pipeline.probes import check_skewed
from goodstein.problems.problem import Problem
from goodstein.types import RNG, ArrayLike
from goodstein.validation import as_generator

CENTRES = 20
"""Observations y at which Stein's identity is checked by simulation."""

DRAWS, FEW_DRAWS = 4000, 400
"""Draws for that, of points and durations, and of other data, whose Stein matrix may be held as a whole."""

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
        drawn = _drawn(problem, LOOKED_AT, generator)
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


def _drawn(problem: Problem, n: int, rng: np.random.Generator) -> Any:
    """Data from the model; None where it has no sampler, or draws only what is like given data."""
    if not problem.model.has_sample:
        return None
    if problem.data is not None:
        return problem.data.many(problem.model, problem.domain, n, rng)
    return problem.model.draws(problem.domain, n, rng)


def check_identity(problem: Problem, rng: np.random.Generator) -> Check:
    """E_q[T k(·, y)] = 0 at several y, by simulation."""
    question = Question("Stein's identity by simulation")
    if not problem.model.has_sample:
        return question.skipped("The model cannot be sampled.")
    if problem.data is not None and not problem.data.replicated:
        return question.skipped("There is one observation only.")
    kind = problem.model.takes
    drawn = _drawn(problem, FEW_DRAWS if kind is None or kind.costly else DRAWS, rng)
    if drawn is None:
        return question.skipped("The model draws only data that are like given ones: pass `data`.")
    simulated = problem.with_data(drawn)
    try:
        with quiet(NumericalScoreWarning):
            form = simulated.form
    except InputError as error:
        return question.warned(f"The operator cannot be evaluated at draws from the model: {error.bare}")
    # h(x, y) = ⟨T k(·, y), ·⟩ has mean zero over x at every y, whatever the operator.
    values = form.block(slice(0, CENTRES), slice(CENTRES, form.n))
    spread = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(spread > 0, np.abs(values.mean(axis=1)) / spread, 0.0)
    worst, worst_mean = float(z.max()), float(values.mean(axis=1)[np.argmax(z)])
    limit = NormalDist().inv_cdf(1.0 - 0.5e-4 / CENTRES)
    found = f"the largest of {CENTRES} means is {worst:.1f} standard errors from zero ({form.n} draws)"
    if worst > limit:
        return question.failed(
            f"E[h(·, y)] is not zero: {found}, about {worst_mean:.3g}. Sampler and score disagree, or the "
            "operator's derivatives or boundary are wrong."
        )
    return question.passed(f"E[h(·, y)] = 0 within error: {found}.")
