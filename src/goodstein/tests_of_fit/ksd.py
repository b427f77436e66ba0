"""The test with one operator and one kernel."""

from __future__ import annotations

from typing import Any, Literal

from goodstein.constraints import check_flag
from goodstein.data.weights import weighted
from goodstein.domains.base import Domain
from goodstein.engine.executors import Workers, one_blas_thread
from goodstein.engine.progress import ProgressLike, watching
from goodstein.errors import InputError, within_memory
from goodstein.kernels.base import Kernel
from goodstein.nulls.approximate import Nystrom
from goodstein.nulls.base import Null
from goodstein.operators.base import Operator
from goodstein.pipeline.compose import compose, draw_seeds
from goodstein.pipeline.run import run_test
from goodstein.results.result import TestResult
from goodstein.tests_of_fit.approximate import approximate_test
from goodstein.tests_of_fit.tolerant import tolerant_test
from goodstein.types import RNG, Array, ArrayLike
from goodstein.validation import as_generator


def ksd_test(
    data: ArrayLike,
    model: Any,
    *,
    domain: Domain | None = None,
    operator: Operator | None = None,
    kernel: Kernel | None = None,
    null: Null | Literal["auto"] | None = None,
    tolerance: float | None = None,
    weights: ArrayLike | None = None,
    approximate: Nystrom | None = None,
    workers: Workers = None,
    rng: RNG = None,
    audit: bool = True,
    progress: ProgressLike = None,
) -> TestResult:
    """Test whether a model fits data, by the kernel Stein discrepancy.

    The null hypothesis is that the rows of `data` are independent draws from `model`, which needs
    to be known only up to its normalising constant. Rows that depend on each other in their order are found
    and allowed for (:class:`WildBootstrap`).

    Parameters
    ----------
    data
        Observations, (n, d) or a data frame; (n,) for one dimension. Arrays of JAX and PyTorch, points of
        shapely and geopandas, and draws in containers of arviz and xarray are read too. Draws of Markov
        chains are a list of arrays, an array (chains, draws, parameters) or :class:`Chains`. Right-censored
        durations are :class:`Censored`, a ``scipy.stats.CensoredData`` or a structured array (event, time);
        covariates and outcomes are :class:`Paired`; a point pattern (:class:`Pattern`), a list of them, a
        graph, or a kind of your own (:class:`Data`) are taken where the model is one of them.
    model
        A score function, or anything that :func:`as_model` takes; for durations a distribution on
        the half-line, a fitted lifelines model or a :class:`SurvivalModel`; for pairs a
        :class:`ConditionalModel`; a point process; a model of graphs.
    domain
        Where the model is a density; None takes the model's own, or R^d. A smaller domain than
        the model's own means the model truncated to it.
    operator
        Stein operator; None takes :class:`Langevin` on R^d, :class:`LogRatio` on a simplex,
        :class:`Martingale` for durations, :class:`CoxResiduals` for those of Cox's model,
        :class:`Coordinate` on circles and tori, :class:`SecondOrder` on spheres, :class:`Difference` on
        lattices, :class:`Jumps` for counts, :class:`Latent` for latent models, and :class:`Standardised` with
        the domain's auxiliary function on regions with an edge.
    kernel
        None takes :class:`IMQ` with the median bandwidth, or what the operator prefers; on R^d, boxes and
        half-spaces in the metric of the score (:class:`Whitened`), so that units of coordinates do not count.
        A kernel that is named is used in the coordinates of the data.
    null
        Null distribution: :class:`WildBootstrap`, :class:`Spectral`, :class:`MonteCarlo`, or, for
        a model fitted to the same data, :class:`ParametricBootstrap`. None takes ``WildBootstrap()``, and
        ``MonteCarlo(199)`` for one graph or point pattern, which has to be simulated; ``"auto"``
        simulates where that is affordable, as :func:`aggregated_test` does.
    tolerance
        A share of the observations that may be wrong, such as 0.05: the null hypothesis is then that no more
        of the population than this comes from elsewhere, with the wild bootstrap alone and, where under the
        usual operator an observation may count without limit, ``Standardised(Decaying())``; see
        :meth:`TestResult.tolerance`.
    weights
        A weight for each row, not negative: importance weights, where the rows were drawn from another law,
        or those of a survey; see :class:`Weighted`, which other tests take. With random signs or
        :class:`Spectral`; a note says how many rows of equal weight they are worth.
    approximate
        None is the exact test, whose time grows with n². :class:`Nystrom` tests the same null hypothesis in
        time that grows with n, by random signs too, and finds less.
    workers
        Threads, -1 for all cores, or a :class:`concurrent.futures.Executor` or Dask client; the result is the
        same for all of them. Interrupted, the test cancels what waits there.
    rng
        Seed or generator of everything random.
    audit
        Whether to raise :class:`SteinIdentityError` when the test cannot keep its level. If
        False the test runs all the same and the result says what is wrong, as far as that is seen without
        drawing from the model.
    progress
        True shows a bar on a terminal, or below the cell of a notebook, for a test that takes more than two
        seconds; elsewhere it shows nothing. Or a function ``(done, total)``, called in this thread a few
        times a second; both numbers only grow, `total` with each step. If it raises an error it is not called
        again, and a warning says so. The result is the same for all of them.

    Examples
    --------
    >>> import goodstein as gs
    >>> model = gs.families.Dirichlet([0.5, 0.5, 0.5])
    >>> gs.ksd_test(model.sample(200, rng=1), model, rng=1).pvalue > 0.05
    True
    """
    check_flag(audit, "audit")
    seeds = draw_seeds(as_generator(rng))
    if tolerance is not None and approximate is not None:
        raise InputError("`tolerance` and `approximate` exclude each other. Pass one of them.")
    with watching(progress), one_blas_thread():
        observed = weighted(data, weights)
        exact = tolerance is None and approximate is None
        problem = compose(observed, model, domain, operator, kernel, seeds, weighted=exact)
        if tolerance is not None:
            return tolerant_test(problem, tolerance, null=null, workers=workers, seeds=seeds, audit=audit)
        if approximate is not None:
            return approximate_test(
                problem, approximate, null=null, workers=workers, seeds=seeds, audit=audit
            )
        return run_test(problem, null=null, workers=workers, seeds=seeds, audit=audit)


def stein_matrix(
    data: ArrayLike,
    model: Any,
    *,
    domain: Domain | None = None,
    operator: Operator | None = None,
    kernel: Kernel | None = None,
    rng: RNG = None,
) -> Array:
    """The Stein matrix h(x_i, x_j), (n, n), for inspection at small n.

    Parameters are those of :func:`ksd_test`; nothing is audited. `rng` matters only to operators that
    draw random numbers.

    Examples
    --------
    >>> import goodstein as gs
    >>> h = gs.stein_matrix([[0.5], [-0.3]], gs.families.Normal(0, 1), kernel=gs.Gaussian(1.0))
    >>> print(f"{h[0, 1]:.10f}")
    -0.3122440859
    """
    seeds = draw_seeds(as_generator(rng))
    with within_memory("The Stein matrix"):
        return compose(data, model, domain, operator, kernel, seeds).form.matrix()
