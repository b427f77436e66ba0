"""Near-linear tests and streams: sizes, power beside the exact test, delay beside a test of fixed size."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
from dependence import autoregression
from scipy.stats import skewnorm
from tables import RNG, Array, Table, Test, against, true

import goodstein as gs
from goodstein.families import (
    Dirichlet,
    Ising,
    Normal,
    StudentT,
    Truncated,
    VonMises,
    VonMisesFisher,
)

DRAWS = 199
KSD = partial(gs.ksd_test, null=gs.WildBootstrap(DRAWS), workers=1)
SPINS = Ising(0.3 * (np.eye(6, k=1) + np.eye(6, k=-1)))
MODELS = {
    "R¹, Normal": Normal(0.0, 1.0),
    "R⁵, Normal": Normal(np.zeros(5)),
    "R², StudentT(5)": StudentT(5.0, [0.0, 0.0]),
    "Simplex, Dirichlet(2)": Dirichlet([2.0, 2.0, 2.0]),
    "Sphere, von Mises–Fisher": VonMisesFisher([0.0, 0.0, 1.0], 2.0),
    "Lattice, Ising": SPINS,
}


def by(*choices: Any) -> dict[str, Test]:
    """Tests by approximations, and the exact one for None."""
    found: dict[str, Test] = {}
    for choice in choices:
        count = None if choice is None else choice.landmarks
        label = "exact" if choice is None else f"Nystrom({'' if count is None else count})"
        found[label] = partial(KSD, approximate=choice)
    return found


# Streams.


@lru_cache(maxsize=16)
def prototype(model: Any) -> gs.Monitor:
    """A monitor that has seen nothing; the guarantee holds for every reference, so one will do."""
    return gs.Monitor(model, rng=0)


def watched(data: Array, model: Any, *, rng: RNG) -> float:
    """The p-value of a stream at the end: the smallest of all that were seen after each observation.

    It is the same for chunks of any size, which the tests look at.
    """
    return prototype(model).merge().update(data).pvalue


def sharded(data: Array, model: Any, *, rng: RNG) -> float:
    """Four streams that are merged."""
    shards = [prototype(model).merge().update(part) for part in np.array_split(data, 4)]
    return shards[0].merge(*shards[1:]).pvalue


STREAM: dict[str, Test] = {"Monitor": watched}


def size_tables() -> Iterator[Table]:
    few = by(gs.Nystrom(), gs.Nystrom(20))
    yield Table(
        "Near-linear tests",
        "`ksd_test(..., approximate=)` by landmarks, on true models.",
        [
            true(MODELS, few, (200,)),
            true({"R⁵, Normal": MODELS["R⁵, Normal"]}, by(gs.Nystrom()), (1000,)),
        ],
        draws=DRAWS,
    )
    dependent = gs.Cell(
        Normal(0.0, 1.0),
        None,
        500,
        name="AR(1), coefficient .5, n = 500",
        sample_null=lambda n, rng: autoregression(0.5, n, rng),
    )
    yield Table(
        "Near-linear tests, dependent rows",
        "The same on an autoregression, whose dependence is found and allowed for.",
        [([dependent], by(None, gs.Nystrom()))],
        draws=DRAWS,
        notes={
            "* | Nystrom()": "Not the landmarks: on the same samples the exact test is at .067. What is left "
            "of the dependence in 500 rows is a little liberal for both."
        },
    )
    normal = {"R³, Normal": Normal(np.zeros(3))}
    linear = by(gs.Nystrom(100))
    linear |= {"Moments(2)": partial(KSD, operator=gs.Moments(2)), "FSSD": gs.fssd_test}
    for n, trials in ((10_000, 400), (100_000, 100), (1_000_000, 20)):
        yield Table(
            "Near-linear tests, n = " + f"{n:,}".replace(",", " "),
            f"On {trials} samples, because of the time that they take.",
            [true(normal, linear, (n,))],
            trials=trials,
            draws=DRAWS,
        )
    yield Table(
        "Streams",
        "`Monitor`, looked at after each of 600 or 10 000 observations of a true model and stopped at the "
        "first p-value below the level, and four of them with 150 each, merged. By Ville's inequality the "
        "rates are at most the level, at any number of observations; the longer one watches the closer they "
        "get.",
        [
            true({"R¹, Normal": MODELS["R¹, Normal"]}, STREAM | {"Monitor, four shards": sharded}, (600,)),
            true(
                {k: MODELS[k] for k in ("R⁵, Normal", "Simplex, Dirichlet(2)", "Lattice, Ising")},
                STREAM,
                (600,),
            ),
            true({"R¹, Normal": MODELS["R¹, Normal"]}, STREAM, (10_000,)),
        ],
        notes={"* | Monitor*": "An upper bound that holds at all times at once is reached at none of them."},
    )


def drawn(model: Any) -> tuple[Any, None]:
    """The law of a model without its likelihood: the bound takes longer than the tests."""
    return model.sample, None


def skewed(n: int, rng: RNG) -> Array:
    """The first of three coordinates is skew normal, with mean zero and variance one."""
    x = rng.standard_normal((n, 3))
    delta = 1.5 / np.sqrt(1 + 1.5**2)
    x[:, 0] = skewnorm.rvs(1.5, size=n, random_state=rng) - delta * np.sqrt(2 / np.pi)
    x[:, 0] /= np.sqrt(1 - 2 * delta**2 / np.pi)
    return x


def heavy(freedom: float, n: int, rng: RNG) -> Array:
    """Student's t in each of three coordinates."""
    return rng.standard_t(freedom, size=(n, 3))


