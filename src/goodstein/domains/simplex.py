"""The simplex of compositions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from goodstein.constraints import MOST_COORDINATES, check_count
from goodstein.domains.base import ROUNDING, Domain, Face, refuse_rows
from goodstein.errors import DomainError
from goodstein.frozen import Frozen
from goodstein.lazy import cached_property
from goodstein.types import Array, BoolArray

POINTS_PER_FACE = 4

# In this form the code runs for arrays and data frames alike, and in double precision.
RE_CLOSE = "re-close them: x = np.asarray(x, dtype=float); x = x / x.sum(axis=1, keepdims=True)"


class Simplex(Frozen, Domain):
    r"""Compositions: rows of D non-negative parts that sum to one.

    The simplex is a (D − 1)-dimensional piece of R^D, so that only derivatives along it
    integrate to zero; :attr:`basis` spans these directions. The distance to the face
    :math:`x_i = 0` within the simplex is :math:`\sqrt{D/(D-1)}\, x_i`, and the foot always
    lies in that face, so the distance to the boundary is
    :math:`\sqrt{D/(D-1)} \min_i x_i`.

    Parameters
    ----------
    parts
        The number of parts D, at least 2; the number of columns of the data.

    Notes
    -----
    :meth:`to_logratio` is the isometric log-ratio transform with :attr:`basis` as contrast
    matrix; it maps the open simplex onto R^(D−1).

    Rows whose sums are off one by at most 1e-6 are taken for compositions that were rounded, for example to
    single precision. They are used as they are: nothing is re-closed, operators then err by about as much as
    the sums do, and the result says how far they are off, where that is more than 1e-12.

    References
    ----------
    .. [1] Egozcue, J. J., Pawlowsky-Glahn, V., Mateu-Figueras, G., Barceló-Vidal, C. (2003).
       Isometric logratio transformations for compositional data analysis. Mathematical
       Geology 35, 279-300.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.domains import Simplex
    >>> domain = Simplex(3)
    >>> domain
    Simplex(3)
    >>> x = np.array([[0.2, 0.3, 0.5]])
    >>> domain.boundary_distance(x).round(4)
    array([0.2449])
    >>> domain.from_logratio(domain.to_logratio(x)).round(12)
    array([[0.2, 0.3, 0.5]])
    """

    bounded = True
    parts: int

    def __init__(self, parts: int) -> None:
        self._set(parts=check_count(parts, "parts", 2, MOST_COORDINATES, error=DomainError))

    @property
    def dim(self) -> int:
        return self.parts

    @cached_property
    def basis(self) -> Array:
        """Helmert contrasts: orthonormal rows (parts − 1, parts), each of which sums to zero.

        Row k compares the mean of the first k parts with part k + 1.
        """
        k = np.arange(1.0, self.parts)[:, None]
        column = np.arange(self.parts)[None, :]
        contrasts = np.where(column < k, 1.0, np.where(column == k, -k, 0.0)) / np.sqrt(k * (k + 1))
        contrasts.setflags(write=False)
        return contrasts

    @property
    def _height(self) -> float:
        """Distance of a vertex to the opposite face: √(D/(D−1))."""
        return float(np.sqrt(self.parts / (self.parts - 1)))

    def contains(self, x: Array) -> BoolArray:
        """Which rows have no negative part and sum to one within 1e-6, (n,)."""
        return np.asarray((x >= 0).all(axis=1) & (np.abs(x.sum(axis=1) - 1) <= ROUNDING))

    def rounding(self, x: Array) -> float:
        """How far a sum is off one at most."""
        return float(np.abs(x.sum(axis=1) - 1).max(initial=0.0))

    def other_columns(self, count: int) -> str | None:
        if count != self.parts - 1:
            return None
        return "If the last part is left out, append it: x = np.column_stack([x, 1 - np.sum(x, axis=1)])."

    def validate(self, x: Array) -> None:
        self._validate_columns(x)
        refuse_rows(~np.isfinite(x).all(axis=1), "hold NaN or infinite parts.", "Remove them.")
        refuse_rows(
            (x < 0).any(axis=1),
            f"hold negative parts, the smallest is {x.min(initial=0.0):g}; {self!r} needs parts >= 0.",
            "Remove them, or pass the data on their original scale.",
        )
        refuse_rows((x == 0).all(axis=1), "hold only zeros, which is no composition.", "Remove them.")
        outside = ~self.contains(x)
        if outside.any():
            sums = x[outside].sum(axis=1)
            percent = np.abs(np.median(sums) - 100) < 2
            guess = "They look like percentages" if percent else "If the parts make up a whole"
            refuse_rows(
                outside,
                f"do not sum to 1, the first of them sums to {sums[0]:.10g}; {self!r} needs rows that do, "
                f"within {ROUNDING:g}.",
                f"{guess}{'; ' if percent else ', '}{RE_CLOSE}.",
            )

    def boundary_distance(self, x: Array) -> Array:
        return np.asarray(self._height * np.maximum(x.min(axis=1), 0.0))

    def boundary_gradient(self, x: Array) -> Array:
        gradient = np.zeros_like(x, dtype=np.float64)
        gradient[np.arange(len(x)), x.argmin(axis=1)] = self._height
        return gradient

    def faces(self, interior: Array | None, rng: np.random.Generator) -> Sequence[Face]:
        """The centre of every face and three uniform points on it."""
        d = self.parts
        count = POINTS_PER_FACE if d > 2 else 1
        faces = []
        for i in range(d):
            face = rng.dirichlet(np.ones(d - 1), size=count)
            face[0] = 1 / (d - 1)
            points = np.insert(face, i, 0.0, axis=1)
            normal = (np.eye(d)[i] - 1 / d) * self._height
            # Walking t raises x_i by t/h and lowers every other part by t·h/D, h the height;
            # the two meet, so that another face is as near, at t = x_j/h.
            reach = face.min(axis=1) / self._height
            faces.append(Face(f"x_{i + 1} = 0", points, np.tile(normal, (count, 1)), reach))
        return faces

    def sample_uniform(self, n: int, rng: np.random.Generator) -> Array:
        return rng.dirichlet(np.ones(self.parts), size=n)

    def to_logratio(self, x: Array) -> Array:
        """Isometric log-ratio coordinates y = log(x) Aᵀ, (n, D − 1), with A the :attr:`basis`.

        Since A·1 = 0, the rows need not be closed. Zeros have no log-ratio and raise.
        """
        refuse_rows(
            ~(x > 0).all(axis=1),
            "hold parts that are not positive, which have no log-ratio.",
            "Replace zeros explicitly before, or use an operator that takes zeros, such as "
            "Standardised(ProductOfParts()).",
        )
        return np.asarray(np.log(x) @ self.basis.T)

    def from_logratio(self, y: Array) -> Array:
        """Compositions (n, D) of log-ratio coordinates (n, D − 1): x ∝ exp(yA)."""
        logs = y @ self.basis
        powers = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))
