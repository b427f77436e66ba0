"""Score matching, on R^d and on regions with a boundary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.adapters.model import as_model
from goodstein.auditing.boundary import TOLERANCE, Exponents, exponents
from goodstein.auxiliary.base import Auxiliary, BoundaryDistance
from goodstein.domains.base import Domain
from goodstein.errors import DomainError, InputError, ScoreError, describe_rows
from goodstein.estimate.base import Sample, Scores, as_family, as_sample, require_rows
from goodstein.estimate.fit import Fit, search
from goodstein.estimate.matching import MatchingObjective
from goodstein.estimate.minimise import minimise
from goodstein.estimate.weights import SquaredDistance
from goodstein.models.model import Model
from goodstein.operators.base import tangent
from goodstein.operators.standardised import Standardised
from goodstein.pipeline.compose import as_generator
from goodstein.types import RNG, Array
from goodstein.validation import check_count

POLE = 0.01
"""Exponent of the density at a face from which its score has a pole there; less is rounding."""


@dataclass(frozen=True)
class ScoreMatching:
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
    >>> from goodstein.estimate import Normal, ScoreMatching
    >>> fit = ScoreMatching().fit([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0], [2.0, 4.0], [1.0, 2.0]], Normal())
    >>> fit.parameters["mean"].round(12)
    array([1., 2.])
    """

    starts: int = 5
    max_iterations: int = 500

    def __post_init__(self) -> None:
        check_count(self.starts, "starts")
        check_count(self.max_iterations, "max_iterations")

    def fit(self, data: Any, family: Any, *, domain: Domain | None = None, rng: RNG = None) -> Fit:
        """Fit a family to data; see :meth:`TruncatedScoreMatching.fit`."""
        family = as_family(family)
        sample = as_sample(data, family, domain)
        if sample.domain.has_boundary:
            raise DomainError(
                f"{sample.domain!r} has a boundary, where the density need not vanish, and the estimate "
                "would be wrong. Use TruncatedScoreMatching()."
            )
        scores = family.scores(sample)
        ones = np.ones((len(sample), len(sample.directions)))
        return _fitted(self, family, sample, scores, (ones, np.zeros_like(ones)), None, rng)


