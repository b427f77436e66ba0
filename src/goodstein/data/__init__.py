"""Kinds of data: what the library asks of observations; points, the commonest kind, and chains of them."""

from goodstein.data.base import Data
from goodstein.data.chains import Chains
from goodstein.data.points import Points

__all__ = ["Chains", "Data", "Points"]
