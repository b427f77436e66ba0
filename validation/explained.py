"""Family-wise errors of the list of `TestResult.explain()` where some views hold and others fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from tables import RNG, Array, Part, Table

import goodstein as gs
from goodstein.explain.explanation import Finding
from goodstein.families import Exponential, Ising, Normal, VonMises

SPREAD_T5 = 0.81531
"""Factor with which t(5) variables have Gini's mean difference of standard normal ones, by ∫ F(1 − F)."""


@dataclass(frozen=True)
class Falsely:
    """The smallest adjusted p-value of the views that hold: below the level one of them is named falsely."""

    fails: Callable[[Finding], bool]

    def __call__(self, data: Any, model: Any, *, rng: RNG) -> float:
        null = gs.WildBootstrap(19)
        explanation = gs.ksd_test(data, model, null=null, workers=1, rng=rng).explain(rng=rng)
        return min(one.adjusted for one in explanation.findings if not self.fails(one))


@dataclass(frozen=True)
class Named:
    """Views with one of these names, and places, which see every difference."""

    names: tuple[str, ...] = ()

    def __call__(self, finding: Finding) -> bool:
        return bool(self.names) and (finding.kind == "places" or finding.view in self.names)


def normal(n: int, rng: RNG) -> Array:
    return rng.standard_normal((n, 3))


def mean(n: int, rng: RNG) -> Array:
    return normal(n, rng) + np.array([1.0, 0.0, 0.0])


def correlation(n: int, rng: RNG) -> Array:
    x = normal(n, rng)
    x[:, 1] = 0.7 * x[:, 0] + np.sqrt(0.51) * x[:, 1]
    return x


def tails(n: int, rng: RNG) -> Array:
    return SPREAD_T5 * normal(n, rng) / np.sqrt(rng.chisquare(5, n) / 5)[:, None]


def several(n: int, rng: RNG) -> Array:
    x = tails(n, rng)
    x[:, 0] = 2 * x[:, 0] + 1
    return x


def direction(n: int, rng: RNG) -> Array:
    return VonMises(1.5, 1.5).sample(n, rng)


def chain(first: float) -> Ising:
    """Four spins in a row, the first coupling by itself."""
    theta = np.diag([first, 0.3, 0.3], k=1)
    return Ising(theta + theta.T)


def coupling(n: int, rng: RNG) -> Array:
    return chain(0.9).sample(n, rng)


def late(n: int, rng: RNG) -> gs.Censored:
    """The hazard doubles after a time that is later than the last but one of the intervals begins."""
    event, end = rng.exponential(size=n), rng.uniform(0, 5, n)
    event = np.where(event > 1.2, 1.2 + 0.4 * (event - 1.2), event)
    return gs.Censored(np.minimum(event, end), event <= end)


ALL_TAILS = (*(f"tails of column {j}" for j in range(3)), "tails of all")
CASES: dict[str, tuple[Any, Callable[[int, RNG], Any], tuple[str, ...]]] = {
    "nothing": (Normal(np.zeros(3)), normal, ()),
    "mean": (Normal(np.zeros(3)), mean, ("mean of column 0",)),
    "correlation": (
        Normal(np.zeros(3)),
        correlation,
        ("correlation of column 0, column 1", "correlation of all"),
    ),
    "tails": (Normal(np.zeros(3)), tails, ALL_TAILS),
    "mean, spread, tails": (
        Normal(np.zeros(3)),
        several,
        ("mean of column 0", "spread of column 0", "spread of all", *ALL_TAILS),
    ),
}


def part(
    case: str, model: Any, law: Callable[[int, RNG], Any], fails: Callable[[Finding], bool], n: int
) -> Part:
    cell = gs.Cell(model, None, n, name=f"{case} is wrong, n = {n}", sample_null=law)
    return [cell], {"views that hold": Falsely(fails)}


def points_elsewhere(finding: Finding) -> bool:
    """The direction itself, and places."""
    return finding.kind in ("direction", "places")


def of_the_first(finding: Finding) -> bool:
    """Associations of the first spin; all shares are one half."""
    return "site 0" in finding.columns and finding.kind != "shares"


def is_last(finding: Finding) -> bool:
    """The hazard after some time, or over all time."""
    return "after" in finding.view or "all" in finding.view


def size_tables() -> Iterator[Table]:
    normals = [
        part(case, model, law, Named(names), n) for n in (100,) for case, (model, law, names) in CASES.items()
    ]
    others = [
        part(
            "circle: direction",
            VonMises(1.0, 1.5),
            direction,
            points_elsewhere,
            100,
        ),
        part("Ising: one coupling", chain(0.3), coupling, of_the_first, 100),
        part("durations: late hazard", Exponential(1.0), late, is_last, 100),
    ]
    yield Table(
        "Explanations",
        "How often the list of `explain()`, with a family-wise error of .05, names a view in which data and "
        "model agree, where others are wrong: the smallest adjusted p-value of those that hold. Normal "
        "models in three dimensions unless something else is said.",
        [*normals, *others],
        trials=1000,
        notes={
            "*": "Conservative: of the p-values that samples of the model and samples of the data's own rows "
            "give to a view the larger one counts, so that the error is kept also where only one of them is "
            "right."
        },
    )
