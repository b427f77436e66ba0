"""Does this model fit this data? Goodness-of-fit tests by kernel Stein discrepancies.

The public names stand in `__init__.pyi`; each is loaded when it is first used.
"""

from goodstein.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
