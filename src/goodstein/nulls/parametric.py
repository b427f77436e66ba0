"""The parametric bootstrap, for models whose parameters were fitted to the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.errors import InputError, warn
from goodstein.nulls.base import Simulating
from goodstein.problems.problem import Collection
from goodstein.types import Array
from goodstein.validation import check_count


@dataclass(frozen=True)
class ParametricBootstrap(Simulating):
    """Simulate the fitted model, fit again, and compute the statistic with the new fit.

    A model fitted to the very data it is tested on fits them too well; the wild bootstrap does
    not know that and is conservative. Refitting every simulated sample makes the same
    optimism part of the null distribution.

    Parameters
    ----------
    fit
        Function of data (n, d) that returns the fitted model, in any form that
        :func:`goodstein.as_model` takes; for example ``families.Normal.fit``.
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

    fit: Callable[[Any], Any]
    n_resamples: int = 399

    refits = True  # no annotation: not a field

    def __post_init__(self) -> None:
        check_count(self.n_resamples, "n_resamples")
        if not callable(self.fit):
            raise InputError(
                "`fit` of ParametricBootstrap must be a function of the data that returns a model, "
                f"got {self.fit!r}."
            )

    def task(self, collection: Collection, seed: int) -> Refitted:
        self._warn_if_other(collection)
        return Refitted(collection, self, seed)

    def _warn_if_other(self, collection: Collection) -> None:
        """Warn where the model tested is not the one that the fit gives."""
        given = collection.forms[0].diagonal()
        again = self.refitted(collection, "the data").forms[0].diagonal()
        if not np.allclose(given, again, rtol=1e-3, atol=1e-3 * float(np.abs(given).mean())):
            warn(
                f"ParametricBootstrap: fitting the data gives another model than the one tested "
                f"({collection.model.name}). The p-value answers whether the family fits only if the "
                "tested model is fit(data)."
            )

    def refitted(self, collection: Collection, what: str) -> Collection:
        """The same questions of the model that is fitted to the collection's data."""
        try:
            refitted = collection.with_model(self.fit(collection.data.observations))
            _ = refitted.forms
        except Exception as error:
            remedy = None
            if what != "the data":
                remedy = (
                    "Samples of the fitted model that cannot be fitted mean that there are too few data for "
                    "this null distribution: use a model that was fixed beforehand."
                )
            raise InputError(
                f"`fit` of ParametricBootstrap failed on {what}: {error}", remedy=remedy
            ) from error
        return refitted

    def __repr__(self) -> str:
        fit = getattr(self.fit, "func", self.fit)  # of a functools.partial
        name = getattr(fit, "__qualname__", repr(fit))
        return f"ParametricBootstrap({name}, n_resamples={self.n_resamples})"


@dataclass(frozen=True)
class Refitted:
    """The statistics of the k-th simulated sample under the model fitted to that sample."""

    collection: Collection
    null: ParametricBootstrap
    seed: int

    def __call__(self, k: int) -> Array:
        """They depend on the seed and on k alone."""
        sample = self.collection.simulate(np.random.default_rng([self.seed, k]))
        return self.null.refitted(self.collection.with_data(sample), f"simulated sample {k}").statistics()
