"""Tiles: any block of the Stein matrix H_ij = h(x_i, x_j), without ever storing it.

For a radial kernel k = φ(ρ), ρ = ‖y − y′‖², r = y − y′, and features (y, a, G) a block is

    H = φ∘P + φ′∘Q + φ″∘R,
    P = a·a′,
    Q = 2[(Gᵀr)·a′ − (G′ᵀr)·a] − 2 tr(GG′ᵀ),
    R = −4 (Gᵀr)·(G′ᵀr),

where primes on features mark the second argument. P, Q and R are matrix products of per-point factors. All
share one set of left columns; each uses a slice of it, with right columns of its own, so that a linear
combination of the three is again one matrix product.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from goodstein.engine.workspace import scratch
from goodstein.kernels.base import Kernel
from goodstein.lazy import cached_property
from goodstein.numerics.distances import MAX_SPREAD, Placed, placed
from goodstein.types import Array

if TYPE_CHECKING:
    from goodstein.stein.features import SteinFeatures
    from goodstein.stein.forms import Distances


Part = Literal["p", "q", "r", "one"]
PARTS: tuple[Part, ...] = ("p", "q", "r", "one")
Places: TypeAlias = "slice | npt.NDArray[np.intp]"
"""Observations, one after the other or wherever they are."""
Functionals: TypeAlias = "SteinFeatures | Centred"
"""Linear functionals (y, a, G) on test functions; see :class:`goodstein.SteinFeatures`."""


MAX_COLUMNS = 512
"""Factors of a full matrix weight have m²J columns; beyond this many, tiles are made column by column."""

FEW_COLUMNS = 16
"""Beyond this many a sum over a tile takes J products of m columns in their place."""


class Factors(ABC):
    """What the three kinds of weight have in common; right factors are made when first asked for."""

    left: Array
    unit = False
    """Whether G is the identity, so that R = −4ρ."""

    @property
    def narrow(self) -> Array:
        """The columns of `left` that P and Q need, at least."""
        return self.left

    def curvature(self, distances: Distances) -> Array | None:
        """R in a tile of several samples where that is cheaper than its many columns, otherwise None."""
        return None

    def __init__(self, features: Functionals, norms: Array) -> None:
        self.x, self.a, self.norms = features.points, features.value, norms[:, None]
        self.rho_right = np.hstack([self.x, np.ones_like(self.norms), self.norms])
        self._rho_left: dict[tuple[float, float], Array] = {}
        self._right: dict[tuple[float, ...], tuple[slice, Array]] = {}

    @abstractmethod
    def part(self, name: Part) -> tuple[int, Array]:
        """The first column of `left` that P, Q, R or the constant 1 uses, and the right columns."""

    def rho_left(self, scale: float, offset: float) -> Array:
        """The left factor of offset + scale·ρ."""
        key = (scale, offset)
        if key not in self._rho_left:
            columns = [(-2.0 * scale) * self.x, scale * self.norms + offset, np.full_like(self.norms, scale)]
            self._rho_left[key] = np.hstack(columns)
        return self._rho_left[key]

    def right(self, p: float, q: float, r: float, one: float) -> tuple[slice, Array]:
        """Columns of `left`, and the right factor that makes them p·P + q·Q + r·R + one."""
        key = (p, q, r, one)
        if key not in self._right:
            used = [(w, *self.part(name)) for w, name in zip(key, PARTS, strict=True) if w != 0.0]
            start = min(first for _, first, _ in used)
            stop = max(first + columns.shape[1] for _, first, columns in used)
            total = np.zeros((len(self.x), stop - start))
            for weight, first, columns in used:
                total[:, first - start : first - start + columns.shape[1]] += weight * columns
            self._right[key] = (slice(start, stop), total)
        return self._right[key]

    def take(self, index: Any) -> Self:
        """The factors of some observations."""
        taken = object.__new__(type(self))
        own = self.__dict__.items()
        taken.__dict__.update({k: v[index] if isinstance(v, np.ndarray) else v for k, v in own})
        taken._rho_left = {key: left[index] for key, left in self._rho_left.items()}
        taken._right = {key: (columns, right[index]) for key, (columns, right) in self._right.items()}
        return taken

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_right": {}, "_rho_left": {}}


class ScalarFactors(Factors):
    """G = g·1. With xa = x·a, left columns a, gx, xa, g, g‖x‖²."""

    def __init__(self, features: Functionals, norms: Array) -> None:
        super().__init__(features, norms)
        self.unit = features.weight is None
        self.g = np.ones_like(self.norms) if features.weight is None else features.weight[:, None]
        self.xa = np.einsum("ij,ij->i", self.x, self.a)[:, None]
        self.left = np.hstack([self.a, self.g * self.x, self.xa, self.g, self.g * self.norms])

    def part(self, name: Part) -> tuple[int, Array]:
        """Q = 2[gx·a′ + a·g′x′ − xa·g′ − g·xa′ − m g g′], R = −4gg′ρ; the constant 1 needs g = 1."""
        a, g, gx, m = self.a, self.g, self.g * self.x, self.x.shape[1]
        if name == "p":
            return 0, a
        if name == "q":
            return 0, 2.0 * np.hstack([gx, a, -g, -self.xa - m * g])
        if name == "r":
            return m, np.hstack([8.0 * gx, np.zeros_like(g), -4.0 * g * self.norms, -4.0 * g])
        return 2 * m + 1, g


class DiagonalFactors(Factors):
    """G = diag(g). Left columns a, gx, g, xa, gx², products by coordinate."""

    def __init__(self, features: Functionals, norms: Array) -> None:
        super().__init__(features, norms)
        assert features.weight is not None
        self.g = features.weight
        self.left = np.hstack([self.a, self.g * self.x, self.g, self.x * self.a, self.g * self.x**2])

    def part(self, name: Part) -> tuple[int, Array]:
        """As for a scalar weight, but R = −4 Σ_i g_i g′_i r_i²."""
        x, a, g = self.x, self.a, self.g
        if name == "p":
            return 0, a
        if name == "q":
            return 0, 2.0 * np.hstack([g * x, a, -x * a - g, -g])
        return x.shape[1], np.hstack([8.0 * g * x, -4.0 * g * x**2, np.zeros_like(x), -4.0 * g])


class MatrixFactors(Factors):
    """Any G. With u = Gᵀx, left columns a, u, G_ij, x_i a_j, x_i u_j, G_ij x_l."""

    def __init__(self, features: Functionals, norms: Array) -> None:
        super().__init__(features, norms)
        assert features.weight is not None
        self.g = features.weight
        self.u = np.einsum("nij,ni->nj", self.g, self.x)
        self.flat = self.g.reshape(len(self.g), -1)
        self.xa = self._outer(self.x, self.a)

    @staticmethod
    def _outer(x: Array, vectors: Array) -> Array:
        return np.asarray((x[:, :, None] * vectors[:, None, :]).reshape(len(x), -1))

    @cached_property
    def narrow(self) -> Array:
        return np.hstack([self.a, self.u, self.flat, self.xa])

    @cached_property
    def left(self) -> Array:
        """All left columns; those of the curvature are many, so they are made where they are asked for."""
        gx = np.einsum("nij,nl->nilj", self.g, self.x).reshape(len(self.x), -1)
        return np.hstack([self.narrow, self._outer(self.x, self.u), gx])

    def curvature(self, distances: Distances) -> Array | None:
        """R = −4 Σ_j (u_j − G_j·x′)(x·G′_j − u′_j)."""
        if self.flat.shape[1] * self.x.shape[1] <= FEW_COLUMNS:
            return None
        places = self._places
        rows, cols = distances.at(places, distances.rows), distances.at(places, distances.cols)
        out = np.zeros(distances.rho.shape)
        forward, backward = (scratch(name, out.shape) for name in ("forward", "backward"))
        for j in range(self.u.shape[1]):
            functions = self._functions[:, j]
            np.matmul(distances.at(functions, distances.rows), cols.swapaxes(1, 2), out=forward)
            np.matmul(rows, distances.at(functions, distances.cols).swapaxes(1, 2), out=backward)
            forward *= backward
            out += forward
        out *= 4.0
        return out

    @cached_property
    def _places(self) -> Array:
        """(x, −1), (n, m + 1)."""
        return np.hstack([self.x, -np.ones_like(self.norms)])

    @cached_property
    def _functions(self) -> Array:
        """(G_j, u_j) for every test function j, (n, J, m + 1)."""
        return np.concatenate([self.g.swapaxes(1, 2), self.u[:, :, None]], axis=2)

    def part(self, name: Part) -> tuple[int, Array]:
        """By (Gᵀr)_j = u_j − Σ_i G_ij x′_i and (G′ᵀr)_j = Σ_l x_l G′_lj − u′_j."""
        if name == "p":
            return 0, self.a
        if name == "q":
            return 0, 2.0 * np.hstack([self.u, self.a, -self.xa - self.flat, -self.flat])
        xg = np.einsum("ni,nlj->nilj", self.x, self.g).reshape(len(self.x), -1)
        columns = [self.u, -self._outer(self.x, self.u), np.zeros_like(self.xa), -self.flat, xg]
        return self.a.shape[1], 4.0 * np.hstack(columns)


class Centred:
    """Features about a centre, and their factors, which all kernels share."""

    def __init__(self, points: Array, value: Array, weight: Array | None) -> None:
        self.points, self.value, self.weight = points, value, weight
        self.norms = np.einsum("ij,ij->i", points, points)

    @classmethod
    def of(cls, features: SteinFeatures) -> Centred:
        """About the median, not the mean: one outlier must not move the centre away from the rest."""
        middle = len(features.points) // 2
        centre = np.partition(features.points.T, middle, axis=1)[:, middle]
        return cls(features.points - centre, features.value, features.weight)

    @cached_property
    def factors(self) -> Factors:
        """Factors of the features."""
        weight = self.weight
        if weight is None or weight.ndim == 1:
            return ScalarFactors(self, self.norms)
        return (DiagonalFactors if weight.ndim == 2 else MatrixFactors)(self, self.norms)

    @cached_property
    def placed(self) -> Placed:
        """The points, with the factors of their distances."""
        return placed(self.points, 0.0)

    def take(self, index: Any) -> Centred:
        """The same for some observations, around the same centre."""
        weight = None if self.weight is None else self.weight[index]
        taken = Centred(self.points[index], self.value[index], weight)
        if "factors" in self.__dict__:
            taken.__dict__["factors"] = self.factors.take(index)
        return taken


class Prepared:
    """Features about a centre, and the kernel that sees them."""

    def __init__(self, features: Centred, kernel: Kernel) -> None:
        self.features, self.kernel = features, kernel
        self.close = bool(features.norms.max() <= MAX_SPREAD * kernel.shortest_length**2)

    @property
    def factors(self) -> Factors | None:
        """Factors of the features, where products are precise enough and not too wide."""
        weight = self.features.weight
        wide = weight is not None and weight.ndim == 3 and weight[0].size * weight.shape[1] > MAX_COLUMNS
        return self.features.factors if self.close and not wide else None

    def take(self, index: Any) -> Prepared:
        """The same for some observations, around the same centre."""
        taken = copy.copy(self)
        taken.features = self.features.take(index)
        return taken

    def tile(self, rows: slice, cols: Places) -> _FactoredTile | _DirectTile:
        """The parts of a block that do not depend on the kernel."""
        if self.factors is not None:
            return _FactoredTile(self.factors, rows, cols)
        return _DirectTile(self.features, rows, cols, close=self.close)

    def block(self, rows: slice, cols: Places) -> Array:
        """H[rows, cols]."""
        return self.kernel.stein_tile(self.tile(rows, cols))


class _FactoredTile:
    """A tile by matrix products of the factors."""

    def __init__(self, factors: Factors, rows: slice, cols: Places) -> None:
        self._factors, self._rows, self._cols = factors, rows, cols
        width = cols.stop - cols.start if isinstance(cols, slice) else len(cols)
        self._shape = (rows.stop - rows.start, width)
        self._buffers = 0

    @property
    def unit(self) -> bool:
        return self._factors.unit

    def rho(self, scale: float = 1.0, offset: float = 0.0) -> Array:
        factors = self._factors
        out = scratch("rho", self._shape)
        return np.matmul(
            factors.rho_left(scale, offset)[self._rows], factors.rho_right[self._cols].T, out=out
        )

    def buffer(self) -> Array:
        self._buffers += 1
        return scratch(f"combine{self._buffers}", self._shape)

    def combine(self, p: float, q: float, r: float, one: float = 0.0) -> Array:
        return self._product(p, q, r, one, self.buffer())

    def add(self, out: Array, p: float, q: float, r: float, one: float = 0.0) -> None:
        out += self._product(p, q, r, one, scratch("added", self._shape))

    def _product(self, p: float, q: float, r: float, one: float, out: Array) -> Array:
        columns, right = self._factors.right(p, q, r, one)
        return np.matmul(self._factors.left[self._rows, columns], right[self._cols].T, out=out)


class _DirectTile:
    """A tile from differences of coordinates, in which nothing cancels.

    A full matrix weight needs m·J of them; where the points are close to each other, as measured in
    bandwidths, products of J columns take their place.
    """

    def __init__(self, features: Functionals, rows: slice, cols: Places, *, close: bool) -> None:
        x, a, g = features.points, features.value, features.weight
        m = x.shape[1]
        x1, x2, a1, a2 = x[rows], x[cols], a[rows], a[cols]
        self._p = a1 @ a2.T
        self._q = np.zeros_like(self._p)
        self._r = np.zeros_like(self._p)
        self._rho = np.zeros_like(self._p)
        if g is not None and g.ndim == 3:
            differences = [x1[:, i, None] - x2[:, i] for i in range(m)]
            for difference in differences:
                self._rho += difference**2
            g1, g2 = g[rows], g[cols]
            for j in range(a.shape[1]):
                if close:
                    forward = np.einsum("il,il->i", g1[:, :, j], x1)[:, None] - g1[:, :, j] @ x2.T
                    backward = x1 @ g2[:, :, j].T - np.einsum("il,il->i", g2[:, :, j], x2)
                else:
                    forward = sum(g1[:, i, j, None] * d for i, d in enumerate(differences))
                    backward = sum(d * g2[:, i, j] for i, d in enumerate(differences))
                self._q += forward * a2[:, j]
                self._q -= backward * a1[:, j, None]
                self._q -= g1[:, :, j] @ g2[:, :, j].T
                self._r += forward * backward
        else:
            if g is None:
                g = np.ones(len(x))
            for i in range(m):
                g1, g2 = (g[rows], g[cols]) if g.ndim == 1 else (g[rows, i], g[cols, i])
                difference = x1[:, i, None] - x2[:, i]
                forward, backward = g1[:, None] * difference, g2 * difference
                self._rho += difference**2
                self._q += forward * a2[:, i]
                self._q -= backward * a1[:, i, None]
                self._q -= np.outer(g1, g2)
                self._r += forward * backward
        self._q *= 2.0
        self._r *= -4.0

    unit = False

    def rho(self, scale: float = 1.0, offset: float = 0.0) -> Array:
        return self._rho * scale + offset

    def buffer(self) -> Array:
        return np.empty_like(self._p)

    def combine(self, p: float, q: float, r: float, one: float = 0.0) -> Array:
        return p * self._p + q * self._q + r * self._r + one

    def add(self, out: Array, p: float, q: float, r: float, one: float = 0.0) -> None:
        out += self.combine(p, q, r, one)
