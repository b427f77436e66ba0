r"""Minimum kernel Stein discrepancy estimation.

The features of observation i are (y_i, a_i, G_i) with a_i(θ) = a_i(0) + M_i u_i(θ), u the score. With a
radial kernel φ(ρ), r = y_i − y_j,

    h_ij = φ a_i·a_j + 2φ′ [a_j·G_iᵀr − a_i·G_jᵀr] + (terms without a),

so V(θ) = [Σ_ij φ_ij a_i·a_j + 2 Σ_i a_i·γ_i]/n² + constant, γ_i = −2 Σ_j φ′_ij G_jᵀ(y_i − y_j).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from goodstein.adapters.model import as_model
from goodstein.auditing.conditions import check_boundary
from goodstein.data.points import Points
from goodstein.engine.reduce import quadratic_forms
from goodstein.errors import InputError, must
from goodstein.estimate.base import AffineScores, ModelFamily, Sample, Scores
from goodstein.estimate.estimator import Estimator
from goodstein.estimate.faces import constant_score, of_flat_density
from goodstein.estimate.fit import Fit
from goodstein.estimate.minimise import EstimationObjective
from goodstein.kernels.base import Kernel
from goodstein.kernels.whitened import Whitened
from goodstein.models.model import Model
from goodstein.numerics.distances import squared_distances
from goodstein.operators.base import Operator, as_operator, may_take
from goodstein.operators.defaults import default_operator
from goodstein.operators.langevin import Langevin
from goodstein.pipeline.audit import advised
from goodstein.pipeline.compose import choose_kernel
from goodstein.stein.features import SteinFeatures
from goodstein.types import Array

MOST_NUMBERS = 1 << 23
"""Size of the largest array; parameters are taken in parts where one for all of them would be larger."""

MOST_KEPT = 2500
"""Rows up to which both matrices are kept, 100 MB; beyond, they are made anew for every product."""

BLOCK_NUMBERS = 1 << 20


class Gram:
    """φ(ρ_ij) and φ′(ρ_ij) for a radial kernel, ρ the squared distance."""

    def __init__(self, points: Array, kernel: Any) -> None:
        self.points, self.kernel = points, kernel
        self.n = len(points)
        self._kept: dict[int, tuple[Array, Array]] | None = {} if self.n <= MOST_KEPT else None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None if self._kept is None else {}}

    def products(self, on_value: Array | None, on_slope: Array | None = None) -> tuple[Array, Array]:
        """Σ_j φ_ij v_j and Σ_j φ′_ij w_j, (n, ·) each, for v and w of shape (n, ·); None has no columns."""
        vectors = [np.empty((self.n, 0)) if given is None else given for given in (on_value, on_slope)]
        value, slope = (np.empty(vector.shape) for vector in vectors)
        step = max(1, BLOCK_NUMBERS // self.n)
        for start in range(0, self.n, step):
            rows = slice(start, min(start + step, self.n))
            phi, phi_slope = self._block(rows)
            value[rows], slope[rows] = phi @ vectors[0], phi_slope @ vectors[1]
        return value, slope

    def _block(self, rows: slice) -> tuple[Array, Array]:
        if self._kept is not None and rows.start in self._kept:
            return self._kept[rows.start]
        phi, slope = self.kernel.profiles(squared_distances(self.points[rows], self.points), order=1)
        if self._kept is not None:
            self._kept[rows.start] = phi, slope
        return phi, slope


class DiscrepancyObjective(EstimationObjective):
    """The V-statistic of the discrepancy, as a function of θ.

    `features` are those at score zero, `slopes` M, (n, J, m): how their values change with the score.
    """

    def __init__(self, scores: Scores, features: SteinFeatures, slopes: Array, kernel: Any) -> None:
        self.scores, self.slopes = scores, slopes
        self.value = features.value
        # About their mean, so that an offset costs no digits; ρ and r do not change.
        self.points = features.points - features.points.mean(axis=0)
        self.weight = _as_matrix(features)
        self.gram = Gram(self.points, kernel)
        self.pairs = float(scores.n**2)
        form = features.form(kernel)
        diagonal = form.diagonal()
        self.scale = float(diagonal.mean())
        self._gamma = self._linear(None)
        at_zero = self._quadratic_form(self.value, *self._linear_terms(self.value, None), None)
        without = quadratic_forms(form, None, workers=1)[0]  # the U-statistic
        self.constant = (without * scores.n * (scores.n - 1) + float(diagonal.sum())) / self.pairs - at_zero

    def value_and_gradient(self, theta: Array, counts: Array | None = None) -> tuple[float, Array]:
        values = self._values(theta)
        product, gamma = self._linear_terms(values, counts)
        value = self._quadratic_form(values, product, gamma, counts) + self.constant
        on_values = 2.0 * (product + gamma) / self.pairs
        if counts is not None:
            on_values = on_values * counts[:, None]
        gradient = np.zeros(self.scores.size)
        for rows in self.scores.row_blocks():
            on_score = np.einsum("nj,njm->nm", on_values[rows], self.slopes[rows])
            gradient += self.scores.evaluate(theta, rows, second=False).pullback(on_score, None)
        return value, gradient

    def influences(self, theta: Array) -> Array:
        """2/n Σ_j ∇_θ h_ij, (n, p): twice the projection of the gradient, whose mean is zero at the minimum.

        ∇h_ij has a part from each argument; at the true parameters only that of the second has a mean over
        j which is not zero.
        """
        n = self.scores.n
        values = self._values(theta)
        product, gamma = self._linear_terms(values, None)
        jacobian = self._jacobian(theta)
        own = np.einsum("nj,njp->np", product + gamma, jacobian)
        few = max(1, MOST_NUMBERS // (n * self.weight[0].size))
        parts = range(0, jacobian.shape[2], few)
        other = [self._others(values, jacobian[:, :, first : first + few]) for first in parts]
        return np.asarray(2.0 * (own + np.hstack(other)) / n)

    def _others(self, values: Array, jacobian: Array) -> Array:
        """Σ_j ∂a_j·(a_i φ_ij + 2φ′_ij G_iᵀ(y_i − y_j)), (n, p), for p parameters."""
        # l runs over coordinates of y, j over test functions.
        n, j, p = jacobian.shape
        m = self.points.shape[1]
        flat = jacobian.reshape(n, j * p)
        moved = (self.points[:, :, None, None] * jacobian[:, None]).reshape(n, m * j * p)
        plain, slope = self.gram.products(flat, np.hstack([flat, moved]))
        first = slope[:, : j * p].reshape(n, 1, j, p)
        second = slope[:, j * p :].reshape(n, m, j, p)
        other = np.einsum("nj,njp->np", values, plain.reshape(n, j, p))
        other += 2.0 * np.einsum("nlj,nljp->np", self.weight, self.points[:, :, None, None] * first - second)
        return np.asarray(other)

    def lost(self, theta: Array) -> float:
        """The largest rounding error of a(θ), as a share of its typical size: large scores may cancel."""
        error = np.finfo(np.float64).eps * np.einsum("njm,nm->nj", abs(self.slopes), abs(self._score(theta)))
        return float(error.max() / np.sqrt((self._values(theta) ** 2).mean()))

    def _score(self, theta: Array) -> Array:
        blocks = self.scores.row_blocks()
        return np.concatenate([self.scores.evaluate(theta, rows, second=False).score for rows in blocks])

    def _values(self, theta: Array) -> Array:
        """a(θ), (n, J)."""
        return np.asarray(self.value + np.einsum("njm,nm->nj", self.slopes, self._score(theta)))

    def _jacobian(self, theta: Array) -> Array:
        """∂a/∂θ, (n, J, p)."""
        scores = self.scores
        if isinstance(scores, AffineScores):
            return np.asarray(self.slopes @ scores.design)
        m = self.slopes.shape[2]
        parts = []
        for rows in scores.row_blocks():
            evaluation = scores.evaluate(theta, rows, second=False)
            units = np.broadcast_to(np.eye(m)[:, None, :], (m, len(self.value[rows]), m))
            parts.append(np.stack([evaluation.pullback(unit, None, each=True) for unit in units], axis=1))
        return np.asarray(self.slopes @ np.concatenate(parts))

    def _linear(self, counts: Array | None) -> Array:
        """γ, (n, J)."""
        n, m, j = self.weight.shape
        weight = self.weight if counts is None else self.weight * counts[:, None, None]
        along = np.einsum("nlj,nl->nj", weight, self.points)
        _, slope = self.gram.products(None, np.hstack([along, weight.reshape(n, m * j)]))
        own = np.einsum("nl,nlj->nj", self.points, slope[:, j:].reshape(n, m, j))
        return np.asarray(2.0 * (slope[:, :j] - own))

    def _linear_terms(self, values: Array, counts: Array | None) -> tuple[Array, Array]:
        """Σ_j φ_ij a_j and γ_i, (n, J) both."""
        product, _ = self.gram.products(values if counts is None else values * counts[:, None])
        return product, self._gamma if counts is None else self._linear(counts)

    def _quadratic_form(self, values: Array, product: Array, gamma: Array, counts: Array | None) -> float:
        inner = (values * (product + 2.0 * gamma)).sum(axis=1)
        return float(inner.sum() if counts is None else inner @ counts) / self.pairs

    def quadratic(self, scores: AffineScores, counts: Array | None) -> tuple[Array, Array]:
        n, p = scores.n, scores.size
        design = self.slopes @ scores.design
        at_zero = self.value + np.einsum("njm,nm->nj", self.slopes, scores.offset)
        weighted = design if counts is None else design * counts[:, None, None]
        product, _ = self.gram.products(weighted.reshape(n, -1))
        linear, gamma = self._linear_terms(at_zero, counts)
        left = weighted.reshape(-1, p).T
        return left @ product.reshape(-1, p) / self.pairs, left @ (linear + gamma).ravel() / self.pairs


def _as_matrix(features: SteinFeatures) -> Array:
    """G as (n, m, J)."""
    n, m = features.points.shape
    weight = np.ones((n, m)) if features.weight is None else features.weight
    if weight.ndim == 3:
        return weight
    diagonal = np.broadcast_to(weight.reshape(n, -1), (n, m))
    return np.asarray(diagonal[:, :, None] * np.eye(m))


PROBE = 2.0**200
"""Size of the scores by which an operator's slopes are found; a power of two, so that nothing is rounded."""

