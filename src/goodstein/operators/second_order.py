r"""The second-order operator: the generator of a diffusion, on R^d, spheres, tori and charts.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from goodstein.auditing.conditions import check_connected
from goodstein.auditing.manifold import check_flux, check_manifold
from goodstein.auditing.report import Check
from goodstein.auditing.tails import check_tails
from goodstein.domains import Chart, Domain, Sphere, Torus
from goodstein.errors import InputError
from goodstein.kernels import IMQ, Kernel, Median, Whitened
from goodstein.kernels.frames import Located
from goodstein.models.model import Model
from goodstein.numerics.distances import Placed, placed
from goodstein.operators.base import Operator, tangent
from goodstein.stein.features import joined_arrays, require_finite
from goodstein.stein.forms import BlockForm, Distances, Term
from goodstein.stein.stacked import in_units, times
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
        self.placed = placed(self.points, 0.0, kernel.shortest_length)

    @property
    def n(self) -> int:
        return len(self.points)

    def take(self, index: Any) -> Self:
        taken = object.__new__(type(self))
        taken.__dict__.update(self.__dict__)
        taken.points, taken.placed = self.points[index], self.placed[index]
        taken.vectors = self.vectors[index]
        return taken

    def rho(self, rows: slice, cols: slice) -> Array:
        """Squared distances."""
        return self.placed[rows].squared_distances(self.placed[cols])

    def along(self, vectors: Array, rows: slice, cols: slice) -> Array:
        """v·(y − y′) for vectors v that belong to the rows."""
        x, y = self.points[rows], self.points[cols]
        if self.placed.close:
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
    """The Stein matrix of ξf = Σ M_ab ∂_a∂_b f + b·∇f; without M, (n, m, m), it is the identity."""

    def __init__(self, points: Array, drift: Array, kernel: Kernel, diffusion: Array | None = None) -> None:
        super().__init__(points, drift, kernel)
        self.diffusion = diffusion

    def take(self, index: Any) -> Self:
        taken = super().take(index)
        taken.diffusion = None if self.diffusion is None else self.diffusion[index]
        return taken

    def block(self, rows: slice, cols: slice) -> Array:
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
    """The Stein matrix of the second-order operator at unit vectors with their tangential scores, (n, d)."""

    def __init__(self, points: Array, vectors: Array, kernel: Kernel, units: Array | None = None) -> None:
        super().__init__(points, vectors, kernel)
        self.units = units
        if units is not None:
            self.placed = placed(times(self.points, 1.0 / units), 0.0, kernel.shortest_length)

    def block(self, rows: slice, cols: slice) -> Array:
        rho, s1, s2 = self.rho(rows, cols), self.vectors[rows], self.vectors[cols]
        parts = _parts(rho, self.along(s1, rows, cols), self.along(s2, cols, rows).T, s1 @ s2.T, s1.shape[1])
        return np.asarray(sum(part * p for part, p in zip(parts, self.profiles(rho), strict=True)))

    def _tiles(self, distances: Distances) -> list[Array]:
        """What the derivatives of φ are multiplied by in a tile of several samples."""
        rows, cols = distances.rows, distances.cols
        x, y = (distances.at(self.points, places) for places in (rows, cols))
        s, t = (distances.at(self.vectors, places) for places in (rows, cols))
        forward = np.einsum("kij,kij->ki", s, x)[:, :, None] - s @ y.swapaxes(1, 2)
        backward = np.einsum("kij,kij->ki", t, y)[:, None] - x @ t.swapaxes(1, 2)
        rho = distances.rho
        if self.units is not None:
            rho = rho * self.units[distances.samples, None, None] ** 2
        return _parts(rho, forward, backward, s @ t.swapaxes(1, 2), s.shape[2])

    @property
    def thin_points(self) -> Placed | None:
        return self.placed if self.placed.close else None

    def terms(self, distances: Distances) -> Iterator[Term]:
        parts = distances.kept(self.vectors, lambda: self._tiles(distances))
        # A derivative in the squared distance, where that is counted in squares of a unit.
        per = 1.0 if self.units is None else self.units[distances.samples] ** -2
        for function, multiples in distances.functions(self.kernel, ORDER):
            for order, (part, multiple) in enumerate(zip(parts, multiples[1:], strict=True), 1):
                if multiple != 0.0:
                    yield Term(function, part, None, multiple * per**order)

    def diagonal(self) -> Array:
        """h(x, x) = (d − 1)[(d + 1)φ″ + (d − 1)φ′] + ‖s‖²φ′ at t = 1."""
        first, second, _, _ = (float(profile[0]) for profile in self.profiles(np.zeros(1)))
        slope, curvature = -2.0 * first, 4.0 * second
        d = self.points.shape[1]
        constant = (d - 1.0) * ((d + 1.0) * curvature + (d - 1.0) * slope)
        return np.asarray(constant + slope * (self.vectors**2).sum(axis=1))


def _parts(rho: Array, forward: Array, backward: Array, products: Array, dim: int) -> list[Array]:
    """What φ′, φ″, φ‴ and φ⁗ are multiplied by, whatever the kernel is; from s·(x − y), s′·(y − x) and s·s′.

    With t = x·y, e = 1 − t², c = s·y + s′·x − (d − 1)t and the derivatives k₁, k₂, … of the kernel in t,
    h = e²k₄ + e(c − (d + 3)t)k₃ + (s·y s′·x − (d + 1)tc − 2de)k₂ + (s·s′ − (d − 1)c)k₁.
    """
    # In as few passes and fresh arrays as can be. dρ = −2dt: a derivative in ρ has a factor −2 for each in t.
    d = float(dim)
    t = np.multiply(rho, -0.5)
    t += 1.0
    gap = t + 1.0
    gap *= rho
    gap *= 2.0  # 4(1 − t²)
    # A tangential score has s·x = 0, so that s·y = −s·(x − y), in which nothing cancels.
    second = forward * backward
    c = np.add(forward, backward, out=forward)
    c += np.multiply(t, d - 1.0, out=backward)
    # Here c has the other sign.
    np.multiply(t, d + 3.0, out=backward)
    backward += c
    third = np.multiply(backward, gap, out=backward)
    third *= 2.0
    t *= c
    t *= d + 1.0
    second += t
    second *= 4.0
    second -= np.multiply(gap, 2.0 * d, out=t)
    c *= d - 1.0
    c += products
    c *= -2.0
    gap *= gap
    return [c, second, third, gap]


def _require_profiles(kernel: Kernel) -> None:
    """Raise where the kernel is not radial or not smooth enough."""
    if isinstance(kernel, Whitened):
        raise InputError(
            "SecondOrder needs a radial kernel, because Δ is not the same in whitened coordinates. Pass the "
            "kernel inside Whitened, or whiten data and model yourself."
        )
    if len(kernel.profiles(np.zeros(1), order=ORDER)) != ORDER + 1:
        raise InputError(
            f"SecondOrder needs four derivatives of the kernel's profile, and {kernel!r} returned fewer from "
            "profiles(rho, order=4). Use Gaussian, IMQ or RationalQuadratic."
        )


@dataclass(frozen=True)
class SecondOrder(Operator):
    """A f = Δf + ⟨∇log q, ∇f⟩ for scalar test functions f, with h(x, x′) = A_x A_x′ k(x, x′).

    A is the generator of the diffusion that has q as its stationary law. On a manifold Δ is the
    Laplace–Beltrami operator, so the test depends on no choice of coordinates: on
    :class:`Sphere` it does not change when data and model are rotated. On a :class:`Chart` with
    metric G and J = √det G it is J⁻¹∂_i(J G^ij ∂_j f) + G^ij ∂_i log q ∂_j f.

    It needs four derivatives of the kernel's profile: :class:`Gaussian`, :class:`IMQ`,
    :class:`RationalQuadratic` and their sums have them, :class:`Matern52` has not. It is made for domains
    without boundary; use :class:`Standardised` on the others. Its own default kernel is
    ``IMQ(Median(scale=2.0))``, because it stresses short lengths.

    References
    ----------
    Barp, Oates, Porcu, Girolami (2022), A Riemann–Stein kernel method.
    Le, Lewis, Bharath, Fallaize (2024), A diffusion approach to Stein's method on Riemannian manifolds.
    Xu, Matsuda (2021), Interpretable Stein goodness-of-fit tests on Riemannian manifolds.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.VonMisesFisher([0, 0, 1], 2.0)
    >>> x = model.sample(100, rng=1)
    >>> gs.ksd_test(x, model, operator=gs.SecondOrder(), rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(x, gs.families.UniformOnSphere(3), operator=gs.SecondOrder(), rng=1).pvalue
    0.001
    """

    pointwise = True  # no annotation: not a field

    def features(self, model: Model, domain: Domain, data: Array) -> DiffusionFeatures | SphereFeatures:
        if isinstance(domain, Sphere):
            return SphereFeatures(data, domain.project(data, model.score(data)))
        if isinstance(domain, Torus):
            points, tangents = domain.embedded(data), domain.tangents(data)
            drift = np.einsum("nki,ni->nk", tangents, model.score(data)) - points
            return DiffusionFeatures(points, drift, tangents @ tangents.transpose(0, 2, 1))
        if isinstance(domain, Chart):
            points, drift, diffusion = domain.diffusion(data)
            spread = np.einsum("nki,nij->nkj", domain.tangents(data), domain.inverse_metric(data))
            drift = drift + np.einsum("nki,ni->nk", spread, model.score(data))
            return DiffusionFeatures(points, drift, diffusion)
        return DiffusionFeatures(tangent(domain, data), tangent(domain, model.score(data)))

    def default_kernel(self) -> Kernel:
        return IMQ(Median(scale=2.0))

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        return [
            check_connected(domain),
            check_flux(model, domain, data, rng, self.features),
            *check_manifold(model, domain, data, rng),
        ]

    def thorough(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        """The tails on R^d; the conditions look at the score already."""
        return [check_tails(model, domain, self.boundary_weight, data, rng)] if domain.flat else []


@dataclass(frozen=True)
class DiffusionFeatures(Located):
    """ξ_i f = Σ_ab M_i,ab ∂_a∂_b f(y_i) + b_i·∇f(y_i), for one scalar test function f.

    Points y and drift b, (n, m); diffusion M, (n, m, m), symmetric, None for the identity.
    """

    points: Array
    drift: Array
    diffusion: Array | None = None

    def __post_init__(self) -> None:
        require_finite("Remove these rows.", {"drift": self.drift, "diffusion": self.diffusion})

    def __len__(self) -> int:
        return len(self.points)

    def joined(self, others: Sequence[Self]) -> Self:
        """These and the others, one after another."""
        return joined_arrays(self, others, ("points", "drift", "diffusion"))

    def form(self, kernel: Kernel) -> BlockForm:
        """The Stein matrix under a fitted kernel, block by block."""
        return DiffusionForm(self.points, self.drift, kernel, self.diffusion)


@dataclass(frozen=True)
class SphereFeatures(Located):
    """The second-order operator at unit vectors x with tangential score s, both (n, d)."""

    points: Array
    score: Array

    def __post_init__(self) -> None:
        require_finite("Remove these rows.", {"score": self.score})

    def __len__(self) -> int:
        return len(self.points)

    def joined(self, others: Sequence[Self]) -> Self:
        """These and the others, one after another."""
        return joined_arrays(self, others, ("points", "score"))

    def form(self, kernel: Kernel) -> BlockForm:
        """The Stein matrix under a fitted kernel, block by block."""
        return SphereForm(self.points, self.score, kernel)

    def stacked(self, count: int) -> SphereStack:
        return SphereStack(self, count)


class SphereStack:
    """The same at the unit vectors of several samples."""

    def __init__(self, features: SphereFeatures, count: int) -> None:
        self._features = features
        self._lengths = np.array([Median()(points) for points in np.split(features.points, count)])

    def form(self, kernel: Kernel) -> SphereForm | None:
        """The Stein matrices under a kernel that is not fitted yet; None where that has another rule."""
        fixed = in_units(kernel)
        if fixed is None:
            return None
        return SphereForm(self._features.points, self._features.score, fixed, self._lengths)
