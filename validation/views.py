"""Sizes of every single view, and of the library's collection for durations, pairs and patterns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from conditional import GROWING, LOGISTIC, PLANE, draw, one_column, three_columns
from survival import censoring
from tables import KSD, Part, Table, Test, true

import goodstein as gs
from goodstein.families import Exponential, Ising, Normal, PoissonProcess, Strauss, UniformOnSphere, Weibull
from goodstein.patterns import Distances, Numbers

SQUARE = gs.Box([0, 0], [1, 1])
NORMAL5 = Normal(np.zeros(5), 0.7 * np.eye(5) + 0.3)
SPINS = Ising(0.2 * (np.ones((6, 6)) - np.eye(6)))
SIMULATED = gs.MonteCarlo(99)
WILD = gs.WildBootstrap(499)


def alone(*views: Any, null: Any = WILD) -> Mapping[str, Test]:
    """Tests with one view each."""
    simulated = ", simulated, B=99" if null is SIMULATED else ""
    return {f"{view!r}{simulated}": partial(KSD, operator=view, null=null) for view in views}


def collection(null: Any) -> Mapping[str, Test]:
    """The library's collection."""
    simulated = ", simulated, B=99" if null is SIMULATED else ""
    return {f"aggregated{simulated}": partial(gs.aggregated_test, null=null, workers=1)}


def pairs(case: str, model: Any, tests: Mapping[str, Test], covariates: Any = one_column) -> Part:
    return true({case: model}, tests, (100,), sample_null=partial(draw, model=model, covariates=covariates))


def size_tables() -> Iterator[Table]:
    points = [
        gs.Margin(1),
        gs.Pair(0, 3),
        gs.Direction([1, 1, 0, 0, -1]),
        gs.Moments(0),
        gs.Moments(1),
        gs.Moments(2),
        gs.DrawnMoments(1),
        gs.DrawnMoments(2),
        gs.DrawnMargins(),
        gs.DrawnMargins(3, 2),
        gs.DrawnPairs(2),
        gs.DrawnPairs(3),
        gs.DrawnLevel(),
    ]
    yield Table(
        "Single views",
        "Tests with one view as their operator, which is as valid as the operator inside, or by draws. 499 "
        "draws of the wild bootstrap, or 99 simulated samples.",
        [
            true({"N(0, Σ) on R⁵": NORMAL5}, alone(*points), (100,)),
            true({"N(0, Σ) on R⁵": NORMAL5}, alone(gs.DrawnRadius(), null=SIMULATED), (50,)),
            true({"sphere": UniformOnSphere(3)}, alone(gs.Harmonics(1), gs.Harmonics(2)), (100,)),
            true({"six spins": SPINS}, alone(gs.Counts(1), gs.Counts(2), gs.Margin(0)), (100,)),
        ],
        draws=499,
    )
    exponential, weibull = Exponential(1.0), Weibull(2.0, 1.5)
    timing = alone(gs.Timing(0), gs.Timing(1), gs.Timing(5))
    yield Table(
        "Views of durations",
        "Early and late events, with censoring that the tests do not know. A simulated null distribution "
        "draws censoring times from their Kaplan–Meier estimate.",
        [
            true({"Exponential": exponential}, timing, (50, 200)),
            true({"Exponential, 30 % censored": exponential}, timing, (50, 200), censoring=EXPONENTIALLY),
            true({"Weibull, 60 % censored": weibull}, timing, (100,), censoring=censoring(weibull, 0.6)),
            true(
                {"Exponential, 30 % censored": exponential},
                alone(gs.Timing(5, standardised=True), null=SIMULATED),
                (50,),
                censoring=EXPONENTIALLY,
            ),
            true(
                {"Exponential, 30 % censored": exponential},
                collection(SIMULATED),
                (30, 100),
                censoring=EXPONENTIALLY,
            ),
            true(
                {"Weibull, 60 % censored": weibull},
                collection(SIMULATED),
                (50,),
                censoring=censoring(weibull, 0.6),
            ),
            true({"Exponential, all until 1": exponential}, collection(SIMULATED), (50,), censoring=until),
        ],
        trials=1000,
        draws=499,
        notes={
            "*n = 50 | Timing(0)": "The features δ − Λ₀(t) are skewed, and 50 of them too few for random "
            "signs far out, at the level .01. A simulated null distribution, which `aggregated_test` takes, "
            "does not mind."
        },
    )
    (growing,), (plane,) = GROWING.values(), PLANE.values()
    stein = alone(gs.Residuals(0), gs.Residuals(1))
    drawn = alone(gs.DrawnResiduals(1), gs.DrawnResiduals(2), gs.DrawnResiduals(4, trend=0), null=SIMULATED)
    score_only = gs.ConditionalModel(score=growing.score, name="score of a normal model")
    yield Table(
        "Views of y given x",
        "Residuals along x by Stein's identity and against draws of the model, whose simulated null "
        "distribution keeps x and is exact.",
        [
            pairs("normal, scale growing with x", growing, stein | drawn | alone(gs.DrawnRanks())),
            pairs("normal, three covariates", plane, stein, three_columns),
            pairs("logistic", LOGISTIC, alone(gs.DrawnResiduals(1), gs.DrawnRanks(2))),
            pairs("normal, three covariates", plane, collection(SIMULATED), three_columns),
            true(
                {"normal, score only": score_only},
                collection(WILD),
                (100,),
                sample_null=partial(draw, model=growing),
            ),
        ],
        trials=1000,
        draws=499,
    )
    slope = PoissonProcess(lambda u: 40.0 * u[:, 0], SQUARE)
    views = alone(Numbers(0), Numbers(1), Numbers(2), Distances())
    yield Table(
        "Views of point patterns",
        "Numbers of points, their slope and bend, and distances between them.",
        [
            true({"Poisson, 20 points": PoissonProcess(20.0, SQUARE)}, views | collection(WILD), (20,)),
            true({"Poisson with a slope": slope}, views, (50,)),
            true({"Strauss": Strauss(30.0, 0.5, 0.06, SQUARE)}, views, (20,)),
        ],
        trials=1000,
        draws=499,
    )


EXPONENTIALLY = Exponential(7 / 3)


def until(n: int, rng: Any) -> Any:
    """All are watched until one."""
    return np.full(n, 1.0)
