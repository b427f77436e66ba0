"""Replicated point patterns: their data, models, operator and kernel."""

from goodstein.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
