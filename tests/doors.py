"""The doors of the library: every public class, function and method, with a valid call of it.

``battery.py`` knocks at them. The instances are those of ``cases.py``; what is new there is a new door here.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable
from concurrent import futures
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any

import numpy as np
from matplotlib import pyplot

import cases
import goodstein as gs
from goodstein import auxiliary, estimate, families, graphs, kernels, patterns, plot
from goodstein.power.runner import Runner
from goodstein.types import ArrayLike
from goodstein.validation import as_array

# --- what an argument may be -----------------------------------------------------------------

ROWS = {"ragged", "texts", "objects", "bools", "nan", "inf", "empty"}
"""What may be split: lists of anything, and arrays, whatever is in them."""

NUMBERS = {"int", "float", "extreme", "size"}
ARRAYS = NUMBERS | {"array"}
SEEDS = {"none", "int", "size", "array", "random"}
QUESTIONS = ARRAYS | {"empty", "nan", "inf"}
"""A point that is none lies nowhere: that is an answer too."""


def said(*groups: tuple[str, set[str]]) -> dict[str, set[str]]:
    return {word: kinds for words, kinds in groups for word in words.split()}


WORDS = said(
    ("RNG", SEEDS),
    ("Workers", {"int", "none", "size"}),
    ("bool", {"bool"}),
    ("int", {"int"}),
    ("float", NUMBERS),
    ("str PathLike Rule", {"text"}),
    ("ArrayLike Array", ARRAYS),
    ("None", {"none"}),
    ("Callable Function Draw Test LogLikelihoodRatio", {"callable"}),
    ("Operator", {"operator"}),
    ("Kernel", {"kernel"}),
    ("Domain", {"domain"}),
    ("Null WildBootstrap", {"null"}),
    ("Auxiliary", {"auxiliary"}),
    ("Censored", {"kind"}),
)
"""What may be taken, by the words of an annotation."""

NAMES = said(
    ("data graph", ARRAYS | {"bools", "kind"}),
    ("x breakpoints events pattern u", ARRAYS | {"empty"}),
    ("y radii points vector", ARRAYS),
    ("chunk training", ARRAYS | {"kind"}),
    ("reference", ARRAYS | {"bools", "kind", "none"}),
    ("t", ARRAYS | {"axis", "empty"}),
    ("times covs", {"axis"}),
    ("covariate_kernel x_kernel", {"callable", "kernel", "none"}),
    ("names", {"texts"}),
    ("bounds", {"array"}),
    ("strengths", {"array", "generator"}),
    ("patterns", {"array", "extreme", "kind"}),
    ("model fit", {"callable", "family"}),
    ("alternative censoring", {"callable", "family", "none"}),
    ("domain", {"domain"}),
    ("null", {"null"}),
    ("progress", {"bool", "callable"}),
    ("seed", {"int", "size"}),
    ("event_observed", ARRAYS | {"bool", "bools", "none"}),
    ("operator", {"none", "operator"}),
    ("kernel", {"kernel", "none"}),
)
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
    points = np.asarray(as_array(x), float).reshape(-1, family.dim)
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
    mixtures = ("DirichletMixture", "LogisticNormalMixture", "GaussianMixture")
    known = {
        "PiecewiseExponential": {"data": x, "breakpoints": np.array([1.0])},
        "ERGM": {"graph": cases.DATA[5].data.adjacency},
        "PoissonProcess": {"patterns": x, "domain": cases.SQUARE},
        "Strauss": {"pattern": x[0], "domain": cases.SQUARE, "radius": 0.1},
        "Hawkes": {"events": x[0], "domain": family.domain},
        "StochasticBlockModel": {"graph": cases.DATA[5].data.adjacency, "blocks": np.arange(12) % 2},
        **{name: {"x": x, "n_components": 1, "rng": 0} for name in mixtures},
        "Potts": {"x": x, "levels": getattr(family, "levels", None)},
        "ProbabilisticPCA": {"x": x, "n_components": 1},
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
FOLLOWED = cases.drawn(cases.followed(0.5))
DURATIONS = cases.DATA[2].data
WATCHED, OTHER = (gs.Monitor(cases.PLANE, reference=INSIDE, rng=0) for _ in range(2))
OTHER.update(1.5 * DATA)
UNIFORM = families.Uniform(cases.SQUARE)


class Own:
    """An object with whatever attributes it is given."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    def __repr__(self) -> str:
        return f"Own({', '.join(self.__dict__)})"


