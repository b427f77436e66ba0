"""What a domain is: the region on which the model is a density."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from goodstein.errors import DomainError, describe_rows
from goodstein.types import Array, BoolArray

if TYPE_CHECKING:
    from goodstein.auxiliary.base import Auxiliary


@dataclass(frozen=True)
class Face:
    """Points on one face of a domain's boundary, from where the audit walks inwards.

    Attributes
    ----------
    name
        How a person would call the face, for example ``"x_1 = 0"``.
    points
        Points on the face, (k, d).
    normals
        Unit vectors that point into the domain, (k, d); on a domain with a tangent
        :attr:`Domain.basis` they are tangential.
    reach
        For each point how far one may walk along its normal and still have this face as
        the nearest one, (k,).
    """

    name: str
    points: Array
    normals: Array
    reach: Array


class Domain(ABC):
    """A region of R^d, or of an affine subspace of it, that carries a density.

    A domain of your own needs :attr:`dim`, :meth:`contains` and, if it has a boundary,
    :meth:`boundary_distance`, :meth:`faces` and :meth:`default_auxiliary`; without a boundary
    it sets :attr:`has_boundary` to False.
    """

    @property
    @abstractmethod
    def dim(self) -> int:
        """Number of columns of the data."""

    @abstractmethod
    def contains(self, x: Array) -> BoolArray:
        """Which rows of ``x`` (n, d) lie in the closed domain, (n,)."""

    def boundary_distance(self, x: Array) -> Array:
        """Euclidean distance of each row to the boundary within the domain, (n,); inf without boundary.

        The rows are taken to lie in the domain; elsewhere the value has no meaning.
        """
        return np.full(len(x), np.inf)

    def boundary_gradient(self, x: Array) -> Array:
        """Gradient of :meth:`boundary_distance`, (n, d); zero without boundary.

        It exists almost everywhere, which suffices for Stein's identity; where several
        faces are equally near, the gradient belongs to one of them. Unless a domain
        overrides this, the distance is differentiated numerically.
        """
        if not self.has_boundary:
            return np.zeros((len(x), self.dim))
        from goodstein.numerics.differentiate import gradient

        return gradient(
            self.boundary_distance,
            x,
            self,
            name=f"the boundary distance of {self!r}",
            remedy="give the domain a method `boundary_gradient`",
        )

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
    def connected(self) -> bool | None:
        """Whether the domain is connected; None where that is not known."""
        return True

    @property
    def has_boundary(self) -> bool:
        """Whether the density can meet an edge on which it does not vanish by itself."""
        return True

    def default_auxiliary(self) -> Auxiliary:
        """An auxiliary function that makes Stein's identity hold for every density bounded here."""
        raise DomainError(
            f"{self!r} has no auxiliary function of its own. Pass one: operator=Standardised(auxiliary)."
        )

    def faces(self, interior: Array | None, rng: np.random.Generator) -> Sequence[Face]:
        """Points on every face of the boundary, for the audit.

        ``interior`` holds points of the domain (data, or draws from the model), where there
        are any; they tell where on an unbounded face the mass is.
        """
        return ()

    def validate(self, x: Array) -> None:
        """Raise :class:`~goodstein.errors.DomainError` where rows of ``x`` lie outside."""
        self._validate_columns(x)
        outside = ~self.contains(x)
        if outside.any():
            raise DomainError(
                f"`data`: {describe_rows(outside)} lie outside {self!r}. "
                "Remove them or pass the right `domain`."
            )

    def _validate_columns(self, x: Array) -> None:
        if x.ndim != 2 or x.shape[1] != self.dim:
            raise DomainError(
                f"`data`: {self!r} needs an array of shape (n, {self.dim}), got {x.shape}. "
                "Pass the right columns or the right `domain`."
            )

    def sample_uniform(self, n: int, rng: np.random.Generator) -> Array:
        """Draw ``n`` points uniformly from a bounded domain."""
        raise DomainError(f"No uniform sampler for {self!r}.")
