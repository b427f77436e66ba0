"""The wild bootstrap for models whose parameters were fitted to the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from goodstein.auditing.report import Check, Question
from goodstein.constraints import answered, asked, numbers
from goodstein.data.points import Points
from goodstein.engine.executors import Workers
from goodstein.engine.progress import Finished, begin
from goodstein.errors import Explained, InputError, given, must
from goodstein.models.influence import FIT_AGAIN, Influence, of_equations, of_maximum, stopped_short
from goodstein.nulls.base import Calibration, JointCalibration
from goodstein.nulls.wild import WildBootstrap
from goodstein.operators import Dilation, Moments
from goodstein.problems.problem import Collection, Problem
from goodstein.stein.corrected import LITTLE, ROUNDING, corrected
from goodstein.stein.forms import BlockForm
from goodstein.stein.shared import joint_statistics
from goodstein.types import Array, ArrayLike

LIKELIHOOD = "maximum likelihood"

EACH, LEAST = 5, 20
"""So many observations for each parameter, and so many more, are needed: with fewer first order does not tell
enough. Of true normal models with 2, 5 and 9 parameters .075, .080 and .065 are rejected at .05 with 20, 30
and 45 observations (1500 samples each)."""

DRAWS = 2000
"""Draws of the model at which derivatives are taken of fits that are not maximum likelihood."""

MANY_ROWS = 5000
"""Rows from which on whoever waits is told how far the corrections for the fit are."""


def refit(problem: Problem) -> str:
    """What can be done instead."""
    fit = problem.model.provenance
    if fit is not None and fit.refit is not None and problem.model.has_sample:
        return f"Use {given('null', 'ParametricBootstrap()')}, which fits every simulated sample anew."
    return f"Use {given('null', 'ParametricBootstrap(fit)')}, with the function that fitted it."


@dataclass(frozen=True)
class FittedWildBootstrap(WildBootstrap):
    r"""The wild bootstrap for parameters that were fitted to the very data, without refitting.

    A model fitted to the data fits them too well, and :class:`WildBootstrap` does not know that. To first
    order the mean feature at the fit is the mean of

    .. math:: \tilde\xi_i = \xi_i + \sum_a D_a\, \mathrm{IF}_{ia}, \qquad D_a = E\, \partial_{\theta_a} \xi,

    with the influence :math:`\mathrm{IF}_i` of each observation on the parameters. Random signs are put on
    these instead. By Stein's identity :math:`D_a = -E\, \xi\, \partial_{\theta_a} \log q`, so that no other
    fit is needed; of fits that are not maximum likelihood the model must have a log density.

    With nothing said it is for models that know how they were fitted: by ``fit`` of :mod:`goodstein.families`
    or by :mod:`goodstein.estimate`, and parametric fitters of lifelines. The fit must be to all of these
    observations and no others. Bandwidths and scales that kernel and operator take from the data are kept.

    Parameters
    ----------
    n_resamples, signs, flip
        As for :class:`WildBootstrap`.
    model
        For a fit of your own: a function of the parameters θ, (p,), that returns the model, in any form that
        the test takes.
    parameters
        The fitted parameters θ̂, (p,).
    influence
        How they were fitted: ``"maximum likelihood"``, for which the models need a normalised ``logpdf``; a
        function of (data, θ) that returns ψ(x_i; θ), (n, p), where the estimator solves Σ_i ψ(x_i; θ̂) = 0;
        or the influence values themselves, (n, p).

    Notes
    -----
    Its level is asymptotic, and measured in ``validation/size.md`` beside that of
    :class:`ParametricBootstrap`, which stays the reference where a sampler and a fit are cheap. With fewer
    than 20 observations and five for each parameter it decides nothing, and says so.

    References
    ----------
    Key, Gretton, Briol, Fernandez (2025), Composite goodness-of-fit tests with kernels. Fernández, Gretton
    (2019), A maximum-mean-discrepancy goodness-of-fit test for censored data, for the influence of a fit.

    Examples
    --------
    >>> import goodstein as gs
    >>> x = gs.families.StudentT(3.0, 0.0, 1.0).sample(200, rng=1)
    >>> fitted = gs.families.Normal.fit(x)
    >>> gs.ksd_test(x, fitted, null=gs.FittedWildBootstrap(), rng=1).pvalue < 0.01
    True

    A fit of your own, here of the scale of a logistic distribution:

    >>> import numpy as np
    >>> import scipy.stats
    >>> x = scipy.stats.logistic(scale=2.0).rvs(200, random_state=1)[:, None]
    >>> family = lambda theta: scipy.stats.logistic(scale=theta[0])
    >>> scale = scipy.stats.logistic.fit(x, floc=0)[1]
    >>> null = gs.FittedWildBootstrap(model=family, parameters=[scale])
    >>> gs.ksd_test(x, family([scale]), null=null, rng=1).pvalue > 0.05
    True
    """

    model: Callable[[Array], Any] | None = field(default=None, kw_only=True, repr=False)
    parameters: ArrayLike | None = field(default=None, kw_only=True, repr=False, compare=False)
    influence: Any = field(default=LIKELIHOOD, kw_only=True, repr=False, compare=False)

    refits = True  # no annotation: not a field

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.model is None) != (self.parameters is None):
            raise InputError(
                "FittedWildBootstrap takes `model`, a function of the parameters, together with the fitted "
                "`parameters`. Pass both, or neither for a model that knows how it was fitted."
            )
        if self.model is not None and not callable(self.model):
            what = "a function of the parameters that returns a model"
            raise must("model", what, self.model, "FittedWildBootstrap")
        own = not isinstance(self.influence, str | Influence)
        if own and (not callable(self.influence) or isinstance(self.influence, type)):
            numbers(self.influence, "influence", of="FittedWildBootstrap")
        if own and self.model is None:
            reason = "goes with `model` and `parameters`, which say what was fitted. Pass them too."
            raise InputError(reason, argument="influence", predicate=True)
        if isinstance(self.influence, str) and self.influence != LIKELIHOOD:
            raise InputError(
                f'`influence` must be "{LIKELIHOOD}", a function of (data, theta) that returns ψ, (n, p), or '
                f"influence values, (n, p); got {self.influence!r}. What goodstein.estimate has fitted, by "
                "score matching for example, knows how: pass its model, and FittedWildBootstrap()."
            )

    @classmethod
    def where_known(cls, problem: Problem, n_resamples: int) -> FittedWildBootstrap | None:
        """For a model that knows that it was fitted to these very data, if it can be corrected for that."""
        fit = problem.model.provenance
        if problem.data.weights is not None or fit is None or fit.influence is None:
            return None
        if not fit.exact(fit.rows.among(problem.observations)):
            return None
        null = cls(n_resamples)
        try:
            influence = null._influence(problem)
            _require_more(problem, influence)
            _require_known(problem, influence)
        except Explained:  # the test itself has more to say of what is wrong
            return None
        return replace(null, influence=influence)

    def few(self, problem: Problem) -> list[Check]:
        """Whether observations are so few for the number of parameters that small p-values mean nothing."""
        influence = self._influence(problem)
        _require_more(problem, influence)
        n, p = influence.values.shape
        if n >= EACH * p + LEAST:
            return []
        found = f"{n} observations are few for {p} fitted parameters"
        message = f"{found}: what these do is known to first order only. {refit(problem)}"
        return [Question("few rows for the parameters").warned(message, loud=True, small=found)]

    @property
    def given(self) -> Any:
        """Without what was taken from the data."""
        return replace(self, influence=LIKELIHOOD) if isinstance(self.influence, Influence) else self

    def calibrate(self, problem: Problem, *, workers: Workers, rng: np.random.Generator) -> Calibration:
        return self.calibrate_jointly(Collection.of(problem), workers=workers, rng=rng)[0]

    def calibrate_jointly(
        self, collection: Collection, *, workers: Workers, rng: np.random.Generator
    ) -> JointCalibration:
        problems = collection.problems
        influence = self._influence(problems[0])
        _require_more(problems[0], influence)
        n = len(influence.values)
        many = len(problems) if n >= MANY_ROWS else 0
        told = begin(100 * many, float(n * many))
        forms = Corrections(influence).forms(problems, told)
        pairs = n * (n - 1)
        plain = [problem.form for problem in problems]
        statistics, _ = joint_statistics(plain, None, workers=workers)
        _, draws = joint_statistics(forms, self.weights(collection, n, rng), workers=workers)
        # With the diagonals Σ_ij H is to be compared with Σ_ij ε_i ε_j H̃_ij; on these H and H̃ differ.
        traces = [
            form.diagonal().sum() - own.diagonal().sum() for form, own in zip(forms, plain, strict=True)
        ]
        return JointCalibration(statistics, draws + np.array(traces)[:, None] / pairs)

    def influence_on(self, problem: Problem) -> Influence:
        """What each observation of a problem did to the parameters of its model, centred."""
        return self._influence(problem)

    def _influence(self, problem: Problem) -> Influence:
        if isinstance(self.influence, Influence):
            return self.influence
        found = self._known(problem) if self.model is None else self._own(problem, self.model)
        if away := found.unsolved:
            name, fit = problem.model.name, problem.model.provenance
            if fit is not None and fit.exact(fit.rows.among(problem.observations)):
                raise InputError(f"FittedWildBootstrap: {stopped_short(name, away)}", remedy=FIT_AGAIN)
            raise InputError(
                f"FittedWildBootstrap: the parameters of {name} are not those that fit these data: {away} "
                "from them.",
                remedy="It is for models that were fitted to all of these observations and no others; for "
                f"one that was fixed beforehand use {given('null', 'WildBootstrap()')}.",
            )
        values = found.values - found.values.mean(axis=0)
        return replace(found, values=values)

    def _known(self, problem: Problem) -> Influence:
        """From a model that knows how it was fitted."""
        fit, name, n = problem.model.provenance, problem.model.name, len(problem.data)
        if fit is None or fit.method is None:
            raise InputError(
                f"FittedWildBootstrap: {name} does not say how it was fitted.",
                remedy="Pass FittedWildBootstrap(model=function of theta, parameters=the fitted theta), or "
                f"use {given('null', 'ParametricBootstrap(fit)')}.",
            )
        if fit.influence is None:
            raise InputError(
                f"FittedWildBootstrap: {name} was fitted by {fit.method}, for which there are no influence "
                "values.",
                remedy=refit(problem),
            )
        if len(fit.rows) != n:
            raise InputError(
                f"FittedWildBootstrap: {name} was fitted to {len(fit.rows)} rows, and these are {n}. The "
                "correction is for tests of all rows of the fit.",
                remedy="Pass these, or test rows that took no part in the fit with "
                f"{given('null', 'WildBootstrap()')}.",
            )
        known: Influence = fit.influence(problem.observations)
        return known

    def _own(self, problem: Problem, model: Callable[[Array], Any]) -> Influence:
        """From what the user says of the fit."""
        theta = np.atleast_1d(numbers(self.parameters, "parameters", ndim=(0, 1), of="FittedWildBootstrap"))
        names = tuple(f"parameters[{k}]" for k in range(len(theta)))

        def at(by: Array) -> Any:
            return asked(model, "`model` of FittedWildBootstrap", theta + by)

        shape = (len(problem.data), len(theta))
        start = 1e-3 * np.where(theta == 0, 1.0, np.abs(theta))
        given = self.influence
        if isinstance(given, str):
            data = problem.observations

            def likelihood(by: Array) -> Array:
                values: Array = problem.with_model(at(by)).model.log_likelihood(data)
                return values

            return Influence(at, of_maximum(likelihood, start, names), names, likelihood=True)

        def checked(found: Any) -> Array:
            values = answered(found, "`influence`")
            values = values[:, None] if values.shape == shape[:1] else values
            if values.shape != shape or not np.isfinite(values).all():
                reason = f"expected finite numbers of shape {shape}, (n, p), got shape {values.shape}."
                raise InputError(reason, argument="influence")
            return values

        if not callable(given):
            return Influence(at, checked(given), names)

        def equations(by: Array) -> Array:
            return checked(asked(given, "`influence`", problem.observations, theta + by))

        return Influence(at, of_equations(equations, start, names), names)


class Corrections:
    """The derivatives ψ of the log density, by which features are corrected for a fit, for several problems.

    Of maximum likelihood ψ are the influence values times the information. Of other fits they are differences
    of the log density, at draws of the model where there are some, else at the observations, where they are
    scaled such that mean IF ψᵀ is the identity.
    """

    def __init__(self, influence: Influence) -> None:
        self.influence = influence
        self._draws: Any = None
        self._psi: Array | None = None

    def forms(self, problems: Sequence[Problem], told: Finished | None = None) -> list[BlockForm]:
        """H̃ of problems of the same data and model; whoever waits is `told` of the rows that are done."""
        several = len(problems) > 1
        return [self._form(problem, told, several) for problem in problems]

    def _form(self, problem: Problem, told: Finished | None, several: bool) -> BlockForm:
        _require_known(problem, self.influence)
        if self._psi is None:
            self._psi = self._derivatives(problem)
        drawn = None
        if self._draws is not None:
            operator, model, domain = problem.fitted_operator, problem.model, problem.domain
            beside = operator.features_beside(problem.features, model, domain, self._draws)
            if beside is None:
                raise _unknown(problem)
            drawn = beside.form(problem.fitted_kernel)
        least = LITTLE if several or isinstance(problem.operator, Dilation | Moments) else ROUNDING
        return corrected(problem.form, self.influence.values, self._psi, drawn, told, least=least)

    def _derivatives(self, problem: Problem) -> Array:
        values, n = self.influence.values, len(self.influence.values)
        if self.influence.likelihood:
            return np.asarray(np.linalg.solve(values.T @ values / n, values.T).T)
        if isinstance(problem.data, Points) and problem.model.has_sample:
            rng = np.random.default_rng(DRAWS)
            self._draws = problem.data.many(problem.model, problem.domain, DRAWS, rng).observations
            return self._slopes(problem, self._draws)
        psi = self._slopes(problem, problem.observations)
        return np.asarray(np.linalg.solve((values.T @ psi / n).T, psi.T).T)

    def _slopes(self, problem: Problem, observations: Any) -> Array:
        """∂_a log q, centred, (m, p), by differences over a standard error of the parameters either way."""
        columns = []
        for a, error in enumerate(self.influence.errors):
            step = error
            while True:
                by = np.zeros(len(self.influence.errors))
                by[a] = step
                try:
                    ahead, behind = (
                        problem.with_model(self.influence.model(sign * by)).model.log_likelihood(observations)
                        for sign in (1.0, -1.0)
                    )
                    break
                except InputError:  # no such member of the family
                    step /= 2.0
                    if step < 1e-3 * error:
                        raise
            columns.append((ahead - behind) / (2.0 * step))
        psi = np.column_stack(columns)
        return np.asarray(psi - psi.mean(axis=0))


def _require_known(problem: Problem, influence: Influence) -> None:
    """Raise where it is not known how the features change with the parameters."""
    operator = problem.fitted_operator
    if problem.form.n != len(influence.values):
        reason = f"{problem.operator!r} tests some of the observations, and the fit was to all of them."
        raise InputError(f"FittedWildBootstrap: {reason}", remedy=refit(problem))
    if operator.diagonal_counts or operator.changes_model:
        raise _unknown(problem)
    if not influence.likelihood:
        problem.model.log_likelihood(problem.observations)  # raises where there is none


def _unknown(problem: Problem) -> InputError:
    return InputError(
        f"FittedWildBootstrap does not know how the features of {problem.operator!r} change with the "
        "parameters.",
        remedy=refit(problem),
    )


def _require_more(problem: Problem, influence: Influence) -> None:
    """Raise where nothing is left of the observations."""
    n, p = influence.values.shape
    if n <= 2 * p:
        raise InputError(
            f"FittedWildBootstrap: {n} observations are too few for {p} fitted parameters.",
            remedy=refit(problem),
        )
