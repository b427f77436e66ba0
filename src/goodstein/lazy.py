"""Names that are loaded when they are first used (SPEC 1), so that `import goodstein` stays fast.

The public names of a package stand once, in the stub `__init__.pyi` beside its `__init__.py`: type checkers
read them there, and so does :func:`attach`.
"""

from __future__ import annotations

import ast
import functools
import importlib
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

FEW = 8
"""Things that are kept at a time where nothing else is said."""


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names stand in its stub."""
    with open(f"{os.path.splitext(file)[0]}.pyi", encoding="utf-8") as names_of:
        stub = ast.parse(names_of.read())
    homes = {
        alias.asname or alias.name: node.module or ""
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    names = sorted(homes)

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return importlib.import_module(f"{package}.{name}")
        return getattr(importlib.import_module(homes[name]), name)

    return load, lambda: names, names


class deferred:
    """A module of this library that is loaded when one of its attributes is first asked for.

    For parts that most calls do not need, such as the operators of other kinds of data; only ever down the
    arrows of the architecture, like every other import.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


class cached_property(functools.cached_property[T]):
    """A property that is computed once, without a lock.

    That of Python 3.11 has one for all objects of a class: tests in threads wait for each other's models,
    and a child that was forked while another thread holds it hangs. Here threads that ask at once may
    compute the value twice; all of them get the first.
    """

    def __get__(self, instance: Any, owner: type | None = None) -> T:  # type: ignore[override]
        if instance is None:
            return self  # type: ignore[return-value]
        found: T = instance.__dict__.setdefault(self.attrname, self.func(instance))
        return found


def lock_for_forks() -> threading.Lock:
    """Return a lock that is free in a forked child, whichever thread held it."""
    lock = threading.Lock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


class Kept:
    """The last few things that were made of some objects and a number, for when they are asked for again.

    A frozen dataclass may have one in a field that is neither compared nor an argument: copies and pickles
    begin with nothing. Whoever asks for more things in turn than are kept makes them all anew every time.
    """

    def __init__(self, most: int = FEW) -> None:
        self._most = most
        self._made: dict[tuple[float, ...], tuple[Any, tuple[Any, ...]]] = {}

    def __call__(self, make: Callable[[], Any], number: float, *objects: Any) -> Any:
        """What `make` returns, or what it returned for the same objects."""
        key = (number, *map(id, objects))
        found = self._made.get(key)
        if found is None:
            # With the objects, so that no others get their identity; the dictionary of other threads stays.
            found = make(), objects
            newest = list(self._made.items())[-(self._most - 1) :] if self._most > 1 else []
            self._made = {**dict(newest), key: found}
        return found[0]

    def __reduce__(self) -> tuple[type[Kept], tuple[int]]:
        return Kept, (self._most,)
