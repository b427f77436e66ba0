"""Models of an outcome y given covariates x."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any, Self, TypeAlias

import numpy as np

from goodstein.conditional.data import Pairs, as_matrix
from goodstein.conditional.given import Given, Joint, OutcomeDomain
from goodstein.domains.base import Domain
from goodstein.errors import DomainError, InputError, SamplingError, ScoreError, describe_rows
from goodstein.models.callables import Kind
from goodstein.models.model import Model, title
from goodstein.types import RNG, Array, ArrayLike, BoolArray

Function: TypeAlias = Callable[..., Any]


class ConditionalModel:
    r"""A model of y given x, known through the score of its conditional density.

    .. math:: s(y \mid x) = \nabla_y \log p(y \mid x),

    which needs no normalising constant, not even one that depends on x.

    Parameters
    ----------
    score
        ``score(y, x)``, for all rows at once, (n, q) and (n, p) to (n, q), or for one, (q,) and (p,) to
        (q,). Data that are handed in as (n,) reach it as (n,). It may be written with NumPy, JAX or
        PyTorch. On a :class:`goodstein.Lattice` it is the difference score.
    logpdf
        ``logpdf(y, x)``, up to anything that depends on x alone; without ``score`` it is
        differentiated in y, as :class:`goodstein.Model` does it.
    sample
        ``sample(x, rng)``: one draw of y for each row of x.
    domain
        Where y lives, whatever x; None where that is not known.
    name
        What messages and results call the model.

    Examples
    --------
    >>> import numpy as np
    >>> from goodstein.conditional.model import ConditionalModel
    >>> model = ConditionalModel(score=lambda y, x: 2.0 * x - y, name="y = 2x + noise")
    >>> model.score(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([1., 0.])
    """

    def __init__(
        self,
        *,
        score: Function | None = None,
        logpdf: Function | None = None,
        sample: Function | None = None,
        domain: Domain | None = None,
        name: str | None = None,
    ) -> None:
        functions = {"score": score, "logpdf": logpdf, "sample": sample}
        for key, function in functions.items():
            if function is None:
                continue
            order = "x, rng" if key == "sample" else "y, x"
            if not callable(function):
                raise InputError(
                    f"`{key}` of ConditionalModel must be a function of ({order}), got {function!r}."
                )
            _require_two_arguments(function, f"`{key}` of ConditionalModel", f"{key}({order})")
        if score is None and logpdf is None:
            raise InputError("ConditionalModel needs a `score` or a `logpdf`, each a function of (y, x).")
        if domain is not None and not isinstance(domain, Domain):
            raise InputError(
                f"`domain` of ConditionalModel must be a domain of y, such as Box(0, 1), got {domain!r}."
            )
        self._functions = {key: value for key, value in functions.items() if value is not None}
        self._domain, self._name = domain, name
        self._batched = False
        self._joint: dict[Any, Model] = {}

    @classmethod
    def gaussian(cls, mean: Any, scale: Any = 1.0, *, name: str | None = None) -> Self:
        """y | x normal with the given mean and standard deviation.

        Parameters
        ----------
        mean
            A function of x that returns (n,) or (n, q), or a fitted regressor with a method
            ``predict``, such as those of scikit-learn. One that was fitted to a data frame takes the
            columns of x in the order of that data frame.
        scale
            The standard deviation: a number, one for each column of y, a function of x, or a fitted
            regressor.
        name
            What messages and results call the model.

        Examples
        --------
        >>> import numpy as np
        >>> from goodstein.conditional.model import ConditionalModel
        >>> model = ConditionalModel.gaussian(lambda x: 2.0 * x, lambda x: 1.0 + x)
        >>> model.score(np.array([1.0, 4.0]), np.array([0.0, 1.0]))
        array([-1. , -0.5])
        """
        from goodstein.conditional.normal import ConditionalNormal

        law = ConditionalNormal(mean, scale)
        model = cls(score=law.score, logpdf=law.logpdf, sample=law.sample, name=name or law.name)
        model._batched = True
        return model

    @property
    def domain(self) -> Domain | None:
        """Where y lives; None where that is not known."""
        return self._domain

    @property
    def name(self) -> str:
        """What messages and results call the model."""
        if self._name is not None:
            return self._name
        key = "score" if "score" in self._functions else "logpdf"
        return f"{key}={title(self._functions[key])}"

    @property
    def has_score(self) -> bool:
        """Whether the score was given, rather than obtained from the log density."""
        return "score" in self._functions

    @property
    def has_logpdf(self) -> bool:
        """Whether :meth:`logpdf` is available."""
        return "logpdf" in self._functions

    @property
    def has_sample(self) -> bool:
        """Whether :meth:`sample` is available."""
        return "sample" in self._functions

    sampler_advice = "Pass ConditionalModel(..., sample=function of (x, rng))"

    def score(self, y: ArrayLike, x: ArrayLike) -> Array:
        """∇_y log p(y | x) at each row, in the shape of y."""
        given, outcomes, shape = self._at(y, x)
        return given.score(outcomes).reshape(shape)

    def logpdf(self, y: ArrayLike, x: ArrayLike) -> Array:
        """The conditional log density at each row, up to anything that depends on x alone, (n,)."""
        given, outcomes, _ = self._at(y, x)
        return given.logpdf(outcomes)

    def sample(self, x: ArrayLike, rng: RNG = None) -> Array:
        """One draw of y for each row of x, as the sampler returns it, (n,) or (n, q)."""
        if not self.has_sample:
            raise SamplingError(
                f"{self.name} has no sampler. Pass ConditionalModel(sample=function of (x, rng))."
            )
        x = np.asarray(x, dtype=np.float64)
        drawn = np.asarray(self._functions["sample"](x, np.random.default_rng(rng)), dtype=np.float64)
        if drawn.ndim not in (1, 2) or len(drawn) != len(x):
            raise SamplingError(
                f"The sampler of {self.name} returned shape {drawn.shape} for {len(x)} rows of x; expected "
                f"({len(x)},) or ({len(x)}, q): one draw of y for each row."
            )
        broken: BoolArray = np.asarray(~np.isfinite(as_matrix(drawn)).all(axis=1))
        if broken.any():
            raise SamplingError(
                f"The sampler of {self.name} returned values that are not finite in {describe_rows(broken)}."
            )
        return drawn

    def sample_like(self, data: Pairs, rng: np.random.Generator) -> Pairs:
        """The same x, and y drawn anew."""
        drawn = self.sample(data.x, rng)
        if drawn.size != data.y.size:
            raise SamplingError(
                f"The sampler of {self.name} returned shape {drawn.shape}, but the outcomes have shape "
                f"{data.y.shape}."
            )
        outcomes = drawn.reshape(data.outcomes.shape)
        if self._domain is not None:
            try:
                self._domain.validate(outcomes)
            except DomainError as error:
                raise DomainError(
                    f"The sampler of {self.name} leaves the domain: {str(error).removeprefix('`data`: ')}"
                ) from None
        return Pairs(data.x, drawn.reshape(data.y.shape))

    def on(self, domain: Domain | None) -> Self:
        """The same model, with y declared to live on this domain."""
        moved = copy.copy(self)
        moved._domain, moved._joint = domain, {}
        return moved

    def adopt(self, raw: Any) -> ConditionalModel:
        """A conditional model from what a fit returned."""
        return as_conditional(raw)

    def given(self, pairs: Pairs) -> Given:
        """The model of the outcomes at these covariates, as a function of y alone."""
        return Given(self, pairs.covariates, pairs.x.ndim == 1, pairs.y.ndim == 1)

    def _at(self, y: ArrayLike, x: ArrayLike) -> tuple[Given, Array, tuple[int, ...]]:
        """The model at these covariates, the outcomes as a matrix, and their shape."""
        left, right = (np.asarray(values, dtype=np.float64) for values in (y, x))
        if left.ndim not in (1, 2) or right.ndim not in (1, 2) or len(left) != len(right):
            raise InputError(
                f"{self.name}: `y` has shape {left.shape} and `x` has shape {right.shape}; expected as many "
                "rows of both."
            )
        return Given(self, as_matrix(right), right.ndim == 1, left.ndim == 1), as_matrix(left), left.shape

    def __repr__(self) -> str:
        where = "" if self._domain is None else f", domain={self._domain!r}"
        return f"ConditionalModel({self.name}{where})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_joint": {}}

    def _on_joint_space(self, key: str, kind: Kind, z: Array, q: int, flat: tuple[bool, bool]) -> Model:
        """The model as a function of z = (y, x), so that all that can be done to a model can be done to it.

        How the user's function wants its arguments is found out here; as handed in comes first.
        """
        place = key, z.shape[1], q, flat
        if place not in self._joint:
            self._joint[place] = self._recognised(key, kind, z, q, flat)
        return self._joint[place]

    def _recognised(self, key: str, kind: Kind, z: Array, q: int, flat: tuple[bool, bool]) -> Model:
        p = z.shape[1] - q
        choices = [
            (y, x) for y in (True, False) for x in (True, False) if (q == 1 or not y) and (p == 1 or not x)
        ]
        choices.sort(key=lambda choice: (choice != flat, choice[1] != flat[1]))
        domain = None if self._domain is None else OutcomeDomain(self._domain, p)
        tried = []
        for flat_y, flat_x in choices:
            joint = Joint(self._functions[key], kind, q, flat_y, flat_x)
            model = Model(
                score=joint if kind is Kind.SCORE else None,
                logpdf=joint if kind is Kind.LOGPDF else None,
                domain=domain,
                batched=self._batched,
                name=self.name,
            )
            try:
                model._function(key, kind, z)
            except InputError as error:
                cause = error.__cause__ if error.__cause__ is not None else error
                tried.append(
                    f"  - y ({'n' if flat_y else f'n, {q}'}), x ({'n' if flat_x else f'n, {p}'}): {cause}"
                )
                continue
            return model
        values = f"(n, {q})" if kind is Kind.SCORE else "(n,)"
        raise ScoreError(
            f"`{key}` of {self.name} cannot be used: it must be a function {key}(y, x) that maps outcomes "
            f"(n, {q}) and covariates (n, {p}) to {values}, each row by itself. Tried:\n" + "\n".join(tried)
        )


def as_conditional(model: Any) -> ConditionalModel:
    """A :class:`ConditionalModel` from itself, from a score function of (y, x), or from an object with such.

    Raises
    ------
    InputError
        If it is a model of y alone, or something that has no score.
    """
    if isinstance(model, ConditionalModel):
        return model
    advice = (
        "A conditional model is ConditionalModel(score=function of (y, x)), ConditionalModel.gaussian(mean, "
        "scale), or a function score(y, x)."
    )
    if isinstance(model, type):
        raise InputError(f"`model` is the class {model.__name__}, not one of its instances. {advice}")
    from goodstein.families.base import Family

    if isinstance(model, Model | Family) or type(model).__module__.startswith("scipy.stats"):
        raise InputError(
            f"`model`: {model!r} is a model of y alone and does not look at x. {advice} "
            "For a model without covariates use ksd_test(y, model)."
        )
    if hasattr(model, "predict"):
        raise InputError(
            f"`model`: {type(model).__name__} predicts y but is no distribution of it. Pass "
            "ConditionalModel.gaussian(mean=regressor, scale=standard deviation), or a score of your own."
        )
    methods = {key: getattr(model, key, None) for key in ("score", "logpdf", "sample")}
    if callable(methods["score"]) or callable(methods["logpdf"]):
        found = {key: method for key, method in methods.items() if callable(method)}
        return ConditionalModel(**found, domain=getattr(model, "domain", None), name=type(model).__name__)
    if callable(model):
        _require_two_arguments(model, "`model`", "score(y, x)")
        return ConditionalModel(score=model)
    raise InputError(f"`model`: cannot use an object of type {type(model).__name__}. {advice}")


def _require_two_arguments(function: Function, what: str, signature: str) -> None:
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        raise InputError(
            f"{what} must take two arguments, {signature}; {getattr(function, '__name__', function)!r} does "
            "not. A model of y alone is tested with ksd_test(y, model)."
        ) from None
    except ValueError:  # compiled functions need not have a signature
        pass
