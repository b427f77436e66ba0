"""Units and correlation: cells of the suite as they are, in other units, and under linear maps.

Nothing but the coordinates differs between a cell and its versions. Where a default does not depend on them,
a table says what the first of its setting says, up to the error of the trials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from suite import machine
from tables import KSD, RNG, Array, Table, Test, aggregated, true

import goodstein as gs
from goodstein.families import Normal, StudentT, Truncated

Law = Any

# Coordinates.


def units(d: int) -> Array:
    """1, 1000, 10⁻³, 1, …"""
    return np.diag(np.resize([1.0, 1e3, 1e-3], d))


def chained(d: int, correlation: float = 0.95) -> Array:
    """Uncorrelated coordinates become an autoregressive chain."""
    index = np.arange(d)
    return np.linalg.cholesky(correlation ** np.abs(index[:, None] - index))


def paired(d: int, correlation: float = -0.99) -> Array:
    """The second coordinate becomes correlated with the first."""
    linear = np.eye(d)
    linear[1, :2] = correlation, np.sqrt(1.0 - correlation**2)
    return linear


MAPS: dict[str, Callable[[int], Array]] = {
    "units 1, 10³, 10⁻³": units,
    "one correlation −.99, and units": lambda d: units(d) @ paired(d),
    "a chain of correlations .95, and units": lambda d: units(d) @ chained(d),
}


def moved(law: Law, linear: Array) -> gs.Model:
    """The model of Ax."""
    inverse, own = np.linalg.inv(linear), law.domain
    domain = own
    if isinstance(own, gs.Box):
        domain = gs.Box(np.diag(linear) * own.lower, np.diag(linear) * own.upper)
    return gs.Model(
        score=lambda y: law.score(y @ inverse.T) @ inverse,
        sample=partial(drawn, law, linear),
        domain=domain,
        batched=True,
        name=f"{law!r}, moved",
    )


def drawn(law: Law, linear: Array, n: int, rng: RNG) -> Array:
    """Draws of Ax."""
    return law.sample(n, rng) @ linear.T


# Models.


def gammas(*shapes: float) -> gs.Model:
    """Independent gamma variables on the orthant."""
    return gs.Model(
        score=lambda x: (np.array(shapes) - 1) / x - 1,
        sample=lambda n, rng: rng.gamma(shapes, size=(n, len(shapes))),
        domain=gs.Orthant(len(shapes)),
        batched=True,
        name=f"Gamma{shapes}",
    )


class Posterior:
    """Of intercept, slope and σ > 0 of a regression on the year, with flat priors but 1/σ², in its box.

    Given σ² the coefficients are normal, and the posterior of σ² is an inverse gamma law, so draws are exact.
    `prior` is the precision of a wrong prior N(0, 1/prior) of the slope.
    """

    domain = gs.Box([-np.inf, -np.inf, 0.0], np.inf)

    def __init__(self, prior: float = 0.0) -> None:
        rng = np.random.default_rng(8)
        year = np.arange(1990.0, 2020.0)
        self.x = np.column_stack([np.ones(30), year - 1980.0])
        self.y = 300.0 + 0.2 * (year - 1980.0) + 2.0 * rng.standard_normal(30)
        self.prior = prior

    def score(self, theta: Array) -> Array:
        """Of log p(y | θ) − 2 log σ − ½ prior·β₁²/σ²."""
        beta, sigma = theta[:, :2], theta[:, 2]
        rest = self.y - beta @ self.x.T
        total = np.einsum("ij,ij->i", rest, rest) + self.prior * beta[:, 1] ** 2
        pull = rest @ self.x - np.outer(self.prior * beta[:, 1], [0.0, 1.0])
        return np.column_stack([pull / sigma[:, None] ** 2, total / sigma**3 - (len(self.y) + 2) / sigma])

    def sample(self, n: int, rng: RNG) -> Array:
        precision = self.x.T @ self.x + np.diag([0.0, self.prior])
        mean = np.linalg.solve(precision, self.x.T @ self.y)
        rest = self.y @ self.y - mean @ precision @ mean
        sigma = 1.0 / np.sqrt(rng.gamma(0.5 * (len(self.y) - 1), 2.0 / rest, size=n))
        noise = np.linalg.solve(np.linalg.cholesky(precision).T, rng.standard_normal((2, n))).T
        return np.column_stack([mean + sigma[:, None] * noise, sigma])

    def __repr__(self) -> str:
        return f"Posterior({self.prior:g})"


def bernoulli(noise: float = 0.0, shift: float = 0.0) -> Any:
    """The Gaussian–Bernoulli machine of the suite, its first bias shifted."""
    rng = np.random.default_rng(2016)
    weights = rng.choice([-1.0, 1.0], size=(20, 6))
    b, c = rng.standard_normal(20), rng.standard_normal(6)
    b[0] += shift
    return machine(weights + noise * np.random.default_rng(2017).standard_normal(weights.shape), b, c)


# Tables.

PLAIN = gs.IMQ()


def selected(data: Any, model: Any, *, rng: Any) -> Any:
    """`gs.select`, and the test of what it chose."""
    return gs.select(data, model, rng=rng).test(rng=rng, workers=1)


TESTS: dict[str, Test] = {
    "KSD": KSD,
    "KSD, IMQ() in the given coordinates": partial(KSD, kernel=PLAIN),
    "aggregated": aggregated,
    "select": selected,
    "FSSD": gs.fssd_test,
    "regularised": partial(gs.regularised_test, workers=1),
}
SQUARE = gs.Box([0, 0], [1, 1])


def normals(d: int, mean: float) -> tuple[Law, dict[str, Law]]:
    return Normal(np.zeros(d)), {"mean of one coordinate": Normal(np.eye(d)[0] * mean)}


SETTINGS: dict[str, tuple[int, tuple[Law, dict[str, Law]]]] = {
    "N(0, I) on R^5": (200, normals(5, 0.275)),
    "N(0, I) on R^20": (200, normals(20, 0.28)),
    "Gaussian–Bernoulli machine": (200, (bernoulli(), {"one bias": bernoulli(shift=0.3)})),
    "truncated normal in a square": (
        200,
        (
            Truncated(Normal([0.5, 0.5], 0.25), SQUARE),
            {"mean shifted": Truncated(Normal([0.72, 0.5], 0.25), SQUARE)},
        ),
    ),
    "gamma on the orthant": (100, (gammas(2, 1), {"first shape": gammas(2.5, 1)})),
    "posterior of a regression": (300, (Posterior(), {"a wrong prior": Posterior(40.0)})),
}


def maps_of(null: Law) -> dict[str, Array]:
    """The identity, other units, and on R^d linear maps."""
    d = null.sample(2, np.random.default_rng(0)).shape[1]
    names = [*MAPS]
    kinds = names[1:] if isinstance(null.domain, gs.Euclidean) else names[:1]
    return {"as it is": np.eye(d), **{name: MAPS[name](d) for name in kinds}}


def power_tables() -> Iterator[Table]:
    for setting, (n, (null, laws)) in SETTINGS.items():
        for how, linear in maps_of(null).items():
            cells = [
                gs.Cell(moved(null, linear), partial(drawn, law, linear), n, name=label, level=0.05)
                for label, law in laws.items()
            ]
            about = (
                "The coordinates of the suite, for comparison."
                if how == "as it is"
                else f"Data and model in other coordinates: {how}."
            )
            yield Table(f"Units: {setting}, {how}", about, [(cells, TESTS)], trials=200)


def size_tables() -> Iterator[Table]:
    tests: dict[str, Test] = {"default": KSD}
    models: Mapping[str, Law] = {
        "R⁵, Normal": Normal(np.zeros(5)),
        "R²⁰, Normal": Normal(np.zeros(20)),
        "R², Student t with 3 degrees of freedom": StudentT(3, [0, 0]),
        "Orthant(2), Gamma(2) and Gamma(1)": gammas(2, 1),
        "R² × (0, ∞), posterior of a regression": Posterior(),
    }
    parts = []
    for name, null in models.items():
        for how, linear in maps_of(null).items():
            if how != "as it is":
                parts.append(true({f"{name}, {how}": moved(null, linear)}, tests))
    parts.append(true({"R²⁰, Normal": Normal(np.zeros(20))}, tests, (20, 30)))
    yield Table(
        "Units and correlation",
        "`ksd_test` as it is by default, whose metric comes from the scores of the same data. n = 20 and 30 "
        "in 20 dimensions are as many rows as coordinates or a few more.",
        parts,
    )
