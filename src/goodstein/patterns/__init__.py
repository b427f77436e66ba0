"""Tests for replicated point patterns."""

from __future__ import annotations

from goodstein.patterns.data import Patterns
from goodstein.patterns.kernel import ConfigurationKernel
from goodstein.patterns.operator import Papangelou
from goodstein.patterns.process import point_pattern_ksd_test
from goodstein.patterns.quadrature import quadrature

__all__ = ["ConfigurationKernel", "Papangelou", "Patterns", "point_pattern_ksd_test", "quadrature"]
