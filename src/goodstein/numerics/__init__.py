"""Numerical tools that know nothing of tests: derivatives, array libraries, ranges."""
