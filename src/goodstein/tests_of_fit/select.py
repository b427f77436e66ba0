"""Choosing operator, auxiliary function and kernel on a part of the data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from goodstein.auxiliary.base import BoundaryDistance, as_auxiliary
from goodstein.auxiliary.criterion import power_criterion
from goodstein.auxiliary.functions import BallPower, ProductOfParts
from goodstein.constraints import check_flag, check_share
from goodstein.data.base import Data
from goodstein.data.points import Points
from goodstein.data.rows import SeenRows
from goodstein.domains import Ball, Box, Domain, Simplex
from goodstein.engine.executors import one_blas_thread
from goodstein.engine.progress import ProgressLike, begin, unwatched, watching
from goodstein.errors import InputError, SteinIdentityError
from goodstein.kernels.base import Kernel, as_kernel
from goodstein.kernels.whitened import Whitened
from goodstein.operators import Coordinate, Langevin, LogRatio, Mirrored, SecondOrder, Standardised
from goodstein.operators.base import Operator, as_operator
from goodstein.pipeline.audit import quick_audit
from goodstein.pipeline.compose import Seeds, compose, draw_seeds
from goodstein.pipeline.split import split
from goodstein.problems.problem import Problem
from goodstein.survival.data import Censored
from goodstein.survival.hazard import Survival
from goodstein.survival.martingale import Martingale
from goodstein.tests_of_fit.selection import Candidate, Chosen, Selection
from goodstein.types import RNG, ArrayLike
from goodstein.validation import as_generator


def select(
    data: ArrayLike,
    model: Any,
    *,
    domain: Domain | None = None,
    operators: Sequence[Any] | None = None,
    kernels: Sequence[Kernel] | None = None,
    train_fraction: float = 0.3,
    rng: RNG = None,
    audit: bool = True,
    progress: ProgressLike = None,
) -> Selection:
    r"""Choose operator, auxiliary function, kernel and bandwidth on a part of the data, to test on the rest.

    Chosen is what maximises the power criterion

    .. math:: U / (\hat σ + 10^{-4}\,\mathrm{rms}\,h), \qquad
        \hat σ = 2 \cdot \text{standard deviation of the row means of } H,

    over operators and kernels, on rows drawn at random. Under an alternative √n(U − KSD²) is asymptotically
    normal with standard deviation σ, so that for large n the criterion orders tests by their power. What is
    chosen is fixed and tested on the other rows, so the test keeps its level whatever was tried.

    Parameters
    ----------
    data, model, domain
        As in :func:`ksd_test`; points or right-censored durations.
    operators, kernels
        Candidates are all operators with all kernels; an auxiliary function g stands for
        ``Standardised(g)``. Without `operators`, those of the library that suit the domain; without
        `kernels`, each operator's own at 1/8, 1/4, 1/2, 1, 2 and 4 times its own bandwidth (on lattices
        :class:`Hamming` with rates ½, 1, 2 and 4).
    train_fraction
        Share of the rows on which is chosen. These rows are not tested.
    rng
        Seed or generator of the split.
    audit
        Whether candidates that cannot keep their level are dropped. They are listed with the
        reason, as are those that cannot be evaluated on these data.
    progress
        As in :func:`ksd_test`.

    Returns
    -------
    Selection
        Print it for the table of candidates; ``.test(rng=...)`` tests. If no candidate is valid,
        :class:`SteinIdentityError` is raised.

    Notes
    -----
    A split costs power: where one bandwidth is about right, :func:`ksd_test` on all rows has more. It pays
    where the right scale is far from the median distance. :func:`aggregated_test` needs no split.

    References
    ----------
    Jitkrittum, Xu, Szabó, Fukumizu, Gretton (2017), A linear-time kernel goodness-of-fit test.
    Sutherland, Tung, Strathmann, De, Ramdas, Smola, Gretton (2017), Generative models and model criticism
    via optimized maximum mean discrepancy.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> rng = np.random.default_rng(1)
    >>> x = np.where(rng.random(400) < 0.5, -1, 1) + 0.3 * rng.standard_normal(400)
    >>> selection = gs.select(x, gs.families.Normal(0.0, 1.09), rng=1)
    >>> selection.n_train, selection.n_test
    (120, 280)
    >>> selection.test(rng=1).pvalue < 0.01
    True
    """
    watch = watching(progress, "Selecting")
    check_share(train_fraction, "train_fraction")
    check_flag(audit, "audit")
    generator = as_generator(rng)
    seeds = draw_seeds(generator)
    # Something that can be asked without an operator: domain, model and data are what is validated here.
    first = _first_operator(operators)
    problem = compose(data, model, domain, first, None, seeds)
    part, rest, train = split(problem, train_fraction, np.random.default_rng(seeds[1]), "choose on")
    chosen = default_operators(part) if operators is None else _as_list(operators, "operators")
    each: list[Any] = [None] if kernels is None else _as_list(kernels, "kernels")
    pairs = [(_as_operator(operator), _as_kernel(kernel)) for operator in chosen for kernel in each]
    found: list[Candidate] = []
    with watch:
        finished = begin(len(pairs))
        for operator, kernel in pairs:
            with unwatched():
                found += _evaluated(operator, kernel, part, problem.data, model, domain, seeds, audit)
            finished(1)
    ranked = sorted(found, key=lambda c: (c.dropped is not None, -c.criterion if c.dropped is None else 0.0))
    best = ranked[0]
    if best.dropped is not None or best.kernel is None:
        reasons = "; ".join(f"{c.operator!r}: {c.dropped}" for c in ranked[:3])
        raise SteinIdentityError(f"None of the {len(ranked)} candidates can be used. {reasons}")
    observations = problem.observations
    discrete = problem.domain is not None and problem.domain.discrete
    training = SeenRows(part.observations, discrete=discrete, whole=observations)
    return Selection(
        operator=Chosen(best.operator, training),
        kernel=best.kernel,
        candidates=tuple(ranked),
        n_train=len(part.data),
        n_test=len(rest.data),
        train=train,
        model=model,
        domain=domain,
        training=training,
        rest=rest.data,
        title=f"Selection for {problem.model.name} on {problem.domain!r}",
    )


def _evaluated(
    operator: Operator | None,
    kernel: Kernel | None,
    part: Problem,
    whole: Data,
    model: Any,
    domain: Domain | None,
    seeds: Seeds,
    audit: bool,
) -> list[Candidate]:
    """The criterion of an operator with one kernel, or with its own at several bandwidths.

    The metric comes from all rows, as in other tests: a few are not enough to learn correlations from.
    """
    nothing = (math.nan, math.nan, math.nan)
    shown: Any = operator if operator is not None else part.operator
    try:
        problem = compose(part.data, model, domain, operator, kernel, seeds)
        report = quick_audit(problem, np.random.default_rng(seeds[0]))
        if audit and not report.valid:
            return [Candidate(shown, kernel, *nothing, dropped=" ".join(report.messages("fail")))]
        fixed, features = problem.fitted_operator, problem.features
        each = [kernel] if kernel is not None else default_kernels(problem.kernel)
        if any(isinstance(one, Whitened) and one.frame is None for one in each):
            seen = compose(whole, model, domain, operator, kernel, seeds).features
            each = [one.in_metric_of(seen) for one in each]
    except InputError as error:
        return [Candidate(shown, kernel, *nothing, dropped=str(error))]
    found = []
    for wanted in each:
        try:
            with np.errstate(over="ignore", invalid="ignore"), one_blas_thread():
                width = wanted.fitted_to(features)
                result = power_criterion(features.form(width))
            if not math.isfinite(result.value):
                raise InputError("The Stein matrix is not finite.")
            found.append(Candidate(fixed, width, result.u, result.sigma, result.value))
        except InputError as error:
            found.append(Candidate(fixed, wanted, *nothing, dropped=str(error)))
    return found


def _first_operator(operators: Any) -> Any:
    """An operator that says of what kind the data are: that of durations takes no points."""
    for operator in operators if isinstance(operators, list | tuple) else [operators]:
        if isinstance(operator, Operator) and operator.takes is not Points:
            return operator
    return None


SCALES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Bandwidths by default, in units of the operator's own."""

