"""Which operators and kernels there are to choose from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from goodstein.auxiliary.base import BoundaryDistance
from goodstein.auxiliary.functions import BallPower, ProductOfParts
from goodstein.domains import Ball, Box, Simplex
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.kernels.base import Kernel
from goodstein.kernels.scales import at_scales
from goodstein.operators import LogRatio, Mirrored, Standardised
from goodstein.operators.base import Operator
from goodstein.problems.problem import Problem

SCALES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Bandwidths by default, in units of the operator's own."""

RATES = (0.5, 1.0, 2.0, 4.0)
"""Rates of the kernel on lattices by default."""

Pair = tuple[Operator | None, Kernel | None]
"""A candidate; None stands for all kernels of the operator, or for the operator by default."""


def as_pairs(candidates: Any, operators: Any, kernels: Any, problem: Problem) -> list[Pair]:
    """The candidates, in the order in which they were given.

    `problem` is that of the training part with everything by default.
    """
    if candidates is None:
        chosen = default_operators(problem) if operators is None else _as_list(operators, "operators")
        if not chosen:
            raise InputError("`operators` is empty: pass at least one, or None.")
        each: list[Any] = [None] if kernels is None else _as_list(kernels, "kernels")
        if not each:
            raise InputError("`kernels` is empty: pass at least one, or None.")
        return [(_as_operator(operator), _as_kernel(kernel)) for operator in chosen for kernel in each]
    if operators is not None or kernels is not None:
        raise InputError(
            "Pass either `candidates`, which are pairs of an operator and a kernel, or `operators` and "
            "`kernels`, of which every pair is tried; not both."
        )
    pairs: list[Pair] = []
    for candidate in _as_list(candidates, "candidates"):
        if not isinstance(candidate, tuple | list):
            pairs.append((_as_operator(candidate), None))
        elif len(candidate) == 2:
            pairs.append((_as_operator(candidate[0]), _as_kernel(candidate[1])))
        else:
            raise InputError(f"`candidates` must be pairs (operator, kernel), got {candidate!r}.")
    if not pairs:
        raise InputError("`candidates` is empty: pass at least one, or None.")
    return pairs


def default_operators(problem: Problem) -> list[Operator]:
    """The operator of choice and the others that suit the domain, as far as they are of one kind with it."""
    own, domain = problem.operator, problem.domain
    if getattr(own, "takes_censored", False):
        from goodstein.survival.hazard import Survival
        from goodstein.survival.martingale import Martingale

        others: list[Operator] = [Martingale(), Survival()]
    elif hasattr(own, "conditions"):
        others = _curved(domain) if not domain.flat else []
    else:
        others = _flat(domain)
    return [own, *(other for other in others if repr(other) != repr(own))]


def _flat(domain: Domain) -> list[Operator]:
    if isinstance(domain, Simplex):
        return [LogRatio(), Mirrored(), Standardised(ProductOfParts())]
    if isinstance(domain, Box) and domain.has_boundary:
        return [Mirrored(), Standardised(BoundaryDistance())]
    if isinstance(domain, Ball):
        return [Standardised(BallPower(1)), Standardised(BallPower(4))]
    return []


def _curved(domain: Domain) -> list[Operator]:
    from goodstein.operators.coordinate import Coordinate
    from goodstein.operators.second_order import SecondOrder

    return [Coordinate(), SecondOrder()]


def default_kernels(kernel: Kernel) -> list[Kernel]:
    """A kernel at several bandwidths or rates; itself if it has neither, or they are given as numbers."""
    return at_scales(kernel, SCALES, RATES)


def _as_list(values: Any, name: str) -> list[Any]:
    """One thing or several as a list."""
    if isinstance(values, str | type | np.ndarray) or not isinstance(values, Iterable):
        return [values]
    return list(values)


def _as_operator(value: Any) -> Operator | None:
    if value is None or (hasattr(value, "features") and not isinstance(value, type)):
        return value
    if hasattr(value, "evaluate") and not isinstance(value, type):
        return Standardised(value)
    raise InputError(
        f"A candidate must be an operator such as Langevin() or an auxiliary function such as "
        f"BoundaryDistance(), perhaps in a pair with a kernel; got {value!r}."
    )


def _as_kernel(value: Any) -> Kernel | None:
    if value is None or (hasattr(value, "fitted") and not isinstance(value, type)):
        return value
    raise InputError(f"`kernels` must be kernels such as IMQ() or Gaussian(bandwidth=1.0), got {value!r}.")
