"""What a test is of, in a few short strings: so that the work of one is not taken for that of another."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy

from goodstein.problems.problem import Problem
from goodstein.version import __version__

DEEP = 6
"""Levels of objects within objects that are looked at."""


def identity(problem: Problem, **settings: Any) -> dict[str, str]:
    """Data, model, settings and versions of a test; for messages the keys say what each of them is of.

    The model counts by what its operator makes of it at the observations.
    """
    asked = {"operator": problem.operator, "kernel": problem.kernel, "domain": problem.domain, **settings}
    versions = {"goodstein": __version__, "numpy": np.__version__, "scipy": scipy.__version__}
    weights = problem.data.weights
    return {
        "the data": digest(problem.observations) + ("" if weights is None else digest(weights)),
        "the model": digest(problem.features),
        "the settings": digest({name: _described(thing) for name, thing in asked.items()}),
        "the versions of packages": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }


def digest(thing: Any) -> str:
    """A hash of all numbers and words in a thing, and of no more: not of functions, nor of places in memory.

    >>> import numpy as np
    >>> from goodstein.pipeline.identity import digest
    >>> digest([np.arange(3), "a"]) == digest([np.arange(3), "a"]) != digest([np.arange(4), "a"])
    True
    """
    found = hashlib.blake2b(digest_size=16)
    _add(thing, found, DEEP)
    return found.hexdigest()


def _add(thing: Any, found: Any, deep: int) -> None:
    found.update(type(thing).__name__.encode())
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        found.update(f"{thing.dtype.str}{thing.shape}".encode())
        found.update(np.ascontiguousarray(thing).view(np.uint8).data if thing.size else b"")
    elif thing is None or isinstance(thing, bool | int | float | complex | str | bytes | np.generic):
        found.update(repr(thing).encode())
    elif deep == 0:
        return
    elif isinstance(thing, Mapping):
        for name, part in sorted((str(name), part) for name, part in thing.items()):
            found.update(name.encode())
            _add(part, found, deep - 1)
    elif isinstance(thing, tuple | list):
        for part in thing:
            _add(part, found, deep - 1)
    elif is_dataclass(thing):
        for field in fields(thing):  # not what was made of them and is remembered
            _add(getattr(thing, field.name), found, deep - 1)
    elif not callable(thing) and hasattr(thing, "__dict__"):
        _add({name: part for name, part in vars(thing).items() if not name.startswith("_")}, found, deep - 1)


def _described(thing: Any) -> str:
    """How a thing describes itself, without its place in memory."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(thing))
