"""Auxiliary functions g of the standardised operator: ready-made, your own, and learnt from training data.

What is learnt here is found on training data and refuses to be evaluated on them.
"""

from goodstein.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
