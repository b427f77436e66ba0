"""What Stein's identity and a finite variance need far out, where a domain goes on for ever.

With q ~ R^(−t) and a weight G ~ R^c in dimension m

    a density          needs  ∫q < ∞,         that is  t > m,
    a finite variance  needs  E‖G‖² < ∞,      that is  t > m + 2c, and then q·G vanishes far out as well.

Both exponents are those of the last decade of R along which score and weight are finite, so that weights like
1/q, which overflow where the score is still small, are compared with q where both can be evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from goodstein.auditing.conditions import Weight
from goodstein.auditing.report import Check, Question
from goodstein.domains.base import Domain
from goodstein.errors import given, heard
from goodstein.models.model import Model
from goodstein.types import Array

TAILS = Question("tails")

RADII = np.geomspace(3.0, 1e4, 43)
"""Distances, in units of the data's spread and of √m, along which a density is taken to show its tail."""

LEAST = 4
"""With fewer radii at which something can be evaluated nothing is said."""

LITTLE = 0.01
"""A weight that grows more slowly than R to this power counts as bounded."""


def check_tails(
    model: Model,
    domain: Domain,
    weight: Weight,
    points: Array | None,
    rng: np.random.Generator,
    *,
    own: bool = False,
) -> Check:
    """Whether the density falls fast enough far out to be integrable and to give a finite variance.

    A weight of a user's `own`, whose growth nobody knows, must not spoil that.
    """
    if domain.bounded:
        return TAILS.passed("The domain is bounded.")
    (tail, growth), m = far_out(model, domain, weight, points, rng), domain.dim
    if np.isnan(tail):
        unknown = (
            "Score or weight cannot be evaluated far out, so that nobody knows whether q·g vanishes there."
        )
        refused = own and growth > LITTLE
        return (
            TAILS.failed(f"{unknown} Use a bounded auxiliary function.") if refused else TAILS.open(unknown)
        )
    # Where it is exponential the mean over a decade is exact to 1.2 %.
    if growth > LITTLE and tail <= m + 2.04 * growth:
        message = (
            f"The density falls like R^{-tail:.3g} and the operator's weight grows like R^{growth:.2f}: the "
            f"statistic {'has' if own else 'may have'} no finite variance. Use a bounded auxiliary function."
        )
        return TAILS.failed(message, asymptotic=True) if own else TAILS.warned(message)
    if tail <= m * (1.0 - 1e-6):
        return TAILS.warned(
            f"Far out the density behaves like R^{-tail:.3g}, which has no finite integral in dimension {m}. "
            "If the score is that of a density, check its sign; if it is a learnt score, ignore this."
        )
    rate = "faster than R^-50" if tail > 50 else f"like R^{-tail:.3g}"
    return TAILS.passed(f"Far out the density falls {rate}.")


def check_moments(
    model: Model,
    domain: Domain,
    weight: Weight,
    points: Array | None,
    rng: np.random.Generator,
    degree: int,
) -> list[Check]:
    """Whether the tails leave polynomials of a degree k as test functions enough moments.

    With q ~ R^(−t) and g ~ R^c in dimension m the features grow like R^(c + k − 1): Stein's identity and a
    finite variance need t > m + 2(c + k − 1), fourth moments t > m + 4(c + k − 1). Nothing of that is asked
    of a null distribution that is simulated.
    """
    tail, growth = far_out(model, domain, weight, points, rng, RADII[[-13, -1]])
    if np.isnan(tail):
        return [TAILS.skipped("The score cannot be evaluated far out.")]
    power = growth + degree - 1.0
    room = tail - domain.dim
    remedy = f"Use {given('null', 'MonteCarlo()')}, a lower degree, or an operator with a bounded weight."
    grows = f"The density falls like R^{-tail:.3g} and features of degree {degree} grow like R^{power:.3g}"
    if room <= 2.0 * power:
        message = f"{grows}: they have no finite variance. {remedy}"
        return [TAILS.failed(message, asymptotic=True)]
    if room <= 4.0 * power:
        message = f"{grows}: they have no fourth moments, and true models may be rejected too often. {remedy}"
        return [TAILS.warned(message, asymptotic=True)]
    return []


def far_out(
    model: Model,
    domain: Domain,
    weight: Weight,
    points: Array | None,
    rng: np.random.Generator,
    radii: Array = RADII,
) -> tuple[float, float]:
    """t and c ≥ 0 with q ~ R^(−t) and g ~ R^c at the worst of some directions.

    t is NaN where no score can be evaluated far out, c infinite where no weight can.
    """
    centre = np.zeros(domain.dim) if points is None else np.median(points, axis=0)
    # In units of its own each: far out in one coordinate may be next to nothing in another.
    spread = np.ones(domain.dim) if points is None else np.median(np.abs(points - centre), axis=0)
    spread = np.where(spread > 0, spread, spread.max() or 1.0)
    directions = rng.standard_normal((256, domain.dim))
    # Few random directions stay in an orthant or a strip: these have all signs alike, or one axis only.
    axes = np.eye(domain.dim)
    directions = np.vstack([axes, -axes, directions, np.abs(directions), -np.abs(directions)])
    steps = np.sqrt(domain.dim) * spread * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    steps = rng.permutation(steps[domain.contains(centre + RADII[-1] * steps)])[:16]
    if not len(steps):
        return np.nan, 0.0
    # Not seen from inside: a weight that is tangential has a variance too.
    normals = np.roll(steps, 1, axis=0) / np.linalg.norm(np.roll(steps, 1, axis=0), axis=1, keepdims=True)

    def along(evaluate: Callable[[Array], Array]) -> Array:
        """Values at growing radii up to the last at which all are finite, (radii, directions)."""
        found: list[Array] = []
        with heard(), np.errstate(all="ignore"), suppress(ArithmeticError, ValueError):
            for radius in radii:
                if not np.isfinite(values := evaluate(centre + radius * steps)).all():
                    break
                found.append(values)
        return np.array(found)

    def size(x: Array) -> Array:
        found = weight(domain, x, normals)
        return np.zeros(len(x)) if found is None else np.log(np.linalg.norm(found, axis=1) + 1e-300)

    sizes, scores = along(size), along(lambda x: -np.einsum("ij,ij->i", model.score(x), steps))
    least = min(LEAST, len(radii))
    known = min(len(sizes), len(scores) if len(scores) >= least else len(radii))
    if known < least:
        return np.nan, np.inf
    # Over one decade, of twelve radii, a weight like 1/q grows as fast as q falls. Of oscillations the tops
    # count.
    first = int(np.searchsorted(radii, 0.098 * radii[known - 1]))
    growth = np.ptp(np.maximum.accumulate(sizes[:known])[first:], axis=0) / np.log(
        radii[known - 1] / radii[first]
    )
    if len(scores) < least:
        return np.nan, float(growth.max())
    slopes = (radii[:known, None] * scores[:known])[first:]
    tail = 0.5 * (slopes[1:] + slopes[:-1]).mean(axis=0)
    worst = int(np.argmin(tail - 2.0 * growth))
    return float(tail[worst]), float(growth[worst])
