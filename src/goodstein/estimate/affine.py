"""Scores that are affine in the parameters, as those of an exponential family are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.estimate.base import Scores
from goodstein.types import Array


@dataclass(frozen=True)
class AffineEvaluation:
    """Scores s = offset + design·θ, and the same for their derivatives."""

    score: Array
    second: Array
    design: Array
    second_design: Array

    def pullback(self, on_score: Array, on_second: Array | None, *, each: bool = False) -> Array:
        """The designs do not depend on θ: two products."""
        if each:
            rows = np.einsum("nm,nmp->np", on_score, self.design)
            if on_second is not None:
                rows = rows + np.einsum("nm,nmp->np", on_second, self.second_design)
            return np.asarray(rows)
        size = self.design.shape[2]
        total = on_score.ravel() @ self.design.reshape(-1, size)
        if on_second is not None:
            total = total + on_second.ravel() @ self.second_design.reshape(-1, size)
        return np.asarray(total)


class AffineScores(Scores):
    """s = offset + design·θ and ∂s = second_offset + second_design·θ along the sample's directions.

    Estimators then have a closed form. A subclass says what θ means, and which model it is.

    Parameters
    ----------
    names
        Names of θ, (p,).
    design, second_design
        ∂_k T_j and ∂²_k T_j of the statistics T, (n, m, p).
    offset, second_offset
        The same of the log density at θ = 0, (n, m); None where that is constant.
    """

    affine = True

    def __init__(
        self,
        names: Sequence[str],
        design: Array,
        second_design: Array,
        offset: Array | None = None,
        second_offset: Array | None = None,
    ) -> None:
        self.coordinates = tuple(names)
        self.n, directions, p = design.shape
        self.design, self.second_design = np.ascontiguousarray(design), np.ascontiguousarray(second_design)
        nothing = np.zeros((self.n, directions))
        self.offset = nothing if offset is None else offset
        self.second_offset = nothing if second_offset is None else second_offset
        self.lower, self.upper = np.full(p, -np.inf), np.full(p, np.inf)

    def starts(self, count: int, rng: np.random.Generator) -> Sequence[Array]:
        """None is needed."""
        return []

    def evaluate(self, theta: Array, rows: slice, *, second: bool = True) -> AffineEvaluation:
        """Scores at some rows."""
        design, second_design = self.design[rows], self.second_design[rows]
        return AffineEvaluation(
            self.offset[rows] + design @ theta,
            self.second_offset[rows] + second_design @ theta,
            design,
            second_design,
        )

    @abstractmethod
    def parameters(self, theta: Array) -> Mapping[str, Any]:
        """The parameters by name."""

    @abstractmethod
    def model(self, theta: Array) -> Any:
        """A model on the domain."""
