"""Which views are looked at, by the kind of data and the domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from goodstein.domains import Box, Domain, Lattice, Naturals, Simplex, Sphere, Torus
from goodstein.explain.columns import Columns, Edges
from goodstein.explain.counts import Counted
from goodstein.explain.directions import Directions
from goodstein.explain.places import Places
from goodstein.explain.states import States
from goodstein.explain.views import Look, Several, quoted
from goodstein.types import Array

LEVELS = 6
"""Levels of a lattice whose shares are looked at; more are taken for numbers."""

RATIOS = 6
"""Parts with which the ratio of every pair is looked at."""


def look_at_points(
    observations: Array, draws: Array, domain: Domain, names: Sequence[str], rng: np.random.Generator
) -> Look:
    """Views of points, with all that they take from the model's draws fixed."""
    if isinstance(domain, Lattice) and len(domain.levels) <= LEVELS:
        return States(draws, domain, names)
    if isinstance(domain, Naturals):
        return Several([Columns(draws, names, kinds=("mean",), radius=False), Counted(draws, names)])
    if domain.discrete:
        return Columns(draws, names, radius=False)
    if isinstance(domain, Simplex):
        looks = _parts(observations, draws, names)
    elif isinstance(domain, Sphere):
        looks = [Directions(draws, domain.embedded, "the rows", names)]
    elif isinstance(domain, Torus):
        looks = [Directions(draws, _on_circle(j), quoted(name), [name]) for j, name in enumerate(names)]
    else:
        looks = _flat(observations, draws, domain, names)
    return Several([*looks, Places(observations, draws, names, rng, domain.embedded)])


def _flat(observations: Array, draws: Array, domain: Domain, names: Sequence[str]) -> list[Look]:
    """Columns as they are, and the edges of a box."""
    enough = len(observations) > 5 * draws.shape[1] and domain.basis is None
    looks: list[Look] = [Columns(draws, names, radius=enough)]
    if isinstance(domain, Box) and np.isfinite([domain.lower, domain.upper]).any():
        looks.append(Edges(draws, names, domain.lower, domain.upper))
    return looks


def _on_circle(j: int) -> Callable[[Array], Array]:
    """An angle as a direction in the plane."""
    return lambda x: np.column_stack([np.cos(x[:, j]), np.sin(x[:, j])])


def _parts(observations: Array, draws: Array, names: Sequence[str]) -> list[Look]:
    """Parts, and logarithms of their ratios where there are no zeros."""
    looks: list[Look] = [Columns(draws, names, pairs=len(names) > 2, radius=False, together=False)]
    if (observations > 0).all() and (draws > 0).all():
        others = [f"log({name}/others)" for name in names[: None if len(names) > 2 else 1]]
        looks.append(Columns(draws, others, derived=_to_others, pairs=False, together=False))
        if 2 < len(names) <= RATIOS:
            ratios, derived = _log_ratios(names)
            spreads = Columns(draws, ratios, derived=derived, kinds=("spread",), pairs=False, together=False)
            looks.append(spreads)
    return looks


def _to_others(x: Array) -> Array:
    """log x_j less the mean logarithm of the other parts; of two parts the first alone."""
    logs, d = np.log(x), x.shape[1]
    found = (d * logs - logs.sum(axis=1, keepdims=True)) / (d - 1)
    return np.asarray(found if d > 2 else found[:, :1])


def _log_ratios(names: Sequence[str]) -> tuple[list[str], Callable[[Array], Array]]:
    """Logarithms of the ratios of all pairs."""
    pairs = list(combinations(range(len(names)), 2))
    first, second = (np.array([pair[k] for pair in pairs]) for k in (0, 1))
    ratios = [f"log({names[j]}/{names[k]})" for j, k in pairs]
    return ratios, lambda x: np.asarray(np.log(x)[:, first] - np.log(x)[:, second])
