"""Exponential families with any statistic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.constraints import answered, asked, require_functions
from goodstein.errors import InputError, ScoreError, describe_rows
from goodstein.estimate.base import AffineScores, ModelFamily, Sample, as_names, by_name
from goodstein.estimate.functions import FIRST, SECOND, Lines
from goodstein.estimate.parametric import model_at
from goodstein.numerics.frameworks import Jax, framework_of
from goodstein.types import Array

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class ExponentialFamily(ModelFamily):
    r"""q(x) ∝ exp(θ·T(x) + b(x)) for a statistic T of your own, restricted to the domain.

    The score is affine in θ, so every estimator is a closed form, θ̂ = −A⁻¹b. Nothing has to be integrable
    in closed form, and on a bounded domain any θ is a density.

    Parameters
    ----------
    statistic
        T, a function of all points (n, d) that returns (n, p), or (n,) for one statistic. If it is written
        with JAX its derivatives are exact; otherwise they are differences of order eight.
    names
        Names of θ; ``theta`` is one vector without them.
    base
        b, a function of all points that returns (n,), written like `statistic`; None is a constant.
    gradient
        Derivatives ∂_k T_j as a function of all points, (n, d, p); none are then taken of `statistic`.
    laplacian
        With `gradient`: second derivatives ∂²_k T_j, (n, d, p), or their sum over k, (n, p), which is enough
        for weights that are the same for all coordinates. On a simplex the sum is the tangential one.
    sample
        A sampler ``sample(n, theta, rng)`` of the family without truncation, for simulations.

    Examples
    --------
    A density on an interval whose normalising constant is no elementary function:

    >>> import numpy as np
    >>> import goodstein as gs
    >>> from goodstein.estimate import ExponentialFamily, TruncatedScoreMatching
    >>> def powers(x):
    ...     return np.hstack([x, x**4])
    >>> x = np.random.default_rng(1).beta(2, 2, size=500)
    >>> fit = TruncatedScoreMatching().fit(x, ExponentialFamily(powers), domain=gs.Box(0, 1))
    >>> fit.parameters["theta"].shape
    (2,)
    """

    statistic: Function
    names: Sequence[str] | None = None
    base: Function | None = None
    gradient: Function | None = None
    laplacian: Function | None = None
    sample: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        given = {
            name: getattr(self, name) for name in ("statistic", "base", "gradient", "laplacian", "sample")
        }
        functions = {name: one for name, one in given.items() if one is not None or name == "statistic"}
        require_functions(functions, "ExponentialFamily")
        if (self.gradient is None) != (self.laplacian is None):
            raise InputError(
                "`gradient` and `laplacian` of ExponentialFamily belong together: pass both, or neither."
            )
        if self.names is not None:
            object.__setattr__(self, "names", as_names(self.names, "ExponentialFamily"))

    def __repr__(self) -> str:
        return f"ExponentialFamily({getattr(self.statistic, '__name__', repr(self.statistic))})"

    def scores(self, sample: Sample) -> ExponentialFamilyScores:
        values = _matrix(self.statistic, sample.data, "statistic")
        if self.names is not None and len(self.names) != values.shape[1]:
            raise InputError(
                f"`names` of ExponentialFamily has {len(self.names)} entries, but `statistic` returns "
                f"{values.shape[1]} values for each point."
            )
        summed_only = False
        if self.gradient is None:
            first, second = _derivatives(self.statistic, sample, "statistic")
        else:
            first, second, summed_only = self._given(sample, values.shape[1])
        offset = second_offset = None
        if self.base is not None:
            offset, second_offset = (part[:, :, 0] for part in _derivatives(self.base, sample, "base"))
        return ExponentialFamilyScores(self, sample, summed_only, first, second, offset, second_offset)

    def _given(self, sample: Sample, p: int) -> tuple[Array, Array, bool]:
        """Derivatives that the user has supplied, and whether only the sum of the second ones is known."""
        x, directions = sample.data, sample.directions
        n, d = x.shape
        gradient = _values(self.gradient, x)  # type: ignore[arg-type]
        if gradient.shape != (n, d, p):
            raise InputError(
                f"`gradient` of ExponentialFamily returned shape {gradient.shape}, expected {(n, d, p)}: one "
                "derivative for every point, coordinate and statistic."
            )
        laplacian = _values(self.laplacian, x)  # type: ignore[arg-type]
        if laplacian.shape == (n, p):
            # Spread over the directions: only their sum is used by a weight that is the same for all.
            second = np.repeat(laplacian[:, None, :] / len(directions), len(directions), axis=1)
        elif laplacian.shape == (n, d, p) and len(directions) == d:
            second = laplacian
        else:
            expected = f"{(n, p)} or {(n, d, p)}" if len(directions) == d else f"{(n, p)}"
            raise InputError(
                f"`laplacian` of ExponentialFamily returned shape {laplacian.shape}, expected {expected}."
            )
        first = np.einsum("md,ndp->nmp", directions, gradient)
        _require_finite(first, "gradient")
        _require_finite(second, "laplacian")
        return first, second, laplacian.ndim == 2 and len(directions) > 1


class ExponentialFamilyScores(AffineScores):
    """The statistics' derivatives at the data."""

    def __init__(self, family: ExponentialFamily, sample: Sample, summed_only: bool, *designs: Any) -> None:
        self.family, self.domain, self.summed_only = family, sample.domain, summed_only
        super().__init__(family.names or [f"theta[{j}]" for j in range(designs[0].shape[2])], *designs)

    def parameters(self, theta: Array) -> Mapping[str, Any]:
        return by_name(self.family.names, theta)

    def model(self, theta: Array) -> Any:
        family = self.family
        return model_at(theta, self.domain, repr(family), logpdf=_LogDensity(family), sample=family.sample)


