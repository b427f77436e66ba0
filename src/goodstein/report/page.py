"""The page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from goodstein.checking.result import CheckResult


def page(result: CheckResult) -> str:
    """All of it."""
    return result._repr_html_()
