"""Families: distributions with a closed-form score, a sampler and, where standard, a fit."""

from goodstein.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