MINE = Own(
    score=lambda x: -np.asarray(x),
    logpdf=lambda x: -0.5 * (np.asarray(x) ** 2).sum(axis=-1),
    sample=lambda n, rng: rng.standard_normal((n, 2)),
    value=lambda x: (x * (1 - x)).prod(axis=1),
    gradient=lambda x: (1 - 2 * x) * (x * (1 - x))[:, ::-1],
    hazard=lambda t: np.ones_like(t),
    cumulative=lambda t: np.asarray(t, float),
    zeros=lambda t: np.zeros_like(t),
    draw_exponential=lambda n, rng: rng.exponential(size=n),
    conditional_score=lambda y, x: x - y,
    conditional_sample=lambda x, rng: x + rng.standard_normal(x.shape),
    conditional_logpdf=lambda y, x: -0.5 * ((y - x) ** 2).reshape(len(y), -1).sum(axis=1),
    conditional_hazard=lambda t, z: np.exp(-0.5 * z) + 0 * t,
    profiles=lambda rho, order=2: [np.exp(-rho / 2) * (-0.5) ** k for k in range(order + 1)],
    features=lambda model, domain, x: gs.SteinFeatures(points=x, value=model.score(x), weight=None),
    calibrate=lambda problem, **options: gs.WildBootstrap(19).calibrate(problem, **options),
    evaluate=lambda x, domain: (MINE.value(x), MINE.gradient(x)),
    papangelou=lambda u, pattern: np.full(len(u), 9.0),
    draw_patterns=lambda n, rng: [rng.uniform(size=(rng.poisson(9.0), 2)) for _ in range(n)],
    in_square=lambda self, x: ((x >= 0) & (x <= 1)).all(axis=1),
    in_length=lambda self, x: np.minimum(x, 1 - x).min(axis=1),
)
"""Functions of a user's, which are right."""


def table(kind: str, rows: dict[str, tuple[Any, ...]]) -> list[Door]:
    """Doors from functions, arguments of a valid call, and what is done with the answer."""
    return [Door(kind, name, *row) for name, row in rows.items()]


def z_test(data: Any, model: Any, *, rng: Any) -> float:
    """That of a mean of zero, one-sided."""
    return 0.5 * math.erfc(math.sqrt(len(data) / 2) * float(np.mean(data)))


