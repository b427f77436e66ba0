"""Models from whatever the user has: functions, distributions, fitted estimators.

Objects are told apart by the modules that their classes come from and by the methods that
they have, so that no other package is imported to look at them.
"""

from __future__ import annotations

from typing import Any

from goodstein.adapters.describe import describe, roots
from goodstein.domains.base import Domain
from goodstein.errors import InputError
from goodstein.models.model import Model

ACCEPTED = """\
  - a goodstein Model, or a distribution from goodstein.families
  - a score function, x -> grad log q(x), of NumPy, JAX or PyTorch arrays
  - a log density: Model(logpdf=function)
  - a frozen scipy.stats distribution, such as scipy.stats.norm(0, 1)
  - a fitted scikit-learn GaussianMixture or KernelDensity
  - a distribution with .log_prob (torch.distributions, numpyro)
  - a Stan model with .log_density_gradient (BridgeStan)
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
        - a Stan model with ``log_density_gradient``, on its unconstrained parameters;
        - an object with ``logpdf``.

    Returns
    -------
    Model
        The model, with the domain and the sampler that the object declares.

    Raises
    ------
    InputError
        If it is none of these, is not fitted or not frozen, or is discrete.

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
    if isinstance(model, type):
        raise InputError(
            f"`model` is the class {model.__name__}, not one of its instances. "
            f"Call it with parameters: {model.__name__}(...)."
        )
    _require_points(model)
    origins = roots(model)
    if "sklearn" in origins and not _own_score(model):
        # First, because the `score` of an estimator is a figure of merit, not a gradient.
        from goodstein.adapters.scikit_learn import from_estimator

        return from_estimator(model)
    if "scipy" in origins:
        from goodstein.adapters.scipy_stats import from_distribution

        return from_distribution(model)
    if callable(getattr(model, "score", None)):
        return _from_methods(model)
    if callable(getattr(model, "log_density_gradient", None)) or callable(
        getattr(model, "grad_log_prob", None)
    ):
        from goodstein.adapters.probabilistic import from_stan

        return from_stan(model)
    if callable(getattr(model, "log_prob", None)):
        from goodstein.adapters.probabilistic import from_log_prob

        return from_log_prob(model)
    if callable(getattr(model, "logpdf", None)):
        return _from_methods(model)
    if callable(model):
        return Model(score=model)
    swapped = " Are data and model swapped?" if hasattr(model, "__array__") else ""
    raise InputError(
        f"`model`: cannot use {describe(model)} of type {_type(model)}.{swapped} Accepted are\n{ACCEPTED}"
    )


def _require_points(model: Any) -> None:
    """Raise for models of something else than points, and say which test takes them."""
    from goodstein.conditional.model import ConditionalModel

    if isinstance(model, ConditionalModel):
        raise InputError(
            f"`model`: {model!r} is a model of y given x. Use conditional_ksd_test(x, y, model)."
        )
    if callable(getattr(model, "papangelou", None)):
        raise InputError(
            f"`model`: {describe(model)} is a point process, a model of whole patterns of points. Use "
            "point_pattern_ksd_test(patterns, model)."
        )


def _own_score(model: Any) -> bool:
    """Whether the class that defines ``score`` is not one of scikit-learn's."""
    for cls in type(model).__mro__:
        if "score" in vars(cls):
            return not cls.__module__.startswith("sklearn.")
    return False


def _from_methods(model: Any) -> Model:
    # An object may have a method and yet say that it cannot be used, as a truncated score does.
    methods = {
        key: getattr(model, key, None) if getattr(model, f"has_{key}", True) else None
        for key in ("score", "logpdf", "sample", "weighted_score")
    }
    domain = getattr(model, "domain", None)
    if domain is not None and not isinstance(domain, Domain):
        raise InputError(
            f"`model`: the attribute `domain` of {describe(model)} must be a goodstein.domains.Domain or "
            f"None, got {domain!r}."
        )
    return Model(
        **{key: method for key, method in methods.items() if callable(method)},
        domain=domain,
        batched=getattr(model, "batched", False),
        name=describe(model),
    )


def _type(model: Any) -> str:
    cls = type(model)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
