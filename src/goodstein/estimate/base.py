"""What a family of models is to an estimator: scores at the data, as a function of parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from goodstein.domains.base import Domain
from goodstein.domains.euclidean import Euclidean
from goodstein.domains.lattice import Lattice
from goodstein.errors import DomainError, InputError
from goodstein.types import Array, BoolArray
from goodstein.validation import as_data

AT_BOUND = 1e-6
"""A coordinate counts as at its bound within this share of the distance between both, or of one unit."""


@dataclass(frozen=True)
class Sample:
    """Validated data on a domain.

    Attributes
    ----------
    data
        Observations, (n, d), all of them in the domain.
    domain
        Where they live.
    axes
        Whether derivatives are taken along the axes of R^d even where the domain is a hyperplane.
    """

    data: Array
    domain: Domain
    axes: bool = False

    def __len__(self) -> int:
        return len(self.data)

    @property
    def directions(self) -> Array:
        """Orthonormal rows (m, d) along which derivatives are taken: those of the tangent space."""
        basis = self.domain.basis
        return np.eye(self.domain.dim) if basis is None or self.axes else basis


class Evaluation(Protocol):
    """Scores at some rows for one value of the parameters, and how they change with it."""

    @property
    def score(self) -> Array:
        """∂_k log q along every direction k of the sample, (n, m)."""
        ...

    @property
    def second(self) -> Array:
        """∂²_k log q along every direction, (n, m); their sum is the divergence of the score."""
        ...

    def pullback(self, on_score: Array, on_second: Array | None, *, each: bool = False) -> Array:
        """Gradient in θ of Σ_k on_score·score + on_second·second: (n, p) for each row, (p,) summed."""
        ...


class Scores(ABC):
    """A family at given data: what an estimator asks of it.

    Parameters are searched in coordinates θ (p,) of the family's own choice, free or in a box, and
    reported as :meth:`parameters`, in the units of the data.

    Attributes
    ----------
    n
        Number of rows.
    coordinates
        Names of the coordinates θ, (p,): those of the parameters that they determine.
    lower, upper
        Bounds of the coordinates, (p,), infinite where there are none.
    units
        Moves in the coordinates that matter, (p,); the search and numerical derivatives go by them. None
        where all are of size one.
    bounded
        Whether the score is known to stay bounded at the boundary of the domain, whatever θ is.
    block
        How many rows to evaluate at once.
    """

    n: int
    coordinates: tuple[str, ...]
    lower: Array
    upper: Array
    units: Array | None = None
    bounded: bool = False
    block: int = 1 << 30

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


class Family(Protocol):
    """A family of models that an estimator can fit.

    Any object with this method can be passed as `family`; so can one with an attribute ``start`` and a
    method ``score(x, theta)`` or ``log_density(x, theta)``, which is then taken as a :class:`Parametric`
    family. Two more methods are used where they exist: ``default_domain(d)``, where the family lives if
    the user names no domain, and ``default_auxiliary(domain)``, the weight of truncated score matching.
    An attribute ``ambient = True`` says that the score has a formula in all coordinates of a simplex;
    :class:`MinimumStein` then uses these, because combinations of them lose digits next to a face.
    """

    def scores(self, sample: Sample) -> Scores:
        """The family at these data."""
        ...


def as_family(family: Any) -> Family:
    """The family that a user's object stands for."""
    if isinstance(family, type):
        raise InputError(
            f"`family` is the class {family.__name__}, not one of its instances. Call it: "
            f"{family.__name__}(...)."
        )
    if callable(getattr(family, "scores", None)):
        found: Family = family
        return found
    functions = {name: getattr(family, name, None) for name in ("score", "log_density")}
    if hasattr(family, "start") and any(map(callable, functions.values())):
        from goodstein.estimate.parametric import Parametric

        if callable(functions["score"]):  # it leaves less to differentiate
            functions["log_density"] = None
        return Parametric(
            **functions,
            start=family.start,
            names=getattr(family, "names", None),
            bounds=getattr(family, "bounds", None),
            sample=getattr(family, "sample", None),
        )
    raise InputError(
        f"`family` must be a family such as Mixture(2), Dirichlet() or Parametric(log_density, start=...), "
        f"got {family!r}. An object of your own needs an attribute `start` and a method `score(x, theta)` or "
        "`log_density(x, theta)`."
    )


def as_sample(data: Any, family: Any, domain: Any) -> Sample:
    """Validated data on the domain given, or the family's own, or R^d."""
    if domain is not None and not isinstance(domain, Domain):
        raise InputError(f"`domain` must be a domain such as Box(0, 1) or Ball(2), got {domain!r}.")
    x = as_data(data, None if domain is None else domain.dim, where=repr(domain))
    if domain is None:
        own = getattr(family, "default_domain", None)
        domain = Euclidean(x.shape[1]) if own is None else own(x.shape[1])
    if not domain.flat or isinstance(domain, Lattice):
        raise DomainError(
            f"Estimation by scores works on R^d, its parts and the simplex, and {domain!r} is none of them."
        )
    domain.validate(x)
    if (x == x[0]).all():
        raise InputError(f"`data`: all {len(x)} rows are equal, so nothing can be estimated from them.")
    return Sample(x, domain)


def require_full(sample: Sample, name: str) -> None:
    """Raise where the data lie in a hyperplane, on which a density of R^d has superfluous parameters."""
    if sample.domain.basis is not None:
        raise DomainError(
            f"{name} is a family on R^d, and rows of {sample.domain!r} lie in a hyperplane of it, where its "
            "parameters are not determined. Use Dirichlet(), or ExponentialFamily or Parametric with as many "
            "parameters as the simplex has."
        )


def require_rows(scores: Scores, name: str) -> None:
    """Raise where there are fewer observations than parameters."""
    if scores.n < scores.size:
        raise InputError(
            f"`data`: {scores.n} rows are too few for the {scores.size} parameters of {name}. Pass more data "
            "or a smaller family."
        )


def as_names(names: Sequence[str], family: str) -> tuple[str, ...]:
    """Names of parameters, all of them different."""
    found = tuple(names)
    twice = [name for i, name in enumerate(found) if name in found[:i]]
    if twice:
        raise InputError(f"`names` of {family} has {twice[0]!r} twice. Give every parameter its own name.")
    return found
