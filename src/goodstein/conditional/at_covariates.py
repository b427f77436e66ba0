"""A model of y given x as what the rest of the library knows: a model of y, or one of (y, x)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.domains.base import Domain
from goodstein.errors import InputError, ScoreError
from goodstein.models.base import AnyModel
from goodstein.models.callables import Kind
from goodstein.models.model import Model
from goodstein.numerics.frameworks import framework_of
from goodstein.types import Array, BoolArray

if TYPE_CHECKING:
    from goodstein.conditional.model import ConditionalModel


class AtCovariates(AnyModel):
    """A conditional model at fixed covariates: what an operator in y takes for a model.

    Row i of every argument belongs to row i of the covariates. Arguments with several times as many rows
    are copies of the observations, one set after the other, as operators on a lattice shift them; a
    single row of covariates thus belongs to all rows.
    """

    def __init__(self, model: ConditionalModel, covariates: Array, flat_x: bool, flat_y: bool) -> None:
        self._model, self._covariates, self._flat = model, covariates, (flat_y, flat_x)
        self.has_score, self.has_logpdf = model.has_score, model.has_logpdf
        self.name, self._domain = model.name, model.domain

    @property
    def domain(self) -> Domain | None:
        return self._domain

    def score(self, y: Array) -> Array:
        """∇_y log p(y | x), (n, q)."""
        kind, key = (Kind.SCORE, "score") if self.has_score else (Kind.LOGPDF, "logpdf")
        return self._joint(key, kind, y).score(self._z(y))[:, : y.shape[1]]

    def logpdf(self, y: Array) -> Array:
        """log p(y | x), (n,)."""
        if not self.has_logpdf:
            raise ScoreError(f"{self.name} has no log density, only a score. Pass `logpdf` as well.")
        return self._joint("logpdf", Kind.LOGPDF, y).logpdf(self._z(y))

    def weighted_score(self, y: Array) -> Array:
        """y ∘ score, (n, q)."""
        return np.asarray(y * self.score(y))

    def on(self, domain: Domain | None) -> AtCovariates:
        flat_y, flat_x = self._flat
        return AtCovariates(self._model.on(domain), self._covariates, flat_x, flat_y)

    def _joint(self, key: str, kind: Kind, y: Array) -> Model:
        return self._model._on_joint_space(key, kind, self._z(y), y.shape[1], self._flat)

    def _z(self, y: Array) -> Array:
        x = self._covariates
        if len(y) % len(x):
            raise InputError(
                f"{self.name}: {len(y)} outcomes were asked for at {len(x)} rows of covariates. The operator "
                "must evaluate the model at the observations, in their order."
            )
        return np.hstack([y, np.tile(x, (len(y) // len(x), 1))])


class Joint:
    """A function of (y, x) as one of z = (y, x); a score has zeros for the covariates."""

    def __init__(self, function: Callable[..., Any], kind: Kind, q: int, flat_y: bool, flat_x: bool) -> None:
        self.function, self.kind, self.q, self.flat_y, self.flat_x = function, kind, q, flat_y, flat_x

    def __call__(self, z: Any) -> Any:
        """Values at all rows, or at one."""
        y, x = z[..., : self.q], z[..., self.q :]
        values = self.function(y[..., 0] if self.flat_y else y, x[..., 0] if self.flat_x else x)
        if self.kind is Kind.LOGPDF:
            return values
        if not hasattr(values, "reshape"):
            values = np.asarray(values)
        if _squeezed(values) != _squeezed(y):  # a transposed array has the right size, too
            raise ScoreError(f"returned shape {tuple(values.shape)}")
        # 0·x + 0: zeros of the same library, dtype and device, without asking which.
        return _concatenate(values.reshape(y.shape), x * 0.0)


class OutcomeDomain(Domain):
    """Pairs (y, x) with y in a domain and any x; derivatives are taken in y only."""

    def __init__(self, inner: Domain, p: int) -> None:
        self._inner, self._p = inner, p

    @property
    def dim(self) -> int:
        return self._inner.dim + self._p

    def contains(self, x: Array) -> BoolArray:
        return self._inner.contains(x[:, : self._inner.dim])

    def boundary_distance(self, x: Array) -> Array:
        return self._inner.boundary_distance(x[:, : self._inner.dim])

    @property
    def basis(self) -> Array:
        own = self._inner.basis
        rows = np.eye(self._inner.dim) if own is None else own
        return np.hstack([rows, np.zeros((len(rows), self._p))])

    def __repr__(self) -> str:
        return repr(self._inner)


def _squeezed(values: Any) -> list[int]:
    """The shape without axes of length one."""
    return [int(length) for length in values.shape if length != 1]


def _concatenate(left: Any, right: Any) -> Any:
    """Side by side, in the array library of the left one."""
    library = framework_of(left)
    if library == "torch":
        import torch

        return torch.cat([left, torch.as_tensor(right, dtype=left.dtype)], dim=-1)
    if library == "jax":
        import jax.numpy as jnp

        return jnp.concatenate([left, jnp.asarray(right)], axis=-1)
    return np.concatenate([left, right], axis=-1)
