"""A full preconditioning metric for any kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from goodstein.constraints import LARGEST, numbers
from goodstein.errors import InputError, must
from goodstein.kernels.base import Kernel, as_kernel
from goodstein.kernels.frames import Frame, Located, spread_frame
from goodstein.kernels.imq import IMQ
from goodstein.types import Array

Rule: TypeAlias = Literal["score", "spread"]
"""Where a metric may come from, other than the sample covariance."""


@dataclass(frozen=True, eq=False)
class Whitened(Kernel):
    """A kernel in coordinates y = Lᵀx in which units, or correlations, do not count.

    The whole test moves to these coordinates: the test functions are f(x) = L⁻ᵀf̃(y), so that the statistic
    does not change under a change of units of data and model, or under any invertible linear map of them. Use
    it for anisotropic data, where one bandwidth for all directions is too wide for some and too narrow for
    others.

    Parameters
    ----------
    kernel
        The radial kernel that acts on the whitened points.
    metric
        Symmetric positive definite matrix M = LLᵀ, usually a precision matrix; or where it comes from.
        None takes the inverse sample covariance of the data. ``"score"`` takes the mean of s sᵀ over the
        data, s the score; the values a of other operators stand for s, and those with a diagonal weight get
        a diagonal metric. ``"spread"`` takes the median absolute deviation of each coordinate, as
        ``"score"`` does where no score is at hand.

    Notes
    -----
    ``Whitened(IMQ(), metric="score")`` is what tests use on R^d and on boxes if no kernel is named. The
    metric comes from the model rather than from its misfit, and costs next to no power where none is needed.
    With fewer than 50 rows for each coordinate only correlations that cannot be chance are used; details are
    in :func:`goodstein.kernels.score_frame.score_frame`.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.kernels import Gaussian, Whitened
    >>> fitted = Whitened(Gaussian()).fitted(np.random.default_rng(0).normal(size=(50, 2)) * [1, 100])
    >>> fitted.linear_map.shape
    (2, 2)
    """

    kernel: Kernel = field(default_factory=IMQ)
    metric: Array | Rule | None = None
    frame: Frame | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.kernel, Whitened):
            raise InputError("A whitened kernel cannot be whitened again.")
        inner = as_kernel(self.kernel)
        if not inner.radial:
            raise must("kernel", "a radial kernel such as IMQ()", self.kernel, "Whitened")
        object.__setattr__(self, "kernel", inner)
        if self.frame is not None and not isinstance(self.frame, Frame):
            raise must("frame", "a Frame, or None", self.frame, "Whitened")
        if isinstance(self.metric, str):
            if self.metric not in get_args(Rule):
                raise must("metric", "a matrix, 'score', 'spread' or None", self.metric, "Whitened")
        elif self.metric is not None:
            metric = numbers(self.metric, "metric", of="Whitened")
            if (np.abs(metric).max(axis=-1) < 1 / LARGEST).any():
                raise must(
                    "metric", f"a matrix with numbers from {1 / LARGEST:g} on in each row", metric, "Whitened"
                )
            if metric.ndim != 2 or metric.shape[0] != metric.shape[1] or not np.allclose(metric, metric.T):
                raise InputError(
                    f"`metric` of Whitened must be a symmetric (m, m) matrix, got shape {metric.shape}."
                )
            linear_map = _cholesky(metric, "`metric` of Whitened is not positive definite")
            metric.setflags(write=False)
            object.__setattr__(self, "metric", metric)
            object.__setattr__(self, "frame", Frame(linear_map))

    @property
    def fixed(self) -> Frame:
        """Where the kernel sees the points; an error before :meth:`fitted`."""
        if self.frame is None:
            raise InputError(f"{self!r} has no metric yet: call .fitted(points) first.")
        return self.frame

    @property
    def linear_map(self) -> Array:
        """L with metric = LLᵀ, lower triangular, or (m,) for a diagonal matrix."""
        return self.fixed.linear_map

    def coordinates(self, points: Array) -> Array:
        """The whitened points, y = Lᵀx."""
        return self.fixed.coordinates(points)

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

    def at_scales(self, scales: Sequence[float], rates: Sequence[float]) -> list[Kernel]:
        return [replace(self, kernel=kernel) for kernel in self.kernel.at_scales(scales, rates)]

    def __call__(self, x: Any, y: Any) -> Array:
        return self.kernel(self.coordinates(np.asarray(x, float)), self.coordinates(np.asarray(y, float)))

    def fitted(self, points: Array) -> Whitened:
        frame = self._frame(points) if self.frame is None else self.frame
        if len(frame.linear_map) != points.shape[1]:
            m = len(frame.linear_map)
            raise InputError(
                f"`metric` of Whitened is {m}×{m}, but the points have {points.shape[1]} coordinates."
            )
        return replace(self, kernel=self.kernel.fitted(frame.coordinates(points)), frame=frame)

    def in_metric_of(self, features: Any) -> Whitened:
        if self.frame is not None or self.metric != "score" or not isinstance(features, Located):
            return self
        return replace(self, frame=features.frame)

    def fitted_to(self, features: Any) -> Kernel:
        """With metric and bandwidth fixed; the kernel inside where the features have no metric to give."""
        if self.frame is not None or self.metric != "score":
            return self.fitted(features.points)
        frame = features.frame if isinstance(features, Located) else None
        if frame is None:
            return self.kernel.fitted_to(features)
        return replace(self, kernel=self.kernel.fitted_to(features.seen_in(frame)), frame=frame)

    def _frame(self, points: Array) -> Frame:
        """From the points alone."""
        if self.metric is not None:
            return spread_frame(points)
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
        return Frame(_cholesky(0.5 * (precision + precision.T), "`data` lie nearly in a subspace"))

    def __repr__(self) -> str:
        rule = f", metric={self.metric!r}" if isinstance(self.metric, str) else ""
        return f"Whitened({self.kernel!r}{rule})"


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
