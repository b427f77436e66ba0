"""Does this model fit these data? Everything that can be said, in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np

from goodstein.auditing.report import Check
from goodstein.checking.result import CheckResult
from goodstein.constraints import check_flag, check_share
from goodstein.data.points import Points
from goodstein.data.weights import weighted
from goodstein.domains import Domain, Lattice
from goodstein.engine.executors import Workers, check_workers
from goodstein.engine.progress import ProgressLike, watching
from goodstein.errors import InputError, NumericalScoreWarning, SamplingError, quiet
from goodstein.nulls.base import Null
from goodstein.operators import Operator
from goodstein.pipeline.audit import report_of, require_valid
from goodstein.pipeline.choice import EXACT_STATES
from goodstein.pipeline.compose import compose
from goodstein.pipeline.simulated import check_identity
from goodstein.problems.problem import Problem
from goodstein.results.detectable import Detectable
from goodstein.results.result import TestResult
from goodstein.results.tolerance import Tolerance
from goodstein.tests_of_fit.aggregated import aggregated_test, as_list
from goodstein.tests_of_fit.audit import thorough_checks
from goodstein.text import readable
from goodstein.types import RNG, ArrayLike
from goodstein.validation import as_generator, draw_seed

COLUMNS = 5
"""Columns whose moves are looked for, at most."""

SEARCHES = 40
"""Columns times members, each of which is evaluated twice and more."""

ROWS = 5
"""Rows that are named."""

Part = TypeVar("Part")


def check(
    data: ArrayLike,
    model: Any,
    *,
    domain: Domain | None = None,
    operators: Sequence[Operator] | None = None,
    null: Null | Literal["auto"] | None = "auto",
    level: float = 0.05,
    weights: ArrayLike | None = None,
    workers: Workers = None,
    rng: RNG = None,
    audit: bool = True,
    progress: ProgressLike = None,
) -> CheckResult:
    """Does this model fit these data? The test, what fails, how wrong it is, and what could have been found.

    One call makes a thorough audit (:func:`audit`), the aggregated test (:func:`aggregated_test`), says in
    words what fails (:meth:`TestResult.explain`), bounds the share of the population that the model cannot
    explain (:meth:`TestResult.tolerance` of :func:`ksd_test`) and says which shift or scale such a sample
    would have shown (:meth:`TestResult.detectable`). Where a part does not exist for a kind of data, the
    result says so.

    Parameters
    ----------
    data, model, domain
        As in :func:`ksd_test`: points, chains, durations, pairs, patterns, a graph, or a kind of your own.
    operators, null
        As in :func:`aggregated_test`.
    level
        Level of the verdict; the confidence of all limits is one less the level.
    weights, workers
        As in :func:`ksd_test`.
    rng
        Seed or generator. Without one a seed is drawn, which the result tells: with it everything comes out
        the same again.
    audit
        Whether to raise :class:`SteinIdentityError` where the test cannot keep its level.
    progress
        As in :func:`ksd_test`; the test, and each part of what is said of it, is a step or several.

    Returns
    -------
    CheckResult
        Print it; ``.explain()``, ``.plot()``, ``.to_json()`` and ``.to_html(path)`` say more.

    Examples
    --------
    >>> import goodstein as gs
    >>> x = gs.families.Normal(0.5, 1).sample(100, rng=1)
    >>> found = gs.check(x, gs.families.Normal(0, 1), null=gs.WildBootstrap(499), rng=1)
    >>> found.rejected
    True
    >>> print(found.verdict)
    The model does not fit: p = 0.002 (level 0.05).
    """
    level = check_share(level, "level")
    check_workers(workers)
    check_flag(audit, "audit")
    given = isinstance(rng, int | np.integer) and not isinstance(rng, bool)
    generator = as_generator(rng)
    seed = int(rng) if given else draw_seed(generator)  # type: ignore[arg-type]
    data = weighted(data, weights)
    named = None if operators is None else as_list(operators, "operators", "Langevin()")
    with watching(progress, "Checking"):
        problem = compose(data, model, domain, named[0] if named else None, weighted=True)
        thorough = _thorough(problem, np.random.default_rng(seed)) if audit else []
        test = aggregated_test(
            data,
            model,
            domain=domain,
            operators=named,
            null=null,
            workers=workers,
            rng=seed,
            audit=audit,
        )
        report = test.audit.extended([c for c in thorough if c not in test.audit.checks])
        missing: dict[str, str] = {}

        def part(name: str, ask: Callable[[], Part]) -> Part | None:
            try:
                return ask()
            except (InputError, SamplingError) as error:
                missing[name] = error.bare
                return None

        explanation = part("explanation", lambda: test.explain(level=level, rng=seed))
        if explanation is None:
            missing["explanation"] += _outstanding(test, level, seed) or _rejecting(test, level)
        options = {"domain": domain, "operators": named, "null": None if isinstance(null, str) else null}
        return CheckResult(
            test=test,
            audit=report,
            explanation=explanation,
            tolerance=part("tolerance", lambda: _tolerance(test, problem, level, seed)),
            detectable=part("detectable", lambda: _detectable(test)),
            level=level,
            seed=seed,
            missing=missing,
            options={name: readable(value) for name, value in options.items() if value is not None},
        )


def _thorough(problem: Problem, rng: np.random.Generator) -> list[Check]:
    """What is looked at beyond the audit of every test; simulation only where it takes no time."""
    domain = problem.domain
    # On a lattice of many states every draw is the end of a chain.
    chains = isinstance(domain, Lattice) and domain.size > EXACT_STATES
    with quiet(NumericalScoreWarning):
        checks = thorough_checks(problem, problem.observations, rng, identity=False)
        if isinstance(problem.data, Points) and not chains:
            with suppress(SamplingError, InputError):  # the test itself says what a sampler cannot do
                checks.append(check_identity(problem, rng))
    require_valid([report_of(problem, checks)])
    return checks


def _outstanding(test: TestResult, level: float, seed: int) -> str:
    """Observations that stand out, where nothing else is known of what fails."""
    try:
        found = test.contributions(level=1.0 - level, rng=seed)
    except (InputError, SamplingError):
        return ""
    rows = found.row[found.flagged]
    if not len(rows):
        return " No observation stands out."
    first = ", ".join(map(str, rows[:ROWS]))
    more = ", …" if len(rows) > ROWS else ""
    return f" {len(rows)} of {len(found)} observations stand out: rows {first}{more}."


def _rejecting(test: TestResult, level: float) -> str:
    """What the members look at that reject, adjusted for all others."""
    found = dict.fromkeys(one.looks_at for one in test.members if one.adjusted_pvalue <= level)
    return f" What members look at that reject: {', '.join(found)}." if found else ""


def _tolerance(test: TestResult, problem: Problem, level: float, seed: int) -> Tolerance:
    """That of the usual operator and kernel, as of :func:`ksd_test`: the first member may see little."""
    return replace(test, asked=(problem,), members=()).tolerance(1.0 - level, rng=seed)


def _detectable(test: TestResult) -> Detectable:
    found = test.detectable(columns=max(2, min(COLUMNS, SEARCHES // len(test.members))))
    if not found.moves:
        raise InputError("A shift or a change of scale has no meaning for such data, or none is known.")
    return found
