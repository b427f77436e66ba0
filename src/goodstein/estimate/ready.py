"""Families in closed form that users expect: normal, Dirichlet, gamma and exponential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.auxiliary.base import Auxiliary
from goodstein.auxiliary.functions import ProductOfParts
from goodstein.domains.base import Domain
from goodstein.domains.box import Orthant
from goodstein.domains.simplex import Simplex
from goodstein.errors import DomainError, InputError, describe_rows
from goodstein.estimate.affine import AffineScores
from goodstein.estimate.base import Sample, require_full
from goodstein.estimate.weights import SquaredDistance
from goodstein.families.normal import mean_and_covariance
from goodstein.types import Array


@dataclass(frozen=True)
class Normal:
    r"""The normal distribution, restricted to the domain; parameters ``mean`` and ``covariance``.

    The score Σ⁻¹μ − Σ⁻¹x is affine in (Σ⁻¹μ, Σ⁻¹), so all estimators are closed forms. On R^d score matching
    gives the sample's mean and its covariance with divisor n.

    Examples
    --------
    >>> import goodstein as gs
    >>> from goodstein.estimate import Normal, TruncatedScoreMatching
    >>> disc = gs.Ball(2)
    >>> x = gs.families.Truncated(gs.families.Normal([0.5, 0.0], 0.25), disc).sample(20_000, rng=1)
    >>> fit = TruncatedScoreMatching().fit(x, Normal(), domain=disc)
    >>> abs(fit.parameters["mean"]).round(1)
    array([0.5, 0. ])
    """

    def scores(self, sample: Sample) -> NormalScores:
        """The family at these data."""
        require_full(sample, "Normal()")
        return NormalScores(sample)


class NormalScores(AffineScores):
    """η − Λz of the whitened z = L⁻¹(x − centre), LLᵀ the sample's covariance; θ = (η, triangle of Λ)."""

    def __init__(self, sample: Sample) -> None:
        x = sample.data
        n, d = x.shape
        self.domain = sample.domain
        # The sample's own covariance as the unit: θ is of size one however the columns are scaled.
        self.center, covariance = mean_and_covariance(x, "`data`")
        self.factor = np.linalg.cholesky(covariance)
        self.rows, self.columns = np.tril_indices(d)
        inverse = np.linalg.inv(self.factor)
        z = (x - self.center) @ inverse.T
        off = np.where(self.rows == self.columns, 0.0, 1.0)
        i, j, pairs = self.rows, self.columns, d + np.arange(len(self.rows))
        # Λ_ij z_j in the score of z_i and, off the diagonal, Λ_ij z_i in that of z_j; then ∂/∂x = L⁻ᵀ∂/∂z.
        inner = np.zeros((n, d, d + len(pairs)))
        inner[:, np.arange(d), np.arange(d)] = 1.0
        inner[:, i, pairs] -= z[:, j]
        inner[:, j, pairs] -= off * z[:, i]
        second = np.zeros((d, d + len(pairs)))
        second[:, pairs] = -(1.0 + off) * inverse[i].T * inverse[j].T
        names = [f"mean[{k}]" for k in range(d)]
        names += [f"precision[{k}, {m}]" for k, m in zip(i, j, strict=True)]
        super().__init__(names, inverse.T @ inner, np.broadcast_to(second, (n, *second.shape)))

    def parameters(self, theta: Array) -> Mapping[str, Any]:
        """Mean (d,) and covariance (d, d)."""
        d = len(self.center)
        precision = np.zeros((d, d))
        precision[self.rows, self.columns] = precision[self.columns, self.rows] = theta[d:]
        smallest = float(np.linalg.eigvalsh(precision)[0])
        if smallest <= 0:
            raise InputError(
                "The fitted precision matrix is not positive definite (its smallest eigenvalue is "
                f"{smallest:.3g} of the sample's): within {self.domain!r} the data do not look like a normal "
                "distribution that was cut off. Use an ExponentialFamily with squares and products, which "
                "need not be integrable over R^d."
            )
        inner = np.linalg.inv(precision)
        return {
            "mean": self.center + self.factor @ (inner @ theta[:d]),
            "covariance": self.factor @ inner @ self.factor.T,
        }

    def model(self, theta: Array) -> Any:
        """The normal distribution, restricted to the domain if that has a boundary."""
        from goodstein.families import Normal as Distribution
        from goodstein.families import Truncated

        found = self.parameters(theta)
        covariance = (found["covariance"] + found["covariance"].T) / 2
        normal = Distribution(found["mean"], covariance)
        return Truncated(normal, self.domain) if self.domain.has_boundary else normal


