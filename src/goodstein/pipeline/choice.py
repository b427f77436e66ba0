"""Which null distribution is used where a user names none: the one place that decides."""

from __future__ import annotations

from typing import Any

from goodstein.errors import InputError
from goodstein.nulls.base import Null, as_null
from goodstein.nulls.fitted import FittedWildBootstrap
from goodstein.nulls.montecarlo import MonteCarlo
from goodstein.nulls.wild import WildBootstrap
from goodstein.problems.problem import Problem


def choose_null(null: Any, problem: Problem, n_resamples: int = 999) -> Null:
    """The user's null method, or the library's.

    By these rules, of which the first that applies decides: what the user names is taken as it is; one
    observation alone has to be simulated; a model that knows that it was fitted to these very data, and how,
    gets the wild bootstrap that takes account of it; otherwise the wild bootstrap.
    """
    replicated = problem.data.replicated
    if null is None:
        if not replicated:
            return MonteCarlo(199)
        return FittedWildBootstrap.where_known(problem, n_resamples) or WildBootstrap(n_resamples)
    chosen = as_null(null)
    if not replicated and not chosen.simulates:
        raise InputError(
            f"One graph is one observation, so its null distribution has to be simulated: `null` must be "
            f"MonteCarlo() or ParametricBootstrap(fit), got {null!r}."
        )
    return chosen
