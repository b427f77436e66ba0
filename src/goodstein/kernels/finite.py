"""In the place of a kernel, for operators that bring finitely many test functions of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from goodstein.errors import InputError
from goodstein.kernels.base import Kernel


@dataclass(frozen=True)
class OwnFunctions(Kernel):
    """No kernel: the test functions are the operator's own."""

    def __repr__(self) -> str:
        return "own test functions"


def refuse_kernel(operator: Any, kernel: Kernel) -> Kernel:
    """Raise where a kernel is named for an operator that has no use for one."""
    if isinstance(kernel, OwnFunctions):
        return kernel
    raise InputError(
        f"{operator!r} has finitely many test functions of its own and takes no kernel, got {kernel!r}.",
        remedy="Leave the kernel out.",
    )
