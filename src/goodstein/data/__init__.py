"""Kinds of data: what the library asks of observations, and points, the commonest kind."""

from goodstein.data.base import Data
from goodstein.data.points import Points

__all__ = ["Data", "Points"]
