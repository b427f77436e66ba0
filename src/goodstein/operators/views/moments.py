"""Polynomials as test functions: location, scale and correlation, skewness."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from goodstein.auditing.report import Check
from goodstein.auditing.tails import check_moments
from goodstein.constraints import check_count
from goodstein.domains import Domain
from goodstein.errors import InputError
from goodstein.numerics import polynomials
from goodstein.numerics.ranks import medians
from goodstein.operators.base import Operator, set_inner, stacked_of
from goodstein.operators.views.base import FiniteView, Names, named, unit_frame
from goodstein.stein.features import SteinFeatures
from goodstein.stein.finite import FiniteFeatures, polynomial_features
from goodstein.stein.stacked import SteinStack

WORDS = ("location", "scale and correlation", "skewness")
"""What the first degrees look at."""

MOST = 10_000
"""Features that are held for each observation."""


@dataclass(frozen=True, eq=False, repr=False)
class Moments(FiniteView):
    """Another operator with polynomials of one degree k as test functions, f = e_j p(z), z = y − c.

    With features (y, a, G) of the operator inside, observation i stands for the numbers

        a_j p(z) + Σ_l G_lj ∂_l p(z),

    one for each coordinate j and each monomial p of degree k: the mean of the score for k = 0, that of
    s_j z_l + δ_jl for k = 1, which for a normal model are its second moments, skewness for k = 2. The Stein
    matrix has finite rank, so that time and memory are linear in n, and there is no kernel.

    c is the median of every coordinate. Monomials have the weights √(k!/α!), so that Σ p(z)p(z′) = (z·z′)^k
    and no choice of axes counts. On R^d and on boxes z and a are first brought into the coordinates of the
    default kernels, ``Whitened(metric="score")``, in which neither units nor correlations count.

    Parameters
    ----------
    degree
        k: 0 for location, 1 for scale and correlation, 2 for skewness.
    operator
        The operator inside, with plain :class:`SteinFeatures`; None takes the domain's own.

    Notes
    -----
    Centre and metric come from the data. That costs nothing to first order: the derivative of p in either is
    a polynomial too, whose mean is zero under the model. Features are not divided by their own standard
    deviations, which would make true models be rejected too often.

    The tails of the density must leave the features their fourth moments; the audit looks at them, and warns
    where few observations carry the statistic. Where the score is not linear, these are not the moments of
    the model but noisy relatives: with a sampler :class:`DrawnMoments` sees the moments themselves.

    Examples
    --------
    >>> import numpy as np
    >>> import goodstein as gs
    >>> model = gs.families.Normal([0.0] * 5)
    >>> cov = 0.8 * np.eye(5) + 0.2
    >>> x = gs.families.Normal([0.0] * 5, cov).sample(150, rng=1)
    >>> gs.ksd_test(x, model, rng=1).pvalue > 0.05
    True
    >>> gs.ksd_test(x, model, operator=gs.Moments(1), rng=1).pvalue < 0.01
    True
    """

    degree: int = 1
    operator: Operator | None = None

    def __post_init__(self) -> None:
        set_inner(self)
        check_count(self.degree, "degree", 0, of="Moments")

    def looks_at(self, names: Names = None) -> str:
        what = WORDS[self.degree] if self.degree < len(WORDS) else f"moments of degree {self.degree + 1}"
        if names is None:
            return what
        return f"{what} of {', '.join(named(column, names) for column in range(len(names)))}"

    def check(self, domain: Domain) -> None:
        if domain.discrete:
            raise InputError(f"States on {domain!r} have no moments by Stein's identity. Use Counts().")

    def features(self, model: Any, domain: Domain, data: Any) -> FiniteFeatures:
        """a_j p + Σ_l G_lj ∂_l p for all j and p."""
        inner = self.square(model, domain, data)
        m = inner.points.shape[1]
        count = m * polynomials.count(m, self.degree)
        if count > MOST:
            raise InputError(
                f"{self!r} has {count} test functions in {m} coordinates, more than {MOST}. Take a lower "
                "degree."
            )
        return self._about(inner, inner, domain)

    def stacked(self, model: Any, domain: Domain, data: Any, count: int) -> FiniteFeatures | None:
        """Each sample about its own centre, in its own metric."""
        inner = stacked_of(self.inner(domain), model, domain, data, count)
        if not isinstance(inner, SteinStack):
            return None
        m = inner.features.points.shape[1]
        seen = inner.seen(domain.mixed_units and m > 1).together
        return None if seen is None else FiniteFeatures(polynomial_features(seen, self.degree))

    def features_beside(
        self, features: Any, model: Any, domain: Domain, others: Any
    ) -> FiniteFeatures | None:
        """The others about the centre of the data, in the metric of the data."""
        joint = self.inner(domain).features_beside(features.inside, model, domain, others)
        return self._about(joint, features.inside, domain) if isinstance(joint, SteinFeatures) else None

    def _about(self, features: SteinFeatures, own: SteinFeatures, domain: Domain) -> FiniteFeatures:
        """Centre and metric are those of some of the observations."""
        frame = unit_frame(own, domain)
        about = replace(features, points=features.points - medians(own.points))
        moved = about if frame is None else about.seen_in(frame)
        return FiniteFeatures(polynomial_features(moved, self.degree), inside=own)

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        inner = self.inner(domain)
        checks = inner.conditions(model, domain, data, rng)
        if self.degree > 1 and domain.flat and not domain.bounded:
            checks = [*checks, *check_moments(model, domain, inner.boundary_weight, data, rng, self.degree)]
        return checks

    def _arguments(self) -> list[str]:
        return [str(self.degree)]
