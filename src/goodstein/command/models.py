"""Models by name, ``dirichlet:alpha=0.5,0.5,0.5``, fitted to the data, or from a file of the user's own."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from goodstein import families
from goodstein.adapters.fits import as_refitting
from goodstein.command import places
from goodstein.command.escaping import quoted, short
from goodstein.command.observations import Observed
from goodstein.command.strings import Spec, nearest, parse
from goodstein.command.units import refuse_other_units
from goodstein.domains.base import Domain
from goodstein.domains.simplex import Simplex
from goodstein.errors import Explained, InputError
from goodstein.lazy import deferred

distributions = deferred("goodstein.estimate.distributions")
score_matching = deferred("goodstein.estimate.score_matching")

OWN = re.compile(r"(.+\.py):([A-Za-z_]\w*)", re.DOTALL)
NOT_NAMED = {"ERGM", "Product", "StochasticBlockModel", "Truncated", "ZeroInflated"}
"""Families that no string can stand for: two are of graphs, one is what --domain and --region make, and two
are made of other families."""

COMPOSITIONS = (
    families.Dirichlet,
    families.DirichletMixture,
    families.LogisticNormal,
    families.LogisticNormalMixture,
)
"""Families of parts that sum to one."""

UNNORMALISED = {
    "Normal": "AnyNormal",
    "Dirichlet": "AnyDirichlet",
    "Gamma": "AnyGamma",
    "Exponential": "AnyExponential",
}
"""Families that can be fitted to data from a part of their domain alone, and what estimates them there."""


@dataclass(frozen=True)
class Chosen:
    """A model, how the user wrote it, and whether it was fitted to the data."""

    model: Any
    text: str
    fitted: bool = False


def names() -> dict[str, str]:
    """Families that have a name here: as it is written, and the name of the class."""
    return {_snake(name): name for name in dir(families) if name not in NOT_NAMED}


def choose(
    text: str,
    *,
    fit: bool,
    observed: Observed | None,
    place: Domain | None,
    seed: int,
    say: Any,
) -> Chosen:
    """The model that a string stands for, fitted to the data if that is asked for.

    `say` is told what the user should know.
    """
    own = OWN.fullmatch(text)
    if own:
        return _own(own[1], own[2], text, fit, observed, say)
    spec = parse(text)
    if spec.first == "fit" or (isinstance(spec.first, list) and spec.first[:1] == ["fit"]):
        spec, fit = replace(spec, first=None), True
    family = _family(spec)
    if fit:
        return Chosen(_fitted(family, spec, observed, place, seed), text, True)
    offered = {"domain": place, "d": None if observed is None else observed.dim}
    offered = {name: value for name, value in offered.items() if value is not None}
    return Chosen(_given(family, spec, offered), text)


def _family(spec: Spec) -> Any:
    known = {_plain(name): found for name, found in names().items()}
    found = known.get(_plain(spec.name))
    if found is None:
        remedy = f"{nearest(spec.name, names())} A model of your own is file.py:name."
        raise InputError(f"there is no model {quoted(spec.name)}.", remedy=remedy)
    return getattr(families, found)


def _given(family: Any, spec: Spec, offered: dict[str, Any]) -> Any:
    """A family with the parameters of a string."""
    known = inspect.signature(family).parameters
    if "domain" in known and "domain" not in offered:
        remedy = "Pass --domain, such as box:0,1, or --region file.geojson."
        raise InputError(f"{spec.name} needs to know where it lives.", remedy=remedy)
    needed = [name for name in known if name not in offered]
    if needed and spec.first is None and not spec.parameters:
        example = ",".join(f"{name}=…" for name in needed)
        fits = callable(getattr(family, "fit", None))
        raise InputError(
            f"{quoted(spec.name)} is a family, and which member of it is meant is not said.",
            remedy=f"Give its parameters, {spec.name}:{example}{', or fit it: --fit' if fits else ''}.",
        )
    return places.make(family, spec, offered, "the model")


def _fitted(family: Any, spec: Spec, observed: Observed | None, place: Domain | None, seed: int) -> Any:
    """A family fitted to the data; the parameters of the string are options of the fit."""
    if observed is None:
        raise InputError(f"{quoted(spec.text)} cannot be fitted without data.", remedy="Name the data first.")
    if not callable(getattr(family, "fit", None)):
        known = [name for name in inspect.signature(family).parameters if name != "domain"]
        example = f"{spec.name}:{','.join(f'{name}=…' for name in known)}"
        remedy = f"Give its parameters, {example}." if known else "Leave out --fit: it has nothing to fit."
        raise InputError(f"{spec.name} cannot be fitted.", remedy=remedy)
    if family in COMPOSITIONS and observed.dim is not None and observed.dim > 1:
        refuse_other_units(observed, Simplex(observed.dim))
    offered: dict[str, Any] = {"rng": seed} | ({} if place is None else {"domain": place})
    first = next(iter(inspect.signature(family.fit).parameters))
    offered[first] = observed.sample
    model = places.make(family, spec, offered, "--fit", family.fit)
    if place is None or observed.points is None or model.domain == place or not place.has_boundary:
        return model
    if family.__name__ not in UNNORMALISED or spec.parameters:
        raise InputError(
            f"{spec.name} is fitted by maximum likelihood as if the data were not cut off by {place!r}.",
            remedy=f"Give its parameters, or fit one of {', '.join(map(_snake, UNNORMALISED))}.",
        )
    distribution = getattr(distributions, UNNORMALISED[family.__name__])()
    estimator = score_matching.TruncatedScoreMatching()
    return estimator.fit(observed.points, distribution, domain=place, rng=seed).model


def _own(path: str, name: str, text: str, fit: bool, observed: Observed | None, say: Any) -> Chosen:
    """An object of a module that the user names, which is run for that."""
    places.find_file(path)
    say(f"Running {short(path, 200)}, as you asked, for its {name}.")
    file = Path(path).resolve()
    module_name = f"goodstein_own_{file.stem}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses look for their module
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        remedy = f"Run it by itself to see where: python {short(path, 200)}."
        raise InputError(
            f"{short(path, 200)} raised {type(error).__name__}: {short(str(error), 160)}.", remedy=remedy
        ) from None
    finally:
        sys.path.remove(str(file.parent))
    if not hasattr(module, name):
        public = [found for found in vars(module) if not found.startswith("_")]
        raise InputError(f"{short(path, 200)} has no name {quoted(name)}.", remedy=nearest(name, public))
    found = getattr(module, name)
    if not fit:
        return Chosen(found, text)
    if observed is None:
        raise InputError(f"{quoted(text)} cannot be fitted without data.")
    try:
        return Chosen(as_refitting(found)(observed.sample), text, True)
    except Explained:
        raise
    except Exception as error:
        reason = (
            f"fitting {name} of {short(path, 200)} raised {type(error).__name__}: {short(str(error), 160)}."
        )
        raise InputError(reason, remedy="Call it by itself to see where.") from None


def _snake(name: str) -> str:
    """The name of a class as it is written on a command line.

    >>> from goodstein.command.models import _snake
    >>> _snake("VonMisesFisher"), _snake("StudentT"), _snake("BernoulliRBM"), _snake("ProbabilisticPCA")
    ('von_mises_fisher', 'student_t', 'bernoulli_rbm', 'probabilistic_pca')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
