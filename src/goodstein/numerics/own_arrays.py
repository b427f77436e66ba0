"""Functions with copies of the NumPy arrays around them.

As long as something that it has compiled holds an array of NumPy, JAX takes that array in the precision in
which it first saw it. A sampler that ran in single precision, as is usual, so leaves a log density that
cannot be evaluated in double precision any more; with copies of its arrays it can.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np


def with_own_arrays(function: Any) -> Any:
    """The same function, with copies of arrays in its closure, its globals and in functions of its module.

    What is no plain function, nor one with some arguments filled in, is returned as it is.

    >>> import numpy as np
    >>> scale = np.array([1.0, 2.0])
    >>> twin = with_own_arrays(lambda x: x / scale)
    >>> scale[:] = 5.0
    >>> twin(np.ones(2))
    array([1. , 0.5])
    """
    root = _plain(function)
    while isinstance(root, partial):
        root = _plain(root.func)
    return _Copies(root.__globals__).of(function) if isinstance(root, FunctionType) else function


def _plain(function: Any) -> Any:
    """What a function compiled by JAX was made of; it would remember the arrays."""
    compiled = type(function).__name__ == "PjitFunction"
    return function.__wrapped__ if compiled else function


class _Copies:
    """Copies of arrays and of functions of one module, of each one."""

    def __init__(self, module: dict[str, Any]) -> None:
        self._module, self._globals = module, dict(module)
        self._known: dict[int, Any] = {}

    def of(self, thing: Any) -> Any:
        if id(thing) not in self._known:
            self._known[id(thing)] = thing  # until it is known: what leads back to itself ends here
            self._known[id(thing)] = self._copied(thing)
        return self._known[id(thing)]

    def _copied(self, thing: Any) -> Any:
        thing = _plain(thing)
        if type(thing) is np.ndarray:
            return thing.copy()
        if type(thing) in (list, tuple):
            return type(thing)([self.of(part) for part in thing])
        if type(thing) is dict:
            return {key: self.of(part) for key, part in thing.items()}
        if type(thing) is partial:
            rest = {key: self.of(part) for key, part in thing.keywords.items()}
            return partial(self.of(thing.func), *[self.of(part) for part in thing.args], **rest)
        if isinstance(thing, FunctionType) and thing.__globals__ is self._module:
            return self._twin(thing)
        return thing

    def _twin(self, function: FunctionType) -> FunctionType:
        cells = tuple(CellType() for _ in function.__closure__ or ())
        defaults = self.of(function.__defaults__)
        twin = FunctionType(function.__code__, self._globals, function.__name__, defaults, cells)
        twin.__kwdefaults__ = self.of(function.__kwdefaults__)
        twin.__dict__.update(function.__dict__)
        self._known[id(function)] = twin
        for old, new in zip(function.__closure__ or (), cells, strict=True):
            if _is_filled(old):
                new.cell_contents = self.of(old.cell_contents)
        for name in _names(function.__code__):
            if name in self._module:
                self._globals[name] = self.of(self._module[name])
        return twin


def _is_filled(cell: CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _names(code: CodeType) -> Iterator[str]:
    """Names that a function and those inside it look up."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)
