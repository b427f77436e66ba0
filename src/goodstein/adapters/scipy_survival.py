"""Frozen distributions of scipy.stats as models of durations."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.adapters.scipy_stats import NewStyle, OldStyle, from_distribution
from goodstein.domains.box import Box
from goodstein.foreign import bases, describe, unusable
from goodstein.numerics.differentiate import gradient
from goodstein.types import Array


class ScipySurvival:
    """Hazards of a continuous distribution of scipy.stats on the half-line, old style or new.

    Everything comes from the logarithms of density and survival function: F₀ may round to 1 long
    before the hazard is lost.
    """

    def __init__(self, rv: Any) -> None:
        names = bases(rv)
        if names & {"rv_discrete", "rv_discrete_frozen", "DiscreteDistribution"}:
            remedy = "Durations in whole units need a continuous model, or one on a lattice."
            raise unusable(f"{describe(rv)} is discrete and has no hazard rate.", remedy)
        model = from_distribution(rv)  # refuses what has no parameters yet, or is no distribution
        domain = model.domain
        new = "_ProbabilityDistribution" in names
        if domain is None or domain.dim != 1 or not (new or "rv_frozen" in names):
            raise unusable(f"{model.name} is not a distribution of one duration.")
        if not isinstance(domain, Box) or domain.lower[0] < 0:
            where = domain if isinstance(domain, Box) else "all real numbers"
            remedy = "Truncate it at zero, or take a distribution on the half-line."
            raise unusable(f"{model.name} lives on {where}, but a duration is never negative.", remedy)
        self.rv, self.name, self.support = rv, model.name, domain
        self._wrapped = NewStyle(rv) if new else OldStyle(rv)

    def hazard(self, t: Array) -> Array:
        """f₀/S₀, from logarithms; infinite where S₀ is zero."""
        with np.errstate(all="ignore"):
            log_pdf, log_sf = np.asarray(self.rv.logpdf(t)), self._log_survival(t)
            return np.where(log_sf > -np.inf, np.exp(log_pdf - log_sf), np.inf)

    def cumulative_hazard(self, t: Array) -> Array:
        """−log S₀."""
        with np.errstate(all="ignore"):
            return np.maximum(-self._log_survival(t), 0.0)

    def log_hazard_derivative(self, t: Array) -> Array:
        """λ₀′/λ₀ = (log f₀)′ + λ₀; closed forms where they are short."""
        kind = getattr(getattr(self.rv, "dist", None), "name", None)
        if kind in ("expon", "weibull_min"):
            shapes, location, scale = self.rv.dist._parse_args(*self.rv.args, **self.rv.kwds)
            shape = float(shapes[0]) if shapes else 1.0
            with np.errstate(divide="ignore", invalid="ignore"):
                z = (t - location) / scale
                return np.zeros_like(t) if shape == 1.0 else (shape - 1.0) / (z * scale)
        name, remedy = f"The log density of {self.name}", "pass SurvivalModel(log_hazard_derivative=...)"
        slope = gradient(self._wrapped.logpdf, t[:, None], self.support, name=name, remedy=remedy)
        return slope[:, 0] + self.hazard(t)

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw n durations, (n, 1)."""
        return self._wrapped.sample(n, rng)

    def _log_survival(self, t: Array) -> Array:
        survival = self.rv.logccdf if isinstance(self._wrapped, NewStyle) else self.rv.logsf
        return np.asarray(survival(t))
