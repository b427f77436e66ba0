"""The second-order operator: the generator of a diffusion, on R^d, spheres, tori and charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.domains.base import Domain
from goodstein.domains.chart import Chart
from goodstein.domains.circle import Torus
from goodstein.domains.sphere import Sphere
from goodstein.errors import ScoreError, describe_rows
from goodstein.models.model import Model
from goodstein.operators.base import tangent
from goodstein.types import Array

if TYPE_CHECKING:
    from goodstein.auditing.report import Check
    from goodstein.kernels.base import Kernel
    from goodstein.stein.forms import BlockForm


@dataclass(frozen=True)
class SecondOrder:
    """A f = Δf + ⟨∇log q, ∇f⟩ for scalar test functions f, with h(x, x′) = A_x A_x′ k(x, x′).

    A is the generator of the diffusion that has q as its stationary law. On a manifold Δ is the
    Laplace–Beltrami operator, so the test depends on no choice of coordinates: on
    :class:`Sphere` it does not change when data and model are rotated. On a :class:`Chart` with
    metric G and J = √det G it is J⁻¹∂_i(J G^ij ∂_j f) + G^ij ∂_i log q ∂_j f.

    It needs four derivatives of the kernel's profile: :class:`Gaussian`, :class:`IMQ`,
    :class:`RationalQuadratic` and their sums have them, :class:`Matern52` has not. Constants are
    the only functions that A annihilates, and they do no harm. It is made for domains without
    boundary; use :class:`Standardised` on the others. Because the operator stresses short lengths,
    its own default kernel is ``IMQ(Median(scale=2.0))``.

    References
    ----------
    Barp, Oates, Porcu, Girolami (2022), A Riemann–Stein kernel method.
    Le, Lewis, Bharath, Fallaize (2024), A diffusion approach to Stein's method on Riemannian
    manifolds.
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

    def features(self, model: Model, domain: Domain, data: Array) -> DiffusionFeatures | SphereFeatures:
        """The operator's coefficients where the kernel looks."""
        if isinstance(domain, Sphere):
            return SphereFeatures(data, domain.project(data, model.score(data)))
        if isinstance(domain, Torus):
            points, tangents = domain.embedded(data), domain.tangents(data)
            drift = np.einsum("nki,ni->nk", tangents, model.score(data)) - points
            return DiffusionFeatures(points, drift, tangents @ tangents.transpose(0, 2, 1))
        if isinstance(domain, Chart):
            points, drift, diffusion = domain.diffusion(data)
            spread = np.einsum("nki,nij->nkj", domain.tangents(data), domain.inverse_metric(data))
            return DiffusionFeatures(
                points, drift + np.einsum("nki,ni->nk", spread, model.score(data)), diffusion
            )
        return DiffusionFeatures(tangent(domain, data), tangent(domain, model.score(data)))

    def default_kernel(self) -> Kernel:
        """IMQ with twice the median bandwidth: second derivatives stress short lengths by themselves."""
        from goodstein.kernels import IMQ, Median

        return IMQ(Median(scale=2.0))

    def conditions(
        self, model: Model, domain: Domain, data: Array | None, rng: np.random.Generator
    ) -> list[Check]:
        """No boundary, or no flux through it; the score that of a density there."""
        from goodstein.auditing.boundary import check_connected
        from goodstein.auditing.manifold import check_flux, check_manifold

        return [
            check_connected(domain),
            check_flux(model, domain, data, rng),
            *check_manifold(model, domain, data, rng),
        ]


@dataclass(frozen=True)
class DiffusionFeatures:
    """ξ_i f = Σ_ab M_i,ab ∂_a∂_b f(y_i) + b_i·∇f(y_i), for one scalar test function f.

    Attributes
    ----------
    points
        y, (n, m).
    drift
        b, (n, m).
    diffusion
        M, (n, m, m), symmetric; None for the identity.
    """

    points: Array
    drift: Array
    diffusion: Array | None = None

    def __post_init__(self) -> None:
        for name, array in (("drift", self.drift), ("diffusion", self.diffusion)):
            _require_finite(name, array, len(self.points))

    def __len__(self) -> int:
        return len(self.points)

    def form(self, kernel: Kernel) -> BlockForm:
        """The Stein matrix under a fitted kernel, block by block."""
        from goodstein.operators.second_order_form import DiffusionForm

        return DiffusionForm(self.points, self.drift, kernel, self.diffusion)


@dataclass(frozen=True)
class SphereFeatures:
    """The second-order operator at unit vectors x with tangential score s, both (n, d)."""

    points: Array
    score: Array

    def __post_init__(self) -> None:
        _require_finite("score", self.score, len(self.points))

    def __len__(self) -> int:
        return len(self.points)

    def form(self, kernel: Kernel) -> BlockForm:
        """The Stein matrix under a fitted kernel, block by block."""
        from goodstein.operators.second_order_form import SphereForm

        return SphereForm(self.points, self.score, kernel)


def _require_finite(name: str, array: Any, n: int) -> None:
    if array is None or np.isfinite(array).all():
        return
    finite = np.isfinite(array).reshape(n, -1).all(axis=1)
    raise ScoreError(f"The operator's {name} is not finite at {describe_rows(~finite)}. Remove these rows.")
