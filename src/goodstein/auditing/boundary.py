"""The domain: whether it is connected, and how fast density and weight go to zero at each face.

Near a face let q ~ δ^(α−1) and Gᵀν ~ δ^a at distance δ. Then

    Stein's identity   needs  q·Gᵀν → 0,      that is  α − 1 + a > 0,
    a finite variance  needs  E‖b‖² < ∞,      that is  2a + α > 2,
    a density          needs  ∫q < ∞,         that is  α > 0.

Both exponents come from the score and the auxiliary function alone: δ·∂_ν log q → α − 1, and a
is the slope of log‖Gᵀν‖ against log δ.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from goodstein.auditing.report import Check
from goodstein.domains.base import Domain
from goodstein.domains.box import Box
from goodstein.domains.simplex import Simplex
from goodstein.errors import NumericalScoreWarning, ScoreError
from goodstein.models.model import Model
from goodstein.operators.base import Operator
from goodstein.types import Array

FIRST, LAST = 1e-4, 1e-10
"""Steps from a face, as shares of the way that can be gone: the first, and the smallest ever tried."""

SETTLED = 0.1
"""Change of δ·∂log q over one decade of δ below which it is close to its limit."""

TOLERANCE = 1e-3
"""Exponents are estimated; closer to the critical value than this counts as on the wrong side."""


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
    model: Model, domain: Domain, operator: Operator, interior: Array | None, rng: np.random.Generator
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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericalScoreWarning)
            slope = delta * np.einsum("ij,ij->i", model.score(x), normals)
        weight = operator.boundary_weight(domain, x, normals)  # type: ignore[attr-defined]
        return slope, np.linalg.norm(weight, axis=1)

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
    name = "connectedness"
    if domain.connected is None:
        return Check(
            name,
            "warn",
            f"It is not known whether {domain!r} is connected; a test sees only each connected piece.",
        )
    if not domain.connected:
        return Check(
            name,
            "fail",
            f"{domain!r} is not connected, and the test cannot see how the mass is shared among its pieces. "
            "Test each piece by itself.",
        )
    return Check(name, "pass", "The domain is connected.")


def check_boundary(
    model: Model, domain: Domain, operator: Operator, interior: Array | None, rng: np.random.Generator
) -> Check:
    """Whether Stein's identity and a finite variance are possible at every face."""
    name = "boundary"
    if not domain.has_boundary:
        return Check(name, "pass", f"{domain!r} has no boundary.")
    if not hasattr(operator, "boundary_weight"):
        return Check(
            name,
            "warn",
            f"{operator!r} has no `boundary_weight`, so it was not checked that q·g vanishes at the "
            "boundary.",
        )
    try:
        found = exponents(model, domain, operator, interior, rng)
    except ScoreError:
        # What it says of rows is about the points of this probe, which nobody but us has seen.
        return Check(
            name,
            "warn",
            f"The score of {model.name} could not be evaluated close to the boundary of {domain!r}, so it "
            "was not checked that q·g vanishes there. The p-value is valid only if it does.",
        )
    if not found:
        return Check(
            name,
            "warn",
            f"{domain!r} has no `faces`, so it was not checked that q·g vanishes at the boundary.",
        )
    bad = [e for e in found if not e.valid]
    if not bad:
        least = min((e.density + e.weight for e in found), default=np.inf)
        rate = "faster than any power" if least > 50 else f"at least like δ^{least:.2f}"
        where = f"all {len(found)} faces" if len(found) != 1 else "the only face"
        return Check(name, "pass", f"q·g vanishes {rate} at {where}.")
    worst = min(bad, key=lambda e: (e.integrable, e.identity, e.density + e.weight))
    message = worst.problem() + "."
    if len(bad) > 1:
        message += f" ({len(bad)} of {len(found)} faces are affected.)"
    if worst.integrable:
        message += _advice(model, domain, operator, interior, rng)
    return Check(name, "fail", message[0].upper() + message[1:])


def _advice(
    model: Model, domain: Domain, operator: Operator, interior: Array | None, rng: np.random.Generator
) -> str:
    """Which operators would be valid here, tried out before they are recommended."""
    from goodstein.auxiliary.functions import ProductOfParts
    from goodstein.operators import LogRatio, Mirrored, Standardised

    candidates: list[Operator] = [Standardised()]
    if isinstance(domain, Simplex):
        candidates = [LogRatio(), Mirrored(), Standardised(ProductOfParts())]
    elif isinstance(domain, Box):
        # On an infinite side the weight of Mirrored grows without bound, which heavy tails do not allow.
        candidates = [Standardised(), Mirrored()] if domain.bounded else [Standardised()]
    valid = [
        repr(candidate).replace("auxiliary=None", "")
        for candidate in candidates
        if candidate != operator and all(e.valid for e in exponents(model, domain, candidate, interior, rng))
    ]
    if not valid:
        return (
            " No operator of this library is valid for this density here; check the score near the boundary."
        )
    return f" Valid here: operator={' or '.join(valid)}."
