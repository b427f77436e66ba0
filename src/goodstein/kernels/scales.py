"""One kernel at several bandwidths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from goodstein.kernels.bandwidth import Median
from goodstein.kernels.base import Kernel, RadialKernel
from goodstein.kernels.hamming import Hamming


def at_scales(kernel: Kernel, scales: Sequence[float], rates: Sequence[float]) -> list[Kernel]:
    """A kernel at multiples of its own bandwidth, or at several rates if it is Hamming's.

    Itself alone if it has neither, or if its bandwidth was given as a number.
    """
    if isinstance(kernel, Hamming):
        return [Hamming(rate) for rate in rates]
    rule = getattr(kernel, "bandwidth", 1.0)
    if not isinstance(kernel, RadialKernel) or not (rule is None or isinstance(rule, Median)):
        return [kernel]
    unit = 1.0 if rule is None else rule.scale
    return [replace(kernel, bandwidth=Median(unit * scale)) for scale in scales]
