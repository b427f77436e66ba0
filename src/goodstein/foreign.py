"""What an object is, as far as that can be said without importing anything."""

from __future__ import annotations

from typing import Any, ClassVar

from goodstein.errors import InputError

LONGEST = 120


def roots(obj: Any) -> set[str]:
    """Top-level packages that an object's class and its bases come from.

    >>> import numpy as np
    >>> from goodstein.foreign import roots
    >>> sorted(roots(np.random.default_rng()))
    ['builtins', 'numpy']
    """
    return {cls.__module__.partition(".")[0] for cls in type(obj).__mro__}


def bases(obj: Any) -> set[str]:
    """Names of an object's class and of its bases."""
    return {cls.__name__ for cls in type(obj).__mro__}


def describe(obj: Any) -> str:
    """Return the ``repr`` where that says something on one line, otherwise the name of the class.

    >>> from goodstein.foreign import describe
    >>> describe([1, 2])
    '[1, 2]'
    >>> describe(object())
    'object'
    """
    text = repr(obj)
    if " object at 0x" in text or "\n" in text or len(text) > LONGEST:
        return type(obj).__name__
    return text


def unusable(reason: str, remedy: str | None = None) -> InputError:
    """What to say of a `model` that is none, or not one that can be used."""
    return InputError(reason, argument="model", remedy=remedy)


def require_instance(model: Any) -> None:
    """Raise for a class where one of its instances is meant."""
    if isinstance(model, type):
        raise InputError(
            f"`model` is the class {model.__name__}, not one of its instances. "
            f"Call it with parameters: {model.__name__}(...)."
        )


class Own:
    """A user's plain object in the place of one of ours: what it has takes the place of the defaults."""

    taken_over: ClassVar[tuple[str, ...]]
    """Attributes that are taken from the object as they are, where it has them."""

    def __init__(self, own: Any) -> None:
        self._own = own
        self.__dict__.update({name: getattr(own, name) for name in self.taken_over if hasattr(own, name)})

    @property
    def given(self) -> Any:
        """The user's object."""
        return self._own

    def __repr__(self) -> str:
        return repr(self._own)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and bool(self._own == other._own)

    def __hash__(self) -> int:
        return hash(self._own)
