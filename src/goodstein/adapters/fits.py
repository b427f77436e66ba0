"""Functions that fit, from whatever a user has: functions, families, estimators of other packages."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodstein.errors import InputError
from goodstein.foreign import describe
from goodstein.lazy import deferred
from goodstein.models.provenance import Fittable, Refit, Refitting
from goodstein.survival.data import Censored

lifelines = deferred("goodstein.adapters.lifelines")
scikit_learn = deferred("goodstein.adapters.scikit_learn")
statsmodels = deferred("goodstein.adapters.statsmodels")

ACCEPTED = """\
  - a function of the data that returns a model, such as families.Normal.fit or, with options,
    lambda x: families.GaussianMixture.fit(x, n_components=2)
  - a family with a method fit, such as families.Dirichlet, or a model that was fitted with it
  - a fitter of lifelines, such as WeibullFitter
  - a GaussianMixture of scikit-learn
  - results of a regression of counts of statsmodels
  - a distribution of scipy.stats without parameters, such as scipy.stats.norm"""


def as_refitting(fit: Any) -> Refitting:
    """What fits models to data, from a function or from something that has one.

    >>> import goodstein as gs
    >>> from goodstein.adapters.fits import as_refitting
    >>> as_refitting(gs.families.Normal)([[0.0], [2.0]])
    Normal(mean=[1], cov=[[1]])
    """
    if isinstance(fit, Refitting):
        return fit
    # The method of an object of another package stands for the object.
    owner = getattr(fit, "__self__", None) if getattr(fit, "__name__", "") == "fit" else None
    held = fit if owner is None else owner
    kind = held if isinstance(held, type) else type(held)
    origins = {cls.__module__.partition(".")[0] for cls in kind.__mro__}
    if "lifelines" in origins:
        return lifelines.refitting(held)  # type: ignore[no-any-return]
    if "sklearn" in origins:
        return scikit_learn.refitting(held)  # type: ignore[no-any-return]
    if "statsmodels" in origins and hasattr(held, "params"):
        return statsmodels.FitAgain(held)  # type: ignore[no-any-return]
    if "scipy" in origins and callable(getattr(held, "fit", None)):
        return FitOfScipy(held)
    if isinstance(fit, Fittable) and fit.provenance is not None and fit.provenance.refit is not None:
        return fit.provenance.refit
    family = fit if isinstance(fit, type) else type(fit)
    if issubclass(family, Fittable) and inspect.ismethod(getattr(family, "fit", None)):
        return _of_family(family)
    if isinstance(fit, type) or not callable(fit):
        name = fit.__name__ if isinstance(fit, type) else describe(fit)
        raise InputError(f"`fit` of ParametricBootstrap cannot be {name}. Accepted are\n{ACCEPTED}")
    return FitFunction(fit)


@dataclass(frozen=True)
class FitFunction(Refitting):
    """A user's function."""

    function: Callable[[Any], Any]

    def __call__(self, data: Any) -> Any:
        return self.function(data)

    def __repr__(self) -> str:
        function = getattr(self.function, "func", self.function)  # of a functools.partial
        return str(getattr(function, "__qualname__", None) or repr(function))


@dataclass(frozen=True)
class FitOfScipy(Refitting):
    """A distribution of scipy.stats, whose ``fit`` returns the parameters."""

    distribution: Any

    def __call__(self, data: Any) -> Any:
        with np.errstate(all="ignore"):  # on the way of the search
            if isinstance(data, Censored):  # durations begin at zero
                return self.distribution(*self.distribution.fit(data.to_scipy(), floc=0))
            x = data[:, 0] if data.shape[1] == 1 else data
            return self.distribution(*self.distribution.fit(x))

    def __repr__(self) -> str:
        return f"scipy.stats.{self.distribution.name}"


def _of_family(family: type[Fittable]) -> Refit:
    """The ``fit`` of a family, which must need nothing but data."""
    _, *options = inspect.signature(family.fit).parameters.values()  # type: ignore[attr-defined]
    needed = [option.name for option in options if option.default is option.empty]
    if needed:
        given = ", ".join(f"{name}=..." for name in needed)
        raise InputError(
            f"{family.__name__}.fit needs {' and '.join(needed)} beside the data. Pass "
            f"ParametricBootstrap(lambda x: {family.__name__}.fit(x, {given}))."
        )
    return Refit(family, {})
