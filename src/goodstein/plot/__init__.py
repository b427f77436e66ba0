"""Pictures; matplotlib appears only here and is imported only when something is drawn."""

from goodstein.plot.pictures import null_distribution

__all__ = ["null_distribution"]