def tests_of_fit() -> list[Door]:
    """Every test, on small data."""
    usual = {"data": DATA, "model": cases.PLANE, "rng": 0}
    fast = {**usual, "null": FAST}
    drawn = {**usual, "n_draws": 30, "n_resamples": 19}
    several = {"operators": {"operator"}, "kernels": {"kernel"}}
    both = {"model_p": cases.PLANE, "model_q": families.Normal([1.0, 1.0])}
    pairs = {"x": PAIRS.x, "y": PAIRS.y, "model": cases.CONDITIONAL, "null": FAST, "rng": 0}
    scatter = {"patterns": SCATTER, "model": cases.PATTERN, "null": FAST, "rng": 0}
    graph = {"graph": ERGM_DATA, "model": cases.GRAPH, "null": gs.MonteCarlo(3), "sweeps": 3, "rng": 0}
    counts, copula = families.Poisson(3.0), families.ClaytonCopula(2.0)
    kinds = {
        "durations": (DURATIONS, cases.HAZARD, gs.Martingale()),
        "events given covariates": (FOLLOWED, gs.CoxModel([0.5]), gs.CoxResiduals()),
        "pairs": (PAIRS, cases.CONDITIONAL, gs.Conditional()),
        "counts": (counts.sample(N, rng=0), counts, gs.operators.default_operator(counts.domain)),
        "a copula": (copula.sample(N, rng=0), copula, gs.operators.default_operator(copula.domain)),
        "patterns": (SCATTER, cases.PATTERN, patterns.Papangelou()),
    }
    usual_too = ("null", "level", "workers", "rng", "audit", "progress")  # of which the first check was asked
    checks = {
        f"check, {name}": (
            gs.check,
            {"data": data, "model": model, "operators": [operator], "null": FAST, "rng": 0},
            lambda found: found.test,
            {},
            usual_too,
        )
        for name, (data, model, operator) in kinds.items()
    }
    return table(
        "tests of fit",
        {
            "ksd_test": (gs.ksd_test, fast),
            "ksd_test, box": (gs.ksd_test, {**fast, "data": INSIDE, "model": UNIFORM}),
            "ksd_test, approximate": (gs.ksd_test, {**fast, "approximate": gs.Nystrom(9)}),
            "ksd_test, durations": (gs.ksd_test, {**fast, "data": DURATIONS, "model": cases.HAZARD}),
            "stein_matrix": (gs.stein_matrix, usual),
            "audit": (gs.audit, usual),
            "aggregated_test": (gs.aggregated_test, {**fast, "kernels": [gs.IMQ(1.0)]}),
            "check": (gs.check, {**fast, "operators": [gs.Langevin()]}, lambda found: found.test),
            **checks,
            "regularised_test": (gs.regularised_test, fast),
            "equivalence_test": (gs.equivalence_test, {**fast, "margin": 0.5}),
            "fssd_test": (gs.fssd_test, {**usual, "optimise": False, "n_resamples": 99}),
            "mmd_test": (gs.mmd_test, drawn),
            "m3d_test": (gs.m3d_test, drawn),
            "relative_ksd_test": (
                gs.relative_ksd_test,
                {"data": DATA, **both, "rng": 0},
                None,
                {"model_p": {"callable"}, "model_q": {"callable"}},
            ),
            "select": (gs.select, {**usual, "kernels": [gs.IMQ(1.0), gs.Gaussian(1.0)]}, None, several),
            "conditional_ksd_test": (gs.conditional_ksd_test, pairs),
            "point_pattern_ksd_test": (gs.point_pattern_ksd_test, scatter),
            "graph_ksd_test": (gs.graph_ksd_test, graph),
        },
    )


def monitors() -> list[Door]:
    """A stream of observations."""
    start = {"model": cases.PLANE, "reference": INSIDE, "landmarks": 20, "rng": 0}

    def merged(other: Any) -> Any:
        return WATCHED.merge(other)

    return table(
        "monitors",
        {
            "Monitor": (gs.Monitor, start, lambda found: found.update(DATA).evalue),
            "Monitor.update": (WATCHED.update, {"chunk": DATA}, lambda found: found.pvalue),
            "Monitor.reject": (WATCHED.reject, {"level": 0.05}),
            "Monitor.merge": (merged, {"other": OTHER}, lambda found: found.pvalue),
        },
    )


def other_functions() -> list[Door]:
    """Those of the other rooms."""
    normal = families.Normal(0.0)
    planned = {"model": normal, "alternative": families.Normal(1.0), "test": z_test, "trials": 60}
    planned |= {"power": 0.5, "bounds": (8, 16), "bound": False, "rng": 0}
    sides = {"model": normal, "alternative": families.Normal(0.5)}
    compared = {**sides, "n": 5, "n_null": 400, "n_alternative": 200, "rng": 0}
    learnt = {"training": INSIDE, "model": UNIFORM, "rng": 0}
    degrees = {"longitude": 90 * LINE[:, 0] % 360, "latitude": 9 * LINE[:, 0]}
    study = {"cells": [CELL], "tests": TESTS, "trials": 10, "bound": False}
    processes = ("workers",)  # they would be started; the runner stands alone
    words = {"name": {"none"}, "tests": {"empty", "texts"}}
    halves = {"data": DATA, "fraction": 0.5, "rng": 0}
    rows = {"data": ROWS | {"axis"}}
    return [
        *table(
            "power",
            {
                "Cell": (gs.Cell, {**sides, "n": 8}, None, words),
                "Runner": (Runner, {"workers": 1}, None, {"workers": {"int", "none"}}),
                "power_study": (gs.power_study, study, None, {}, processes),
                "sample_size": (gs.sample_size, planned, None, {}, processes),
                "neyman_pearson_power": (gs.neyman_pearson_power, compared),
            },
        ),
        *table(
            "functions",
            {
                "split": (gs.split, halves, len, rows),
                "split, weights": (gs.split, {**halves, "data": gs.Weighted(DATA, np.ones(N))}, len, rows),
                "from_lonlat": (gs.from_lonlat, degrees),
                "as_model": (gs.as_model, {"model": cases.PLANE}),
                "quadrature": (
                    patterns.quadrature,
                    {"domain": cases.SQUARE, "nodes": 16},
                    None,
                    {"length": {"inf"}},
                ),
                "as_graph": (graphs.as_graph, {"graph": ERGM_DATA}, None, {}, ("name",)),
                "default_operator": (gs.operators.default_operator, {"domain": cases.SQUARE}),
                "default_auxiliary": (auxiliary.default_auxiliary, {"domain": cases.SQUARE}),
                "learn": (auxiliary.learn, learnt),
            },
        ),
    ]


