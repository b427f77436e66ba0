r"""The Stein matrix of operators that weigh test functions at finitely many places around each observation.

Observation i has places z_iga with weights w_iga in each of G groups, and stands for

    ξ_i f = Σ_ga w_iga f_g(z_iga),

with a test function f_g for each group. So

    h(i, j) = Σ_g Σ_ab w_iga w_jgb k(z_iga, z_jgb),

G·a² kernel matrices a block. Counts repeat: where the places of all observations are few, the matrix of the
kernel between these has a root R, k = RRᵀ, and ξ_i is the vector of finite length Σ_a w_iga R[z_iga], so that
time and memory are linear in n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from goodstein.kernels import Kernel
from goodstein.kernels.frames import Frame, Located, spread_frame
from goodstein.lazy import cached_property
from goodstein.numerics.distances import Placed, joined_places
from goodstein.numerics.ranges import cut
from goodstein.stein.features import joined_arrays, require_finite
from goodstein.stein.forms import BlockForm, LowRankForm
from goodstein.stein.pairwise import Pairwise
from goodstein.types import Array

MOST_PLACES = 600
"""Different places up to which the root of their kernel matrix is taken, in some tens of milliseconds."""
ROUNDING = 1e-15
"""Eigenvalues of a kernel matrix that are smaller, as a share of the largest, are rounding errors."""
STRIP = 256
"""Places, by as many others, whose kernel matrix is held where only a sum is asked for."""


@dataclass(frozen=True)
class JumpFeatures(Located):
    """Points (n, m), and places (n, G, a, m) around them with their weights (n, G, a)."""

    points: Array
    places: Array
    weights: Array

    def __post_init__(self) -> None:
        require_finite("Check the model there.", {"weights": self.weights})

    def __len__(self) -> int:
        return len(self.points)

    @cached_property
    def frame(self) -> Frame:
        """Every coordinate in units of its median absolute deviation."""
        return spread_frame(self.points)

    @cached_property
    def median_distance(self) -> float:
        """The median distance between two points; of equal ones twice the longest way to a place."""
        if np.ptp(self.points, axis=0).any():
            return super().median_distance
        away = np.linalg.norm(self.places - self.points[:, None, None], axis=-1).max()
        return float(2.0 * away or 1.0)

    def joined(self, others: Sequence[Self]) -> Self:
        """These and the others, one after another."""
        return joined_arrays(self, others, ("points", "places", "weights"))

    @cached_property
    def _distinct(self) -> tuple[Array, npt.NDArray[np.intp]]:
        """The different places, (A, m), and which of them each place is, (n, G, a)."""
        flat = self.places.reshape(-1, self.places.shape[-1])
        if flat.shape[1] == 1:
            values, index = np.unique(flat[:, 0], return_inverse=True)
            values = values[:, None]
        else:
            values, index = np.unique(flat, axis=0, return_inverse=True)
        return values, index.reshape(self.weights.shape)

    def form(self, kernel: Kernel) -> BlockForm:
        """The Stein matrix under a fitted kernel."""
        pairwise = Pairwise(kernel, self.points)
        values, index = self._distinct
        groups = self.weights.shape[1]
        if len(values) <= MOST_PLACES and groups * len(values) <= 2 * len(self):
            at = pairwise.placed(values)
            size, vectors = np.linalg.eigh(pairwise(at, at))
            kept = size > ROUNDING * size[-1]
            root = vectors[:, kept] * np.sqrt(size[kept])
            tau = [
                sum(self.weights[:, g, a, None] * root[index[:, g, a]] for a in range(index.shape[2]))
                for g in range(groups)
            ]
            return LowRankForm(np.hstack(tau))
        places = [
            [pairwise.placed(self.places[:, g, a]) for a in range(index.shape[2])] for g in range(groups)
        ]
        return JumpForm(pairwise, places, self.weights)


class JumpForm(BlockForm):
    """The matrix of places, one (n, m) for each group and number, and their weights (n, G, a)."""

    def __init__(self, pairwise: Pairwise, places: Sequence[Sequence[Placed]], weights: Array) -> None:
        self._pairwise, self._places, self._weights = pairwise, places, weights

    @property
    def n(self) -> int:
        return len(self._weights)

    def take(self, index: Any) -> JumpForm:
        places = [[one[index] for one in group] for group in self._places]
        return JumpForm(self._pairwise, places, self._weights[index])

    def block(self, rows: slice, cols: slice) -> Array:
        left, right = self._weights[rows], self._weights[cols]
        out = np.zeros((len(left), len(right)))
        for g, group in enumerate(self._places):
            for a, one in enumerate(group):
                for b, other in enumerate(group):
                    gram = self._pairwise(one[rows], other[cols])
                    gram *= left[:, g, a, None]
                    gram *= right[:, g, b]
                    out += gram
        return out

    def reduced(self) -> tuple[BlockForm | None, float, float]:
        """Σ_g w_gᵀ K_g w_g over all places of a group, less those of one observation with themselves.

        Far fewer and larger matrices than blocks have; kernels in single precision, products in double.
        """
        total = 0.0
        for g, group in enumerate(self._places):
            places = joined_places(group)
            weights = self._weights[:, g].T.ravel()
            for rows in cut(0, len(places), STRIP):
                for cols in cut(rows.start, len(places), STRIP):
                    gram = self._pairwise(places[rows], places[cols], np.float32)
                    twice = 1.0 if rows == cols else 2.0
                    total += twice * float(weights[rows] @ (gram @ weights[cols]))
        return None, 0.0, total - float(self._diagonal.sum())

    def diagonal(self) -> Array:
        return self._diagonal

    @cached_property
    def _diagonal(self) -> Array:
        """From the distance of two places alone."""
        out = np.zeros(self.n)
        for g, group in enumerate(self._places):
            for a, one in enumerate(group):
                for b, other in enumerate(group):
                    values = self._pairwise.of_rows(one, other)
                    out += self._weights[:, g, a] * self._weights[:, g, b] * values
        return out
