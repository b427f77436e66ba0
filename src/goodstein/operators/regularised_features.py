"""Features of a regularised operator: those that are tested, and the reference points that they share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from goodstein.kernels.frames import Frame, Located
from goodstein.lazy import Kept, cached_property
from goodstein.operators.embedding import EmbeddingFeatures
from goodstein.operators.regularised_form import (
    DrawnForm,
    Factor,
    Projection,
    RegularisedForm,
    ridge_of,
    whole,
)
from goodstein.stein.features import Features, SteinFeatures
from goodstein.stein.forms import BlockForm, LowRankForm, finite_diagonal
from goodstein.types import Array

DRAWS = 500
"""Draws from the model where nothing is said, at most; more cost more and tell little."""
ROUNDING = 1e-9
"""Entries of a Stein matrix that differ by less than this share of the largest are the same."""


@dataclass(frozen=True)
class RegularisedFeatures(Located):
    """Features of the operator inside, and which of them are reference points, which are tested."""

    inner: Features
    reference: npt.NDArray[np.intp]
    rest: npt.NDArray[np.intp]
    n_data: int
    strength: float

    @property
    def points(self) -> Any:
        """Those of all data, so that the bandwidth is that of the plain test."""
        return self.inner.points[: self.n_data]

    def beside(self, inner: Features, count: int) -> RegularisedFeatures:
        """With so many other observations at the end of the features inside, to be looked at too."""
        rest = np.concatenate([self.rest, self.n_data + np.arange(count)])
        return replace(self, inner=inner, rest=rest)

    @cached_property
    def frame(self) -> Frame | None:
        """That of the plain test too."""
        inner = self.inner
        if isinstance(inner, SteinFeatures):
            inner = inner.take(np.arange(self.n_data))
        return inner.frame if isinstance(inner, Located) else None

    def form(self, kernel: Any) -> BlockForm:
        """The regularised Stein matrix of the tested rows."""
        inner = self.inner.form(kernel)
        ridge = ridge_of(finite_diagonal(inner, self.n_data)[self.reference], self.strength)
        if len(self.rest) == len(self.reference) and (self.rest == self.reference).all():
            return whole(inner, ridge)
        joint, m = inner.take(np.concatenate([self.reference, self.rest])), len(self.reference)
        factor = Factor(inner.take(self.reference), ridge)
        projection = Projection(joint, slice(0, m), slice(m, joint.n), factor)
        return RegularisedForm(inner.take(self.rest), projection.values, ridge)


@dataclass(frozen=True)
class DrawnFeatures(Located):
    """Features of the operator inside at n observations, and behind them at draws of the model.

    `samples` are those of several samples, to be looked at in the place of the n observations.
    """

    inner: Features
    n: int
    strength: float
    reference: Reference
    samples: EmbeddingFeatures | None = None

    @property
    def points(self) -> Any:
        """Those of the draws: kernel and covariance are then the same whatever the data."""
        return self.shared.points

    @cached_property
    def shared(self) -> Located:
        return self.reference.seen(self.inner, self.n)

    def beside(self, inner: Features, count: int) -> RegularisedFeatures:
        """With so many other observations at the end of the features inside, to be looked at too."""
        n, drawn = self.n, len(self.reference.draws)
        rest = np.concatenate([np.arange(n), n + drawn + np.arange(count)])
        return RegularisedFeatures(inner, np.arange(n, n + drawn), rest, n, self.strength)

    def form(self, kernel: Any) -> BlockForm:
        """The regularised Stein matrix of the observations."""
        if self.samples is not None:
            # With the same draws and kernel for all samples.
            whitening = self.reference.kept(lambda: self._whitening(kernel), 0, kernel, self.samples.drawn)
            return LowRankForm(self.samples.form(kernel).tau @ whitening)
        inner, n = self.inner.form(kernel), self.n
        diagonal = finite_diagonal(inner, n)[n:]
        if (tau := inner.factor) is not None and tau.shape[1] <= DRAWS:
            whitening = self.reference.whitening(tau[n:], ridge_of(diagonal, self.strength))
            return LowRankForm(tau[:n] @ whitening)
        factor, ridge = self.reference.factor(inner, n, diagonal, self.strength, kernel)
        projection = Projection(inner, slice(n, inner.n), slice(0, n), factor)
        return DrawnForm(inner.take(np.arange(n)), projection, ridge, self.strength)

    def _whitening(self, kernel: Any) -> Array:
        """That of the draws, which the operator inside looks at through no more functions than draws."""
        tau = self.inner.form(kernel).factor
        assert tau is not None
        tau = tau[self.n :]
        return self.reference.whitening(tau, ridge_of((tau**2).sum(axis=1), self.strength))


@dataclass(frozen=True, eq=False)
class _Points(Located):
    """Points alone."""

    points: Any


class Reference:
    """Draws of the model at which the covariance is taken, with what was made of them for other data.

    That is used again if the features at the draws are the same, as they are for operators that look at each
    point by itself; if they are not it is made anew.
    """

    def __init__(self, draws: Array) -> None:
        self.draws = draws
        self.kept = Kept()
        self._features: SteinFeatures | None = None
        self._factored: tuple[Any, Array, Factor, float] | None = None
        self._whitening: tuple[Array, Array] | None = None

    def seen(self, inner: Any, n: int) -> Located:
        """What kernels are fitted to, of features at n observations and the draws."""
        if not isinstance(inner, SteinFeatures):
            shared = inner.shared if isinstance(inner, Located) else None
            return shared if shared is not None else _Points(inner.points[n:])
        own, before = inner.take(np.arange(n, len(inner))), self._features
        if before is not None and own.equals(before):
            return before
        self._features = own
        return own

    def factor(
        self, inner: BlockForm, n: int, diagonal: Array, strength: float, kernel: Any
    ) -> tuple[Factor, float]:
        """L with L Lᵀ = mλI + h(Z, Z), and λ."""
        probe = np.concatenate([diagonal, inner.block(slice(n, n + 1), slice(n, inner.n))[0]])
        before = self._factored
        same = before is not None and before[0] is kernel and _close(before[1], probe)
        if before is None or not same:
            ridge = ridge_of(diagonal, strength)
            factor = Factor(inner.take(np.arange(n, inner.n)), ridge)
            self._factored = before = kernel, probe, factor, ridge
        return before[2], before[3]

    def whitening(self, tau: Array, ridge: float) -> Array:
        """C with C Cᵀ = (A + λ)⁻¹, A = τᵀτ/m at the reference points: h_λ = τCCᵀτᵀ where h = ττᵀ."""
        before = self._whitening
        if before is None or not np.array_equal(before[0], tau):
            from scipy.linalg import solve_triangular

            m, c = tau.shape
            lower = np.linalg.cholesky(tau.T @ tau / m + ridge * np.eye(c))
            self._whitening = before = tau, solve_triangular(lower, np.eye(c), lower=True).T
        return before[1]

    def __reduce__(self) -> tuple[type[Reference], tuple[Array]]:
        return Reference, (self.draws,)


def _close(one: Array, other: Array) -> bool:
    """Whether numbers differ by rounding only: products are taken about a centre that moves with the data."""
    return bool(np.abs(one - other).max() <= ROUNDING * np.abs(one).max())