def plots() -> list[Door]:
    """Pictures, and what a result can be asked."""
    result = gs.ksd_test(DATA, families.Normal([1.0, 0.0]), null=FAST, rng=0)
    several = gs.aggregated_test(DATA, cases.PLANE, kernels=[gs.IMQ(1.0)], null=FAST, rng=0)
    followed = gs.ksd_test(DURATIONS, cases.HAZARD, null=FAST, rng=0)
    paired = gs.ksd_test(PAIRS, cases.CONDITIONAL, null=FAST, rng=0)
    shown = {
        "where": result,
        "pairs": result,
        "contributions": result.contributions(),
        "members": several,
        "transform": followed,
        "null_distribution": result,
        "findings": result.explain(),
    }
    asked = {"plot": {}, "explain": {}, "detectable": {}, "contributions": {}, "most_discrepant": {"k": 3}}
    may = {"result": ARRAYS, "points": ARRAYS | {"kind"}}  # a transform may have been made elsewhere
    places = (result, DATA), (followed, DURATIONS.durations), (paired, PAIRS)
    first = {name: next(iter(inspect.signature(getattr(plot, name)).parameters)) for name in shown}
    return [
        *table("plots", {n: (getattr(plot, n), {first[n]: it}, closed, may) for n, it in shown.items()}),
        *(
            Door(
                "methods of results",
                f"{name}, {type(points).__name__}",
                getattr(one, name),
                arguments,
                closed,
                may,
            )
            for one, points in places
            for name, arguments in {**(asked if one is result else {}), "witness": {"points": points}}.items()
        ),
        *table("methods of results", {"tolerance": (result.tolerance, {"level": 0.9, "rng": 0})}),
    ]


def closed(picture: Any) -> Any:
    """Pictures that stay open fill the memory."""
    pyplot.close("all")


def bayes(y: Any) -> None:
    import numpyro

    location = numpyro.sample("location", numpyro.distributions.Normal(0.0, 1.0))
    numpyro.sample("y", numpyro.distributions.Normal(location, 1.0), obs=y)


