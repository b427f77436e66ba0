"""The parametric bootstrap, for models whose parameters were fitted to the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.adapters.fits import as_refitting
from goodstein.constraints import check_count
from goodstein.errors import InputError, ResourceError, warn
from goodstein.models.provenance import Fit, Refitting
from goodstein.nulls.base import Simulating
from goodstein.problems.problem import Collection
from goodstein.types import Array


@dataclass(frozen=True)
class ParametricBootstrap(Simulating):
    """Simulate the fitted model, fit again, and compute the statistic with the new fit.

    A model fitted to the very data it is tested on fits them too well; the wild bootstrap does
    not know that and is conservative. Refitting every simulated sample makes the same
    optimism part of the null distribution.

    The statistic of a simulated sample is multiplied by the ratio of the means of h(x, x), the observed one
    to its own: what is compared is the ratio U / mean h(x, x). U itself grows with the squared size of the
    scores, which fits overstate, those to simulated samples once more: p-values above .9 hardly ever came out
    at n = 20. The ratio depends on the parameters much less, and for families of locations and scales not at
    all, so that there the p-value is exact.

    Parameters
    ----------
    fit
        Function of data (n, d), or of :class:`Censored` durations, that returns the fitted model, in any form
        that the tests take; for example ``families.Normal.fit``. Also what has such a function: a family
        such as ``families.Dirichlet``, a fitter of lifelines such as ``WeibullFitter``, a
        ``GaussianMixture`` of scikit-learn, a distribution of scipy.stats such as ``scipy.stats.norm``.
        None takes the function that fitted the model, which models of this library know.
    n_resamples
        Number of simulated samples, each fitted anew.

    References
    ----------
    Key, Gretton, Briol, Fernandez (2025), Composite goodness-of-fit tests with kernels.

    Examples
    --------
    >>> import goodstein as gs
    >>> x = gs.families.StudentT(2.0, 0.0, 1.0).sample(100, rng=1)
    >>> fit = gs.families.Normal.fit
    >>> gs.ksd_test(x, fit(x), null=gs.ParametricBootstrap(fit, 99), rng=1).pvalue
    0.01
    """

    fit: Any = None
    n_resamples: int = 399

    refits = True  # no annotation: not a field

    def __post_init__(self) -> None:
        check_count(self.n_resamples, "n_resamples")
        if self.fit is not None:
            as_refitting(self.fit)  # raises where it is none

    def task(self, collection: Collection, seed: int) -> Refitted:
        fit = self._refitting(collection.model)
        again = refitted(collection, fit, "the data")
        given, other = (one.forms[0].diagonal() for one in (collection, again))
        if not np.allclose(given, other, rtol=1e-3, atol=1e-3 * float(np.abs(given).mean())):
            warn(
                f"ParametricBootstrap: fitting the data gives another model than the one tested "
                f"({collection.model.name}). The p-value answers whether the family fits only if the "
                "tested model is fit(data)."
            )
        return Refitted(collection, fit.begun(collection.data.observations), seed, sizes(collection))

    def _refitting(self, model: Any) -> Refitting:
        """The user's function, or the one that fitted the model."""
        if self.fit is not None:
            return as_refitting(self.fit)
        known: Fit | None = model.provenance
        if known is None or known.refit is None:
            raise InputError(
                f"ParametricBootstrap() has no `fit`, and {model.name} does not know how it was fitted. Pass "
                "ParametricBootstrap(fit), with a function of the data that returns the fitted model."
            )
        return known.refit

    def __repr__(self) -> str:
        fit = "" if self.fit is None else f"{as_refitting(self.fit)!r}, "
        return f"ParametricBootstrap({fit}n_resamples={self.n_resamples})"


@dataclass(frozen=True)
class Refitted:
    """The statistics of some simulated samples, each under the model fitted to that sample."""

    collection: Collection
    fit: Refitting
    seed: int
    sizes: Array

    def __call__(self, batch: range) -> Array:
        """Those of the k-th depend on the seed and on k alone."""
        return np.array([self._alone(k) for k in batch])

    def _alone(self, k: int) -> Array:
        """In units of the observed mean of h(x, x)."""
        sample = self.collection.simulate(np.random.default_rng([self.seed, k]))
        again = refitted(self.collection.with_data(sample), self.fit, f"simulated sample {k}")
        return np.asarray(again.statistics() * self.sizes / sizes(again))


def sizes(collection: Collection) -> Array:
    """The mean of h(x, x) over the observations, for every member; one where it is zero."""
    found = np.array([form.diagonal().mean() for form in collection.forms])
    return np.where(found > 0.0, found, 1.0)


def refitted(collection: Collection, fit: Refitting, what: str) -> Collection:
    """The same questions of the model that is fitted to the collection's data."""
    try:
        again = collection.with_model(fit(collection.data.observations))
        _ = again.forms
    except (ResourceError, MemoryError):
        raise  # no failure of the fit
    except Exception as error:
        remedy = None
        if what != "the data":
            remedy = (
                "Samples of the fitted model that cannot be fitted mean that there are too few data for "
                "this null distribution: use a model that was fixed beforehand."
            )
        raise InputError(f"`fit` of ParametricBootstrap failed on {what}: {error}", remedy=remedy) from error
    return again
