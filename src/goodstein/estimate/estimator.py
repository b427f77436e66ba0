"""What all estimators do: take data and a family, search, and say what was found."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from goodstein.constraints import LARGEST, check_count
from goodstein.domains.base import Domain
from goodstein.domains.lattice import Lattice
from goodstein.errors import DomainError, InputError, must, shown
from goodstein.estimate.base import ModelFamily, Sample, Scores
from goodstein.estimate.fit import Fit
from goodstein.estimate.minimise import EstimationObjective, minimise
from goodstein.estimate.parametric import Parametric
from goodstein.types import RNG
from goodstein.validation import as_data, as_generator


class Estimator(ABC):
    """A way to fit families; a frozen dataclass that says from how many points to search, and how long."""

    method: ClassVar[str]
    """What it is called."""

    starts: int
    max_iterations: int

    def __post_init__(self) -> None:
        check_count(self.starts, "starts")
        check_count(self.max_iterations, "max_iterations")

    def fit(self, data: Any, family: Any, *, domain: Domain | None = None, rng: RNG = None) -> Fit:
        """Fit a family to data.

        Parameters
        ----------
        data
            Observations, (n, d) or a data frame, all of them in the domain.
        family
            :class:`AnyNormal`, :class:`AnyDirichlet`, :class:`ExponentialFamily`, :class:`Parametric`,
            or an object of your own; see :class:`goodstein.estimate.base.ModelFamily`.
        domain
            The region; None takes the family's own.
        rng
            Seed or generator of the starts.

        Returns
        -------
        Fit
        """
        known = as_family(family)
        return self._fitted(known, as_sample(data, known, domain), as_generator(rng))

    @abstractmethod
    def _fitted(self, family: ModelFamily, sample: Sample, rng: np.random.Generator) -> Fit:
        """The fit to validated data."""

    def _search(
        self, family: ModelFamily, sample: Sample, objective: EstimationObjective, rng: np.random.Generator
    ) -> Fit:
        """Minimise the objective and say what was found."""
        scores = objective.scores
        if scores.n < scores.size:
            few = f"`data`: {scores.n} rows are too few for the {scores.size} parameters of {family!r}."
            raise InputError(f"{few} Pass more data or a smaller family.")
        before = copy.deepcopy(rng)
        minimum = minimise(objective, scores.starts(self.starts, rng), self.max_iterations)
        theta = scores.canonical(minimum.theta)
        fixed = scores.fixed(theta)
        bound = dict.fromkeys(name for name, at in zip(scores.coordinates, fixed, strict=True) if at)
        return Fit(
            parameters=scores.parameters(theta),
            objective=minimum.value,
            converged=minimum.converged,
            at_bounds=tuple(bound),
            starts=minimum.starts,
            n=len(sample),
            family=family,
            estimator=self,
            domain=sample.domain,
            notes=tuple(scores.notes(theta)),
            _problem=objective,
            _coordinates=theta,
            _rng=before,
            _data=sample.data,
        )


class OwnFamily(ModelFamily):
    """A user's object with a method ``scores``, and whatever else of a family it has."""

    def __init__(self, family: Any) -> None:
        self.family = family
        for name in ("ambient", "default_domain", "default_auxiliary"):
            if hasattr(family, name):
                setattr(self, name, getattr(family, name))

    def __repr__(self) -> str:
        return repr(self.family)

    def scores(self, sample: Sample) -> Scores:
        found: Scores = self.family.scores(sample)
        return found


def as_family(family: Any) -> ModelFamily:
    """The family that a user's object stands for."""
    if isinstance(family, ModelFamily):
        return family
    if isinstance(family, type):
        name = family.__name__
        raise InputError(f"`family` is the class {name}, not one of its instances. Call it: {name}(...).")
    if callable(getattr(family, "scores", None)):
        return OwnFamily(family)
    functions = {name: getattr(family, name, None) for name in ("score", "log_density")}
    if hasattr(family, "start") and any(map(callable, functions.values())):
        if callable(functions["score"]):  # it leaves less to differentiate
            functions["log_density"] = None
        options = {name: getattr(family, name, None) for name in ("names", "bounds", "sample")}
        return Parametric(**functions, start=family.start, **options)
    raise InputError(
        "`family` must be a family such as AnyDirichlet() or Parametric(log_density, start=...), "
        f"got {shown(family)}. An object of your own needs `start` and a method `score(x, theta)` "
        "or `log_density(x, theta)`."
    )


def as_sample(data: Any, family: ModelFamily, domain: Any) -> Sample:
    """Validated data on the domain given, or the family's own."""
    if domain is not None and not isinstance(domain, Domain):
        raise must("domain", "a domain such as Box(0, 1) or Ball(2)", domain)
    d = None if domain is None else domain.dim
    x = as_data(data, d, where=repr(domain), use="a fit", largest=LARGEST)
    if domain is None:
        domain = family.default_domain(x.shape[1])
    if not domain.flat or isinstance(domain, Lattice):
        raise DomainError(
            f"Estimation by scores works on R^d, its parts and the simplex, and {domain!r} is none of them."
        )
    domain.validate(x)
    if (x == x[0]).all():
        raise InputError(
            f"all {len(x)} rows are equal, so nothing can be estimated from them.", argument="data"
        )
    return Sample(x, domain)