def models() -> list[Door]:
    """Models that are made of a user's functions."""
    known = {"hazard": MINE.hazard, "cumulative_hazard": MINE.cumulative}
    survival = {**known, "log_hazard_derivative": MINE.zeros, "sample": MINE.draw_exponential}
    regression = {"cumulative_hazard": cases.growing, "hazard": MINE.conditional_hazard}
    conditional = {"score": MINE.conditional_score, "sample": MINE.conditional_sample}
    latent = families.ProbabilisticPCA([[1.0], [0.5]])
    ppca = {"conditional_score": latent.conditional_score, "posterior_sample": latent.posterior_sample}
    posterior = {"prior_score": cases.prior_score, "likelihood_score": cases.likelihood_score}
    posterior |= {"observations": cases.OBSERVED, "domain": gs.Euclidean(1), "batched": True}
    draws = gs.MonteCarlo(3)

    def on(data: Any, null: Any = FAST, operator: Any = None) -> Any:
        return lambda model: gs.ksd_test(data, model, operator=operator, null=null, rng=0)

    def of_numpyro(model: Any, y: Any) -> Any:
        return gs.from_numpyro(model, y)

    may = {"mean": {"callable"}, "scale": ARRAYS | {"callable"}}
    gradients = partial(gs.ksd_test, DATA, null=FAST, rng=0, audit=False)
    return table(
        "models",
        {
            "Model": (gs.Model, {"score": MINE.score, "sample": MINE.sample}, use_model),
            "Model, logpdf": (gs.Model, {"logpdf": MINE.logpdf}, use_model),
            "Model, batched": (gs.Model, {"score": MINE.score, "batched": True}, use_model),
            "Gradients": (gs.Gradients, {"gradients": -DATA}, gradients, {"gradients": ARRAYS}),
            "from_numpyro": (of_numpyro, {"model": bayes, "y": LINE[:, 0]}, None, {}, ("y",)),
            "SurvivalModel": (gs.SurvivalModel, survival, on(DURATIONS, draws), {"hazard_at_zero": {"inf"}}),
            "SurvivalRegression": (gs.SurvivalRegression, regression, on(FOLLOWED, draws)),
            "CoxModel": (gs.CoxModel, {"coefficients": [0.5]}, on(FOLLOWED)),
            "ConditionalModel": (gs.ConditionalModel, conditional, on(PAIRS, draws)),
            "ConditionalModel, logpdf": (gs.ConditionalModel, {"logpdf": MINE.conditional_logpdf}, on(PAIRS)),
            "ConditionalModel.gaussian": (
                gs.ConditionalModel.gaussian,
                {"mean": cases.line, "scale": 1.0},
                on(PAIRS),
                may,
            ),
            "LatentModel": (
                gs.LatentModel,
                {**ppca, "domain": gs.Euclidean(2)},
                on(DATA, operator=gs.Latent(5)),
            ),
            "Posterior": (
                gs.Posterior,
                posterior,
                on(LINE, operator=gs.Stochastic(4)),
                {"observations": {"bools"}},
            ),
        },
    )


# --- objects of a user's own, each with one method that may be wrong -------------------------


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


def own_logpdf(logpdf: Callable[..., Any], sample: Callable[..., Any]) -> Any:
    return gs.ksd_test(DATA, Own(logpdf=logpdf, sample=sample), null=gs.MonteCarlo(3), rng=0)


def own_hazard(hazard: Callable[..., Any], cumulative_hazard: Callable[..., Any]) -> Any:
    model = Own(hazard=hazard, cumulative_hazard=cumulative_hazard)
    return gs.ksd_test(DURATIONS, model, null=FAST, rng=0)


def own_conditional(score: Callable[..., Any], sample: Callable[..., Any]) -> Any:
    return gs.ksd_test(PAIRS, gs.as_model(Own(score=score, sample=sample)), null=FAST, rng=0)


def own_regressor(predict: Callable[..., Any]) -> Any:
    return gs.ksd_test(PAIRS, gs.ConditionalModel.gaussian(Own(predict=predict)), null=FAST, rng=0)


def own_data(length: Callable[..., Any], take: Callable[..., Any]) -> Any:
    words = cases.drawn(cases.words(0.5, cases.PlainWords), N)
    mine = type("Mine", (), {"__len__": lambda self: length(words), "words": words.words})()
    mine.take = lambda rows: take(words, rows)
    operator = cases.Frequencies()
    return gs.ksd_test(mine, cases.Letters(0.5), operator=operator, null=FAST, rng=0)


def own_domain(contains: Callable[..., Any], boundary_distance: Callable[..., Any]) -> Any:
    methods = {"dim": 2, "bounded": True, "contains": contains, "boundary_distance": boundary_distance}
    domain = type("Mine", (gs.domains.Domain,), methods)()
    operator = gs.Standardised(gs.BoundaryDistance())
    return gs.ksd_test(INSIDE, MINE.score, domain=domain, operator=operator, null=FAST, rng=0, audit=False)


def own_family(start: ArrayLike, log_density: Callable[..., Any]) -> Any:
    family = Own(start=start, log_density=log_density)
    return fit_of(estimate.ScoreMatching(1).fit(DATA[:, :1], family, rng=0))


def own_executor(submit: Callable[..., Any]) -> Any:
    return gs.ksd_test(DATA, cases.PLANE, null=FAST, workers=Own(submit=submit, map=map), rng=0)


