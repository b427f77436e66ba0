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
from functools import cached_property
from typing import Any

import numpy as np

from goodstein._typing import Array
from goodstein.engine.workspace import scratch
from goodstein.features import SteinFeatures
from goodstein.kernels.base import Kernel, generic_tile
from goodstein.kernels.whitened import Whitened

# Squared distances come from a matrix product, whose rounding error is about eps·‖y‖². Beyond
# this spread, in bandwidths squared, it could be felt, and coordinates are subtracted instead.
MAX_SPREAD = 1e7

# Factors of a full matrix weight have m²J columns; beyond this many, tiles are made column by column.
MAX_COLUMNS = 512


class SteinForm:
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
    def _prepared(self) -> _Prepared:
        """Made when the first block is asked for: a form that is only permuted never needs it."""
        return _Prepared(self.features, self.kernel)

    @property
    def n(self) -> int:
        """Number of observations."""
        return len(self.features)

    def take(self, index: Any) -> SteinForm:
        """The form of some observations, in the given order."""
        form = SteinForm(self.features.take(index), self.kernel)
        if "_prepared" in self.__dict__:
            form.__dict__["_prepared"] = self._prepared.take(index)
        return form

    def block(self, rows: slice, cols: slice) -> Array:
        """H[rows, cols]; the array is scratch of this thread, valid until its next block."""
        return self._prepared.block(rows, cols)

    def diagonal(self) -> Array:
        """h(x_i, x_i), (n,)."""
        features, kernel = self._prepared.features, self._prepared.kernel
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


class _Prepared:
    """Centred features in the kernel's own coordinates, with their factors."""

    def __init__(self, features: SteinFeatures, kernel: Kernel) -> None:
        if isinstance(kernel, Whitened):
            features, kernel = features.mapped(kernel.linear_map), kernel.kernel
        # The median, not the mean: one outlier must not move the centre away from the rest.
        points = features.points - np.median(features.points, axis=0)
        self.kernel = kernel
        self.features = SteinFeatures(points, features.value, features.weight)
        self.norms = np.einsum("ij,ij->i", points, points)
        self.factors: _Factors | None = None
        weight, m = features.weight, points.shape[1]
        self.close = bool(self.norms.max() <= MAX_SPREAD * _shortest_length(kernel) ** 2)
        if self.close and (weight is None or weight.ndim < 3 or m * m * weight.shape[2] <= MAX_COLUMNS):
            self.factors = _Factors(self.features, self.norms)

    def take(self, index: Any) -> _Prepared:
        """The same for some observations, around the same centre."""
        taken = copy.copy(self)
        taken.features, taken.norms = self.features.take(index), self.norms[index]
        taken.factors = None if self.factors is None else self.factors.take(index)
        return taken

    def block(self, rows: slice, cols: slice) -> Array:
        tile: _FactoredTile | _DirectTile
        if self.factors is not None:
            tile = _FactoredTile(self.factors, rows, cols)
        else:
            tile = _DirectTile(self.features, rows, cols, close=self.close)
        stein_tile = getattr(self.kernel, "stein_tile", None)
        result: Array = stein_tile(tile) if stein_tile is not None else generic_tile(self.kernel, tile)
        return result


def _shortest_length(kernel: Kernel) -> float:
    """The shortest bandwidth in a kernel; a kernel that names none is taken to have unit length."""
    terms = getattr(kernel, "kernels", (kernel,))
    return min(float(getattr(term, "bandwidth", None) or 1.0) for term in terms)


