"""The gradient-free operator: the score of a proposal in the place of that of the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goodstein.adapters.model import as_model
from goodstein.auditing.conditions import check_boundary, check_connected
from goodstein.auditing.report import Check, Question
from goodstein.auditing.skewness import needed
from goodstein.auditing.tails import TAILS
from goodstein.domains.base import Domain
from goodstein.errors import DomainError, InputError, SamplingError, ScoreError, given, shown
from goodstein.lazy import Kept
from goodstein.models.model import Model
from goodstein.operators.base import Operator, tangent
from goodstein.stein.features import SteinFeatures
from goodstein.types import Array, BoolArray

DRAWS = 1000
"""Draws of the proposal at which its ratio to the model is looked at."""
FEW, UNEQUAL = 0.25, 0.75
"""A proposal is refused if less than this share of the observations that should carry a statistic do, and
weights leave less than this of them. With the wild bootstrap and normal proposals N(0, 1) was rejected in .06
to .10 of 400 samples at .05 where that is not so, in .06 to .15 where it is, and in .40 with N(2, 1)."""
SOME, QUARTER = 30.0, 0.25
"""Observations that weights should be worth, and the same as a share of few of them."""
RADII = np.array([1e3, 2e3])
"""Distances, in units of the data's spread, between which both densities are seen to fall."""