def submitted(task: Callable[..., Any], *arguments: Any) -> Any:
    done: Any = futures.Future()
    done.set_result(task(*arguments))
    return done


OWN_OBJECTS = [
    *table(
        "own objects",
        {
            "own kernel": (own_kernel, {"profiles": MINE.profiles, "fitted": None}),
            "own operator": (own_operator, {"features": MINE.features}),
            "own null": (own_null, {"calibrate": MINE.calibrate}),
            "own auxiliary": (own_auxiliary, {"evaluate": MINE.evaluate}),
            "own process": (own_process, {"papangelou": MINE.papangelou, "sample": MINE.draw_patterns}),
            "own graph model": (
                own_graph_model,
                {"log_odds": cases.GRAPH.log_odds, "walk": cases.GRAPH.walk},
            ),
            "own model": (own_model, {"score": MINE.score, "sample": MINE.sample}),
            "own log density": (own_logpdf, {"logpdf": MINE.logpdf, "sample": MINE.sample}),
            "own hazard": (own_hazard, {"hazard": MINE.hazard, "cumulative_hazard": MINE.cumulative}),
            "own regressor": (own_regressor, {"predict": lambda x: x}),
            "own family": (own_family, {"start": np.array([0.5]), "log_density": cases.log_cosh}),
            "own fit": (own_refit, {"fit": cases.fitted_normal}, None, {"fit": {"none"}}),
        },
    ),
    *table(
        "protocols",
        {
            "own data": (own_data, {"length": len, "take": cases.PlainWords.take}),
            "own domain": (
                own_domain,
                {"contains": MINE.in_square, "boundary_distance": MINE.in_length},
            ),
            "own executor": (own_executor, {"submit": submitted}),
        },
    ),
]


# --- methods of other objects ----------------------------------------------------------------


