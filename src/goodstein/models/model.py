"""The one form in which the rest of the library sees a model: a score, and what else is known."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from typing import Any, Self

import numpy as np

from goodstein.constraints import asked, check_count, check_flag, check_text, real_array, require_functions
from goodstein.domains.base import Domain
from goodstein.domains.chart import Chart
from goodstein.domains.regions import as_domain
from goodstein.errors import (
    DomainError,
    InputError,
    NotFiniteError,
    SamplingError,
    ScoreError,
    describe_rows,
    within_memory,
)
from goodstein.lazy import cached_property
from goodstein.models.base import Found
from goodstein.models.callables import Batched, Convention, Kind, recognise
from goodstein.models.functions import Function, FunctionModel, points_of, title
from goodstein.models.line import Line, drawn_along
from goodstein.numerics.differentiate import gradient
from goodstein.numerics.frameworks import NumPy
from goodstein.types import RNG, Array, ArrayLike, BoolArray
from goodstein.validation import as_generator

MOST_KEPT = 4
"""Things that are kept of a distribution of the library, such as draws."""

OR_NONE = "a domain such as Box(lower, upper), or None"


class Model(FunctionModel):
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

    Notes
    -----
    At least one of ``score`` and ``logpdf`` is needed. How a function is to be called is found out from d + 1
    rows of the first data it is needed for. A function of all points must treat each row by itself.

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
        self._functions = {key: value for key, value in functions.items() if value is not None}
        require_functions(self._functions, type(self).__name__)
        if score is None and logpdf is None:
            raise InputError("Model needs a `score` or a `logpdf`, got neither. Pass at least one of them.")
        if domain is not None:
            domain = as_domain(domain, OR_NONE, type(self).__name__)
        self._domain, self._batched = domain, check_flag(batched, "batched", of=type(self).__name__)
        self._name = None if name is None else check_text(name, "name", of=type(self).__name__)
        self._recognised: dict[tuple[str, int], Batched] = {}
        self._near: Array | None = None

    @property
    def has_sample(self) -> bool:
        return super().has_sample or self.line is not None

    @cached_property
    def line(self) -> Line | None:
        """Draws along a line, of a model without a sampler that was told where to look (:meth:`near`)."""
        x = self._near
        if x is None or "sample" in self._functions or not self.everywhere or self.estimated:
            return None
        if not self._functions.keys() & {"score", "logpdf"}:  # what stands for them is an estimate
            return None
        key, kind = ("logpdf", Kind.LOGPDF) if self.has_logpdf else ("score", Kind.SCORE)
        try:
            if self._function(key, kind, x).slow:
                return None
            return drawn_along(
                lambda points: self._asked(key, kind, points), self._domain, x, logs=self.has_logpdf
            )
        except (InputError, ScoreError):
            # It cannot be asked so far from the data.
            return None

    @property
    def drawn_by(self) -> str | None:
        line = self.__dict__.get("line")  # not made for this question
        return None if line is None else f"along the line, by {line}"

    @property
    def draws_fast(self) -> bool:
        """Whether draws are known to take no time, as those of a user's own sampler are not."""
        return self.batched if "sample" in self._functions else self.line is not None

    @property
    def batched(self) -> bool:
        """Whether its functions are known to take all points at once, as those of the library do."""
        return self._batched

    _kept: dict[Hashable, Any] | None = None

    quasi_concave: bool = False
    """Whether the density is known to have no valley between any two points."""

    @property
    def closed_form(self) -> bool:
        """Whether it is a distribution of the library: immutable, and its score is that of its density."""
        return self._kept is not None

    def kept(self, key: Hashable, make: Callable[[], Found]) -> Found:
        if self._kept is None:
            return make()
        found: Found | None = self._kept.get(key)
        if found is None:
            for old in [*self._kept][: 1 - MOST_KEPT]:
                self._kept.pop(old, None)
            self._kept[key] = found = make()
        return found

    def score(self, x: ArrayLike) -> Array:
        """Gradient of the log density at each row of x (n, d), (n, d).

        On a domain with a tangent ``basis`` only the tangential part is determined; what a numerically
        differentiated log density gives is that part alone. Raises :class:`ScoreError` if the function cannot
        be called, or its result has the wrong shape or is not finite.
        """
        points = self._points(x)
        if not len(points):
            return points.copy()
        if self.has_score:
            values = self._asked("score", Kind.SCORE, points)
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
        values = self._asked("weighted_score", Kind.SCORE, points)
        self._require_finite("weighted score", values, points)
        return values

    def logpdf(self, x: ArrayLike) -> Array:
        """Log density at each row, up to a constant, (n,); -inf where the density is zero."""
        if not self.has_logpdf:
            raise ScoreError(f"{self.name} has no log density, only a score. Pass Model(logpdf=...) as well.")
        points = self._points(x)
        if not len(points):
            return np.empty(0)
        values = self._asked("logpdf", Kind.LOGPDF, points)
        bad = np.isnan(values)
        if bad.any():
            reason = f"The log density of {self.name} is NaN at {describe_rows(bad)}."
            remedy = "It must return -inf, not NaN, where the density is zero."
            raise ScoreError(reason, rows=bad, remedy=remedy)
        return values

    def log_likelihood(self, observations: Array) -> Array:
        return self.logpdf(observations)

    def sample(self, n: int, rng: RNG = None) -> Array:
        """Draw ``n`` independent points, (n, d), with a seed or generator."""
        if not self.has_sample:
            remedy = "Pass Model(sample=...), to be called as sample(n, rng)."
            raise SamplingError(f"{self.name} has no sampler.", remedy=remedy)
        n, generator = check_count(n, "n", 0), as_generator(rng)
        if self.line is not None:
            return self.line.sample(n, generator)[:, None]
        self.settle(self._drawn)
        return self._drawn(n, generator)

    def _drawn(self, n: int, rng: np.random.Generator) -> Array:
        """What the user's sampler returns."""
        what, d = f"The sampler of {self.name}", None if self._domain is None else self._domain.dim
        with within_memory(what):
            return points_of(self._functions["sample"], what, n, d, rng)

    def on(self, domain: Domain | None) -> Self:
        domain = None if domain is None else as_domain(domain, OR_NONE)
        if domain is not None and self._domain is not None and domain.dim != self._domain.dim:
            reason = f"{self.name} lives in {self._domain.dim} dimensions, {domain!r} in {domain.dim}."
            raise DomainError(reason, remedy="Pass a domain of the same dimension.")
        if domain is self._domain:
            return self
        moved = self.copied()
        moved._domain = domain
        return moved

    def copied(self) -> Self:
        """Another one, which shares what was recognised, compiled and found out: it is the same for both."""
        other = copy.copy(self)
        other._recognised, other._kept = self._recognised, self._kept
        other.__dict__.pop("line", None)  # which depends on the domain
        return other

    def near(self, observations: Any) -> Self:
        """The same, told where to look for its mass: without a sampler it draws along a line.

        These say where to begin, and nothing else: its draws are the same wherever they are.
        """
        if "sample" in self._functions or np.shape(observations)[1:] != (1,) or self._near is not None:
            return self
        told = self.copied()
        told._near = observations
        return told

    def read(self, data: Any) -> Any:
        """Data as this model describes them: draws of named parameters may have to be moved first."""
        return data

    def at(self, rows: Any) -> Self:
        """The model at these observations, where it knows nothing of others."""
        return self

    def restricted(self, domain: Domain, name: str, sample: Function | None) -> Self | None:
        """The model on a part of its domain, with a sampler that stays there; None if its score may change.

        A plain model is truncated (:class:`goodstein.families.Truncated`); one whose score is made of other
        things than a function of x keeps them.
        """
        return None

    def __repr__(self) -> str:
        where = "" if self._domain is None else f", domain={self._domain!r}"
        return f"{type(self).__name__}({self._title()}{where})"

    def _title(self) -> str:
        return self.name

    def __getstate__(self) -> dict[str, Any]:
        # What was recognised holds compiled functions; it is found again from the next data.
        return {**self.__dict__, "_recognised": {}, "_kept": None if self._kept is None else {}}

    def _points(self, x: ArrayLike) -> Array:
        points = real_array(x, "x")
        if points.ndim != 2:
            reason = f"{self.name}: points must be an array (n, d), got shape {points.shape}."
            raise InputError(reason, remedy="One column of data is x[:, None]; one point is x[None, :].")
        if self._domain is not None and points.shape[1] != self._domain.dim:
            own = f"{self._domain!r} has dimension {self._domain.dim}"
            reason = f"{self.name}: points have {points.shape[1]} columns, but {own}."
            raise InputError(reason, remedy="Pass data and model of the same dimension.")
        return points

    def _asked(self, key: str, kind: Kind, x: Array) -> Array:
        """What the user's function says at points."""
        found: Array = asked(self._function(key, kind, x), f"`{key}` of {self.name}", x, error=ScoreError)
        return found

    def _function(self, key: str, kind: Kind, x: Array) -> Batched:
        """Return the user's function as a batched one, recognised once for each dimension."""
        place = (key, x.shape[1])
        if place not in self._recognised and self._batched:
            self._recognised[place] = Batched(
                self._functions[key], kind, NumPy(), Convention.BATCH, settled=True
            )
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
        domain, name = self._domain, f"The log density of {self.name}"

        def function(points: Array) -> Array:
            found: Array = asked(logpdf, name, points if domain is None else domain.retracted(points))
            return found

        remedy = "pass Model(score=...), or a log density written with JAX or PyTorch"
        return gradient(function, x, domain, name=name, remedy=remedy)

    def _require_finite(self, what: str, values: Array, x: Array) -> None:
        finite = np.isfinite(values)
        if finite.all():
            return
        bad: BoolArray = np.asarray(~finite.all(axis=1))
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
            such = "Mirrored() or Standardised(ProductOfParts())"
            remedy = f"Use an operator that takes zeros, {such}, or remove these rows."
        elif what == "score":
            remedy = f"{remedy[:-1]}, or pass Model(weighted_score=...) if x∘score is finite there."
        raise NotFiniteError(message, rows=bad, remedy=remedy)


def in_coordinates(model: Model, chart: Chart) -> Model:
    """The model as a density qJ in the coordinates of a chart."""

    def score(x: Array) -> Array:
        return model.score(x) + chart.log_volume_gradient(x)

    return Model(score=score, domain=chart.region, batched=True, name=model.name)
