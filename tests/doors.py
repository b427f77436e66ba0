"""The doors of the library: every public class, function and method, with a valid call of it.

``battery.py`` knocks at them. The instances are those of ``cases.py``; what is new there is a new door here.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any

import numpy as np

import cases
import goodstein as gs
from goodstein import auxiliary, estimate, families, graphs, kernels, patterns
from goodstein.power.runner import Runner
from goodstein.types import ArrayLike

# --- what an argument may be -----------------------------------------------------------------

ROWS = {"ragged", "texts", "objects", "bools", "nan", "inf", "empty"}
"""What may be split: lists of anything, and arrays, whatever is in them."""

NUMBERS = {"int", "float", "extreme", "size"}
ARRAYS = NUMBERS | {"array"}
SEEDS = {"none", "int", "size", "array", "random"}
QUESTIONS = ARRAYS | {"empty", "nan", "inf"}
"""A point that is none lies nowhere: that is an answer too."""

WORDS = {
    "RNG": SEEDS,
    "Workers": {"none", "int", "size"},
    "bool": {"bool"},
    "int": {"int"},
    "float": NUMBERS,
    "str": {"text"},
    "PathLike": {"text"},
    "ArrayLike": ARRAYS,
    "Array": ARRAYS,
    "None": {"none"},
    "Callable": {"callable"},
    "Function": {"callable"},
    "Draw": {"callable"},
    "Test": {"callable"},
    "LogLikelihoodRatio": {"callable"},
    "Operator": {"operator"},
    "Kernel": {"kernel"},
    "Domain": {"domain"},
    "Null": {"null"},
    "WildBootstrap": {"null"},
    "Auxiliary": {"auxiliary"},
    "Censored": {"kind"},
    "Rule": {"text"},
}
"""What may be taken, by the words of an annotation."""

NAMES = {
    "data": ARRAYS | {"bools", "kind"},
    "x": ARRAYS | {"empty"},
    "y": ARRAYS,
    "chunk": ARRAYS | {"kind"},
    "reference": ARRAYS | {"bools", "kind", "none"},
    "t": ARRAYS | {"empty"},
    "breakpoints": ARRAYS | {"empty"},
    "events": ARRAYS | {"empty"},
    "radii": ARRAYS | {"float"},
    "points": ARRAYS,
    "covariate_kernel": {"none", "kernel", "callable"},
    "names": {"texts"},
    "vector": ARRAYS,
    "bounds": {"array"},
    "strengths": {"array", "generator"},
    "pattern": ARRAYS | {"empty"},
    "u": ARRAYS | {"empty"},
    "training": ARRAYS | {"kind"},
    "graph": ARRAYS | {"bools", "kind"},
    "patterns": {"array", "extreme", "kind"},
    "model": {"callable", "family"},
    "alternative": {"callable", "none", "family"},
    "censoring": {"callable", "none", "family"},
    "fit": {"callable", "family"},
    "domain": {"domain"},
    "null": {"null"},
    "progress": {"bool", "callable"},
    "seed": {"int", "size"},
    "event_observed": ARRAYS | {"bool", "bools", "none"},
    "operator": {"none", "operator"},
    "kernel": {"none", "kernel"},
    "x_kernel": {"none", "kernel", "callable"},
}
"""The same by the names of arguments, where the annotation says nothing."""


@dataclass(frozen=True)
class Door:
    """Something that is called, a call that is valid, and how an answer is put to use."""

    kind: str
    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]
    use: Callable[[Any], Any] | None = None
    may: dict[str, set[str]] = field(default_factory=dict)
    """What arguments may be beyond what their annotations say."""
    skip: tuple[str, ...] = ()

    def parameters(self) -> dict[str, set[str]]:
        """The arguments, and the kinds of values that each may be."""
        found = {}
        for name, parameter in inspect.signature(self.function).parameters.items():
            if name not in self.skip and parameter.kind not in (
                parameter.VAR_KEYWORD,
                parameter.VAR_POSITIONAL,
            ):
                text = str(parameter.annotation)
                plain = re.sub(r"Literal\[[^]]*\]|Sequence\[(?!float)[^]]*\]|Mapping\[.*\]", "", text)
                kinds = set().union(*(WORDS.get(word, set()) for word in re.findall(r"\w+", plain)))
                found[name] = kinds | NAMES.get(name, set()) | self.may.get(name, set())
                if parameter.default is None:
                    found[name].add("none")
        return found

    def call(self, arguments: dict[str, Any]) -> Any:
        """The answer, put to use."""
        answer = self.function(**arguments)
        repr(answer)
        if self.use is None:
            return answer
        # Of what is put to use the use is judged.
        return self.use(answer)


# --- how answers are put to use --------------------------------------------------------------

N = 40
DATA = cases.drawn(cases.normals(), N)
INSIDE = cases.drawn(cases.uniforms(), N)
FAST = gs.WildBootstrap(19)
LINE = DATA[:, :1]
STATES = cases.drawn(cases.states(0.2, 0.3, 0.5), N)


def use_family(family: Any) -> Any:
    """Draw from it, and evaluate it there."""
    try:
        x = family.sample(3, rng=0)
    except gs.SamplingError:
        return None
    if hasattr(family, "papangelou"):
        return family.papangelou(INSIDE, x[0])
    if hasattr(family, "compensator"):
        return family.compensator(x[0], x[0])
    return family.logpdf(x), None if isinstance(family, families.PiecewiseExponential) else family.score(x)


def first_column(u: Any) -> Any:
    """A covariate."""
    return u[:, 0]


def use_domain(domain: Any) -> Any:
    """Ask for its operator, and draw from it."""
    domain.default_operator()
    if isinstance(domain, gs.StateSpace):
        model = gs.Model(logpdf=cases.alike, domain=domain)
        return gs.ksd_test(cases.inside(cases.COUNTABLE[-1], 9), model, null=FAST, rng=0)
    try:
        x = families.Uniform(domain).sample(3, rng=0)
    except gs.InputError:
        return None
    return x, domain.contains(x)


def use_kernel(kernel: Any, case: Any) -> Any:
    """Test with it."""
    name = type(kernel).__name__
    if name == "ConfigurationKernel":
        data = cases.DATA[4]
    elif name in ("SubgraphCounts", "WeisfeilerLehman"):
        return gs.graph_ksd_test(cases.DATA[5].data, cases.GRAPH, kernel=kernel, null=gs.MonteCarlo(3), rng=0)
    elif case.at is not None:
        k = int(case.at.max()) + 1
        table = families.CategoricalTable(np.ones((k, k)))
        return gs.ksd_test(case.at, table, kernel=kernel, null=FAST, rng=0)
    else:
        return gs.ksd_test(DATA, cases.PLANE, kernel=kernel, null=FAST, rng=0)
    return gs.ksd_test(data.data, data.model, kernel=kernel, null=FAST, rng=0)


def use_operator(operator: Any, case: Any) -> Any:
    """Test with it."""
    n = case.n if case.null is not None else N
    null = gs.MonteCarlo(3) if case.null is not None else FAST
    return gs.ksd_test(case.data(n), case.model, operator=operator, null=null, rng=0, audit=False)


def line_at(theta: Any) -> Any:
    """A member of a family of one parameter."""
    return families.Normal(theta[0])


def use_null(null: Any) -> Any:
    """Test with it."""
    return gs.ksd_test(DATA, families.Normal.fit(DATA), null=null, rng=0)


def use_approximation(choice: Any) -> Any:
    """Test with it."""
    return gs.ksd_test(DATA, cases.PLANE, approximate=choice, null=FAST, rng=0)


def use_data(data: Any, case: Any) -> Any:
    """Test them."""
    null = FAST if case.data.replicated else gs.MonteCarlo(3)
    return gs.ksd_test(data, case.model, operator=case.operator, null=null, rng=0, audit=False)


def use_auxiliary(function: Any, domain: Any = cases.SQUARE, x: Any = INSIDE) -> Any:
    """Test with it."""
    operator = gs.Standardised(function)
    return gs.ksd_test(x, families.Uniform(domain), operator=operator, null=FAST, rng=0)


def use_model(model: Any) -> Any:
    """Test it, by simulation where it can be drawn."""
    null = gs.MonteCarlo(3) if model.has_sample else FAST
    return gs.ksd_test(DATA, model, null=null, rng=0)


def use_estimated(family: Any) -> Any:
    """Fit it."""
    return fit_of(estimate.ScoreMatching(1).fit(DATA[:, :1], family, rng=0))


def use_estimator(estimator: Any, case: Any) -> Any:
    """Fit with it."""
    return fit_of(estimator.fit(case.data[:60], case.family, domain=case.domain, rng=0))


def fit_of(fit: Any) -> Any:
    """The numbers of a fit."""
    return [np.asarray(value, float) for value in fit.parameters.values()]


# --- doors -----------------------------------------------------------------------------------


def arguments_of(thing: Any) -> dict[str, Any]:
    """From which the constructor makes an equal object."""
    if dataclasses.is_dataclass(thing):
        return {f.name: getattr(thing, f.name) for f in dataclasses.fields(thing) if f.init}
    if isinstance(thing, gs.Orthant):
        return {"d": thing.dim}
    names = inspect.signature(type(thing)).parameters
    return {name: plain(value) for name, value in zip(names, thing._arguments(), strict=False)}


def plain(value: Any) -> Any:
    """Nested tuples of numbers as an array."""
    if isinstance(value, tuple) and value and not any(isinstance(one, (str, int)) for one in value):
        try:
            return np.array(value, float)
        except (TypeError, ValueError):
            return value
    return value


def constructor(kind: str, thing: Any, use: Any, **options: Any) -> Door:
    """The door of the constructor of an instance."""
    return Door(kind, type(thing).__name__, type(thing), arguments_of(thing), use, **options)


def one_of_each(things: list[Any]) -> list[Any]:
    """The last instance of each class."""
    return list({type(thing): thing for thing in things}.values())


def sample_of(family: Any, n: int = N) -> Any:
    return family.sample(n, rng=0)


def method(kind: str, thing: Any, name: str, **options: Any) -> Door:
    """The door of a method."""
    extra = {key: options.pop(key) for key in ("use", "may", "skip") if key in options}
    function = options.pop("function", getattr(thing, name))
    return Door(kind, f"{type(thing).__name__}.{name}", function, options, **extra)


def inside(family: Any, name: str, x: ArrayLike) -> Any:
    """A score or log density, and zero for points that are not inside of the domain, where it has limits."""
    values = getattr(family, name)(x)
    points = np.asarray(x, float).reshape(-1, family.dim)
    within = family.domain.contains(points)
    within[within] &= ~(family.domain.boundary_distance(points[within]) <= 0) | family.domain.discrete
    return np.where(within if values.ndim == 1 else within[:, None], values, 0.0)


def family_methods(family: Any) -> list[Door]:
    """Drawing, evaluating and fitting."""
    make = partial(method, "methods of families", family)
    x = sample_of(family)
    found = [make("sample", n=3, rng=0)]
    if hasattr(family, "papangelou"):
        found.append(make("papangelou", u=INSIDE, pattern=x[0]))
    elif hasattr(family, "compensator"):
        found += [make(name, t=x[0], events=x[0]) for name in ("compensator", "intensity")]
    else:
        jumps = isinstance(family, families.PiecewiseExponential)
        names = ("logpdf",) if jumps else ("score", "logpdf")
        found += [make(name, x=x, use=None, function=partial(inside, family, name)) for name in names]
    if hasattr(family, "hazard"):
        found += [make(name, t=x) for name in ("hazard", "cumulative_hazard", "survival")]
    if hasattr(family, "fit"):
        found.append(make("fit", **fit_arguments(family, x), use=use_family))
    return found


def fit_arguments(family: Any, x: Any) -> dict[str, Any]:
    """A valid call of ``fit``."""
    known = {
        "PiecewiseExponential": {"data": x, "breakpoints": np.array([1.0])},
        "ERGM": {"graph": cases.DATA[5].data.adjacency},
        "PoissonProcess": {"patterns": x, "domain": cases.SQUARE},
        "Strauss": {"pattern": x[0], "domain": cases.SQUARE, "radius": 0.1},
        "Hawkes": {"events": x[0], "domain": family.domain},
        "StochasticBlockModel": {"graph": cases.DATA[5].data.adjacency, "blocks": np.arange(12) % 2},
        "DirichletMixture": {"x": x, "n_components": 1, "rng": 0},
        "LogisticNormalMixture": {"x": x, "n_components": 1, "rng": 0},
        "Potts": {"x": x, "levels": getattr(family, "levels", None)},
        "ProbabilisticPCA": {"x": x, "n_components": 1},
        "GaussianMixture": {"x": x, "n_components": 1, "rng": 0},
        "Binomial": {"x": x, "count": 7},
        "ZeroInflated": {"x": x, "family": families.Poisson},
        "Product": {"x": x, "families": [families.Poisson, families.Geometric]},
    }
    first = next(iter(inspect.signature(family.fit).parameters))
    return known.get(type(family).__name__, {first: x})


CELL = gs.Cell(families.Normal(0.0), families.Normal(0.5), 8, name="shift")
TESTS = {"KSD": partial(gs.ksd_test, null=FAST)}
ERGM_DATA = cases.DATA[5].data.adjacency
SCATTER = [np.random.default_rng(k).uniform(size=(k + 3, 2)) for k in range(9)]
PAIRS = cases.drawn(cases.pairs(0.0), N)
WATCHED = gs.Monitor(cases.PLANE, reference=INSIDE, rng=0)


def z_test(data: Any, model: Any, *, rng: Any) -> float:
    """That of a mean of zero, one-sided."""
    return 0.5 * math.erfc(math.sqrt(len(data) / 2) * float(np.mean(data)))


def tests_of_fit() -> list[Door]:
    """Every test, on small data."""
    make = partial(Door, "tests of fit")
    usual = {"data": DATA, "model": cases.PLANE, "rng": 0}
    box = {"data": INSIDE, "model": families.Uniform(cases.SQUARE), "rng": 0}
    found = [
        make("ksd_test", gs.ksd_test, {**usual, "null": FAST}),
        make("ksd_test, box", gs.ksd_test, {**box, "null": FAST}),
        make("ksd_test, approximate", gs.ksd_test, {**usual, "null": FAST, "approximate": gs.Nystrom(9)}),
        make(
            "Monitor",
            gs.Monitor,
            {"model": cases.PLANE, "reference": INSIDE, "landmarks": 20, "rng": 0},
            lambda found: found.update(DATA).evalue,
        ),
        make("Monitor.update", WATCHED.update, {"chunk": DATA}, lambda found: found.pvalue),
        make("Monitor.reject", WATCHED.reject, {"level": 0.05}),
        make("stein_matrix", gs.stein_matrix, usual),
        make("audit", gs.audit, {"data": DATA, "model": cases.PLANE, "rng": 0}),
        make("aggregated_test", gs.aggregated_test, {**usual, "kernels": [gs.IMQ(1.0)], "null": FAST}),
        make(
            "check", gs.check, {**usual, "operators": [gs.Langevin()], "null": FAST}, lambda found: found.test
        ),
        make("regularised_test", gs.regularised_test, {**usual, "null": FAST}),
        make("equivalence_test", gs.equivalence_test, {**usual, "margin": 0.5, "null": FAST}),
        make("fssd_test", gs.fssd_test, {**usual, "optimise": False, "n_resamples": 99}),
        make("mmd_test", gs.mmd_test, {**usual, "n_draws": 30, "n_resamples": 19}),
        make("m3d_test", gs.m3d_test, {**usual, "n_draws": 30, "n_resamples": 19}),
        make(
            "relative_ksd_test",
            gs.relative_ksd_test,
            {"data": DATA, "model_p": cases.PLANE, "model_q": families.Normal([1.0, 1.0]), "rng": 0},
            may={"model_p": {"callable"}, "model_q": {"callable"}},
        ),
        make(
            "select",
            gs.select,
            {**usual, "kernels": [gs.IMQ(1.0), gs.Gaussian(1.0)]},
            may={"operators": {"operator"}, "kernels": {"kernel"}},
        ),
        make(
            "conditional_ksd_test",
            gs.conditional_ksd_test,
            {"x": PAIRS.x, "y": PAIRS.y, "model": cases.CONDITIONAL, "null": FAST, "rng": 0},
        ),
        make(
            "point_pattern_ksd_test",
            gs.point_pattern_ksd_test,
            {"patterns": SCATTER, "model": cases.PATTERN, "null": FAST, "rng": 0},
        ),
        make(
            "graph_ksd_test",
            gs.graph_ksd_test,
            {"graph": ERGM_DATA, "model": cases.GRAPH, "null": gs.MonteCarlo(3), "sweeps": 3, "rng": 0},
        ),
        make(
            "ksd_test, durations",
            gs.ksd_test,
            {"data": cases.DATA[2].data, "model": cases.HAZARD, "null": FAST, "rng": 0},
        ),
    ]
    return found


def other_functions() -> list[Door]:
    """Those of the other rooms."""
    uniform = families.Uniform(cases.SQUARE)
    return [
        Door(
            "power",
            "Cell",
            gs.Cell,
            {"model": families.Normal(0.0), "alternative": families.Normal(0.5), "n": 8},
            may={"name": {"none"}, "tests": {"empty", "texts"}},
        ),
        Door("power", "Runner", Runner, {"workers": 1}, may={"workers": {"int", "none"}}),
        Door(
            "power",
            "power_study",
            gs.power_study,
            {"cells": [CELL], "tests": TESTS, "trials": 10, "bound": False},
            skip=("workers",),  # they would start processes; the runner is above
        ),
        Door(
            "power",
            "sample_size",
            gs.sample_size,
            {
                "model": families.Normal(0.0),
                "alternative": families.Normal(1.0),
                "test": z_test,
                "trials": 60,
                "power": 0.5,
                "bounds": (8, 16),
                "bound": False,
                "rng": 0,
            },
            skip=("workers",),
        ),
        Door(
            "power",
            "neyman_pearson_power",
            gs.neyman_pearson_power,
            {
                "model": families.Normal(0.0),
                "alternative": families.Normal(0.5),
                "n": 5,
                "n_null": 400,
                "n_alternative": 200,
                "rng": 0,
            },
        ),
        Door(
            "functions", "split", gs.split, {"data": DATA, "fraction": 0.5, "rng": 0}, len, may={"data": ROWS}
        ),
        Door(
            "functions",
            "from_lonlat",
            gs.from_lonlat,
            {"longitude": 90 * LINE[:, 0] % 360, "latitude": 9 * LINE[:, 0]},
        ),
        Door("functions", "as_model", gs.as_model, {"model": cases.PLANE}),
        Door(
            "functions",
            "quadrature",
            patterns.quadrature,
            {"domain": cases.SQUARE, "nodes": 16},
            may={"length": {"inf"}},
        ),
        Door("functions", "as_graph", graphs.as_graph, {"graph": ERGM_DATA}, skip=("name",)),
        Door("auxiliaries", "default_auxiliary", auxiliary.default_auxiliary, {"domain": cases.SQUARE}),
        Door("auxiliaries", "learn", auxiliary.learn, {"training": INSIDE, "model": uniform, "rng": 0}),
        Door("operators", "default_operator", gs.operators.default_operator, {"domain": cases.SQUARE}),
    ]


def score(x: Any) -> Any:
    return -np.asarray(x)


def logpdf(x: Any) -> Any:
    return -0.5 * (np.asarray(x) ** 2).sum(axis=-1)


def sample(n: int, rng: Any) -> Any:
    return rng.standard_normal((n, 2))


def value(x: Any) -> Any:
    return (x * (1 - x)).prod(axis=1)


def gradient(x: Any) -> Any:
    return (1 - 2 * x) * (x * (1 - x))[:, ::-1]


def hazard(t: Any) -> Any:
    return np.ones_like(t)


def cumulative(t: Any) -> Any:
    return np.asarray(t, float)


def zeros(t: Any) -> Any:
    return np.zeros_like(t)


def draw_exponential(n: int, rng: Any) -> Any:
    return rng.exponential(size=n)


def conditional_score(y: Any, x: Any) -> Any:
    return x - y


def conditional_sample(x: Any, rng: Any) -> Any:
    return x + rng.standard_normal(x.shape)


def conditional_logpdf(y: Any, x: Any) -> Any:
    return -0.5 * ((y - x) ** 2).reshape(len(y), -1).sum(axis=1)


def conditional_hazard(t: Any, z: Any) -> Any:
    return np.exp(-0.5 * z) + 0 * t


FOLLOWED = cases.drawn(cases.followed(0.5))


def models() -> list[Door]:
    """Models that are made of a user's functions."""
    survival = {"hazard": hazard, "cumulative_hazard": cumulative, "log_hazard_derivative": zeros}
    latent = families.ProbabilisticPCA([[1.0], [0.5]])
    return [
        Door("models", "Model", gs.Model, {"score": score, "sample": sample}, use_model),
        Door("models", "Model, logpdf", gs.Model, {"logpdf": logpdf}, use_model),
        Door("models", "Model, batched", gs.Model, {"score": score, "batched": True}, use_model),
        Door(
            "models",
            "SurvivalModel",
            gs.SurvivalModel,
            {**survival, "sample": draw_exponential},
            lambda m: gs.ksd_test(cases.DATA[2].data, m, null=gs.MonteCarlo(3), rng=0),
            may={"hazard_at_zero": {"inf"}},
        ),
        Door(
            "models",
            "SurvivalRegression",
            gs.SurvivalRegression,
            {"cumulative_hazard": cases.growing, "hazard": conditional_hazard},
            lambda m: gs.ksd_test(FOLLOWED, m, null=gs.MonteCarlo(3), rng=0),
        ),
        Door(
            "models",
            "CoxModel",
            gs.CoxModel,
            {"coefficients": [0.5]},
            lambda m: gs.ksd_test(FOLLOWED, m, null=gs.WildBootstrap(9), rng=0),
        ),
        Door(
            "models",
            "ConditionalModel",
            gs.ConditionalModel,
            {"score": conditional_score, "sample": conditional_sample},
            lambda m: gs.ksd_test(PAIRS, m, null=gs.MonteCarlo(3), rng=0),
        ),
        Door(
            "models",
            "ConditionalModel, logpdf",
            gs.ConditionalModel,
            {"logpdf": conditional_logpdf},
            lambda m: gs.ksd_test(PAIRS, m, null=FAST, rng=0),
        ),
        Door(
            "models",
            "ConditionalModel.gaussian",
            gs.ConditionalModel.gaussian,
            {"mean": cases.line, "scale": 1.0},
            lambda m: gs.ksd_test(PAIRS, m, null=FAST, rng=0),
            may={"mean": {"callable"}, "scale": ARRAYS | {"callable"}},
        ),
        Door(
            "models",
            "LatentModel",
            gs.LatentModel,
            {
                "conditional_score": latent.conditional_score,
                "posterior_sample": latent.posterior_sample,
                "domain": gs.Euclidean(2),
            },
            lambda m: gs.ksd_test(DATA, m, operator=gs.Latent(5), null=FAST, rng=0),
        ),
        Door(
            "models",
            "Posterior",
            gs.Posterior,
            {
                "prior_score": cases.prior_score,
                "likelihood_score": cases.likelihood_score,
                "observations": cases.OBSERVED,
                "domain": gs.Euclidean(1),
                "batched": True,
            },
            lambda m: gs.ksd_test(LINE, m, operator=gs.Stochastic(4), null=FAST, rng=0),
            may={"observations": {"bools"}},
        ),
    ]


