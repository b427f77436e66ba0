r"""The Stein form: any block of the Stein matrix H_ij = h(x_i, x_j), without ever storing it.

For a radial kernel k = φ(ρ), ρ = ‖y − y′‖², r = y − y′, and features (y, a, G) a block is

    H = φ∘P + φ′∘Q + φ″∘R,
    P = a·a′,
    Q = 2[(Gᵀr)·a′ − (G′ᵀr)·a] − 2 tr(GG′ᵀ),
    R = −4 (Gᵀr)·(G′ᵀr),

where primes on features mark the second argument. For G a multiple of the identity or a
diagonal matrix P, Q and R are matrix products of per-point factors, so a block costs a few
products of small inner dimension and a few passes over the block.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from goodstein.engine.workspace import scratch
from goodstein.errors import InputError
from goodstein.kernels.base import Kernel, generic_tile
from goodstein.kernels.whitened import Whitened
from goodstein.stein.factors import Factors, factorise
from goodstein.stein.features import AnchoredFeatures, SteinFeatures
from goodstein.types import Array

# Squared distances come from a matrix product, whose rounding error is about eps·‖y‖². Beyond
# this spread, in bandwidths squared, it could be felt, and coordinates are subtracted instead.
MAX_SPREAD = 1e7

# Factors of a full matrix weight have m²J columns; beyond this many, tiles are made column by column.
MAX_COLUMNS = 512


class BlockForm(ABC):
    """A symmetric positive semidefinite matrix that is made block by block: all that the engine needs.

    An operator whose Stein kernel is not of the form above derives its own class from this one.
    """

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of observations."""

    @abstractmethod
    def take(self, index: Any) -> BlockForm:
        """The form of some observations, in the given order."""

    @abstractmethod
    def block(self, rows: slice, cols: slice) -> Array:
        """H[rows, cols]; the caller may overwrite it, and it may be scratch of this thread."""

    @abstractmethod
    def diagonal(self) -> Array:
        """h(x_i, x_i), (n,)."""

    def matrix(self) -> Array:
        """The whole matrix, (n, n)."""
        out = np.empty((self.n, self.n))
        step = 256
        for start in range(0, self.n, step):
            rows = slice(start, min(start + step, self.n))
            for first in range(start, self.n, step):
                cols = slice(first, min(first + step, self.n))
                block = self.block(rows, cols)
                out[rows, cols] = block
                out[cols, rows] = block.T
        np.fill_diagonal(out, self.diagonal())
        return out


class DenseForm(BlockForm):
    """A matrix that is small enough to be held, (n, n)."""

    def __init__(self, values: Array) -> None:
        self._values = values

    @property
    def n(self) -> int:
        """Number of observations."""
        return len(self._values)

    def take(self, index: Any) -> DenseForm:
        """The form of some observations, in the given order."""
        return DenseForm(self._values[np.ix_(index, index)])

    def block(self, rows: slice, cols: slice) -> Array:
        """H[rows, cols], a copy."""
        return self._values[rows, cols].copy()

    def diagonal(self) -> Array:
        """h(x_i, x_i), (n,)."""
        return self._values.diagonal().copy()


class SteinForm(BlockForm):
    """The Stein matrix of n observations, block by block.

    Parameters
    ----------
    features
        The operator at the observations.
    kernel
        A fitted kernel.
    """

    def __init__(self, features: SteinFeatures, kernel: Kernel) -> None:
        self.features = features
        self.kernel = kernel

    @cached_property
    def prepared(self) -> Prepared:
        """Made when the first block is asked for: a form that is only permuted never needs it."""
        return Prepared(self.features, self.kernel)

    @property
    def n(self) -> int:
        """Number of observations."""
        return len(self.features)

    def take(self, index: Any) -> SteinForm:
        """The form of some observations, in the given order."""
        form = SteinForm(self.features.take(index), self.kernel)
        if "prepared" in self.__dict__:
            form.__dict__["prepared"] = self.prepared.take(index)
        return form

    def block(self, rows: slice, cols: slice) -> Array:
        """H[rows, cols]; the array is scratch of this thread, valid until its next block."""
        return self.prepared.block(rows, cols)

    def diagonal(self) -> Array:
        """h(x_i, x_i), (n,)."""
        features, kernel = self.features, self.kernel
        if isinstance(kernel, Whitened):
            features, kernel = self.prepared.features, self.prepared.kernel
        phi, slope = (float(profile[0]) for profile in kernel.profiles(np.zeros(1), order=1))
        value, weight = features.value, features.weight
        m = features.points.shape[1]
        if weight is None:
            trace: Any = float(m)
        elif weight.ndim == 1:
            trace = m * weight**2
        else:
            trace = (weight.reshape(self.n, -1) ** 2).sum(axis=1)
        result: Array = phi * np.einsum("ij,ij->i", value, value) - 2.0 * slope * trace
        return result


