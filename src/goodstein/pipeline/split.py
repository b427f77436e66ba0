"""Splitting a sample: some rows to choose on, the others to test on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from goodstein.data.points import Points
from goodstein.errors import InputError
from goodstein.problems.order import dependence_of
from goodstein.problems.problem import Problem

LEAST_TRAINING, LEAST_TEST = 10, 20
"""Rows below which nothing can be chosen, or a null distribution not be trusted."""


def split(
    problem: Problem, fraction: float, rng: np.random.Generator, purpose: str
) -> tuple[Problem, Problem, npt.NDArray[np.intp]]:
    """Rows to choose on and to test on, drawn at random, each in their order; and which the first are.

    Of rows that depend on each other those to choose on are the first of every sequence: rows between those
    to test on would know of them.
    """
    if not problem.data.replicated:
        raise InputError(
            f"One of {problem.data.kind} is one observation, which cannot be split.", argument="data"
        )
    n = len(problem.data)
    count = round(fraction * n)
    if count < LEAST_TRAINING or n - count < LEAST_TEST:
        raise InputError(
            f"{n} rows make {count} to {purpose} and {n - count} to test on, but at least "
            f"{LEAST_TRAINING} and {LEAST_TEST} are needed.",
            argument="data",
            remedy="Use ksd_test, which needs no split, or change `train_fraction`.",
        )
    data = problem.data
    order = rng.permutation(n)
    if (seen := dependence_of(data)).clear:
        within = np.concatenate([(np.arange(rows) + 0.5) / rows for rows in seen.sequences])
        order = np.argsort(within, kind="stable")
    first, second = np.sort(order[:count]), np.sort(order[count:])
    return problem.with_data(data.take(first)), problem.with_data(data.take(second)), first


def require_points(problem: Problem, test: str) -> None:
    """Raise where a test is for points only."""
    if not isinstance(problem.data, Points):
        raise InputError(
            f"{test} takes points, an array (n, d), not {problem.data.describe()}.",
            argument="data",
            remedy="Use ksd_test for these data.",
        )