LOST = 1e-3
"""Rounding error of a feature, as a share of their typical size, that spoils the estimate."""


@dataclass(frozen=True)
class MinimumStein(Estimator):
    r"""The parameters that minimise the kernel Stein discrepancy between model and data.

    .. math:: \hat θ = \arg\min_θ \frac{1}{n^2} \sum_{ij} h_θ(x_i, x_j),

    the ``v_statistic`` of :func:`goodstein.ksd_test` with the same operator and kernel, its bandwidth fixed
    from the data once. The Stein features are affine in the score, so for exponential families the minimum
    is a closed form. The V-statistic is taken, diagonal included, because it is never negative: there is
    always a minimum, and no search can run away. The U-statistic has neither property, and for the families
    here its minimum is the more biased one in small samples.

    Standard errors are those of an estimator that minimises a statistic of degree 2.

    Parameters
    ----------
    operator
        Stein operator; None takes what :func:`goodstein.ksd_test` takes on the domain. Any whose features are
        affine in the score.
    kernel
        None takes :class:`goodstein.IMQ` with the median bandwidth.
    starts
        From how many points to search, for families without a closed form.
    max_iterations
        Steps of each search.

    References
    ----------
    Barp, Briol, Duncan, Girolami & Mackey (2019), "Minimum Stein discrepancy estimators", *NeurIPS* 32.

    Examples
    --------
    >>> import goodstein as gs
    >>> from goodstein.estimate import AnyDirichlet, MinimumStein
    >>> x = gs.families.Dirichlet([0.5, 1.0, 2.0]).sample(1000, rng=1)
    >>> MinimumStein().fit(x, AnyDirichlet()).parameters["alpha"].round(1)
    array([0.5, 1. , 2. ])
    """

    method = "minimum Stein discrepancy"  # no annotation: not a field

    operator: Operator | None = None
    kernel: Kernel | None = None
    starts: int = 5
    max_iterations: int = 500

    def __post_init__(self) -> None:
        if self.operator is not None and not may_take(as_operator(self.operator), Points):
            raise must("operator", "an operator of points such as Langevin()", self.operator, "MinimumStein")
        if self.kernel is not None:
            choose_kernel(self.kernel, Langevin())
        super().__post_init__()

    def _fitted(self, family: ModelFamily, sample: Sample, rng: np.random.Generator) -> Fit:
        sample = replace(sample, axes=family.ambient)
        operator = default_operator(sample.domain) if self.operator is None else as_operator(self.operator)
        operator = operator.on(sample.domain).seeded(0).fitted(sample.data, sample.domain)
        _require_identity(operator, sample)
        features, slopes = _affine_features(operator, sample)
        kernel = choose_kernel(self.kernel, operator).fitted(features.points)
        if isinstance(kernel, Whitened):
            slopes = np.stack([kernel.fixed.values(one) for one in np.moveaxis(slopes, 2, 0)], axis=2)
        features, kernel = features.seen_by(kernel)
        objective = DiscrepancyObjective(family.scores(sample), features, slopes, kernel)
        fit = self._search(family, sample, objective, rng)
        if objective.lost(fit._coordinates) > LOST:
            raise InputError(
                f"some rows are so near to the boundary of {sample.domain!r}, and scores there so "
                "large, that the discrepancy has no digits left. Use TruncatedScoreMatching(), whose weights "
                "are small there, or remove these rows, in a way you can defend.",
                argument="data",
            )
        model, domain = as_model(fit.model).on(sample.domain), sample.domain
        weight, rng = operator.boundary_weight, np.random.default_rng(0)
        check = advised(check_boundary(model, domain, weight, sample.data, rng), domain, operator)
        return fit.with_note(check.message) if check.status == "fail" else fit


