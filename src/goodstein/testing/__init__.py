"""For the test suites of people who write samplers."""

from goodstein.testing.samples import assert_samples

__all__ = ["assert_samples"]
