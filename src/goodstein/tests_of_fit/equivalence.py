"""The equivalence test, whose null hypothesis is that a model is not good enough."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from goodstein.constraints import check_flag, number
from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers, check_workers
from goodstein.engine.progress import ProgressLike, watching
from goodstein.engine.reduce import quadratic_forms
from goodstein.engine.schemes import IndependentSigns
from goodstein.errors import InputError
from goodstein.kernels.base import Kernel
from goodstein.nulls.base import Calibration
from goodstein.nulls.wild import WildBootstrap
from goodstein.numerics.ranges import cut
from goodstein.operators.base import Operator
from goodstein.pipeline.compose import compose, draw_seeds
from goodstein.pipeline.run import recorded, report_test
from goodstein.problems.problem import Problem
from goodstein.results.bound import bounded
from goodstein.results.detectable import shift_discrepancy
from goodstein.results.questions import SMALL
from goodstein.results.result import TestResult
from goodstein.results.tolerance import roots
from goodstein.stein.forms import BlockForm
from goodstein.tests_of_fit.tolerant import ON_OTHERS, looked_at, random_signs
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator

MOST = 1000
"""Rows from which the noisiest direction is taken."""
STRIP = 2048

TOO_NEAR = ON_OTHERS._replace(
    effect="so it seems nearer to them than it is, and the p-value may be too small"
)


def equivalence_test(
    data: ArrayLike,
    model: Any,
    *,
    margin: float | None = None,
    shift: float | None = None,
    domain: Domain | None = None,
    operator: Operator | None = None,
    kernel: Kernel | None = None,
    null: WildBootstrap | None = None,
    workers: Workers = None,
    rng: RNG = None,
    audit: bool = True,
    progress: ProgressLike = None,
) -> TestResult:
    r"""Test whether a model is good enough: the null hypothesis is that it is not.

    With enough data every model is rejected by :func:`ksd_test`. Here H₀ is KSD ≥ θ, and a small p-value is
    evidence that the discrepancy is smaller than the margin θ.

    Parameters
    ----------
    data, model, domain, operator, kernel
        As in :func:`ksd_test`.
    margin
        A share ε of the population: θ = εB is the largest discrepancy that so many wrong observations
        can make, wherever they lie; see :meth:`TestResult.tolerance` for B, and for the operator
        that is used where under the default one an observation may count without limit.
    shift
        Instead, a shift in standard deviations: θ is the discrepancy of data that are shifted by as much in
        one column, of all columns that for which it is smallest. On R^d, and in directions in which
        a box has no ends.
    null
        How many random signs, and whether they are chains, for dependent data: a :class:`WildBootstrap`.
    workers, rng, audit, progress
        As in :func:`ksd_test`.

    Returns
    -------
    TestResult
        With ``statistic`` √V, the root of the V-statistic, the null distribution at the boundary, KSD = θ,
        and in ``details`` the smallest margin that the data would have been within at level .05.

    Notes
    -----
    At the boundary V is about ‖ν + θe‖², with ν the noise of the mean feature, which random signs draw, and e
    the direction of the discrepancy, which is not known. The draws are those for the noisiest direction, the
    first eigenfunction, for which small values are most probable, so the level is kept for every other
    one; the normal limit of U, with its estimated variance, rejects too often (validation/size.md).

    References
    ----------
    Wellek (2010), Testing statistical hypotheses of equivalence and noninferiority. For kernel Stein
    discrepancies: arXiv:2603.10886.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Normal(0.0, 1.0)
    >>> x = gs.families.Normal(0.03, 1.0).sample(2000, rng=1)
    >>> gs.equivalence_test(x, model, shift=0.2, rng=1).pvalue <= 0.05
    True
    >>> gs.equivalence_test(x[:50], model, shift=0.2, rng=1).pvalue <= 0.05
    False
    """
    watch = watching(progress)
    check_workers(workers)
    if (margin is None) == (shift is None):
        raise InputError(
            "Pass either `margin`, a share of the observations, for example 0.1, or `shift`, in standard "
            "deviations."
        )
    check_flag(audit, "audit")
    seeds = draw_seeds(as_generator(rng))
    problem = compose(data, model, domain, operator, kernel, seeds)
    if margin is not None:
        number(margin, "margin", below=1.0, above=0.0, wanted="a share of the observations, between 0 and 1")
        problem, unit = bounded(problem)
        theta = margin * unit
        words = f"that a share of {margin:g} of wrong observations could make"
    else:
        size = number(shift, "shift", above=0.0, wanted="a positive number of standard deviations")
        theta = shift_discrepancy(problem, size)
        unit = theta / size
        words = f"of a shift by {size:g} standard deviations"
    chosen = random_signs(null)
    report, notes = looked_at(problem, chosen, seeds, audit, TOO_NEAR)
    with watch:
        (ksd, noise, along), told = recorded(
            lambda: _drawn(problem, chosen, workers, np.random.default_rng(seeds[1]))
        )
    boundary = _at_boundary(noise, along, theta)
    return report_test(
        problem,
        Calibration(ksd, boundary),
        report,
        [*notes, *told],
        pvalue=_pvalue(ksd, boundary),
        null=chosen,
        n=problem.form.n,
        operator=problem.fitted_operator.given,
        kernel=problem.fitted_kernel.given,
        title="Equivalence test by the kernel Stein discrepancy",
        statistic_name="KSD, root of the V-statistic",
        claim=f"that the discrepancy is smaller than one {words}",
        details={
            "margin" if shift is None else "shift": margin if shift is None else shift,
            "KSD at the margin": theta,
            "within, at level 0.05": _smallest_margin(ksd, noise, along) / unit,
        },
        smallest=1.0 / (1 + chosen.n_resamples),
    )


def _drawn(
    problem: Problem, null: WildBootstrap, workers: Workers, rng: np.random.Generator
) -> tuple[float, Array, Array]:
    """√V, and for all draws ‖ν‖² and ⟨ν, e⟩, with ν the mean of features with signs."""
    form = problem.form
    signs = replace(null, signs="iid").weights(problem, form.n, rng)
    assert isinstance(signs, IndependentSigns)
    calibration = Calibration(*quadratic_forms(form, signs, workers=workers))
    ksd, draws = roots(problem, calibration)
    component = noisiest(form, rng)
    return ksd, draws**2, signs.sums(component) / form.n


def noisiest(form: BlockForm, rng: np.random.Generator) -> Array:
    """⟨ξ_i, e⟩, (n,), with e the first eigenfunction, that of some rows where there are many."""
    n = form.n
    some = np.arange(n) if n <= MOST else np.sort(rng.choice(n, MOST, replace=False))
    values, vectors = np.linalg.eigh(form.take(some).matrix())
    weights = vectors[:, -1] / math.sqrt(max(values[-1], np.finfo(float).tiny))
    if n <= MOST:
        return np.asarray(values[-1] * weights)
    order = np.concatenate([some, np.setdiff1d(np.arange(n), some)])
    moved, found = form.take(order), np.empty(n)
    for rows in cut(0, n, STRIP):
        found[order[rows]] = moved.block(rows, slice(0, MOST)) @ weights
    return found


def _at_boundary(noise: Array, along: Array, theta: float) -> Array:
    """‖ν + θe‖."""
    return np.sqrt(np.maximum(noise + 2.0 * theta * along + theta**2, 0.0))


def _pvalue(ksd: float, boundary: Array) -> float:
    return (1 + int(np.count_nonzero(boundary <= ksd))) / (1 + len(boundary))


def _smallest_margin(ksd: float, noise: Array, along: Array) -> float:
    """The smallest θ that would be rejected at level .05, by bisection."""
    low, high = 0.0, ksd + 10.0 * math.sqrt(float(noise.max())) + 1e-12
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (
            (low, middle) if _pvalue(ksd, _at_boundary(noise, along, middle)) <= SMALL else (middle, high)
        )
    return high
