r"""Shift, scale and correlation by which data are off a model whose score alone is known.

Rows x are taken for an affine image of rows y that follow the model. The map is the maximum likelihood
estimate, at which with the score s

.. math:: \overline{s(y)} = 0, \qquad \mathrm{sym}\, \overline{s(y)\,(y - \bar y)^\top} = -1.

The steps need the score at moved rows and no derivative of it. In coordinates z in which y is white, with t
the score there and K = −sym mean t zᵀ, the map z ↦ K^{-1/2} z + K^{-1} mean t solves both equations at once
where the score is linear. Elsewhere it is a direction of ascent. The scores at both ends of a step tell by
the trapezoidal rule how the likelihood changes, and steps that gain too little are halved.

Influences are those of estimating equations, with a Jacobian by differences of the score at some rows. They
hold also where the data are no image of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from goodstein.domains import Euclidean, Simplex
from goodstein.errors import InputError
from goodstein.explain.columns import MOST
from goodstein.operators.logratio import LogRatio
from goodstein.problems.problem import Problem
from goodstein.stein.features import SteinFeatures
from goodstein.types import Array

Score = Callable[[Array], Array]
Index = npt.NDArray[np.intp]

SOME, EACH, ROWS = 256, 20, 10
"""Rows at which steps ask for the score, and the least for each column; and rows for each column below which
nothing is solved, since moments of second order are noise."""

ROUNDS, HALVINGS, GAIN = 40, 8, 0.3
"""Most steps, most halvings of one, and its least gain, as a share of what its slope promises. Exponential
tails need 20 steps from 10 standard deviations away."""

CLOSE, FAR, STEP = 0.01, 3.0, 0.05
"""Largest error of the equations after the steps, of which a last one leaves the square; longest shift of a
step and largest factor on a scale; and difference for derivatives, in standard deviations."""


class Effects(NamedTuple):
    """Effects of a model without a sampler.

    In `values`, (v,), stand shifts of the columns, logarithms of ratios of their standard deviations, and
    differences of the correlations of all pairs, and in `influences`, (n, v), those of the rows on them.
    `scales`, (d,), are the standard deviations of the data, and `features` the rows that were moved back to
    the model, with their scores.
    """

    values: Array
    influences: Array
    scales: Array
    features: SteinFeatures


def effects_of(problem: Problem) -> Effects | None:
    """Estimate the effects of all columns and pairs; None where that is not possible."""
    model, domain, x = problem.model, problem.domain, problem.observations
    score, ways, usable = model.score, np.eye(domain.dim), isinstance(domain, Euclidean)
    if isinstance(domain, Simplex) and (x > 0).all():
        x, ways, usable = domain.to_logratio(x), domain.basis * domain.dim / (domain.dim - 1), True
        score = partial(_score_of_ratios, model, domain)
    n, m = x.shape
    if not usable or model.estimated or not model.everywhere or m > MOST or n < ROWS * m:
        return None
    some = np.unique(np.linspace(0, n - 1, max(SOME, EACH * m)).astype(np.intp))
    try:
        with np.errstate(all="ignore"):
            start = moved_back(score, x[some])
            if start is None:
                return None
            ones = np.column_stack([np.ones(n), x])
            # What some rows leave may be larger than the error of many.
            whole = ones @ np.linalg.lstsq(ones[some], start[0], rcond=None)[0]
            solved = moved_back(score, whole)
            found = None if solved is None else _effects(score, x, *solved, some, ways)
    except (InputError, np.linalg.LinAlgError):  # no score at moved rows, or no variance
        return None
    return found if found is not None and np.isfinite(found.influences).all() else None


def _score_of_ratios(model: Any, domain: Simplex, u: Array) -> Array:
    return LogRatio().features(model, domain, domain.from_logratio(u)).value


def _white(y: Array) -> tuple[Array, Array]:
    """The mean, and the root R of the covariance RRᵀ."""
    return y.mean(axis=0), np.linalg.cholesky(np.atleast_2d(np.cov(y.T, bias=True)))


def moved_back(score: Score, x: Array) -> tuple[Array, Array] | None:
    """Rows that solve the equations, and their scores; None where the steps do not get there."""
    y, s, scales = x, score(x), _white(x)[1]
    for _ in range(ROUNDS):
        mean, root = _white(y)
        z, t = np.linalg.solve(root, (y - mean).T).T, s @ root
        slope, product = t.mean(axis=0), -t.T @ z / len(z)
        values, vectors = np.linalg.eigh(0.5 * (product + product.T))
        if max(np.abs(slope).max(), np.abs(values - 1.0).max()) < CLOSE:
            return y, s
        # Rows where the density is no hill are spread out until it is one.
        rise = 0.5 * np.log(np.clip(values, 1.0 / FAR**2, FAR**2))
        shift = vectors @ (vectors.T @ slope / np.maximum(np.abs(values), 1e-8))
        length = float(np.linalg.norm(np.linalg.solve(scales, root @ shift)))
        if length > FAR:
            shift, rise = shift * FAR / length, 0.0 * rise
        promised = slope @ shift + (values - 1.0) @ rise
        for share in 0.5 ** np.arange(HALVINGS):
            ahead = mean + (z @ (vectors * np.exp(-share * rise) @ vectors.T) + share * shift) @ root.T
            scores = score(ahead)
            gain = 0.5 * ((s + scores) * (ahead - y)).sum(axis=1).mean() - share * rise.sum()
            if gain > GAIN * share * promised:
                break
        y, s = ahead, scores
    return None


def _effects(score: Score, x: Array, y: Array, s: Array, some: Index, ways: Array) -> Effects:
    """The last step, and the influence of each row."""
    mean, root = _white(y)
    scales, others = (x @ ways).std(axis=0), np.linalg.norm(root.T @ ways, axis=0)
    # Columns u of the data and v of the model's rows, in their standard deviations, and scores a along v.
    along = root @ root.T @ ways / others
    u, v, a = (x - x.mean(axis=0)) @ ways / scales, (y - mean) @ ways / others, s @ along
    own, rho, d = u.T @ u / len(u), v.T @ v / len(v), len(scales)
    j, k = np.hstack([np.diag_indices(d), np.triu_indices(d, 1)])
    equations = np.hstack([a, -0.5 * (a[:, j] * v[:, k] + a[:, k] * v[:, j]) - rho[j, k]])
    slopes = np.stack([(score(y[some] + STEP * way) @ along - a[some]) / STEP for way in along.T], axis=2)
    moves = -equations @ np.linalg.pinv(_jacobian(slopes, v[some], a[some], rho, (j, k))).T
    turned = rho[j][:, j] * rho[k][:, k] + rho[k][:, j] * rho[j][:, k]
    shifts = scales * u - others * (v + moves[:, :d] @ rho)
    changes = _second(u[:, j] * u[:, k], own, j, k) - _second(
        v[:, j] * v[:, k] + moves[:, d:] @ turned, rho, j, k
    )
    values = np.concatenate([(x.mean(axis=0) - mean) @ ways, np.log(scales / others), (own - rho)[j, k][d:]])
    influences = np.hstack([shifts, changes])
    step = influences.mean(axis=0)
    return Effects(values + step, influences - step, scales, SteinFeatures(y, s))


def _second(products: Array, correlation: Array, j: Index, k: Index) -> Array:
    """Influences of products of columns on logarithms of scales, where j = k, and on correlations."""
    half = 0.5 * products[:, j == k]
    return np.where(j == k, 0.5 * products, products - correlation[j, k] * (half[:, j] + half[:, k]))


def _jacobian(slopes: Array, v: Array, a: Array, rho: Array, pairs: tuple[Index, Index]) -> Array:
    """Slopes of the equations in shifts of the columns, and in stretches along pairs of them.

    `slopes`, (n, d, d), are those of every column's score along every column.
    """
    first = np.einsum("njl,nq->jlq", slopes, v) / len(v)
    second = np.einsum("njl,nk,nq->jklq", slopes, v, v, optimize=True) / len(v)
    second += np.einsum("jq,kl->jklq", a.T @ v / len(v), rho)
    second += second.transpose(1, 0, 2, 3).copy()
    second += second.transpose(0, 1, 3, 2).copy()
    of_stretch, of_shift = (
        first + first.transpose(0, 2, 1),
        first.transpose(0, 2, 1) + first.transpose(2, 0, 1),
    )
    upper = [slopes.mean(axis=0), 0.5 * of_stretch[:, *pairs]]
    return np.block([upper, [-0.5 * of_shift[pairs], -0.25 * second[pairs][:, *pairs]]])
