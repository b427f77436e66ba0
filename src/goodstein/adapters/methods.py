"""Models from objects with methods of the usual names."""

from __future__ import annotations

from typing import Any

from goodstein.data.rows import SeenMoments
from goodstein.domains.base import Domain
from goodstein.families.base import Family
from goodstein.families.normal import Normal
from goodstein.foreign import describe, unusable
from goodstein.models.model import Model
from goodstein.models.provenance import Fit, provenance_of

FAMILIES = Family.__module__.removesuffix("base")
"""Where the distributions of the library are, which hold no function of a user's."""


def from_methods(model: Any) -> Model:
    """The model of an object with ``score`` or ``logpdf``, such as a distribution of the families."""
    ours = isinstance(model, Family) and type(model).__module__.startswith(FAMILIES)
    if ours and (known := vars(model).get("_wrapped")) is not None and known[0] is model.provenance:
        return known[1].copied()  # type: ignore[no-any-return]
    # An object may have a method and yet say that it cannot be used, as a truncated score does.
    methods = {
        key: getattr(model, key, None) if getattr(model, f"has_{key}", True) else None
        for key in ("score", "logpdf", "sample", "weighted_score")
    }
    domain = getattr(model, "domain", None)
    if domain is not None and not isinstance(domain, Domain):
        must = "must be a goodstein.domains.Domain or None"
        raise unusable(f"the attribute `domain` of {describe(model)} {must}, got {domain!r}.")
    found = {key: method for key, method in methods.items() if callable(method)}
    wrapped = Model(**found, domain=domain, batched=getattr(model, "batched", False), name=describe(model))
    told = provenance_of(model)
    if told is None and isinstance(model, Normal):
        told = Fit(None, SeenMoments(model.mean))  # made by hand: if it was fitted, the mean tells
    wrapped.remember(told)
    if ours:  # it is immutable, so that this, and what is found out about it, need not be done twice
        wrapped._kept, wrapped.trusted = {}, True
        wrapped.quasi_concave = model.quasi_concave
        vars(model)["_wrapped"] = provenance_of(model), wrapped.copied()
    return wrapped
