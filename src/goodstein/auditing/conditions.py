"""What Stein's identity needs in R^d and its parts: connectedness, the boundary, and the right score.

Near a face let q ~ δ^(α−1) and Gᵀν ~ δ^a at distance δ. Then

    Stein's identity   needs  q·Gᵀν → 0,      that is  α − 1 + a > 0,
    a finite variance  needs  E‖b‖² < ∞,      that is  2a + α > 2,
    a density          needs  ∫q < ∞,         that is  α > 0.

Both exponents come from the score and the auxiliary function alone: δ·∂_ν log q → α − 1, and a
is the slope of log‖Gᵀν‖ against log δ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.domains.base import Domain
from goodstein.errors import NumericalScoreWarning, ScoreError, quiet
from goodstein.models.model import Model
from goodstein.types import Array

Weight: TypeAlias = Callable[[Domain, Array, Array], Array | None]
"""Gᵀν of an operator at points with normals ν; None where it does not say."""

FIRST, LAST = 1e-4, 1e-10
"""Steps from a face, as shares of the way that can be gone: the first, and the smallest ever tried."""

SETTLED = 0.1
"""Change of δ·∂log q over one decade of δ below which it is close to its limit."""

TOLERANCE = 1e-3
"""Exponents are estimated; closer to the critical value than this counts as on the wrong side."""


class UnknownWeightError(Exception):
    """The operator does not say what its weight is."""


@dataclass(frozen=True)
class Exponents:
    """The exponents at one face: q ~ δ^density, Gᵀν ~ δ^weight."""

    face: str
    density: float
    weight: float

    @property
    def integrable(self) -> bool:
        """Whether ∫q is finite at this face."""
        return self.density > -1.0 + TOLERANCE

    @property
    def identity(self) -> bool:
        """Whether q·Gᵀν vanishes at this face."""
        return self.density + self.weight > TOLERANCE

    @property
    def variance(self) -> bool:
        """Whether the drift has a finite second moment at this face."""
        return 2.0 * self.weight + self.density - 1.0 > TOLERANCE

    @property
    def valid(self) -> bool:
        """Whether the test can be valid as far as this face is concerned."""
        return self.integrable and self.identity and self.variance

    def problem(self) -> str:
        """What goes wrong at this face."""
        q, g, flux = (_power(e) for e in (self.density, self.weight, self.density + self.weight))
        where = f"near the face {self.face} the density behaves like {q} at distance δ"
        if not self.integrable:
            return f"{where} and has no finite integral, so it is not a density on this domain"
        if not self.identity:
            return (
                f"{where} and the operator's weight like {g}, so their product ({flux}) does not vanish at "
                "the boundary and Stein's identity fails"
            )
        return (
            f"{where} and the operator's weight like {g}: Stein's identity holds but the statistic has no "
            f"finite variance (it needs 2·{self.weight:.2f} + {self.density + 1:.2f} > 2)"
        )


def _power(exponent: float) -> str:
    """δ^exponent in words; an exponent of zero is a constant."""
    return "a constant" if abs(exponent) < TOLERANCE else f"δ^{exponent:.2f}"


def exponents(
    model: Model, domain: Domain, weight: Weight, interior: Array | None, rng: np.random.Generator
) -> list[Exponents]:
    """The worst exponents at every face; the score is evaluated once for all of them."""
    faces = domain.faces(interior, rng)
    if not faces:
        return []
    points, normals = (np.vstack([getattr(f, name) for f in faces]) for name in ("points", "normals"))
    reach = np.concatenate([face.reach for face in faces])

    def walk(share: float) -> tuple[Array, Array]:
        """δ·∂_ν log q and ‖Gᵀν‖ at the same share of every way."""
        delta = share * reach
        x = points + delta[:, None] * normals
        with quiet(NumericalScoreWarning):
            slope = delta * np.einsum("ij,ij->i", model.score(x), normals)
        found = weight(domain, x, normals)
        if found is None:
            raise UnknownWeightError
        return slope, np.linalg.norm(found, axis=1)

    share = FIRST
    before, now = walk(10.0 * share), walk(share)
    # A density may live on a much finer scale than its domain: go on until δ·∂log q has settled.
    while np.abs(before[0] - now[0]).max() > SETTLED and share > LAST:
        share /= 10.0
        before, now = now, walk(share)
    with np.errstate(divide="ignore", invalid="ignore"):
        decay = np.log10(before[1] / now[1])
    decay[now[1] == 0.0] = np.inf
    # What has settled is its limit plus O(δ), and one step of extrapolation removes that term. What has
    # not keeps growing, for example like log δ.
    change = before[0] - now[0]
    limit = now[0] - np.where(np.abs(change) <= SETTLED, change / 9.0, 0.0)
    result, first = [], 0
    for face in faces:
        part = slice(first, first + len(face.points))
        first = part.stop
        q, a = limit[part], decay[part]
        worst = int(np.argmin(np.minimum(q + a, 2.0 * a + q - 1.0)))
        result.append(Exponents(face.name, float(q[worst]), float(a[worst])))
    return result


def check_connected(domain: Domain) -> Check:
    """A discrepancy of scores cannot see how mass is shared among separate pieces."""
    question = Question("connectedness")
    if domain.connected is None:
        return question.warned(
            f"It is not known whether {domain!r} is connected; a test sees only each connected piece."
        )
    if not domain.connected:
        return question.failed(
            f"{domain!r} is not connected, and the test cannot see how the mass is shared among its pieces. "
            "Test each piece by itself."
        )
    return question.passed("The domain is connected.")


def check_boundary(
    model: Model, domain: Domain, weight: Weight, interior: Array | None, rng: np.random.Generator
) -> Check:
    """Whether Stein's identity and a finite variance are possible at every face."""
    question = Question("boundary")
    if not domain.has_boundary:
        return question.passed(f"{domain!r} has no boundary.")
    try:
        found = exponents(model, domain, weight, interior, rng)
    except UnknownWeightError:
        return question.warned(
            "The operator has no `boundary_weight`, so it was not checked that q·g vanishes at the boundary."
        )
    except ScoreError:
        # What it says of rows is about the points of this probe, which nobody but us has seen.
        return question.warned(
            f"The score of {model.name} could not be evaluated close to the boundary of {domain!r}, so it "
            "was not checked that q·g vanishes there. The p-value is valid only if it does."
        )
    if not found:
        return question.warned(
            f"{domain!r} has no `faces`, so it was not checked that q·g vanishes at the boundary."
        )
    bad = [e for e in found if not e.valid]
    if not bad:
        least = min((e.density + e.weight for e in found), default=np.inf)
        rate = "faster than any power" if least > 50 else f"at least like δ^{least:.2f}"
        where = f"all {len(found)} faces" if len(found) != 1 else "the only face"
        return question.passed(f"q·g vanishes {rate} at {where}.")
    worst = min(bad, key=lambda e: (e.integrable, e.identity, e.density + e.weight))
    message = worst.problem() + "."
    if len(bad) > 1:
        message += f" ({len(bad)} of {len(found)} faces are affected.)"
    message = message[0].upper() + message[1:]
    if not worst.integrable:
        return question.failed(message)

    def accepts(operator: Any) -> bool:
        return all(e.valid for e in exponents(model, domain, operator.boundary_weight, interior, rng))

    return question.failed(message, accepts=accepts)


