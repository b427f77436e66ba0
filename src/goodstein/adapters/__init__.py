"""From what a user has, functions, distributions and fitted estimators, to models of the library."""

from goodstein.adapters.model import as_model

__all__ = ["as_model"]
