"""What a domain is: the region on which the model is a density."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from goodstein import errors
from goodstein.constraints import MOST_COORDINATES, check_count, real_array
from goodstein.errors import DomainError, SamplingError, must, other_domain
from goodstein.frozen import Frozen
from goodstein.numerics.differentiate import gradient
from goodstein.types import Array, BoolArray
from goodstein.validation import as_generator

refuse_rows = partial(errors.refuse_rows, error=DomainError)

ROUNDING = 1e-6
"""How far sums of compositions and norms of directions may be off one: single precision rounds to 6e-8, and
what is computed in it is off by a few times that."""

MAX_PROPOSALS = 10_000_000
PILOT = 100_000


@dataclass(frozen=True)
class Face:
    """Points on one face of a domain's boundary, from where the audit walks inwards."""

    name: str
    """How a person would call the face, for example "x_1 = 0"."""
    points: Array
    """Points on the face, (k, d)."""
    normals: Array
    """Unit vectors that point into the domain, (k, d), tangential where it has a :attr:`Domain.basis`."""
    reach: Array
    """How far one may walk along each normal and still have this face as the nearest one, (k,)."""


Method = TypeVar("Method", bound=Callable[..., Any])


def _of_points(method: Method, name: str = "") -> Method:
    """A method of points (n, d), also of what can be read as such."""
    name = name or method.__name__

    @wraps(method)
    def asked(self: Any, x: Array) -> Any:
        if type(x) is not np.ndarray or x.dtype != np.float64:
            x = real_array(x, "x", error=DomainError)
        if name != "validate" and (x.ndim != 2 or x.shape[1] != self.dim):
            raise must("x", f"points, an array (n, {self.dim})", x, error=DomainError)
        found = method(self, x)
        if name in ("contains", "boundary_distance") and getattr(found, "shape", None) != x.shape[:1]:
            raise must(name, f"a function that returns ({len(x)},)", found, type(self).__name__, DomainError)
        return found

    return cast("Method", asked)


def _of_count(method: Callable[..., Array], _: str) -> Callable[..., Array]:
    """A sampler with a number and a generator, or with what stands for one."""

    @wraps(method)
    def asked(self: Any, n: int, rng: Any = None) -> Array:
        return method(self, check_count(n, "n", 0, error=DomainError), as_generator(rng))

    return asked


