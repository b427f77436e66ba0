"""From what a user hands in to a :class:`~goodstein.problems.problem.Problem`."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from goodstein.data.named import named_draws
from goodstein.data.weights import Weighted
from goodstein.domains.base import Domain
from goodstein.domains.regions import as_domain
from goodstein.engine.executors import one_blas_thread
from goodstein.errors import InputError
from goodstein.foreign import contents
from goodstein.kernels.base import Kernel, as_kernel
from goodstein.kernels.imq import IMQ
from goodstein.kernels.own import check_profiles
from goodstein.kernels.whitened import Whitened
from goodstein.operators.base import Operator, OwnOperator, as_operator
from goodstein.pipeline.kinds import is_swapped, kind_of
from goodstein.problems.problem import Problem
from goodstein.validation import draw_seed

Seeds: TypeAlias = tuple[int, int, int]
"""Of the audit's probes, of the null distribution and of the operator, in this order."""


def draw_seeds(generator: np.random.Generator) -> Seeds:
    """The three seeds of one test."""
    return draw_seed(generator), draw_seed(generator), draw_seed(generator)


def compose(
    data: Any,
    model: Any,
    domain: Domain | None = None,
    operator: Any = None,
    kernel: Any = None,
    seeds: Seeds = (0, 0, 0),
    *,
    without_data: bool = False,
    weighted: bool = False,
) -> Problem:
    """Validated data and everything that was left out filled in.

    For an audit it may be the problem of a model that says by itself where it lives, without data. Only what
    is valid for `weighted` rows takes them.
    """
    domain = check_domain(domain)
    weights = data.weights if isinstance(data, Weighted) else None
    data = data.data if isinstance(data, Weighted) else data
    if data is None and (not without_data or weights is not None):
        raise InputError("is None. Pass the observations.", argument="data", predicate=True)
    if is_swapped(data, model):
        data, model = model, data
    named = named_draws(data)
    data = contents(data) if named is None else named
    given = None if operator is None else as_operator(operator)
    arranged = kind_of(data, model, given)(data, model, domain, given)
    observed, wrapped, place = arranged.data, arranged.model, arranged.domain
    if weights is not None:
        observed = observed.weighted(weights)
    if observed is not None and observed.weights is not None and not weighted:
        reason = "The rows are weighted, for which this is not known to be valid."
        raise InputError(reason, argument="data", remedy="Use ksd_test, aggregated_test or check.")
    placed = as_operator(arranged.operator)
    if place is not None:
        placed = placed.on(place)
    placed = placed.seeded(seeds[2])
    chosen = choose_kernel(arranged.kernel if kernel is None else kernel, placed, place)
    if observed is not None:
        observed = observed.prepared(wrapped, seeds)
        with one_blas_thread():
            wrapped = placed.null_model(wrapped, observed.observations)
    return Problem(observed, wrapped, place, placed, chosen, arranged.adopt)


def check_domain(domain: Any) -> Domain | None:
    """The domain, if there is one; raises where it is something else."""
    return None if domain is None else as_domain(domain, "a domain such as Box(0, 1) or Simplex(3)")


def choose_kernel(kernel: Any, operator: Operator, domain: Domain | None = None) -> Kernel:
    """The user's kernel, or the operator's default, or the library's, on a domain in its units."""
    own = operator.default_kernel() if kernel is None else kernel
    if own is None:
        return in_units(IMQ(), domain)
    chosen = operator.adapted(as_kernel(own))
    check_profiles(chosen)
    ours = kernel is None and not isinstance(operator, OwnOperator)
    return in_units(chosen, domain) if ours else chosen


def in_units(kernel: Kernel, domain: Domain | None) -> Kernel:
    """A kernel of the library's choice, such that units of the coordinates do not count where they differ."""
    mixed = domain is not None and domain.mixed_units and domain.dim > 1
    return Whitened(kernel, metric="score") if mixed and kernel.radial else kernel
