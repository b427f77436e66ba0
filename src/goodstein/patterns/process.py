"""Point process models as the library sees them."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.constraints import answered, asked
from goodstein.domains.base import Domain
from goodstein.errors import DomainError, InputError, SamplingError, ScoreError, describe_rows
from goodstein.foreign import describe
from goodstein.models.base import AnyModel
from goodstein.models.provenance import Fit, provenance_of
from goodstein.patterns.data import Patterns, as_pattern
from goodstein.patterns.nodes import quadrature
from goodstein.types import RNG, Array
from goodstein.validation import as_generator


class Process(AnyModel):
    """A point process as the library sees it: a conditional intensity, a window, perhaps a sampler."""

    takes = Patterns

    def __init__(self, raw: Any, domain: Domain) -> None:
        self.raw, self._domain = raw, domain
        self.name = describe(raw)

    @property
    def domain(self) -> Domain:
        return self._domain

    @property
    def has_sample(self) -> bool:
        return callable(getattr(self.raw, "sample", None))

    @property
    def sampler_advice(self) -> str:
        return "Give the model a method sample(n, rng) that returns a list of n patterns, (k, d) each"

    @property
    def provenance(self) -> Fit | None:
        return provenance_of(self.raw)

    def papangelou(self, u: Array, pattern: Array) -> Array:
        """The conditional intensity at points u (k, d) given a pattern (l, d), (k,)."""
        what = f"`papangelou` of {self.name}"
        values = answered(
            asked(self.raw.papangelou, what, u, pattern, error=ScoreError), what, error=ScoreError
        )
        if values.shape == ():
            values = np.broadcast_to(values, len(u))
        if values.shape != (len(u),):
            raise ScoreError(
                f"The conditional intensity of {self.name} has shape {values.shape} at {len(u)} points; "
                f"`papangelou(u, pattern)` must return ({len(u)},)."
            )
        wrong = np.asarray(~(np.isfinite(values) & (values >= 0)))
        if wrong.any():
            k = int(np.flatnonzero(wrong)[0])
            raise ScoreError(
                f"The conditional intensity of {self.name} is {values[k]:g} at the point "
                f"{np.array2string(u[k], precision=6)}; it must be finite and not negative "
                f"({describe_rows(wrong)})."
            )
        return values

    def sample(self, n: int, rng: RNG = None) -> Patterns:
        drawn = asked(
            self.raw.sample, f"The sampler of {self.name}", n, as_generator(rng), error=SamplingError
        )
        wanted = f"The sampler of {self.name} must return {n} patterns inside {self.domain!r}"
        if not hasattr(drawn, "__len__") or len(drawn) != n:
            got = f"{len(drawn)} of them" if hasattr(drawn, "__len__") else type(drawn).__name__
            raise SamplingError(f"{wanted}, a list of arrays (k, {self.domain.dim}); it returned {got}.")
        try:
            checked = [as_pattern(item, i, self.domain) for i, item in enumerate(drawn)]
        except (InputError, DomainError) as error:
            raise SamplingError(f"{wanted}; {error.bare}") from None
        return Patterns(checked, self.domain.dim)

    def draws(self, domain: Any, n: int, rng: np.random.Generator) -> Patterns:
        return self.sample(n, rng)

    def on(self, domain: Domain) -> Process:
        return Process(self.raw, domain)


def as_process(model: Any, domain: Domain | None) -> Process:
    """A point process model of a user on its window, checked."""
    if isinstance(model, Process):
        return model
    if isinstance(model, type):
        raise InputError(
            f"`model` is the class {model.__name__}, not one of its instances. Give it parameters."
        )
    if not callable(getattr(model, "papangelou", None)):
        raise InputError(
            f"`model` must be a point process such as families.PoissonProcess(100.0, domain), or an object "
            f"with a method papangelou(u, pattern); got {describe(model)} of type {type(model).__name__}."
        )
    own = getattr(model, "domain", None)
    if own is None and domain is None:
        raise InputError(f"{describe(model)} does not say where it lives: pass `domain`, the window.")
    if own is not None and domain is not None and own != domain:
        raise DomainError(
            f"`domain` is {domain!r}, but {describe(model)} lives on {own!r}. A point process restricted to "
            "another window is another model: make it on that window, or leave `domain` out."
        )
    window = domain if domain is not None else own
    assert window is not None
    quadrature(window, 2)  # raises where the window is none
    return Process(model, window)