RATES = (0.5, 1.0, 2.0, 4.0)
"""Rates of the kernel on lattices by default."""


def default_operators(problem: Problem) -> list[Operator]:
    """The operator of choice and the others that suit the domain, as far as they are of one kind with it."""
    own, domain = problem.operator, problem.domain
    others: list[Operator] = []
    if isinstance(problem.data, Censored):
        others = [Martingale(), Survival()]
    elif isinstance(problem.data, Points):
        others = _flat(own, domain) if domain.flat else [Coordinate(), SecondOrder()]
    return [own, *(other for other in others if repr(other) != repr(own))]


def _flat(own: Operator, domain: Domain) -> list[Operator]:
    if not isinstance(own, Langevin | LogRatio | Standardised):
        return []
    if isinstance(domain, Simplex):
        return [LogRatio(), Mirrored(), Standardised(ProductOfParts())]
    if isinstance(domain, Box) and domain.has_boundary:
        # The nearest side of several is a matter of units.
        return [Mirrored(), *([Standardised(BoundaryDistance())] if domain.dim == 1 else [])]
    if isinstance(domain, Ball):
        return [Standardised(BallPower(1)), Standardised(BallPower(4))]
    return []


def default_kernels(kernel: Kernel) -> list[Kernel]:
    """A kernel at several bandwidths or rates; itself if it has neither, or they are given as numbers."""
    return kernel.at_scales(SCALES, RATES)


def _as_list(values: Any, name: str) -> list[Any]:
    """One thing or several as a list, which must not be empty."""
    several = isinstance(values, Iterable) and not isinstance(values, str | type)
    found = list(values) if several and not hasattr(values, "ndim") else [values]
    if not found:
        raise InputError(f"`{name}` is empty: pass at least one, or None.")
    return found


def _as_operator(value: Any) -> Operator | None:
    if value is None:
        return None
    if callable(getattr(value, "features", None)) and not isinstance(value, type):
        return as_operator(value)
    wanted = (
        "A candidate must be an operator such as Langevin() or an auxiliary function such as "
        "BoundaryDistance()"
    )
    return Standardised(as_auxiliary(value, wanted))


def _as_kernel(value: Any) -> Kernel | None:
    return None if value is None else as_kernel(value, "kernels")
