"""Any manifold, through a metric in one chart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from goodstein.constraints import MOST_COORDINATES, check_count, require_functions
from goodstein.domains.base import Domain, Face
from goodstein.domains.box import Box
from goodstein.domains.chart_functions import Function, automatic_derivative, require_metric, values_at
from goodstein.domains.euclidean import Euclidean
from goodstein.errors import DomainError, InputError, must
from goodstein.frozen import Frozen
from goodstein.lazy import cached_property
from goodstein.numerics.differentiate import gradient
from goodstein.types import Array, BoolArray


class Chart(Frozen, Domain):
    """A Riemannian manifold of dimension m in coordinates u; data are the coordinates, (n, m).

    The density is with respect to the volume J(u) du, J = √det G(u), and the score is its derivative
    in the coordinates. So a model that is known as a density p(u) du in the coordinates has
    q = p/J. One chart has to cover the manifold up to a set without volume.

    Parameters
    ----------
    dim
        Number of coordinates m.
    metric
        G, a function of all points, (n, m) to (n, m, m), or of one, (m,) to (m, m). None takes the
        metric that the embedding induces.
    embedding
        A map from coordinates into R^k, of all points, (n, m) to (n, k), or of one; kernels then act on
        distances there. None lets them act on the coordinates themselves, periodic ones wrapped round a
        circle.
    jacobian
        Its derivatives, (n, k, m) or, for one point, (k, m). If it is not given, an embedding written
        with JAX is differentiated automatically, and any other numerically.
    metric_gradient
        ∂_l G_ij, (n, m, m, m) with l first, or for one point (m, m, m); numerical if it is not given.
    coordinates
        Where the coordinates lie, a :class:`Box` for example; None for R^m.
    periodic
        Numbers (from 0) of the coordinates that come round at the ends of their side of the box.

    Examples
    --------
    The sphere in colatitude and longitude:

    >>> import goodstein as gs
    >>> import numpy as np
    >>> def metric(u):
    ...     return np.diag([1.0, np.sin(u[0]) ** 2])
    >>> def embedding(u):
    ...     return [np.cos(u[0]), np.sin(u[0]) * np.cos(u[1]), np.sin(u[0]) * np.sin(u[1])]
    >>> box = gs.Box([0, 0], [np.pi, 2 * np.pi])
    >>> chart = gs.Chart(2, metric, embedding=embedding, coordinates=box, periodic=[1])
    >>> chart.log_volume_gradient(np.array([[np.pi / 4, 0.0]])).round(8) + 0.0
    array([[1., 0.]])
    """

    flat = False  # the volume element is not that of the coordinates
    metric: Function | None
    embedding: Function | None
    jacobian: Function | None
    metric_gradient: Function | None
    coordinates: Domain
    periodic: tuple[int, ...]
    _dim: int

    def __init__(
        self,
        dim: int,
        metric: Function | None = None,
        *,
        embedding: Function | None = None,
        jacobian: Function | None = None,
        metric_gradient: Function | None = None,
        coordinates: Domain | None = None,
        periodic: Sequence[int] = (),
    ) -> None:
        given = (metric, embedding, jacobian, metric_gradient)
        functions = dict(zip(self._parameters[1:5], given, strict=True))
        known = {name: function for name, function in functions.items() if function is not None}
        require_functions(known, "Chart", "a function of the coordinates", DomainError)
        if metric is None and embedding is None:
            raise DomainError("Chart needs a `metric`, or an `embedding` that induces one, got neither.")
        if jacobian is not None and embedding is None:
            raise DomainError("`jacobian` of Chart belongs to an `embedding`, and there is none.")
        m = check_count(dim, "dim", 1, MOST_COORDINATES, error=DomainError)
        where = Euclidean(m) if coordinates is None else coordinates
        if not isinstance(where, Domain) or not where.flat or where.basis is not None or where.dim != m:
            raise must("coordinates", f"a part of R^{m} such as Box(...)", coordinates, "Chart", DomainError)
        flat = isinstance(periodic, np.ndarray) and periodic.ndim == 1 and periodic.dtype.kind in "iu"
        if not flat and not isinstance(periodic, list | tuple):
            wanted = f"a list of the numbers of coordinates, such as [{m - 1}]"
            raise must("periodic", wanted, periodic, "Chart", DomainError)
        indices = tuple(sorted({check_count(i, "periodic", 0, error=DomainError) for i in periodic}))
        for i in indices:
            if not (isinstance(where, Box) and i < m and np.isfinite([where.lower[i], where.upper[i]]).all()):
                need = "needs a finite side of the box `coordinates`, whose length is its period"
                raise DomainError(f"coordinate {i} {need}; got {where!r}.", argument="periodic")
        self._set(_dim=m, coordinates=where, periodic=indices, **functions)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Chart, **dict(zip(self._parameters, self._arguments(), strict=True))), ()

    def __repr__(self) -> str:
        given = self.metric if self.metric is not None else self.embedding
        name = getattr(given, "__name__", type(given).__name__)
        kind = "" if self.metric is not None else "embedding="
        return f"Chart({self._dim}, {kind}{name})"

    # --- the region of the coordinates ---------------------------------------------------------

    @property
    def dim(self) -> int:
        return self._dim

    @cached_property
    def region(self) -> Domain:
        """Where the coordinates lie, periodic ones going on for ever."""
        if not self.periodic:
            return self.coordinates
        assert isinstance(self.coordinates, Box)
        low, high = self.coordinates.lower.copy(), self.coordinates.upper.copy()
        low[list(self.periodic)], high[list(self.periodic)] = -np.inf, np.inf
        region = Box(low, high)
        return region if region.has_boundary else Euclidean(self._dim)

    @property
    def periods(self) -> Array:
        """The period of every periodic coordinate, in the order of `periodic`."""
        if not self.periodic:
            return np.empty(0)
        assert isinstance(self.coordinates, Box)
        return np.asarray((self.coordinates.upper - self.coordinates.lower)[list(self.periodic)])

    @property
    def bounded(self) -> bool:
        return self.coordinates.bounded

    @property
    def has_boundary(self) -> bool:
        """Whether the coordinates end somewhere; that may be an edge, or only a pole of the chart."""
        return self.region.has_boundary

    @property
    def connected(self) -> bool | None:
        return self.coordinates.connected

    def contains(self, x: Array) -> BoolArray:
        """Which rows lie in the region; periodic coordinates may be any number."""
        return self.region.contains(x)

    def boundary_distance(self, x: Array) -> Array:
        return self.region.boundary_distance(x)

    def faces(self, interior: Array | None, rng: np.random.Generator) -> Sequence[Face]:
        return self.region.faces(interior, rng)

    # --- geometry -----------------------------------------------------------------------------------

    def metric_matrix(self, x: Array) -> Array:
        """G at each row, (n, m, m); raises where it is not symmetric and positive definite."""
        if self.metric is None:
            jacobian = self.tangents(x)
            values = np.asarray(jacobian.transpose(0, 2, 1) @ jacobian)
        else:
            values = values_at(self.metric, x, (self._dim, self._dim), "metric")
        require_metric(values)
        return values

    def inverse_metric(self, x: Array) -> Array:
        """G⁻¹ at each row, (n, m, m)."""
        return np.asarray(np.linalg.inv(self.metric_matrix(x)))

    def metric_derivatives(self, x: Array) -> Array:
        """∂_l G_ij at each row, (n, m, m, m) with l first."""
        m = self._dim
        if self.metric_gradient is not None:
            return values_at(self.metric_gradient, x, (m, m, m), "metric_gradient")
        if self.metric is None:
            jacobian, second = self.tangents(x), self.embedding_hessian(x)
            half = np.einsum("nkli,nkj->nlij", second, jacobian)
            return np.asarray(half + half.transpose(0, 1, 3, 2))
        out = np.empty((len(x), m, m, m))
        for i, j in combinations_with_replacement(range(m), 2):
            out[:, :, i, j] = out[:, :, j, i] = self._slope(self.metric, x, "metric", (m, m), i, j)
        return out

    def log_volume_gradient(self, x: Array) -> Array:
        """∂_l log J = ½ tr(G⁻¹ ∂_l G) at each row, (n, m)."""
        trace = np.einsum("nij,nlij->nl", self.inverse_metric(x), self.metric_derivatives(x))
        return np.asarray(0.5 * trace)

    def diffusion(self, x: Array) -> tuple[Array, Array, Array]:
        """What Δ is where kernels look: the points, and (b, M) of Δf = M_ab ∂_a∂_b f + b_a ∂_a f."""
        inverse, derivatives = self.inverse_metric(x), self.metric_derivatives(x)
        volume = 0.5 * np.einsum("nij,nlij->nl", inverse, derivatives)
        # J⁻¹∂_i(J G^ij), with ∂_l G⁻¹ = −G⁻¹(∂_l G)G⁻¹.
        first = np.einsum("nij,ni->nj", inverse, volume)
        first -= np.einsum("nia,niab,nbj->nj", inverse, derivatives, inverse)
        if self.embedding is None and not self.periodic:
            return x, first, inverse
        tangents = self.tangents(x)
        drift = np.einsum("nkj,nj->nk", tangents, first)
        drift += np.einsum("nij,nkij->nk", inverse, self.embedding_hessian(x))
        return self.embedded(x), drift, np.asarray(tangents @ inverse @ tangents.transpose(0, 2, 1))

    # --- where kernels look -------------------------------------------------------------------------

    def embedded(self, x: Array) -> Array:
        if self.embedding is not None:
            return values_at(self.embedding, x, None, "embedding")
        return self._wrapped(x, 0) if self.periodic else x

    def tangents(self, x: Array) -> Array:
        """Derivatives of :meth:`embedded` with respect to each coordinate, (n, k, m)."""
        m = self._dim
        if self.embedding is None:
            columns = self._wrapped(x, 1) if self.periodic else np.ones_like(x)
            return np.asarray(np.einsum("nk,ki->nki", columns, self._owners()))
        k = self.embedded(x[:1]).shape[1]
        if self.jacobian is not None:
            return values_at(self.jacobian, x, (k, m), "jacobian")
        automatic = automatic_derivative(self.embedding, x, (k, m), order=1)
        if automatic is not None:
            return automatic
        slopes = [self._slope(self.embedding, x, "embedding", (k,), a) for a in range(k)]
        return np.stack(slopes, axis=1)

    def embedding_hessian(self, x: Array) -> Array:
        """Second derivatives of :meth:`embedded`, (n, k, m, m)."""
        m = self._dim
        if self.embedding is None:
            columns = self._wrapped(x, 2) if self.periodic else np.zeros_like(x)
            owners = self._owners()
            return np.asarray(np.einsum("nk,ki,kj->nkij", columns, owners, owners))
        k = self.embedded(x[:1]).shape[1]
        if self.jacobian is None:
            automatic = automatic_derivative(self.embedding, x, (k, m, m), order=2)
            if automatic is None:
                why = "numerical ones of numerical ones are not precise"
                reason = f"{self!r}: second derivatives of the embedding are needed here, and {why}."
                raise InputError(reason, remedy="Pass `jacobian`, or write the embedding with JAX.")
            return automatic
        out = np.empty((len(x), k, m, m))
        for a, i in np.ndindex(k, m):
            out[:, a, i] = self._slope(self.jacobian, x, "jacobian", (k, m), a, i)
        return 0.5 * (out + out.transpose(0, 1, 3, 2))

    def _wrapped(self, x: Array, order: int) -> Array:
        """The coordinates, periodic ones round a circle of their own length; or a derivative of that."""
        columns = []
        for i in range(self._dim):
            if i in self.periodic:
                rate = 2.0 * np.pi / self.periods[self.periodic.index(i)]
                turned = rate * x[:, i] + 0.5 * np.pi * order  # each derivative is a quarter of a turn
                columns += [rate ** (order - 1) * np.cos(turned), rate ** (order - 1) * np.sin(turned)]
            else:
                columns.append((x[:, i], np.ones(len(x)), np.zeros(len(x)))[order])
        return np.column_stack(columns)

    def _owners(self) -> Array:
        """Which coordinate each column of :meth:`_wrapped` belongs to, (k, m), zeros and ones."""
        counts = [2 if i in self.periodic else 1 for i in range(self._dim)]
        return np.repeat(np.eye(self._dim), counts, axis=0)

    def _slope(self, function: Function, x: Array, what: str, tail: tuple[int, ...], *index: int) -> Array:
        """The gradient of one entry of a function with values (n, *tail), (n, m)."""
        place: Any = (slice(None), *index)

        def entry(points: Array) -> Array:
            return np.asarray(values_at(function, points, tail, what)[place])

        remedies = {"metric": "metric_gradient", "embedding": "jacobian"}
        remedy = f"pass Chart({remedies[what]}=...)" if what in remedies else "check it"
        return gradient(entry, x, self.region, name=f"The {what} of {self!r}", remedy=remedy)
