"""The one form in which the rest of the library sees a model: a score, and what else is known."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any, Self, TypeAlias

import numpy as np

from goodstein.domains.base import Domain
from goodstein.errors import DomainError, InputError, SamplingError, ScoreError, describe_rows
from goodstein.models.callables import Batched, Convention, Kind, recognise
from goodstein.numerics.differentiate import gradient
from goodstein.numerics.frameworks import NumPy
from goodstein.types import RNG, Array, ArrayLike, BoolArray

Function: TypeAlias = Callable[..., Any]


class Model:
    r"""A probability model on R^d, or on a part of it, known through its score.

    .. math:: s(x) = \nabla \log q(x),

    which needs no normalising constant of q.

    Parameters
    ----------
    score
        The score, as a function of all points, (n, d) to (n, d), or of one point, (d,) to
        (d,); in one dimension also of a flat array or a number. It may be written with
        NumPy, JAX or PyTorch.
    logpdf
        The log density, up to a constant, in any of the same forms, with one value for
        each point. Without ``score`` it is differentiated: automatically if it is a JAX or
        PyTorch function, otherwise numerically.
    domain
        Where the density lives; None where that is not known.
    sample
        A sampler, ``sample(n, rng)``, with ``rng`` a :class:`numpy.random.Generator`, that
        returns n independent points, (n, d).
    weighted_score
        The function x ∘ s(x), for models in which it is finite where the score is not:
        that of a Dirichlet distribution is α − 1, also at zeros.
    batched
        Whether the functions are known to be NumPy functions of all points at once, so that
        nothing has to be found out; a wrong promise is an error when they are called.
    name
        What messages and results call the model.

    Raises
    ------
    InputError
        If neither ``score`` nor ``logpdf`` is given, or an argument is of the wrong kind.

    Notes
    -----
    How a function is to be called is found out from d + 1 rows of the first data it is
    needed for. A function of all points must treat each row by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.models import Model
    >>> model = Model(logpdf=lambda x: -0.5 * np.sum(x**2), name="standard normal")
    >>> model
    Model(standard normal)
    >>> model.score([[1.0, 2.0], [3.0, 4.0]])
    array([[-1.0, -2.0], [-3.0, -4.0]])
    """

    def __init__(
        self,
        *,
        score: Function | None = None,
        logpdf: Function | None = None,
        domain: Domain | None = None,
        sample: Function | None = None,
        weighted_score: Function | None = None,
        batched: bool = False,
        name: str | None = None,
    ) -> None:
        functions = {"score": score, "logpdf": logpdf, "sample": sample, "weighted_score": weighted_score}
        for argument, function in functions.items():
            if function is not None and not callable(function):
                raise InputError(
                    f"`{argument}` of Model must be a function, got {type(function).__name__}. "
                    "Pass a callable, or None."
                )
        if score is None and logpdf is None:
            raise InputError("Model needs a `score` or a `logpdf`, got neither. Pass at least one of them.")
        if domain is not None and not isinstance(domain, Domain):
            raise InputError(
                f"`domain` of Model must be a goodstein.domains.Domain, got {domain!r}. "
                "Pass for example Box(lower, upper), or None."
            )
        self._functions = {key: value for key, value in functions.items() if value is not None}
        self._domain = domain
        self._batched = batched
        self._name = name
        self._recognised: dict[tuple[str, int], Batched] = {}
        self.estimated = False
        """Whether the score is an estimate with random errors."""

    @property
    def domain(self) -> Domain | None:
        """Where the density lives; None where that is not known."""
        return self._domain

    @property
    def name(self) -> str:
        """What messages and results call the model."""
        if self._name is not None:
            return self._name
        key = "score" if self.has_score else "logpdf"
        return f"{key}={title(self._functions[key])}"

    @property
    def has_score(self) -> bool:
        """Whether the score was given, rather than obtained by differentiating the log density."""
        return "score" in self._functions

    @property
    def has_logpdf(self) -> bool:
        """Whether :meth:`logpdf` is available."""
        return "logpdf" in self._functions

    @property
    def has_sample(self) -> bool:
        """Whether :meth:`sample` is available."""
        return "sample" in self._functions

    def score(self, x: ArrayLike) -> Array:
        """Gradient of the log density at each row.

        On a domain with a tangent ``basis`` only the tangential part is determined; what a
        numerically differentiated log density gives is that part alone.

        Parameters
        ----------
        x
            Points, (n, d).

        Returns
        -------
        Array
            The score, (n, d).

        Raises
        ------
        ScoreError
            If the function cannot be called, or its result has the wrong shape or is not
            finite.
        """
        points = self._points(x)
        if not len(points):
            return points.copy()
        if self.has_score:
            values = self._function("score", Kind.SCORE, points)(points)
        else:
            values = self._differentiated(points)
        self._require_finite("score", values, points)
        return values

    def weighted_score(self, x: ArrayLike) -> Array:
        """Return x ∘ s(x), (n, d), by its own function if there is one, so that zeros may be allowed."""
        points = self._points(x)
        if not len(points):
            return points.copy()
        if "weighted_score" not in self._functions:
            return points * self.score(points)
        values = self._function("weighted_score", Kind.SCORE, points)(points)
        self._require_finite("weighted score", values, points)
        return values

    def logpdf(self, x: ArrayLike) -> Array:
        """Log density at each row, up to a constant, (n,); -inf where the density is zero."""
        if not self.has_logpdf:
            raise ScoreError(f"{self.name} has no log density, only a score. Pass Model(logpdf=...) as well.")
        points = self._points(x)
        if not len(points):
            return np.empty(0)
        values = self._function("logpdf", Kind.LOGPDF, points)(points)
        if np.isnan(values).any():
            raise ScoreError(
                f"The log density of {self.name} is NaN at {describe_rows(np.isnan(values))}. "
                "It must return -inf, not NaN, where the density is zero."
            )
        return values

    def sample(self, n: int, rng: RNG = None) -> Array:
        """Draw independent points from the model.

        Parameters
        ----------
        n
            How many.
        rng
            A seed or generator, for :func:`numpy.random.default_rng`.

        Returns
        -------
        Array
            The points, (n, d).
        """
        if not self.has_sample:
            raise SamplingError(
                f"{self.name} has no sampler. Pass Model(sample=...), to be called as sample(n, rng)."
            )
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise InputError(f"`n`: expected a whole number of points, at least 0, got {n!r}.")
        generator = np.random.default_rng(rng)
        drawn = np.asarray(call_sampler(self._functions["sample"], n, generator), dtype=np.float64)
        if drawn.shape == (n,) and (self._domain is None or self._domain.dim == 1):
            drawn = drawn[:, None]
        d = self._domain.dim if self._domain is not None else drawn.shape[-1] if drawn.ndim else 0
        if drawn.shape != (n, d):
            expected = f"({n}, {d if self._domain is not None else 'd'})"
            raise SamplingError(
                f"The sampler of {self.name} returned shape {drawn.shape}; expected {expected}. "
                "`sample(n, rng)` must return one row for each point."
            )
        broken: BoolArray = np.asarray(~np.isfinite(drawn).all(axis=1))
        if broken.any():
            raise SamplingError(
                f"The sampler of {self.name} returned values that are not finite in "
                f"{describe_rows(broken)}. Check its parameters."
            )
        return drawn

    def on(self, domain: Domain | None) -> Self:
        """Return the same model, declared to live on this domain.

        Examples
        --------
        >>> from goodstein.domains import Box
        >>> from goodstein.models import Model
        >>> Model(score=lambda x: -x, name="normal").on(Box([0.0], [1.0])).domain
        Box([0, 1])
        """
        if domain is not None and not isinstance(domain, Domain):
            raise InputError(f"Expected a goodstein.domains.Domain or None, got {domain!r}.")
        if domain is not None and self._domain is not None and domain.dim != self._domain.dim:
            raise DomainError(
                f"{self.name} lives in {self._domain.dim} dimensions, {domain!r} in {domain.dim}. "
                "Pass a domain of the same dimension."
            )
        moved = copy.copy(self)
        moved._domain = domain
        # What was recognised, and compiled, does not depend on the domain: the copies share it.
        moved._recognised = self._recognised
        return moved

    def __repr__(self) -> str:
        where = "" if self._domain is None else f", domain={self._domain!r}"
        return f"Model({self.name}{where})"

    def __getstate__(self) -> dict[str, Any]:
        # What was recognised holds compiled functions; it is found again from the next data.
        return {**self.__dict__, "_recognised": {}}

    def _points(self, x: ArrayLike) -> Array:
        points = np.asarray(x, dtype=np.float64)
        if points.ndim != 2:
            raise InputError(
                f"{self.name}: points must be an array (n, d), got shape {points.shape}. "
                "One column of data is x[:, None]; one point is x[None, :]."
            )
        if self._domain is not None and points.shape[1] != self._domain.dim:
            raise InputError(
                f"{self.name}: points have {points.shape[1]} columns, but {self._domain!r} has dimension "
                f"{self._domain.dim}. Pass data and model of the same dimension."
            )
        return points

    def _function(self, key: str, kind: Kind, x: Array) -> Batched:
        """Return the user's function as a batched one, recognised once for each dimension."""
        if self._batched:
            return Batched(self._functions[key], kind, NumPy(), Convention.BATCH, settled=True)
        place = (key, x.shape[1])
        if place not in self._recognised:
            named = self._name or title(self._functions[key])
            batched = recognise(self._functions[key], kind, x, f"`{key}` of {named}")
            if not batched.settled:
                return batched
            self._recognised[place] = batched
        return self._recognised[place]

    def _differentiated(self, x: Array) -> Array:
        logpdf = self._function("logpdf", Kind.LOGPDF, x)
        if logpdf.framework.differentiable:
            return logpdf.gradient(x)
        domain = self._domain
        return gradient(
            logpdf if domain is None else lambda points: logpdf(domain.retracted(points)),
            x,
            self._domain,
            name=f"The log density of {self.name}",
            remedy="pass Model(score=...), or a log density written with JAX or PyTorch",
        )

    def _require_finite(self, what: str, values: Array, x: Array) -> None:
        bad: BoolArray = np.asarray(~np.isfinite(values).all(axis=1))
        if not bad.any():
            return
        message = f"The {what} of {self.name} is not finite at {describe_rows(bad)}."
        if self._domain is not None:
            outside = bad & ~self._domain.contains(x)
            edge = bad & ~outside & ~(self._domain.boundary_distance(x) > 0)
            if outside.any():
                message += f" Of these, {outside.sum()} lie outside {self._domain!r}."
            if edge.any():
                message += f" Of these, {edge.sum()} lie on the boundary of {self._domain!r}."
        remedy = "Remove or move these rows, or correct the function."
        if what == "score" and "weighted_score" in self._functions:
            remedy = (
                "Use an operator that takes zeros, Mirrored() or Standardised(ProductOfParts()), or remove "
                "these rows."
            )
        elif what == "score":
            remedy = f"{remedy[:-1]}, or pass Model(weighted_score=...) if x∘score is finite there."
        raise ScoreError(f"{message} {remedy}")


def call_sampler(function: Function, n: int, rng: np.random.Generator) -> Any:
    """Call sample(n, rng) or sample(n, rng=rng), whichever the function takes."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # compiled functions need not have a signature
        return function(n, rng)
    keyword = next((key for key in ("rng", "random_state") if key in parameters), None)
    if keyword is not None and parameters[keyword].kind is not inspect.Parameter.POSITIONAL_ONLY:
        return function(n, **{keyword: rng})
    kinds = [parameter.kind for parameter in parameters.values()]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if sum(kind in positional for kind in kinds) >= 2 or inspect.Parameter.VAR_POSITIONAL in kinds:
        return function(n, rng)
    raise SamplingError(
        f"The sampler {title(function)} takes no random number generator, so its draws could not be "
        "repeated. Give it the signature sample(n, rng)."
    )


def title(function: Function) -> str:
    """Name a function as its author would."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    return str(name if name is not None else type(function).__name__).rpartition("<locals>.")[2]
