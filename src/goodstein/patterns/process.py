"""The test for replicated point patterns."""

from __future__ import annotations

from typing import Any

import numpy as np

from goodstein.adapters.describe import describe
from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers, check_workers
from goodstein.errors import DomainError, InputError, SamplingError, ScoreError, describe_rows
from goodstein.kernels.base import RadialKernel
from goodstein.nulls import Null, WildBootstrap
from goodstein.patterns.data import Patterns, as_pattern, as_patterns
from goodstein.patterns.operator import Papangelou
from goodstein.patterns.quadrature import quadrature
from goodstein.pipeline.compose import as_generator, check_parts, choose_kernel
from goodstein.pipeline.run import check_null, draw_seeds, run_test
from goodstein.problems.problem import Problem
from goodstein.results.result import TestResult
from goodstein.types import RNG, Array


def point_pattern_ksd_test(
    patterns: Any,
    model: Any,
    domain: Domain | None = None,
    *,
    operator: Papangelou | None = None,
    kernel: Any = None,
    null: Null = WildBootstrap(),  # noqa: B008 - frozen, used as a value
    workers: Workers = None,
    rng: RNG = None,
    audit: bool = True,
) -> TestResult:
    """Test whether a point process model fits several point patterns.

    The null hypothesis is that the patterns are independent realisations of `model` in the same
    window. The model enters through its Papangelou conditional intensity only, which needs no
    normalising constant.

    Parameters
    ----------
    patterns
        A sequence of at least two patterns, each an array (k_i, d) or a data frame; some may be empty.
        Of a dictionary the values are taken.
    model
        :class:`families.PoissonProcess`, :class:`families.Strauss`, or any object with a method
        ``papangelou(u, pattern)`` that returns the conditional intensity at the points u (k, d) given a
        pattern (l, d), an array (k,). To be simulated it needs ``sample(n, rng)``, a list of patterns.
    domain
        The window, a bounded :class:`Box` or a :class:`Polygon`; None takes the model's own.
    operator
        None takes :class:`goodstein.patterns.Papangelou`, the only one for point patterns.
    kernel
        A kernel on configurations; None takes :class:`goodstein.patterns.ConfigurationKernel`. Any
        object with ``fitted(patterns)`` that is a function of two lists of configurations will do.
    null, workers, rng, audit
        As in :func:`ksd_test`.

    Returns
    -------
    TestResult

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
    check_workers(workers)
    check_null(null)
    if operator is not None and not _for_patterns(operator):
        raise InputError(f"`operator` of a test for point patterns must be Papangelou(), got {operator!r}.")
    check_parts(domain, operator)
    process = as_process(model, domain)
    data = as_patterns(patterns, process.domain)
    chosen = operator if operator is not None else Papangelou()
    seeds = draw_seeds(as_generator(rng))
    compared = choose_kernel(kernel, chosen)
    if isinstance(compared, RadialKernel) or type(compared).__module__.startswith("goodstein.kernels"):
        raise InputError(
            f"`kernel` must be a kernel on point patterns such as patterns.ConfigurationKernel(), got "
            f"{kernel!r}, which compares points. ConfigurationKernel(bandwidth=...) sums up a Gaussian of "
            "points."
        )
    problem = Problem(data, process, process.domain, chosen, compared)
    return run_test(
        problem, null=null, workers=workers, seeds=seeds, audit=audit, title="Point pattern kernel Stein test"
    )


def _for_patterns(operator: Any) -> bool:
    """Whether an operator may take point patterns: ours, or one of the user's own."""
    if isinstance(operator, Papangelou):
        return True
    return hasattr(operator, "default_kernel") and not type(operator).__module__.startswith("goodstein.")


class Process:
    """A point process as the library sees it: a conditional intensity, a window, perhaps a sampler."""

    def __init__(self, raw: Any, domain: Domain) -> None:
        self.raw, self.domain = raw, domain
        self.name = describe(raw)

    @property
    def has_sample(self) -> bool:
        """Whether the model can be simulated."""
        return callable(getattr(self.raw, "sample", None))

    sampler_advice = "Give the model a method sample(n, rng) that returns a list of n patterns, (k, d) each"

    def papangelou(self, u: Array, pattern: Array) -> Array:
        """The conditional intensity at points u (k, d) given a pattern (l, d), (k,)."""
        values = np.asarray(self.raw.papangelou(u, pattern), dtype=np.float64)
        if values.shape == ():
            values = np.broadcast_to(values, len(u))
        if values.shape != (len(u),):
            raise ScoreError(
                f"The conditional intensity of {self.name} has shape {values.shape} at {len(u)} points; "
                f"`papangelou(u, pattern)` must return ({len(u)},)."
            )
        wrong = np.asarray(~(np.isfinite(values) & (values >= 0)))
        if wrong.any():
            k = int(np.flatnonzero(wrong)[0])
            raise ScoreError(
                f"The conditional intensity of {self.name} is {values[k]:g} at the point "
                f"{np.array2string(u[k], precision=6)}; it must be finite and not negative "
                f"({describe_rows(wrong)})."
            )
        return values

    def sample(self, n: int, rng: RNG = None) -> Patterns:
        """Independent patterns."""
        drawn = self.raw.sample(n, np.random.default_rng(rng))
        wanted = f"The sampler of {self.name} must return {n} patterns inside {self.domain!r}"
        if not hasattr(drawn, "__len__") or len(drawn) != n:
            got = f"{len(drawn)} of them" if hasattr(drawn, "__len__") else type(drawn).__name__
            raise SamplingError(f"{wanted}, a list of arrays (k, {self.domain.dim}); it returned {got}.")
        try:
            checked = [as_pattern(item, i, self.domain) for i, item in enumerate(drawn)]
        except (InputError, DomainError) as error:
            raise SamplingError(f"{wanted}; {str(error).removeprefix('`patterns`: ')}") from None
        return Patterns(checked, self.domain.dim)

    def sample_like(self, data: Patterns, rng: np.random.Generator) -> Patterns:
        """As many patterns as there are."""
        return self.sample(len(data), rng)

    def on(self, domain: Domain) -> Process:
        """The same model, declared to live on this window."""
        return Process(self.raw, domain)

    def adopt(self, raw: Any) -> Process:
        """What a fit returned, on the same window."""
        return as_process(raw, self.domain)


def as_process(model: Any, domain: Domain | None) -> Process:
    """A point process model of a user on its window, checked."""
    if isinstance(model, Process):
        return model
    if isinstance(model, type):
        raise InputError(
            f"`model` is the class {model.__name__}, not one of its instances. Give it parameters."
        )
    if not callable(getattr(model, "papangelou", None)):
        raise InputError(
            f"`model` must be a point process such as families.PoissonProcess(100.0, domain), or an object "
            f"with a method papangelou(u, pattern); got {describe(model)} of type {type(model).__name__}."
        )
    own = getattr(model, "domain", None)
    if own is None and domain is None:
        raise InputError(f"{describe(model)} does not say where it lives: pass `domain`, the window.")
    if own is not None and domain is not None and own != domain:
        raise DomainError(
            f"`domain` is {domain!r}, but {describe(model)} lives on {own!r}. A point process restricted to "
            "another window is another model: make it on that window, or leave `domain` out."
        )
    window = domain if domain is not None else own
    assert window is not None
    quadrature(window, 2)  # raises where the window is none
    return Process(model, window)