class _LogDensity:
    """θ·T(x) + b(x), up to a constant; a class, so that it can be pickled if the functions can."""

    def __init__(self, family: ExponentialFamily) -> None:
        self.family = family

    def __call__(self, x: Any, theta: Any) -> Any:
        statistic = self.family.statistic(x)
        log = statistic @ theta if statistic.ndim == 2 else statistic * theta[0]
        return log if self.family.base is None else log + self.family.base(x)


def _is_jax(function: Function, x: Array) -> bool:
    """Whether it returns JAX arrays."""
    return framework_of(asked(function, _named(function), x[:1].copy())) == "jax"


def _values(function: Function, x: Array) -> Array:
    """What the function returns, in double precision; a copy of the points does no harm to the data."""
    with Jax().context() if _is_jax(function, x) else nullcontext():
        return answered(asked(function, _named(function), x.copy()), _named(function))


def _named(function: Function) -> str:
    return f"`{getattr(function, '__name__', repr(function))}` of ExponentialFamily"


def _matrix(function: Function, x: Array, name: str) -> Array:
    """The statistics at all points, (n, p)."""
    values = _values(function, x)
    if values.shape == (len(x),):
        values = values[:, None]
    if values.ndim != 2 or len(values) != len(x):
        raise InputError(
            f"`{name}` of ExponentialFamily returned shape {values.shape} for points of shape {x.shape}; "
            f"expected ({len(x)}, p): one row for each point."
        )
    _require_finite(values, name)
    return values


def _require_finite(values: Array, name: str) -> None:
    bad = ~np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    if bad.any():
        raise ScoreError(f"`{name}` of ExponentialFamily is not finite at {describe_rows(bad)}.")


def _derivatives(function: Function, sample: Sample, name: str) -> tuple[Array, Array]:
    """First and second derivatives along the directions, (n, m, p) both."""
    _matrix(function, sample.data, name)
    if _is_jax(function, sample.data):
        first, second = _by_jax(function, sample)
    else:
        lines = Lines(sample, f"`{name}` of ExponentialFamily")
        values = lines.evaluate(lambda x: _matrix(function, x, name))
        first, second = lines.difference(FIRST, values), lines.difference(SECOND, values, order=2)
    _require_finite(first, f"The gradient of `{name}`")
    _require_finite(second, f"The second derivative of `{name}`")
    return first, second


def _by_jax(function: Function, sample: Sample) -> tuple[Array, Array]:
    import jax
    import jax.numpy as jnp

    def row(x: Any) -> Any:
        return jnp.ravel(function(x[None, :]))

    def along(x: Any, direction: Any) -> Any:
        def slope(point: Any) -> Any:
            return jax.jvp(row, (point,), (direction,))[1]

        return jax.jvp(slope, (x,), (direction,))

    with Jax().context():
        compiled = jax.jit(jax.vmap(jax.vmap(along, (None, 0)), (0, None)))
        first, second = compiled(jnp.asarray(sample.data), jnp.asarray(sample.directions))
        return np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