class _Factors:
    """Left and right factors of ρ, P, Q and R.

    All of P, Q, R share one set of left columns; each uses a slice of it, with right columns of
    its own, so that a linear combination of the three is again one matrix product.
    """

    def __init__(self, features: SteinFeatures, norms: Array) -> None:
        x, a, g = features.points, features.value, features.weight
        n, m = x.shape
        ones = np.ones((n, 1))
        self.rho_left = np.hstack([-2.0 * x, norms[:, None], ones])
        self.rho_right = np.hstack([x, ones, norms[:, None]])
        parts: dict[str, tuple[int, Array]]
        if g is not None and g.ndim == 3:
            # u = Gᵀx; in words of components, Gᵀr = u − G_ij x′_i and G′ᵀr = x_l G′_lj − u′.
            flat = g.reshape(n, -1)
            u = np.einsum("nij,ni->nj", g, x)
            xa, xu = (np.einsum("ni,nj->nij", x, v).reshape(n, -1) for v in (a, u))
            gx = np.einsum("nij,nl->nilj", g, x).reshape(n, -1)
            xg = np.einsum("ni,nlj->nilj", x, g).reshape(n, -1)
            self.left = np.hstack([a, u, flat, xa, xu, gx])
            parts = {
                "p": (0, a),
                "q": (0, np.hstack([2.0 * u, 2.0 * a, -2.0 * (xa + flat), -2.0 * flat])),
                "r": (a.shape[1], np.hstack([4.0 * u, -4.0 * xu, np.zeros_like(xa), -4.0 * flat, 4.0 * xg])),
            }
        elif g is None or g.ndim == 1:
            g = ones if g is None else g[:, None]
            gx, xa, gn = g * x, np.einsum("ij,ij->i", x, a)[:, None], g * norms[:, None]
            self.left = np.hstack([a, gx, xa, g, gn])
            parts = {
                "p": (0, a),
                "q": (0, np.hstack([2.0 * gx, 2.0 * a, -2.0 * g, -2.0 * xa - 2.0 * m * g])),
                "r": (m, np.hstack([8.0 * gx, np.zeros((n, 1)), -4.0 * gn, -4.0 * g])),
            }
        else:
            gx, xa, gxx = g * x, x * a, g * x * x
            self.left = np.hstack([a, gx, g, xa, gxx])
            none = np.zeros((n, m))
            parts = {
                "p": (0, a),
                "q": (0, np.hstack([2.0 * gx, 2.0 * a, -2.0 * xa - 2.0 * g, -2.0 * g])),
                "r": (m, np.hstack([8.0 * gx, -4.0 * gxx, none, -4.0 * g])),
            }
        self._parts = parts
        self._combined: dict[tuple[float, float, float], tuple[slice, Array]] = {}

    def take(self, index: Any) -> _Factors:
        """The factors of some observations."""
        taken = copy.copy(self)
        taken.left, taken.rho_left, taken.rho_right = (
            array[index] for array in (self.left, self.rho_left, self.rho_right)
        )
        taken._parts = {name: (first, right[index]) for name, (first, right) in self._parts.items()}
        taken._combined = {}
        return taken

    def right(self, p: float, q: float, r: float) -> tuple[slice, Array]:
        """Columns of `left`, and the right factor that makes them p·P + q·Q + r·R."""
        key = (p, q, r)
        if key not in self._combined:
            used = [(w, *self._parts[name]) for w, name in zip(key, "pqr", strict=True) if w != 0.0]
            start = min(first for _, first, _ in used)
            stop = max(first + right.shape[1] for _, first, right in used)
            total = np.zeros((len(self.left), stop - start))
            for weight, first, right in used:
                total[:, first - start : first - start + right.shape[1]] += weight * right
            self._combined[key] = (slice(start, stop), total)
        return self._combined[key]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_combined": {}}


class _FactoredTile:
    """A tile by matrix products of the factors."""

    def __init__(self, factors: _Factors, rows: slice, cols: slice) -> None:
        self._factors, self._rows, self._cols = factors, rows, cols
        self._shape = (rows.stop - rows.start, cols.stop - cols.start)
        self._buffers = 0

    def rho(self) -> Array:
        factors = self._factors
        out = scratch("rho", self._shape)
        return np.matmul(factors.rho_left[self._rows], factors.rho_right[self._cols].T, out=out)

    def combine(self, p: float, q: float, r: float) -> Array:
        columns, right = self._factors.right(p, q, r)
        self._buffers += 1
        out = scratch(f"combine{self._buffers}", self._shape)
        return np.matmul(self._factors.left[self._rows, columns], right[self._cols].T, out=out)


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

    def rho(self) -> Array:
        return self._rho

    def combine(self, p: float, q: float, r: float) -> Array:
        return p * self._p + q * self._q + r * self._r
