"""Stein operators: each turns a model on a domain into features of the observations."""

from goodstein.operators.base import Operator, default_operator
from goodstein.operators.langevin import Langevin
from goodstein.operators.logratio import LogRatio
from goodstein.operators.matrix import MatrixStandardised
from goodstein.operators.mirrored import Mirrored
from goodstein.operators.standardised import Standardised

__all__ = [
    "Langevin",
    "LogRatio",
    "MatrixStandardised",
    "Mirrored",
    "Operator",
    "Standardised",
    "default_operator",
]
