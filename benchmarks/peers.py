"""Packages from PyPI that compute the same discrepancy, each with its own kernel functions."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from reference import Array

Value = Callable[[], float]


def installed_version(package: str) -> str:
    """The version of a package, or "not available"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not available"


def stein_thinning_test(x: Array, score: Array, draws: int) -> Value:
    """The IMQ Stein matrix of stein-thinning and a bootstrap with it; returns the V-statistic."""
    from stein_thinning.kernel import vfk0_imq
    from stein_thinning.stein import kmat

    n, d = x.shape
    identity = np.eye(d)

    def run() -> float:
        h = kmat(lambda i, j: vfk0_imq(x[i], x[j], score[i], score[j], identity), n)
        signs = 2.0 * np.random.default_rng(0).integers(0, 2, (draws, n)) - 1.0
        np.einsum("bi,bi->b", signs @ h, signs)
        return float(h.sum() / n**2)

    return run


def coreax_value(x: Array, block_size: int = 500) -> Value:
    """The kernel Stein discrepancy of coreax, compiled, in double precision; returns the V-statistic."""
    logging.getLogger("jax").setLevel(logging.ERROR)
    import jax

    jax.config.update("jax_enable_x64", True)
    import equinox
    from coreax import KSD, Data, PCIMQKernel, SteinKernel

    # Its kernel is (1 + ‖x − y‖²/2ℓ²)^(−1/2).
    kernel = SteinKernel(PCIMQKernel(length_scale=0.5**0.5), score_function=lambda point: -point)
    metric, data = KSD(kernel), Data(jax.numpy.asarray(x))
    block_size = min(block_size, len(x))
    compute = equinox.filter_jit(lambda m, points: m.compute(points, points, block_size=block_size))

    def run() -> float:
        return float(compute(metric, data)) ** 2

    return run
