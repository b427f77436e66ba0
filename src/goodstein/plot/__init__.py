"""Pictures of results; matplotlib appears only here and is imported only when something is drawn.

The public names stand in `__init__.pyi`.
"""

from goodstein.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
