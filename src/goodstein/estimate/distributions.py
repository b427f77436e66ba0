"""Standard distributions with parameters to be found: normal, Dirichlet, gamma and exponential."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.auxiliary.base import Auxiliary
from goodstein.auxiliary.functions import ProductOfParts
from goodstein.domains.base import Domain
from goodstein.domains.box import Orthant
from goodstein.domains.simplex import Simplex
from goodstein.errors import DomainError, InputError, describe_rows
from goodstein.estimate.base import AffineScores, ModelFamily, Sample, require_full, restricted
from goodstein.estimate.faces import SquaredDistance
from goodstein.families import Dirichlet, Exponential, Gamma, Normal
from goodstein.families.normal import mean_and_covariance
from goodstein.types import Array


@dataclass(frozen=True)
class AnyNormal(ModelFamily):
    r"""Any normal distribution, restricted to the domain; parameters ``mean`` and ``covariance``.

    The score Σ⁻¹μ − Σ⁻¹x is affine in (Σ⁻¹μ, Σ⁻¹), so all estimators are closed forms. On R^d score matching
    gives the sample's mean and its covariance with divisor n.

    Examples
    --------
    >>> import goodstein as gs
    >>> from goodstein.estimate import AnyNormal, TruncatedScoreMatching
    >>> disc = gs.Ball(2)
    >>> x = gs.families.Truncated(gs.families.Normal([0.5, 0.0], 0.25), disc).sample(20_000, rng=1)
    >>> fit = TruncatedScoreMatching().fit(x, AnyNormal(), domain=disc)
    >>> abs(fit.parameters["mean"]).round(1)
    array([0.5, 0. ])
    """

    def scores(self, sample: Sample) -> NormalScores:
        require_full(sample, "AnyNormal()")
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
        mean = self.center + self.factor @ (inner @ theta[:d])
        return {"mean": mean, "covariance": self.factor @ inner @ self.factor.T}

    def model(self, theta: Array) -> Any:
        mean, covariance = self.parameters(theta).values()
        return restricted(Normal(mean, (covariance + covariance.T) / 2), self.domain)


class PositiveFamily(ModelFamily):
    """A standard distribution with positive parameters, its arguments."""

    distribution: type

    @abstractmethod
    def _arguments(self, theta: Array) -> dict[str, Any]:
        """The arguments of the distribution."""


class PositiveScores(AffineScores):
    """Scores of such a family; the statistics' derivatives and those of the log density at θ = 0."""

    def __init__(self, family: PositiveFamily, sample: Sample, names: Sequence[str], *designs: Array) -> None:
        self.family, self.domain = family, sample.domain
        super().__init__(names, *designs)

    def parameters(self, theta: Array) -> Mapping[str, Any]:
        wrong = np.flatnonzero(~(theta > 0))
        if wrong.size:
            raise InputError(
                f"The fitted {self.coordinates[wrong[0]]} is {theta[wrong[0]]:.3g}, and no "
                f"{self.family.distribution.__name__} distribution has that: there are too few data, or they "
                "follow another law."
            )
        return self.family._arguments(theta)

    def model(self, theta: Array) -> Any:
        return restricted(self.family.distribution(*self.parameters(theta).values()), self.domain)


@dataclass(frozen=True)
class AnyDirichlet(PositiveFamily):
    r"""Any Dirichlet distribution on the simplex; parameter ``alpha``.

    The score (α − 1)/x is affine in α. It grows like 1/δ near a face, so the weight must vanish like
    :math:`δ^a` with a > 2 − α. The default does for every α > 0: ``ProductOfParts(2)`` up to four parts,
    where it is the more precise one, and :class:`SquaredDistance` beyond. :class:`BoundaryDistance` needs
    all α > 1.

    Examples
    --------
    >>> import goodstein as gs
    >>> from goodstein.estimate import AnyDirichlet, TruncatedScoreMatching
    >>> x = gs.families.Dirichlet([0.5, 1.0, 2.0]).sample(20_000, rng=1)
    >>> TruncatedScoreMatching().fit(x, AnyDirichlet()).parameters["alpha"].round(1)
    array([0.5, 1. , 2. ])
    """

    ambient = True  # the score (α − 1)/x
    distribution = Dirichlet

    def default_domain(self, d: int) -> Domain:
        return Simplex(d)

    def default_auxiliary(self, domain: Domain) -> Auxiliary:
        return ProductOfParts(2.0) if domain.dim <= 4 else SquaredDistance()

    def scores(self, sample: Sample) -> PositiveScores:
        if not isinstance(sample.domain, Simplex):
            raise DomainError(f"AnyDirichlet() is a family on a Simplex, got {sample.domain!r}.")
        _require_positive(sample.data, "parts that are zero", "AnyDirichlet()")
        x, directions = sample.data, sample.directions
        first = directions / x[:, None, :]
        second = -(first**2)
        names = [f"alpha[{i}]" for i in range(x.shape[1])]
        return PositiveScores(self, sample, names, first, second, -first.sum(axis=2), -second.sum(axis=2))

    def _arguments(self, theta: Array) -> dict[str, Any]:
        return {"alpha": theta.copy()}


