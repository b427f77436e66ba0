"""Functions of a chart's coordinates: called for all points or for one, checked, differentiated by JAX."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeAlias

import numpy as np

from goodstein.errors import InputError, ScoreError, describe_rows
from goodstein.numerics.frameworks import Jax
from goodstein.types import Array

Function: TypeAlias = Callable[[Any], Any]


def _context() -> Any:
    """Double precision for JAX, if it is there."""
    return Jax().context() if "jax" in sys.modules else nullcontext()


def values_at(function: Function, x: Array, tail: tuple[int, ...] | None, what: str) -> Array:
    """A function of all points or of one at all points; `tail` is the shape at one point, None any vector."""
    n, m = x.shape
    probe = x[np.arange(m + 1) % n]  # m + 1 rows, so that rows and columns cannot be confused
    longer = x[np.arange(m + 2) % n]
    reasons = []
    for by_row in (False, True):
        try:
            got = _call(function, probe, by_row)
            # A vector of any length may have m + 1 entries: only that of all points grows with their number.
            follows = tail is not None or _call(function, longer, by_row).shape == (m + 2, *got.shape[1:])
        except MemoryError:
            raise
        except Exception as error:
            reasons.append(f"{type(error).__name__}: {error}")
            continue
        fits = got.ndim == 2 if tail is None else got.shape[1:] == tail
        if fits and follows and len(got) == m + 1:
            values = got if n == m + 1 else _call(function, x, by_row)
            bad = ~np.isfinite(values).reshape(n, -1).all(axis=1)
            if bad.any():
                reason = f"The {what} of the chart is not finite at {describe_rows(bad)}."
                remedy = "Remove these rows, or use a chart that covers them."
                raise ScoreError(reason, rows=bad, remedy=remedy)
            return values
        reasons.append(f"it returned shape {got.shape}")
    expected = "k" if tail is None else ", ".join(map(str, tail))
    raise ScoreError(
        f"`{what}` of Chart must return shape (n, {expected}) for all points, (n, {m}), or ({expected}) for "
        f"one, ({m},). For {m + 1} points at once: {reasons[0]}; for one at a time: {reasons[1]}."
    )


def _call(function: Function, x: Array, by_row: bool) -> Array:
    with _context():
        got = [np.asarray(function(row)) for row in x.copy()] if by_row else function(x.copy())
        return np.array(got, dtype=np.float64)


def automatic_derivative(function: Function, x: Array, tail: tuple[int, ...], order: int) -> Array | None:
    """First or second derivatives by JAX, where the function is written with it."""
    if "jax" not in sys.modules:
        return None
    import jax
    import jax.numpy as jnp

    def of_one(u: Any) -> Any:
        return jnp.asarray(function(u))

    def of_all(u: Any) -> Any:
        return jnp.asarray(function(u[None, :]))[0]

    with _context():
        for one in (of_one, of_all):
            derivative = jax.jacfwd(one) if order == 1 else jax.jacfwd(jax.jacfwd(one))
            try:
                values = np.array(jax.vmap(derivative)(jnp.asarray(x)), dtype=np.float64)
            except Exception:  # not written with JAX, or not for such points
                continue
            if values.shape == (len(x), *tail):
                return values
    return None


def require_metric(values: Array) -> None:
    """Raise where a metric (n, m, m) is not symmetric and positive definite."""
    skew = np.abs(values - values.transpose(0, 2, 1)).max(axis=(1, 2))
    bad = np.asarray(skew > 1e-8 * np.abs(values).max(axis=(1, 2)))
    if bad.any():
        reason = f"The metric of the chart is not symmetric at {describe_rows(bad)}."
        raise InputError(reason, rows=bad, remedy="Correct it.")
    smallest = np.linalg.eigvalsh(values)[:, 0]
    bad = np.asarray(~(smallest > 0))
    if bad.any():
        where = f"{describe_rows(bad)}, with smallest eigenvalue {smallest[bad].min():.3g}"
        reason = f"The metric of the chart is not positive definite at {where}."
        remedy = "Such points are poles of the chart: remove them, or use another chart."
        raise InputError(reason, rows=bad, remedy=remedy)
