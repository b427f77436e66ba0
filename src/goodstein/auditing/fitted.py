"""Whether the model was fitted to the very data that it is tested on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.data.rows import SeenMoments, SeenTimes
from goodstein.errors import InputError, given
from goodstein.models.base import AnyModel
from goodstein.models.influence import FIT_AGAIN, Influence, stopped_short
from goodstein.models.provenance import PER_NODE, Fit
from goodstein.types import BoolArray

SPLIT = "first, second = gs.split(data, rng=0)"

QUESTION = Question("other data than those of the fit")

MOSTLY = 0.5
"""Share of rows in common, of the larger of both, from which on large p-values mean nothing."""


class Advice(NamedTuple):
    """What is said of a model that was fitted to the same data by a test for which the usual is not right."""

    remedy: str
    effect: str = "so the p-value is conservative: the model fits too well by design"


def check_fitted(
    model: AnyModel,
    observations: Any,
    *,
    corrected: bool,
    advice: Advice | None = None,
    weighted: bool = False,
) -> list[Check]:
    """Whether observations are rows that the model was fitted to.

    That is no harm where the null distribution is `corrected` for it, unless the fit has no parameters, or
    more of them the more data there are: then nothing corrects for it. Without `advice` the usual one is
    given, and large p-values are said to mean nothing. Fits know nothing of the weights of `weighted` rows.
    """
    fit = model.provenance
    if fit is None:
        return []
    known = fit.rows.among(observations)
    if not fit.matters(known):
        return []
    if fit.method == "kernel density":
        return [
            QUESTION.failed(
                f"{model.name} is made of {_which(known)} and follows them by design, and no null "
                "distribution corrects for a fit without parameters: the p-value would mean nothing. Make it "
                f"of some of the rows and test it on the others: {SPLIT}.",
                of_data=True,
                large=f"the model is made of {_which(known)}",
            )
        ]
    if isinstance(fit.rows, SeenTimes):
        found = f"the model was fitted to {_which(known)}, with a step at each of their times"
        return [
            QUESTION.warned(
                f"{model.name} was fitted to {_which(known)}, as the times that it keeps tell, with a step "
                "at each: nothing corrects for that, and the p-value means nothing. Fit it to some rows and "
                "test it on the others; of Cox's model test CoxModel(coefficients, fitted_to=durations).",
                loud=True,
                large=found,
                small=found,
            )
        ]
    if corrected and fit.method == PER_NODE:
        return [
            QUESTION.warned(
                f"{model.name} was fitted to {_which(known)} with a parameter for every node, for which "
                "refits do not make up: of true models with 20 nodes .20 are rejected at .05. Take the "
                "sociabilities from elsewhere, or fit without them.",
                loud=True,
                small="the model was fitted with a parameter for every node, for which refits do not make up",
            )
        ]
    if corrected:
        message = f"{model.name} was fitted to {_which(known)}, which the null distribution takes account of."
        return [QUESTION.passed(message)]
    found = f"was fitted to {_which(known, len(fit.rows))}"
    if fit.method is None and isinstance(fit.rows, SeenMoments):
        found = "has the mean of these very data to the last digit, as if fitted to them or they to it"
    large = ""
    if advice is None and np.count_nonzero(known) >= MOSTLY * max(len(fit.rows), len(known)):
        large = f"the model {found}, and the test takes no account of that"
    if weighted and advice is None:
        effect = "without their weights: it fits rows that are not those in question, too well or badly"
        advice = Advice(
            f"Fit it to some rows, with their weights, and test it on the others: {SPLIT}.", effect
        )
    advice = advice or Advice(_remedy(model, fit, known, observations))
    return [
        QUESTION.warned(f"{model.name} {found}, {advice.effect}. {advice.remedy}", loud=True, large=large)
    ]


def _which(known: BoolArray, rows: int = 0) -> str:
    if known.all() and rows > len(known):
        return f"these {len(known)} rows and {rows - len(known)} others"
    if known.all():
        return "these very data"
    return f"{int(np.count_nonzero(known))} of these {len(known)} rows"


def _uncorrectable(model: AnyModel, influence: Callable[[Any], Influence], observations: Any) -> str:
    """Why nothing can correct for this very fit, and what to do; empty where something can."""
    try:
        found = influence(observations)
        if not found.likelihood:  # then derivatives of the log density are needed
            model.log_likelihood(observations)
        away = found.unsolved
    except InputError as error:
        return f"Nothing takes account of this fit. {error}"
    return (
        f"Nothing takes account of such a fit: {stopped_short(model.name, away)} {FIT_AGAIN}" if away else ""
    )


def _remedy(model: AnyModel, fit: Fit, known: BoolArray, observations: Any) -> str:
    if not fit.exact(known):
        if not known.all():
            return "Fit it to all of these rows and no others, or to none of them."
        some = f"Fit it to other rows than those that are tested: {SPLIT}"
        if fit.influence is None:
            return f"{some}."
        return f"{some}; or test all rows of the fit: ksd_test and aggregated_test take account of it."
    again = fit.refit is not None and model.has_sample
    if fit.influence is not None:
        if trouble := _uncorrectable(model, fit.influence, observations):
            return trouble
        corrected = given("null", "FittedWildBootstrap()")
        return f"Use {corrected}{' or ParametricBootstrap()' if again else ''}, made for that."
    if again:
        return f"Use {given('null', 'ParametricBootstrap()')}, which fits every simulated sample anew."
    other = f"it to some of the rows and test it on the others: {SPLIT}."
    if model.has_sample:
        refit = given("null", "ParametricBootstrap(fit)")
        return f"Use {refit}, with the function that fitted it, or fit {other}"
    return f"Fit {other}"
