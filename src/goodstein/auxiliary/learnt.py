"""An auxiliary function learnt by gradient: the one of a small family with the best power criterion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.auxiliary.base import Auxiliary, Unit, as_auxiliary
from goodstein.auxiliary.criterion import TINY, PowerCriterion, from_row_sums
from goodstein.auxiliary.functions import default_auxiliary
from goodstein.constraints import check_count, number
from goodstein.data.points import Points
from goodstein.data.rows import SeenRows
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.kernels import IMQ, Kernel, Median
from goodstein.models.model import Model
from goodstein.operators.base import tangent
from goodstein.operators.standardised import Standardised
from goodstein.pipeline.compose import compose
from goodstein.problems.problem import Problem
from goodstein.stein.features import SteinFeatures
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator

PENALTIES = (3.0, 1.0, 0.3, 0.1, 0.03)
"""Penalties that are tried, the strongest first."""

MARGIN = 0.5
"""How much worse than the best one a penalty may be to be preferred to it, in units of 1/√n."""

LEAST = 10
"""Training rows below which nothing can be learnt."""

WIDTH = 0.5
"""Width of the bumps, in median distances."""


def learn(
    training: ArrayLike,
    model: Any,
    *,
    domain: Domain | None = None,
    kernel: Kernel | None = None,
    boundary: Auxiliary | None = None,
    n_features: int = 6,
    penalty: float | None = None,
    max_ratio: float = 7.0,
    max_rows: int = 1000,
    rng: RNG = None,
) -> LearntAuxiliary:
    r"""Learn an auxiliary function g from training data, so as to maximise the power criterion U/σ.

    The family is

    .. math:: g(x) = B(x) \exp\{θ \cdot φ(x)\}, \qquad
        φ_j(x) = \frac{e^{-\|(x - c_j)/w\|^2/2}}{\sum_l e^{-\|(x - c_l)/w\|^2/2}},

    with B the boundary function, centres c drawn from the training rows, and widths w half the median
    distance in coordinates of unit variance. A bound on ∣θ_j∣ bounds g/B. θ maximises U/σ − penalty·‖θ‖²/J.

    Parameters
    ----------
    training
        Observations to learn from, (n, d). They must not be tested afterwards: a test with this g that is
        given any of them raises :class:`InputError`. How they are recognised, see
        :class:`goodstein.data.rows.SeenRows`.
    model, domain
        As in :func:`ksd_test`.
    kernel
        The radial kernel for which g is learnt; None takes :class:`IMQ` with the median bandwidth. Test with
        the same one: it is the attribute ``kernel`` of what is returned, its bandwidth a number.
    boundary
        B; None takes the domain's own, and none where there is no boundary.
    n_features
        J.
    penalty
        Weight of ‖θ‖²/J: the larger, the closer g stays to B. None: the strongest of 3, 1, 0.3, 0.1 and 0.03
        that is about as good as the best of them on rows that were left out (two folds).
    max_ratio
        The largest and the smallest g/B differ by at most this factor. A g that concentrates on few rows
        leaves the bootstrap with few of them: for a true N(0, 1), 60 test rows and the penalty 0.03, tests of
        level .01 rejected .015 with a factor of 7 and .037 with one of 20. For larger ones simulate the null
        distribution, :class:`MonteCarlo`.
    max_rows
        Learning takes n² memory; of more training rows than this as many are drawn at random and the others
        not looked at (nor are they allowed in the test).
    rng
        Seed or generator.

    Returns
    -------
    LearntAuxiliary
        An :class:`Auxiliary` for ``Standardised(g)``, with the attributes ``kernel``, ``coefficients`` and
        ``before`` and ``after``, the criterion on the training rows at θ = 0 and at the θ that was found.

    Notes
    -----
    Where the score is about equally large everywhere, g = B is hard to beat and learning gains nothing. It
    pays where the score is large in one place and the discrepancy in another: for a mixture of N(−4, .05²)
    and N(4, 1) whose second component is shifted by ½, 200 test rows had power .17 (.27 with max_ratio=10,
    .50 with 100) at level .05, and .10 with g = 1.

    Examples
    --------
    >>> import goodstein as gs
    >>> x = gs.families.Normal(0.0, 2.0).sample(400, rng=1)
    >>> g = gs.auxiliary.learn(x[:150], gs.families.Normal(0.0, 1.0), rng=1)
    >>> g.after.value > g.before.value
    True
    >>> result = gs.ksd_test(
    ...     x[150:], gs.families.Normal(0.0, 1.0), operator=gs.Standardised(g), kernel=g.kernel, rng=1
    ... )
    >>> result.pvalue < 0.01
    True
    """
    check_count(n_features, "n_features")
    check_count(max_rows, "max_rows", 10)
    weight = None if penalty is None else number(penalty, "penalty", above=0.0)
    bound = 0.5 * math.log(number(max_ratio, "max_ratio", above=1.0))
    generator = as_generator(rng)
    problem = training_problem(training, model, domain, IMQ() if kernel is None else kernel)
    place, x = problem.domain, problem.observations
    edge = default_auxiliary(place) if place.has_boundary else None
    if boundary is not None:
        edge = as_auxiliary(boundary, "`boundary` must be an auxiliary function such as BoxProduct()")
    edge = None if edge is None else edge.fitted(x, place)
    used = x
    if len(x) > max_rows:
        used = x[np.sort(generator.permutation(len(x))[:max_rows])]
    features = Standardised(Unit() if edge is None else edge).features(problem.model, place, used)
    fixed = problem.kernel.fitted_to(features)
    if not fixed.radial:
        raise InputError(f"`kernel` must be a plain radial kernel such as IMQ(), got {fixed!r}.")
    bumps = _bumps(tangent(place, used), n_features, generator)
    if weight is None:
        weight = cross_validated(features, fixed, bumps, bound, generator)
    objective = PenalisedCriterion(features, fixed, bumps, weight)
    coefficients = objective.best(bound)
    zero = np.zeros(len(coefficients))
    learnt = LearntAuxiliary(Bumps(bumps.centres, bumps.widths, coefficients), edge, place, x)
    learnt.kernel, learnt.coefficients = fixed, coefficients
    learnt.before, learnt.after = objective.criterion(zero), objective.criterion(coefficients)
    return learnt


class LearntAuxiliary(Auxiliary):
    """What :func:`learn` returns: g = B·r, found on training rows, on which it refuses to be used again.

    B is a boundary function, its scales fixed (None for 1), r a positive smooth one. So g vanishes wherever B
    does and as fast, and is valid wherever B is.
    """

    kernel: Kernel
    coefficients: Array
    before: PowerCriterion
    after: PowerCriterion

    def __init__(self, tilt: Bumps, boundary: Auxiliary | None, domain: Domain, x: Array) -> None:
        self.tilt, self.boundary, self.domain, self.training = tilt, boundary, domain, SeenRows(x)
        self._title = f"learn({len(x)} rows)"
        self._scale = 1.0
        typical = float(self.value(x, domain).mean())
        if not typical > 0:
            reason = f"{self!r} is zero at all training rows, because all of them lie on the boundary."
            raise InputError(reason, argument="training", remedy="Pass rows inside of the domain.")
        self._scale = 1.0 / typical  # g has mean 1 over the training rows

    def __repr__(self) -> str:
        times = "" if self.boundary is None else f", boundary={self.boundary!r}"
        return f"{self._title[:-1]}{times})"

    def __hash__(self) -> int:
        return id(self)

    def value(self, x: Array, domain: Domain) -> Array:
        r = self._scale * self.tilt.value(x, domain)
        if self.boundary is None:
            return r
        b = self.boundary.value(x, domain)
        return b * r if b.ndim == 1 else b * r[:, None]

    def evaluate(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        r, dr = self._tilt(x, domain)
        if self.boundary is None:
            return r, dr
        b, db = self.boundary.evaluate(x, domain)
        wide = b[:, None] if b.ndim == 1 else b
        return (b * r if b.ndim == 1 else b * r[:, None]), db * r[:, None] + wide * dr

    def drift(self, x: Array, g: Array, dg: Array, model: Model) -> Array:
        """b = r·(B·s + ∂B) + B·∂r, finite on the boundary wherever B's own drift is."""
        if self.boundary is None or type(self.boundary).drift is Auxiliary.drift:
            return super().drift(x, g, dg, model)
        r, dr = self._tilt(x, self.domain)
        b, db = self.boundary.evaluate(x, self.domain)
        wide = b[:, None] if b.ndim == 1 else b
        return r[:, None] * self.boundary.drift(x, b, db, model) + wide * dr

    def fitted(self, x: Array, domain: Domain) -> LearntAuxiliary:
        """Itself, after a look at the data: training rows are refused, and so is another domain."""
        if domain != self.domain:
            raise InputError(f"{self!r} was found on {self.domain!r} and cannot be used on {domain!r}.")
        self.training.refuse(x, self._title)
        return self

    def _tilt(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        r, dr = self.tilt.evaluate(x, domain)
        return self._scale * r, self._scale * dr


@dataclass(frozen=True, eq=False)
class Bumps:
    """exp(θ·φ) with a partition of unity φ by Gaussian bumps, in the domain's own coordinates y.

    ∇φ_j = φ_j (c_j − c̄)/w², where c̄(y) = Σφ_l c_l.
    """

    centres: Array
    widths: Array
    coefficients: Array

    def value(self, x: Array, domain: Domain) -> Array:
        """The exponential, (n,)."""
        return np.exp(self.features(tangent(domain, x)) @ self.coefficients)

    def evaluate(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        """The exponential, (n,), and its gradient, (n, d)."""
        phi = self.features(tangent(domain, x))
        eta = phi @ self.coefficients
        r = np.exp(eta)
        middle = self.centres.mean(axis=0)
        slope = (phi * self.coefficients) @ (self.centres - middle)
        slope -= eta[:, None] * (phi @ (self.centres - middle))
        slope *= r[:, None] / self.widths**2
        return r, slope if domain.basis is None else slope @ domain.basis

    def features(self, y: Array) -> Array:
        """φ, (n, J)."""
        # ‖y‖² is the same for all bumps and cancels.
        middle = self.centres.mean(axis=0)
        left, right = (y - middle) / self.widths, (self.centres - middle) / self.widths
        exponent = left @ right.T - np.einsum("ij,ij->i", right, right) / 2.0
        exponent -= exponent.max(axis=1, keepdims=True)
        phi = np.exp(exponent)
        return np.asarray(phi / phi.sum(axis=1, keepdims=True))


def training_problem(training: Any, model: Any, domain: Domain | None, kernel: Kernel) -> Problem:
    """Validated training data with model and domain; raises where no auxiliary function can be found."""
    problem = compose(training, model, domain, None, kernel)
    if not isinstance(problem.data, Points):
        raise InputError("auxiliary functions are found on points, an array (n, d).", argument="training")
    if problem.domain.discrete or not problem.domain.flat:
        raise InputError(
            f"auxiliary functions are found on R^d and its parts, and {problem.domain!r} is none of them.",
            argument="domain",
        )
    if len(problem.data) < LEAST:
        raise InputError(
            f"`training` has {len(problem.data)} rows; at least {LEAST} are needed to find an auxiliary "
            "function."
        )
    return problem


def _bumps(y: Array, count: int, rng: np.random.Generator) -> Bumps:
    distinct, spread = np.unique(y, axis=0), y.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    centres = distinct[rng.permutation(len(distinct))[:count]]
    return Bumps(centres, WIDTH * Median()(y / spread) * spread, np.zeros(len(centres)))


def cross_validated(
    features: SteinFeatures, kernel: Kernel, bumps: Bumps, bound: float, rng: np.random.Generator
) -> float:
    """The strongest penalty that is about as good as the best, on the half of the rows not learnt from."""
    order = rng.permutation(len(features))
    halves = [features.take(order[::2]), features.take(order[1::2])]
    totals = np.zeros(len(PENALTIES))
    for learnt_on, seen_on in (halves, halves[::-1]):
        unseen = PenalisedCriterion(seen_on, kernel, bumps, 1.0)
        for i, penalty in enumerate(PENALTIES):
            theta = PenalisedCriterion(learnt_on, kernel, bumps, penalty).best(bound)
            totals[i] += unseen.criterion(theta).value
    # U has the standard deviation σ/√n, so that smaller differences of U/σ mean little.
    good = totals / 2.0 >= totals.max() / 2.0 - MARGIN / np.sqrt(len(features))
    return PENALTIES[int(np.argmax(good))]


class PenalisedCriterion:
    """The power criterion of g = B·exp(θ·φ) less penalty·‖θ‖²/J, as a function of θ, with its gradient.

    With A the Stein matrix and b the drift of B, η = θ·φ and c = B∇η, tilting g by e^η makes

        H_ij = e^{η_i + η_j} [A_ij + c_i·v_ij + c_j·v_ji + c_i·c_j k_ij],   v_ij = b_j k_ij + B_j ∇′k_ij.

    The features are those of the standardised operator with g = B at the training rows, the kernel is fitted.
    """

    def __init__(self, features: SteinFeatures, kernel: Kernel, bumps: Bumps, penalty: float) -> None:
        from scipy.spatial.distance import pdist, squareform

        # About the middle, where differences of products of coordinates cancel least.
        middle = np.median(features.points, axis=0)
        self.y, self.centres = features.points - middle, bumps.centres - middle
        weight = np.ones(len(self.y)) if features.weight is None else features.weight
        # The scale of B changes nothing, but without it all numbers are of the size of one.
        unit = float(np.abs(weight).max()) or 1.0
        wide = (weight[:, None] if weight.ndim == 1 else weight) / unit
        self.weight = np.ascontiguousarray(np.broadcast_to(wide, self.y.shape))
        self.b = features.value / unit
        self.base = SteinFeatures(self.y, self.b, self.weight).form(kernel).matrix()
        self.k, self.slope = kernel.profiles(squareform(pdist(self.y, "sqeuclidean")), order=1)
        self.bumps, self.penalty = bumps, penalty
        self.phi = bumps.features(features.points)
        self.mean = self.phi @ self.centres
        np.fill_diagonal(self.base, 0.0)
        for matrix in (self.k, self.slope):
            np.fill_diagonal(matrix, 0.0)  # the statistic has no diagonal

    def best(self, bound: float) -> Array:
        """θ that maximises the objective among those with |θ_j| ≤ bound, (J,)."""
        from scipy.optimize import minimize

        count = self.phi.shape[1]
        found = minimize(
            lambda theta: tuple(-part for part in self(theta)),
            np.zeros(count),
            jac=True,
            method="L-BFGS-B",
            bounds=[(-bound, bound)] * count,
            options={"maxiter": 100},
        )
        return np.asarray(found.x)

    def criterion(self, theta: Array) -> PowerCriterion:
        """U, σ and their ratio."""
        h = self._matrix(theta)[0]
        return from_row_sums(h.sum(axis=1), float(np.einsum("ij,ij->", h, h)))

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """The penalised criterion and its gradient in θ."""
        h, tilt, c = self._matrix(theta)
        n, count = len(h), len(theta)
        means = h.sum(axis=1) / (n - 1)
        u = float(means.mean())
        deviation = float(means.std(ddof=1))
        scale = float(np.sqrt(np.einsum("ij,ij->", h, h) / (n * (n - 1))))
        denominator = 2.0 * deviation + TINY * scale
        # M = ∂(U/denominator)/∂H: a part that depends on the row, symmetrised, and one in proportion to H.
        by_row = 1.0 / (n * (n - 1) * denominator) - (u / denominator**2) * 2.0 * (means - u) / (
            (n - 1) ** 2 * deviation
        )
        m = 0.5 * (by_row[:, None] + by_row) - (u / denominator**2) * TINY / (n * (n - 1) * scale) * h
        by_eta = 2.0 * np.einsum("ij,ij->i", m, h)
        mk, ms = m * self.k, m * self.slope
        lifted = tilt[:, None] * self.weight
        by_c = mk @ (tilt[:, None] * (self.b + c)) - 2.0 * (self.y * (ms @ lifted) - ms @ (lifted * self.y))
        pull = 2.0 * tilt[:, None] * by_c * self.weight / self.bumps.widths**2
        gradient = self.phi.T @ by_eta
        gradient += np.einsum("ij,il,jl->j", self.phi, pull, self.centres, optimize=True)
        gradient -= self.phi.T @ (pull * self.mean).sum(axis=1)
        value = u / denominator - self.penalty * float(theta @ theta) / count
        return value, gradient - 2.0 * self.penalty * theta / count

    def _matrix(self, theta: Array) -> tuple[Array, Array, Array]:
        """H without its diagonal, (n, n); e^η, (n,); and c = B∇η, (n, m)."""
        terms = self.phi * theta
        eta = terms.sum(axis=1)
        c = self.weight * (terms @ self.centres - eta[:, None] * self.mean) / self.bumps.widths**2
        cross = self.k * (c @ self.b.T)
        cross -= 2.0 * self.slope * ((c * self.y) @ self.weight.T - c @ (self.weight * self.y).T)
        h = self.base + cross + cross.T + self.k * (c @ c.T)
        tilt = np.exp(eta - eta.mean())
        return h * np.outer(tilt, tilt), tilt, c
