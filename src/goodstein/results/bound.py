r"""How much one observation can count: B² = sup h(x, x) over the domain.

If P = (1 − ε)Q + εR then KSD(P, Q) = ε·KSD(R, Q) ≤ ε·B, whatever R is. The supremum is looked for, not
proved: at the data, at points spread over the domain, on rays far out and walks to every face, and from the
best of them by a random search. It is infinite where h still grows on the last stretch of a ray or of a
walk. A bound that falls short by some per cent makes shares too large by as many.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from goodstein.auxiliary.decaying import Decaying
from goodstein.auxiliary.functions import ProductOfParts
from goodstein.data.points import Points
from goodstein.domains import Box, Domain, Euclidean, Lattice, Naturals, Simplex, Torus
from goodstein.domains.states import States
from goodstein.engine.executors import one_blas_thread
from goodstein.errors import DomainError, InputError
from goodstein.operators import Operator, Standardised
from goodstein.problems.problem import Problem
from goodstein.survival.data import Censored
from goodstein.types import Array

ROWS = 1000
"""Observations, and points spread over a bounded domain, that are looked at."""
RAYS = 40
FAR = np.geomspace(0.1, 1e4, 60)
"""Distances along a ray, in units of the data's spread; the last third must not add anything."""
CLOSE = np.geomspace(0.3, 1e-9, 40)
"""The same towards a face, in units of the distance within which it is the nearest one."""
GROWTH = 1.02
BEST, ROUNDS, TRIES = 8, 25, 8
"""A search from so many points, by so many steps of so many tries each."""
STATES = 4096
"""Lattices with at most so many states are looked at as a whole."""


