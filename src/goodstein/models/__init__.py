"""Models: a score, and what else is known of a density."""

from goodstein.models.model import Model

__all__ = ["Model"]
