"""Whether the derivatives of a weight that a user wrote are those of the weight.

The drift b = Gᵀs + div G has mean zero under the model; with another divergence true models are rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.numerics.differentiate import coordinate_spread
from goodstein.numerics.slopes import contradicted, differences
from goodstein.types import Array

ROWS, FEW, MANY = 16, 2, 64
"""Places at which they are compared, and how many these are with more coordinates than the last."""


def check_derivatives(
    own: Sequence[Callable[..., Any]], domain: Domain, points: Array | None, rng: np.random.Generator
) -> list[Check]:
    """∂_i g, ∂_i g_i or Σ_i ∂_i G_ij against those of g (n,), (n, d) or G (n, d, J), if both are own."""
    if len(own) < 2:
        return []
    question = Question("derivatives of the weight")
    axes = np.eye(domain.dim) if domain.basis is None else domain.basis
    if points is None:
        faces = [(face, rng.uniform(0.1, 0.9, (len(face.reach), 1))) for face in domain.faces(None, rng)]
        inside = [face.points + share * face.reach[:, None] * face.normals for face, share in faces]
        points = np.vstack(inside) if inside else rng.standard_normal((ROWS, domain.dim))
    spread = coordinate_spread(points @ axes.T)
    count = ROWS if len(axes) <= MANY else FEW
    x = points[np.linspace(0, len(points) - 1, count).astype(np.intp)]
    # Observations may have been rounded to where g has its kinks.
    moved = x + 0.05 * spread * rng.standard_normal((count, len(axes))) @ axes
    x = np.where(domain.contains(moved)[:, None], moved, x)

    def along(axis: Array, values: Array) -> Array:
        """What an axis adds to the divergence, from slopes along it; or from values, their sizes."""
        return axis @ values if g.ndim == 3 else axis * (values if g.ndim == 2 else values[..., None])

    pairs = list(zip(axes, spread, strict=True))
    try:
        g, claimed = own[0](x), own[1](x)
        if claimed.shape != (x.shape if g.ndim < 3 else (count, g.shape[2])):
            return []  # the operator says so
        parts = [
            along(axis, differences(own[0], x, unit * axis, domain.contains)) / unit for axis, unit in pairs
        ]
    except InputError as error:
        return [question.skipped(f"They cannot be compared with differences: {error.bare}")]
    slopes = np.sum(parts, axis=0)
    size = np.sum([np.abs(along(axis, g)) / unit for axis, unit in pairs], axis=0)
    claimed = claimed if g.ndim == 3 else claimed @ axes.T @ axes
    # Smaller errors are of no account beside g·s, and a kink or a jump spoils a place.
    wrong = contradicted(slopes, claimed, 1e-4 * size)
    if wrong.any(axis=1).mean() <= 0.1:
        return [question.passed(f"They agree with differences at {count} places.")]
    row, column = np.argwhere(wrong)[0]
    message = (
        f"The derivatives of the operator's weight are wrong at {int(wrong.any(axis=1).sum())} of {count} "
        f"places: at {np.array2string(x[row], precision=3, threshold=6)} one is {claimed[row, column]:.4g}, "
        f"but differences give {np.nanmedian(slopes[:, row, column]):.4g}. Correct the function."
    )
    return [question.failed(message)]
