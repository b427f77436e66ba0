"""Choosing operator, auxiliary function, kernel and bandwidth on a part of the data."""

from goodstein.selection._api import select
from goodstein.selection.chosen import Chosen
from goodstein.selection.result import Candidate, Selection

__all__ = ["Candidate", "Chosen", "Selection", "select"]
