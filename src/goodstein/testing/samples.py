r"""Draws are asserted to be those of a model, with a rate of false alarms that a test suite can live with.

p-values of B random signs end at 1/(B + 1), and what is known of them far out is an extrapolation. So the
draws are cut into K parts, each with a p-value of its own that is small but not very small, and these are
combined by Fisher's method: T = −2 Σ_k log p_k is χ² with 2K degrees of freedom, or smaller, if the parts are
independent and every P(p_k ≤ t) ≤ t. For a rate of 10⁻⁶ four parts with p ≈ .005 suffice, a range in which
levels can be measured (``validation/size.md``); an error of the level by a factor c in every part is one by
c^K of the rate, and p-values are multiplied by a margin for that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import chdtrc

from goodstein.constraints import number
from goodstein.data.chains import Chains
from goodstein.data.points import Points
from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers, check_workers
from goodstein.errors import Explained, InputError
from goodstein.explain.explain import explain_problem
from goodstein.kernels.base import Kernel
from goodstein.nulls.wild import WildBootstrap
from goodstein.operators.base import Operator
from goodstein.pipeline.audit import quick_audit, require_valid
from goodstein.pipeline.compose import compose, draw_seeds
from goodstein.problems.problem import Problem
from goodstein.text import about
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator

NULL = WildBootstrap(999)
"""Of each part."""

MARGIN = 1.25
"""By which p-values of parts are multiplied; see the module's text."""

NAMED = 5
"""Findings that a message names."""


def assert_samples(
    draws: ArrayLike,
    model: Any,
    *,
    false_alarms: float = 1e-6,
    domain: Domain | None = None,
    operator: Operator | None = None,
    kernel: Kernel | None = None,
    workers: Workers = None,
    rng: RNG = 0,
) -> None:
    """Raise ``AssertionError`` where draws are not from a model; for tests of samplers.

    Draws of chains are allowed for, several chains as such. The message says which parameters are wrong, and
    how many independent draws these are worth.

    Parameters
    ----------
    draws, model, domain, operator, kernel, workers
        As in :func:`goodstein.ksd_test`: an array (n, d), chains, or a container with names; a score, a log
        density, a model of Stan, PyMC or numpyro, :class:`goodstein.Gradients`.
    false_alarms
        How often a right sampler may fail, from 10⁻⁹ to 0.05. The smaller, the more draws are needed to find
        a wrong one.
    rng
        Seed of the random signs; the same draws always get the same answer.

    Notes
    -----
    Two thirds of −log₁₀ of the rate, at least two, is the number K of parts: whole chains where there are as
    many, stretches of the rows otherwise. Their p-values, times 1.25, are combined by Fisher's method; rates
    that were measured are in ``validation/size.md``. Draws before a chain has arrived are not from the model;
    a mode that no chain has found leaves no trace in scores.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> draws = np.random.default_rng(1).normal(size=(1000, 2))
    >>> gs.testing.assert_samples(draws, lambda x: -x)
    >>> gs.testing.assert_samples(draws * [1.0, 1.5], lambda x: -x)
    Traceback (most recent call last):
        ...
    AssertionError: The draws are not from score=<lambda>: p = ... (false alarms: 1e-06).
      1000 draws, worth about ... independent ones; p-values of 4 parts of them: ...
      1. spread of `column 1`: ...
    """
    wanted = "a rate from 1e-9 to 0.05"
    false_alarms = number(false_alarms, "false_alarms", least=1e-9, most=0.05, wanted=wanted)
    check_workers(workers)
    generator = as_generator(rng)
    seeds = draw_seeds(generator)
    try:
        problem = compose(draws, model, domain, operator, kernel, seeds)
        if not isinstance(problem.data, Points):
            raise InputError("Draws are points.", argument="data", remedy="Use ksd_test for other data.")
    except InputError as error:
        raise error.told("draws") if error.argument == "data" else error from None
    require_valid([quick_audit(problem, np.random.default_rng(seeds[0]))])
    pvalues, least = _of_parts(problem, parts_for(false_alarms), workers, generator)
    if combined(least) > false_alarms:
        worth = f"worth about {about(problem.dependence.effective)} independent ones"
        raise InputError(
            f"{len(problem.data)} draws, {worth}, are too few to find anything wrong at a rate of "
            f"{false_alarms:g}.",
            argument="draws",
            remedy="Draw more, or allow more false alarms.",
        )
    found = combined(pvalues)
    if found <= false_alarms:
        raise AssertionError(_message(problem, found, pvalues, false_alarms))


def parts_for(false_alarms: float) -> int:
    """K, the number of parts: four for a rate of 10⁻⁶."""
    return max(2, round(-2.0 / 3.0 * math.log10(false_alarms)))


def combined(pvalues: Array) -> float:
    """Fisher's combination of p-values with their margin."""
    with_margin = np.minimum(1.0, MARGIN * pvalues)
    return float(chdtrc(2 * len(pvalues), -2.0 * np.log(with_margin).sum()))


def _of_parts(
    problem: Problem, count: int, workers: Workers, rng: np.random.Generator
) -> tuple[Array, Array]:
    """p-values of the parts, and the smallest that they can have."""
    data, n = problem.data, len(problem.data)
    chains, stated = len(data.sequences), problem.dependence.found
    part_of = np.arange(n) * count // n
    if chains >= count:
        part_of = np.repeat(np.arange(chains) * count // chains, data.sequences)
    pvalues, least = np.empty(count), np.empty(count)
    for k in range(count):
        part: Any = data.take(np.flatnonzero(part_of == k))
        if stated and not isinstance(part, Chains):
            # What all rows show, a part of them may hide.
            part = Chains.of(part.observations, part.sequences, part.names)
        asked = problem.with_data(part)
        calibration = NULL.calibrate(asked, workers=workers, rng=rng)
        pvalues[k] = calibration.pvalue
        least[k] = max(NULL.smallest_pvalue(asked, asked.form.n), 1.0 / (1 + len(calibration.draws)))
    return pvalues, least


def _message(problem: Problem, found: float, pvalues: Array, false_alarms: float) -> str:
    """Which parameters are wrong, and on how much that rests."""
    n, worth = len(problem.data), problem.dependence.effective
    shown = ", ".join(f"{p:.2g}" for p in pvalues)
    lines = [
        f"The draws are not from {problem.model.name}: p = {found:.1g} (false alarms: {false_alarms:g}).",
        f"  {n} draws, worth about {about(worth)} independent ones; p-values of {len(pvalues)} parts of them"
        f": {shown}.",
    ]
    try:
        explained = explain_problem(problem, NULL, level=0.05, rng=np.random.default_rng(0))
    except Explained:  # models of which nothing more can be said
        return "\n".join(lines)
    findings = explained.failing or explained.findings[:1]
    lines += [f"  {k}. {finding.statement}" for k, finding in enumerate(findings[:NAMED], 1)]
    return "\n".join(lines)
