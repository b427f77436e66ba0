"""Any manifold, through a metric in one chart."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from goodstein.domains.base import Domain, Face
from goodstein.domains.box import Box
from goodstein.domains.chart_functions import Function, automatic_derivative, require_metric, values_at
from goodstein.domains.euclidean import Euclidean
from goodstein.errors import DomainError, InputError
from goodstein.frozen import Frozen, as_dimension
from goodstein.types import Array, BoolArray

if TYPE_CHECKING:
    from goodstein.auxiliary.base import Auxiliary
    from goodstein.operators.base import Operator


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
        functions = {
            "metric": metric,
            "embedding": embedding,
            "jacobian": jacobian,
            "metric_gradient": metric_gradient,
        }
        for name, function in functions.items():
            if function is not None and not callable(function):
                raise DomainError(
                    f"`{name}` of Chart must be a function of the coordinates, got {function!r}."
                )
        if metric is None and embedding is None:
            raise DomainError("Chart needs a `metric`, or an `embedding` that induces one, got neither.")
        if jacobian is not None and embedding is None:
            raise DomainError("`jacobian` of Chart belongs to an `embedding`, and there is none.")
        m = as_dimension(dim, "dim", 1)
        where = Euclidean(m) if coordinates is None else coordinates
        if not isinstance(where, Domain) or not where.flat or where.basis is not None or where.dim != m:
            raise DomainError(
                f"`coordinates` of Chart must be a part of R^{m} such as Box(...), got {coordinates!r}."
            )
        if not np.iterable(periodic) or isinstance(periodic, str):
            raise DomainError(
                f"`periodic` of Chart must be a list of the numbers of coordinates, such as [{m - 1}], got "
                f"{periodic!r}."
            )
        indices = tuple(sorted({as_dimension(i, "periodic", 0) for i in periodic}))
        for i in indices:
            if (
                i >= m
                or not isinstance(where, Box)
                or not np.isfinite([where.lower[i], where.upper[i]]).all()
            ):
                raise DomainError(
                    f"`periodic`: coordinate {i} needs a finite side of the box `coordinates`, whose length "
                    f"is its period; got {where!r}."
                )
        self._set(_dim=m, coordinates=where, periodic=indices, **functions)

    def _arguments(self) -> tuple[Hashable, ...]:
        functions = (self.metric, self.embedding, self.jacobian, self.metric_gradient)
        return (self._dim, *functions, self.coordinates, self.periodic)

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, self._arguments()

    def __repr__(self) -> str:
        given = self.metric if self.metric is not None else self.embedding
        name = getattr(given, "__name__", type(given).__name__)
        kind = "" if self.metric is not None else "embedding="
        return f"Chart({self._dim}, {kind}{name})"

    # --- the region of the coordinates ---------------------------------------------------------

    @property
    def dim(self) -> int:
        """Number of coordinates."""
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
        """Whether the coordinates lie in some ball."""
        return self.coordinates.bounded

    @property
    def has_boundary(self) -> bool:
        """Whether the coordinates end somewhere; that may be an edge, or only a pole of the chart."""
        return self.region.has_boundary

    @property
    def connected(self) -> bool | None:
        """Whether the coordinates' region is connected."""
        return self.coordinates.connected

    @property
    def flat(self) -> bool:
        """False: the volume element is not that of the coordinates."""
        return False

    def contains(self, x: Array) -> BoolArray:
        """Which rows lie in the region; periodic coordinates may be any number."""
        return self.region.contains(x)

    def boundary_distance(self, x: Array) -> Array:
        """Distance to the region's boundary in the coordinates, (n,)."""
        return self.region.boundary_distance(x)

    def faces(self, interior: Array | None, rng: np.random.Generator) -> Sequence[Face]:
        """Faces of the region."""
        return self.region.faces(interior, rng)

    def default_auxiliary(self) -> Auxiliary:
        """The auxiliary function of the region."""
        return self.region.default_auxiliary()

    def default_operator(self) -> Operator:
        """:class:`goodstein.Coordinate`."""
        from goodstein.operators.coordinate import Coordinate

        return Coordinate()

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
        metric = self.metric
        for i in range(m):
            for j in range(i, m):

                def entry(points: Array, i: int = i, j: int = j) -> Array:
                    return values_at(metric, points, (m, m), "metric")[:, i, j]

                out[:, :, i, j] = out[:, :, j, i] = self._gradient(entry, x, "metric")
        return out

    def log_volume_gradient(self, x: Array) -> Array:
        """∂_l log J = ½ tr(G⁻¹ ∂_l G) at each row, (n, m)."""
        half = 0.5 * np.einsum("nij,nlij->nl", self.inverse_metric(x), self.metric_derivatives(x))
        return np.asarray(half)

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
        """The points at which kernels look, (n, k)."""
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
        embedding = self.embedding
        out = np.empty((len(x), k, m))
        for a in range(k):

            def component(points: Array, a: int = a) -> Array:
                return values_at(embedding, points, (k,), "embedding")[:, a]

            out[:, a] = self._gradient(component, x, "embedding")
        return out

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
                raise InputError(
                    f"{self!r}: second derivatives of the embedding are needed here, and numerical ones of "
                    "numerical ones are not precise. Pass `jacobian`, or write the embedding with JAX."
                )
            return automatic
        jacobian = self.jacobian
        out = np.empty((len(x), k, m, m))
        for a in range(k):
            for i in range(m):

                def entry(points: Array, a: int = a, i: int = i) -> Array:
                    return values_at(jacobian, points, (k, m), "jacobian")[:, a, i]

                out[:, a, i] = self._gradient(entry, x, "jacobian")
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

    def _gradient(self, function: Callable[[Array], Array], x: Array, what: str) -> Array:
        from goodstein.numerics.differentiate import gradient

        remedies = {"metric": "metric_gradient", "embedding": "jacobian"}
        remedy = f"pass Chart({remedies[what]}=...)" if what in remedies else "check it"
        return gradient(function, x, self.region, name=f"The {what} of {self!r}", remedy=remedy)


def _remade(
    dim: int,
    metric: Function | None,
    embedding: Function | None,
    jacobian: Function | None,
    metric_gradient: Function | None,
    coordinates: Domain,
    periodic: tuple[int, ...],
) -> Chart:
    """The chart with these arguments; what unpickling calls."""
    return Chart(
        dim,
        metric,
        embedding=embedding,
        jacobian=jacobian,
        metric_gradient=metric_gradient,
        coordinates=coordinates,
        periodic=periodic,
    )
