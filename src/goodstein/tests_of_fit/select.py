"""The function that users call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from goodstein.auxiliary.criterion import power_criterion
from goodstein.auxiliary.training import TrainingRows
from goodstein.domains.base import Domain
from goodstein.errors import InputError, SteinIdentityError
from goodstein.kernels.base import Kernel
from goodstein.operators.base import Operator
from goodstein.pipeline.compose import as_generator, choose_kernel, compose
from goodstein.pipeline.run import draw_seeds, quick_audit
from goodstein.problems.problem import Problem
from goodstein.results.selection import Candidate, Selection
from goodstein.survival.data import Censored
from goodstein.tests_of_fit.candidates import as_pairs, default_kernels
from goodstein.tests_of_fit.chosen import Chosen
from goodstein.types import RNG, ArrayLike

LEAST_TRAINING, LEAST_TEST = 10, 20
"""Rows below which nothing can be chosen, or the bootstrap not be trusted."""


def select(
    data: ArrayLike,
    model: Any,
    candidates: Sequence[Any] | None = None,
    *,
    domain: Domain | None = None,
    operators: Sequence[Any] | None = None,
    kernels: Sequence[Kernel] | None = None,
    train_fraction: float = 0.3,
    rng: RNG = None,
    audit: bool = True,
) -> Selection:
    r"""Choose operator, auxiliary function, kernel and bandwidth on a part of the data, to test on the rest.

    Chosen is what maximises the power criterion

    .. math:: U / (\hat σ + 10^{-4}\,\mathrm{rms}\,h), \qquad
        \hat σ = 2 \cdot \text{standard deviation of the row means of } H,

    over the candidates, on rows drawn at random. Under an alternative √n(U − KSD²) is asymptotically normal
    with standard deviation σ (the factor 2 included), so that for large n the criterion orders tests by
    their power. What is chosen is fixed, its bandwidth a number, and tested on the other rows, so the
    test keeps its level whatever was tried.

    Parameters
    ----------
    data, model, domain
        As in :func:`ksd_test`; points or right-censored durations.
    candidates
        Pairs of an operator and a kernel; an auxiliary function g stands for ``Standardised(g)``. Without a
        kernel, an operator is tried at several bandwidths.
    operators, kernels
        Instead of `candidates`: every operator with every kernel. Without `operators`, those of the library
        that suit the domain; without `kernels`, each operator's own at 1/8, 1/4, 1/2, 1, 2 and 4 times its
        own bandwidth (on lattices :class:`Hamming` with rates ½, 1, 2 and 4).
    train_fraction
        Share of the rows on which is chosen. These rows are not tested.
    rng
        Seed or generator of the split.
    audit
        Whether candidates that cannot keep their level are dropped. They are listed with the
        reason, as are those that cannot be evaluated on these data.

    Returns
    -------
    Selection
        Print it for the table of candidates; ``.test(rng=...)`` tests.

    Raises
    ------
    SteinIdentityError
        If no candidate is valid.

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
    _check_fraction(train_fraction)
    generator = as_generator(rng)
    seeds = draw_seeds(generator)
    # Something that can be asked without an operator: domain, model and data are what is validated here.
    first = _first_operator(candidates, operators)
    problem = compose(data, model, domain, first, None, seeds[2])
    rows = _checked_rows(problem.data)
    train, test = _split(len(rows), train_fraction, np.random.default_rng(seeds[1]))
    part = problem.with_data(_taken(rows, train))
    pairs = as_pairs(candidates, operators, kernels, part)
    found: list[Candidate] = []
    for operator, kernel in pairs:
        found += _evaluated(operator, kernel, part, model, domain, seeds, audit)
    ranked = sorted(found, key=lambda c: (c.dropped is not None, -c.criterion if c.dropped is None else 0.0))
    best = ranked[0]
    if best.dropped is not None or best.kernel is None:
        reasons = "; ".join(f"{c.operator!r}: {c.dropped}" for c in ranked[:3])
        raise SteinIdentityError(f"None of the {len(ranked)} candidates can be used. {reasons}")
    training = TrainingRows(part.data, discrete=hasattr(problem.domain, "levels"), whole=rows)
    return Selection(
        operator=Chosen(best.operator, training),
        kernel=best.kernel,
        candidates=tuple(ranked),
        n_train=len(train),
        n_test=len(test),
        train=train,
        model=model,
        domain=domain,
        training=training,
        rest=_taken(rows, test),
        fitted_to_data=bool(getattr(problem.model, "was_fitted_to", lambda data: False)(rows)),
        title=f"Selection for {problem.model.name} on {problem.domain!r}",
    )


def _evaluated(
    operator: Operator | None,
    kernel: Kernel | None,
    part: Problem,
    model: Any,
    domain: Domain | None,
    seeds: tuple[int, int, int],
    audit: bool,
) -> list[Candidate]:
    """The criterion of an operator with one kernel, or with its own at several bandwidths."""
    nothing = (math.nan, math.nan, math.nan)
    shown: Any = operator if operator is not None else part.operator
    try:
        problem = compose(part.data, model, domain, operator, kernel, seeds[2])
        report = quick_audit(problem, np.random.default_rng(seeds[0]))
        if audit and not report.valid:
            return [Candidate(shown, kernel, *nothing, dropped=" ".join(report.messages("fail")))]
        fixed, features = problem.fitted_operator, problem.features
    except InputError as error:
        return [Candidate(shown, kernel, *nothing, dropped=str(error))]
    found = []
    each = [kernel] if kernel is not None else default_kernels(choose_kernel(None, problem.operator))
    for wanted in each:
        try:
            width = wanted.fitted(features.points)
            with np.errstate(over="ignore", invalid="ignore"):
                result = power_criterion(features.form(width))
            if not math.isfinite(result.value):
                raise InputError("The Stein matrix is not finite.")
            found.append(Candidate(fixed, width, result.u, result.sigma, result.value))
        except InputError as error:
            found.append(Candidate(fixed, wanted, *nothing, dropped=str(error)))
    return found


def _first_operator(candidates: Any, operators: Any) -> Any:
    """An operator that says of what kind the data are: that of durations takes no points."""
    given = candidates if candidates is not None else operators
    for candidate in given if isinstance(given, list | tuple) else [given]:
        operator = candidate[0] if isinstance(candidate, tuple | list) and candidate else candidate
        if getattr(operator, "takes_censored", False):
            return operator
    return None


def _checked_rows(data: Any) -> Any:
    if isinstance(data, np.ndarray | Censored):
        return data
    raise InputError(f"`data`: select takes points or durations, got {type(data).__name__}.")


def _taken(data: Any, index: np.ndarray[Any, np.dtype[np.intp]]) -> Any:
    return data.take(index) if isinstance(data, Censored) else data[index]


def _split(n: int, fraction: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """Rows to choose on and rows to test on, drawn at random, each in their order."""
    count = round(fraction * n)
    if count < LEAST_TRAINING or n - count < LEAST_TEST:
        raise InputError(
            f"`data`: {n} rows make {count} to choose on and {n - count} to test on, but at least "
            f"{LEAST_TRAINING} and {LEAST_TEST} are needed. Use ksd_test, which needs no split, or change "
            "`train_fraction`."
        )
    order = rng.permutation(n)
    return np.sort(order[:count]), np.sort(order[count:])


def _check_fraction(fraction: Any) -> None:
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0.0 < fraction < 1.0:
        raise InputError(f"`train_fraction` must be a number between 0 and 1, got {fraction!r}.")
