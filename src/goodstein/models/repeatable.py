"""Whether a user's sampler draws from the generator that it is given, and from nothing else."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from goodstein.errors import SamplingError

DRAWS = 16, 256
"""Draws that a sampler is asked for at first, and where all of them are one value, as with rare events."""

GENERATORS = 8
"""Generators with which it is asked. Whatever the law, 16 independent draws that are not all equal come from
a generator with probability (15/16)¹⁵/16 < .024 at most, and from seven others too with .024⁷ < 1e-11."""

DRAWS_DIFFER = (
    "draws other numbers each time with the same generator, so that the same `rng` gives another p-value in "
    "every run. Draw from the generator that is passed, and from no global one."
)


def repeatable(ask: Callable[[int, np.random.Generator], Iterable[Any]], what: str) -> bool:
    """Return True if the same generator gives the same draws; raise if all generators do.

    `ask` returns so many independent draws of one law, and `what` names the sampler. Draws that are all equal
    say nothing: they may be those of a law with one value. Where `ask` fails, whoever draws is told why.
    """

    def drawn(count: int, seed: int) -> list[bytes]:
        return [pickle.dumps(draw) for draw in ask(count, np.random.default_rng(seed))]

    try:
        for count in DRAWS:
            first = drawn(count, 0)
            if any(drawn(count, seed) != first for seed in range(1, GENERATORS)):
                return drawn(count, 0) == first
            if len(set(first)) > 1:
                break
        else:
            return True
    except SamplingError as error:
        if error.argument == "rng":  # a sampler inside
            raise
        return True
    except Exception:  # whatever a user's function and pickling may raise
        return True
    raise SamplingError(
        f"is ignored by {what}: {GENERATORS} generators gave the same {count} draws.",
        argument="rng",
        predicate=True,
        remedy="Draw from the generator that is passed, as rng.normal(size=n) does, or "
        "scipy.stats.norm.rvs(size=n, random_state=rng).",
    )
