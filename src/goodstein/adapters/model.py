"""Models from whatever the user has: functions, distributions, fitted estimators.

Objects are told apart by the modules that their classes come from and by the methods that
they have, so that no other package is imported to look at them.
"""

from __future__ import annotations

from typing import Any

from goodstein.adapters.methods import from_methods
from goodstein.conditional.model import ConditionalModel
from goodstein.constraints import is_function
from goodstein.foreign import describe, require_instance, roots, unusable
from goodstein.lazy import deferred
from goodstein.models.model import Model

posteriors = deferred("goodstein.adapters.posteriors")
probabilistic = deferred("goodstein.adapters.probabilistic")
scikit_learn = deferred("goodstein.adapters.scikit_learn")
scipy_stats = deferred("goodstein.adapters.scipy_stats")

ACCEPTED = """\
  - a goodstein Model, or a distribution from goodstein.families
  - a score function, x -> grad log q(x), of NumPy, JAX or PyTorch arrays
  - a log density: Model(logpdf=function)
  - a frozen scipy.stats distribution, such as scipy.stats.norm(0, 1)
  - a fitted scikit-learn GaussianMixture or KernelDensity
  - a distribution with .log_prob (torch.distributions, numpyro)
  - a Stan model with .log_density_gradient (BridgeStan), or a PyMC model
  - a numpyro model with its data: from_numpyro(model, data)
  - gradients at the draws: Gradients(array)
  - any object with a method .score(x) or .logpdf(x)"""


def as_model(model: Any) -> Model:
    """Turn a function, distribution or fitted estimator into a :class:`Model`.

    Parameters
    ----------
    model
        One of

        - a :class:`Model`, which is returned as it is;
        - an object with a method ``score``, and perhaps ``logpdf``, ``sample``,
          ``weighted_score`` and an attribute ``domain``: those of
          :mod:`goodstein.families`, or one of yours;
        - a score function (for a log density write ``Model(logpdf=...)``);
        - a frozen distribution of :mod:`scipy.stats`, old or new style, or a
          ``gaussian_kde``;
        - a fitted ``GaussianMixture`` or ``KernelDensity`` of scikit-learn;
        - an object with ``log_prob``, such as the distributions of PyTorch and numpyro;
        - a Stan model with ``log_density_gradient``, as BridgeStan has, or a PyMC model, on their
          unconstrained parameters, to which draws in a container with names are moved
          (of numpyro :func:`from_numpyro`);
        - an object with ``logpdf``.

    Examples
    --------
    >>> import scipy.stats
    >>> from goodstein.adapters import as_model
    >>> model = as_model(scipy.stats.expon(scale=2))
    >>> model
    Model(scipy.stats.expon(scale=2), domain=Box([0, inf)))
    >>> model.score([[1.0], [5.0]])
    array([[-0.5], [-0.5]])
    """
    if isinstance(model, Model):
        return model
    require_instance(model)
    _require_points(model)
    origins = roots(model)
    if "sklearn" in origins and not _own_score(model):
        # First, because the `score` of an estimator is a figure of merit, not a gradient.
        return scikit_learn.from_estimator(model)  # type: ignore[no-any-return]
    if "scipy" in origins:
        return scipy_stats.from_distribution(model)  # type: ignore[no-any-return]
    if "pymc" in origins and callable(getattr(model, "logp_dlogp_function", None)):
        return posteriors.from_pymc(model)  # type: ignore[no-any-return]
    methods = ("score", "log_density_gradient", "grad_log_prob", "log_prob", "logpdf")
    found = next((name for name in methods if callable(getattr(model, name, None))), None)
    if found in ("score", "logpdf"):
        return from_methods(model)
    if found is not None:
        read = probabilistic.from_log_prob if found == "log_prob" else posteriors.from_stan
        return read(model)  # type: ignore[no-any-return]
    if is_function(model):
        return Model(score=model)
    swapped = " Are data and model swapped?" if hasattr(model, "__array__") else ""
    cls = type(model)
    kind = cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    raise unusable(f"cannot use {describe(model)} of type {kind}.{swapped} Accepted are\n{ACCEPTED}")


def _require_points(model: Any) -> None:
    """Raise for models of something else than points, and say which test takes them."""
    if isinstance(model, ConditionalModel):
        raise unusable(f"{model!r} is a model of y given x.", "Use conditional_ksd_test(x, y, model).")
    if callable(getattr(model, "papangelou", None)):
        remedy = "Use point_pattern_ksd_test(patterns, model)."
        raise unusable(f"{describe(model)} is a point process, a model of whole patterns of points.", remedy)


def _own_score(model: Any) -> bool:
    """Whether the class that defines ``score`` is not one of scikit-learn's."""
    modules = (cls.__module__ for cls in type(model).__mro__ if "score" in vars(cls))
    return not next(modules, "sklearn.").startswith("sklearn.")
