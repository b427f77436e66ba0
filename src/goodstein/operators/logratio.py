"""The log-ratio operator: compositions in Aitchison geometry."""

from __future__ import annotations

from dataclasses import dataclass

from goodstein.domains import Domain, Simplex
from goodstein.errors import InputError, given, refuse_rows
from goodstein.models.model import Model
from goodstein.operators.base import Operator
from goodstein.stein.features import SteinFeatures
from goodstein.types import Array


@dataclass(frozen=True)
class LogRatio(Operator):
    """The Langevin operator in isometric log-ratio coordinates y = V log x, V1 = 0.

    The open simplex becomes R^(d−1) and has no boundary left. The density of y is q(x)·∏x up to a
    constant, so its score is V[x∘s − (x·s + d)x]; for a Dirichlet model V(α − α₀x), bounded, and the
    test is valid for every α > 0. It equals the matrix operator with G = ∂x/∂y and the kernel composed
    with the log-ratios, and does not depend on the basis V.

    Zeros have no logarithm: with them use :class:`Mirrored` or ``Standardised(ProductOfParts())``.

    References
    ----------
    Egozcue et al. (2003), Isometric logratio transformations.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Dirichlet([0.5, 0.5, 0.5])
    >>> gs.ksd_test(model.sample(100, rng=1), model, operator=gs.LogRatio(), rng=1).pvalue > 0.05
    True
    """

    pointwise = True  # no annotation: not a field

    def features(self, model: Model, domain: Domain, data: Array) -> SteinFeatures:
        """(y, a, G) = (ilr x, score of ilr x, 1)."""
        simplex = _as_simplex(domain)
        refuse_rows(
            (data <= 0).any(axis=1),
            "have parts that are zero, and zeros have no log-ratio.",
            f"Use {given('operator', 'Mirrored()', 'Standardised(ProductOfParts())')}, which allow zeros for "
            "models such as Dirichlet, or replace the zeros by a method of your choice before the test.",
        )
        weighted = model.weighted_score(data)
        total = weighted.sum(axis=1, keepdims=True) + domain.dim
        return SteinFeatures(simplex.to_logratio(data), (weighted - total * data) @ simplex.basis.T)

    def boundary_weight(self, domain: Domain, x: Array, normals: Array) -> Array:
        """Gᵀν for G = ∂x/∂y."""
        inner = x * normals
        weight: Array = (inner - x * inner.sum(axis=1, keepdims=True)) @ _as_simplex(domain).basis.T
        return weight


def _as_simplex(domain: Domain) -> Simplex:
    if not isinstance(domain, Simplex):
        raise InputError(f"LogRatio works on a Simplex, got {domain!r}. Use Standardised() there.")
    return domain
