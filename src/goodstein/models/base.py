"""What every model is asked, whatever the kind of its data."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from goodstein.data.base import Data, OwnData
from goodstein.data.points import Points, draw
from goodstein.errors import InputError
from goodstein.models.provenance import Fit, Fittable, provenance_of
from goodstein.models.repeatable import repeatable
from goodstein.types import RNG, Array
from goodstein.validation import as_generator

Found = TypeVar("Found")


class AnyModel(Fittable):
    """A model as the library sees it: a name, perhaps a sampler, and how it takes part in a test."""

    takes: ClassVar[type[Data] | None] = Points
    """The kind of data that it is a model of; None where that is not known."""

    latent: ClassVar[bool] = False
    """Whether its score can only be estimated, by draws of latent variables."""

    estimated: bool = False
    """Whether the score is an estimate with random errors."""

    everywhere: bool = True
    """Whether it can be asked at other observations than those of the data."""

    name: Any

    _settled: tuple[str, ...] = ()

    trusted: bool = False
    """Whether it is a distribution of the library, rather than functions of a user, who may err."""

    repeats: bool | None = None
    """Whether draws depend on their generator alone; None until a user's sampler is first used."""

    @property
    def domain(self) -> Any:
        """Where the data live; None where that is not known."""
        return None

    @property
    def has_sample(self) -> bool:
        """Whether data can be drawn from it."""
        return False

    @property
    def drawn_by(self) -> str | None:
        """What has drawn from it, where that is not its own sampler."""
        return None

    @property
    def sampler_advice(self) -> str:
        """How to give it a sampler."""
        return f"Pass {type(self).__name__}(..., sample=function of (n, rng))"

    def sample(self, n: int, rng: RNG = None) -> Any:
        """n observations."""
        raise NotImplementedError

    def settle(self, ask: Callable[[int, np.random.Generator], Any], what: str = "the sampler") -> None:
        """Find out, once, whether a user's sampler repeats its draws; raise where it ignores its generator.

        `ask` returns so many of its draws, one by one.
        """
        if not self.trusted and what not in self._settled:
            found = repeatable(ask, f"{what} of {self.name}")
            self.repeats = found and self.repeats is not False
            self._settled = (*self._settled, what)

    def draws(self, domain: Any, n: int, rng: np.random.Generator) -> Data | None:
        """n observations of its kind of data; None where they depend on what was observed."""
        return Points(draw(self, domain, n, rng))

    def on(self, domain: Any) -> Self:
        """The same model, declared to live on a domain."""
        return self

    def near(self, observations: Any) -> Self:
        """The same model, told where its observations are; most have no use for it."""
        return self

    def log_likelihood(self, observations: Any) -> Array:
        """The log likelihood of each observation, (n,)."""
        raise InputError(
            f"{self.name} has no log likelihood.",
            remedy="Say in another way how its parameters were fitted, or use ParametricBootstrap(fit).",
        )

    def kept(self, key: Hashable, make: Callable[[], Found]) -> Found:
        """What `make` finds out about the model; a distribution of the library, being immutable, keeps it."""
        return make()

    def default_operator(self) -> Any:
        """The operator for users who name none; None leaves the choice to the domain."""
        return None


class OwnModel(AnyModel):
    """A user's model of a kind of data of their own: its methods are those of the user's object."""

    takes = None

    def __init__(self, own: Any, name: str) -> None:
        self.own, self.name = own, name

    @property
    def domain(self) -> Any:
        return getattr(self.own, "domain", None)

    @property
    def has_sample(self) -> bool:
        return callable(getattr(self.own, "sample", None))

    @property
    def sampler_advice(self) -> str:
        return "Give the model a method sample(n, rng)"

    def sample(self, n: int, rng: RNG = None) -> Any:
        self.settle(self._drawn)
        return self.own.sample(n, as_generator(rng))

    def draws(self, domain: Any, n: int, rng: np.random.Generator) -> Data:
        sample = self.sample(n, rng)
        return sample if isinstance(sample, Data) else OwnData(sample)

    def _drawn(self, n: int, rng: np.random.Generator) -> list[Any]:
        """n observations, each by itself."""
        drawn = self.own.sample(n, rng)
        return [drawn.take(np.array([k])) for k in range(n)]

    @property
    def provenance(self) -> Fit | None:
        return provenance_of(self.own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["own"], name)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
