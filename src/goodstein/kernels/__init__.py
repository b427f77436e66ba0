"""Kernels, and the rules that choose their bandwidth."""

from goodstein.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
