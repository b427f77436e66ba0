"""Auxiliary functions found on training data: a boundary function times a positive smooth one."""

from __future__ import annotations

import copy
from typing import Any, Protocol, Self

import numpy as np

from goodstein.auxiliary.base import Auxiliary, as_auxiliary
from goodstein.auxiliary.functions import default_auxiliary
from goodstein.data.points import Points
from goodstein.data.rows import SeenRows
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.models.model import Model
from goodstein.pipeline.compose import compose
from goodstein.problems.problem import Problem
from goodstein.types import Array

LEAST = 10
"""Training rows below which nothing can be learnt."""


class Tilt(Protocol):
    """A positive smooth function r of points (n, d)."""

    def value(self, x: Array, domain: Domain) -> Array:
        """r, (n,)."""
        ...

    def evaluate(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        """r, (n,), and its gradient, (n, d), or that of any extension of r off a simplex."""
        ...


class Tilted(Auxiliary):
    """g = B·(r + floor), found on training rows, on which it refuses to be used again.

    B is a boundary function, its scales fixed (None for 1), r a positive smooth one. So g vanishes wherever B
    does and as fast, and is valid wherever B is. The title is what messages and ``repr`` call it.
    """

    def __init__(
        self,
        tilt: Tilt,
        boundary: Auxiliary | None,
        domain: Domain,
        training: SeenRows,
        title: str,
        floor: float = 0.0,
    ) -> None:
        self.tilt, self.boundary, self.domain, self.training = tilt, boundary, domain, training
        self._title, self._floor = title, floor
        self._scale = 1.0

    def normalised(self, x: Array) -> Self:
        """The same with mean 1 over some points."""
        scaled = copy.copy(self)
        typical = float(self.value(x, self.domain).mean())
        if not typical > 0:
            reason = f"{self!r} is zero at all training rows, because all of them lie on the boundary."
            raise InputError(reason, argument="training", remedy="Pass rows inside of the domain.")
        scaled._scale = self._scale / typical
        return scaled

    def __repr__(self) -> str:
        times = "" if self.boundary is None else f", boundary={self.boundary!r}"
        return f"{self._title[:-1]}{times})"

    def __hash__(self) -> int:
        return id(self)

    def value(self, x: Array, domain: Domain) -> Array:
        r = self._scale * (self.tilt.value(x, domain) + self._floor)
        if self.boundary is None:
            return r
        b = self.boundary.value(x, domain)
        return b * r if b.ndim == 1 else b * r[:, None]

    def evaluate(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        r, dr = self._tilt(x, domain)
        if self.boundary is None:
            return r, dr
        b, db = self.boundary.evaluate(x, domain)
        wide = b[:, None] if b.ndim == 1 else b
        return (b * r if b.ndim == 1 else b * r[:, None]), db * r[:, None] + wide * dr

    def drift(self, x: Array, g: Array, dg: Array, model: Model) -> Array:
        """b = r·(B·s + ∂B) + B·∂r, finite on the boundary wherever B's own drift is."""
        if self.boundary is None or type(self.boundary).drift is Auxiliary.drift:
            return super().drift(x, g, dg, model)
        r, dr = self._tilt(x, self.domain)
        b, db = self.boundary.evaluate(x, self.domain)
        wide = b[:, None] if b.ndim == 1 else b
        return r[:, None] * self.boundary.drift(x, b, db, model) + wide * dr

    def fitted(self, x: Array, domain: Domain) -> Tilted:
        """Itself, after a look at the data: training rows are refused, and so is another domain."""
        if domain != self.domain:
            raise InputError(f"{self!r} was found on {self.domain!r} and cannot be used on {domain!r}.")
        self.training.refuse(x, self._title)
        return self

    def _tilt(self, x: Array, domain: Domain) -> tuple[Array, Array]:
        r, dr = self.tilt.evaluate(x, domain)
        return self._scale * (r + self._floor), self._scale * dr


def training_problem(training: Any, model: Any, domain: Domain | None, kernel: Any = None) -> Problem:
    """Validated training data with model and domain; raises where no auxiliary function can be found."""
    problem = compose(training, model, domain, None, kernel)
    if not isinstance(problem.data, Points):
        raise InputError("auxiliary functions are found on points, an array (n, d).", argument="training")
    if problem.domain.discrete or not problem.domain.flat:
        raise InputError(
            f"auxiliary functions are found on R^d and its parts, and {problem.domain!r} is none of them.",
            argument="domain",
        )
    if len(problem.data) < LEAST:
        raise InputError(
            f"`training` has {len(problem.data)} rows; at least {LEAST} are needed to find an auxiliary "
            "function."
        )
    return problem


def boundary_of(domain: Domain, boundary: Auxiliary | None, x: Array) -> Auxiliary | None:
    """The user's boundary function or the domain's, its scales fixed; None without a boundary."""
    if boundary is None:
        return default_auxiliary(domain).fitted(x, domain) if domain.has_boundary else None
    name = "`boundary` must be an auxiliary function such as BoxProduct()"
    return as_auxiliary(boundary, name).fitted(x, domain)


def spread_of(*points: Array) -> Array:
    """Standard deviation of each coordinate over several samples, (m,); 1 where it is constant."""
    found = np.vstack(points).std(axis=0)
    return np.where(found > 0, found, 1.0)