@dataclass(frozen=True)
class Dirichlet:
    r"""The Dirichlet distribution on the simplex; parameter ``alpha``.

    The score (α − 1)/x is affine in α. It grows like 1/δ near a face, so the weight must vanish like
    :math:`δ^a` with a > 2 − α. The default does for every α > 0: ``ProductOfParts(2)`` up to four parts,
    where it is the more precise one, and :class:`SquaredDistance` beyond. :class:`BoundaryDistance` needs
    all α > 1.

    Examples
    --------
    >>> import goodstein as gs
    >>> from goodstein.estimate import Dirichlet, TruncatedScoreMatching
    >>> x = gs.families.Dirichlet([0.5, 1.0, 2.0]).sample(20_000, rng=1)
    >>> TruncatedScoreMatching().fit(x, Dirichlet()).parameters["alpha"].round(1)
    array([0.5, 1. , 2. ])
    """

    @property
    def ambient(self) -> bool:
        """The score (α − 1)/x is known in every coordinate."""
        return True

    def default_domain(self, d: int) -> Domain:
        """The simplex."""
        return Simplex(d)

    def default_auxiliary(self, domain: Domain) -> Auxiliary:
        """A weight that is fit for every α."""
        return ProductOfParts(2.0) if domain.dim <= 4 else SquaredDistance()

    def scores(self, sample: Sample) -> DirichletScores:
        """The family at these data."""
        if not isinstance(sample.domain, Simplex):
            raise DomainError(f"Dirichlet() is a family on a Simplex, got {sample.domain!r}.")
        _require_positive(sample.data, "parts that are zero", "Dirichlet()")
        return DirichletScores(sample)


class DirichletScores(AffineScores):
    """Statistics log x, and −Σ log x at α = 0."""

    def __init__(self, sample: Sample) -> None:
        x, directions = sample.data, sample.directions
        first = directions / x[:, None, :]
        second = -((directions / x[:, None, :]) ** 2)
        names = [f"alpha[{i}]" for i in range(x.shape[1])]
        super().__init__(names, first, second, -first.sum(axis=2), -second.sum(axis=2))

    def parameters(self, theta: Array) -> Mapping[str, Any]:
        """α, (d,)."""
        wrong = np.flatnonzero(theta <= 0)
        if wrong.size:
            raise InputError(
                f"The fitted alpha[{wrong[0]}] is {theta[wrong[0]]:.3g}, and no Dirichlet distribution has "
                "that: there are too few data, or they follow another law."
            )
        return {"alpha": theta.copy()}

    def model(self, theta: Array) -> Any:
        """The Dirichlet distribution."""
        from goodstein.families import Dirichlet as Distribution

        return Distribution(theta)


@dataclass(frozen=True)
class Gamma:
    """The gamma distribution on the half-line, or an interval of it; parameters ``shape`` and ``scale``.

    The score (shape − 1)/x − 1/scale is affine in (shape, 1/scale), and the default weight the squared
    distance to the boundary, which is fit for every shape.

    Examples
    --------
    >>> import goodstein as gs
    >>> from goodstein.estimate import Gamma, TruncatedScoreMatching
    >>> x = gs.families.Gamma(2.0, 3.0).sample(50_000, rng=1)
    >>> fit = TruncatedScoreMatching().fit(x, Gamma())
    >>> round(fit.parameters["shape"], 1), round(fit.parameters["scale"], 1)
    (2.0, 3.0)
    """

    def default_domain(self, d: int) -> Domain:
        """The half-line."""
        return Orthant(d)

    def default_auxiliary(self, domain: Domain) -> Auxiliary:
        """A weight that is fit for every shape."""
        return SquaredDistance()

    def scores(self, sample: Sample) -> GammaScores:
        """The family at these data."""
        from goodstein.families import Gamma as Distribution

        _require_half_line(sample, "Gamma()", Distribution(1.0, 1.0))
        _require_positive(sample.data, "zeros", "Gamma()")
        return GammaScores(sample)