@one_blas_thread()
def bounded(problem: Problem) -> tuple[Problem, float]:
    """The problem with the first operator under which no observation counts without limit, and B.

    That of the problem where it will do; otherwise one whose weight falls off far from the data, or at the
    faces of a simplex.
    """
    others: list[Operator] = []
    if isinstance(problem.domain, Euclidean | Box):
        others = [Standardised(Decaying(power=power)) for power in (1.0, 2.0)]
    elif isinstance(problem.domain, Simplex):
        others = [Standardised(ProductOfParts())]
    if not isinstance(problem.data, Points):
        others = []
    for changed in (problem, *(replace(problem, operator=other) for other in others)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scores are asked for far from where anybody needs them
            bound = largest_feature(changed)
        if math.isfinite(bound):
            return changed, bound
    raise InputError(
        f"With {problem.fitted_operator!r} one observation may count without limit, so no share of wrong "
        "ones can be told from the discrepancy.",
        remedy="Use an operator with a weight that bounds its features, as Standardised(Decaying(power=2)) "
        "does on R^d where the score grows no faster than ‖x‖⁴.",
    )


def largest_feature(problem: Problem) -> float:
    """B = sup √h(x, x) under the fitted operator and kernel; infinite where there is no limit."""
    data, domain, rng = problem.data, problem.domain, np.random.default_rng(0)
    require_everywhere(problem)
    try:
        _ = problem.fitted_kernel
    except InputError as error:
        if error.rows is None:
            raise
        return math.inf  # some of the data have no features, such as zeros that have no log-ratio
    if isinstance(data, Censored):
        return math.sqrt(float(np.nanmax(_durations(problem, data))))
    if not isinstance(data, Points):
        raise InputError(
            f"A largest feature is known for points and durations, not for {type(data).__name__}."
        )
    rows = data.observations
    x = rows[np.linspace(0, len(rows) - 1, min(len(rows), ROWS)).astype(np.intp)]
    if isinstance(domain, Lattice):
        states = (
            domain.states()
            if domain.size <= STATES
            else np.concatenate([x, domain.sample_uniform(ROWS, rng)])
        )
        return math.sqrt(_climbed(problem, domain, states))
    if isinstance(domain, States):
        return math.sqrt(_around(problem, domain, x))
    starts, values = [x], [_sizes(problem, x)]
    if not np.isfinite(values[0]).any():
        _diagonal(problem, x)  # says what is wrong with all of them
        return math.inf
    for lines in (_rays(domain, x, rng), _walks(domain, x, rng)):
        if len(lines):
            # Starts outwards: what is not finite there has no limit.
            found = _sizes(problem, lines.reshape(-1, x.shape[1])).reshape(lines.shape[:2])
            inside = np.where(np.isnan(found), -np.inf, found)
            third = 2 * inside.shape[1] // 3
            if not inside[:, third:].max() <= GROWTH * max(inside[:, :third].max(), values[0].max()):
                return math.inf
            starts.append(lines.reshape(-1, x.shape[1]))
            values.append(inside.ravel())
    if domain.bounded:
        try:
            starts.append(domain.retracted(domain.sample_uniform(ROWS, rng)))
            values.append(_sizes(problem, starts[-1]))
        except DomainError:
            pass
    return math.sqrt(_searched(problem, np.concatenate(starts), np.concatenate(values), rng))


def require_everywhere(problem: Problem) -> None:
    """Raise where the model cannot be asked at other observations than those of the data."""
    if not problem.model.everywhere:
        raise InputError(
            f"{problem.model.name} are known at the draws alone, and this looks at other points.",
            remedy="Pass the model, a score function or a log density.",
        )


def _sizes(problem: Problem, x: Any) -> Array:
    """h(x, x); NaN outside the domain, infinite where the operator cannot be evaluated."""
    found = np.full(len(x), np.nan)
    rows = np.flatnonzero(problem.domain.contains(x))
    while len(rows):
        try:
            found[rows] = _diagonal(problem, x[rows])
            break
        except InputError as error:
            # Where it is not said which rows are at fault none of them is trusted.
            wrong = np.ones(len(rows), bool) if error.rows is None else np.zeros(len(rows), bool)
            wrong[error.rows] = True
            found[rows[wrong]] = np.inf
            rows = rows[~wrong]
    return found


def _diagonal(problem: Problem, x: Any) -> Array:
    features = problem.fitted_operator.features(problem.model, problem.domain, x)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(features.form(problem.fitted_kernel).diagonal())


def _rays(domain: Domain, x: Array, rng: np.random.Generator) -> Array:
    """Points further and further out, (rays, steps, d), where the domain goes on for ever."""
    if domain.bounded or not domain.flat or isinstance(domain, Torus):
        return np.empty((0, 0, x.shape[1]))
    d = x.shape[1]
    centre, spread = np.median(x, axis=0), x.std(axis=0)
    directions = np.concatenate([np.eye(d), -np.eye(d), rng.standard_normal((RAYS, d))])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    steps = (np.where(spread > 0, spread, 1.0) * directions)[:, None, :] * FAR[:, None]
    return np.asarray(centre + steps * math.sqrt(d))


def _walks(domain: Domain, x: Array, rng: np.random.Generator) -> Array:
    """Points closer and closer to every face, (walks, steps, d)."""
    faces = domain.faces(x, rng) if domain.has_boundary and domain.flat else ()
    walks = [
        face.points[:, None, :] + (face.reach[:, None] * CLOSE)[:, :, None] * face.normals[:, None, :]
        for face in faces
    ]
    return np.concatenate(walks) if walks else np.empty((0, 0, x.shape[1]))


def _searched(problem: Problem, starts: Array, values: Array, rng: np.random.Generator) -> float:
    """The largest value, improved by steps at random from the best of the starts."""
    domain = problem.domain
    known = np.where(np.isfinite(values), values, -np.inf)
    best = np.argsort(known)[-BEST:]
    x, value = starts[best].copy(), known[best]
    typical = starts[: min(len(starts), ROWS)].std(axis=0)
    typical = np.where(typical > 0, typical, 1.0)
    step = np.full(len(x), 0.3)
    basis = domain.basis if domain.flat else None
    for _ in range(ROUNDS):
        noise = rng.standard_normal((len(x), TRIES, x.shape[1])) * typical
        noise = noise if basis is None else noise @ basis.T @ basis
        tried = domain.retracted((x[:, None] + step[:, None, None] * noise).reshape(-1, x.shape[1]))
        sizes = _sizes(problem, tried).reshape(len(x), TRIES)
        sizes = np.where(np.isfinite(sizes), sizes, -np.inf)
        top = sizes.argmax(axis=1)
        better = sizes.max(axis=1) > value
        rows = np.flatnonzero(better)
        x[rows] = tried.reshape(len(x), TRIES, -1)[rows, top[rows]]
        value = np.maximum(value, sizes.max(axis=1))
        step = np.where(better, step, 0.7 * step)
    return float(value.max())


def _climbed(problem: Problem, lattice: Lattice, states: Array) -> float:
    """The largest value over states, and over states next to the best, until none is better."""
    values = _sizes(problem, states)
    best = states[int(np.nanargmax(values))]
    value = float(np.nanmax(values))
    while True:
        near = np.concatenate(
            [lattice.shift(best[None], i, step) for i in range(lattice.dim) for step in (1, -1)]
        )
        found = _sizes(problem, near)
        if not float(np.nanmax(found)) > value:
            return value
        best, value = near[int(np.nanargmax(found))], float(np.nanmax(found))


def _around(problem: Problem, space: States, x: Array) -> float:
    """The largest value over states, those next to them and, of counts, those far out, that can occur.

    Rates are at most one, so that there is a limit, which counts far out are at.
    """
    states = [x, space.neighbours(x).reshape(-1, x.shape[1])]
    if isinstance(space, Naturals) and not space.keeps:
        states += [0.0 * x[:1], *(x.max(axis=0, keepdims=True) * 4.0**k for k in range(8))]
    found = np.unique(np.concatenate(states), axis=0)
    found = found[space.contains(found)]
    return float(_diagonal(problem, found[problem.model.logpdf(found) > -np.inf]).max())


def _durations(problem: Problem, data: Censored) -> Array:
    """h at durations of all lengths, with an event and without."""
    if data.late or data.covariates is not None:
        raise InputError("A largest feature is not known for durations with late entry or covariates.")
    times = np.quantile(data.durations, np.linspace(0.0, 1.0, 200))
    positive = times[times > 0]
    middle = float(np.median(positive)) if positive.size else 1.0
    times = np.concatenate([positive, middle * np.geomspace(1e-6, 1e3, 400)])
    both = np.concatenate([times, times]), np.repeat([True, False], len(times))
    possible = np.asarray([problem.model.cumulative_hazard(times) < np.inf]).ravel()
    allowed = np.concatenate([possible, possible])
    return _diagonal(problem, Censored(both[0][allowed], both[1][allowed]))
