"""Copulas, mixtures of compositions: sizes, given and fitted, and power."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from tables import KSD, Array, Table, Test, against, aggregated, fitted, ksd, named, simulated, true

import goodstein as gs
from goodstein import families

GIVEN: dict[str, Any] = {
    "Gaussian copula, ρ = .6": families.GaussianCopula(0.6),
    "t copula, ν = 3, ρ = .6": families.StudentCopula(3.0, 0.6),
    "Clayton copula, θ = 2": families.ClaytonCopula(2.0),
    "Gumbel copula, θ = 2": families.GumbelCopula(2.0),
    "Frank copula, θ = 5": families.FrankCopula(5.0),
    "mixture of two Dirichlet": families.DirichletMixture([0.4, 0.6], [[9.0, 2.0, 2.0], [2.0, 3.0, 12.0]]),
    "mixture of two logistic normal": families.LogisticNormalMixture(
        [0.4, 0.6], [[1.5, 0.0], [-1.0, 1.0]], [0.2, 0.3]
    ),
}


def student(x: Array) -> Any:
    """A fit; of data whose likelihood is largest in the limit that of a Gaussian copula."""
    try:
        return families.StudentCopula.fit(x)
    except gs.InputError:
        return families.GaussianCopula.fit(x)


def size_tables() -> Iterator[Table]:
    yield Table(
        "Copulas, mixtures, wrapped and projected normals",
        "Densities of copulas are unbounded at corners; the default operator's weight vanishes there.",
        [true(GIVEN, ksd(), (100,))],
    )
    parts = []
    for case, model in GIVEN.items():
        if "mixture" in case:
            fit = partial(type(model).fit, n_components=2, rng=0)
        else:
            fit = student if isinstance(model, families.StudentCopula) else type(model).fit
        test = named(fitted, null=gs.FittedWildBootstrap(), fit=fit)
        parts.append(true({case: model}, test, (100,)))
    yield Table(
        "Copulas, mixtures, wrapped and projected normals, fitted",
        "Fitted by maximum likelihood to the data that are tested, with random signs that know it.",
        parts,
    )


# Power: copulas of the same rank correlation.

CLAYTON = families.ClaytonCopula(2.0)


def joint(u: Array) -> Array:
    """C(u) of Clayton's copula."""
    return np.asarray((u[:, 0] ** -2.0 + u[:, 1] ** -2.0 - 1.0) ** -0.5)


def ranks(u: Array) -> Array:
    """Pseudo-observations, which depend less on chance than u itself."""
    return np.asarray((u.argsort(axis=0).argsort(axis=0) + 1.0) / (len(u) + 1.0))


def cramer_von_mises(u: Array, _: Any) -> float:
    """Σ (C_n − C)² at the ranks, with C_n the empirical copula (Genest, Rémillard and Beaudoin 2009)."""
    u = ranks(u)
    counted = (u[:, None] <= u).all(axis=2).mean(axis=0)
    return float(((counted - joint(u)) ** 2).sum())


def kendall(u: Array, _: Any) -> float:
    """Σ (K_n − K)² at the sorted C of the ranks, with K(t) = t + t(1 − t²)/2 the law of C(U)."""
    t = np.sort(joint(ranks(u)))
    places = (np.arange(len(t)) + 0.5) / len(t)
    return float(((places - t - t * (1.0 - t**2) / 2.0) ** 2).sum())


def power_tables() -> Iterator[Table]:
    tests: dict[str, Test] = {
        "aggregated": aggregated,
        "KSD": KSD,
        "Cramér–von Mises": simulated(cramer_von_mises, 1999),
        "Kendall's process": simulated(kendall, 1999),
    }
    root = float(np.sin(np.pi / 4.0))
    yield against(CLAYTON, 100, tests, trials=200)(
        "Copulas: Clayton, θ = 2",
        "Null: Clayton's copula with Kendall's τ = ½, fully known, and uniform margins. Truth: other copulas "
        "of the same τ, or another θ. The classical tests have simulated null distributions.",
        {
            "Gaussian": families.GaussianCopula(root),
            "t, ν = 3": families.StudentCopula(3.0, root),
            "Frank": families.FrankCopula(5.7363),
            "Gumbel": families.GumbelCopula(2.0),
            "Clayton, θ = 1.4": families.ClaytonCopula(1.4),
            "Clayton, θ = 2.8": families.ClaytonCopula(2.8),
        },
    )
