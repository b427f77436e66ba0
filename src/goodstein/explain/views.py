"""What a view is: a quantity of the data that a person can name, and how it is told."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from goodstein.types import Array

DECIMALS = 6
"""Decimals beyond which a number is told with a power of ten."""


class Told(NamedTuple):
    """Numbers of which a sentence is made: the data's, its interval, the model's, and whether they differ."""

    effect: float
    low: float
    high: float
    model: float
    fails: bool
    least: bool = False
    """Whether the model says so little that its share is an upper limit, and the ratio to it a lower one."""
    noise: float = 0.0
    """Standard error of the model's number, which comes from draws."""

    @property
    def more(self) -> bool:
        """Whether the data have more of it than the model."""
        return self.effect > self.model

    def figure(self, value: float) -> str:
        """A number with as many decimals as the interval deserves."""
        width = self.high - self.low
        if not (math.isfinite(width) and width > 0):
            return figure(value)
        decimals = int(np.clip(1 - math.floor(math.log10(width / 2)), 0, 12))
        if decimals > DECIMALS:
            size = max(abs(self.low), abs(self.high), abs(value))
            return f"{value:.{max(decimals + math.floor(math.log10(size)), 1)}e}" if value else "0"
        shown = f"{value:.{decimals}f}" if decimals or abs(value) < 1e6 else figure(value)
        return shown.removeprefix("-") if float(shown) == 0.0 else shown

    @property
    def interval(self) -> str:
        """The interval in brackets."""
        return f"({self.figure(self.low)} to {self.figure(self.high)})"

    @property
    def against(self) -> str:
        """The data's number, the model's and the interval."""
        model = self.figure(self.model)
        if self.noise > 0 and "." in model and "e" not in model:
            known = max(math.floor(-math.log10(2.0 * self.noise)), 0)
            decimals = min(known, len(model.partition(".")[2]))
            model = f"{self.model:.{decimals}f}"
            model = model.removeprefix("-") if float(model) == 0.0 else model
        return f"{self.figure(self.effect)} where the model says {model} {self.interval}"

    @property
    def times(self) -> str:
        """A ratio to the model's."""
        return f"{self.figure(self.effect)} × the model's {self.interval}"


Scale = Literal["plain", "multiple", "ratio", "correlation"]
Variance = Literal["own", "least", "known"]
Sentence = Callable[[Told], str]


@dataclass(frozen=True)
class View:
    """A quantity that is compared with the model's.

    Attributes
    ----------
    name
        Its name, with those of the columns.
    kind
        What it is one of: all views of a kind share a share of the level.
    columns
        Names of the columns that it looks at.
    sentence
        The finding in words.
    unit
        What the effect is measured in.
    scale
        In which scale the quantity is compared: as it is, and told as it is or as a multiple of the model's;
        as a logarithm, and told as the ratio to the model's; a correlation by its area tangent.
    variance
        Whether it is the data's own; at least that under the model, for means of what few rows have; or that
        under the model, for shares of rows and counts of events, whose variance follows from their mean.
    share
        Whether it is a share of rows, or another mean of numbers between 0 and 1.
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    sentence: Sentence
    unit: str = ""
    scale: Scale = "plain"
    variance: Variance = "own"
    share: bool = False

    def shown(self, value: float, reference: float) -> float:
        """A value as the reader sees it."""
        if self.scale == "multiple":
            return value / max(reference, 1e-300)
        if self.scale == "ratio":
            return float(np.exp(np.clip(value - reference, -700.0, 700.0)))
        return float(np.tanh(value)) if self.scale == "correlation" else value


class Look(ABC):
    """Several views of the same observations, and how their quantities are computed."""

    views: Sequence[View]

    @abstractmethod
    def measure(self, observations: Any, *, influence: bool = True) -> tuple[Array, Array]:
        """The quantities, (v,), each in its scale, and the influences of the observations, (n, v)."""

    def remark(self, place: int, observations: Any) -> str:
        """What else is said of a view that fails."""
        return ""

    def together(self, places: Sequence[int]) -> list[list[int]]:
        """Views that fail on the same side, those that tell the same in one group."""
        return [[place] for place in places]

    def sentence(self, places: Sequence[int]) -> Sentence:
        """What is said of a group, of which the first is the one with the most evidence."""
        return self.views[places[0]].sentence


class Several(Look):
    """Looks one after the other."""

    def __init__(self, looks: Sequence[Look]) -> None:
        self._looks = looks
        self.views = [view for look in looks for view in look.views]

    def measure(self, observations: Any, *, influence: bool = True) -> tuple[Array, Array]:
        found = [look.measure(observations, influence=influence) for look in self._looks]
        return np.concatenate([values for values, _ in found]), np.hstack([psi for _, psi in found])

    def remark(self, place: int, observations: Any) -> str:
        for look in self._looks:
            if place < len(look.views):
                return look.remark(place, observations)
            place -= len(look.views)
        return ""

    def together(self, places: Sequence[int]) -> list[list[int]]:
        groups = []
        for look, first in self._begun():
            own = [place - first for place in places if 0 <= place - first < len(look.views)]
            groups += [[place + first for place in group] for group in look.together(own)]
        return groups

    def sentence(self, places: Sequence[int]) -> Sentence:
        look, first = next(pair for pair in reversed(self._begun()) if pair[1] <= places[0])
        return look.sentence([place - first for place in places])

    def _begun(self) -> list[tuple[Look, int]]:
        """The looks, and where the views of each begin."""
        ends = np.cumsum([len(look.views) for look in self._looks])
        return [(look, int(end) - len(look.views)) for look, end in zip(self._looks, ends, strict=True)]


def value_of(what: str) -> Sentence:
    """That a quantity is so and so, where the model says so and so."""
    return lambda told: f"{what} is {told.against}"


def ratio_of(what: str) -> Sentence:
    """That a quantity is so many times the model's."""
    return lambda told: f"{what} is {told.times}"


def share_of(where: str) -> Sentence:
    """That rows somewhere are too many or too few."""

    def sentence(told: Told) -> str:
        head = f"too {'many' if told.more else 'few'} rows" if told.fails else "share of rows"
        ends = f"({percent(max(told.low, 0.0))} to {percent(told.high)})"
        return f"{head} {where}: {percent(told.effect)} where the model says {percent(told.model)} {ends}"

    return sentence


def quoted(name: str) -> str:
    """The name of a column in a sentence."""
    return f"`{name}`"


def figure(value: float) -> str:
    """A number to three digits, and no minus sign before a zero."""
    return f"{value:.3g}" if abs(value) > 1e-12 else "0"


def percent(share: float) -> str:
    """A share as a person reads it."""
    return f"{100 * share:.2g} %" if share < 0.995 else "100 %"