class Domain(ABC):
    """A region of R^d, or of an affine subspace of it, that carries a density.

    A domain of your own needs :attr:`dim`, :meth:`contains` and, if it has a boundary,
    :meth:`boundary_distance`, :meth:`faces` and :meth:`default_auxiliary`; without a boundary
    it sets :attr:`has_boundary` to False.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Put a door before the methods that users call with arrays of their own."""
        super().__init_subclass__(**options)
        for name in ("contains", "validate", "boundary_distance", "boundary_gradient", "sample_uniform"):
            door: Any = _of_count if name == "sample_uniform" else _of_points
            if name in vars(cls):
                setattr(cls, name, door(vars(cls)[name], name))

    @property
    @abstractmethod
    def dim(self) -> int:
        """Number of columns of the data."""

    @abstractmethod
    def contains(self, x: Array) -> BoolArray:
        """Which rows of ``x`` (n, d) lie in the closed domain, (n,)."""

    @_of_points
    def boundary_distance(self, x: Array) -> Array:
        """Euclidean distance of each row to the boundary within the domain, (n,); inf without boundary.

        The rows are taken to lie in the domain; elsewhere the value has no meaning.
        """
        return np.full(len(x), np.inf)

    @_of_points
    def boundary_gradient(self, x: Array) -> Array:
        """Gradient of :meth:`boundary_distance`, (n, d); zero without boundary.

        It exists almost everywhere, which suffices for Stein's identity; where several
        faces are equally near, the gradient belongs to one of them. Unless a domain
        overrides this, the distance is differentiated numerically.
        """
        if not self.has_boundary:
            return np.zeros((len(x), self.dim))
        name, remedy = f"the boundary distance of {self!r}", "give the domain a method `boundary_gradient`"
        return gradient(self.boundary_distance, x, self, name=name, remedy=remedy)

    def retracted(self, x: Array) -> Array:
        """Points next to a curved domain brought back onto it, (n, d), for numerical derivatives.

        A density on the domain need not be defined off it. Flat domains need nothing.
        """
        return x

    @property
    def basis(self) -> Array | None:
        """Orthonormal rows (m, d) that span the tangent space; None where it is all of R^d."""
        return None

    @property
    def bounded(self) -> bool:
        """Whether the domain lies in some ball."""
        return False

    @property
    def flat(self) -> bool:
        """Whether it is a piece of R^d, on which gradients in the coordinates make a Stein operator.

        Circles, spheres and charts are not, and have operators of their own.
        """
        return True

    @property
    def mixed_units(self) -> bool:
        """Whether its coordinates may be measured in different units, as those of R^d and of boxes may."""
        return False

    @property
    def discrete(self) -> bool:
        """Whether it consists of single points, on which a model is a probability mass function."""
        return False

    @property
    def connected(self) -> bool | None:
        """Whether the domain is connected; None where that is not known."""
        return True

    @property
    def has_boundary(self) -> bool:
        """Whether the density can meet an edge on which it does not vanish by itself."""
        return True

    def default_operator(self) -> Any:
        """The Stein operator that this domain wishes for; None leaves the choice to the library.

        A domain of your own may return an operator here, see :class:`goodstein.operators.Operator`.
        """
        return None

    def default_auxiliary(self) -> Any:
        """An auxiliary function that makes Stein's identity hold for every density bounded here.

        A domain of your own with a boundary returns one, see :class:`goodstein.auxiliary.Auxiliary`; None
        leaves the choice to the library, which knows its own domains only.
        """
        return None

    def embedded(self, x: Array) -> Array:
        """The points at which kernels look, (n, k): coordinates along the :attr:`basis`, where there is one.

        Its rows are orthonormal, so distances stay, and fewer columns can be whitened.
        """
        basis = self.basis
        return x if basis is None else np.asarray(x @ basis.T)

    def quadrature(self, nodes: int | None) -> tuple[Array, Array] | None:
        """About ``nodes`` nodes (N, d) and their weights (N,) for integrals over the domain.

        None, unless a domain of your own has a rule: point patterns on it need one.
        """
        return None

    def faces(self, interior: Array | None, rng: np.random.Generator) -> Sequence[Face]:
        """Points on every face of the boundary, for the audit.

        ``interior`` holds points of the domain (data, or draws from the model), where there
        are any; they tell where on an unbounded face the mass is.
        """
        return ()

    @_of_points
    def validate(self, x: Array) -> None:
        """Raise :class:`~goodstein.errors.DomainError` where rows of ``x`` lie outside."""
        self._validate_columns(x)
        inside = self.contains(x)
        if not inside.all():
            refuse_rows(~inside, f"lie outside {self!r}.", f"Remove them{other_domain()}.")

    def rounding(self, x: Array) -> float:
        """How far rows that pass :meth:`validate` are off the domain, which rounding may have done.

        Zero, but for domains that are thinner than R^d, such as simplices and spheres.
        """
        return 0.0

    def other_columns(self, count: int) -> str | None:
        """What to do with data of another number of columns, where that can be guessed; None elsewhere."""
        return None

    def _validate_columns(self, x: Array) -> None:
        if x.ndim != 2 or x.shape[1] != self.dim:
            reason = f"{self!r} needs an array of shape (n, {self.dim}), got {x.shape}."
            remedy = f"Pass the right columns{other_domain()}."
            raise DomainError(reason, argument="data", remedy=remedy)

    def sample_uniform(self, n: int, rng: np.random.Generator) -> Array:
        """Draw ``n`` points uniformly from a bounded domain."""
        if not self.bounded:
            raise DomainError(f"{self!r} is unbounded, so there is no uniform distribution on it.")
        raise DomainError(f"No uniform sampler for {self!r}.")


class OfDimension(Frozen, Domain):
    """A domain of which nothing but the number of columns has to be said."""

    _parameters = ("dim",)
    _least: ClassVar[int] = 1
    _d: int

    def __init__(self, d: int) -> None:
        self._set(_d=check_count(d, "d", self._least, MOST_COORDINATES, error=DomainError))

    @property
    def dim(self) -> int:
        return self._d


def shortened(words: list[str], most: int = 4, by: str = ", ") -> str:
    """The words in a row, without the middle where there are many."""
    return by.join(words if len(words) <= most else [*words[:3], "...", words[-1]])


def sample_in_box(domain: Domain, lower: Array, upper: Array, n: int, rng: np.random.Generator) -> Array:
    """Draw ``n`` uniform points of ``domain``, which lies between ``lower`` and ``upper``.

    Raises as soon as the rate of acceptance shows that more than ten million proposals would be needed.
    """
    largest_batch = max(1_000, 2_000_000 // domain.dim)
    accepted: list[Array] = []
    count = proposed = 0
    batch = max(1_000, 2 * n)
    while count < n:
        batch = min(batch, largest_batch, MAX_PROPOSALS)
        proposals = rng.uniform(lower, upper, size=(batch, domain.dim))
        accepted.append(proposals[domain.contains(proposals)])
        count += len(accepted[-1])
        proposed += batch
        # Before the pilot is over, an unlucky start must not look hopeless.
        needed = n * proposed / max(count, 1)
        if count < n and proposed >= PILOT and needed > MAX_PROPOSALS:
            inside = f"only {count} of {proposed} uniform proposals from its bounding box fell inside"
            rate = f"(acceptance rate {count / proposed:.2g})"
            reason = f"{inside} {rate}, so {n} draws would take more than {MAX_PROPOSALS} proposals."
            remedy = "Ask for fewer draws, or draw with a sampler of your own."
            raise SamplingError(f"{domain!r}: {reason}", remedy=remedy)
        batch = int(1.2 * (n - count) * proposed / max(count, 1)) + 1_000
    return np.concatenate(accepted)[:n] if accepted else np.empty((0, domain.dim))