# --- objects of a user's own, each with one method that may be wrong -------------------------


class Own:
    """An object with whatever attributes it is given."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    def __repr__(self) -> str:
        return f"Own({', '.join(self.__dict__)})"


def own_kernel(profiles: Callable[..., Any], fitted: Callable[..., Any] | None) -> Any:
    kernel = Own(profiles=profiles)
    kernel.fitted = (lambda points: kernel) if fitted is None else fitted
    return gs.ksd_test(DATA, cases.PLANE, kernel=kernel, null=FAST, rng=0)


def own_operator(features: Callable[..., Any]) -> Any:
    return gs.ksd_test(DATA, cases.PLANE, operator=Own(features=features), null=FAST, rng=0)


def own_null(calibrate: Callable[..., Any]) -> Any:
    return gs.ksd_test(DATA, cases.PLANE, null=Own(calibrate=calibrate), rng=0)


def own_auxiliary(evaluate: Callable[..., Any]) -> Any:
    operator = gs.Standardised(Own(evaluate=evaluate))
    return gs.ksd_test(INSIDE, families.Uniform(cases.SQUARE), operator=operator, null=FAST, rng=0)


def own_process(papangelou: Callable[..., Any], sample: Callable[..., Any]) -> Any:
    model = Own(papangelou=papangelou, sample=sample, domain=cases.SQUARE)
    return gs.point_pattern_ksd_test(SCATTER, model, null=gs.MonteCarlo(3), rng=0)


def own_graph_model(log_odds: Callable[..., Any], walk: Callable[..., Any]) -> Any:
    model = Own(log_odds=log_odds, walk=walk)
    return gs.graph_ksd_test(ERGM_DATA, model, null=gs.MonteCarlo(3), sweeps=3, rng=0)


def own_model(score: Callable[..., Any], sample: Callable[..., Any]) -> Any:
    return gs.ksd_test(DATA, Own(score=score, sample=sample), null=gs.MonteCarlo(3), rng=0)


def own_refit(fit: Callable[..., Any]) -> Any:
    model = families.Normal.fit(DATA)
    return gs.ksd_test(DATA, model, null=gs.ParametricBootstrap(fit, 3), rng=0)


def profiles(rho: Any, order: int = 2) -> Any:
    return [np.exp(-rho / 2) * (-0.5) ** k for k in range(order + 1)]


def features(model: Any, domain: Any, data: Any) -> Any:
    return gs.SteinFeatures(points=data, value=model.score(data), weight=None)


def calibrate(problem: Any, *, workers: Any, rng: Any) -> Any:
    return gs.WildBootstrap(19).calibrate(problem, workers=workers, rng=rng)


def evaluate(x: Any, domain: Any) -> Any:
    return value(x), gradient(x)


def papangelou(u: Any, pattern: Any) -> Any:
    return np.full(len(u), 9.0)


def draw_patterns(n: int, rng: Any) -> Any:
    return [rng.uniform(size=(rng.poisson(9.0), 2)) for _ in range(n)]


OWN_OBJECTS = [
    Door("own objects", "own kernel", own_kernel, {"profiles": profiles, "fitted": None}),
    Door("own objects", "own operator", own_operator, {"features": features}),
    Door("own objects", "own null", own_null, {"calibrate": calibrate}),
    Door("own objects", "own auxiliary", own_auxiliary, {"evaluate": evaluate}),
    Door("own objects", "own process", own_process, {"papangelou": papangelou, "sample": draw_patterns}),
    Door(
        "own objects",
        "own graph model",
        own_graph_model,
        {"log_odds": cases.GRAPH.log_odds, "walk": cases.GRAPH.walk},
    ),
    Door("own objects", "own model", own_model, {"score": score, "sample": sample}),
    Door("own objects", "own fit", own_refit, {"fit": cases.fitted_normal}, may={"fit": {"none"}}),
]


# --- methods of other objects ----------------------------------------------------------------


def other_methods() -> list[Door]:
    """Of domains, data, models and results."""
    found = []
    for domain in one_of_each(cases.DOMAINS):
        x = cases.inside(domain, 7)
        make = partial(method, "methods of domains", domain)
        found += [make(name, x=x, may={"x": QUESTIONS}) for name in ("contains", "validate")]
        if domain.bounded and not isinstance(domain, gs.Chart):
            found.append(make("sample_uniform", n=3, rng=np.random.default_rng(0), may={"rng": SEEDS}))
    make = partial(method, "methods of domains", gs.Naturals(2))
    found += [make("fixed_total", d=3, use=None), make("fixed_margins", rows=2, columns=3, use=None)]
    lattice = gs.Lattice(3, 2)
    make = partial(method, "methods of domains", lattice)
    found += [
        make("encode", x=STATES, may={"x": {"empty"}}),
        make("decode", codes=STATES.astype(int), may={"codes": ARRAYS | {"empty"}}),
        make("shift", x=STATES, i=0, step=1, may={"x": {"empty"}}),
    ]
    model = gs.Model(score=score, logpdf=logpdf, sample=sample, domain=gs.Euclidean(2))
    make = partial(method, "methods of models", model)
    far = {"x": {"inf"}}  # where a log density is −∞
    found += [make(name, x=DATA, may=far) for name in ("score", "logpdf", "weighted_score")]
    found += [make("sample", n=3, rng=0), make("on", domain=gs.Box(0, [1, 1]))]
    survival = gs.SurvivalModel(hazard=hazard, cumulative_hazard=cumulative)
    make = partial(method, "methods of models", survival)
    times = {"t": {"inf", "empty"}}  # far out a hazard has a limit, which may be infinite
    for name in ("hazard", "cumulative_hazard"):
        found.append(method("methods of models", survival, name, t=LINE[:, 0] ** 2, may=times, use=len))
    found += [make("sample", n=3, rng=0), make("proportional", factor=2.0, use=None)]
    make = partial(method, "methods of models", cases.CONDITIONAL)
    far = {"x": {"inf"}, "y": {"inf"}}
    found += [make(name, y=PAIRS.y, x=PAIRS.x, may=far) for name in ("score", "logpdf")]
    found += [make("sample", x=PAIRS.x, rng=0)]
    for name in ("ProbabilisticPCA", "GaussianMixture", "BetaBinomial"):
        family = next(one for one in cases.FAMILIES if type(one).__name__ == name)
        x = sample_of(family, 5)
        z = family.posterior_sample(x, 2, np.random.default_rng(0))
        make = partial(method, "methods of families", family)
        found.append(make("posterior_sample", x=x, draws=2, rng=np.random.default_rng(0), may={"rng": SEEDS}))
        found.append(make("conditional_score", x=x, z=z[:, 0], may={"z": ARRAYS}))
    for family in cases.FAMILIES:
        make = partial(method, "methods of families", family)
        if isinstance(family, families.Truncated):
            found.append(make("acceptance_rate", n=50, rng=0))
        if hasattr(family, "weighted_score"):
            found.append(make("weighted_score", x=sample_of(family, 5)))
    table, graph = cases.TABLE, families.ERGM(12, edges=-1.0)
    found += [
        method("methods of families", table, "independent", x=STATES, levels=3, use=use_family),
        method("methods of families", graph, "statistics", adjacency=ERGM_DATA, may={"adjacency": {"bools"}}),
        method("methods of families", graph, "log_odds", adjacency=ERGM_DATA, may={"adjacency": {"bools"}}),
    ]
    durations = cases.DATA[2].data
    result = gs.ksd_test(DATA, cases.PLANE, null=FAST, rng=0)
    fit = estimate.ScoreMatching(1).fit(DATA, estimate.AnyNormal(), rng=0)
    chosen = gs.select(DATA, cases.PLANE, kernels=[gs.IMQ(1.0)], rng=0)
    known = gs.power_study([CELL], {"z": z_test}, trials=10, bound=False)
    make = partial(method, "methods of results")
    found += [
        method("data", durations, "at_risk", times=durations.durations, may={"times": QUESTIONS - {"nan"}}),
        make(result, "tolerance", level=0.9, rng=0),
        make(fit, "confidence_interval", level=0.9),
        make(fit, "bootstrap", resamples=5, rng=0),
        make(chosen, "test", null=FAST, rng=0),
        make(known, "power", cell="shift", test="z"),
        make(known, "size", cell="shift", test="z"),
        make(known, "table"),
        make(known, "to_markdown"),
        make(known, "to_csv"),
        make(known, "time", test="z"),
    ]
    return found


def of_parameters(family: Any) -> dict[str, set[str]]:
    """What some parameters of families may be beyond their annotations."""
    if isinstance(family, (gs.Box, gs.Polytope)):
        return {"lower": {"inf"}, "upper": {"inf"}, "b": {"inf"}}
    return {"holes": {"empty"}, "periodic": {"empty", "array"}}


@wraps(gs.testing.assert_samples)
def asserted(*args: Any, **options: Any) -> Any:
    """That draws are wrong is an answer, and no error of the call."""
    try:
        return gs.testing.assert_samples(*args, **options)
    except AssertionError as failure:
        return str(failure)


OF_DRAWS = {"draws": ARRAYS | {"bools", "kind"}, "model": {"callable", "family"}}
OWN = ("own", "own data", "plain data", "plain")
DOORS = [
    *(constructor("families", family, use_family) for family in cases.FAMILIES),
    *(door for family in one_of_each(cases.FAMILIES) for door in family_methods(family)),
    *(constructor("domains", domain, use_domain, may=of_parameters(domain)) for domain in cases.DOMAINS),
    *(
        constructor("kernels", case.kernel, partial(use_kernel, case=case))
        for case in cases.KERNELS
        if case.name not in OWN
    ),
    Door(
        "nulls",
        "FittedWildBootstrap, own",
        gs.FittedWildBootstrap,
        {
            "n_resamples": 19,
            "model": line_at,
            "parameters": np.array([LINE.mean()]),
            "influence": LINE - LINE.mean(),
        },
        lambda null: gs.ksd_test(LINE, line_at([LINE.mean()]), null=null, rng=0),
        may={"influence": {"callable"} | ARRAYS, "parameters": ARRAYS},
    ),
    Door("kernels", "Median", kernels.Median, {}, lambda m: use_kernel(gs.IMQ(m), cases.KERNELS[0])),
    *(
        constructor("operators", case.operator, partial(use_operator, case=case))
        for case in cases.OPERATORS
        if case.name not in (*OWN, "FiniteSet")
    ),
    *(constructor("nulls", null, use_null) for null in cases.NULLS.values()),
    constructor("nulls", gs.Nystrom(9), use_approximation),
    Door("auxiliaries", "Auxiliary", gs.Auxiliary, {"value": value, "gradient": gradient}, use_auxiliary),
    Door("auxiliaries", "BoxProduct", gs.auxiliary.BoxProduct, {}, use_auxiliary),
    Door("auxiliaries", "BallPower", gs.BallPower, {}, lambda a: use_auxiliary(a, gs.Ball(2), INSIDE / 2)),
    Door(
        "auxiliaries",
        "ProductOfParts",
        gs.ProductOfParts,
        {},
        lambda a: use_auxiliary(a, gs.Simplex(3), cases.PARTS[:N]),
    ),
    Door("auxiliaries", "Decaying", gs.Decaying, {}, use_auxiliary),
    Door(
        "data",
        "Censored",
        gs.Censored,
        {"durations": np.arange(1.0, N + 1) / 9, "event_observed": np.arange(N) % 3 > 0},
        lambda d: use_data(d, cases.DATA[2]),
    ),
    Door("data", "Paired", gs.Paired, {"x": PAIRS.x, "y": PAIRS.y}, lambda d: use_data(d, cases.DATA[3])),
    Door(
        "data", "Patterns", gs.Patterns, {"patterns": SCATTER, "dim": 2}, lambda d: use_data(d, cases.DATA[4])
    ),
    Door(
        "data",
        "Pattern",
        gs.Pattern,
        {"points": INSIDE},
        lambda d: use_data(d, cases.DATA[8]),
        skip=("names", "origin"),
    ),
    Door(
        "families",
        "Raster",
        patterns.Raster,
        {"values": [[1.0, 2.0]], "domain": cases.SQUARE},
        lambda f: f(INSIDE),
    ),
    Door(
        "families",
        "LogLinear",
        patterns.LogLinear,
        {"coefficients": [0.5, 1.0], "covariates": [first_column]},
        lambda f: f(INSIDE),
    ),
    Door(
        "data",
        "Graph",
        gs.Graph,
        {"adjacency": ERGM_DATA},
        lambda d: use_data(d, cases.DATA[5]),
        may={"adjacency": {"bools"}},
    ),
    Door(
        "data",
        "Chains",
        gs.Chains,
        {"chains": [DATA[:10], DATA[10:]]},
        lambda d: use_data(d, cases.DATA[1]),
        may={"chains": {"array", "extreme"}},
    ),
    Door(
        "data",
        "Weighted",
        gs.Weighted,
        {"data": DATA, "weights": np.linspace(1.0, 2.0, len(DATA))},
        lambda d: gs.ksd_test(d, cases.PLANE, null=FAST, rng=0, audit=False),
    ),
    Door(
        "models",
        "Gradients",
        gs.Gradients,
        {"gradients": -DATA},
        lambda m: gs.ksd_test(DATA, m, null=FAST, rng=0, audit=False),
        may={"gradients": ARRAYS},
    ),
    *(
        Door(
            "draws", function.__name__, function, {"draws": DATA, "model": cases.PLANE, **more}, may=OF_DRAWS
        )
        for function, more in ((gs.thin, {"size": 3}), (gs.stein_weights, {}))
    ),
    Door(
        "draws",
        "assert_samples",
        asserted,
        {
            "draws": families.Normal([0, 0]).sample(300, rng=1),
            "model": cases.PLANE,
            "false_alarms": 1e-3,
            "rng": 0,
        },
        may=OF_DRAWS,
    ),
    *models(),
    *OWN_OBJECTS,
    *other_methods(),
    *tests_of_fit(),
    *other_functions(),
    *(constructor("estimators", c.estimator, partial(use_estimator, case=c)) for c in cases.ESTIMATORS[:3]),
    *(
        Door(
            "estimators",
            f"{type(c.estimator).__name__}.fit, {type(c.family).__name__}",
            c.estimator.fit,
            {"data": c.data[:60], "family": c.family, "domain": c.domain, "rng": 0},
            fit_of,
        )
        for c in cases.ESTIMATORS
    ),
    Door(
        "estimators",
        "ExponentialFamily",
        estimate.ExponentialFamily,
        {"statistic": cases.squares},
        use_estimated,
    ),
    Door(
        "estimators",
        "Parametric",
        estimate.Parametric,
        {"log_density": cases.log_cosh, "start": np.array([0.5])},
        use_estimated,
    ),
]
