r"""Scores of Gaussian mixtures and their derivatives in the parameters.

With responsibilities r_c, component scores s_c = Λ_c(μ_c − x) and Λ_c the precisions,

    s = Σ_c r_c s_c,       ∂_k s_k = Σ_c r_c (s_ck² − Λ_c,kk) − s_k².

For constants V, W let F = Σ_k V_k s_k + W_k ∂_k s_k, U = V − 2W∘s and
m_c = Σ_k U_k s_ck + W_k (s_ck² − Λ_c,kk). Then dF = Σ_c r_c (m_c − Σ_e r_e m_e) da_c + r_c dm_c, where
a_c = log w_c N(x; μ_c, Σ_c), because dr_c = r_c (da_c − Σ_e r_e da_e). Where the precisions are
diagonal all sums over rows are products of (n, K) and (n, d) matrices, and no (n, K, d) array is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from goodstein.estimate.base import Evaluation
from goodstein.types import Array


@dataclass(frozen=True)
class ComponentGradients:
    """Derivatives of F: in the means (…, K, d), in the shapes (…, K, ·), in the logits (…, K)."""

    means: Array
    shapes: Array
    logits: Array


def responsibilities(joint: Array) -> Array:
    """exp(a_c) / Σ_e exp(a_e), (n, K)."""
    r = joint - joint.max(axis=1, keepdims=True)
    np.exp(r, out=r)
    r /= r.sum(axis=1, keepdims=True)
    return np.asarray(r)


class DiagonalComponents:
    """Components with diagonal covariances; shapes are the logarithms of the standard deviations, (K, d)."""

    def __init__(self, x: Array, means: Array, log_scales: Array, log_weights: Array) -> None:
        self.x, self.means = x, means
        self.precision = lam = np.exp(-2.0 * log_scales)
        self._lam_mu, self._lam_mu2 = lam * means, lam * means**2
        # One product for all of a_c = constant + x·Λμ − ½x²·Λ: few passes over the (n, K) array.
        constant = log_weights - log_scales.sum(axis=1) - 0.5 * self._lam_mu2.sum(axis=1)
        powers = np.hstack([x, x**2, np.ones((len(x), 1))])
        self.r = r = responsibilities(powers @ np.hstack([self._lam_mu, -0.5 * lam, constant[:, None]]).T)
        self.score = r @ self._lam_mu - x * (r @ lam)

    def second(self) -> Array:
        """∂_k s_k, (n, d)."""
        r, lam, x = self.r, self.precision, self.x
        squares = r @ (lam * self._lam_mu2) - 2.0 * x * (r @ (lam * self._lam_mu)) + x**2 * (r @ lam**2)
        return np.asarray(squares - r @ lam - self.score**2)

    def _moments(self, v: Array, w: Array | None) -> tuple[Array, Array]:
        """U, and r_c (m_c − m̄), (n, K)."""
        r, lam, x = self.r, self.precision, self.x
        u = v if w is None else v - 2.0 * w * self.score
        left, right = [u, u * x], [self._lam_mu, -lam]
        if w is not None:
            left += [w, w * x, w * x**2]
            right += [lam * self._lam_mu2 - lam, -2.0 * lam * self._lam_mu, lam**2]
        m = np.hstack(left) @ np.hstack(right).T
        m -= np.einsum("nk,nk->n", r, m)[:, None]
        m *= r
        return u, m

    def pullback(self, v: Array, w: Array | None) -> ComponentGradients:
        """Derivatives of the sum of F over the rows."""
        r, lam, mu, x = self.r, self.precision, self.means, self.x
        u, q = self._moments(v, w)
        q0, q1, q2 = q.sum(axis=0)[:, None], q.T @ x, q.T @ x**2
        ru, rux = r.T @ u, r.T @ (u * x)
        means = lam * (q1 - mu * q0 + ru)
        shapes = lam * (q2 - 2.0 * mu * q1 + mu**2 * q0) - q0 - 2.0 * lam * (mu * ru - rux)
        if w is not None:
            rw, rwx, rwx2 = r.T @ w, r.T @ (w * x), r.T @ (w * x**2)
            means += 2.0 * lam**2 * (mu * rw - rwx)
            shapes += 2.0 * lam * rw - 4.0 * lam**2 * (mu**2 * rw - 2.0 * mu * rwx + rwx2)
        return ComponentGradients(means, shapes, q0[:, 0])

    def pullback_each(self, v: Array, w: Array | None) -> ComponentGradients:
        """The same for every row."""
        r, lam = self.r[:, :, None], self.precision
        u, q = self._moments(v, w)
        s = lam * (self.means - self.x[:, None, :])
        e = r * u[:, None, :]
        if w is not None:
            e = e + 2.0 * r * w[:, None, :] * s
        q3 = q[:, :, None]
        means = -q3 * s + lam * e
        shapes = q3 * (s**2 / lam - 1.0) - 2.0 * e * s
        if w is not None:
            shapes = shapes + 2.0 * r * lam * w[:, None, :]
        return ComponentGradients(means, shapes, q)


class FullComponents:
    """Components with any covariances Σ_c = f²I + C_cC_cᵀ, f a floor; shapes are the factors C_c, (K, d, d).

    The floor is built in, so that no component can collapse whatever the factors are.
    """

    def __init__(self, x: Array, means: Array, factors: Array, log_weights: Array, floor: float) -> None:
        d = x.shape[1]
        self.means, self.factors = means, factors
        self.covariance = factors @ factors.transpose(0, 2, 1) + floor**2 * np.eye(d)
        self.precision = np.linalg.inv(self.covariance)
        self.y = x - means[:, None, :]  # (K, n, d)
        self.s = -self.y @ self.precision
        logarithm = np.linalg.slogdet(self.precision)[1][:, None] + (self.y * self.s).sum(axis=2)
        self.r = responsibilities((log_weights[:, None] + 0.5 * logarithm).T)
        self.score = np.asarray(np.einsum("nk,knd->nd", self.r, self.s))

    def second(self) -> Array:
        """∂_k s_k, (n, d)."""
        variance = np.diagonal(self.precision, axis1=1, axis2=2)
        squares = np.einsum("nk,knd->nd", self.r, self.s**2)
        return np.asarray(squares - self.r @ variance - self.score**2)

    def pullback(self, v: Array, w: Array | None) -> ComponentGradients:
        """Derivatives of the sum of F over the rows."""
        e, q = self._moments(v, w)
        # F changes by Σ_kl gradient_kl dΛ_kl through dm_c, and through da_c = ½tr(ΣdΛ) − ½yᵀdΛy.
        through = -e.transpose(0, 2, 1) @ self.y
        through -= 0.5 * (q.T[:, :, None] * self.y).transpose(0, 2, 1) @ self.y
        through += 0.5 * q.sum(axis=0)[:, None, None] * self.covariance
        if w is not None:
            through[:, np.arange(w.shape[1]), np.arange(w.shape[1])] -= self.r.T @ w
        means = np.einsum("kab,kb->ka", self.precision, e.sum(axis=1)) - np.einsum("nk,knd->kd", q, self.s)
        return ComponentGradients(means, self._factors(through), q.sum(axis=0))

    def pullback_each(self, v: Array, w: Array | None) -> ComponentGradients:
        """The same for every row."""
        e, q = self._moments(v, w)
        n, d = v.shape
        through = -e[..., :, None] * self.y[..., None, :]
        through -= 0.5 * q.T[:, :, None, None] * self.y[..., :, None] * self.y[..., None, :]
        through += 0.5 * q.T[:, :, None, None] * self.covariance[:, None]
        if w is not None:
            through[..., np.arange(d), np.arange(d)] -= self.r.T[:, :, None] * w
        shapes = np.stack([self._factors(through[:, i]) for i in range(n)])
        means = np.einsum("kab,knb->nka", self.precision, e) - (q.T[:, :, None] * self.s).transpose(1, 0, 2)
        return ComponentGradients(means, shapes, q)

    def _moments(self, v: Array, w: Array | None) -> tuple[Array, Array]:
        """r_c (U + 2W∘s_c), (K, n, d), and r_c (m_c − m̄), (n, K)."""
        r = self.r.T[:, :, None]
        u = v if w is None else v - 2.0 * w * self.score
        inner = u * self.s
        e = r * u
        if w is not None:
            variance = np.diagonal(self.precision, axis1=1, axis2=2)[:, None, :]
            inner = inner + w * (self.s**2 - variance)
            e = e + 2.0 * r * w * self.s
        m = inner.sum(axis=2).T
        return e, self.r * (m - (self.r * m).sum(axis=1, keepdims=True))

    def _factors(self, through: Array) -> Array:
        """From derivatives in the precisions to those in the factors, (K, d, d)."""
        # dΛ = −Λ dΣ Λ and dΣ = dC Cᵀ + C dCᵀ.
        in_covariance = -self.precision @ through @ self.precision
        return np.asarray((in_covariance + in_covariance.transpose(0, 2, 1)) @ self.factors)


Components = DiagonalComponents | FullComponents


class MixtureEvaluation(Evaluation):
    """Scores of a mixture at some rows, in the units of the data; `assemble` makes gradients in θ."""

    def __init__(
        self, parts: Components, unit: float, assemble: Callable[[ComponentGradients], Array], second: bool
    ) -> None:
        self._parts, self._unit, self._assemble = parts, unit, assemble
        self.score = parts.score / unit
        self.second = parts.second() / unit**2 if second else np.zeros_like(parts.score)

    def pullback(self, on_score: Array, on_second: Array | None, *, each: bool = False) -> Array:
        w = None if on_second is None else on_second / self._unit**2
        pull = self._parts.pullback_each if each else self._parts.pullback
        return self._assemble(pull(on_score / self._unit, w))
