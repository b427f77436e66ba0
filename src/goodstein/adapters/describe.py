"""What an object is, as far as that can be said without importing anything."""

from __future__ import annotations

from typing import Any

LONGEST = 120


def roots(obj: Any) -> set[str]:
    """Top-level packages that an object's class and its bases come from.

    >>> import numpy as np
    >>> from goodstein.adapters.describe import roots
    >>> sorted(roots(np.random.default_rng()))
    ['builtins', 'numpy']
    """
    return {cls.__module__.partition(".")[0] for cls in type(obj).__mro__}


def bases(obj: Any) -> set[str]:
    """Names of an object's class and of its bases."""
    return {cls.__name__ for cls in type(obj).__mro__}


def describe(obj: Any) -> str:
    """Return the ``repr`` where that says something on one line, otherwise the name of the class.

    >>> from goodstein.adapters.describe import describe
    >>> describe([1, 2])
    '[1, 2]'
    >>> describe(object())
    'object'
    """
    text = repr(obj)
    if " object at 0x" in text or "\n" in text or len(text) > LONGEST:
        return type(obj).__name__
    return text
