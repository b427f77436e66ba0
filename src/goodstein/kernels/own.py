"""Whether the profiles of a kernel that a user wrote are derivatives of each other."""

from __future__ import annotations

import numpy as np

from goodstein.constraints import asked
from goodstein.errors import InputError
from goodstein.foreign import written_outside
from goodstein.kernels.base import Kernel, Wrapped
from goodstein.numerics.slopes import contradicted, differences
from goodstein.types import Array

RHO = np.geomspace(1e-16, 1e16, 97)[:, None]
"""Squared distances at which they are compared: nobody knows beforehand on which of them a kernel varies."""


def own_terms(kernel: Kernel) -> list[Kernel]:
    """The terms that a user wrote."""
    return [term for term in kernel.plain.terms if isinstance(term, Wrapped) or written_outside(term)]


def check_profiles(kernel: Kernel) -> None:
    """Raise where φ′ or φ″ of a kernel of a user's own is contradicted by differences of φ or φ′.

    Those of the library are known to its tests.
    """
    for term in own_terms(kernel):
        if term.radial:
            _check(term)


def _check(term: Kernel) -> None:
    def pair(rho: Array, first: int = 0) -> Array:
        """Two profiles, one the derivative of the other, (n, 2): φ and φ′ or φ′ and φ″."""
        profiles = asked(fitted.profiles, repr(term), rho[:, 0])[first : first + 2]
        return np.asarray(np.stack(profiles, axis=1, dtype=np.float64))

    try:
        with np.errstate(all="ignore"):
            fitted = term.fitted(np.linspace(-1.0, 1.0, 33)[:, None])
            slopes = differences(pair, RHO, RHO, lambda rho: rho[:, 0] > 0) / RHO
            claimed, size = pair(RHO, 1), np.abs(pair(RHO)) / RHO
    except (InputError, TypeError, ValueError):  # what it cannot do is said where that is needed
        return
    wrong = contradicted(slopes, claimed, 1e-4 * size)
    if wrong.any(axis=1).sum() > 1:  # a kink may spoil one
        at, k = np.argwhere(wrong)[0]
        raise InputError(
            f"`profiles` of {term!r} is wrong: at ρ = {RHO[at, 0]:.3g} its {('φ′', 'φ″')[k]} is "
            f"{claimed[at, k]:.4g}, but differences give {np.nanmedian(slopes[:, at, k]):.4g}.",
            argument="kernel",
            remedy="Return φ(ρ) and its derivatives with respect to ρ = ‖x − y‖².",
        )
