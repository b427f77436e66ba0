"""Models: whatever the user brought, as a score."""

from __future__ import annotations

from goodstein.models.adapters import as_model
from goodstein.models.model import Model

__all__ = ["Model", "as_model"]
