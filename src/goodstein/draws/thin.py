"""Stein thinning: the few of many draws that stand for a posterior best."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.constraints import check_count
from goodstein.domains import Euclidean
from goodstein.domains.base import Domain
from goodstein.engine.executors import one_blas_thread
from goodstein.errors import InputError
from goodstein.kernels.base import Kernel
from goodstein.kernels.imq import IMQ
from goodstein.kernels.whitened import Whitened
from goodstein.operators.base import Operator
from goodstein.pipeline.compose import compose
from goodstein.problems.problem import Problem
from goodstein.types import ArrayLike


def thin(
    draws: ArrayLike,
    model: Any,
    size: int,
    *,
    domain: Domain | None = None,
    operator: Operator | None = None,
    kernel: Kernel | None = None,
) -> npt.NDArray[np.intp]:
    r"""The rows of few draws that have a small kernel Stein discrepancy, chosen one after the other.

    .. math:: i_m = \arg\min_i \; \tfrac12 h(x_i, x_i) + \sum_{k<m} h(x_{i_k}, x_i).

    Draws of a chain that has not arrived, or stays in one place for long, are left out by this; thinning to
    every so manieth draw keeps them in proportion. A row may be chosen more than once. Time and memory are
    those of n·size entries and of n.

    Parameters
    ----------
    draws, model, domain, operator
        As in :func:`ksd_test`; chains count one after the other.
    size
        How many rows to choose.
    kernel
        None takes on R^d the inverse multiquadric of bandwidth one, with coordinates divided by their mean
        absolute deviations, as Riabiz et al. do; elsewhere what a test would take.

    Returns
    -------
    array of int
        Numbers of the rows, (size,), in the order of the choice: the first k of them are the best k.

    References
    ----------
    Riabiz, Chen, Cockayne, Swietach, Niederer, Mackey, Oates (2022), Optimal thinning of MCMC output.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> x = np.random.default_rng(1).normal(0.5, 1.5, 400)
    >>> rows = gs.thin(x, gs.families.Normal(0, 1), 40)
    >>> bool(abs(x[rows].mean()) < 0.1), bool(0.8 < x[rows].std() < 1.2)
    (True, True)
    """
    size = check_count(size, "size")
    problem = prepared(draws, model, domain, operator, kernel)
    with one_blas_thread():
        form = problem.form
        everything = slice(0, form.n)
        # Half the squared discrepancy that each row would add; a block may be scratch that is used again.
        added = 0.5 * form.diagonal()
        chosen = np.empty(size, np.intp)
        for m in range(size):
            chosen[m] = row = int(np.argmin(added))
            added += form.block(everything, slice(row, row + 1))[:, 0]
    return chosen


def prepared(draws: Any, model: Any, domain: Domain | None, operator: Any, kernel: Any) -> Problem:
    """The discrepancy that draws are to make small."""
    problem = compose(draws, model, domain, operator, kernel)
    if not problem.data.replicated:
        raise InputError("One graph is one observation.", argument="draws", remedy="Pass many draws.")
    if kernel is not None or operator is not None or not isinstance(problem.domain, Euclidean):
        return problem
    x = problem.observations
    spreads = np.abs(x - x.mean(axis=0)).mean(axis=0)
    if not (spreads > 0).all():
        reason = f"column {int(np.argmin(spreads))} is the same in all rows."
        raise InputError(reason, argument="draws", remedy="Leave it out, or pass a `kernel`.")
    return problem.with_kernel(Whitened(IMQ(1.0), np.diag(spreads**-2.0)))
