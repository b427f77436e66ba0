"""Numbers that are plainly in other units than the domain's: degrees, percentages."""

from __future__ import annotations

import numpy as np

from goodstein.command.observations import Observed
from goodstein.domains.base import Domain
from goodstein.domains.circle import Torus
from goodstein.domains.simplex import Simplex
from goodstein.errors import InputError


def refuse_other_units(observed: Observed, place: Domain | None) -> None:
    """Raise where data would be refused, or misread, for their units, and say which option helps."""
    x = observed.points
    if x is None or place is None or x.shape[1] != place.dim:
        return
    if isinstance(place, Torus) and not observed.angles:
        largest = float(np.abs(x).max())
        if largest > 2 * np.pi * (1 + 1e-9):
            raise InputError(
                f"{observed.source}: the angles go up to {largest:.6g}, beyond 2π: they look like degrees.",
                remedy="Pass --degrees, or --radians if they are radians.",
            )
    if isinstance(place, Simplex) and (x >= 0).all():
        total = x.sum(axis=1)
        if (np.abs(total - 1) > 1e-6).any():
            percent = abs(float(np.median(total)) - 100) < 2
            look = "they look like percentages" if percent else "parts of a whole sum to 1"
            raise InputError(
                f"{observed.source}: the rows sum to {total.min():.6g} … {total.max():.6g}: {look}.",
                remedy="Pass --close to divide each row by its sum.",
            )
