"""The aggregated test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from goodstein.auditing.report import AuditReport, Check, Question
from goodstein.auditing.skewness import too_skewed
from goodstein.constraints import check_flag, numbers
from goodstein.data.base import Data
from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers, check_workers
from goodstein.engine.progress import ProgressLike, watching
from goodstein.errors import InputError, must
from goodstein.kernels.base import Kernel
from goodstein.models.model import Model
from goodstein.nulls.base import Null
from goodstein.nulls.combine import combined
from goodstein.operators import Operator
from goodstein.operators.views.base import FiniteView
from goodstein.pipeline.audit import (
    observed_checks,
    overruled,
    quick_audit,
    refusal,
    require_valid,
    short,
)
from goodstein.pipeline.choice import choose_null, independent, told_of
from goodstein.pipeline.compose import Seeds, choose_kernel, compose, draw_seeds, in_units
from goodstein.pipeline.probes import Probes, check_skewed, squared_norms
from goodstein.pipeline.run import caveats, recorded, report_test
from goodstein.problems.problem import Collection, Problem
from goodstein.results.member import Member
from goodstein.results.questions import SMALL
from goodstein.results.result import TestResult
from goodstein.survival.data import Censored
from goodstein.tests_of_fit.default_members import default_collection, shares_of
from goodstein.tests_of_fit.members.drawn import from_draws
from goodstein.tests_of_fit.members.entries import default_kernels
from goodstein.tests_of_fit.members.words import left_out, looks_at
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator

FINITE = 0.2
"""The cost of a member of finite rank, in matrices of pairs."""

Group = tuple[Problem, tuple[Kernel, ...]]
"""A problem with an operator, and the kernels to use with it."""


def aggregated_test(
    data: ArrayLike,
    model: Any,
    *,
    domain: Domain | None = None,
    kernels: Sequence[Kernel] | None = None,
    operators: Sequence[Operator] | None = None,
    weights: Sequence[float] | None = None,
    null: Null | Literal["auto"] | None = "auto",
    workers: Workers = None,
    rng: RNG = None,
    audit: bool = True,
    progress: ProgressLike = None,
) -> TestResult:
    """Test whether a model fits data, by many kernel Stein discrepancies at once.

    Which bandwidth, kernel and operator find a difference depends on the difference, which is not known.
    This test takes a whole collection. Its statistic is the (weighted) harmonic mean of the members'
    p-values, which is about as small as the smallest of them, calibrated by draws of all members jointly, so
    its own p-value is valid whatever the collection: a second copy of a member changes nothing, and members
    that resemble each other cost little.

    Parameters
    ----------
    data, model, domain
        As in :func:`ksd_test`; weighted rows are :class:`Weighted`.
    kernels
        Kernels, each used with every operator. None takes several bandwidths of the operator's own kernel.
    operators
        Operators. With `kernels` None takes the domain's own operator; if both are None, the library's
        collection for the domain. Where the model has a sampler some of its members compare the data with
        draws, which must be independent; for a sampler that is a Markov chain name the operators.
    weights
        Relative weights of the members, in the order (first operator with all kernels, second operator
        with all kernels, …): a member with twice the weight may have twice the p-value. None takes equal
        ones, or one for each kind of look of the library's collection, and counts members that are nearly
        the same under the null as one.
    null
        How the joint null distribution is drawn: :class:`MonteCarlo`, which simulates the model and is exact
        at every sample size; :class:`WildBootstrap`, with the same signs for all members;
        :class:`ParametricBootstrap` for a model that was fitted to the same data. ``"auto"`` simulates 999
        samples, or 499, of points, of y given x, or of durations, censored by the Kaplan–Meier estimate, from
        a model that can be drawn from independently, if these take about two seconds on four cores by a rule
        that knows the numbers of rows, coordinates and members and no clock (in five dimensions up to about
        275 and 425 rows); else it takes ``WildBootstrap(1999)``. The result says why.
    workers, rng
        As in :func:`ksd_test`.
    audit
        Whether to raise :class:`SteinIdentityError` when one of the `operators` cannot keep its level.
        A member of the library's own collection that cannot is left out, and a note says so.
    progress
        As in :func:`ksd_test`.

    Returns
    -------
    TestResult
        With all ``members`` and their p-values, alone and adjusted for the others.

    References
    ----------
    Westfall, Young (1993), Resampling-based multiple testing. Wilson (2019), The harmonic mean p-value for
    combining dependent tests. Schrab, Guedj, Gretton (2022), KSD aggregated goodness-of-fit test.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Dirichlet([0.5, 0.5, 0.5])
    >>> null = gs.MonteCarlo(99)
    >>> gs.aggregated_test(model.sample(100, rng=1), model, null=null, rng=1).pvalue > 0.05
    True
    >>> other = gs.families.Dirichlet([0.8, 0.5, 0.5])
    >>> result = gs.aggregated_test(other.sample(200, rng=1), model, null=null, rng=1)
    >>> result.pvalue <= 0.01
    True
    >>> len(result.members) > 3
    True
    """
    watch = watching(progress)
    check_workers(workers)
    check_flag(audit, "audit")
    seeds = draw_seeds(as_generator(rng))
    build = partial(_groups, data, model, domain, operators, kernels, seeds)
    ours = operators is None and kernels is None
    groups, defaults = build(simulated=True, shared=True)
    choice = choose_null(null, groups[0][0], 1999, automatic=True, members=_matrices(groups))
    if ours and (choice.null.refits or not choice.null.simulates):
        groups, defaults = build(simulated=choice.null.simulates, shared=False)
    kept, report, notes = _audited(groups, seeds, audit, operators is None, choice.null.simulates)
    asked = independent(choice, Collection(tuple(groups[k] for k in kept)), 1999)
    if asked is not choice:
        choice = asked
        groups, defaults = build(simulated=False, shared=False)
        kept, report, notes = _audited(groups, seeds, audit, operators is None, choice.null.simulates)
    chosen = choice.null
    if ours:
        notes += left_out(groups[0][0], [problem.operator for problem, _ in groups])
    groups = [groups[k] for k in kept]
    shares = _shares(weights, groups, [defaults[k] for k in kept])
    collection = Collection(tuple(groups))
    if not chosen.simulates:
        groups, shares, skewed = _carried(groups, shares, collection, ours)
        collection = Collection(tuple(groups))
        report = report.extended(skewed)
    others = [part.operator for part, _ in groups]
    checks, early = recorded(
        lambda: observed_checks(
            groups[0][0], chosen, others=others, dependence=collection.dependence, thorough=audit
        )
    )
    seen = replace(report, checks=tuple(checks))
    if audit:
        require_valid([seen])
    report = report.extended(seen.checks)
    notes += [*overruled(seen), *caveats(report, chosen.simulates), *early]
    with watch:
        joint, told = recorded(
            lambda: chosen.calibrate_jointly(collection, workers=workers, rng=np.random.default_rng(seeds[1]))
        )
    found = combined(joint, shares, SMALL, merge=weights is None)
    members = tuple(
        Member(
            problem.fitted_operator.given,
            problem.fitted_kernel.given,
            float(found.weights[k]),
            float(joint.statistics[k]),
            joint[k].pvalue,
            float(found.adjusted[k]),
            float(found.evidence[k]),
            float(found.critical[k] - joint.draws[k].mean()),
            float(joint.draws[k].std()),
            looks_at(problem.operator, _names(problem.data)),
        )
        for k, problem in enumerate(collection.problems)
    )
    best = max(members, key=lambda member: member.evidence)
    return report_test(
        groups[0][0],
        found.calibration,
        report,
        [*notes, *told],
        null=chosen.given,
        n=collection.problems[0].form.n,
        operator=best.operator,
        kernel=best.kernel,
        title=f"Aggregated kernel Stein discrepancy test, {len(members)} members",
        statistic_name="−log of the members' harmonic mean p",
        members=members,
        details=told_of(choice),
        asked=collection.problems,
        smallest=chosen.smallest_pvalue(collection, collection.problems[0].form.n),
    )


def _groups(
    data: Any,
    model: Any,
    domain: Domain | None,
    operators: Sequence[Operator] | None,
    kernels: Sequence[Kernel] | None,
    seeds: Seeds,
    *,
    simulated: bool,
    shared: bool,
) -> tuple[list[Group], list[tuple[float, ...]]]:
    """Problems and kernels, everything validated, and the weights that members have by default."""
    if operators is None:
        own = compose(data, model, domain, None, None, seeds, weighted=True)
        if kernels is not None:
            chosen = _as_kernels(kernels, own)
            return [(own, chosen)], [(1.0,) * len(chosen)]
        kinds = default_collection(own, simulated, shared)
        entries = [entry for kind in kinds.values() for entry in kind]
        problems = _composed(data, model, domain, [entry.operator for entry in entries], seeds)
        groups = [
            (problem, tuple(in_units(kernel, own.domain) for kernel in entry.kernels) or (problem.kernel,))
            for problem, entry in zip(problems, entries, strict=True)
        ]
        return groups, shares_of(kinds)
    named = as_list(operators, "operators", "Langevin()")
    kernels = None if kernels is None else as_list(kernels, "kernels", "Gaussian()")
    problems = _composed(data, model, domain, named, seeds)
    groups = [(problem, _as_kernels(kernels, problem)) for problem in problems]
    return groups, [(1.0,) * len(chosen) for _, chosen in groups]


def _composed(
    data: Any, model: Any, domain: Domain | None, operators: Sequence[Operator], seeds: Seeds
) -> list[Problem]:
    """A problem for every operator."""
    problems = []
    for operator in operators:
        problem = compose(data, model, domain, operator, None, seeds, weighted=True)
        if isinstance(problem.model, Model):
            # The same object for all operators, so that draws of it, and what is made of them, are shared.
            model, domain = problem.model, problem.domain
        problems.append(problem)
    return problems


def _names(data: Data) -> tuple[str, ...] | None:
    """Names of what members look at: columns, or covariates of durations."""
    return data.covariate_names if isinstance(data, Censored) else data.names


def _matrices(groups: list[Group]) -> float:
    """How many matrices of pairs the members are worth; those of finite rank have none."""
    finite = sum(isinstance(problem.operator, FiniteView) for problem, _ in groups)
    return sum(len(kernels) for _, kernels in groups) - (1.0 - FINITE) * finite


def _as_kernels(kernels: Sequence[Kernel] | None, problem: Problem) -> tuple[Kernel, ...]:
    if kernels is None:
        return tuple(default_kernels(problem))
    return tuple(
        choose_kernel(kernel, problem.operator) for kernel in as_list(kernels, "kernels", "Gaussian()")
    )


def as_list(values: Any, name: str, example: str) -> list[Any]:
    """A sequence of parts, which must not be empty; a lone part is a mistake that is easily made."""
    flat = isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iuf"
    if not flat and not isinstance(values, list | tuple | Iterator):
        raise must(name, f"a list such as [{example}]", values)
    found = list(values)
    if not found:
        raise InputError(f"`{name}` is empty. Leave it out to take the library's own.")
    missing = [k for k, value in enumerate(found) if value is None]
    if missing:
        raise InputError(f"`{name}`[{missing[0]}] is None. Name it, for example {example}.")
    return found


def _audited(
    groups: list[Group], seeds: Seeds, audit: bool, ours: bool, simulated: bool
) -> tuple[list[int], AuditReport, list[str]]:
    """Which groups are tested, one report for all of them, and what there is to tell."""
    rng = np.random.default_rng(seeds[0])
    reports = [quick_audit(problem, rng, simulated=simulated) for problem, _ in groups]
    notes: list[str] = []
    kept = [k for k, report in enumerate(reports) if report.valid]
    if len(kept) < len(groups):
        broken = [report for report in reports if not report.valid]
        reasons = " ".join(dict.fromkeys(m for report in broken for m in report.messages("fail")))
        names = ", ".join(report.operator for report in broken)
        scored = [k for k in kept if not from_draws(groups[k][0].operator)]
        if ours and scored and audit:
            notes.append(f"Left out, because the audit refused it: {names}. {reasons}")
        elif audit:
            raise refusal(broken[0])
        else:
            notes.append(f"The audit refused {names} and was overruled; the p-value is not valid. {reasons}")
            kept = list(range(len(groups)))
    groups, reports = [groups[k] for k in kept], [reports[k] for k in kept]
    checks = tuple(dict.fromkeys(check for report in reports for check in report.checks))
    operators = ", ".join(dict.fromkeys(short(problem.operator) for problem, _ in groups))
    return kept, AuditReport(reports[0].model, reports[0].domain, operators, checks), notes


def _carried(
    groups: list[Group], shares: Array, collection: Collection, ours: bool
) -> tuple[list[Group], Array, list[Check]]:
    """Members, their shares and what is said of them, without those that too few observations carry.

    Only members of the library's own collection are left out, and not all of them, nor where rows are
    weighted.
    """
    n, probes = len(collection.data), Probes(collection.problems[0])
    sizes = [squared_norms(problem, probes=probes) for problem in collection.problems]
    weighted = collection.data.weights is not None
    flagged = [size is not None and too_skewed(size, n, weighted=weighted) for size in sizes]
    if probes.chain is None and not any(flagged):
        return groups, shares, []
    # Of weighted samples those that are rejected wrongly are those in which the members do not seem skewed.
    if not ours or weighted or all(flagged):
        flagged = [False] * len(flagged)
    remaining = (problem for problem, out in zip(collection.problems, flagged, strict=True) if not out)
    checks = next(filter(None, (check_skewed(problem, probes=probes) for problem in remaining)), [])
    kept: list[Group] = []
    left_out: list[str] = []
    place = 0
    for problem, kernels in groups:
        here = flagged[place : place + len(kernels)]
        place += len(kernels)
        if any(here):
            left_out.append(f"{short(problem.operator)} ({sum(here)} of {len(here)} kernels)")
        if not all(here):
            kept.append((problem, tuple(k for k, bad in zip(kernels, here, strict=True) if not bad)))
    if left_out:
        message = (
            f"Left out, because too few observations carry their statistics for the wild bootstrap: "
            f"{', '.join(left_out)}."
        )
        checks = [Question("skewed features").warned(message), *checks]
        shares = shares[~np.array(flagged)]
    return kept, np.asarray(shares / shares.sum()), checks


def _shares(weights: Sequence[float] | None, groups: list[Group], defaults: list[tuple[float, ...]]) -> Array:
    """Shares of the members, which add up to one."""
    count = sum(len(kernels) for _, kernels in groups)
    if weights is None:
        own = np.concatenate(defaults)
        return np.asarray(own / own.sum())
    given = numbers(weights, "weights", above=0.0)
    if given.shape != (count,):
        raise must("weights", f"{count} numbers, one for each member (operators × kernels)", weights)
    return np.asarray(given / given.sum())
