"""Models of an outcome y given covariates x."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any, Self, TypeAlias

import numpy as np

from goodstein.conditional.at_covariates import AtCovariates, Joint, OutcomeDomain
from goodstein.conditional.data import Paired, as_matrix
from goodstein.conditional.normal import ConditionalNormal
from goodstein.constraints import answered, asked, check_text, real_array, require_functions
from goodstein.domains.base import Domain
from goodstein.errors import InputError, SamplingError, ScoreError, describe_rows, must
from goodstein.models.callables import Kind
from goodstein.models.functions import FunctionModel
from goodstein.models.model import Model
from goodstein.types import RNG, Array, ArrayLike, BoolArray
from goodstein.validation import as_generator

Function: TypeAlias = Callable[..., Any]

ROWS = 4
"""Covariates at which it is asked whether a sampler uses its generator: at some, y may be certain."""


class ConditionalModel(FunctionModel):
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

    takes = Paired

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
            require_functions({key: function}, "ConditionalModel", f"a function of ({order})")
            require_two_arguments(function, f"`{key}` of ConditionalModel", f"{key}({order})")
        if score is None and logpdf is None:
            raise InputError("ConditionalModel needs a `score` or a `logpdf`, each a function of (y, x).")
        if domain is not None and not isinstance(domain, Domain):
            raise must("domain", "a domain of y, such as Box(0, 1)", domain, "ConditionalModel")
        self._functions = {key: value for key, value in functions.items() if value is not None}
        self._domain = domain
        self._name = None if name is None else check_text(name, "name", of="ConditionalModel")
        self._batched = False
        self._joint: dict[Any, Model] = {}

    @classmethod
    def gaussian(cls, mean: Any, scale: Any = 1.0, *, name: str | None = None) -> Self:
        """y | x normal with the given mean and standard deviation.

        Parameters
        ----------
        mean
            A function of x that returns (n,) or (n, q), or a fitted regressor with a method ``predict``, such
            as those of scikit-learn. One that was fitted to a data frame takes its columns in their order.
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
        law = ConditionalNormal(mean, scale)
        model = cls(
            score=law.score, logpdf=law.logpdf, sample=law.sample, name=law.name if name is None else name
        )
        model._batched = True
        return model

    @property
    def sampler_advice(self) -> str:
        return "Pass ConditionalModel(..., sample=function of (x, rng))"

    def score(self, y: ArrayLike, x: ArrayLike) -> Array:
        """∇_y log p(y | x) at each row, in the shape of y."""
        given, outcomes, shape = self._at(y, x)
        return given.score(outcomes).reshape(shape)

    def logpdf(self, y: ArrayLike, x: ArrayLike) -> Array:
        """The conditional log density at each row, up to anything that depends on x alone, (n,)."""
        given, outcomes, _ = self._at(y, x)
        return given.logpdf(outcomes)

    def log_likelihood(self, observations: Paired) -> Array:
        return self.given(observations).logpdf(observations.outcomes)

    def sample(self, x: ArrayLike, rng: RNG = None) -> Array:
        """One draw of y for each row of x, as the sampler returns it, (n,) or (n, q)."""
        if not self.has_sample:
            raise SamplingError(
                f"{self.name} has no sampler. Pass ConditionalModel(sample=function of (x, rng))."
            )
        x, generator = real_array(x, "x"), as_generator(rng)
        if x.ndim == 0:
            raise must("x", "covariates, (n,) or (n, p)", x)
        few = x[:ROWS]

        def outcomes(n: int, rng: np.random.Generator) -> Array:
            """n draws at each of a few rows of x, with those at one place in one row."""
            return self._drawn(np.repeat(few, n, axis=0), rng).reshape(len(few), n, -1).swapaxes(0, 1)

        self.settle(outcomes)
        return self._drawn(x, generator)

    def _drawn(self, x: Array, rng: np.random.Generator) -> Array:
        """What the user's sampler returns."""
        what = f"The sampler of {self.name}"
        found = asked(self._functions["sample"], what, x, rng, error=SamplingError)
        drawn = answered(found, what, error=SamplingError)
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

    def draws(self, domain: Any, n: int, rng: np.random.Generator) -> None:
        return None  # what is drawn depends on x

    def on(self, domain: Domain | None) -> Self:
        moved = copy.copy(self)
        moved._domain, moved._joint = domain, {}
        return moved

    def without_score(self) -> Self:
        """The same model, known through its log density alone."""
        other = copy.copy(self)
        other._functions = {key: value for key, value in self._functions.items() if key != "score"}
        other._joint = {}
        return other

    def given(self, pairs: Paired) -> AtCovariates:
        """The model of the outcomes at these covariates, as a function of y alone."""
        return AtCovariates(self, pairs.covariates, pairs.x.ndim == 1, pairs.y.ndim == 1)

    def _at(self, y: ArrayLike, x: ArrayLike) -> tuple[AtCovariates, Array, tuple[int, ...]]:
        """The model at these covariates, the outcomes as a matrix, and their shape."""
        left, right = real_array(y, "y"), real_array(x, "x")
        if left.ndim not in (1, 2) or right.ndim not in (1, 2) or len(left) != len(right):
            raise InputError(
                f"{self.name}: `y` has shape {left.shape} and `x` has shape {right.shape}; expected as many "
                "rows of both."
            )
        given = AtCovariates(self, as_matrix(right), right.ndim == 1, left.ndim == 1)
        return given, as_matrix(left), left.shape

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
        flatten = {True: (True, False), False: (False,)}  # only one column can be
        choices = [(y, x) for y in flatten[q == 1] for x in flatten[p == 1]]
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
                shapes = f"y ({'n' if flat_y else f'n, {q}'}), x ({'n' if flat_x else f'n, {p}'})"
                tried.append(f"  - {shapes}: {error if error.__cause__ is None else error.__cause__}")
                continue
            return model
        values = f"(n, {q})" if kind is Kind.SCORE else "(n,)"
        raise ScoreError(
            f"`{key}` of {self.name} cannot be used: it must be a function {key}(y, x) that maps outcomes "
            f"(n, {q}) and covariates (n, {p}) to {values}, each row by itself. Tried:\n" + "\n".join(tried)
        )


def require_two_arguments(function: Function, what: str, signature: str) -> None:
    """Raise where a function cannot be called with two arguments, or has them in the wrong order."""
    try:
        parameters = inspect.signature(function)
        parameters.bind(None, None)
    except TypeError:
        raise InputError(
            f"{what} must take two arguments, {signature}; {getattr(function, '__name__', function)!r} does "
            "not. A model of y alone is tested with ksd_test(y, model)."
        ) from None
    except ValueError:  # compiled functions need not have a signature
        return
    if [*parameters.parameters][:2] == ["x", "y"]:
        raise InputError(
            f"{what} is called as {signature}, outcomes first, and the parameters of "
            f"{getattr(function, '__name__', function)!r} are (x, y). Swap them; if its first parameter is "
            "the outcome, call it y."
        )
