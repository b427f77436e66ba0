"""Counts of states of a few coordinates, by the difference operator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from goodstein.domains import Domain
from goodstein.errors import InputError
from goodstein.operators.base import Operator
from goodstein.operators.difference_form import DifferenceFeatures
from goodstein.stein.finite import FiniteFeatures
from goodstein.types import Array

MOST = 20_000
"""Features that are held for each observation."""


def count_features(
    operator: Operator, model: Any, domain: Domain, data: Any, groups: Iterable[tuple[int, ...]]
) -> FiniteFeatures:
    """The difference operator with test functions of a few coordinates: the indicators of their joint states.

    For a group of coordinates, j one of them and v a joint state, T f = α_j 1[¬_j⁻¹x = v] − β_j 1[x = v].
    """
    inner = operator.features(model, domain, data)
    if not isinstance(inner, DifferenceFeatures):
        raise InputError(f"Counts on {domain!r} need the operator Difference(), got {operator!r}.")
    chosen = list(groups)
    total = sum(len(group) * inner.levels ** len(group) for group in chosen)
    if total > MOST:
        raise InputError(
            f"There are {total} such counts, more than {MOST}. Take fewer columns, or a lower degree."
        )
    return FiniteFeatures(np.hstack([block for group in chosen for block in _blocks(inner, group)]))


def _blocks(inner: DifferenceFeatures, group: tuple[int, ...]) -> Iterable[Array]:
    levels = inner.levels
    place = levels ** np.arange(len(group))
    codes = inner.codes[:, list(group)].astype(np.intp)
    rows = np.arange(len(codes))
    for k, column in enumerate(group):
        before = codes.copy()
        before[:, k] = (before[:, k] - 1) % levels
        block = np.zeros((len(codes), levels ** len(group)))
        block[rows, before @ place] += inner.moved[:, column]
        block[rows, codes @ place] -= inner.stayed[:, column]
        yield block
