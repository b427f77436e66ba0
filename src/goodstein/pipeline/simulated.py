"""Stein's identity by simulation: E_q[T k(·, y)] is zero, whatever the operator."""

from __future__ import annotations

from contextlib import suppress
from statistics import NormalDist
from typing import Any

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.errors import InputError, NumericalScoreWarning, SamplingError, quiet
from goodstein.problems.problem import Problem

CENTRES = 20
"""Observations y at which Stein's identity is checked by simulation."""

DRAWS, FEW_DRAWS = 4000, 400
"""Draws for that, of points and durations, and of other data, whose Stein matrix may be held as a whole."""

DOUBTFUL = 0.02
"""Probability with which the few draws of a true model are not enough."""


def drawn_from(problem: Problem, n: int, rng: np.random.Generator) -> Any:
    """Data from the model; None where it has no sampler, or draws only what is like given data."""
    if not problem.model.has_sample:
        return None
    if problem.data is not None:
        return problem.data.many(problem.model, problem.domain, n, rng)
    return problem.model.draws(problem.domain, n, rng)


def check_identity(
    problem: Problem, rng: np.random.Generator, draws: int | None = None, tail: float = 1e-4
) -> Check:
    """E_q[T k(·, y)] = 0 at several y, by simulation; true models fail with a probability of `tail`."""
    question = Question("Stein's identity by simulation")
    if not problem.model.has_sample:
        return question.skipped("The model cannot be sampled.")
    if problem.data is not None and not problem.data.replicated:
        return question.skipped("There is one observation only.")
    kind = problem.model.takes
    if draws is None:
        draws = FEW_DRAWS if kind is None or kind.costly else DRAWS
    drawn = drawn_from(problem, draws, rng)
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
    limit = NormalDist().inv_cdf(1.0 - 0.5 * tail / CENTRES)
    found = f"the largest of {CENTRES} means is {worst:.1f} standard errors from zero ({form.n} draws)"
    if worst > limit:
        return question.failed(
            f"E[h(·, y)] is not zero: {found}, about {worst_mean:.3g}. Sampler and score disagree, the "
            "density jumps inside its domain, or the operator's derivatives or boundary are wrong."
        )
    return question.passed(f"E[h(·, y)] = 0 within error: {found}.")


def check_draws(problem: Problem) -> list[Check]:
    """A failure where draws and score are of different laws, as of a density with a jump, before every test.

    Asked of models with a score of their own and no log density, which would tell more. Few draws are looked
    at first; only what they make doubtful is looked at as :func:`check_identity` does it.
    """
    model = problem.model
    # Draws along a line are those of the score, and say nothing of it.
    if model.latent or {*model._functions} - {"weighted_score"} != {"score", "sample"}:
        return []
    with suppress(SamplingError, InputError):  # the test itself says what a sampler cannot do
        rng = np.random.default_rng(0)
        order = problem.with_data(drawn_from(problem, FEW_DRAWS, np.random.default_rng(0))).dependence
        if order.found or order.sorted_by is not None:  # draws of a chain, or in order, have other errors
            return []
        if check_identity(problem, rng, FEW_DRAWS, DOUBTFUL).status == "fail":
            found = check_identity(problem, rng)
            return [found] if found.status == "fail" else []
    return []
