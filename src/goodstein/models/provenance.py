"""How a model was fitted, and to which rows, for tests that must know."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol, Self

import numpy as np

from goodstein.data.rows import SeenRows
from goodstein.errors import InputError
from goodstein.frozen import Frozen
from goodstein.models.influence import Influence
from goodstein.types import BoolArray
from goodstein.validation import as_array, column_names

ENOUGH = 0.05
"""Share of the larger of both, data and rows of a fit, from which on what they have in common matters."""

PER_NODE = "penalised maximum likelihood, with a parameter for every node"
"""A method whose parameters become no better known in a larger graph, for which no refits make up."""


class Recognising(Protocol):
    """What tells which of some data a model was fitted to."""

    def __len__(self) -> int:
        """Number of rows of the fit; zero where that is not known."""

    def among(self, data: Any) -> BoolArray:
        """Which of the data these are, (n,)."""


@dataclass(frozen=True, eq=False)
class Fit:
    """How a model was fitted.

    Attributes
    ----------
    method
        "maximum likelihood", "score matching", "truncated score matching", "minimum Stein discrepancy",
        "kernel density" or another word; None where that is not known.
    rows
        The rows that it was fitted to, or what tells of them.
    influence
        A function of the rows that returns their influence on the parameters, and the models around the fit;
        None where that is not known.
    refit
        A function of other data that returns the model that the same method fits to these.
    columns
        What the columns of the data were called, in their order; None where they had no names.
    """

    method: str | None
    rows: Recognising
    influence: Callable[[Any], Influence] | None = None
    refit: Refitting | None = None
    columns: tuple[str, ...] | None = None

    def require_order(self, columns: tuple[str, ...] | None, name: str) -> None:
        """Raise where other data have columns of the same names in another order."""
        own = self.columns
        if own is None or columns is None or own == columns or sorted(own) != sorted(columns):
            return
        raise InputError(
            f"has the columns {', '.join(columns)}, but {name} was fitted to {', '.join(own)}.",
            argument="data",
            predicate=True,
            remedy=f"Pass data[{list(own)!r}].",
        )

    def matters(self, known: BoolArray) -> bool:
        """Whether so many of the observations are rows of the fit, (n,), that it matters.

        With m rows of the fit, n observations and k of them in both, the observations have a share k/m in
        the noise of the fit, and it concerns k/n of them.
        """
        return bool(known.any() and known.sum() >= ENOUGH * max(len(self.rows), len(known)))

    def exact(self, known: BoolArray) -> bool:
        """Whether the observations are all rows of the fit and no others, as far as that can be told."""
        return bool(known.all()) and len(self.rows) in (0, len(known))

    def concerns(self, observations: Any) -> bool:
        """Whether the observations are rows of the fit, all of them or enough to matter."""
        return self.matters(self.rows.among(observations))


class Fittable:
    """What may have been fitted to data, and then knows to which.

    A classmethod ``fit`` of a subclass is made to remember by itself: its first argument is the data.
    """

    _provenance: Fit | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls).get("fit")
        if isinstance(own, classmethod):
            cls.fit = classmethod(_remembering(own.__func__))  # type: ignore[attr-defined]

    @property
    def provenance(self) -> Fit | None:
        """How it was fitted; None where that is not known, or it was not."""
        return self._provenance

    def remember(self, fit: Fit | None) -> Self:
        """The same object, which from now on knows how it was fitted; for whoever has just made it."""
        self.__dict__["_provenance"] = fit
        return self

    @classmethod
    def _fit_data(cls, data: Any, **options: Any) -> Any:
        """What ``fit`` was given, as rows (n, d) or as data of another kind."""
        rows = np.asarray(as_array(data), np.float64)
        return rows[:, None] if rows.ndim == 1 else rows

    def _fit_method(self, **options: Any) -> str | None:
        """How ``fit`` has fitted this with these options."""
        return "maximum likelihood"

    def _fit_influence(self, how: str | None, **options: Any) -> Callable[[Any], Influence] | None:
        """What tells the influence of the rows on the parameters that ``fit`` found with these options."""
        return None


class FittableValue(Fittable, Frozen):
    """An immutable value that may have been fitted: how is no part of the value, but goes where it goes."""

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        made = self.__reduce__()
        return made if self._provenance is None else (*made, {"_provenance": self._provenance})


class Refitting(ABC):
    """A function of data that returns the model fitted to them."""

    @abstractmethod
    def __call__(self, data: Any) -> Any:
        """The model, in any form that the tests take."""

    def begun(self, data: Any) -> Refitting:
        """The same function for data like these, with what it can learn from them about where to begin."""
        return self


@dataclass(frozen=True)
class Refit(Refitting):
    """The classmethod ``fit`` of a family with the options that it was called with."""

    family: type[Any]
    options: Mapping[str, Any]

    def __call__(self, data: Any) -> Any:
        return self.family.fit(data, **_unused(self.options))

    def __repr__(self) -> str:
        """How to write it: the method itself, or a function that calls it with the options."""
        call = f"{self.family.__name__}.fit"
        options = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        return f"lambda x: {call}(x, {options})" if options else call


def provenance_of(model: Any) -> Fit | None:
    """How an object of ours or of a user's was fitted; None where it does not say."""
    said = getattr(model, "provenance", None)
    return said if isinstance(said, Fit) else None


def _remembering(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a classmethod ``fit``, made to remember."""
    signature = inspect.signature(function)
    first = list(signature.parameters)[1]

    @wraps(function)
    def fit(cls: Any, *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(cls, *args, **kwargs).arguments
        options = _unused({key: value for key, value in given.items() if key not in ("cls", first)})
        fitted = function(cls, *args, **kwargs)
        rows = SeenRows(cls._fit_data(given[first], **options))
        method = fitted._fit_method(**options)
        influence = fitted._fit_influence(method, **options)
        return fitted.remember(Fit(method, rows, influence, Refit(cls, options), column_names(given[first])))

    return fit


def _unused(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with copies of generators as they are, so that the same data give the same model again."""
    return {
        key: copy.deepcopy(value) if isinstance(value, np.random.Generator) else value
        for key, value in options.items()
    }
