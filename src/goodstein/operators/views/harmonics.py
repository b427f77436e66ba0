"""Harmonics of low degree, on circles, tori and spheres."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from goodstein.constraints import check_count
from goodstein.domains import Domain, Sphere, Torus
from goodstein.errors import InputError
from goodstein.numerics import polynomials
from goodstein.operators.base import Operator, set_inner
from goodstein.operators.second_order import SecondOrder
from goodstein.operators.views.base import FiniteView, Names
from goodstein.stein.finite import FiniteFeatures
from goodstein.types import Array

MOST = 5_000
"""Polynomials, or frequencies, that are held for each observation."""

WORDS = {1: "the mean direction", 2: "axes: ovals and opposite modes"}
"""What the first degrees look at."""


@dataclass(frozen=True, eq=False, repr=False)
class Harmonics(FiniteView):
    """A f = Δf + ⟨∇log q, ∇f⟩ for the harmonics f of one degree k.

    On a sphere of R^d these are an orthonormal basis of the harmonic polynomials Y of degree k, and

        A Y = −k(k + d − 2)Y + s·∇Y;

    on circles and tori the waves cos m·θ and sin m·θ with whole numbers m, Σ|m_j| = k, for which A e^{im·θ} =
    (−‖m‖² + i m·s) e^{im·θ}. Degree 1 looks at the mean direction, 2 at axes, and on a torus at how two
    angles depend on each other. The Stein matrix has finite rank, so that time and memory are linear in n,
    and there is no kernel; on a sphere a rotation of data and model changes nothing.

    Parameters
    ----------
    degree
        k, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> model = gs.families.UniformOnSphere(5)
    >>> x = np.random.default_rng(1).normal(size=(100, 5)) * [1.35, 1, 1, 1, 1]
    >>> x /= np.linalg.norm(x, axis=1, keepdims=True)
    >>> gs.ksd_test(x, model, rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(x, model, operator=gs.Harmonics(2), rng=1).pvalue < 0.01
    True
    """

    degree: int = 1
    operator: Operator | None = None

    pointwise = True  # no annotation: not a field

    def __post_init__(self) -> None:
        set_inner(self, "SecondOrder()")
        if not (self.operator is None or isinstance(self.operator, SecondOrder)):
            raise InputError(f"`operator` of Harmonics must be SecondOrder(), got {self.operator!r}.")
        check_count(self.degree, "degree", of="Harmonics")

    def choose(self, domain: Domain) -> Operator:
        return SecondOrder()

    def looks_at(self, names: Names = None) -> str:
        return WORDS.get(self.degree, f"harmonics of degree {self.degree}")

    def check(self, domain: Domain) -> None:
        if not isinstance(domain, (Sphere, Torus)):
            raise InputError(f"Harmonics are for circles, tori and spheres, got {domain!r}. Use Moments().")
        d = domain.dim
        if polynomials.count(d, self.degree) * (2**d if isinstance(domain, Torus) and d < 12 else 1) > MOST:
            raise InputError(
                f"On {domain!r} there are too many harmonics of degree {self.degree}. Take a lower one."
            )

    def features(self, model: Any, domain: Domain, data: Any) -> FiniteFeatures:
        """A f for all harmonics."""
        if isinstance(domain, Sphere):
            return FiniteFeatures(_on_sphere(data, domain.project(data, model.score(data)), self.degree))
        return FiniteFeatures(_on_torus(data, model.score(data), self.degree))

    def _arguments(self) -> list[str]:
        return [str(self.degree)]

    def __repr__(self) -> str:
        return f"Harmonics({self.degree})"


def _on_sphere(x: Array, score: Array, degree: int) -> Array:
    """−k(k + d − 2)Y + s·∇Y, (n, H)."""
    d = x.shape[1]
    along = np.column_stack(
        [
            (score * polynomials.gradient(x, factors)).sum(axis=1)
            for factors in polynomials.monomials(d, degree)
        ]
    )
    slope = -float(degree * (degree + d - 2))
    return np.asarray((slope * polynomials.values(x, degree) + along) @ polynomials.harmonic(d, degree))


def _on_torus(theta: Array, score: Array, degree: int) -> Array:
    """The real and imaginary parts of (−‖m‖² + i m·s) e^{im·θ}, (n, 2F)."""
    waves = np.array(_frequencies(theta.shape[1], degree), dtype=float).T
    angle, along = theta @ waves, score @ waves
    square = (waves**2).sum(axis=0)
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.hstack([-square * cosine - along * sine, -square * sine + along * cosine])


def _frequencies(d: int, degree: int) -> list[tuple[int, ...]]:
    """Whole m with Σ|m_j| = degree, one of m and −m."""
    found = []
    for factors in polynomials.monomials(d, degree):
        size = np.bincount(factors, minlength=d)
        places = np.flatnonzero(size)
        for signs in product((1, -1), repeat=len(places) - 1):
            m = size.copy()
            m[places] *= (1, *signs)
            found.append(tuple(int(number) for number in m))
    return found
