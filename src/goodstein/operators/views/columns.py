"""Views of some columns of the data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from goodstein.domains import Domain, Lattice, Torus
from goodstein.errors import InputError, shown
from goodstein.kernels.base import Kernel
from goodstein.kernels.finite import OwnFunctions, refuse_kernel
from goodstein.operators.difference import Difference
from goodstein.operators.finite_set import plain_features
from goodstein.operators.views.base import View, projected, thin
from goodstein.operators.views.counting import count_features
from goodstein.stein.features import Features, SteinFeatures


class ColumnView(View):
    """A view of some columns; on a lattice, where it has finite rank, of the counts of their joint states."""

    @property
    @abstractmethod
    def columns(self) -> tuple[int, ...]:
        """Which ones, from 0 on."""

    def check(self, domain: Domain) -> None:
        require_columns(self, self.columns, domain)

    def features(self, model: Any, domain: Domain, data: Any) -> Features:
        """The points, values and weights of these coordinates."""
        if isinstance(domain, Lattice):
            return count_features(self.inner(domain), model, domain, data, [self.columns])
        if isinstance(domain, Torus):
            how = f"looked at by {type(self).__name__}"
            inner = plain_features(self.inner(domain), model, domain, data, how)
        else:
            inner = self.square(model, domain, data)
        return selected(inner, domain, self.columns)

    def default_kernel(self) -> Any:
        return OwnFunctions() if isinstance(self.operator, Difference) else super().default_kernel()

    def adapted(self, kernel: Kernel) -> Kernel:
        return refuse_kernel(self, kernel) if isinstance(self.operator, Difference) else kernel

    def _arguments(self) -> list[str]:
        return [str(column) for column in self.columns]


def require_columns(view: View, columns: tuple[int, ...], domain: Domain) -> None:
    """Raise where the data have no such columns."""
    if max(columns) >= domain.dim:
        raise InputError(
            f"{view!r} looks at column {max(columns)}, but data on {domain!r} have the columns 0 to "
            f"{domain.dim - 1}."
        )


def as_column(value: Any, what: str) -> int:
    """A place among the columns, from 0 on."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise InputError(f"{what} must be the place of a column, 0, 1, …, got {shown(value)}.")
    return int(value)


def selected(features: SteinFeatures, domain: Domain, columns: Sequence[int]) -> SteinFeatures:
    """The coordinates of some columns of the data, and their test functions as functions of these alone.

    On a torus these are (cos θ, sin θ); on a simplex the parts, or logarithms of them divided by their
    geometric mean, in whose directions the basis of the tangent space has the columns V e_j.
    """
    index = list(columns)
    if isinstance(domain, Torus):
        embedded = [2 * column + side for column in index for side in (0, 1)]
        weight = np.asarray(features.weight)[:, embedded][:, :, index]
        return SteinFeatures(features.points[:, embedded], features.value[:, index], weight)
    if domain.basis is not None:
        return projected(features, domain.basis[:, index])
    some = features.weight
    if some is not None and some.ndim == 2:
        some = some[:, index]
    elif some is not None and some.ndim == 3:
        some = some[:, index][:, :, index]
    return thin(SteinFeatures(features.points[:, index], features.value[:, index], some))