class GammaScores(AffineScores):
    """θ = (shape, 1/scale)."""

    def __init__(self, sample: Sample) -> None:
        x = sample.data
        self.domain = sample.domain
        inverse, one = 1.0 / x, np.ones_like(x)
        super().__init__(
            ["shape", "1/scale"],
            np.stack([inverse, -one], axis=2),
            np.stack([-(inverse**2), 0.0 * one], axis=2),
            -inverse,
            inverse**2,
        )

    def parameters(self, theta: Array) -> Mapping[str, Any]:
        """Shape and scale."""
        if not (theta > 0).all():
            raise InputError(
                f"The fit has shape {theta[0]:.3g} and 1/scale {theta[1]:.3g}, and no gamma distribution has "
                "these: there are too few data, or they follow another law."
            )
        return {"shape": float(theta[0]), "scale": float(1 / theta[1])}

    def model(self, theta: Array) -> Any:
        """The gamma distribution, restricted to the domain."""
        from goodstein.families import Gamma as Distribution

        return _on_half_line(Distribution(float(theta[0]), float(1 / theta[1])), self.domain)


@dataclass(frozen=True)
class Exponential:
    """The exponential distribution on the half-line, or an interval of it; parameter ``scale``.

    On the half-line truncated score matching gives the sample's mean, which is also the maximum likelihood
    estimate.

    Examples
    --------
    >>> from goodstein.estimate import Exponential, TruncatedScoreMatching
    >>> round(TruncatedScoreMatching().fit([1.0, 2.0, 6.0], Exponential()).parameters["scale"], 12)
    3.0
    """

    def default_domain(self, d: int) -> Domain:
        """The half-line."""
        return Orthant(d)

    def scores(self, sample: Sample) -> ExponentialScores:
        """The family at these data."""
        from goodstein.families import Exponential as Distribution

        _require_half_line(sample, "Exponential()", Distribution(1.0))
        return ExponentialScores(sample)


class ExponentialScores(AffineScores):
    """θ = 1/scale."""

    def __init__(self, sample: Sample) -> None:
        self.domain = sample.domain
        one = np.ones((len(sample), 1, 1))
        super().__init__(["1/scale"], -one, 0.0 * one)

    def parameters(self, theta: Array) -> Mapping[str, Any]:
        """The scale."""
        if not theta[0] > 0:
            raise InputError(
                f"The fit has 1/scale {theta[0]:.3g}, and no exponential distribution has that: the data do "
                "not become rarer towards the right."
            )
        return {"scale": float(1 / theta[0])}

    def model(self, theta: Array) -> Any:
        """The exponential distribution, restricted to the domain."""
        from goodstein.families import Exponential as Distribution

        return _on_half_line(Distribution(float(1 / theta[0])), self.domain)


def _on_half_line(distribution: Any, domain: Domain) -> Any:
    from goodstein.families import Truncated

    return distribution if distribution.domain == domain else Truncated(distribution, domain)


def _require_positive(x: Array, what: str, name: str) -> None:
    zero = np.asarray((x <= 0).any(axis=1))
    if zero.any():
        raise InputError(
            f"`data`: {describe_rows(zero)} hold {what}, where the score of {name} is infinite. Remove them, "
            "or replace zeros beforehand, in a way you can defend."
        )


def _require_half_line(sample: Sample, name: str, distribution: Any) -> None:
    if sample.domain.dim != 1:
        raise InputError(
            f"{name} is a family on the half-line, and `data` have {sample.domain.dim} columns. Fit each "
            "column by itself."
        )
    negative = sample.data[:, 0] < 0
    if negative.any():
        raise InputError(f"`data`: {describe_rows(negative)} are negative, where {name} has no density.")
    _on_half_line(distribution, sample.domain)  # it refuses a domain that goes beyond
