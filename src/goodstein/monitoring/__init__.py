"""Streams of observations: evidence that may be looked at at any time."""
