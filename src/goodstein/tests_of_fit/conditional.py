"""The test of conditional models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from goodstein.conditional.data import Pairs
from goodstein.conditional.model import as_conditional
from goodstein.conditional.operator import Conditional
from goodstein.domains.base import Domain
from goodstein.domains.euclidean import Euclidean
from goodstein.engine.executors import Workers, check_workers
from goodstein.errors import DomainError, InputError
from goodstein.kernels.base import Kernel
from goodstein.nulls import Null, WildBootstrap
from goodstein.operators.base import Operator
from goodstein.pipeline.compose import as_generator, check_parts, choose_kernel, placed, seeded
from goodstein.pipeline.run import check_null, draw_seeds, run_test
from goodstein.problems.problem import Problem
from goodstein.results.result import TestResult
from goodstein.types import RNG, ArrayLike


def conditional_ksd_test(
    x: ArrayLike,
    y: ArrayLike,
    model: Any,
    *,
    domain: Domain | None = None,
    operator: Operator | None = None,
    kernel: Kernel | None = None,
    x_kernel: Any = None,
    null: Null = WildBootstrap(),  # noqa: B008 - frozen, used as a value
    workers: Workers = None,
    rng: RNG = None,
    audit: bool = True,
) -> TestResult:
    """Test whether a model of y given x fits, by the kernel conditional Stein discrepancy.

    The null hypothesis is that, given x, the rows of y are independent draws from the model; of the law
    of x nothing is assumed. The model must have been fixed before: fitted to other data, or tested
    with :class:`ParametricBootstrap`.

    Parameters
    ----------
    x
        Covariates, (n, p) or a data frame; (n,) for one. Categories are coded as numbers and compared
        by an `x_kernel` of their own.
    y
        Outcomes, (n, q) or (n,), in the order of x.
    model
        A :class:`ConditionalModel`, or a score function of (y, x).
    domain
        Where y lives; None takes the model's own, or R^q.
    operator
        The Stein operator in y, or a :class:`Conditional` with it; None takes the default of the domain.
    kernel
        The kernel in y; None takes that of the operator (on a lattice), or :class:`Gaussian` with half the
        median distance.
    x_kernel
        The kernel in x; None takes :class:`Gaussian` with half the median distance. See
        :class:`Conditional`.
    null
        Null distribution. :class:`MonteCarlo` and :class:`ParametricBootstrap` draw y anew and keep x; the
        `fit` of the latter takes one object with attributes ``x`` and ``y``.
    workers, rng, audit
        As in :func:`ksd_test`.

    Returns
    -------
    TestResult

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(0, 3, 300)
    >>> y = x**2 + rng.normal(size=300)
    >>> straight = gs.ConditionalModel.gaussian(lambda x: 3.0 * x - 1.5, 1.2)
    >>> gs.conditional_ksd_test(x, y, straight, rng=1).pvalue < 0.01
    True
    >>> parabola = gs.ConditionalModel.gaussian(lambda x: x**2, 1.0)
    >>> gs.conditional_ksd_test(x, y, parabola, rng=1).pvalue > 0.05
    True
    """
    check_workers(workers)
    check_null(null)
    seeds = draw_seeds(as_generator(rng))
    problem = compose_conditional(x, y, model, domain, operator, kernel, x_kernel, seeds[2])
    return run_test(
        problem,
        null=null,
        workers=workers,
        seeds=seeds,
        audit=audit,
        title="Kernel conditional Stein discrepancy test",
    )


def compose_conditional(
    x: ArrayLike,
    y: ArrayLike,
    model: Any,
    domain: Domain | None = None,
    operator: Operator | None = None,
    kernel: Kernel | None = None,
    x_kernel: Any = None,
    seed: int = 0,
) -> Problem:
    """Validated pairs and everything that was left out filled in."""
    wrapped = as_conditional(model)
    check_parts(domain, operator)
    pairs = Pairs(x, y)
    outcomes = pairs.outcomes
    own = wrapped.domain
    if domain is not None and own is not None and domain.dim != own.dim:
        raise InputError(
            f"`domain` {domain!r} has {domain.dim} dimensions, but {wrapped.name} has {own.dim}."
        )
    chosen = domain if domain is not None else own if own is not None else Euclidean(outcomes.shape[1])
    for region in (own, chosen) if own is not None and own != chosen else (chosen,):
        try:
            region.validate(outcomes)
        except DomainError as error:
            raise DomainError(str(error).replace("`data`", "`y`")) from None
    outer = operator if isinstance(operator, Conditional) else Conditional(operator)
    if x_kernel is not None:
        outer = replace(outer, x_kernel=x_kernel)
    inner = seeded(placed(outer.inner, wrapped, chosen), seed)
    outer = replace(outer, inner=inner)
    return Problem(pairs, wrapped.on(chosen), chosen, outer, choose_kernel(kernel, outer))
