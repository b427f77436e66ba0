"""Isolated modes: shares that scores do not see, by moves between modes and by draws."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from tables import KSD, RNG, Array, Table, Test, against, true

import goodstein as gs
from goodstein.families import GaussianMixture, Laplace, StudentT
from goodstein.operators.mode_search import find_modes, log_density

FAST = gs.WildBootstrap(199)
COVS = np.array([np.eye(2), [[2.0, 1.2], [1.2, 1.0]], 0.2 * np.eye(2)])


def line(*shares: float) -> GaussianMixture:
    """Two modes alike."""
    return GaussianMixture(shares, [-5.0, 5.0], 1.0)


def scales(*shares: float) -> GaussianMixture:
    """Three modes of standard deviations 1, .3 and 2."""
    return GaussianMixture(shares, [-8.0, 0.0, 12.0], [1.0, 0.09, 4.0])


def plane(*shares: float) -> GaussianMixture:
    """Three modes of different shapes in the plane."""
    return GaussianMixture(shares, [[-6, 0], [6, 0], [0, 9]], COVS)


def five(*shares: float) -> GaussianMixture:
    """Two modes of variances 1 and ¼ in five dimensions."""
    return GaussianMixture(shares, [[-3.0] * 5, [3.0] * 5], [1.0, 0.25])


def heavy() -> gs.Model:
    """Two modes that are no normal ones: t(3) about −10, and Laplace with twice the scale about 10."""
    one, two = StudentT(3.0, -10.0), Laplace(10.0, 2.0)

    def logpdf(x: Array) -> Array:
        return np.logaddexp(np.log(0.7) + one.logpdf(x), np.log(0.3) + two.logpdf(x))

    def sample(n: int, rng: RNG) -> Array:
        which = np.random.default_rng(rng).random((n, 1)) < 0.7
        return np.where(which, one.sample(n, rng), two.sample(n, rng))

    def score(x: Array) -> Array:
        share = np.exp(np.log(0.7) + one.logpdf(x) - logpdf(x))[:, None]
        return share * one.score(x) + (1 - share) * two.score(x)

    return gs.Model(
        logpdf=logpdf, score=score, sample=sample, domain=gs.Euclidean(1), batched=True, name="heavy"
    )


def bare(model: Any) -> gs.Model:
    """The model without its sampler: modes are then looked for among the data."""
    return gs.Model(
        logpdf=model.logpdf, score=model.score, domain=model.domain, batched=True, name="without a sampler"
    )


def without_sampler(data: Array, model: Any, *, test: Test, rng: RNG, **options: Any) -> Any:
    return test(data, bare(model), rng=rng, **options)


def moved(data: Array, model: Any, *, rng: RNG, scale: float = 1.5) -> Any:
    """The published test: each point is moved to another mode, as far as that is accepted; then KSD.

    Between modes i < j places are scaled by γ, and by 1/γ on the way back.
    """
    own = bare(model)
    modes = find_modes(own, own.domain, data)
    rng = np.random.default_rng(rng)
    labels = modes.labels(data)
    targets = (labels + rng.integers(1, len(modes), len(data))) % len(modes)
    factors = np.where(labels < targets, scale, 1 / scale)
    z = modes.standardised(data)[labels, np.arange(len(data))] * factors[:, None]
    places = np.array([modes.place(z[i : i + 1], j)[0] for i, j in enumerate(targets)])
    volumes = modes.log_volumes[targets] - modes.log_volumes[labels] + data.shape[1] * np.log(factors)
    ratio = log_density(own, own.domain, places) - own.logpdf(data) + volumes
    accepted = (modes.labels(places) == targets) & (np.log(rng.random(len(data))) < ratio)
    return KSD(np.where(accepted[:, None], places, data), own, null=FAST, rng=rng)


PERTURBED = partial(KSD, operator=gs.Perturbed(), null=FAST)
BESIDE = partial(gs.aggregated_test, operators=[gs.Langevin(), gs.Perturbed()], null=FAST, workers=1)
NAMED: dict[str, Test] = {
    "modes from the data": partial(without_sampler, test=PERTURBED),
    "modes from draws": PERTURBED,
}
JOINT: dict[str, Test] = {"beside Langevin()": partial(without_sampler, test=BESIDE)}
RIVALS: dict[str, Test] = {
    "perturbed": partial(without_sampler, test=PERTURBED),
    **JOINT,
    "KSD": partial(KSD, null=FAST),
    "moved, then KSD": moved,
    "MMD": partial(gs.mmd_test, n_resamples=199, workers=1),
}

TWO, THREE = line(0.5, 0.5), scales(0.5, 0.3, 0.2)
TIES = "two modes alike: the statistic has few values, and p-values of ties are the larger ones."
RARE = "about three and two observations in two of the modes: few values, and ties, as with two modes alike."


def size_tables() -> Iterator[Table]:
    """Models with modes that lie apart."""
    yield Table(
        "Moves between modes",
        "`Perturbed()`, with modes that are looked for among the observations, as where a model has no "
        "sampler, or among draws of the model; and `aggregated_test` of `Langevin()` and `Perturbed()`. "
        "Labels are drawn anew given all else, which is exact for given modes. Two normal modes leave a "
        "binomial test, whose p-values have ties and are not uniform (*KS*).",
        [
            true({"R^1, .5 and .5": TWO, "R^1, .9 and .1": line(0.9, 0.1)}, NAMED | JOINT, (100,)),
            true({"R^1, three scales": THREE, "R^2, three": plane(0.5, 0.3, 0.2)}, NAMED, (100,)),
            true({"R^1, .95 and .03 and .02": scales(0.95, 0.03, 0.02)}, NAMED, (100,)),
            true({"R^5, .8 and .2": five(0.8, 0.2), "R^1, t(3) and Laplace": heavy()}, NAMED, (100,)),
        ],
        trials=1000,
        draws=199,
        notes={"R^1, .5 and .5, *": TIES, "R^1, .95*": RARE},
    )


def power_tables() -> Iterator[Table]:
    """Wrong shares; the first test and the published one have neither a sampler nor draws."""
    about = (
        "Nothing but the shares of modes differs. *perturbed* has no sampler, *beside Langevin()* is "
        "`aggregated_test` of both operators without one; *moved, then KSD* moves each observation at random "
        "and tests the moved ones by scores. *MMD* compares with draws of the model."
    )
    yield against(TWO, 100, RIVALS, trials=200)(
        "Shares of two modes",
        f"Null: ½ and ½ at ±5, standard deviation 1. {about}",
        {".6 and .4": line(0.6, 0.4), ".65 and .35": line(0.65, 0.35), ".9 and .1": line(0.9, 0.1)},
        draws=199,
    )
    yield against(THREE, 100, RIVALS, trials=200)(
        "Shares of three modes of different scales",
        "Null: .5, .3 and .2 at −8, 0 and 12, standard deviations 1, .3 and 2.",
        {".5, .18 and .32": scales(0.5, 0.18, 0.32), ".65, .25 and .1": scales(0.65, 0.25, 0.1)},
        draws=199,
    )
    yield against(plane(0.5, 0.3, 0.2), 100, RIVALS, trials=200)(
        "Shares of three modes in the plane",
        "Null: .5, .3 and .2, of different shapes.",
        {".4, .3 and .3": plane(0.4, 0.3, 0.3), "one missing": plane(0.6, 0.39, 0.01)},
        draws=199,
    )
    yield against(five(0.8, 0.2), 100, RIVALS, trials=200)(
        "Shares of two modes on R^5",
        "Null: .8 and .2, of variances 1 and ¼.",
        {".9 and .1": five(0.9, 0.1), ".7 and .3": five(0.7, 0.3)},
        draws=199,
    )
