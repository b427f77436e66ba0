r"""A kernel on configurations of points, and the Stein matrix that it makes.

A configuration φ is embedded as the function μ_φ = Σ_{x∈φ} l(x, ·), with l a Gaussian kernel on the
window. One point more or less moves the embedding by ± l(u, ·), so that all that a Stein matrix needs
follows from values of l between points and nodes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from goodstein.constraints import check_flag, number
from goodstein.errors import InputError, given
from goodstein.kernels import Gaussian, Kernel, Median
from goodstein.numerics.distances import placed
from goodstein.patterns.data import Patterns
from goodstein.types import Array

DEFAULT_BANDWIDTH = Median(0.25)

LARGEST_RATE = 20.0
"""Up to this 1/s² the exponential of a distance is taken apart into factors; beyond, they might overflow."""

ROWS = 512
"""Points that are compared with all others at a time."""


@dataclass(frozen=True)
class ConfigurationKernel(Kernel):
    r"""A Gaussian kernel of the distance between two configurations' embeddings.

    .. math::

        k(\varphi, \psi) = \exp\Bigl(-\frac{\|\mu_\varphi - \mu_\psi\|^2}{2 s^2}\Bigr), \qquad
        \mu_\varphi = \sum_{x \in \varphi} l(x, \cdot), \qquad
        l(x, y) = \exp\Bigl(-\frac{\|x - y\|^2}{2 \ell^2}\Bigr).

    The sum, unlike the mean, also sees how many points there are, and the empty configuration needs
    no convention: its embedding is zero.

    Parameters
    ----------
    bandwidth
        ℓ: a positive number, or a rule such as ``Median(0.5)``; None takes a quarter of the median distance
        between the points of all patterns together, since clusters and gaps are shorter than the median.
    scale
        s: a positive number; None takes the median distance between the embeddings of two patterns.
    normalised
        Whether the embedding is the mean instead of the sum, as in the reference. Then the kernel is all but
        blind to the number of points, and by convention k = 1 for two empty configurations and 0 for one.

    References
    ----------
    Yang, Rao, Neville (2019), A Stein–Papangelou goodness-of-fit test for point processes; their kernel
    is ``ConfigurationKernel(Median(0.5**0.5), scale=0.5**0.5, normalised=True)``.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.patterns import ConfigurationKernel
    >>> kernel = ConfigurationKernel(bandwidth=1.0, scale=1.0)
    >>> kernel([np.zeros((0, 2)), np.zeros((1, 2))], [np.zeros((2, 2))])
    array([[0.13533528],
           [0.60653066]])
    """

    bandwidth: float | Median | None = None
    scale: float | None = None
    normalised: bool = False

    def __post_init__(self) -> None:
        # The same checks in the same words as for any kernel.
        object.__setattr__(self, "bandwidth", Gaussian(self.bandwidth).bandwidth)
        check_flag(self.normalised, "normalised", of="ConfigurationKernel")
        if self.scale is not None:
            number(
                self.scale, "scale", of="ConfigurationKernel", above=0.0, wanted="a positive number or None"
            )

    @property
    def bandwidths(self) -> float | None:
        return self.bandwidth if isinstance(self.bandwidth, float) else None

    def fitted(self, patterns: Patterns) -> ConfigurationKernel:
        """The same kernel with bandwidth and scale numbers."""
        if not isinstance(patterns, Patterns):
            raise InputError(f"{self!r} compares point patterns, and these are none.", argument="kernel")
        kernel = self
        if not isinstance(self.bandwidth, float):
            if len(patterns.pooled) < 2:
                raise InputError(
                    f"`patterns` hold {len(patterns.pooled)} points in all, too few for a bandwidth. "
                    f"Pass {given('kernel', 'ConfigurationKernel(bandwidth=...)')}."
                )
            rule = DEFAULT_BANDWIDTH if self.bandwidth is None else self.bandwidth
            kernel = replace(kernel, bandwidth=Gaussian(rule).fitted(patterns.pooled).length)
        return kernel if self.scale is not None else replace(kernel, scale=kernel._median_distance(patterns))

    def __call__(self, phi: Sequence[Array], psi: Sequence[Array]) -> Array:
        """k(φ_i, ψ_j) for lists of configurations, each an array (k, d)."""
        out = np.empty((len(phi), len(psi)))
        inner = [[self._inner(a, b) for b in psi] for a in phi]
        own_phi, own_psi = [self._inner(a, a) for a in phi], [self._inner(b, b) for b in psi]
        for i, a in enumerate(phi):
            for j, b in enumerate(psi):
                if self.normalised and not (len(a) and len(b)):
                    out[i, j] = float(len(a) == len(b))
                else:
                    out[i, j] = math.exp(-0.5 * self._rate * (own_phi[i] + own_psi[j] - 2.0 * inner[i][j]))
        return out

    def stein_matrix(self, patterns: Patterns, nodes: Array, weights: Array) -> Array:
        r"""The matrix h(φ_i, φ_j), (m, m), for birth rates that are integrated by nodes.

        Every observation is the signed measure

            Σ_u w_u δ_{φ + u} + Σ_{x∈φ} δ_{φ − x} − (Σ_u w_u + ∣φ∣) δ_φ

        on configurations, and h(φ, ψ) is the sum of k over the product of two of them. Weights w are those
        of the nodes u, (N, d), times the conditional intensity there, for every pattern, (m, N).
        """
        sums = _Sums(Gaussian(self.bandwidth), patterns, nodes)
        factored = not self.normalised and self._rate <= LARGEST_RATE
        return _factored(sums, weights, self._rate) if factored else self._direct(sums, weights)

    @property
    def _rate(self) -> float:
        """1/s²."""
        if self.scale is None:
            raise InputError(f"{self!r} has no scale yet: call .fitted(patterns) first.")
        return 1.0 / float(self.scale) ** 2

    def _inner(self, a: Array, b: Array) -> float:
        """⟨μ_a, μ_b⟩."""
        if not (len(a) and len(b)):
            return 0.0
        total = float(Gaussian(self.bandwidth)(a, b).sum())
        return total / (len(a) * len(b)) if self.normalised else total

    def _median_distance(self, patterns: Patterns) -> float:
        """The median distance between two embeddings; where it is zero, the mean of the positive ones."""
        inner = _Sums(Gaussian(self.bandwidth), patterns, np.empty((0, patterns.dim))).inner
        if self.normalised:
            filled = patterns.counts > 0
            size = patterns.counts[filled].astype(float)
            inner = inner[np.ix_(filled, filled)] / np.outer(size, size)
        norms = inner.diagonal()
        squared = (norms[:, None] + norms - 2.0 * inner)[~np.tri(len(inner), dtype=bool)]
        squared[squared <= 1e-12 * (norms.max() if norms.size else 0.0)] = 0.0
        distances = np.sqrt(squared)
        median = float(np.median(distances)) if distances.size else 0.0
        if median == 0.0:
            positive = distances[distances > 0]
            if not positive.size:
                raise InputError(
                    "all patterns are equal to this kernel, so no scale can be taken from them. "
                    f"Check the data, or pass {given('kernel', 'ConfigurationKernel(scale=...)')}.",
                    argument="patterns",
                )
            median = float(positive.mean())
        return median

    def _direct(self, sums: _Sums, weights: Array) -> Array:
        """Every k(φ ± u, ψ ± v) by itself."""
        m = len(sums.patterns)
        steps = [_Steps(sums, weights, i, self.normalised) for i in range(m)]
        out = np.empty((m, m))
        for i, a in enumerate(steps):
            for j in range(i, m):
                b = steps[j]
                inner = sums.inner[i, j] + np.add.outer(a.sign * a.sums[:, j], b.sign * b.sums[:, i])
                inner += np.outer(a.sign, b.sign) * sums.base(a.places, b.places)
                squared = np.add.outer(a.norms / a.size**2, b.norms / b.size**2)
                squared -= 2.0 * inner / np.outer(a.size, b.size)
                k = np.exp(-0.5 * self._rate * np.maximum(squared, 0.0))
                if self.normalised:
                    k[a.empty] = k[:, b.empty] = 0.0
                    k[np.ix_(a.empty, b.empty)] = 1.0
                out[i, j] = out[j, i] = a.weight @ k @ b.weight
        return out


class _Sums:
    """Values of the embeddings at points and nodes."""

    def __init__(self, kernel: Gaussian, patterns: Patterns, nodes: Array) -> None:
        self.kernel, self.patterns, self.nodes = kernel, patterns, nodes
        pooled = patterns.pooled
        self.centre = pooled.mean(axis=0) if len(pooled) else np.zeros(patterns.dim)
        self.at_points = np.empty((len(pooled), len(patterns)))  # μ_j at each point
        for start in range(0, len(pooled), ROWS):
            rows = slice(start, start + ROWS)
            self.at_points[rows] = patterns.total(self.base(pooled[rows], pooled))
        self.at_nodes = patterns.total(self.base(nodes, pooled)).T  # (m, N)
        self.inner = patterns.total(self.at_points.T)  # ⟨μ_i, μ_j⟩

    def base(self, x: Array, y: Array) -> Array:
        """l(x, y), by one matrix product: the points of a window are never far from its centre."""
        rho = placed(x, self.centre).squared_distances(placed(y, self.centre))
        rho *= -0.5 / self.kernel.length**2
        return np.asarray(np.exp(rho, out=rho))


class _Steps:
    """The configurations φ, φ + u and φ − x of one observation, with their weights."""

    def __init__(self, sums: _Sums, weights: Array, i: int, normalised: bool) -> None:
        patterns, nodes = sums.patterns, sums.nodes
        own = slice(patterns.starts[i], patterns.starts[i + 1])
        count, n = int(patterns.counts[i]), len(nodes)
        self.places = np.vstack([nodes, patterns[i], np.zeros((1, patterns.dim))])
        self.sign = np.concatenate([np.ones(n), -np.ones(count), [0.0]])
        self.weight = np.concatenate([weights[i], np.ones(count), [-(weights[i].sum() + count)]])
        self.sums = np.vstack([sums.at_nodes.T, sums.at_points[own], np.zeros((1, len(patterns)))])
        self.norms = sums.inner[i, i] + 2.0 * self.sign * self.sums[:, i] + self.sign**2
        size = count + self.sign
        self.empty = np.asarray(size == 0)
        self.size = np.where(self.empty, 1.0, size) if normalised else np.ones(len(size))


def _factored(sums: _Sums, weights: Array, rate: float) -> Array:
    r"""The Stein matrix of the Gaussian kernel of sums, with all exponentials taken apart.

    With D = μ_φ − μ_ψ and signs σ, τ = ±1 for births and deaths,

        ‖D + σ l_u − τ l_v‖² = ‖D‖² + (2σ D(u) + 1) + (1 − 2τ D(v)) − 2στ l(u, v),

    so k = e^{−‖D‖²/2s²} a_u b_v e^{στ l(u,v)/s²}, and with E = e^{στ l/s²} − 1

        h(φ, ψ) = e^{−‖D‖²/2s²} [ (Σ w_u(a_u − 1)) (Σ w_v(b_v − 1)) + Σ_uv w_u a_u E_uv w_v b_v ].
    """
    patterns, nodes = sums.patterns, sums.nodes
    m, pooled, starts = len(patterns), patterns.pooled, patterns.starts
    norms = sums.inner.diagonal()
    # exp is several times as fast as expm1, and precise enough unless one point hardly moves a pattern.
    grow = _exp_minus_one if rate > 1e-4 else np.expm1
    between_nodes = grow(rate * sums.base(nodes, nodes))
    to_nodes = grow(-rate * sums.base(pooled, nodes))
    own = sums.at_points[np.arange(len(pooled)), np.repeat(np.arange(m), patterns.counts)]
    out = np.empty((m, m))
    for i in range(m):
        mine = slice(starts[i], starts[i + 1])
        rest = slice(i, m)
        difference = sums.at_nodes[i] - sums.at_nodes[rest]  # D at the nodes, for all j ≥ i
        shift_birth = grow(-rate * (difference + 0.5))
        shift_death = grow(rate * ((own[mine] - sums.at_points[mine, rest].T) - 0.5))
        first = shift_birth @ weights[i] + shift_death.sum(axis=1)
        births = (shift_birth + 1.0) * weights[i]
        deaths = shift_death + 1.0
        theirs = grow(rate * (difference - 0.5))
        second = np.einsum("jn,jn->j", theirs, weights[rest])
        cross = np.einsum(
            "jn,jn->j", births @ between_nodes + deaths @ to_nodes[mine], (theirs + 1.0) * weights[rest]
        )
        points = slice(starts[i], len(pooled))
        last = grow(-rate * ((sums.at_points[points, i] - own[points]) + 0.5))
        between = grow(rate * sums.base(pooled[mine], pooled[points]))
        for j in range(i, m):
            part = slice(starts[j] - starts[i], starts[j + 1] - starts[i])
            second[j - i] += last[part].sum()
            reached = to_nodes[starts[j] : starts[j + 1]] @ births[j - i] + deaths[j - i] @ between[:, part]
            cross[j - i] += reached @ (last[part] + 1.0)
        gap = np.maximum(norms[i] + norms[rest] - 2.0 * sums.inner[i, rest], 0.0)
        out[i, rest] = out[rest, i] = np.exp(-0.5 * rate * gap) * (first * second + cross)
    return out


def _exp_minus_one(x: Array) -> Array:
    out = np.exp(x)
    out -= 1.0
    return np.asarray(out)


def generic_stein_matrix(kernel: Any, patterns: Patterns, nodes: Array, weights: Array) -> Array:
    """The same matrix for any kernel that is a function of two lists of configurations; slow."""
    lists, signed = [], []
    for pattern, weight in zip(patterns, weights, strict=True):
        births = [np.vstack([pattern, u]) for u in nodes]
        deaths = [np.delete(pattern, k, axis=0) for k in range(len(pattern))]
        lists.append([*births, *deaths, pattern])
        signed.append(np.concatenate([weight, np.ones(len(pattern)), [-(weight.sum() + len(pattern))]]))
    m = len(patterns)
    out = np.empty((m, m))
    for i in range(m):
        for j in range(i, m):
            out[i, j] = out[j, i] = signed[i] @ np.asarray(kernel(lists[i], lists[j])) @ signed[j]
    return out
