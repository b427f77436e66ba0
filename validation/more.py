"""Copulas, mixtures of compositions, wrapped and projected normals: sizes, given and fitted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from tables import Table, fitted, ksd, named, true

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
    "wrapped normal, σ = 1": families.WrappedNormal(0.5, 1.0),
    "projected normal, d = 3": families.ProjectedNormal([1.0, 0.5, -0.5]),
}


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
            fit = type(model).fit
        test = named(fitted, null=gs.FittedWildBootstrap(), fit=fit)
        parts.append(true({case: model}, test, (100,)))
    yield Table(
        "Copulas, mixtures, wrapped and projected normals, fitted",
        "Fitted by maximum likelihood to the data that are tested, with random signs that know it.",
        parts,
    )
