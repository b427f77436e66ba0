"""What an operator is, what it may be asked, and operators that hold another one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from goodstein.auditing.conditions import check_boundary, check_connected, check_score
from goodstein.auditing.derivatives import check_derivatives
from goodstein.auditing.jumps import check_jumps
from goodstein.auditing.report import Check
from goodstein.auditing.tails import check_tails
from goodstein.auxiliary.base import Auxiliary
from goodstein.constraints import asked
from goodstein.data.base import Data
from goodstein.data.points import Points
from goodstein.domains.base import Domain
from goodstein.errors import InputError, given, shown
from goodstein.foreign import Own
from goodstein.kernels.base import Kernel
from goodstein.kernels.frames import Located
from goodstein.stein.features import Features, Joinable, joined_features
from goodstein.types import Array


class Operator(ABC):
    """A Stein operator: it turns each observation into a linear functional of test functions.

    Only :meth:`features` is required, and an object of yours with that method alone can be passed as
    `operator` as it is. Derive from this class to change one of the defaults.
    """

    takes: ClassVar[type[Data] | None] = Points
    """The kind of data; None for any."""

    title: ClassVar[str] = "Kernel Stein discrepancy test"
    """What a test with it is called."""

    statistic_name: ClassVar[str] = "KSD², U-statistic"
    """What the result calls the statistic."""

    diagonal_counts: ClassVar[bool] = False
    """Whether the statistic is the mean over all pairs, those of an observation with itself included."""

    changes_model: ClassVar[bool] = False
    """Whether :meth:`null_model` puts another model in the place of the one that was given."""

    corrects_fit: ClassVar[bool] = False
    """Whether its features know that the model was fitted to the very data, so that no null has to."""

    pointwise: ClassVar[bool] = False
    """Whether it sees every observation by itself, and takes nothing from the data as a whole."""

    conditions_suffice: ClassVar[bool] = False
    """Whether :meth:`conditions` look at the score already, or none is used."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        # What was said of other features does not hold for those of a subclass that has its own.
        if "features" in cls.__dict__ and "stacked" not in cls.__dict__:
            cls.stacked = Operator.stacked  # type: ignore[method-assign]
            cls.pointwise = bool(cls.__dict__.get("pointwise"))

    @abstractmethod
    def features(self, model: Any, domain: Domain, data: Any) -> Features:
        """The operator at each observation; see :class:`goodstein.SteinFeatures`."""

    def features_beside(self, features: Features, model: Any, domain: Domain, others: Any) -> Features | None:
        """Features of the data, followed by those of other observations; None where that cannot be.

        The others are judged as those of the data were, and change nothing of theirs.
        """
        if not isinstance(features, Joinable):
            return None
        return joined_features(features, [self.features(model, domain, others)])

    def stacked(self, model: Any, domain: Domain, data: Any, count: int) -> Any:
        """Features of `count` samples of the same size, one after another, each seen as it is alone.

        For simulated samples, many of which are looked at together; None where each has to be looked at by
        itself.
        """
        if not self.pointwise or self.diagonal_counts:
            return None
        features = self.features(model, domain, data)
        return features.stacked(count) if isinstance(features, Located) else None

    def on(self, domain: Domain) -> Operator:
        """With what it takes from the domain fixed, before anything else is asked of it."""
        return self

    def seeded(self, seed: int) -> Operator:
        """With its random numbers taken from this seed."""
        return self

    def fitted(self, data: Any, domain: Domain) -> Operator:
        """With everything fixed that it takes from the data."""
        return self

    def null_model(self, model: Any, data: Any) -> Any:
        """The model of the null hypothesis: the given one."""
        return model

    def default_kernel(self) -> Any:
        """The kernel for users who name none; None leaves the choice to the library."""
        return None

    def details(self, n: int) -> dict[str, Any]:
        """What else a result should report, given the number of rows of the Stein matrix."""
        return {}

    def adapted(self, kernel: Kernel) -> Kernel:
        """A kernel as this operator uses it; raises where it cannot."""
        return kernel

    def boundary_weight(self, domain: Domain, x: Array, normals: Array) -> Array | None:
        """Gᵀν, (n, J), at points x with inward unit normals ν; None where it is not known.

        The audit checks that q·Gᵀν vanishes at the boundary, which is what Stein's identity needs.
        """
        return None

    def supplied(self, domain: Domain) -> Sequence[Callable[..., Any]]:
        """The weight G where a user wrote it, and its divergence if a user wrote that; otherwise nothing."""
        return ()

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        """What Stein's identity needs, as far as it can be checked before every test; data may be None."""
        if domain is None:  # a kind of data of a user's own, of which nothing is known
            return []
        weight = self.boundary_weight
        checks = [check_connected(domain), check_boundary(model, domain, weight, data, rng)]
        checks += check_jumps(model, domain, weight, data)
        if own := self.supplied(domain):
            checks.append(check_tails(model, domain, weight, data, rng, own=True))
            checks += check_derivatives(own, domain, data, rng)
        return checks

    def thorough(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        """What `gs.audit` looks at beyond that."""
        if domain is None or self.conditions_suffice:
            return []
        own = self.supplied(domain)  # of which the conditions have asked that
        tails = [] if own else [check_tails(model, domain, self.boundary_weight, data, rng)]
        return [*tails, check_score(model, domain, data)]

    @property
    def given(self) -> Any:
        """What the user handed in, or what stands for it in a result."""
        return self


_shared: ContextVar[dict[tuple[Any, ...], tuple[Any, ...]] | None] = ContextVar("what operators share")


@contextmanager
def sharing_features() -> Iterator[None]:
    """What is found in here is found once: several members of a collection hold the same operator."""
    token = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(token)


def _once(make: Callable[[], Any], name: str, *what: Any) -> Any:
    """What `make` returns, or what it returned for the same objects."""
    known = _shared.get(None)
    if known is None:
        return make()
    key = (name, *map(id, what))
    if key not in known:
        # With what it was asked for, so that no other object gets the same identity.
        known[key] = (make(), what)
    return known[key][0]


def features_of(operator: Operator, model: Any, domain: Domain, data: Any) -> Features:
    """The features of an operator, those from before where the same was asked."""
    found: Features = _once(
        lambda: operator.features(model, domain, data), "features", operator, model, domain, data
    )
    return found


def stacked_of(operator: Operator, model: Any, domain: Domain, data: Any, count: int) -> Any:
    """Features of several samples, those from before where the same was asked."""
    return _once(
        lambda: operator.stacked(model, domain, data, count), "stacked", operator, model, domain, data
    )


def fitted_of(operator: Operator, data: Any, domain: Domain) -> Operator:
    """An operator fitted to data, the one from before where the same was asked: so its features are too."""
    found: Operator = _once(lambda: operator.fitted(data, domain), "fitted", operator, data, domain)
    return found


class OwnOperator(Own, Operator):
    """A user's plain object with a method ``features``."""

    takes = None
    taken_over = ("takes", "pointwise", "default_kernel", "boundary_weight", "conditions")

    def features(self, model: Any, domain: Domain, data: Any) -> Features:
        what = f"`features` of {self!r}"
        found: Features = asked(self._own.features, what, model, domain, data)
        if isinstance(found, type) or not callable(getattr(found, "form", None)):
            raise InputError(f"{what} must return SteinFeatures, got {shown(found)}.")
        return found

    def on(self, domain: Domain) -> Operator:
        return self._changed("on", domain)

    def seeded(self, seed: int) -> Operator:
        return self._changed("seeded", seed)

    def fitted(self, data: Any, domain: Domain) -> Operator:
        return self._changed("fitted", data, domain)

    def _changed(self, method: str, *arguments: Any) -> Operator:
        change = getattr(self._own, method, None)
        return self if change is None else as_operator(asked(change, f"`{method}` of {self!r}", *arguments))

    def supplied(self, domain: Domain) -> Sequence[Callable[..., Any]]:
        return [self.boundary_weight] if "boundary_weight" in self.__dict__ and domain.flat else ()

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        return super().conditions(model, domain, data, rng) if self.takes in (None, Points) else []

    def thorough(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        return super().thorough(model, domain, data, rng) if self.takes in (None, Points) else []


def as_operator(thing: Any, name: str | None = None) -> Operator:
    """An operator from itself, or from a user's object with a method ``features``."""
    if isinstance(thing, Operator):
        return thing
    if isinstance(thing, type) or not callable(getattr(thing, "features", None)):
        name = given("operator") if name is None else name
        such = f"Standardised({thing!r})" if isinstance(thing, Auxiliary) else "Langevin() or Standardised()"
        raise InputError(f"{name} must be an operator such as {such}, got {shown(thing)}.")
    return OwnOperator(thing)


def may_take(operator: Operator, kind: type[Data]) -> bool:
    """Whether an operator says that it takes a kind of data, or is a user's own that says nothing."""
    return operator.takes is None or issubclass(kind, operator.takes)


class Wrapping(Operator):
    """An operator that works on the features of another one, kept in a field ``operator``.

    A frozen dataclass with that field. Left None, :meth:`on` fills it with what :meth:`choose` says.
    """

    operator: Any

    @property
    def takes(self) -> type[Data] | None:  # type: ignore[override]
        """That of the operator inside."""
        return Points if self.operator is None else self.operator.takes

    @property
    def changes_model(self) -> bool:  # type: ignore[override]
        """As the operator inside."""
        return False if self.operator is None else bool(self.operator.changes_model)

    def choose(self, domain: Domain) -> Operator:
        """The operator inside for users who name none."""
        raise NotImplementedError

    def inner(self, domain: Domain) -> Operator:
        """The operator inside on a domain."""
        return self.choose(domain) if self.operator is None else self.operator

    def _with(self, **changes: Any) -> Self:
        changed: Self = replace(self, **changes)  # type: ignore[type-var]
        return changed

    def on(self, domain: Domain) -> Self:
        return self._with(operator=self.inner(domain).on(domain))

    def seeded(self, seed: int) -> Self:
        return self if self.operator is None else self._with(operator=self.operator.seeded(seed))

    def fitted(self, data: Any, domain: Domain) -> Self:
        inner = fitted_of(self.inner(domain), data, domain)
        return self if inner is self.operator else self._with(operator=inner)

    def null_model(self, model: Any, data: Any) -> Any:
        return model if self.operator is None else self.operator.null_model(model, data)

    def default_kernel(self) -> Any:
        return None if self.operator is None else self.operator.default_kernel()

    def conditions(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        return self.inner(domain).conditions(model, domain, data, rng)

    def thorough(self, model: Any, domain: Domain, data: Any, rng: np.random.Generator) -> list[Check]:
        return self.inner(domain).thorough(model, domain, data, rng)


def set_inner(wrapping: Any, example: str = "an operator such as Langevin()", never: Any = ()) -> None:
    """Check the field ``operator`` of a wrapping dataclass, and wrap a user's plain object."""
    inner = wrapping.operator
    if inner is None:
        return
    if isinstance(inner, (type, never)) or not callable(getattr(inner, "features", None)):
        raise InputError(f"`operator` of {type(wrapping).__name__} must be {example}, got {shown(inner)}.")
    object.__setattr__(wrapping, "operator", as_operator(inner))


def tangent(domain: Domain, vectors: Array) -> Array:
    """Coordinates of ambient vectors (n, d) in the domain's tangent space, (n, m)."""
    if not domain.flat:
        raise InputError(
            f"This operator works on R^d and its parts, and {domain!r} is none of them.",
            remedy=f"Leave {given('operator')} out to take the one made for it.",
        )
    basis = domain.basis
    return vectors if basis is None else vectors @ basis.T
