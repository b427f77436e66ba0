"""Cutting ranges into pieces."""

from __future__ import annotations

from itertools import pairwise


def cut(start: int, stop: int, step: int) -> list[slice]:
    """[start, stop) in slices of at most `step`, of nearly equal length.

    >>> from goodstein.numerics.ranges import cut
    >>> cut(0, 10, 4)
    [slice(0, 3, None), slice(3, 6, None), slice(6, 10, None)]
    """
    count = max(1, -(-(stop - start) // step))
    edges = [start + (stop - start) * k // count for k in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]
