"""Posteriors of Stan, PyMC and numpyro, as models of their unconstrained parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from goodstein.constraints import is_function
from goodstein.domains import Euclidean
from goodstein.errors import must
from goodstein.foreign import describe, unusable
from goodstein.models.model import Model
from goodstein.models.unconstrained import Unconstrained, columns
from goodstein.numerics.frameworks import Jax
from goodstein.numerics.own_arrays import with_own_arrays
from goodstein.types import Array

Shapes = dict[str, tuple[int, ...]]


# --- Stan --------------------------------------------------------------------------------------------


def from_stan(stan: Any) -> Model:
    """Turn a Stan model into one of its unconstrained parameters."""
    dimension = getattr(stan, "param_unc_num", None)
    wrapped = Stan(stan)
    if not all(callable(getattr(stan, name, None)) for name in ("param_names", "param_unconstrain")):
        domain = Euclidean(int(dimension())) if callable(dimension) else None
        return Model(score=wrapped.score, logpdf=wrapped.logpdf, domain=domain, name=describe(stan))
    title = stan.name() if callable(getattr(stan, "name", None)) else describe(stan)
    names = [bracketed(name) for name in (getattr(stan, "param_unc_names", None) or stan.param_names)()]
    return Unconstrained(
        wrapped.shapes, wrapped.moved, names, score=wrapped.score, logpdf=wrapped.logpdf, name=str(title)
    )


def bracketed(name: str) -> str:
    """theta.1.2 of BridgeStan as theta[1,2]."""
    head, *places = name.split(".")
    return f"{head}[{','.join(places)}]" if places else head


class Stan:
    """A Stan model, of BridgeStan or PyStan, which takes one parameter vector at a time."""

    def __init__(self, stan: Any) -> None:
        self.stan = stan

    def score(self, x: Array) -> Array:
        """Gradient of the log density of the unconstrained parameters, (n, d)."""
        both, stan = hasattr(self.stan, "log_density_gradient"), self.stan
        return np.stack([stan.log_density_gradient(row)[1] if both else stan.grad_log_prob(row) for row in x])

    def logpdf(self, x: Array) -> Array:
        """Log density of the unconstrained parameters, (n,)."""
        both, stan = hasattr(self.stan, "log_density_gradient"), self.stan
        return np.array(
            [stan.log_density_gradient(row)[0] if both else stan.log_prob(row) for row in x], float
        )

    @property
    def places(self) -> list[tuple[str, tuple[Any, ...]]]:
        """Variable and place, from zero on, of every constrained parameter."""
        split = [name.split(".") for name in self.stan.param_names()]
        return [(head, tuple(int(place) - 1 for place in rest)) for head, *rest in split]

    @property
    def shapes(self) -> Shapes:
        """Shapes of the variables."""
        found: Shapes = {}
        for name, place in self.places:
            before = found.get(name, (0,) * len(place))
            found[name] = tuple(max(size, k + 1) for size, k in zip(before, place, strict=True))
        return found

    def moved(self, parameters: dict[str, Array]) -> Array:
        """Unconstrained parameters, (n, d), in the order of Stan, which is that of columns in a matrix."""
        rows = np.column_stack([parameters[name][..., *place] for name, place in self.places])
        return np.stack([self.stan.param_unconstrain(np.ascontiguousarray(row)) for row in rows])


# --- PyMC --------------------------------------------------------------------------------------------


def from_pymc(model: Any) -> Model:
    """Turn a PyMC model into one of its unconstrained parameters.

    Its gradient is compiled here, which takes a while.
    """
    discrete = [value.name for value in model.value_vars if value not in model.continuous_value_vars]
    if discrete:
        raise _discrete("PyMC model", discrete)
    function = model.logp_dlogp_function(ravel_inputs=True)
    function.set_extra_values({})
    start = model.initial_point()
    order = [value.name for value in model.continuous_value_vars]
    inside = {name: tuple(np.shape(start[name])) for name in order}

    def ask(x: Array) -> tuple[Array, Array]:
        found = [function(np.ascontiguousarray(row)) for row in x]
        return np.array([float(value) for value, _ in found]), np.stack([slope for _, slope in found])

    own = model.eval_rv_shapes()
    variables = {variable: model.rvs_to_values[variable].name for variable in model.free_RVs}
    return Unconstrained(
        {variable.name: tuple(map(int, own[variable.name])) for variable in variables},
        _pymc_move(model, {label: variable for variable, label in variables.items()}, order),
        columns(inside),
        score=lambda x: ask(x)[1],
        logpdf=lambda x: ask(x)[0],
        name="PyMC model" if not model.name else f"PyMC model {model.name}",
    )


def _pymc_move(
    model: Any, variables: dict[str, Any], order: list[str]
) -> Callable[[dict[str, Array]], Array]:
    """The transformation of draws, which may depend on other parameters: bounds that are drawn too."""
    import pytensor

    inputs = [variables[label] for label in order]
    moved = []
    for variable in inputs:
        transform = model.rvs_to_transforms[variable]
        moved.append(variable if transform is None else transform.forward(variable, *variable.owner.inputs))
    function = pytensor.function(inputs, moved, on_unused_input="ignore")

    def move(parameters: dict[str, Array]) -> Array:
        draws = zip(*(parameters[variable.name] for variable in inputs), strict=True)
        return np.stack([np.concatenate([np.ravel(part) for part in function(*draw)]) for draw in draws])

    return move


# --- numpyro -----------------------------------------------------------------------------------------


def from_numpyro(model: Callable[..., Any], *args: Any, **kwargs: Any) -> Model:
    """The posterior of a numpyro model given its arguments, on unconstrained parameters.

    Draws of the constrained ones, in a container of arviz, a dictionary of arrays or the ``MCMC`` object
    itself, are moved there; their density has the Jacobian.

    Parameters
    ----------
    model
        The function with ``numpyro.sample`` statements.
    *args, **kwargs
        What it is called with, data included.

    Examples
    --------
    >>> import numpy as np
    >>> import numpyro
    >>> import numpyro.distributions as dist
    >>> import goodstein as gs
    >>> def scale(y):
    ...     sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
    ...     numpyro.sample("y", dist.Normal(0.0, sigma), obs=y)
    >>> posterior = gs.from_numpyro(scale, np.array([0.3, -1.2, 0.8]))
    >>> draws = {"sigma": np.random.default_rng(1).uniform(0.4, 2.0, 200)}
    >>> gs.ksd_test(draws, posterior, rng=1).pvalue < 0.05
    True
    """
    if not is_function(model):
        raise must("model", "a function with numpyro.sample statements", model)
    import jax
    from numpyro.handlers import seed, trace
    from numpyro.infer.util import potential_energy, unconstrain_fn

    name = getattr(model, "__name__", type(model).__name__)
    model = with_own_arrays(model)  # a sampler may have seen those around it in single precision
    with Jax().context():
        try:
            args, kwargs = jax.tree.map(
                lambda part: jax.numpy.asarray(part) if isinstance(part, np.ndarray | jax.Array) else part,
                (args, kwargs),
            )
            sites = trace(seed(model, rng_seed=0)).get_trace(*args, **kwargs)
        except Exception as failure:
            reason = f"The numpyro model raised {type(failure).__name__}: {failure!s:.160}."
            remedy = "Pass what it takes, one by one: from_numpyro(model, x, y)."
            raise unusable(reason, remedy) from failure
        latent = {
            name: site["value"]
            for name, site in sites.items()
            if site["type"] == "sample" and not site["is_observed"]
        }
        discrete = [name for name in latent if getattr(sites[name]["fn"].support, "is_discrete", False)]
        if discrete:
            raise _discrete("numpyro model", discrete)
        if not latent:
            raise unusable("The numpyro model has no parameters.", "Leave some variables unobserved.")
        small = [name for name, site in sites.items() if site["type"] == "plate" and _subsampled(site)]
        if small:
            reason = f"The plate {small[0]} takes a random part of its rows, so the density is random too."
            raise unusable(reason, "Leave out its subsample_size.")

        def inside(parameters: Any) -> Any:
            return unconstrain_fn(model, args, kwargs, parameters)

        shapes = {name: tuple(np.shape(value)) for name, value in inside(latent).items()}

        def log_density(theta: Any) -> Any:
            ends = np.cumsum([math.prod(shape) for shape in shapes.values()])[:-1]
            parts = zip(shapes.items(), jax.numpy.split(theta, ends), strict=True)
            parameters = {name: part.reshape(shape) for (name, shape), part in parts}
            return -potential_energy(model, args, kwargs, parameters)

        values, slopes = jax.jit(jax.vmap(log_density)), jax.jit(jax.vmap(jax.grad(log_density)))
        mover = jax.jit(jax.vmap(inside))

    def move(parameters: dict[str, Array]) -> Array:
        with Jax().context():
            found = mover({name: jax.numpy.asarray(part, float) for name, part in parameters.items()})
            return np.column_stack([np.asarray(found[name]).reshape(len(found[name]), -1) for name in shapes])

    def asked(function: Callable[[Any], Any], x: Array) -> Array:
        with Jax().context():
            return np.asarray(function(jax.numpy.asarray(x)), np.float64)

    return Unconstrained(
        {name: tuple(np.shape(value)) for name, value in latent.items()},
        move,
        columns(shapes),
        score=lambda x: asked(slopes, x),
        logpdf=lambda x: asked(values, x),
        name="numpyro model" if name == "model" else f"numpyro model {name}",
    )


def _subsampled(site: Any) -> bool:
    size, part = site["args"]
    return part is not None and part < size


def _discrete(what: str, names: list[str]) -> Exception:
    remedy = "Sum them out, as samplers with gradients need it too."
    return unusable(
        f"The {what} has discrete parameters ({', '.join(names)}), which have no gradient.", remedy
    )