def correlated(rho: float, n: int, rng: RNG) -> Array:
    """Two of three coordinates are."""
    x = rng.standard_normal((n, 3))
    x[:, 1] = rho * x[:, 0] + np.sqrt(1 - rho**2) * x[:, 1]
    return x


def rippled(n: int, rng: RNG) -> Array:
    """Fine ripples on a normal density."""
    x = rng.standard_normal(3 * n)
    return x[rng.random(3 * n) < (1 + 0.35 * np.cos(6 * x)) / 1.35][:n, None]


LOSS = (
    "`ksd_test` exact, by the landmarks of the default rule and by a quarter of them, and by pairs, with the "
    "same draws of signs."
)


def power_tables() -> Iterator[Table]:
    for name, n, model, laws in (
        (
            "R³",
            1000,
            Normal(np.zeros(3)),
            {
                "mean of one coordinate": Normal([0.12, 0.0, 0.0]),
                "heavy tails": (partial(heavy, 12.0), None),
                "skewed coordinate": (skewed, None),
                "correlation": (partial(correlated, 0.12), None),
            },
        ),
        ("R¹", 1000, Normal(0.0, 1.0), {"fine ripples": (rippled, None)}),
        ("simplex", 1000, Dirichlet([2.0, 2.0, 2.0]), {"one part": drawn(Dirichlet([2.3, 2.0, 2.0]))}),
        (
            "sphere",
            1000,
            VonMisesFisher([0.0, 0.0, 1.0], 2.0),
            {"concentration": drawn(VonMisesFisher([0.0, 0.0, 1.0], 2.35))},
        ),
        ("circle", 1000, VonMises(0.0, 2.0), {"direction": drawn(VonMises(0.12, 2.0))}),
        (
            "box",
            1000,
            Truncated(Normal([0, 0]), gs.Box([0, 0], [1, 1])),
            {"scale": drawn(Truncated(Normal([0, 0], 0.75), gs.Box([0, 0], [1, 1])))},
        ),
        ("lattice", 1000, SPINS, {"coupling": drawn(Ising(0.42 * (np.eye(6, k=1) + np.eye(6, k=-1))))}),
        (
            "R³",
            10_000,
            Normal(np.zeros(3)),
            {
                "mean of one coordinate": drawn(Normal([0.035, 0.0, 0.0])),
                "heavy tails": (partial(heavy, 36.0), None),
                "skewed coordinate": (skewed, None),
                "correlation": (partial(correlated, 0.06), None),
            },
        ),
    ):
        root = round(4 * np.sqrt(n))
        tests = by(gs.Nystrom(), None, gs.Nystrom(root // 4))
        table = against(model, n, tests, trials=100)
        yield table(f"Near-linear: {name}, n = {n}", LOSS, laws, draws=DRAWS)
    yield against(Normal(np.zeros(3)), 100_000, by(gs.Nystrom(250), None), trials=10)(
        "Near-linear: R³, n = 100000",
        "On few samples: the exact test takes half a minute of one core for each of them.",
        {"mean of one coordinate": drawn(Normal([0.011, 0.0, 0.0]))},
        draws=DRAWS,
    )
    for n in (100, 200, 400, 800):
        yield against(Normal([0.0, 0.0]), n, STREAM | {"KSD at this n": KSD}, trials=100)(
            f"Streams, by n = {n}",
            "How many streams a `Monitor`, looked at after every observation, has stopped by then; beside it "
            "the test of this n, which may be looked at once.",
            {
                "mean shifted by 0.3": drawn(Normal([0.3, 0.0])),
                "mean shifted by 0.15": drawn(Normal([0.15, 0.0])),
                "heavy tails": drawn(StudentT(3.0, [0.0, 0.0])),
            },
            draws=DRAWS,
        )
