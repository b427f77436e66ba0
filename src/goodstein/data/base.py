"""What a kind of data is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from goodstein.constraints import asked
from goodstein.errors import InputError
from goodstein.types import Array, BoolArray, Column


class Data(ABC):
    """Observations of one kind: points, durations, pairs, point patterns, a graph, or a kind of your own.

    A kind of your own has a length and can be asked for some of its rows; an operator of your own
    (:class:`goodstein.Operator`) makes features of it. Everything else has a default.
    """

    replicated: ClassVar[bool] = True
    """Whether there are several independent observations; of one alone the null has to be simulated."""

    costly: ClassVar[bool] = False
    """Whether the Stein matrix of such data is held as a whole, so that there must not be too many."""

    weights: Array | None = None
    """Weights of the observations, (n,), of mean one; None where all count alike."""

    unordered: bool = False
    """Whether it is known that their order means nothing, so that it is not looked at."""

    told: bool = False
    """Whether it was said which observations are durations that ended in the event; see :attr:`ended`."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of observations."""

    @abstractmethod
    def take(self, rows: npt.NDArray[np.intp]) -> Self:
        """Some of the observations, in the given order."""

    @property
    def observations(self) -> Any:
        """What operators and fits are given: these data themselves, or the array inside."""
        return self

    @property
    def sequences(self) -> tuple[int, ...]:
        """Lengths of the sequences in which the observations come, which are independent of each other."""
        return (len(self),)

    def describe(self) -> str | None:
        """The data in words, where "n observations on the domain" does not say it all."""
        return None

    @property
    def kind(self) -> str:
        """What such data are, in words, where no domain says where they live."""
        return type(self).__name__

    def validate(self, model: Any, domain: Any) -> None:
        """Raise where these data cannot come from a model on a domain; here nothing is known of that."""
        return

    @property
    def ended(self) -> BoolArray | None:
        """Which observations are durations that ended in the event, (n,); None where none are durations."""
        return None

    @property
    def late(self) -> bool:
        """Whether some observations are durations that were watched only from a later time than zero on."""
        return False

    def rounding(self, domain: Any) -> float:
        """How far observations are off the domain, which rounding may have done."""
        return 0.0

    def prepared(self, model: Any, seeds: tuple[int, int, int]) -> Self:
        """These data with what has to be drawn once, before the test."""
        return self

    def drawn(self, model: Any, domain: Any, rng: np.random.Generator) -> Data:
        """As many observations from the model, of the same kind."""
        return self.many(model, domain, len(self), rng)

    def many(self, model: Any, domain: Any, n: int, rng: np.random.Generator) -> Data:
        """n observations from the model."""
        drawn: Data = model.draws(domain, n, rng)
        return drawn

    @staticmethod
    def stacked(samples: Sequence[Any]) -> Any:
        """The observations of several samples, one after another; None where operators see each by itself."""
        return None

    def weighted(self, weights: Any) -> Self:
        """The same observations with weights."""
        raise InputError(
            f"{self.kind}: weights are for points and chains.", argument="weights", remedy="Leave them out."
        )

    def as_rows(self) -> Array:
        """Numbers that tell observations apart, (n, k): by them rows that were used before are recognised."""
        raise InputError(
            f"{type(self).__name__} observations cannot be told apart, so it is not known which were used "
            "before. Give the class a method as_rows() that returns an array (n, k).",
            argument="data",
        )

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns, where they came with some."""
        return None

    @property
    def row_numbers(self) -> npt.NDArray[np.intp]:
        """Which rows of what the user handed in these are, (n,)."""
        return np.arange(len(self))

    def as_columns(self) -> dict[str, Column]:
        """The observations as columns of a table, by name; none where they are no rows of numbers."""
        return {}

    def like(self, values: Any, model: Any, domain: Any) -> Data:
        """Other observations of this kind from what a user hands in, validated."""
        return values if isinstance(values, Data) else OwnData(values)

    def default_operator(self) -> Any:
        """The operator for users who name none; None where there is none."""
        return None


class OwnData(Data):
    """A user's plain object with a length and a method `take`."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def __len__(self) -> int:
        return int(asked(len, f"`__len__` of {self.kind}", self._own))

    def take(self, rows: npt.NDArray[np.intp]) -> OwnData:
        return OwnData(asked(self._own.take, f"`take` of {self.kind}", rows))

    @property
    def observations(self) -> Any:
        return self._own

    @property
    def kind(self) -> str:
        return type(self._own).__name__

    def describe(self) -> str:
        return f"{len(self)} observations, {self.kind}"
