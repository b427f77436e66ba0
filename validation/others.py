"""Sizes of the other tests: finite-set, on a split, by draws of the model, regularised, aggregated."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from survival import censoring
from tables import KSD, RNG, Array, Part, Table, Test, ksd, true

import goodstein as gs
from goodstein.families import (
    CategoricalTable,
    Dirichlet,
    Exponential,
    GaussianMixture,
    Normal,
    StudentT,
    Truncated,
    Uniform,
    VonMises,
)

NORMAL1, NORMAL5 = {"Normal, d = 1": Normal()}, {"Normal, d = 5": Normal(np.zeros(5))}
NORMAL2, NORMAL20 = {"Normal, d = 2": Normal([0, 0])}, {"Normal, d = 20": Normal(np.zeros(20))}
STUDENT = {"StudentT(5), d = 2": StudentT(5.0, [0, 0], np.eye(2))}
BOX = {"Box, truncated Normal": Truncated(Normal([0, 0]), gs.Box([0, 0], [1, 1]))}
SPARSE = Dirichlet([0.5, 0.5, 0.5])
SIMPLEX = {"Simplex, Dirichlet(½)": SPARSE}


def finite_set() -> Table:
    two = {"two Gaussians, d = 2": GaussianMixture([0.5, 0.5], [[-2, 0], [2, 0]], [np.eye(2)] * 2)}
    default: dict[str, Test] = {"default": gs.fssd_test}
    random, imq = partial(gs.fssd_test, optimise=False), partial(gs.fssd_test, kernel=gs.IMQ())
    return Table(
        "Finite-set test",
        "`fssd_test`: five locations and the bandwidth are learnt on a fifth of the rows, the others are "
        "tested; n counts all rows. The null distribution is the limit law of the finitely many features, "
        "its eigenvalues estimated. *Random locations* learn nothing and test all rows.",
        [
            true(NORMAL1 | NORMAL5 | STUDENT | two | BOX | SIMPLEX, default, (100, 500)),
            true(NORMAL2, {"random locations": random, "IMQ": imq}, (100, 500)),
            true(NORMAL20, default, (200, 1000)),
        ],
        draws=9999,
    )


# Chosen on a split.


def selected(x: Array, model: Any, *, rng: RNG) -> Any:
    """The defaults of `select`."""
    return gs.select(x, model, rng=rng).test(rng=rng, workers=1)


def by_learning(x: Array, model: Any, *, rng: RNG) -> Any:
    """g with the best power criterion."""
    third = len(x) // 3
    g = gs.auxiliary.learn(x[:third], model, rng=rng)
    return KSD(x[third:], model, operator=gs.Standardised(g), kernel=g.kernel, rng=rng)


def on_the_same_rows(x: Array, model: Any, *, rng: RNG) -> Any:
    """What no user should do, with the refusal taken away."""
    selection = gs.select(x, model, rng=rng)
    inner = selection.operator.operator
    return KSD(x[selection.train], model, operator=inner, kernel=selection.kernel, rng=rng)


def chosen_on_a_split() -> Table:
    ball = {"Ball(3), Uniform": Uniform(gs.Ball(3))}
    tests = {"select": selected, "learn": by_learning}
    return Table(
        "Chosen on a split",
        "n counts all rows. `select` chooses among its default candidates on three tenths of the rows, the "
        "others are tested. An auxiliary function is found on a third of the rows by `learn` and tested "
        "on the others. *Same rows* overrules the refusal and tests on the rows on "
        "which was chosen: what the refusal prevents.",
        [
            true(NORMAL1 | NORMAL5 | STUDENT | BOX | ball | SIMPLEX, tests, (100, 300)),
            true(NORMAL1, {"select, same rows": on_the_same_rows}, (100,)),
        ],
        notes={
            "* | select, same rows": "The bandwidth that looks best on these rows is tested on them, so true "
            "models are rejected far too often. `Selection.test` refuses to do this."
        },
    )


# Against draws from the model.


def by_draws(name: str, about: str, test: Test, most: int, draws: int) -> Table:
    """Models on R^d, on bounded and on curved domains, and on a lattice."""
    test = partial(test, workers=1)
    others = {
        "StudentT(1), d = 1": StudentT(1.0, 0.0, 1.0),
        **NORMAL20,
        **BOX,
        "Circle, VonMises(1)": VonMises(0.0, 1.0),
        "Lattice, 3×3 table": CategoricalTable([[6, 3, 1], [2, 5, 3], [1, 2, 7]]),
    }
    more = {f"n_draws={count}": partial(test, n_draws=count) for count in (20, most)}
    return Table(
        name,
        about,
        [
            true(NORMAL1 | NORMAL5 | SIMPLEX, {"default": test}),
            true(others, {"default": test}, (100,)),
            true(NORMAL2, {"IMQ": partial(test, kernel=gs.IMQ()), **more}, (50,)),
        ],
        draws=draws,
    )


# Regularised.


def regularised(case: str, model: Any, operator: Any, **how: Any) -> Iterator[Part]:
    for n in (50, 200):
        split = gs.Regularised(operator, min(0.03, 1 / (n // 5)), draws=0)
        tests = ksd("split", operator=split) | {"adaptive": partial(gs.regularised_test, workers=1)}
        if not how:
            tests |= ksd("draws", operator=gs.Regularised(operator, max(1 / (2 * n), 1 / 500)))
        yield true({case: model}, tests, (n,), **how)
    whole = gs.Regularised(operator, 4 / np.sqrt(200), fraction=None)
    small = ksd("all data, ¼ median", operator=whole, kernel=gs.IMQ(gs.Median(0.25)))
    yield true({case: model}, ksd("all data", operator=whole) | small, (200,), **how)


def regularised_table() -> Table:
    student, ball = StudentT(5.0, 0.0, 1.0), Truncated(Normal([0, 0]), gs.Ball(2))
    exponential = Exponential(2.0)
    parts = [
        *regularised("Normal, d = 1", Normal(), gs.Langevin()),
        *regularised("Normal, d = 5", Normal(np.zeros(5)), gs.Langevin()),
        *regularised("StudentT(5), d = 1", student, gs.Langevin()),
        *regularised("Ball, truncated Normal", ball, gs.Standardised()),
        *regularised("Simplex, Dirichlet(½)", SPARSE, gs.LogRatio()),
        *regularised(
            "Exponential, 30 % censored", exponential, gs.Martingale(), censoring=censoring(exponential, 0.3)
        ),
    ]
    few = gs.Regularised(gs.Langevin(), 0.01, fraction=None)
    parts.append(true(NORMAL1, ksd("all data", gs.MonteCarlo(99), operator=few), (50,)))
    return Table(
        "Regularised discrepancy",
        "`Regularised`: one strength, the smallest that is accepted for the wild bootstrap, where the level "
        "is at the greatest risk. *Draws* take the covariance from min(2n, 500) draws from the model, "
        "*split* from a fifth of the rows, *all data* from the tested rows themselves (strength 4/√n, or "
        "0.01 with a simulated null distribution). *Adaptive* is `regularised_test`, five strengths at "
        "once. n counts all rows.",
        parts,
    )


# Aggregated.


def aggregated() -> Table:
    """Small and large collections, with copies of members among them, equal weights or not."""
    # With much smaller bandwidths the wild bootstrap of a single test is conservative, and so is the whole.
    gaussians = {
        count: [gs.Gaussian(gs.Median(scale)) for scale in np.geomspace(0.5, 16, count)] for count in (10, 20)
    }
    two = [gs.Gaussian(), gs.IMQ(gs.Median(4.0))]
    thirty = [*gaussians[20], *(gs.IMQ(gs.Median(scale)) for scale in np.geomspace(0.5, 8, 10))]
    test = partial(gs.aggregated_test, null=gs.WildBootstrap(199), workers=1)
    tests: dict[str, Test] = {
        "1 member": partial(test, kernels=[gs.Gaussian()]),
        "2 members": partial(test, kernels=two),
        "2 members, each five times": partial(test, kernels=two * 5),
        "30 members": partial(test, kernels=thirty),
        "30 members, 20 of them copies": partial(test, kernels=gaussians[10] * 3),
        "30 members, weights 1, …, 30": partial(test, kernels=thirty, weights=list(range(1, 31))),
        "the library's collection": test,
    }
    simulated = {"2 members, simulated null, B=99": partial(test, kernels=two, null=gs.MonteCarlo(99))}
    return Table(
        "Aggregated test",
        "`aggregated_test`: the p-value is to be uniform under the null whatever the collection. 199 draws "
        "a test, 99 where the null is simulated.",
        [
            true({"N(0, I) on R²": Normal([0.0, 0.0])}, tests | simulated, (50,)),
            true({"Dirichlet(½, ½, ½)": SPARSE}, tests, (100,)),
        ],
        draws=199,
    )


def size_tables() -> Iterator[Table]:
    yield finite_set()
    yield chosen_on_a_split()
    yield by_draws(
        "Maximum mean discrepancy",
        "`mmd_test`: data against draws from the model, 999 permutations of the pooled sample. The p-value "
        "is exact at every sample size; on a lattice it has few values, and ties count against rejection.",
        gs.mmd_test,
        most=200,
        draws=999,
    )
    yield by_draws(
        "Moderated maximum mean discrepancy",
        "`m3d_test`: adaptive over six strengths of moderation, data and 199 simulated samples against the "
        "same draws from the model. The p-value is exact, too.",
        gs.m3d_test,
        most=400,
        draws=199,
    )
    yield regularised_table()
    yield aggregated()
