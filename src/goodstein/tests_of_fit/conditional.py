"""The test of conditional models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from goodstein.adapters.conditional import as_conditional
from goodstein.conditional.data import Paired
from goodstein.conditional.operator import Conditional
from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers
from goodstein.engine.progress import ProgressLike
from goodstein.errors import InputError
from goodstein.kernels.base import Kernel
from goodstein.nulls.base import Null
from goodstein.operators.base import Operator
from goodstein.results.result import TestResult
from goodstein.tests_of_fit.ksd import ksd_test
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
    null: Null | None = None,
    workers: Workers = None,
    rng: RNG = None,
    audit: bool = True,
    progress: ProgressLike = None,
) -> TestResult:
    """Test whether a model of y given x fits, by the kernel conditional Stein discrepancy.

    The null hypothesis is that, given x, the rows of y are independent draws from the model; of the law
    of x nothing is assumed. The model must have been fixed before, fitted to other data, or tested with
    :class:`ParametricBootstrap`; results of statsmodels know the rows that they were fitted to, and the null
    distribution takes account of the fit.

    Parameters
    ----------
    x
        Covariates, (n, p) or a data frame; (n,) for one. Categories are coded as numbers and compared
        by an `x_kernel` of their own.
    y
        Outcomes, (n, q) or (n,), in the order of x.
    model
        A :class:`ConditionalModel`, a score function of (y, x), or the results of a regression of counts of
        statsmodels: `GLM` of the families Poisson and negative binomial, `Poisson`, `NegativeBinomial`,
        `NegativeBinomialP`, and the two with extra zeros. :meth:`Paired.of_fit` has the x and y of these.
    domain
        Where y lives; None takes the model's own, or R^q.
    operator
        The Stein operator in y, a :class:`Conditional` with it, or a view such as :class:`Residuals`; None
        takes the default of the domain.
    kernel
        The kernel in y; None takes that of the operator (on a lattice), or :class:`Gaussian` with half the
        median distance.
    x_kernel
        The kernel in x; None takes :class:`Gaussian` with half the median distance, each covariate in units
        of its spread. See :class:`Conditional`.
    null
        Null distribution. :class:`MonteCarlo` and :class:`ParametricBootstrap` draw y anew and keep x; the
        `fit` of the latter takes one object with attributes ``x`` and ``y``.
    workers, rng, audit, progress
        As in :func:`ksd_test`.

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
    whole = getattr(operator, "takes", None) is Paired
    outer: Any = operator if whole else Conditional(operator)
    if x_kernel is not None and not isinstance(outer, Conditional):
        raise InputError(f"`x_kernel` has no place beside {operator!r}, which has no kernel. Leave it out.")
    return ksd_test(
        Paired(x, y),
        as_conditional(model),
        domain=domain,
        operator=outer if x_kernel is None else replace(outer, x_kernel=x_kernel),
        kernel=kernel,
        null=null,
        workers=workers,
        rng=rng,
        audit=audit,
        progress=progress,
    )
