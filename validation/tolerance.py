"""Sizes of the tests that tolerate a share of wrong observations, and of the equivalence test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from tables import RNG, Array, Part, Table

import goodstein as gs
from goodstein.families import (
    Dirichlet,
    Exponential,
    Gamma,
    Ising,
    Normal,
    StudentT,
    Truncated,
    VonMises,
    VonMisesFisher,
)

TOLERANT, EQUIVALENCE = partial(gs.ksd_test, workers=1), partial(gs.equivalence_test, workers=1)


@dataclass(frozen=True)
class Mixed:
    """Draws of a model of which a share, on average, is exchanged for one point."""

    model: Any
    share: float
    point: tuple[float, ...]

    def __call__(self, n: int, rng: RNG) -> Array:
        x = self.model.sample(n, rng)
        x[rng.random(n) < self.share] = self.point
        return x


@dataclass(frozen=True)
class Late:
    """Exponential durations, a third of them censored, of which a share have an event at some time."""

    share: float
    time: float

    def __call__(self, n: int, rng: RNG) -> gs.Censored:
        events, ends = rng.exponential(size=n), rng.exponential(2.0, size=n)
        wrong = rng.random(n) < self.share
        durations, seen = np.minimum(events, ends), events <= ends
        return gs.Censored(np.where(wrong, self.time, durations), seen | wrong)


SPINS = Ising(0.3 * (np.eye(6, k=1) + np.eye(6, k=-1)))
# The point is that with the largest features: for it alone is the bound attained. On R^d it moves with the
# scales that the weight and the kernel take from the data, so they are fixed.
FIXED: dict[str, Any] = {"operator": gs.Standardised(gs.Decaying(centre=(0.0,), scale=(1.0,)))}
CASES: dict[str, tuple[Any, tuple[float, ...], dict[str, Any]]] = {
    "Normal, d = 1": (Normal(0.0, 1.0), (1.07,), FIXED | {"kernel": gs.IMQ(1.0)}),
    "Normal, d = 5": (
        Normal(np.zeros(5)),
        (4.35, 0.0, 0.0, 0.0, 0.0),
        {
            "operator": gs.Standardised(gs.Decaying(centre=(0.0,) * 5, scale=(1.0,) * 5)),
            "kernel": gs.IMQ(3.0),
        },
    ),
    "StudentT(3), d = 1": (StudentT(3.0, 0.0, 1.0), (1.7,), {}),
    "half-line, Gamma(2)": (Gamma(2.0, 1.0), (30.0,), {}),
    "Box, truncated Normal": (Truncated(Normal([0, 0]), gs.Box([0, 0], [1, 1])), (1.0, 1.0), {}),
    "Ball, truncated Normal": (Truncated(Normal([0, 0]), gs.Ball(2)), (1.0, 0.0), {}),
    "Simplex, Dirichlet(½)": (Dirichlet([0.5, 0.5, 0.5]), (0.999, 0.0005, 0.0005), {}),
    "Circle, von Mises": (VonMises(0.0, 2.0), (1.57,), {}),
    "Sphere, von Mises–Fisher": (VonMisesFisher([0.0, 0.0, 1.0], 2.0), (1.0, 0.0, 0.0), {}),
    "Lattice, Ising": (SPINS, (1.0, -1.0, 1.0, -1.0, 1.0, -1.0), {}),
}
ELSEWHERE: dict[str, tuple[Any, tuple[float, ...], dict[str, Any]]] = {
    "Normal, d = 1, default, at 4": (Normal(0.0, 1.0), (4.0,), {}),
    "Normal, d = 5, default, at 4": (Normal(np.zeros(5)), (4.0, 0.0, 0.0, 0.0, 0.0), {}),
    "half-line, truncated Normal, at 4": (Truncated(Normal(0.0, 1.0), gs.Box(0.0, np.inf)), (4.0,), {}),
}


def contaminated(test: Any, name: str, shares: tuple[float, ...], cases: Any, n: int) -> Iterator[Part]:
    """Every case with every share, tested with that share as the option of this name."""
    for case, (model, point, options) in cases.items():
        for share in shares:
            law = Mixed(model, share, point)
            cell = gs.Cell(model, None, n, name=f"{case}, {share:g}, n = {n}", sample_null=law)
            yield [cell], {f"{name} = {share:g}": partial(test, **{name: share}, **options)}


def durations(test: Any, name: str, shares: tuple[float, ...], n: int) -> Iterator[Part]:
    for share in shares:
        name_ = f"durations, {share:g}, n = {n}"
        cell = gs.Cell(Exponential(1.0), None, n, name=name_, sample_null=Late(share, 1e-3))
        yield [cell], {f"{name} = {share:g}": partial(test, **{name: share})}


@dataclass(frozen=True)
class Shifted:
    """Draws of a model, shifted in the first column."""

    model: Any
    by: float

    def __call__(self, n: int, rng: RNG) -> Array:
        x = self.model.sample(n, rng)
        x[:, 0] += self.by
        return x


def shifted(by: float, sizes: tuple[int, ...]) -> Part:
    models = {"Normal, d = 1": Normal(0.0, 1.0), "Normal, d = 5": Normal(np.zeros(5))}
    cells = [
        gs.Cell(model, None, n, name=f"{case}, shift {by:g}, n = {n}", sample_null=Shifted(model, by))
        for case, model in models.items()
        for n in sizes
    ]
    return cells, {f"shift = {by:g}": partial(EQUIVALENCE, shift=by)}


BELOW = (
    "The bound holds for the worst of all wrong observations and by the triangle inequality, so with any "
    "other the test is conservative."
)


def size_tables() -> Iterator[Table]:
    yield Table(
        "Tolerance",
        "`ksd_test(..., tolerance=ε)` where a share ε of the data, or none, lies at one point: at the one "
        "that counts most, or at 4. As a rejection is a lower confidence bound above the truth, one less "
        "these rates is the coverage of `TestResult.tolerance()`.",
        [
            *contaminated(TOLERANT, "tolerance", (0.0, 0.05, 0.1, 0.2), CASES | ELSEWHERE, 200),
            *durations(TOLERANT, "tolerance", (0.0, 0.1), 200),
        ],
        trials=1000,
        notes={"*": BELOW},
    )
    yield Table(
        "Equivalence",
        "`equivalence_test` at the boundary of its null hypothesis: a share ε of the data at the point that "
        "counts most with `margin=ε`, or shifted data with `shift`.",
        [
            *contaminated(EQUIVALENCE, "margin", (0.1, 0.2), CASES, 200),
            shifted(0.2, (200, 1000)),
            shifted(0.5, (50, 200)),
        ],
        trials=1000,
        notes={"*": BELOW},
    )