@dataclass(frozen=True)
class AnyGamma(PositiveFamily):
    """Any gamma distribution on the half-line, or an interval of it; parameters ``shape`` and ``scale``.

    The score (shape − 1)/x − 1/scale is affine in (shape, 1/scale), and the default weight the squared
    distance to the boundary, which is fit for every shape.

    Examples
    --------
    >>> import goodstein as gs
    >>> from goodstein.estimate import AnyGamma, TruncatedScoreMatching
    >>> x = gs.families.Gamma(2.0, 3.0).sample(50_000, rng=1)
    >>> fit = TruncatedScoreMatching().fit(x, AnyGamma())
    >>> round(fit.parameters["shape"], 1), round(fit.parameters["scale"], 1)
    (2.0, 3.0)
    """

    distribution = Gamma

    def default_domain(self, d: int) -> Domain:
        return Orthant(d)

    def default_auxiliary(self, domain: Domain) -> Auxiliary:
        return SquaredDistance()

    def scores(self, sample: Sample) -> PositiveScores:
        _require_half_line(sample, "AnyGamma()", Gamma(1.0, 1.0))
        _require_positive(sample.data, "zeros", "AnyGamma()")
        inverse, one = 1.0 / sample.data, np.ones_like(sample.data)
        first, second = np.stack([inverse, -one], axis=2), np.stack([-(inverse**2), 0.0 * one], axis=2)
        return PositiveScores(self, sample, ["shape", "1/scale"], first, second, -inverse, inverse**2)

    def _arguments(self, theta: Array) -> dict[str, Any]:
        return {"shape": float(theta[0]), "scale": float(1 / theta[1])}


@dataclass(frozen=True)
class AnyExponential(PositiveFamily):
    """Any exponential distribution on the half-line, or an interval of it; parameter ``scale``.

    On the half-line truncated score matching gives the sample's mean, which is also the maximum likelihood
    estimate.

    Examples
    --------
    >>> from goodstein.estimate import AnyExponential, TruncatedScoreMatching
    >>> round(TruncatedScoreMatching().fit([1.0, 2.0, 6.0], AnyExponential()).parameters["scale"], 12)
    3.0
    """

    distribution = Exponential

    def default_domain(self, d: int) -> Domain:
        return Orthant(d)

    def scores(self, sample: Sample) -> PositiveScores:
        _require_half_line(sample, "AnyExponential()", Exponential(1.0))
        one = np.ones((len(sample), 1, 1))
        return PositiveScores(self, sample, ["1/scale"], -one, 0.0 * one)

    def _arguments(self, theta: Array) -> dict[str, Any]:
        return {"scale": float(1 / theta[0])}


def _require_positive(x: Array, what: str, name: str) -> None:
    zero = np.asarray((x <= 0).any(axis=1))
    if zero.any():
        raise InputError(
            f"{describe_rows(zero)} hold {what}, where the score of {name} is infinite. Remove them, "
            "or replace zeros beforehand, in a way you can defend.",
            argument="data",
            rows=zero,
        )


def _require_half_line(sample: Sample, name: str, distribution: Any) -> None:
    if sample.domain.dim != 1:
        raise InputError(
            f"{name} is a family on the half-line, and `data` have {sample.domain.dim} columns. Fit each "
            "column by itself."
        )
    negative = sample.data[:, 0] < 0
    if negative.any():
        raise InputError(
            f"{describe_rows(negative)} are negative, where {name} has no density.",
            argument="data",
            rows=negative,
        )
    restricted(distribution, sample.domain)  # it refuses a domain that goes beyond
