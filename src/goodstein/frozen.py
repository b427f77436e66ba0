"""Immutable values."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np


class Frozen:
    """A value that is compared, hashed, copied and pickled by its constructor's arguments.

    Unlike a frozen dataclass it may keep arrays, which are neither hashable nor comparable
    as a whole. Pickling goes through the constructor, so that what the constructor
    prepares (read-only arrays, spatial indices) exists again in every worker process.

    A subclass fills its attributes in ``__init__`` with :meth:`_set`; those that hold the constructor's
    arguments have their names, or are listed in :attr:`_parameters`.
    """

    _parameters: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls) and not cls._parameters:
            code = vars(cls)["__init__"].__code__
            cls._parameters = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]

    def _arguments(self) -> tuple[Any, ...]:
        """Arguments from which the constructor builds an equal object."""
        return tuple(_hashable(getattr(self, name)) for name in self._parameters)

    def _set(self, **attributes: object) -> None:
        """Fill the attributes; for constructors only. Arrays that others may write are copied."""
        for name, value in attributes.items():
            if isinstance(value, np.ndarray) and value.flags.writeable:
                attributes[name] = value = value.copy(order="K")
                value.setflags(write=False)
        self.__dict__.update(attributes)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: make a new one with another {name!r}.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; {name!r} cannot be deleted.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Frozen):
            return NotImplemented
        # A subclass that only names a special case, such as Orthant, equals the general object.
        if not (isinstance(other, type(self)) or isinstance(self, type(other))):
            return NotImplemented
        return self._arguments() == other._arguments()

    def __hash__(self) -> int:
        return hash(self._arguments())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._arguments()))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments()


def _hashable(value: Any) -> Any:
    """Arrays as nested tuples."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(map(_hashable, value)) if isinstance(value, list) else value
