"""From what a user hands in to a :class:`~goodstein.problems.problem.Problem`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from goodstein.adapters.describe import roots
from goodstein.adapters.model import as_model
from goodstein.domains.base import Domain
from goodstein.domains.euclidean import Euclidean
from goodstein.errors import CalibrationWarning, InputError
from goodstein.kernels import IMQ
from goodstein.kernels.base import Kernel
from goodstein.models.model import Model
from goodstein.operators import Operator, default_operator
from goodstein.problems.problem import Problem
from goodstein.survival.data import as_censored, is_censored
from goodstein.survival.model import SurvivalModel, as_survival_model
from goodstein.types import RNG
from goodstein.validation import as_data


def as_generator(rng: RNG) -> np.random.Generator:
    """The generator that a seed or generator stands for (SPEC 7)."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"`rng` must be None, a non-negative integer or a numpy random Generator, got {rng!r} ({error})."
        ) from None


def compose(
    data: Any,
    model: Any,
    domain: Domain | None = None,
    operator: Operator | None = None,
    kernel: Kernel | None = None,
    seed: int = 0,
) -> Problem:
    """Validated data and everything that was left out filled in.

    The seed is that of the operator, for operators that draw random numbers.
    """
    check_parts(domain, operator)
    if _is_survival(data, model, operator):
        return _compose_survival(data, model, domain, operator, kernel, seed)
    wrapped = as_model(model)
    own = wrapped.domain
    if domain is not None and own is not None and domain.dim != own.dim:
        raise InputError(
            f"`domain` {domain!r} has {domain.dim} dimensions, but {wrapped.name} lives on {own!r} "
            f"with {own.dim}."
        )
    chosen = domain if domain is not None else own
    if chosen is not None:
        x = as_data(data, chosen.dim, where=repr(chosen) if domain is not None else wrapped.name)
    else:
        x = as_data(data)
        chosen = Euclidean(x.shape[1])
    for region in (own, chosen) if own is not None and own != chosen else (chosen,):
        region.validate(x)
    operator = seeded(placed(operator, wrapped, chosen), seed)
    return Problem(x, restricted(wrapped, chosen), chosen, operator, choose_kernel(kernel, operator))


def _is_survival(data: Any, model: Any, operator: Any) -> bool:
    """Whether anything says that the data are durations, perhaps censored."""
    named = getattr(operator, "takes_censored", False) or isinstance(model, SurvivalModel)
    return named or is_censored(data) or "lifelines" in roots(model)


def _survival_operator(domain: Domain | None, operator: Operator | None) -> Operator:
    """The operator on durations; raises where domain or operator are those of points."""
    if domain is not None:
        raise InputError(
            f"`domain` has no place in a test of durations, which live on [0, ∞); got {domain!r}. Leave it "
            "out."
        )
    if operator is None:
        from goodstein.survival.martingale import Martingale

        return Martingale()
    if not getattr(operator, "takes_censored", False):
        raise InputError(
            f"{operator!r} is for uncensored points, not for durations with events. Use Martingale(), "
            "Survival() or ProportionalHazards(). (An operator of your own that takes Censored data says so "
            "with an attribute takes_censored = True.)"
        )
    return operator


def _compose_survival(
    data: Any, model: Any, domain: Domain | None, operator: Operator | None, kernel: Kernel | None, seed: int
) -> Problem:
    """The same for durations with events."""
    chosen = seeded(_survival_operator(domain, operator), seed)
    durations = as_censored(data, chosen)
    if len(durations) < 2:
        raise InputError("`data` has 1 duration; a test needs at least 2.")
    if not durations.event_observed.any():
        warnings.warn(
            f"All {len(durations)} durations are censored: the test sees only that no event came. Where the "
            "model expects few events its p-value is not valid, unless null=MonteCarlo().",
            CalibrationWarning,
            stacklevel=4,
        )
    survival = as_survival_model(model)
    null_model = getattr(chosen, "null_model", None)
    if null_model is not None:
        survival = null_model(survival, durations)
    return Problem(durations, survival, survival.domain, chosen, choose_kernel(kernel, chosen))


def check_parts(domain: Any, operator: Any) -> None:
    """Raise where the domain or the operator is something else."""
    if domain is not None and not isinstance(domain, Domain):
        raise InputError(f"`domain` must be a domain such as Box(0, 1) or Simplex(3), got {domain!r}.")
    if operator is not None and (not hasattr(operator, "features") or isinstance(operator, type)):
        raise InputError(
            f"`operator` must be an operator such as Langevin() or Standardised(), got {operator!r}."
        )


def restricted(model: Model, domain: Domain) -> Model:
    """The model on a domain: truncated to it, sampler included, if its own is larger."""
    if model.domain is None or model.domain == domain:
        return model.on(domain)
    own = getattr(model, "truncated", None)
    if own is not None:
        moved: Model = own(domain)
        return moved
    from goodstein.families import Truncated

    return as_model(Truncated(model, domain))


def compose_model(
    model: Any, domain: Domain | None, operator: Operator | None
) -> tuple[Any, Domain, Operator]:
    """The same without data: a model that says by itself where it lives."""
    check_parts(domain, operator)
    if _is_survival(None, model, operator):
        operator = _survival_operator(domain, operator)
        survival = as_survival_model(model)
        return survival, survival.domain, seeded(operator, 0)
    wrapped = as_model(model)
    chosen = domain if domain is not None else wrapped.domain
    if chosen is None:
        raise InputError("The model does not say where it lives: pass `domain` or `data`.")
    return restricted(wrapped, chosen), chosen, seeded(placed(operator, wrapped, chosen), 0)


def placed(operator: Operator | None, model: Any, domain: Domain) -> Operator:
    """The user's operator, or the model's own, or the domain's, with what it takes from the domain fixed."""
    if operator is None:
        own = getattr(model, "default_operator", None)
        operator = default_operator(domain) if own is None else own()
    place = getattr(operator, "on", None)
    result: Operator = operator if place is None else place(domain)
    return result


def seeded(operator: Operator, seed: int) -> Operator:
    """The operator with its random numbers fixed, if it needs any."""
    own = getattr(operator, "seeded", None)
    if own is None:
        return operator
    result: Operator = own(seed)
    return result


def choose_kernel(kernel: Kernel | None, operator: Operator) -> Kernel:
    """The user's kernel, or the operator's default, or the library's."""
    if kernel is None:
        own = getattr(operator, "default_kernel", None)
        return IMQ() if own is None else own()
    if not hasattr(kernel, "fitted") or isinstance(kernel, type):
        raise InputError(
            f"`kernel` must be a kernel such as IMQ() or Gaussian(bandwidth=1.0), got {kernel!r}."
        )
    return kernel