@dataclass(frozen=True)
class TruncatedScoreMatching:
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
    >>> from goodstein.estimate import Normal, TruncatedScoreMatching
    >>> region = gs.Box(0.0, 3.0)
    >>> x = gs.families.Truncated(gs.families.Normal(-1.0, 1.0), region).sample(20_000, rng=1)
    >>> fit = TruncatedScoreMatching().fit(x, Normal(), domain=region)
    >>> print(x.mean().round(1), fit.parameters["mean"].round(1))
    0.5 [-1.]
    """

    auxiliary: Auxiliary | None = None
    starts: int = 5
    max_iterations: int = 500

    def __post_init__(self) -> None:
        if self.auxiliary is not None:
            Standardised(self.auxiliary)  # the same check, in the same words
        check_count(self.starts, "starts")
        check_count(self.max_iterations, "max_iterations")

    def fit(self, data: Any, family: Any, *, domain: Domain | None = None, rng: RNG = None) -> Fit:
        """Fit a family to data.

        Parameters
        ----------
        data
            Observations, (n, d) or a data frame, all of them in the domain.
        family
            :class:`Mixture`, :class:`Normal`, :class:`Dirichlet`, :class:`ExponentialFamily`,
            :class:`Parametric`, or an object of your own; see :class:`goodstein.estimate.base.Family`.
        domain
            The region; None takes the family's own.
        rng
            Seed or generator of the starts.

        Returns
        -------
        Fit
        """
        family = as_family(family)
        sample = as_sample(data, family, domain)
        if not sample.domain.has_boundary:
            raise DomainError(
                f"{sample.domain!r} has no boundary at which a weight could vanish. Pass the `domain` to "
                "which the data are restricted, or use ScoreMatching()."
            )
        scores = family.scores(sample)
        auxiliary = self._auxiliary(family, sample)
        weights = _weights(auxiliary, sample)
        _require_steep_enough(auxiliary, scores, sample)
        return _fitted(self, family, sample, scores, weights, auxiliary, rng)

    def _auxiliary(self, family: Any, sample: Sample) -> Auxiliary:
        own = getattr(family, "default_auxiliary", None)
        chosen = self.auxiliary
        if chosen is None:
            chosen = BoundaryDistance() if own is None else own(sample.domain)
        chosen = chosen.fitted(sample.data, sample.domain)
        _require_vanishing(chosen, sample)
        return chosen


def _fitted(
    estimator: Any,
    family: Any,
    sample: Sample,
    scores: Scores,
    weights: tuple[Array, Array],
    auxiliary: Auxiliary | None,
    rng: RNG,
) -> Fit:
    """The fit of a family with these weights."""
    generator = as_generator(rng)
    weight, slope = weights
    require_rows(scores, repr(family))
    if getattr(scores, "summed_only", False) and np.ptp(weight, axis=1).any():
        raise InputError(
            f"{auxiliary!r} weights every coordinate by itself, so `laplacian` of {family!r} must return the "
            f"second derivatives of every coordinate, shape {(len(sample), sample.domain.dim, scores.size)}, "
            "not their sum. Or use BoundaryDistance()."
        )
    along = sample.data @ sample.directions.T
    objective = MatchingObjective(scores, weight, slope, float(np.sqrt(along.var(axis=0).mean())))
    fit = search(estimator, family, sample, objective, generator)
    if not fit.objective < 0:  # that of a score which is zero everywhere
        fit = fit.with_notes(
            [
                "The fit is no closer to the data than a flat density: the search has run away from them, or "
                "the family does not describe them. Try other starts."
            ]
        )
    if auxiliary is None or scores.bounded:
        return fit
    faces = _faces(fit.model, sample, auxiliary)
    wrong = _steepness(faces, auxiliary) or _hidden_steepness(fit, sample, auxiliary)
    if wrong:
        raise InputError(wrong)
    return fit.with_notes([_without_variance(faces, auxiliary)])


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
        raise InputError(
            f"{auxiliary!r} is negative at {describe_rows(negative)}. A weight must not be negative."
        )
    if not weight.any():
        raise InputError(
            f"{auxiliary!r} is zero at all {len(weight)} observations, so nothing can be estimated. Check "
            "it, and that the data do not all lie on the boundary."
        )
    return weight, slope


class _Flat:
    """The score of the uniform density."""

    def __call__(self, x: Array) -> Array:
        return np.zeros_like(x)


def _require_vanishing(auxiliary: Auxiliary, sample: Sample) -> None:
    """Raise where g does not go to zero at some face."""
    flat = Model(score=_Flat(), domain=sample.domain, batched=True)
    operator, rng = Standardised(auxiliary), np.random.default_rng(0)
    for face in exponents(flat, sample.domain, operator, sample.data, rng):
        if not face.weight > TOLERANCE:
            raise InputError(
                f"{auxiliary!r} does not vanish at the face {face.face} of {sample.domain!r}, so the "
                "estimate would be wrong. Use BoundaryDistance(), or an auxiliary function that is zero on "
                "the whole boundary."
            )


def _require_steep_enough(auxiliary: Auxiliary, scores: Scores, sample: Sample) -> None:
    """Raise where g cannot make up for a density that is infinite, or zero, at a face.

    With such a weight the fit tends to a flat density at that face, so that nothing is wrong with it to
    look at. A pilot fit with a weight that is always steep enough shows what the density is like; it costs
    nothing where there is a closed form.
    """
    if isinstance(auxiliary, SquaredDistance) or not getattr(scores, "affine", False):
        return
    try:
        pilot = MatchingObjective(scores, *_weights(SquaredDistance(), sample), 1.0)
        model = scores.model(pilot.solve())
    except InputError:
        return  # what is wrong will be said of the fit itself
    wrong = _steepness(_faces(model, sample, auxiliary), auxiliary)
    if wrong:
        raise InputError(wrong)


def _hidden_steepness(fit: Fit, sample: Sample, auxiliary: Auxiliary) -> str:
    """What :func:`_require_steep_enough` finds, for families without closed form: a pilot from the fit on."""
    scores = fit._problem.scores
    if isinstance(auxiliary, SquaredDistance) or getattr(scores, "affine", False):
        return ""
    every = np.ones(len(sample))  # each row once: numerical steps stay those of the fit
    try:
        pilot = MatchingObjective(scores, *_weights(SquaredDistance(), sample), fit._problem.unit)
        found = minimise(pilot, [fit._coordinates], fit.estimator.max_iterations, every)
    except InputError:
        return ""
    return _steepness(_faces(scores.model(found.theta), sample, auxiliary), auxiliary)


def _faces(model: Any, sample: Sample, auxiliary: Auxiliary) -> list[Exponents]:
    """How density and weight behave at every face."""
    operator, rng = Standardised(auxiliary), np.random.default_rng(0)
    try:
        return exponents(as_model(model).on(sample.domain), sample.domain, operator, sample.data, rng)
    except ScoreError:
        return []


def _steepness(faces: list[Exponents], auxiliary: Auxiliary) -> str:
    """What is wrong if the density is so steep at a face that g cannot make up for it."""
    for face in faces:
        # q·g·∂log q must vanish and E[g(∂log q)²] be finite: q ~ δ^e with e ≠ 0 has ∂log q ~ e/δ.
        if abs(face.density) > POLE and face.density + face.weight <= 1.0 + TOLERANCE:
            return (
                f"{_behaviour(face, auxiliary)}. Their exponents must add up to more than 1, or the "
                "estimate is wrong. Use a weight that vanishes faster, such as SquaredDistance()."
            )
    return ""


def _without_variance(faces: list[Exponents], auxiliary: Auxiliary) -> str:
    """What to say if the estimate is right but has no finite variance: that needs E[g²(∂log q)⁴] < ∞."""
    for face in faces:
        if abs(face.density) > POLE and face.density + 2.0 * face.weight <= 3.0 + TOLERANCE:
            return (
                f"{_behaviour(face, auxiliary)}, so the estimate has no finite variance and its standard "
                "errors are too small. Use a weight that vanishes faster, such as SquaredDistance()."
            )
    return ""


def _behaviour(face: Exponents, auxiliary: Auxiliary) -> str:
    return (
        f"Near the face {face.face} the density behaves like δ^{face.density:.2f} at distance δ and "
        f"{auxiliary!r} like δ^{face.weight:.2f}"
    )
