"""The kinds of data that come with the library: how each is read, and what its models and operators are.

A kind of a user's own needs nothing here: it is an instance of :class:`goodstein.Data`, or any object with a
length and a method `take`. Kinds that most calls do not need are loaded when their data come.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from goodstein.adapters.model import as_model
from goodstein.adapters.truncated import Truncated
from goodstein.auditing.flags import refuse_lost_flags
from goodstein.data.base import Data, OwnData
from goodstein.data.chains import Chains, chained
from goodstein.data.points import Points
from goodstein.domains import Box, Domain, Euclidean
from goodstein.errors import InputError, given
from goodstein.foreign import bases, describe, roots
from goodstein.kernels.base import Kernel
from goodstein.kernels.gaussian import Gaussian
from goodstein.lazy import deferred
from goodstein.models.base import AnyModel, OwnModel
from goodstein.models.model import Model
from goodstein.operators import Operator, default_operator
from goodstein.operators.base import may_take
from goodstein.validation import as_data, column_names, is_frame, is_records

conditional_adapter = deferred("goodstein.adapters.conditional")
conditional_data = deferred("goodstein.conditional.data")
conditional_operator = deferred("goodstein.conditional.operator")
cox = deferred("goodstein.survival.cox")
duration_adapter = deferred("goodstein.adapters.durations")
duration_operator = deferred("goodstein.survival.operator")
graph_data = deferred("goodstein.graphs.data")
graph_model = deferred("goodstein.graphs.model")
graph_operator = deferred("goodstein.graphs.operator")
latent = deferred("goodstein.operators.latent")
martingale = deferred("goodstein.survival.martingale")
pattern_data = deferred("goodstein.patterns.data")
pattern_operator = deferred("goodstein.patterns.operator")
innovations = deferred("goodstein.patterns.innovations")
single = deferred("goodstein.patterns.single")
process = deferred("goodstein.patterns.process")
regression = deferred("goodstein.survival.regression")
residuals = deferred("goodstein.survival.residuals")
survival_data = deferred("goodstein.survival.data")
survival_reading = deferred("goodstein.survival.reading")

WIDE = 0.5
"""Bandwidth on the scale of F(t | z) of a regression, which is uniform on (0, 1) whatever its form is. So
wide a kernel sees how many events there are for some covariates, not only when they come."""


class Arranged(NamedTuple):
    """Data, model and domain that fit each other, how to bring in another model, and the operator.

    And the kernel, where an operator of the library's choice wants another one than by itself.
    """

    data: Any
    model: Any
    domain: Any
    adopt: Callable[[Any], Any]
    operator: Operator
    kernel: Kernel | None = None


def is_swapped(data: Any, model: Any) -> bool:
    """Whether a fitted estimator of durations comes first and its data second, as lifelines has the order.

    Neither can be the other, so that nothing is guessed.
    """
    estimates = "lifelines" in roots(data) or callable(
        getattr(data, "predict_cumulative_hazard_function", None)
    )
    return estimates and (_has_columns(model) or isinstance(model, Data | tuple))


def kind_of(data: Any, model: Any, operator: Operator | None) -> Callable[..., Arranged]:
    """How data, model and operator are arranged, by what any of them says of the kind of data.

    Data that are of a kind decide; otherwise an operator or a model that takes one kind only; otherwise
    what the data look like.
    """
    taken = type(data) if isinstance(data, Data) else None
    if taken is None and operator is not None and operator.takes is not Points:
        taken = operator.takes
    if taken is None and isinstance(model, AnyModel) and model.takes is not Points:
        taken = model.takes
    if taken is not None and not issubclass(taken, Points):
        kinds = {
            survival_data.Censored: durations,
            conditional_data.Paired: pairs,
            pattern_data.Patterns: patterns,
            single.Pattern: patterns,
            graph_data.Graph: graph,
        }
        return next((arrange for kind, arrange in kinds.items() if issubclass(taken, kind)), others)
    if taken is not None:
        return points
    structured = is_records(data) and survival_reading.is_structured(data)
    if structured or "CensoredData" in bases(data) or "lifelines" in roots(model) | roots(data):
        return durations
    if _has_columns(data) and _is_of_durations(model):
        return durations
    if callable(getattr(model, "predict_cumulative_hazard_function", None)):
        return durations
    if "statsmodels" in roots(model):
        return pairs
    if any(callable(getattr(model, name, None)) for name in ("papangelou", "compensator")):
        return patterns
    if _is_graph(data, model):
        return graph
    own = callable(getattr(data, "take", None)) and hasattr(type(data), "__len__")
    own = own and not isinstance(data, type) and not hasattr(data, "__array__")
    return others if own and not roots(data) & FRAMES else points


def _has_columns(data: Any) -> bool:
    """Whether it is a data frame with several columns."""
    return is_frame(data) and not hasattr(data, "collect") and len(getattr(data, "columns", ())) > 1


def _is_of_durations(model: Any) -> bool:
    """Whether it is a distribution of one positive number with hazards, ours or one of SciPy."""
    if all(callable(getattr(model, name, None)) for name in ("hazard", "cumulative_hazard")):
        return True
    if "scipy" not in roots(model) or "rv_generic" in bases(model):
        return False
    place = as_model(model).domain
    return isinstance(place, Box) and place.dim == 1 and place.lower[0] >= 0


def _is_graph(data: Any, model: Any) -> bool:
    """Whether the data are a graph: one of networkx, or a square matrix with a model that walks on graphs."""
    if all(hasattr(data, name) for name in ("nodes", "edges", "is_directed")):
        return True
    walks = all(callable(getattr(model, name, None)) for name in ("log_odds", "walk"))
    return walks and (shape := np.shape(data)) == shape[:1] * 2


FRAMES = {"numpy", "pandas", "polars", "pyarrow", "modin", "narwhals", "duckdb"}


def points(data: Any, model: Any, domain: Domain | None, operator: Operator | None) -> Arranged:
    """Rows of numbers on a domain, and a density there."""
    wrapped = as_model(model)
    own = wrapped.domain
    if domain is not None and own is not None and domain.dim != own.dim:
        raise InputError(
            f"`domain` {domain!r} has {domain.dim} dimensions, but {wrapped.name} lives on {own!r} "
            f"with {own.dim}."
        )
    place = domain if domain is not None else own
    rows = None
    if data is not None:
        data = chained(wrapped.read(data))
        sequences = data.sequences if isinstance(data, Chains) else None
        weights, unordered = (data.weights, data.unordered) if isinstance(data, Points) else (None, False)
        names = data.names if isinstance(data, Points) else column_names(data)
        if isinstance(data, Points):
            data = data.observations
        dim, guess = (None, None) if place is None else (place.dim, place.other_columns)
        where = repr(place) if domain is not None else wrapped.name
        x = as_data(data, dim, where=where, other_columns=guess)
        rows = Points(x, names) if sequences is None else Chains.of(x, sequences, names)
        rows.weights, rows.unordered = weights, unordered
        if (told := wrapped.provenance) is not None:
            told.require_order(rows.names, wrapped.name)
        wrapped = wrapped.at(rows)
        place = place if place is not None else Euclidean(x.shape[1])
        for region in (own, place) if own is not None and own != place else (place,):
            rows.validate(wrapped, region)
        refuse_lost_flags(wrapped, rows)
    elif place is None:
        raise InputError("The model does not say where it lives: pass `domain` or `data`.")
    if operator is not None and not may_take(operator, Points):
        kind = operator.takes.__name__ if operator.takes else ""
        reason = f"{operator!r} takes {kind}, and these are points, an array (n, d)."
        raise InputError(reason, argument="data", remedy="Use another operator for them.")
    chosen = operator or wrapped.default_operator() or (latent.Latent() if wrapped.latent else None)
    wrapped = restricted(wrapped, place)
    if rows is not None:
        wrapped = wrapped.near(rows.observations)
    return Arranged(rows, wrapped, place, as_model, chosen or default_operator(place))


def restricted(model: Model, domain: Domain) -> Model:
    """The model on a domain: truncated to it, sampler included, if its own is larger."""
    if model.domain is None or model.domain == domain:
        return model.on(domain)
    truncated = Truncated(model, domain)
    own = model.restricted(domain, repr(truncated), truncated.sample if model.has_sample else None)
    return as_model(truncated) if own is None else own


def durations(data: Any, model: Any, domain: Domain | None, operator: Operator | None) -> Arranged:
    """Durations with events, and a hazard."""
    if domain is not None:
        raise InputError(
            f"`domain` has no place in a test of durations, which live on [0, ∞); got {domain!r}. Leave it "
            "out."
        )
    kind = survival_data.Censored
    if operator is not None and not (operator.takes is not None and issubclass(kind, operator.takes)):
        raise InputError(
            f"{operator!r} is for uncensored points, not for durations with events. Use Martingale(), "
            "Survival() or ProportionalHazards(). (An operator of your own that takes Censored data says so "
            "with an attribute takes = goodstein.Censored.)"
        )
    wrapped = duration_adapter.as_survival_model(model)
    chosen, kernel = operator, None
    if operator is None and isinstance(wrapped, cox.CoxModel):
        chosen = residuals.CoxResiduals()
    elif operator is None and isinstance(wrapped, regression.SurvivalRegression):
        kernel = Gaussian(WIDE)
    chosen = chosen or martingale.Martingale()
    rows = None if data is None else wrapped.read(data, repr(chosen))
    if rows is not None:
        rows.validate(wrapped, wrapped.domain)
        if isinstance(chosen, duration_operator.DurationOperator):
            chosen.require(rows, wrapped)
        refuse_lost_flags(wrapped, rows)
    return Arranged(rows, wrapped, wrapped.domain, duration_adapter.as_survival_model, chosen, kernel)


def pairs(data: Any, model: Any, domain: Domain | None, operator: Operator | None) -> Arranged:
    """Pairs (x, y), and a model of y given x."""
    wrapped = conditional_adapter.as_conditional(model)
    kind = conditional_data.Paired
    if isinstance(data, tuple) and len(data) == 2:
        data = kind(*data)
    if data is not None and not isinstance(data, kind):
        fitted = "statsmodels" in roots(model)
        raise InputError(
            f"{wrapped.name} is a model of y given x, and {type(data).__name__} holds no pairs.",
            argument="data",
            remedy="Paired.of_fit(results) has the pairs of its fit."
            if fitted
            else "Pass Paired(x, y), or use conditional_ksd_test(x, y, model).",
        )
    own = wrapped.domain
    if domain is not None and own is not None and domain.dim != own.dim:
        raise InputError(
            f"`domain` {domain!r} has {domain.dim} dimensions, but {wrapped.name} has {own.dim}."
        )
    place = domain if domain is not None else own
    if place is None:
        if data is None:
            raise InputError("The model does not say where y lives: pass `domain` or `data`.")
        place = Euclidean(data.outcomes.shape[1])
    if data is not None:
        for region in (own, place) if own is not None and own != place else (place,):
            data.validate(wrapped, region)
    conditional = conditional_operator.Conditional
    whole = operator is not None and operator.takes is kind
    chosen: Any = operator if whole else conditional(operator)
    return Arranged(data, wrapped.on(place), place, conditional_adapter.as_conditional, chosen)


def patterns(data: Any, model: Any, domain: Domain | None, operator: Operator | None) -> Arranged:
    """Point patterns in a window, or one alone, and a conditional intensity."""
    several = operator is not None and operator.takes is pattern_data.Patterns
    one = not several and data is not None and single.is_single(data)
    kind = single.Pattern if one else pattern_data.Patterns
    if operator is not None and not may_take(operator, kind):
        usual = "patterns.Innovations()" if one else "Papangelou()"
        raise InputError(f"`operator` of a test for {kind.__name__} must be {usual}, got {operator!r}.")
    wrapped = process.as_process(model, domain)
    if wrapped.evolves and not one:
        reason = f"{wrapped.name} is a model of one sequence of events in time."
        raise InputError(reason, argument="data", remedy="Pass its times, an array (n,).")
    wrapped = wrapped.alone() if one else wrapped
    rows = None
    if data is not None:
        rows = (single.as_single if one else pattern_data.as_patterns)(data, wrapped.domain)
        wrapped.check_size(len(rows) if one else float(rows.counts.mean()))
    adopt = partial(process.as_process, domain=wrapped.domain)
    usual = innovations.Innovations if one else pattern_operator.Papangelou
    return Arranged(rows, wrapped, wrapped.domain, adopt, usual() if operator is None else operator)


def graph(data: Any, model: Any, domain: Domain | None, operator: Operator | None) -> Arranged:
    """One graph, and a chain that leaves a model of graphs invariant."""
    if domain is not None:
        raise InputError(f"`domain` has no place in a test of a graph; got {domain!r}. Leave it out.")
    if data is None:
        raise InputError(
            "A test of a model of graphs needs the observed graph: its null distribution is simulated, so no "
            "condition has to hold.",
            argument="data",
        )
    kind = graph_data.Graph
    if operator is not None and not may_take(operator, kind):
        raise InputError(f"`operator` of a test for a graph must be GlauberFlips(), got {operator!r}.")
    observed = graph_data.as_graph(data)
    wrapped = graph_model.as_graph_model(model, len(observed))
    adopt = partial(graph_model.as_graph_model, nodes=len(observed), sweeps=wrapped.sweeps)
    chosen = graph_operator.GlauberFlips() if operator is None else operator
    return Arranged(observed, wrapped, None, adopt, chosen)


def others(data: Any, model: Any, domain: Domain | None, operator: Operator | None) -> Arranged:
    """A kind of a user's own: nothing is known of its models but what they say themselves."""
    if data is None:
        raise InputError("A model of data of your own kind says nothing without them.", argument="data")
    rows = data if isinstance(data, Data) else OwnData(data)
    adopt = _adopt_own_model
    wrapped = adopt(model)
    place = domain if domain is not None else wrapped.domain
    if len(rows) < 2 and rows.replicated:
        raise InputError(f"{len(rows)} observations; a test needs at least 2.", argument="data")
    rows.validate(wrapped, place)
    chosen = operator or rows.default_operator() or wrapped.default_operator()
    if chosen is None:
        raise InputError(
            f"There is no operator of the library for {type(data).__name__}. Pass {given('operator')}: an "
            "object with a method features(model, domain, data)."
        )
    return Arranged(rows, wrapped.on(place), place, adopt, chosen)


def _adopt_own_model(model: Any) -> Any:
    return model if isinstance(model, AnyModel) else OwnModel(model, describe(model))
