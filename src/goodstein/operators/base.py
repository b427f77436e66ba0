"""What an operator is, and which one a domain gets by default."""

from __future__ import annotations

from typing import Any, Protocol

from goodstein.domains.base import Domain
from goodstein.domains.simplex import Simplex
from goodstein.errors import InputError
from goodstein.stein.features import Features
from goodstein.types import Array


class Operator(Protocol):
    """What the library asks of an operator; any object with this method can be passed as `operator`.

    More methods are used where they exist:

    ``on(domain)``
        The operator with what it takes from the domain fixed, before anything else is asked of it.
    ``fitted(data, domain)``
        The operator with everything that it takes from the data fixed.
    ``boundary_weight(domain, x, normals)``
        Gᵀν, (n, J), at points x with inward unit normals ν: the audit checks that q·Gᵀν vanishes at
        the boundary.
    ``conditions(model, domain, data, rng)``
        Checks (:class:`goodstein.auditing.report.Check`) of what Stein's identity needs here, in
        place of the audit's own; ``data`` may be None.
    ``seeded(seed)``
        A copy that takes its random numbers from this seed, for operators that need some.
    ``default_kernel()``
        The kernel for users who name none.
    """

    def features(self, model: Any, domain: Domain, data: Any) -> Features:
        """The operator at each observation; see :class:`goodstein.stein.features.SteinFeatures`."""
        ...


def default_operator(domain: Domain) -> Operator:
    """The operator of choice on a domain: it is valid for every density that is bounded there.

    What the domain itself names with a method ``default_operator``; otherwise, without boundary,
    the Langevin operator; on a simplex the log-ratio operator; elsewhere the standardised operator
    with the domain's own auxiliary function.
    """
    own = getattr(domain, "default_operator", None)
    if own is not None:
        result: Operator = own()
        return result
    from goodstein.operators.langevin import Langevin
    from goodstein.operators.logratio import LogRatio
    from goodstein.operators.standardised import Standardised

    if isinstance(domain, Simplex):
        return LogRatio()
    return Standardised() if domain.has_boundary else Langevin()


def fitted_operator(operator: Operator, data: Any, domain: Domain) -> Operator:
    """The operator with everything that it takes from the data fixed."""
    fit = getattr(operator, "fitted", None)
    if fit is None:
        return operator
    fixed: Operator = fit(data, domain)
    return fixed


def tangent(domain: Domain, vectors: Array) -> Array:
    """Coordinates of ambient vectors (n, d) in the domain's tangent space, (n, m)."""
    if not domain.flat:
        raise InputError(
            f"This operator works on R^d and its parts, and {domain!r} is none of them. Use "
            f"operator={default_operator(domain)!r} there."
        )
    basis = domain.basis
    return vectors if basis is None else vectors @ basis.T