def other_methods() -> list[Door]:
    """Of domains, data, models and results."""
    found = []
    for domain in one_of_each(cases.DOMAINS):
        x = cases.inside(domain, 7)
        make = partial(method, "methods of domains", domain)
        found += [make(name, x=x, may={"x": QUESTIONS}) for name in ("contains", "validate")]
        found += [
            make(f"boundary_{name}", x=x, may={"x": QUESTIONS}, use=len) for name in ("distance", "gradient")
        ]
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
    model = gs.Model(score=MINE.score, logpdf=MINE.logpdf, sample=MINE.sample, domain=gs.Euclidean(2))
    make = partial(method, "methods of models", model)
    far = {"x": {"inf"}}  # where a log density is −∞
    found += [make(name, x=DATA, may=far) for name in ("score", "logpdf", "weighted_score")]
    found += [make("sample", n=3, rng=0), make("on", domain=gs.Box(0, [1, 1]))]
    survival = gs.SurvivalModel(hazard=MINE.hazard, cumulative_hazard=MINE.cumulative)
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
    fit = estimate.ScoreMatching(1).fit(DATA, estimate.AnyNormal(), rng=0)
    chosen = gs.select(DATA, cases.PLANE, kernels=[gs.IMQ(1.0)], rng=0)
    known = gs.power_study([CELL], {"z": z_test}, trials=10, bound=False)
    make = partial(method, "methods of results")
    found += [
        method("data", DURATIONS, "at_risk", times=DURATIONS.durations, may={"times": QUESTIONS - {"nan"}}),
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


def of_values() -> list[Door]:
    """Domains, kernels, operators, nulls, auxiliary functions, data and estimators."""
    fitted = {"n_resamples": 19, "model": line_at, "parameters": np.array([LINE.mean()])}
    fitted["influence"] = LINE - LINE.mean()
    times = {"durations": np.arange(1.0, N + 1) / 9, "event_observed": np.arange(N) % 3 > 0}
    weights = {"data": DATA, "weights": np.linspace(1.0, 2.0, len(DATA))}
    draws = {"draws": families.Normal([0, 0]).sample(300, rng=1), "model": cases.PLANE, "false_alarms": 1e-3}
    few = {"draws": DATA, "model": cases.PLANE}
    test = partial(gs.ksd_test, null=FAST, rng=0)
    parts = gs.Simplex(3), cases.PARTS[:N]
    squares, log_cosh = (
        {"statistic": cases.squares},
        {"log_density": cases.log_cosh, "start": np.array([0.5])},
    )

    def on(number: int) -> Any:
        return lambda data: use_data(data, cases.DATA[number])

    flags, chains = {"adjacency": {"bools"}}, {"chains": {"array", "extreme", "axis"}}
    functions, known = (
        {"covariates": [first_column]},
        {"influence": {"callable"} | ARRAYS, "parameters": ARRAYS},
    )
    return [
        *table(
            "nulls",
            {
                "FittedWildBootstrap, own": (
                    gs.FittedWildBootstrap,
                    fitted,
                    lambda null: gs.ksd_test(LINE, line_at([LINE.mean()]), null=null, rng=0),
                    known,
                )
            },
        ),
        *table(
            "kernels", {"Median": (kernels.Median, {}, lambda m: use_kernel(gs.IMQ(m), cases.KERNELS[0]))}
        ),
        *table(
            "auxiliaries",
            {
                "Auxiliary": (gs.Auxiliary, {"value": MINE.value, "gradient": MINE.gradient}, use_auxiliary),
                "BoxProduct": (gs.auxiliary.BoxProduct, {}, use_auxiliary),
                "BallPower": (gs.BallPower, {}, lambda a: use_auxiliary(a, gs.Ball(2), INSIDE / 2)),
                "ProductOfParts": (gs.ProductOfParts, {}, lambda a: use_auxiliary(a, *parts)),
                "Decaying": (gs.Decaying, {}, use_auxiliary),
            },
        ),
        *table(
            "data",
            {
                "Censored": (gs.Censored, times, on(2)),
                "Paired": (gs.Paired, {"x": PAIRS.x, "y": PAIRS.y}, on(3)),
                "Patterns": (gs.Patterns, {"patterns": SCATTER, "dim": 2}, on(4)),
                "Pattern": (gs.Pattern, {"points": INSIDE}, on(8), {}, ("names", "origin")),
                "Raster": (
                    patterns.Raster,
                    {"values": [[1.0, 2.0]], "domain": cases.SQUARE},
                    lambda f: f(INSIDE),
                ),
                "LogLinear": (
                    patterns.LogLinear,
                    {"coefficients": [0.5, 1.0], **functions},
                    lambda f: f(INSIDE),
                ),
                "Graph": (gs.Graph, {"adjacency": ERGM_DATA}, on(5), flags),
                "Chains": (gs.Chains, {"chains": [DATA[:10], DATA[10:]]}, on(1), chains),
                "Weighted": (gs.Weighted, weights, lambda d: test(d, cases.PLANE, audit=False)),
            },
        ),
        *table(
            "draws",
            {
                "thin": (gs.thin, {**few, "size": 3}, None, OF_DRAWS),
                "stein_weights": (gs.stein_weights, few, None, OF_DRAWS),
                "assert_samples": (asserted, {**draws, "rng": 0}, None, OF_DRAWS),
            },
        ),
        *table(
            "estimators",
            {
                "ExponentialFamily": (estimate.ExponentialFamily, squares, use_estimated),
                "Parametric": (estimate.Parametric, log_cosh, use_estimated),
            },
        ),
    ]


DOORS = [
    *(constructor("families", family, use_family) for family in cases.FAMILIES),
    *(door for family in one_of_each(cases.FAMILIES) for door in family_methods(family)),
    *(constructor("domains", domain, use_domain, may=of_parameters(domain)) for domain in cases.DOMAINS),
    *(
        constructor("kernels", case.kernel, partial(use_kernel, case=case))
        for case in cases.KERNELS
        if case.name not in OWN
    ),
    *(
        constructor("operators", case.operator, partial(use_operator, case=case))
        for case in cases.OPERATORS
        if case.name not in (*OWN, "FiniteSet")
    ),
    *(constructor("nulls", null, use_null) for null in cases.NULLS.values()),
    constructor("nulls", gs.Nystrom(9), use_approximation),
    *of_values(),
    *models(),
    *OWN_OBJECTS,
    *other_methods(),
    *plots(),
    *tests_of_fit(),
    *monitors(),
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
]
