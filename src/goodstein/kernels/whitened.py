"""A full preconditioning metric for any kernel."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from goodstein.errors import InputError
from goodstein.kernels.base import Kernel, as_kernel
from goodstein.kernels.imq import IMQ
from goodstein.types import Array


@dataclass(frozen=True, eq=False)
class Whitened(Kernel):
    """A kernel in coordinates y = Lᵀx in which the data have unit covariance.

    The whole test moves to these coordinates: the test functions are f(x) = L⁻ᵀf̃(y), so
    that with the sample covariance as the metric the statistic does not change under any
    invertible linear map of data and model. Use it for anisotropic data, where one bandwidth
    for all directions is too wide for some and too narrow for others.

    Parameters
    ----------
    kernel
        The radial kernel that acts on the whitened points.
    metric
        Symmetric positive definite matrix M = LLᵀ, usually a precision matrix; None takes the
        inverse sample covariance of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.kernels import Gaussian, Whitened
    >>> fitted = Whitened(Gaussian()).fitted(np.random.default_rng(0).normal(size=(50, 2)) * [1, 100])
    >>> fitted.linear_map.shape
    (2, 2)
    """

    kernel: Kernel = field(default_factory=IMQ)
    metric: Array | None = None

    def __post_init__(self) -> None:
        if isinstance(self.kernel, Whitened):
            raise InputError("A whitened kernel cannot be whitened again.")
        object.__setattr__(self, "kernel", as_kernel(self.kernel))
        if self.metric is not None:
            metric = np.array(self.metric, dtype=float)
            if metric.ndim != 2 or metric.shape[0] != metric.shape[1] or not np.allclose(metric, metric.T):
                raise InputError(
                    f"`metric` of Whitened must be a symmetric (m, m) matrix, got shape {metric.shape}."
                )
            _cholesky(metric, "`metric` of Whitened is not positive definite")
            metric.setflags(write=False)
            object.__setattr__(self, "metric", metric)

    @property
    def linear_map(self) -> Array:
        """L, lower triangular, with metric = LLᵀ."""
        if self.metric is None:
            raise InputError(f"{self!r} has no metric yet: call .fitted(points) first.")
        return _cholesky(self.metric, "`metric` of Whitened is not positive definite")

    def coordinates(self, points: Array) -> Array:
        """The whitened points, y = Lᵀx."""
        return np.asarray(points @ self.linear_map)

    @property
    def plain(self) -> Kernel:
        return self.kernel

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Whitened) and self._value() == other._value()

    def __hash__(self) -> int:
        return hash(self._value())

    def _value(self) -> tuple[Any, ...]:
        """The kernel and the entries of the metric, by which equal ones are known."""
        metric = tuple(map(tuple, self.metric)) if isinstance(self.metric, np.ndarray) else self.metric
        return self.kernel, metric

    @property
    def terms(self) -> tuple[Kernel, ...]:
        return self.kernel.terms

    @property
    def bandwidths(self) -> float | list[Any] | None:
        return self.kernel.bandwidths

    def scaled(self, factor: float) -> Whitened:
        return replace(self, kernel=self.kernel.scaled(factor))

    def __call__(self, x: Any, y: Any) -> Array:
        return self.kernel(self.coordinates(np.asarray(x, float)), self.coordinates(np.asarray(y, float)))

    def fitted(self, points: Array) -> Whitened:
        metric = self.metric
        if metric is None:
            n, m = points.shape
            if n <= m:
                raise InputError(
                    f"Whitened needs more points than dimensions to estimate a covariance, got {n} points "
                    f"in {m} dimensions. Pass `metric`, or use the kernel without whitening."
                )
            covariance = np.atleast_2d(np.cov(points, rowvar=False))
            spread = np.sqrt(np.diag(covariance))
            if not (spread > 0).all():
                raise InputError("a coordinate is constant, so the data cannot be whitened.", argument="data")
            correlation = covariance / np.outer(spread, spread)
            _cholesky(correlation, "`data` lie in a subspace, so they cannot be whitened")
            precision = np.linalg.inv(correlation) / np.outer(spread, spread)
            metric = np.asarray(0.5 * (precision + precision.T), dtype=np.float64)
        elif metric.shape[0] != points.shape[1]:
            raise InputError(
                f"`metric` of Whitened is {metric.shape[0]}×{metric.shape[0]}, but the points have "
                f"{points.shape[1]} coordinates."
            )
        whitened = Whitened(self.kernel, metric)
        return Whitened(self.kernel.fitted(whitened.coordinates(points)), metric)

    def __repr__(self) -> str:
        return f"Whitened({self.kernel!r})"


def _cholesky(matrix: Array, what: str) -> Array:
    """Lower L with LLᵀ = matrix; the units of the coordinates do not matter."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    try:
        if not (scale > 0).all():
            raise np.linalg.LinAlgError
        unit = np.linalg.cholesky(matrix / np.outer(scale, scale))
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        raise InputError(f"{what} (smallest eigenvalue {smallest:.3g}).") from None
    if np.diag(unit).min() < 1e-6:
        raise InputError(f"{what} (numerically singular).")
    factor: Array = np.asarray(scale[:, None] * unit, dtype=np.float64)
    return factor
