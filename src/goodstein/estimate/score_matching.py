"""Score matching, on R^d and on regions with a boundary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goodstein.auditing.conditions import TOLERANCE
from goodstein.auxiliary.base import Auxiliary
from goodstein.errors import DomainError, InputError, describe_rows
from goodstein.estimate.base import AffineScores, Evaluation, ModelFamily, Sample, Scores
from goodstein.estimate.estimator import Estimator
from goodstein.estimate.faces import SquaredDistance, of_flat_density, of_model, too_steep, without_variance
from goodstein.estimate.fit import Fit
from goodstein.estimate.minimise import EstimationObjective, minimise
from goodstein.operators.base import tangent
from goodstein.operators.standardised import Standardised
from goodstein.types import Array


class MatchingObjective(EstimationObjective):
    """The mean of ℓ(x; θ) = Σ_k g_k (s_k² + 2 ∂_k s_k) + 2 ∂_k g_k · s_k over the observations.

    s = ∇log q along orthonormal directions k; up to a constant its mean is E Σ_k g_k (∂_k log p − s_k)². The
    weight and its slope are g_k and ∂_k g_k, (n, m) both, and `unit` is a length on which the data vary.
    """

    def __init__(self, scores: Scores, weight: Array, slope: Array, unit: float) -> None:
        self.scores = scores
        self.weight, self.slope = weight, slope
        self.unit = unit
        self.scale = float(weight.mean()) * weight.shape[1] / unit**2

    def value_and_gradient(self, theta: Array, counts: Array | None = None) -> tuple[float, Array]:
        value, gradient = 0.0, np.zeros(self.scores.size)
        total = float(self.scores.n if counts is None else counts.sum())
        for rows in self.scores.row_blocks():
            evaluation, on_score, on_second, losses = self._block(theta, rows)
            if counts is not None:
                losses = losses * counts[rows]
                on_score, on_second = on_score * counts[rows, None], on_second * counts[rows, None]
            value += float(losses.sum())
            gradient += evaluation.pullback(on_score, on_second)
        return value / total, gradient / total

    def influences(self, theta: Array) -> Array:
        """∇_θ ℓ at each observation, (n, p)."""
        parts = []
        for rows in self.scores.row_blocks():
            evaluation, on_score, on_second, _ = self._block(theta, rows)
            parts.append(evaluation.pullback(on_score, on_second, each=True))
        return np.concatenate(parts)

    def quadratic(self, scores: AffineScores, counts: Array | None) -> tuple[Array, Array]:
        weight, slope = self.weight, self.slope
        if counts is not None:
            weight, slope = weight * counts[:, None], slope * counts[:, None]
        design = scores.design.reshape(-1, scores.size)
        matrix = design.T @ (weight.reshape(-1, 1) * design)
        right = design.T @ (weight * scores.offset + slope).ravel()
        right += scores.second_design.reshape(-1, scores.size).T @ weight.ravel()
        return matrix / scores.n, right / scores.n

    def _block(self, theta: Array, rows: slice) -> tuple[Evaluation, Array, Array, Array]:
        """The evaluation, the derivatives of ℓ in s and ∂s, and ℓ itself, at some rows."""
        evaluation = self.scores.evaluate(theta, rows)
        g, dg, s = self.weight[rows], self.slope[rows], evaluation.score
        losses = (g * (s * s + 2.0 * evaluation.second) + 2.0 * dg * s).sum(axis=1)
        return evaluation, 2.0 * (g * s + dg), 2.0 * g, losses


@dataclass(frozen=True)
class ScoreMatching(Estimator):
    r"""Score matching on R^d: the parameters whose score is closest to that of the data.

    .. math:: \hat θ = \arg\min_θ \frac1n \sum_i \|s_θ(x_i)\|^2 + 2 \nabla \cdot s_θ(x_i),

    which is E‖s_p − s_θ‖² up to a constant, and needs no normalising constant of the model. On a region with
    a boundary use :class:`TruncatedScoreMatching`.

    Parameters
    ----------
    starts
        From how many points to search, for families without a closed form.
    max_iterations
        Steps of each search.

    References
    ----------
    Hyvärinen (2005), "Estimation of non-normalized statistical models by score matching", *Journal of
    Machine Learning Research* 6, 695-709.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.estimate import AnyNormal, ScoreMatching
    >>> fit = ScoreMatching().fit([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0], [2.0, 4.0], [1.0, 2.0]], AnyNormal())
    >>> fit.parameters["mean"].round(12)
    array([1., 2.])
    """

    method = "score matching"  # no annotation: not a field

    starts: int = 5
    max_iterations: int = 500

    def _fitted(self, family: ModelFamily, sample: Sample, rng: np.random.Generator) -> Fit:
        if sample.domain.has_boundary:
            raise DomainError(
                f"{sample.domain!r} has a boundary, where the density need not vanish, and the estimate "
                "would be wrong. Use TruncatedScoreMatching()."
            )
        ones = np.ones((len(sample), len(sample.directions)))
        return _matched(self, family, sample, family.scores(sample), (ones, np.zeros_like(ones)), rng)


@dataclass(frozen=True)
class TruncatedScoreMatching(Estimator):
    r"""Score matching on a region with a boundary.

    .. math::

        \hat θ = \arg\min_θ \frac1n \sum_i g(x_i) \bigl[\|s_θ(x_i)\|^2 + 2 \nabla\cdot s_θ(x_i)\bigr]
                 + 2 \nabla g(x_i) \cdot s_θ(x_i),

    with a weight g that vanishes at the boundary. This is E[g‖s_p − s_θ‖²] up to a constant, so that the
    truncated model needs no normalising constant. With a g of its own for every coordinate the objective is
    Σ_i g_i (s_i² + 2 ∂_i s_i) + 2 ∂_i g_i s_i; on a simplex derivatives are tangential. Observations on the
    boundary itself have no weight, but keep the term with ∇g.

    Parameters
    ----------
    auxiliary
        g, as for :class:`Standardised`. None takes the family's own, or :class:`BoundaryDistance`.
    starts
        From how many points to search, for families without a closed form.
    max_iterations
        Steps of each search.

    References
    ----------
    Liu, Kanamori & Williams (2022), "Estimating density models with truncation boundaries using score
    matching", *Journal of Machine Learning Research* 23(186).

    Examples
    --------
    >>> import goodstein as gs
    >>> from goodstein.estimate import AnyNormal, TruncatedScoreMatching
    >>> region = gs.Box(0.0, 3.0)
    >>> x = gs.families.Truncated(gs.families.Normal(-1.0, 1.0), region).sample(20_000, rng=1)
    >>> fit = TruncatedScoreMatching().fit(x, AnyNormal(), domain=region)
    >>> print(x.mean().round(1), fit.parameters["mean"].round(1))
    0.5 [-1.]
    """

    method = "truncated score matching"  # no annotation: not a field

    auxiliary: Auxiliary | None = None
    starts: int = 5
    max_iterations: int = 500

    def __post_init__(self) -> None:
        if self.auxiliary is not None:
            Standardised(self.auxiliary)  # the same check, in the same words
        super().__post_init__()

    def _fitted(self, family: ModelFamily, sample: Sample, rng: np.random.Generator) -> Fit:
        domain = sample.domain
        if not domain.has_boundary:
            raise DomainError(
                f"{domain!r} has no boundary at which a weight could vanish. Pass the `domain` to which the "
                "data are restricted, or use ScoreMatching()."
            )
        scores = family.scores(sample)
        chosen = family.default_auxiliary(domain) if self.auxiliary is None else self.auxiliary
        auxiliary = chosen.fitted(sample.data, domain)
        for face in of_flat_density(Standardised(auxiliary), sample):
            if not face.weight > TOLERANCE:
                raise InputError(
                    f"{auxiliary!r} does not vanish at the face {face.face} of {domain!r}, so the estimate "
                    "would be wrong. Use BoundaryDistance(), or an auxiliary function that is zero on the "
                    "whole boundary."
                )
        weights = _weights(auxiliary, sample)
        closed = isinstance(scores, AffineScores)
        if closed:
            self._require_pilot(auxiliary, scores, sample, None)
        if scores.summed_only and np.ptp(weights[0], axis=1).any():
            raise InputError(
                f"{auxiliary!r} weights every coordinate by itself, so `laplacian` of {family!r} must return "
                f"the second derivatives of every coordinate, shape {(*sample.data.shape, scores.size)}, not "
                "their sum. Or use BoundaryDistance()."
            )
        fit = _matched(self, family, sample, scores, weights, rng)
        if scores.bounded:
            return fit
        found = of_model(fit.model, auxiliary, sample)
        if wrong := too_steep(found, auxiliary):
            raise InputError(wrong)
        if not closed:
            self._require_pilot(auxiliary, scores, sample, fit)
        return fit.with_note(without_variance(found, auxiliary))

    def _require_pilot(self, auxiliary: Auxiliary, scores: Scores, sample: Sample, fit: Fit | None) -> None:
        """Raise where g cannot make up for a density that is infinite, or zero, at a face.

        With such a weight the fit tends to a flat density at that face, so that nothing is wrong with it to
        look at. A pilot with a weight that is always steep enough shows what the density is like; it costs
        nothing where there is a closed form, and goes on from the fit where there is none.
        """
        if isinstance(auxiliary, SquaredDistance):
            return
        unit, starts, counts = 1.0, [], None
        if fit is not None:
            # Each row once: numerical steps stay those of the fit.
            unit, starts, counts = fit._problem.unit, [fit._coordinates], np.ones(len(sample))
        try:
            pilot = MatchingObjective(scores, *_weights(SquaredDistance(), sample), unit)
            model = scores.model(minimise(pilot, starts, self.max_iterations, counts).theta)
        except InputError:
            return  # what is wrong is said of the fit itself
        if wrong := too_steep(of_model(model, auxiliary, sample), auxiliary):
            raise InputError(wrong)


def _matched(
    estimator: Estimator,
    family: ModelFamily,
    sample: Sample,
    scores: Scores,
    weights: tuple[Array, Array],
    rng: np.random.Generator,
) -> Fit:
    """The fit of a family with these weights and their slopes."""
    along = sample.data @ sample.directions.T
    objective = MatchingObjective(scores, *weights, float(np.sqrt(along.var(axis=0).mean())))
    fit = estimator._search(family, sample, objective, rng)
    if fit.objective < 0:  # that of a score which is zero everywhere
        return fit
    return fit.with_note(
        "The fit is no closer to the data than a flat density: the search has run away from them, or the "
        "family does not describe them. Try other starts."
    )


def _weights(auxiliary: Auxiliary, sample: Sample) -> tuple[Array, Array]:
    """g and its derivatives along the directions of the sample, (n, m) both."""
    domain = sample.domain
    g, dg = auxiliary.evaluate(sample.data, domain)
    if g.ndim == 2 and domain.basis is not None:
        raise InputError(
            f"{auxiliary!r} has one value per part, but on {domain!r} an auxiliary function must be scalar. "
            "Use ProductOfParts() or BoundaryDistance()."
        )
    slope = tangent(domain, dg)
    weight = np.array(np.broadcast_to(g[:, None], slope.shape)) if g.ndim == 1 else g
    negative = np.asarray((weight < 0).any(axis=1))
    if negative.any():
        where = describe_rows(negative)
        raise InputError(f"{auxiliary!r} is negative at {where}. A weight must not be negative.")
    if not weight.any():
        raise InputError(
            f"{auxiliary!r} is zero at all {len(weight)} observations, so nothing can be estimated. Check "
            "it, and that the data do not all lie on the boundary."
        )
    return weight, slope
