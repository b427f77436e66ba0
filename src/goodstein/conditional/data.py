"""Data of conditional models: covariates and outcomes."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.data.base import Data
from goodstein.errors import DomainError, InputError, SamplingError, must
from goodstein.types import Array, Column
from goodstein.validation import as_data, column_names


@dataclass(frozen=True, eq=False)
class Paired(Data):
    """Observations (x, y): covariates and outcomes, row by row.

    Parameters
    ----------
    x, y
        Arrays (n, p) and (n, q), or (n,) for one column, or data frames. The functions of a
        :class:`ConditionalModel` see them in the shape in which they are handed in.

    Examples
    --------
    >>> from goodstein.conditional.data import Paired
    >>> pairs = Paired([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [1.0, 2.0, 3.0])
    >>> len(pairs), pairs.x.shape, pairs.y.shape, pairs.outcomes.shape
    (3, (3, 2), (3,), (3, 1))
    """

    x: Array
    y: Array

    def __post_init__(self) -> None:
        # Attributes and not fields: pairs are made of two things.
        names = tuple(_names_of(given) for given in (self.x, self.y))
        object.__setattr__(self, "_names", names)
        x, y = (_column_wise(getattr(self, name), name) for name in ("x", "y"))
        if len(x) != len(y):
            raise InputError(
                f"`x` has {len(x)} rows and `y` has {len(y)}. Row i of both must belong to the same "
                "observation."
            )
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    @classmethod
    def of_fit(cls, results: Any) -> Paired:
        """The pairs that a regression of statsmodels was fitted to.

        x has the regressors, then those of extra zeros unless that is a constant alone, then the offset with
        the logarithm of the exposure, if there is one: as the results take them as a model.
        """
        model: Any = getattr(results, "model", None)
        if getattr(model, "exog", None) is None or getattr(model, "endog", None) is None:
            raise must("results", "what fit() of a regression of statsmodels returns", results)
        x, zeros = [np.asarray(model.exog)], getattr(model, "exog_infl", None)
        if zeros is not None and np.ptp(zeros, axis=0).any():
            x.append(np.asarray(zeros))
        if cls.has_offset(model):
            x.append(_offset(model)[:, None])
        pairs = cls(np.hstack(x), np.asarray(model.endog))
        regressors = tuple(getattr(model, "exog_names", None) or ())
        outcome = getattr(model, "endog_names", None)
        if len(regressors) != pairs.covariates.shape[1] or not isinstance(outcome, str):
            return pairs
        return pairs.named(regressors, (outcome,))

    def named(self, x: tuple[str, ...] | None, y: tuple[str, ...] | None) -> Paired:
        """The same pairs, with what their columns are called."""
        other = copy.copy(self)
        object.__setattr__(other, "_names", (x, y))
        return other

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """What the columns of x are called, in a data frame or here."""
        return self._called(0, "x", self.covariates)

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """What the columns of y are called, in a data frame or here."""
        return self._called(1, "y", self.outcomes)

    def _called(self, place: int, name: str, values: Array) -> tuple[str, ...]:
        known: tuple[str, ...] | None = self.__dict__["_names"][place]
        if known is not None:
            return known
        q = values.shape[1]
        return (name,) if q == 1 else tuple(f"{name}{j}" for j in range(q))

    @staticmethod
    def has_offset(model: Any) -> bool:
        """Whether a regression of statsmodels has an offset or an exposure."""
        return bool(_offset(model).any())

    def __len__(self) -> int:
        return len(self.x)

    @property
    def covariates(self) -> Array:
        """x, always (n, p)."""
        return as_matrix(self.x)

    @property
    def outcomes(self) -> Array:
        """y, always (n, q)."""
        return as_matrix(self.y)

    def take(self, rows: Any) -> Paired:
        other = copy.copy(self)
        object.__setattr__(other, "x", self.x[rows])
        object.__setattr__(other, "y", self.y[rows])
        return other

    def as_rows(self) -> Array:
        return np.hstack([self.covariates, self.outcomes])

    def as_columns(self) -> dict[str, Column]:
        names = [*self.covariate_names, *self.outcome_names]
        if len(set(names)) < len(names):
            names = [*(f"x {name}" for name in self.covariate_names)]
            names += [f"y {name}" for name in self.outcome_names]
        return dict(zip(names, self.as_rows().T, strict=True))

    def like(self, values: Any, model: Any, domain: Any) -> Paired:
        """Pairs (x, y) with as many columns."""
        if isinstance(values, tuple) and len(values) == 2:
            values = Paired(*values)
        widths = self.covariates.shape[1], self.outcomes.shape[1]
        if not isinstance(values, Paired) or widths != (
            values.covariates.shape[1],
            values.outcomes.shape[1],
        ):
            raise InputError(
                f"must be pairs (x, y), x with {_count(widths[0])} and y with {_count(widths[1])}.",
                argument="data",
                predicate=True,
                remedy="Pass (x, y) or Paired(x, y).",
            )
        domain.validate(values.outcomes)
        return values

    def validate(self, model: Any, domain: Any) -> None:
        if len(self) < 2:
            raise InputError("has 1 row; a test needs at least 2.", argument="x", predicate=True)
        try:
            domain.validate(self.outcomes)
        except DomainError as error:
            raise error.told("y") from None

    def rounding(self, domain: Any) -> float:
        return float(domain.rounding(self.outcomes))

    def drawn(self, model: Any, domain: Any, rng: np.random.Generator) -> Paired:
        """The same x, and y drawn anew."""
        drawn = model.sample(self.x, rng)
        if drawn.size != self.y.size:
            raise SamplingError(
                f"The sampler of {model.name} returned shape {drawn.shape}, but the outcomes have shape "
                f"{self.y.shape}."
            )
        try:
            domain.validate(drawn.reshape(self.outcomes.shape))
        except DomainError as error:
            raise DomainError(f"The sampler of {model.name} leaves the domain: {error.bare}") from None
        other = copy.copy(self)  # with x itself, by which what depends on x alone is known again
        object.__setattr__(other, "y", drawn.reshape(self.y.shape))
        return other

    def many(self, model: Any, domain: Any, n: int, rng: np.random.Generator) -> Paired:
        """n pairs with x from these data, drawn with replacement, and y from the model."""
        return self.take(rng.integers(len(self), size=n)).drawn(model, domain, rng)

    def describe(self) -> str:
        p, q = self.covariates.shape[1], self.outcomes.shape[1]
        return f"{len(self)} pairs (x, y), x with {_count(p)}, y with {_count(q)}"


def _offset(model: Any) -> Array:
    """What is added to the regressors, (n,): statsmodels keeps the logarithm of an exposure."""
    inner = getattr(model, "model_main", model)
    parts = [getattr(inner, key, None) for key in ("offset", "exposure")]
    if hasattr(inner, "_offset_exposure"):
        parts = [inner._offset_exposure]
    total = np.zeros(len(model.endog))
    for part in parts:
        if part is not None:
            total = total + np.asarray(part, np.float64)
    return total


def _names_of(values: Any) -> tuple[str, ...] | None:
    """Names of columns of a frame, or that of a series."""
    found: tuple[str, ...] | None = column_names(values)
    name = getattr(values, "name", None)
    one = isinstance(name, str) and len(getattr(values, "shape", ())) == 1
    return (str(name),) if found is None and one else found


def _column_wise(values: Any, name: str) -> Array:
    """Validated numbers in the shape in which they came, (n,) or (n, k)."""
    try:
        matrix = as_data(values, least=1)
    except InputError as error:
        raise error.told(name) from None
    flat = len(getattr(values, "shape", None) or np.shape(values)) == 1
    return matrix[:, 0] if flat else matrix


def as_matrix(values: Array) -> Array:
    """One column for values (n,)."""
    return values[:, None] if values.ndim == 1 else values


def _count(columns: int) -> str:
    return f"{columns} column{'' if columns == 1 else 's'}"