SCORES = Question("score against log density")


def check_score(model: Model, domain: Domain, points: Array | None) -> Check:
    """The score against a numerical derivative of the log density."""
    if not (model.has_logpdf and model.has_score):
        return SCORES.skipped("Only one of score and log density is given.")
    if points is None:
        return SCORES.skipped("There are no points to compare them at: pass `data`.")
    numerical = Model(logpdf=model.logpdf, domain=domain)
    return compare_scores(model.score, numerical.score, points[:50], domain)


def compare_scores(
    score: Callable[[Array], Array], derivative: Callable[[Array], Array], points: Array, domain: Domain
) -> Check:
    """A score against the numerical derivative of the log density, at some points."""
    # Off a simplex a score may be anything.
    along = np.eye(domain.dim) if domain.basis is None else domain.basis.T
    try:
        with quiet(NumericalScoreWarning):
            expected = derivative(points) @ along
        got = score(points) @ along
    except ScoreError as error:
        return SCORES.warned(str(error))
    gap = np.abs(got - expected).max(axis=1) / (1.0 + np.abs(expected).max(axis=1))
    wrong = gap > 1e-4
    if not wrong.any():
        return SCORES.passed(f"They agree to {gap.max():.1e} at {len(points)} points.")
    row = int(np.argmax(gap))
    # A kink in the density, such as the Laplace's, spoils a numerical derivative at single points.
    answer = SCORES.failed if wrong.mean() > 0.1 else SCORES.warned
    return answer(
        f"They differ at {int(wrong.sum())} of {len(points)} points: at point {row} the score is "
        f"{np.array2string(got[row], precision=4)}, but the log density has the derivative "
        f"{np.array2string(expected[row], precision=4)}. One of the two is wrong."
    )