@dataclass(frozen=True, eq=False)
class GradientFree(Operator):
    r"""T f = (π/q)(∇log π · f + ∇·f), with a proposal π whose score is known: of the model log q is enough.

    It is the standardised operator with g = π/q, for which g∇log q + ∇g = g∇log π. For models whose log
    density can be evaluated, up to a constant, but not well differentiated. With π = q it is Langevin's.

    Parameters
    ----------
    proposal
        π: anything that :func:`as_model` takes, with a log density, up to a constant. It should be close to
        the model and must not have heavier tails: observations are weighted by π/q.

    Notes
    -----
    Stein's identity holds for every π that vanishes at the boundary, but a finite variance needs ∫π²/q < ∞.
    The audit refuses a proposal with tails so heavy that this fails (of normals: with twice the variance),
    and one for which too few of the n observations carry the statistic, by draws of the
    proposal, which reach places of large weight that the observations do not. A proposal that bridges a gap
    between modes of the model is such a one, so this operator is no remedy for isolated modes;
    :class:`Perturbed` is. A proposal of much lighter tails, or one that misses a mode, is valid and blind
    there; the audit says so.

    References
    ----------
    Fisher, Oates (2023), Gradient-free kernel Stein discrepancy.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.Model(logpdf=lambda x: -abs(x[:, 0]), domain=gs.Euclidean(1))
    >>> operator = gs.GradientFree(gs.families.Normal(0.0, 1.5))
    >>> x = gs.families.Laplace(0.0, 1.0).sample(200, rng=1)
    >>> gs.ksd_test(x, model, operator=operator, rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(x + 0.4, model, operator=operator, rng=1).pvalue < 0.01
    True
    """

    proposal: Any
    _kept: Kept = field(default_factory=Kept, init=False, repr=False, compare=False)

    conditions_suffice = True  # no annotation: not a field

    def __post_init__(self) -> None:
        proposal = as_model(self.proposal)
        if not proposal.has_logpdf:
            raise InputError(
                f"`proposal` of GradientFree needs a log density, and {shown(self.proposal)} has none.",
                remedy="Pass Model(score=..., logpdf=...), or a distribution.",
            )
        object.__setattr__(self, "proposal", proposal)

    def on(self, domain: Domain) -> GradientFree:
        own = self.proposal.domain
        if own is not None and own.dim != domain.dim:
            raise DomainError(
                f"`proposal` of GradientFree lives in {own.dim} dimensions, the data in {domain.dim}.",
                remedy="Pass one of the same dimension.",
            )
        return self

    def features(self, model: Any, domain: Domain, data: Array) -> SteinFeatures:
        """(y, a, G) = (x, g∇log π, g)."""
        _require_density(model)
        there, logs = _where(self.proposal, data), np.full(len(data), -np.inf)
        logs[there] = self._ratio(model, data[there])
        # Up to a constant; one that does not depend on the data, if that can be.
        middle = self._kept(lambda: self._middle(model, domain), 0, model, domain)
        if middle is None:
            middle = np.median(logs[there]) if there.any() else 0.0
        g = np.exp(logs - middle)
        score = np.zeros_like(data)
        score[there] = self.proposal.score(data[there])
        return SteinFeatures(tangent(domain, data), tangent(domain, g[:, None] * score), g)

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        """π vanishes at edges, falls fast enough far out, and its weights leave enough observations."""
        _require_density(model)
        checks = [check_connected(domain)]
        for place in dict.fromkeys(
            d for d in (domain, self.proposal.domain) if d is not None and d.has_boundary
        ):
            checks.append(check_boundary(self.proposal.on(place), place, _one, data, rng))
        if not domain.bounded:
            checks.append(self._tails(model, domain, data, rng))
        return [*checks, *([] if data is None else self._worth(model, domain, data))]

    def _ratio(self, model: Any, x: Array) -> Array:
        """log π − log q, (n,)."""
        return np.asarray(self.proposal.logpdf(x) - model.logpdf(x))

    def _drawn(self, domain: Domain) -> Array | None:
        """Draws of the proposal, always the same; None where there are none."""
        if not self.proposal.has_sample:
            return None
        try:
            drawn = self.proposal.sample(DRAWS, np.random.default_rng(0))
        except (InputError, SamplingError):
            return None
        return drawn if drawn.shape[1] == domain.dim else None

    def _middle(self, model: Any, domain: Domain) -> float | None:
        """The median of log π/q over draws of π."""
        drawn = self._drawn(domain)
        if drawn is None or not len(drawn := drawn[domain.contains(drawn)]):
            return None
        middle = float(np.median(self._ratio(model, drawn)))
        return middle if np.isfinite(middle) else None

    def _tails(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> Check:
        """∫π²/q R^(m−1) dR is finite if 2t − u > m, with π ~ R^(−t) and q ~ R^(−u)."""
        centre = np.zeros(domain.dim) if data is None else np.median(data, axis=0)
        spread = np.ones(domain.dim) if data is None else np.std(data, axis=0)
        axes = np.eye(domain.dim)
        directions = np.concatenate([axes, -axes, rng.standard_normal((16, domain.dim))])
        steps = np.where(spread > 0, spread, 1.0) * directions
        steps /= np.linalg.norm(directions, axis=1, keepdims=True)
        steps = steps[domain.contains(centre + RADII[-1] * steps)]
        falls = []
        try:
            with np.errstate(all="ignore"):
                for density in (self.proposal, model):
                    near, far = (density.logpdf(centre + radius * steps) for radius in RADII)
                    falls.append((near - far) / np.log(RADII[1] / RADII[0]))
        except ScoreError:
            return TAILS.skipped("The densities cannot be evaluated far out.")
        known = np.isfinite(falls[1]) & ~np.isnan(falls[0])
        if not known.any():
            return TAILS.skipped("The densities vanish far out.")
        t, u = falls[0][known], falls[1][known]
        worst = int(np.argmin(2.0 * t - u))
        if 2.0 * t[worst] - u[worst] <= domain.dim:
            message = (
                f"Far out the proposal falls like R^{-t[worst]:.3g} and the model like R^{-u[worst]:.3g}: "
                "weights π/q have no finite variance. Take a proposal with lighter tails, such as one of "
                "less spread."
            )
            return TAILS.failed(message, asymptotic=True)
        return TAILS.passed("Far out the proposal falls fast enough.")

    def _worth(self, model: Any, domain: Domain, data: Array) -> list[Check]:
        """How many of n observations carry the statistic, by draws of π, and how many it sees at all."""
        question, n = Question("weights of a proposal"), len(data)
        drawn = self._drawn(domain)
        if drawn is not None:
            inside = domain.contains(drawn)
            logs = np.full(len(drawn), np.inf)
            if inside.any():
                logs[inside] = self._ratio(model, drawn[inside])
            off = float(np.mean(np.isposinf(logs)))
            if off > 0:
                return [
                    question.failed(
                        f"{off:.2g} of the draws of the proposal lie where {model.name} has no density, so "
                        "Stein's identity fails. Take a proposal that stays where the model is."
                    )
                ]
            carried = n * self._carried(logs, drawn)
            # E_q[g]²/E_q[g²], where E_q[g²]/E_q[g] = E_π g.
            left = np.exp(-_log_mean(logs) - _log_mean(-logs))
            if carried < FEW * needed(n) and left < UNEQUAL:
                return [
                    question.failed(
                        f"By draws of the proposal about {carried:.2g} of {n} observations carry the "
                        f"statistic, those of the largest weights π/q, of which there may be none in the "
                        f"data. Take a proposal closer to the model and no wider, or "
                        f"{given('null', 'MonteCarlo()')}.",
                        asymptotic=True,
                    )
                ]
        there = _where(self.proposal, data)
        if not there.any():
            return [question.failed("The proposal has no density at any observation.", of_data=True)]
        logs = self._ratio(model, data[there])
        if np.isfinite(logs).all():
            seen = len(logs) * float(np.exp(2 * _log_mean(logs) - _log_mean(2 * logs)))
            if seen < min(SOME, QUARTER * n):
                return [
                    question.warned(
                        f"The proposal weighs observations so unequally that {n} are worth {seen:.2g}: where "
                        "its density is low beside the model's the test sees nothing."
                    )
                ]
        return [question.passed("Enough observations have weight.")]

    def _carried(self, logs: Array, drawn: Array) -> float:
        """E_q[φ]²/E_q[φ²] for φ = g²(1 + ‖∇log π‖²/mean), about h(x, x), with E_q φ = E_π[φ/g]/E_π[1/g].

        Draws of π reach places of large weight that observations do not.
        """
        squares = (self.proposal.score(drawn) ** 2).sum(axis=1)
        sizes = 2.0 * logs + np.log1p(squares / max(float(squares.mean()), 1e-300))
        once, twice = _log_mean(sizes - logs), _log_mean(2.0 * sizes - logs)
        return float(np.exp(min(0.0, 2.0 * once - _log_mean(-logs) - twice)))

    @property
    def given(self) -> GradientFree:
        """Without what was kept, which a result has no use for."""
        return GradientFree(self.proposal)

    def __repr__(self) -> str:
        return f"GradientFree({self.proposal.name})"


def _one(domain: Domain, x: Array, normals: Array) -> Array:
    return np.ones((len(x), 1))


def _where(proposal: Model, x: Array) -> BoolArray:
    """Where the proposal has a density, (n,)."""
    there: BoolArray = np.ones(len(x), np.bool_)
    if proposal.domain is not None:
        there = proposal.domain.contains(x)
    there[there] = np.isfinite(proposal.logpdf(x[there]))
    return there


def _log_mean(logs: Array) -> float:
    """log of the mean of their exponentials."""
    top = float(logs.max())
    return top + float(np.log(np.mean(np.exp(logs - top)))) if np.isfinite(top) else top


def _require_density(model: Any) -> None:
    if not model.has_logpdf:
        raise InputError(
            f"GradientFree weights observations by π/q, and {model.name} has no log density, only a score.",
            remedy="Use Langevin(), or pass Model(logpdf=...), up to a constant.",
        )