class AnchoredForm(BlockForm):
    """ξ_i plus c times the value at a fixed point y₀.

    With v_i = ⟨ξ_i, k(y₀, ·)⟩ the matrix is H + c·(v 1ᵀ + 1 vᵀ) + c² k(y₀, y₀).
    """

    def __init__(self, features: AnchoredFeatures, kernel: Kernel, inner: BlockForm | None = None) -> None:
        if isinstance(kernel, Whitened):
            raise InputError("A Whitened kernel has no place in one dimension. Pass the kernel inside it.")
        self.features, self.kernel = features, kernel
        self._inner = inner if inner is not None else SteinForm(features, kernel)

    @cached_property
    def _shift(self) -> tuple[Array, float]:
        """c·v, (n,), and c²·k(y₀, y₀)."""
        features, c = self.features, self.features.anchor_value
        difference = features.points - np.asarray(features.anchor)
        rho = np.concatenate([[0.0], np.einsum("ij,ij->i", difference, difference)])
        phi, slope = self.kernel.profiles(rho, order=1)
        if features.weight is None:
            moved = difference
        elif features.weight.ndim == 3:
            moved = features.weight[:, :, 0] * difference
        else:
            moved = features.weight.reshape(len(features), -1) * difference
        v = features.value[:, 0] * phi[1:] + 2.0 * slope[1:] * moved.sum(axis=1)
        return c * v, c * c * float(phi[0])

    @property
    def n(self) -> int:
        """Number of observations."""
        return len(self.features)

    def take(self, index: Any) -> AnchoredForm:
        """The form of some observations, in the given order."""
        f = self.features
        weight = None if f.weight is None else f.weight[index]
        taken = AnchoredFeatures(f.points[index], f.value[index], weight, f.anchor, f.anchor_value)
        return AnchoredForm(taken, self.kernel, self._inner.take(index))

    def block(self, rows: slice, cols: slice) -> Array:
        """H[rows, cols]; scratch of this thread, valid until its next block."""
        shift, constant = self._shift
        out = self._inner.block(rows, cols)
        out += (shift[rows] + constant)[:, None]
        out += shift[cols]
        return out

    def diagonal(self) -> Array:
        """h(x_i, x_i), (n,)."""
        shift, constant = self._shift
        return np.asarray(self._inner.diagonal() + 2.0 * shift + constant)


class Prepared:
    """Centred features in the kernel's own coordinates, with their factors."""

    def __init__(self, features: SteinFeatures, kernel: Kernel) -> None:
        if isinstance(kernel, Whitened):
            features, kernel = features.mapped(kernel.linear_map), kernel.kernel
        # About the median, not the mean: one outlier must not move the centre away from the rest.
        middle = len(features) // 2
        points = features.points - np.partition(features.points, middle, axis=0)[middle]
        self.kernel = kernel
        self.features = SteinFeatures(points, features.value, features.weight)
        self.norms = np.einsum("ij,ij->i", points, points)
        self.close = bool(self.norms.max() <= MAX_SPREAD * shortest_length(kernel) ** 2)

    @cached_property
    def factors(self) -> Factors | None:
        """Factors of the features, where products are precise enough and not too wide."""
        return factorise(self.features, self.norms, MAX_COLUMNS) if self.close else None

    def take(self, index: Any) -> Prepared:
        """The same for some observations, around the same centre."""
        taken = copy.copy(self)
        taken.features, taken.norms = self.features.take(index), self.norms[index]
        taken.__dict__.pop("factors", None)
        return taken

    def tile(self, rows: slice, cols: slice) -> _FactoredTile | _DirectTile:
        """The parts of a block that do not depend on the kernel."""
        if self.factors is not None:
            return _FactoredTile(self.factors, rows, cols)
        return _DirectTile(self.features, rows, cols, close=self.close)

    def block(self, rows: slice, cols: slice) -> Array:
        """H[rows, cols]."""
        tile = self.tile(rows, cols)
        stein_tile = getattr(self.kernel, "stein_tile", None)
        result: Array = stein_tile(tile) if stein_tile is not None else generic_tile(self.kernel, tile)
        return result


def shortest_length(kernel: Kernel) -> float:
    """The shortest bandwidth in a kernel; a kernel that names none is taken to have unit length."""
    terms = getattr(kernel, "kernels", (kernel,))
    return min(float(getattr(term, "bandwidth", None) or 1.0) for term in terms)


class _FactoredTile:
    """A tile by matrix products of the factors."""

    def __init__(self, factors: Factors, rows: slice, cols: slice) -> None:
        self._factors, self._rows, self._cols = factors, rows, cols
        self._shape = (rows.stop - rows.start, cols.stop - cols.start)
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
        columns, right = self._factors.right(p, q, r, one)
        return np.matmul(self._factors.left[self._rows, columns], right[self._cols].T, out=self.buffer())


class _DirectTile:
    """A tile from differences of coordinates, in which nothing cancels.

    A full matrix weight needs m·J of them; where the points are close to each other, as measured in
    bandwidths, products of J columns take their place.
    """

    def __init__(self, features: SteinFeatures, rows: slice, cols: slice, *, close: bool) -> None:
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
