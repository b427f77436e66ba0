"""The test for point patterns, several or one."""

from __future__ import annotations

from typing import Any

from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers
from goodstein.engine.progress import ProgressLike
from goodstein.nulls.base import Null
from goodstein.patterns.innovations import Innovations
from goodstein.patterns.operator import Papangelou
from goodstein.patterns.single import is_single
from goodstein.results.result import TestResult
from goodstein.tests_of_fit.ksd import ksd_test
from goodstein.types import RNG


def point_pattern_ksd_test(
    patterns: Any,
    model: Any,
    *,
    domain: Domain | None = None,
    operator: Papangelou | Innovations | None = None,
    kernel: Any = None,
    null: Null | None = None,
    workers: Workers = None,
    rng: RNG = None,
    audit: bool = True,
    progress: ProgressLike = None,
) -> TestResult:
    """Test whether a point process model fits several point patterns, or one.

    The null hypothesis is that the patterns are independent realisations of `model` in the same window. The
    model enters through its Papangelou conditional intensity only, which needs no normalising constant. One
    pattern is one observation, and its null distribution is simulated.

    Parameters
    ----------
    patterns
        A sequence of patterns, each an array (k_i, d) or a data frame; some may be empty. Of a dictionary
        the values are taken. One array (n, d), data frame or GeoSeries is one pattern, as is
        :class:`Pattern`.
    model
        :class:`families.PoissonProcess`, :class:`families.Strauss`, or any object with a method
        ``papangelou(u, pattern)`` that returns the conditional intensity at the points u (k, d) given a
        pattern (l, d), an array (k,). To be simulated it needs ``sample(n, rng)``, a list of patterns.
    domain
        The window, a bounded :class:`Box` or a :class:`Polygon`; None takes the model's own.
    operator
        None takes :class:`goodstein.patterns.Papangelou`, or for one pattern
        :class:`goodstein.patterns.Innovations`.
    kernel
        For several patterns a kernel on configurations; None takes
        :class:`goodstein.patterns.ConfigurationKernel`. Any object with ``fitted(patterns)`` that is a
        function of two lists of configurations will do.
    null, workers, rng, audit, progress
        As in :func:`ksd_test`.

    Notes
    -----
    :class:`Spectral` is conservative unless there are hundreds of patterns, because a pattern has many
    degrees of freedom. For an intensity that was estimated from the same patterns use
    :class:`ParametricBootstrap`.

    References
    ----------
    Yang, Rao, Neville (2019), A Stein–Papangelou goodness-of-fit test for point processes.

    Examples
    --------
    >>> import goodstein as gs
    >>> window = gs.Box([0, 0], [1, 1])
    >>> model = gs.families.PoissonProcess(30.0, window)
    >>> patterns = gs.families.Strauss(60.0, 0.3, 0.06, window).sample(40, rng=1)
    >>> gs.point_pattern_ksd_test(patterns, model, rng=1).pvalue < 0.05
    True
    >>> gs.point_pattern_ksd_test(model.sample(40, rng=1), model, rng=1).pvalue > 0.05
    True
    """
    return ksd_test(
        patterns,
        model,
        domain=domain,
        operator=operator if operator is not None else Innovations() if is_single(patterns) else Papangelou(),
        kernel=kernel,
        null=null,
        workers=workers,
        rng=rng,
        audit=audit,
        progress=progress,
    )
