"""Counts of states of a few coordinates, by the difference operator."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.domains import Domain
from goodstein.errors import InputError
from goodstein.lazy import cached_property
from goodstein.operators.base import Operator, features_of
from goodstein.operators.difference_form import DifferenceFeatures
from goodstein.stein.finite import FiniteFeatures
from goodstein.stein.forms import LowRankForm
from goodstein.types import Array

Places = npt.NDArray[np.intp]

MOST = 20_000
"""Features that are held for each observation."""


def count_features(
    operator: Operator, model: Any, domain: Domain, data: Any, groups: Iterable[tuple[int, ...]]
) -> FiniteFeatures:
    """The difference operator with test functions of a few coordinates: the indicators of their joint states.

    For a group of coordinates, j one of them and v a joint state, T f = α_j 1[¬_j⁻¹x = v] − β_j 1[x = v].
    """
    inner = features_of(operator, model, domain, data)
    if not isinstance(inner, DifferenceFeatures):
        raise InputError(f"Counts on {domain!r} need the operator Difference(), got {operator!r}.")
    return counted(inner, groups)


def counted(inner: DifferenceFeatures, groups: Iterable[tuple[int, ...]]) -> FiniteFeatures:
    """The same from features of the difference operator."""
    chosen = list(groups)
    total = sum(len(group) * inner.levels ** len(group) for group in chosen)
    if total > MOST:
        raise InputError(
            f"There are {total} such counts, more than {MOST}. Take fewer columns, or a lower degree."
        )
    here, there = _single(inner)
    # Groups of one size at once: of single samples calls take longer than the work.
    blocks = [_blocks(here, there, np.array(list(some))) for _, some in groupby(chosen, len)]
    return FiniteFeatures(np.hstack(blocks))


def _single(inner: DifferenceFeatures) -> tuple[Array, Array]:
    """1[x_i = v], and α_i 1[¬⁻¹x_i = v] − β_i 1[x_i = v], both (n, d, L)."""
    here = (inner.codes[:, :, None] == np.arange(inner.levels)).astype(np.float64)
    there = inner.moved[:, :, None] * np.roll(here, -1, axis=2)
    there -= inner.stayed[:, :, None] * here
    return here, there


def _blocks(here: Array, there: Array, groups: Places) -> Array:
    """All functions of groups of so many coordinates each, (n, groups · coordinates · joint states)."""
    n, _, levels = here.shape
    count, size = groups.shape
    out = np.empty((n, count, size, levels**size))
    for k in range(size):
        parts = [(there if j == k else here)[:, columns] for j, columns in enumerate(groups.T)]
        block = parts[0]
        for part in parts[1:]:  # the state of the first coordinate runs fastest
            block = (part[:, :, :, None] * block[:, :, None, :]).reshape(n, count, -1)
        out[:, :, k] = block
    return out.reshape(n, -1)


class CountsStack:
    """Counts of all single coordinates, or of all pairs, of several samples."""

    def __init__(self, inner: DifferenceFeatures, degree: int) -> None:
        self._inner, self._degree = inner, degree

    def form(self, kernel: Any) -> CountsForm:
        """τ τᵀ, whatever the kernel is."""
        return CountsForm(self._inner, self._degree)


class CountsForm(LowRankForm):
    """Their matrix τ τᵀ, of whose sums those over pairs need no τ.

    The sums of τ over observations are those of products of what a coordinate and another are in. What a
    pair has of the operator at its first coordinate has the squares of that alone.
    """

    def __init__(self, inner: DifferenceFeatures, degree: int) -> None:
        self._inner, self._degree = inner, degree
        self._here, self._there = _single(inner)

    @property
    def n(self) -> int:
        return len(self._here)

    @cached_property
    def tau(self) -> Array:
        """All of its functions at once, where somebody asks for them."""
        d = self._here.shape[1]
        return counted(self._inner, combinations(range(d), self._degree)).tau

    def sums(self, count: int) -> tuple[Array, Array]:
        d, levels = self._here.shape[1:]
        here, there = (part.reshape(count, -1, d * levels) for part in (self._here, self._there))
        squares = np.einsum("kia,kia->k", there, there)
        if self._degree == 1:
            return there.sum(axis=1), squares
        pairs = (there.swapaxes(1, 2) @ here).reshape(count, d, levels, d, levels)
        apart = ~np.eye(d, dtype=bool)
        return pairs.swapaxes(2, 3)[:, apart].reshape(count, -1), (d - 1) * squares
