"""Stein operators: each turns a model on a domain into features of the observations."""

from goodstein.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
