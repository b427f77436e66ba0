r"""Blocks of the Stein matrix of second-order operators.

For ξf = Σ M_ab ∂_a∂_b f + b·∇f and a radial kernel φ(ρ), ρ = ‖r‖², r = y − y′, with
τ = tr M, m = rᵀMr, α = b·r, β = b′·r, primes on features marking the second argument,

    h = −2φ′ b·b′
        + φ″ [4(τ + α)(τ′ − β) + 8(b·M′r − b′·Mr) + 8 tr MM′]
        + φ‴ [8(τ + α)m′ + 8(τ′ − β)m + 32 (Mr)·(M′r)]
        + φ⁗ 16 m m′.

On a sphere, M = I − xxᵀ and b = s − (d − 1)x make everything a function of t = x·y = 1 − ρ/2 and
of three products of scores, and with derivatives of φ in t

    F₁ = (1 − t²)φ‴ − (d + 1)tφ″ − (d − 1)φ′,
    F₂ = (1 − t²)φ⁗ − (d + 3)tφ‴ − 2dφ″,
    h  = (1 − t²)F₂ − (d − 1)tF₁ + (s·y + s′·x)F₁ + (s·y)(s′·x)φ″ + s·s′ φ′.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from goodstein.errors import InputError
from goodstein.kernels.base import Kernel
from goodstein.stein.forms import MAX_SPREAD, BlockForm, shortest_length
from goodstein.types import Array

ORDER = 4
"""Derivatives of the profile that a second-order operator needs."""


class _SecondOrderForm(BlockForm):
    """Points and a field of vectors on them; products about a centre, differences where these cancel."""

    def __init__(self, points: Array, vectors: Array, kernel: Kernel) -> None:
        _require_profiles(kernel)
        # About the median, not the mean: one outlier must not move the centre away from the rest.
        middle = len(points) // 2
        self.kernel = kernel
        self.points = points - np.partition(points, middle, axis=0)[middle]
        self.vectors = vectors
        self.norms = np.einsum("ij,ij->i", self.points, self.points)
        self.close = bool(self.norms.max() <= MAX_SPREAD * shortest_length(kernel) ** 2)

    @property
    def n(self) -> int:
        """Number of observations."""
        return len(self.points)

    def take(self, index: Any) -> Self:
        """The form of some observations, in the given order, about the same centre."""
        taken = object.__new__(type(self))
        taken.__dict__.update(self.__dict__)
        taken.points, taken.vectors, taken.norms = self.points[index], self.vectors[index], self.norms[index]
        return taken

    @abstractmethod
    def block(self, rows: slice, cols: slice) -> Array:
        """H[rows, cols]."""

    def rho(self, rows: slice, cols: slice) -> Array:
        """Squared distances."""
        x, y = self.points[rows], self.points[cols]
        if self.close:
            rho = x @ y.T
            rho *= -2.0
            rho += self.norms[rows, None]
            rho += self.norms[cols]
            # Rounding may leave a squared distance a hair below zero, where a profile need not be defined.
            return np.asarray(np.maximum(rho, 0.0, out=rho))
        rho = np.zeros((len(x), len(y)))
        for i in range(x.shape[1]):
            rho += (x[:, i, None] - y[:, i]) ** 2
        return rho

    def along(self, vectors: Array, rows: slice, cols: slice) -> Array:
        """v·(y − y′) for vectors v that belong to the rows."""
        x, y = self.points[rows], self.points[cols]
        if self.close:
            out = vectors @ y.T
            return np.asarray(np.subtract(np.einsum("ij,ij->i", vectors, x)[:, None], out, out=out))
        out = np.zeros((len(x), len(y)))
        for i in range(x.shape[1]):
            out += vectors[:, i, None] * (x[:, i, None] - y[:, i])
        return out

    def profiles(self, rho: Array) -> tuple[Array, Array, Array, Array]:
        """The first four derivatives of φ."""
        _, first, second, third, fourth = self.kernel.profiles(rho, order=ORDER)
        return first, second, third, fourth


class DiffusionForm(_SecondOrderForm):
    """The Stein matrix of ξf = Σ M_ab ∂_a∂_b f + b·∇f.

    Parameters
    ----------
    points, drift
        y and b, (n, m).
    kernel
        A fitted radial kernel.
    diffusion
        M, (n, m, m), or None for the identity.
    """

    def __init__(self, points: Array, drift: Array, kernel: Kernel, diffusion: Array | None = None) -> None:
        super().__init__(points, drift, kernel)
        self.diffusion = diffusion

    def take(self, index: Any) -> Self:
        """The form of some observations, in the given order."""
        taken = super().take(index)
        taken.diffusion = None if self.diffusion is None else self.diffusion[index]
        return taken

    def block(self, rows: slice, cols: slice) -> Array:
        """H[rows, cols]."""
        b1, b2 = self.vectors[rows], self.vectors[cols]
        rho = self.rho(rows, cols)
        first, second, third, fourth = self.profiles(rho)
        # r changes its sign with the order of the points: β = b′·(y − y′) = −b′·(y′ − y).
        alpha, beta = self.along(b1, rows, cols), -self.along(b2, cols, rows).T
        if self.diffusion is None:
            d = self.points.shape[1]
            # With M = 1: 2d F₁ + 4ρF₂ + 2(α − β)F₁ − 4φ″αβ − 2φ′ b·b′.
            f1 = (2.0 * d + 4.0) * second + 4.0 * rho * third
            f2 = (2.0 * d + 8.0) * third + 4.0 * rho * fourth
            out = (2.0 * d + 2.0 * (alpha - beta)) * f1
            out += 4.0 * rho * f2
            out -= 4.0 * second * alpha * beta
            out -= 2.0 * first * (b1 @ b2.T)
            return np.asarray(out)
        m1, m2 = self.diffusion[rows], self.diffusion[cols]
        n1, n2, m = len(b1), len(b2), b1.shape[1]
        alpha += np.trace(m1, axis1=1, axis2=2)[:, None]
        beta = np.trace(m2, axis1=1, axis2=2) - beta
        cross = m1.reshape(n1, -1) @ m2.reshape(n2, -1).T  # tr MM′, then with b·M′r − b′·Mr
        both = np.zeros((n1, n2))  # (Mr)·(M′r)
        own, other = np.zeros((n1, n2)), np.zeros((n1, n2))  # rᵀMr, rᵀM′r
        for i in range(m):
            mr = self.along(m1[:, i], rows, cols)
            other_mr = -self.along(m2[:, i], cols, rows).T
            r = self.points[rows, i, None] - self.points[cols, i]
            both += mr * other_mr
            own += r * mr
            other += r * other_mr
            cross += b1[:, i, None] * other_mr
            cross -= mr * b2[:, i]
        out = second * (4.0 * alpha * beta + 8.0 * cross)
        out += third * (8.0 * (alpha * other + beta * own) + 32.0 * both)
        out += 16.0 * fourth * own * other
        out -= 2.0 * first * (b1 @ b2.T)
        return np.asarray(out)

    def diagonal(self) -> Array:
        """h(x_i, x_i) = −2φ′(0)‖b‖² + φ″(0)[4(tr M)² + 8 tr M²]."""
        first, second, _, _ = (float(profile[0]) for profile in self.profiles(np.zeros(1)))
        if self.diffusion is None:
            d = self.points.shape[1]
            curvature: Any = 4.0 * d**2 + 8.0 * d
        else:
            curvature = 4.0 * np.trace(self.diffusion, axis1=1, axis2=2) ** 2
            curvature = curvature + 8.0 * np.einsum("nij,nij->n", self.diffusion, self.diffusion)
        return np.asarray(-2.0 * first * (self.vectors**2).sum(axis=1) + second * curvature)


class SphereForm(_SecondOrderForm):
    """The Stein matrix of the second-order operator on the unit sphere of R^d.

    Parameters
    ----------
    points, score
        Unit vectors and the tangential score at them, (n, d).
    kernel
        A fitted radial kernel; it acts on chordal distances.
    """

    def block(self, rows: slice, cols: slice) -> Array:
        """H[rows, cols]."""
        s1, s2 = self.vectors[rows], self.vectors[cols]
        d = float(s1.shape[1])
        rho = self.rho(rows, cols)
        # Derivatives in t, where dρ = −2dt.
        slope, second, third, fourth = ((-2.0) ** j * p for j, p in enumerate(self.profiles(rho), 1))
        t, gap = 1.0 - 0.5 * rho, rho * (1.0 - 0.25 * rho)  # gap = 1 − t²
        # A tangential score has s·x = 0, so that s·y = −s·(x − y), in which nothing cancels.
        a, b = -self.along(s1, rows, cols), -self.along(s2, cols, rows).T
        f1 = gap * third - (d + 1.0) * t * second - (d - 1.0) * slope
        f2 = gap * fourth - (d + 3.0) * t * third - 2.0 * d * second
        out = gap * f2
        out += (a + b - (d - 1.0) * t) * f1
        out += a * b * second
        out += (s1 @ s2.T) * slope
        return np.asarray(out)

    def diagonal(self) -> Array:
        """h(x, x) = (d − 1)[(d + 1)φ″ + (d − 1)φ′] + ‖s‖²φ′ at t = 1."""
        first, second, _, _ = (float(profile[0]) for profile in self.profiles(np.zeros(1)))
        slope, curvature = -2.0 * first, 4.0 * second
        d = self.points.shape[1]
        constant = (d - 1.0) * ((d + 1.0) * curvature + (d - 1.0) * slope)
        return np.asarray(constant + slope * (self.vectors**2).sum(axis=1))


def _require_profiles(kernel: Kernel) -> None:
    """Raise where the kernel is not radial or not smooth enough."""
    if hasattr(kernel, "linear_map"):
        raise InputError(
            "SecondOrder needs a radial kernel, because Δ is not the same in whitened coordinates. Pass the "
            "kernel inside Whitened, or whiten data and model yourself."
        )
    if len(kernel.profiles(np.zeros(1), order=ORDER)) != ORDER + 1:
        raise InputError(
            f"SecondOrder needs four derivatives of the kernel's profile, and {kernel!r} returned fewer from "
            "profiles(rho, order=4). Use Gaussian, IMQ or RationalQuadratic."
        )
