"""What all families share: they are values, that is frozen, comparable and picklable."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from goodstein.constraints import check_count
from goodstein.domains import Domain
from goodstein.families.checks import as_points
from goodstein.families.coordinates import Coordinate
from goodstein.models.influence import STEP, Influence, of_maximum
from goodstein.models.latent import LatentModel
from goodstein.models.provenance import FittableValue
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator

LONGEST_REPR = 80
LIKELIHOOD = "maximum likelihood"
SCORE_MATCHING = "score matching"


class Family(FittableValue, ABC):
    """A distribution with a closed-form score.

    A subclass writes :meth:`score`, :meth:`logpdf` and :meth:`_draw`.
    """

    batched: ClassVar[bool] = True
    """All methods take all points at once, which :func:`goodstein.as_model` need not find out."""

    quasi_concave: ClassVar[bool] = False
    """Whether the density has no valley between any two points, whatever the parameters are."""

    domain: Domain

    @property
    def dim(self) -> int:
        """Number of columns of the data."""
        return self.domain.dim

    @abstractmethod
    def score(self, x: ArrayLike) -> Array:
        """Gradient of the log density at each row of ``x`` (n, d), (n, d)."""

    @abstractmethod
    def logpdf(self, x: ArrayLike) -> Array:
        """Log density at each row of ``x`` (n, d), (n,)."""

    def sample(self, n: int, rng: RNG = None) -> Array:
        """Draw ``n`` independent points, (n, d)."""
        drawn = self._draw(check_count(n, "n", 0), as_generator(rng))
        return drawn[:, None] if drawn.ndim == 1 else drawn

    def _draw(self, n: int, rng: np.random.Generator) -> Array:
        """n independent points, (n, d), or (n,) where d = 1."""
        raise NotImplementedError  # not needed where `sample` is overridden

    def _points(self, x: ArrayLike) -> Array:
        return as_points(x, self.dim)

    # ------------------------------------------------------------ the family around one of its members

    _free: ClassVar[Mapping[str, Coordinate]] = {}
    """Parameters that a fit determines, and how they move; none where that is not known."""

    def moved(self, by: Array, fixed: Collection[str] = ()) -> Self:
        """The member of the family with its parameters moved by t, (p,), in the coordinates of :attr:`_free`.

        Zero is this member itself. Parameters that are `fixed` stay as they are.
        """
        values, start = self._values(), 0
        moved = dict(values)
        for name, coordinate in self._free.items():
            if name not in fixed:
                stop = start + coordinate.size(values[name])
                moved[name] = coordinate.moved(values[name], by[start:stop], values)
                start = stop
        return type(self)(**moved)

    def coordinates(self, fixed: Collection[str] = ()) -> tuple[str, ...]:
        """Names of the coordinates of :meth:`moved`, (p,)."""
        sizes = {name: c.size(self._values()[name]) for name, c in self._free.items() if name not in fixed}
        return tuple(
            name if size == 1 else f"{name}[{k}]" for name, size in sizes.items() for k in range(size)
        )

    def influence(self, data: Any, method: str = LIKELIHOOD, fixed: Collection[str] = ()) -> Influence:
        """What each observation did to the parameters, if these were fitted to the data.

        Parameters
        ----------
        data
            What the parameters were fitted to, as for ``fit``.
        method
            How: by maximum likelihood, or in another way of which the family says so.
        fixed
            Names of parameters that were not fitted.
        """
        names = self.coordinates(fixed)
        around = partial(self.moved, fixed=tuple(fixed))
        values = None if fixed else self._influence_values(data)
        if values is None:
            start = np.full(len(names), STEP)
            values = of_maximum(lambda by: around(by)._contributions(data, method), start, names)
        return Influence(around, values, names, method == LIKELIHOOD)

    def _fit_influence(self, how: str | None, **options: Any) -> Callable[[Any], Influence] | None:
        fixed = self._fit_fixed(**options)
        if how not in self._methods or not self.coordinates(fixed):
            return None
        return FittedFamily(type(self)(**self._values()), how, fixed)

    def _fit_fixed(self, **options: Any) -> tuple[str, ...]:
        """Names of parameters that ``fit`` with these options takes as they are."""
        return ()

    _methods: ClassVar[tuple[str, ...]] = (LIKELIHOOD,)
    """How it is fitted."""

    def _influence_values(self, data: Any) -> Array | None:
        """Influence values in closed form, (n, p), where all free parameters were fitted; None without."""
        return None

    def _contributions(self, data: Any, method: str) -> Array:
        """What each observation contributes to the function that the fit maximises, (n,)."""
        return self.logpdf(data)

    def __repr__(self) -> str:
        values = self._values()
        if sum(map(np.size, values.values())) <= LONGEST_REPR // 3:
            for digits in (6, 4, 3):
                text = self._with(values, digits)
                if len(text) <= LONGEST_REPR:
                    return text
        return self._with(self._brief(), 3)

    def _brief(self) -> dict[str, Any]:
        """What the repr tells where the parameters are too many: the dimension, numbers and vectors."""
        d = {"d": self.dim} if self.dim > 1 else {}
        return d | {key: v for key, v in self._values().items() if v is not None and np.ndim(v) < 2}

    def _values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._parameters}

    def _with(self, values: dict[str, Any], digits: int) -> str:
        """The class with these arguments, in so many digits; a single one needs no name."""
        texts = [_short(value, digits) for value in values.values()]
        if len(texts) > 1 or tuple(values) != self._parameters:
            texts = [f"{name}={text}" for name, text in zip(values, texts, strict=True)]
        return f"{type(self).__name__}({', '.join(texts)})"


@dataclass(frozen=True)
class FittedFamily:
    """The influence of data on the parameters of a family that was fitted to them."""

    family: Family
    method: str
    fixed: tuple[str, ...]

    def __call__(self, data: Any) -> Influence:
        return self.family.influence(data, self.method, self.fixed)


def latent_model(family: Any, what: str) -> LatentModel:
    """A family as a model with latent variables, by its ``conditional_score`` and ``posterior_sample``."""
    name = f"{family!r} with {what}"
    known = family.conditional_score, family.posterior_sample
    latent = LatentModel(*known, family.domain, sample=family.sample, name=name)
    fit = family.provenance
    # The members around it have no latent variables.
    return latent.remember(None if fit is None else replace(fit, influence=None))


def _short(value: Any, digits: int) -> str:
    """A value in so many digits; in three of them a long vector loses its middle."""
    if isinstance(value, np.ndarray):
        if not value.ndim:
            return _short(float(value), digits)
        long = digits == 3 and len(value) > 6
        words = [_short(part, digits) for part in (value[:3] if long else value)]
        words += ["...", _short(value[-1], digits)] if long else []
        return f"[{', '.join(words)}]"
    return f"{value:.{digits}g}" if isinstance(value, float) else repr(value)
