"""Members for point patterns, of several and of one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from goodstein.kernels import Gaussian
from goodstein.patterns.distances import Distances
from goodstein.patterns.innovations import Innovations
from goodstein.patterns.marks import OfMarks
from goodstein.patterns.numbers import Numbers
from goodstein.problems.problem import Problem
from goodstein.tests_of_fit.members.entries import Entry, Kinds, default_kernels


def of_patterns(problem: Problem) -> Kinds:
    """Of several patterns: all their points, how many there are, and the distances between them."""
    operator: Any = problem.operator
    return {
        "shape": [Entry(operator, default_kernels(problem))],
        "moments": [Entry(Numbers(0, operator)), Entry(Numbers(1, operator))],
        "distances": [Entry(Distances(operator=operator))],
    }


def of_pattern(operator: Innovations) -> Kinds:
    """How many points one pattern has, where they are, and how near each other."""
    widths = [OfMarks(Gaussian(width)) for width in (0.125, 0.25, 0.5)]
    return {
        "number": [Entry(replace(operator, looks="number"), widths[:1])],
        "locations": [Entry(replace(operator, looks="locations"), widths)],
        "neighbours": [
            Entry(replace(operator, looks="neighbours", order=1), widths[:2]),
            Entry(replace(operator, looks="neighbours", order=2), widths[1:2]),
        ],
    }
