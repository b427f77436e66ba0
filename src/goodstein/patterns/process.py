"""Point process models as the library sees them."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.constraints import answered, asked
from goodstein.domains.base import Domain
from goodstein.domains.regions import as_domain
from goodstein.errors import DomainError, InputError, SamplingError, ScoreError, describe_rows
from goodstein.foreign import describe
from goodstein.models.base import AnyModel
from goodstein.models.provenance import Fit, provenance_of
from goodstein.patterns.data import Patterns, as_pattern
from goodstein.patterns.nodes import quadrature
from goodstein.types import RNG, Array
from goodstein.validation import as_generator

METHODS = ("papangelou", "compensator")
"""Of which a point process has one."""


SWEEPS, FEWEST_STEPS = 20, 20
"""Steps of a chain for each point of the pattern at its start, and the fewest points that count."""


MANY_POINTS, TOO_MANY = 1e5, 100
"""Points of a pattern that take long to simulate, and times the number seen: by then the unit of the
intensity is wrong, and no test is needed."""


class Process(AnyModel):
    """A point process as the library sees it: a conditional intensity, a window, perhaps a sampler."""

    takes = Patterns

    def __init__(self, raw: Any, domain: Domain, *, chained: bool = False) -> None:
        self.raw, self._domain, self._chained = raw, domain, chained
        self.name = describe(raw)
        self.trusted = type(raw).__module__.startswith("goodstein.")

    @property
    def domain(self) -> Domain:
        return self._domain

    @property
    def has_sample(self) -> bool:
        return self._chained or self.samples

    @property
    def samples(self) -> bool:
        """Whether it has a sampler of its own, which need not be a chain that starts at given patterns."""
        return callable(getattr(self.raw, "sample", None))

    @property
    def sampler_advice(self) -> str:
        return "Give the model a method sample(n, rng) that returns a list of n patterns, (k, d) each"

    @property
    def provenance(self) -> Fit | None:
        return provenance_of(self.raw)

    def papangelou(self, u: Array, pattern: Array) -> Array:
        """The conditional intensity at points u (k, d) given a pattern (l, d), (k,)."""
        return self._intensity("papangelou", u, u, pattern)

    def papangelou_within(self, pattern: Array) -> Array:
        """That at the points of a pattern (l, d), each given the others, (l,); one by one where need be."""
        if callable(getattr(self.raw, "papangelou_within", None)):
            return self._intensity("papangelou_within", pattern, pattern)
        rows = range(len(pattern))
        found = [self.papangelou(pattern[[k]], np.delete(pattern, k, axis=0))[0] for k in rows]
        return np.array(found, dtype=np.float64)

    def _intensity(self, method: str, u: Array, *arguments: Array) -> Array:
        """What a method of the model says at points u."""
        what = f"`{method}` of {self.name}"
        values = answered(
            asked(getattr(self.raw, method), what, *arguments, error=ScoreError), what, error=ScoreError
        )
        if values.shape == ():
            values = np.broadcast_to(values, len(u))
        if values.shape != (len(u),):
            raise ScoreError(
                f"The conditional intensity of {self.name} has shape {values.shape} at {len(u)} points; "
                f"`{method}` must return ({len(u)},)."
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

    @property
    def evolves(self) -> bool:
        """Whether it is a model of events in time, by the integral of their intensity given the past."""
        return callable(getattr(self.raw, "compensator", None))

    def compensator(self, t: Array, pattern: Array) -> Array:
        """Λ(t): the integral up to each t (k,) of the intensity given the events (l, 1) before, (k,)."""
        what = f"`compensator` of {self.name}"
        found = asked(self.raw.compensator, what, t, pattern, error=ScoreError)
        values = answered(found, what, (len(t),), error=ScoreError)
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise ScoreError(f"The compensator of {self.name} must be finite and not negative.")
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
        self.settle(self.raw.sample)
        return Patterns(checked, self.domain.dim)

    def walk(self, pattern: Array, rng: np.random.Generator) -> Array:
        """A pattern that a reversible chain of births and deaths reaches from another one.

        A step proposes, each with probability one half, a point u that is uniform in the window, accepted
        with probability min(1, ρ(u|φ)|W|/(n + 1)), or the death of one of the points, with min(1,
        n/(ρ(x|φ∖x)|W|)) (Geyer and Møller, 1994).
        """
        size = float(quadrature(self.domain, 2)[1].sum())
        steps = SWEEPS * max(len(pattern), FEWEST_STEPS)
        places = self.domain.sample_uniform(steps, rng)
        birth, chance, which = rng.random((3, steps))
        now = np.array(pattern)
        self.papangelou(places[:1], now)  # checked once; the steps below ask for one number each
        for u, born, accept, pick in zip(places, birth < 0.5, chance, which, strict=True):
            n = len(now)
            if born:
                rho = float(np.asarray(self.raw.papangelou(u[None], now)).reshape(-1)[0])
                if accept * (n + 1) < rho * size:
                    now = np.vstack([now, u])
            elif n:
                k = int(pick * n)
                rest = np.delete(now, k, axis=0)
                rho = float(np.asarray(self.raw.papangelou(now[[k]], rest)).reshape(-1)[0])
                if accept * rho * size < n:
                    now = rest
        return now

    def draws(self, domain: Any, n: int, rng: np.random.Generator) -> Patterns:
        return self.sample(n, rng)

    def check_size(self, seen: float) -> None:
        """Raise where it expects so many more points than were seen that only its unit can be wrong."""
        expected = float(getattr(self.raw, "mass", 0.0))
        if expected > MANY_POINTS and expected > TOO_MANY * seen:
            raise InputError(
                f"{self.name} expects about {expected:.3g} points in {self.domain!r}, and the data have "
                f"{seen:.3g}.",
                argument="model",
                remedy="Check the units of the intensity, such as points per m² or km², and of the window.",
            )

    def on(self, domain: Domain) -> Process:
        return Process(self.raw, domain, chained=self._chained)

    def alone(self) -> Process:
        """The same as a model of one pattern, from which chains may start that draw others."""
        return Process(self.raw, self.domain, chained=not self.evolves)


def as_process(model: Any, domain: Domain | None) -> Process:
    """A point process model of a user on its window, checked."""
    if isinstance(model, Process):
        return model
    if isinstance(model, type):
        raise InputError(
            f"`model` is the class {model.__name__}, not one of its instances. Give it parameters."
        )
    if not any(callable(getattr(model, name, None)) for name in METHODS):
        raise InputError(
            f"`model` must be a point process such as families.PoissonProcess(100.0, domain), or an object "
            f"with a method papangelou(u, pattern) or, for events in time, compensator(t, pattern); got "
            f"{describe(model)} of type {type(model).__name__}."
        )
    own = getattr(model, "domain", None)
    own = None if own is None else as_domain(own, f"of {describe(model)} a domain such as Box or Polygon")
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
    process = Process(model, window)
    if process.evolves and window.dim != 1:
        raise DomainError(f"{describe(model)} is a model of events in time, and {window!r} is no interval.")
    return process
