"""One observed graph: its data, models, operator and kernels."""

from goodstein.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
