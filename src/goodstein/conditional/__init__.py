"""Pairs (x, y): their data, models of y given x, and the operator."""