def _require_identity(operator: Operator, sample: Sample) -> None:
    """Raise where Stein's identity fails even for a density that is bounded."""
    if not sample.domain.has_boundary:
        return
    for face in of_flat_density(operator, sample):
        if not face.identity:
            raise InputError(
                f"{operator!r} does not vanish at the face {face.face} of {sample.domain!r}, so Stein's "
                "identity fails there and the estimate would be wrong. Leave `operator` of MinimumStein out, "
                "or use Standardised()."
            )


def _affine_features(operator: Operator, sample: Sample) -> tuple[SteinFeatures, Array]:
    """The features at score zero, and how the values change with it along the directions, (n, J, m)."""

    def at(score: Array) -> SteinFeatures:
        model = Model(score=constant_score(score), domain=sample.domain, batched=True, name="a probe")
        found = operator.features(model, sample.domain, sample.data)
        if type(found) is not SteinFeatures:
            raise InputError(
                f"{operator!r} has no features (points, value, weight) that are affine in the score, so it "
                "cannot be used to estimate. Use Langevin(), Standardised(), LogRatio() or Mirrored()."
            )
        return found

    zero = at(np.zeros(sample.domain.dim))
    # With a large score, next to which the value at zero costs the slopes no digits.
    slopes = np.stack([(at(PROBE * k).value - zero.value) / PROBE for k in sample.directions], axis=2)
    trial = np.random.default_rng(0).standard_normal((len(sample), len(sample.directions)))
    seen = at(trial @ sample.directions)
    expected = zero.value + np.einsum("njm,nm->nj", slopes, trial)
    size = float(np.abs(expected).max())
    same = seen.weight is zero.weight or np.array_equal(seen.weight, zero.weight)  # type: ignore[arg-type]
    if np.abs(seen.value - expected).max() > 1e-8 * size or not same:
        raise InputError(
            f"The features of {operator!r} are not affine in the score, so it cannot be used to estimate. "
            "Use Langevin(), Standardised(), LogRatio() or Mirrored()."
        )
    return zero, slopes
