"""What a family of models is to an estimator: scores at the data, as a function of parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.auxiliary.base import Auxiliary, BoundaryDistance
from goodstein.domains.base import Domain
from goodstein.domains.euclidean import Euclidean
from goodstein.errors import DomainError, InputError, must
from goodstein.families import Truncated
from goodstein.types import Array, BoolArray

AT_BOUND = 1e-6
"""A coordinate counts as at its bound within this share of the distance between both, or of one unit."""


@dataclass(frozen=True)
class Sample:
    """Validated data (n, d), all of them in the domain."""

    data: Array
    domain: Domain
    axes: bool = False
    """Whether derivatives are taken along the axes of R^d even where the domain is a hyperplane."""

    def __len__(self) -> int:
        return len(self.data)

    @property
    def directions(self) -> Array:
        """Orthonormal rows (m, d) along which derivatives are taken: those of the tangent space."""
        basis = self.domain.basis
        return np.eye(self.domain.dim) if basis is None or self.axes else basis


class Evaluation(ABC):
    """Scores at some rows for one value of the parameters, and how they change with it."""

    score: Array
    """∂_k log q along every direction k of the sample, (n, m)."""
    second: Array
    """∂²_k log q along every direction, (n, m); their sum is the divergence of the score."""

    @abstractmethod
    def pullback(self, on_score: Array, on_second: Array | None, *, each: bool = False) -> Array:
        """Gradient in θ of Σ_k on_score·score + on_second·second: (n, p) for each row, (p,) summed."""


class Scores(ABC):
    """A family at given data: what an estimator asks of it.

    Parameters are searched in coordinates θ (p,) of the family's own choice, free or in a box, and
    reported as :meth:`parameters`, in the units of the data.
    """

    n: int
    """Number of rows."""
    coordinates: tuple[str, ...]
    """Names of the coordinates θ, (p,): those of the parameters that they determine."""
    lower: Array
    upper: Array
    """Bounds of the coordinates, (p,), infinite where there are none."""
    units: Array | None = None
    """Moves in the coordinates that matter to the search, (p,); None where all are of size one."""
    bounded: bool = False
    """Whether the score is known to stay bounded at the boundary of the domain, whatever θ is."""
    summed_only: bool = False
    """Whether of the second derivatives only the sum over all directions is known."""
    block: int = 1 << 30
    """How many rows to evaluate at once."""

    @abstractmethod
    def starts(self, count: int, rng: np.random.Generator) -> Sequence[Array]:
        """Where to begin the search: at most `count` values of θ."""

    @abstractmethod
    def evaluate(self, theta: Array, rows: slice, *, second: bool = True) -> Evaluation:
        """Scores at some rows; without their derivatives where these are not needed."""

    @abstractmethod
    def parameters(self, theta: Array) -> Mapping[str, Any]:
        """The parameters by name, numbers or arrays, in the units of the data."""

    @abstractmethod
    def model(self, theta: Array) -> Any:
        """A model on the domain, in any form that :func:`goodstein.as_model` takes."""

    @property
    def size(self) -> int:
        """Number of coordinates, p."""
        return len(self.coordinates)

    def canonical(self, theta: Array) -> Array:
        """The same model in its documented form, where several θ stand for one model."""
        return theta

    def fixed(self, theta: Array) -> BoolArray:
        """Which coordinates are at a bound, (p,)."""
        width = self.upper - self.lower
        room = AT_BOUND * np.where(np.isfinite(width), width, 1.0)
        return np.asarray((theta - self.lower <= room) | (self.upper - theta <= room))

    def settle(self, theta: Array) -> bool:
        """Adapt what is numerical to where the search has come; whether anything has changed much."""
        return False

    def steps(self, theta: Array) -> Array:
        """Steps for numerical derivatives in θ, (p,)."""
        return np.full(self.size, 1e-5)

    def notes(self, theta: Array) -> list[str]:
        """What a reader of the fit should know."""
        return []

    def row_blocks(self) -> list[slice]:
        """Slices that cover all rows."""
        return [slice(i, min(i + self.block, self.n)) for i in range(0, self.n, self.block)]


class ModelFamily(ABC):
    """A family of models that an estimator can fit: :meth:`scores`, and what it takes unless told otherwise.

    An object of your own with a method ``scores`` can be passed as `family` too, and any of the others
    with it; so can one with an attribute ``start`` and a method ``score(x, theta)`` or
    ``log_density(x, theta)``, which is then taken as a :class:`Parametric` family.
    """

    ambient: bool = False
    """Whether the score has a formula in all coordinates of a simplex; :class:`MinimumStein` then uses these,
    because combinations of them lose digits next to a face."""

    @abstractmethod
    def scores(self, sample: Sample) -> Scores:
        """The family at these data."""

    def default_domain(self, d: int) -> Domain:
        """Where the family lives if the user names no domain."""
        return Euclidean(d)

    def default_auxiliary(self, domain: Domain) -> Auxiliary:
        """The weight of truncated score matching."""
        return BoundaryDistance()


def require_full(sample: Sample, name: str) -> None:
    """Raise where the data lie in a hyperplane, on which a density of R^d has superfluous parameters."""
    if sample.domain.basis is not None:
        raise DomainError(
            f"{name} is a family on R^d, and rows of {sample.domain!r} lie in a hyperplane of it, where its "
            "parameters are not determined. Use AnyDirichlet(), or ExponentialFamily or Parametric with as "
            "many parameters as the simplex has."
        )


def restricted(distribution: Any, domain: Domain) -> Any:
    """The distribution on the domain; raises where that goes beyond its own."""
    return distribution if distribution.domain == domain else Truncated(distribution, domain)


def as_names(names: Sequence[str], family: str) -> tuple[str, ...]:
    """Names of parameters, all of them different."""
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise must("names", "a list of strings, one for each parameter", names, family)
    found = tuple(names)
    twice = [name for i, name in enumerate(found) if name in found[:i]]
    if twice:
        raise InputError(f"`names` of {family} has {twice[0]!r} twice. Give every parameter its own name.")
    return found


def by_name(names: Sequence[str] | None, theta: Array) -> dict[str, Any]:
    """Parameters by their names, or without names as one vector."""
    if names is None:
        return {"theta": theta.copy()}
    return dict(zip(names, map(float, theta), strict=True))


@dataclass(frozen=True)
class AffineEvaluation(Evaluation):
    """Scores s = offset + design·θ, and the same for their derivatives."""

    score: Array
    second: Array
    design: Array
    second_design: Array

    def pullback(self, on_score: Array, on_second: Array | None, *, each: bool = False) -> Array:
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

    Estimators then have a closed form. The designs are ∂_k T_j and ∂²_k T_j of the statistics
    T, (n, m, p); the offsets those of the log density at θ = 0, (n, m), None where that is constant.
    """

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
        return []

    def evaluate(self, theta: Array, rows: slice, *, second: bool = True) -> AffineEvaluation:
        first, second_design = self.design[rows], self.second_design[rows]
        score, change = self.offset[rows] + first @ theta, self.second_offset[rows] + second_design @ theta
        return AffineEvaluation(score, change, first, second_design)
