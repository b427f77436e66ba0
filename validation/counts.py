"""Counts without an upper limit: sizes, and power beside tests of dispersion, of cells and of rootograms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
from scipy.special import gammaln
from scipy.stats import chi2, norm
from tables import KSD, Array, Table, Test, against, aggregated, fitted, ksd, named, simulated, true

import goodstein as gs
from goodstein.families import (
    Binomial,
    DirichletMultinomial,
    Geometric,
    Multinomial,
    NegativeBinomial,
    Poisson,
    Product,
    ZeroInflated,
)


def overdispersed(x: Array) -> Any:
    """A fit; of counts that vary no more than Poisson's, which have none, that of the Poisson law."""
    try:
        return NegativeBinomial.fit(x)
    except gs.InputError:
        return Poisson.fit(x)


RARE = {"Poisson, mean 0.1": Poisson(0.1)}
ONE = {
    **RARE,
    "Poisson, mean 1": Poisson(1.0),
    "Poisson, mean 3": Poisson(3.0),
    "Poisson, mean 10⁴": Poisson(1e4),
    "negative binomial, mean 3, size 0.5": NegativeBinomial(3.0, 0.5),
    "geometric, p = .2": Geometric(0.2),
    "binomial, 7 trials, p = .3": Binomial(7, 0.3),
    "Poisson, mean 3, 20% extra zeros": ZeroInflated(Poisson(3.0), 0.2),
}
SEVERAL = {
    "multinomial, 3 kinds, total 10": Multinomial(10, [0.5, 0.3, 0.2]),
    "Dirichlet-multinomial, 3 kinds, total 10": DirichletMultinomial(10, [2.0, 1.0, 0.5]),
    "Poisson, means 1, 10 and 1000": Poisson([1.0, 10.0, 1000.0]),
    "Poisson and geometric": Product([Poisson(2.0), Geometric(0.4)]),
}
THREE = {"Poisson, mean 3": Poisson(3.0)}
FITS: dict[str, tuple[Any, Any]] = {
    "Poisson": (Poisson(3.0), Poisson.fit),
    "negative binomial": (NegativeBinomial(3.0, 2.0), overdispersed),
    "zero-inflated Poisson": (ZeroInflated(Poisson(3.0), 0.2), ZeroInflated.fit),
    "Dirichlet-multinomial": (DirichletMultinomial(10, [2.0, 1.0, 0.5]), DirichletMultinomial.fit),
}


# Spaces of a user's own: orders of five things, and tables whose margins are kept.


def exchanges(order: Array) -> Array:
    moved = np.tile(order, (4, 1))
    for i in range(4):
        moved[i, [i, i + 1]] = order[[i + 1, i]]
    return moved


def inversions(x: Array) -> Array:
    first, second = np.triu_indices(5, 1)
    return (x[:, first] > x[:, second]).sum(axis=1)


ORDERS = np.array(list(permutations(range(5))), float)
TABLE = np.array([[6, 3, 2], [2, 4, 5]])


def orders(theta: float) -> gs.Model:
    """Mallows' model, drawn by enumeration."""
    p = np.exp(-theta * inversions(ORDERS))
    return gs.Model(
        logpdf=lambda x: -theta * inversions(x),
        sample=lambda n, rng: ORDERS[rng.choice(len(ORDERS), n, p=p / p.sum())],
        domain=gs.StateSpace(5, exchanges),
        batched=True,
        name="Mallows",
    )


def independent() -> gs.Model:
    """Tables of independent attributes, given their margins; one shuffles what two columns of rows say."""
    rows, columns = (np.repeat(np.arange(size), TABLE.sum(axis=1 - k)) for k, size in enumerate(TABLE.shape))

    def sample(n: int, rng: Any) -> Array:
        cells = [rows * 3 + rng.permutation(columns) for _ in range(n)]
        return np.array([np.bincount(one, minlength=6) for one in cells], float)

    return gs.Model(
        logpdf=lambda x: -gammaln(x + 1).sum(axis=1),
        sample=sample,
        domain=gs.Naturals.fixed_margins(2, 3),
        batched=True,
        name="independence",
    )


OWN = {"orders of five things, Mallows' model": orders(0.5), "tables 2 × 3 with given margins": independent()}


def size_tables() -> Iterator[Table]:
    wild, again = gs.FittedWildBootstrap(), gs.ParametricBootstrap(Poisson.fit, 39)
    yield Table(
        "Counts",
        'Models on ℕ^d; the default is `Jumps("edges")` with a Gaussian kernel of √x. Those that are fitted '
        "were fitted to the very data by maximum likelihood.",
        [
            *(true({name: model}, ksd()) for name, model in (ONE | SEVERAL | OWN).items()),
            true(THREE, ksd("Jumps('states')", operator=gs.Jumps("states"))),
            true(RARE, ksd(null=gs.MonteCarlo(99)), (50,)),
            true(THREE, {"aggregated_test": aggregated}, (100,)),
            *(
                true({f"{name}, fitted": model}, named(fitted, null=wild, fit=fit))
                for name, (model, fit) in FITS.items()
            ),
            true({"Poisson, fitted": Poisson(3.0)}, named(fitted, null=again, fit=Poisson.fit), (50,)),
        ],
        notes={
            "Poisson, mean 0.1* | default": "Liberal: at n = 50 five of the counts are not zero, and "
            "carry the statistic; without any of them nothing balances the zeros. `ksd_test` warns. Monte "
            "Carlo calibration keeps the level.",
            "Poisson, mean 0.1* | Monte Carlo*": "Conservative: the statistic depends on the numbers of ones "
            "and twos, takes few values, and draws that equal it count against it.",
        },
    )
    yield Table(
        "Regressions of counts",
        "A count given two covariates; `statsmodels` fits them to the very data, and the test takes account "
        "of that. The fitted wild bootstrap is what `ksd_test` takes where nothing is said.",
        [
            true({"Poisson regression": LINE}, {"default": regression}, sample_null=partial(pairs, LINE)),
            true(
                {"GLM, Poisson, fitted": LINE},
                {"fitted wild, B=999": partial(refitted, kind="glm")},
                sample_null=partial(pairs, LINE),
            ),
            true(
                {"NegativeBinomial, fitted": OVER},
                {"fitted wild, B=999": partial(refitted, kind="nb")},
                (200,),
                sample_null=partial(pairs, OVER),
            ),
            true(
                {"Logit, fitted": ODDS},
                {"fitted wild, B=999": partial(refitted, kind="logit")},
                (100, 200),
                sample_null=partial(pairs, ODDS),
            ),
        ],
        notes={
            "Logit, fitted, n = 200*": "By chance: another thousand samples were rejected in .014, .046 and "
            ".099 at the three levels."
        },
    )


def mean(x: Array) -> Array:
    return np.exp(0.9 + x @ np.array([0.4, -0.3]))


def poisson(y: Array, x: Array) -> Array:
    return y * np.log(mean(x)) - mean(x) - gammaln(y + 1)


LINE = gs.ConditionalModel(
    logpdf=poisson,
    sample=lambda x, rng: rng.poisson(mean(x)).astype(float),
    domain=gs.Naturals(1),
    name="Poisson regression",
)
OVER = gs.ConditionalModel(
    logpdf=poisson,  # not used: the model that is tested is fitted
    sample=lambda x, rng: rng.poisson(mean(x) * rng.gamma(2.0, 0.5, len(x))).astype(float),
    domain=gs.Naturals(1),
    name="negative binomial regression",
)


ODDS = gs.ConditionalModel(
    logpdf=poisson,  # not used either
    sample=lambda x, rng: (rng.logistic(size=len(x)) < x @ np.array([1.0, -0.5])).astype(float),
    domain=gs.Lattice(2, 1),
    name="logistic regression",
)


def pairs(model: gs.ConditionalModel, n: int, rng: Any) -> tuple[Array, Array]:
    x = rng.standard_normal((n, 2))
    return x, model.sample(x, rng)


def regression(data: Any, model: Any, **options: Any) -> Any:
    return gs.conditional_ksd_test(*data, model, workers=1, **options)


def refitted(data: Any, _: Any, *, kind: str, rng: Any, test: Any = gs.ksd_test) -> Any:
    """The test of the regression that statsmodels fits to the data."""
    import statsmodels.api as sm

    x, y = data
    design = np.column_stack([np.ones(len(x)), x])
    if kind == "logit":
        found = sm.Logit(y, design).fit(disp=0)
    elif kind == "glm":
        found = sm.GLM(y, design, family=sm.families.Poisson()).fit()
    else:
        found = sm.NegativeBinomial(y, design).fit(disp=0, maxiter=200)
    return test(gs.Paired(design, y), found, workers=1, rng=rng)


# Power.


def dispersion(x: Array, model: Any) -> float:
    """The index of dispersion about the mean of the model, Σ(x − λ)²/λ."""
    return float(((x - model.rate) ** 2 / model.rate).sum())


def total(x: Array, model: Any) -> float:
    return float(x.sum())


def zeros(x: Array, model: Any) -> float:
    return float((x == 0).sum())


def cells(x: Array, model: Any) -> tuple[Array, Array]:
    """Observed and expected numbers of 0, 1, …, the last being that and more, of which 5 are expected."""
    p = np.exp(model.logpdf(np.arange(200.0)[:, None]))
    last = int(np.flatnonzero(len(x) * np.cumsum(p[::-1])[::-1] >= 5)[-1])
    expected = len(x) * np.append(p[:last], p[last:].sum())
    return np.bincount(np.minimum(x[:, 0], last).astype(int), minlength=last + 1), expected


def pearson(x: Array, model: Any) -> float:
    seen, expected = cells(x, model)
    return float(((seen - expected) ** 2 / expected).sum())


def rootogram(x: Array, model: Any) -> float:
    """The longest hanging root, 2|√O − √E|: the statistic behind simultaneous bands of a rootogram."""
    seen, expected = cells(x, model)
    return float(2 * np.abs(np.sqrt(seen) - np.sqrt(expected)).max())


RIVALS: dict[str, Test] = {
    "dispersion": simulated(dispersion, 1999, two_sided=True),
    "mean": simulated(total, 1999, two_sided=True),
    "zeros": simulated(zeros, 1999, two_sided=True),
    "Pearson": simulated(pearson, 1999),
    "rootogram": simulated(rootogram, 1999),
}
OURS: dict[str, Test] = {
    "aggregated_test": aggregated,
    "Jumps, edges": KSD,
    "Jumps, states": partial(KSD, operator=gs.Jumps("states")),
    "Jumps, states, narrow": partial(KSD, operator=gs.Jumps("states"), kernel=gs.Gaussian(gs.Median())),
}
ABOUT = (
    " Dispersion, mean and zeros are two-sided tests of Σ(x − λ)²/λ, Σx and the number of zeros; Pearson's "
    "test and the longest hanging root look at the numbers of 0, 1, …, with at least five expected in the "
    "last. Their null distributions are simulated."
)


# Regressions: what one does today with a Poisson regression that was fitted to the very data.


def fitted_means(data: Any) -> tuple[Array, Array, Array]:
    """The design, the counts and their means, by the maximum likelihood fit of a line."""
    import statsmodels.api as sm

    x, y = data
    design = np.column_stack([np.ones(len(x)), x])
    return design, y, np.asarray(sm.GLM(y, design, family=sm.families.Poisson()).fit().fittedvalues)


def pearson_residuals(data: Any, _: Any, *, rng: Any) -> float:
    """Σ(y − μ̂)²/μ̂ against χ² with n − p degrees of freedom, two-sided."""
    design, y, mu = fitted_means(data)
    upper = float(chi2.sf(((y - mu) ** 2 / mu).sum(), len(y) - design.shape[1]))
    return min(1.0, 2.0 * min(upper, 1.0 - upper))


def cameron_trivedi(data: Any, _: Any, *, rng: Any) -> float:
    """The regression of ((y − μ̂)² − y)/μ̂ on μ̂, two-sided (Cameron and Trivedi 1990)."""
    _, y, mu = fitted_means(data)
    z = ((y - mu) ** 2 - y) / mu
    slope = (mu @ z) / (mu @ mu)
    error = np.sqrt(((mu * (z - slope * mu)) ** 2).sum()) / (mu @ mu)
    return float(2.0 * norm.sf(abs(slope / error)))


def squares(data: Any, _: Any, *, rng: Any) -> float:
    """The score test of squares and products of covariates beside the line."""
    design, y, mu = fitted_means(data)
    x = design[:, 1:]
    more = np.column_stack([x**2, x[:, 0] * x[:, 1]])
    both = np.hstack([design, more])
    information = both.T @ (both * mu[:, None])
    score = both.T @ (y - mu)
    return float(chi2.sf(score @ np.linalg.solve(information, score), more.shape[1]))


def regressed(bend: float = 0.0, size: float = np.inf, zeros: float = 0.0) -> Any:
    """Counts of mean μ·exp(bend·(x₀² − 1)), perhaps negative binomial, some of them turned into zeros."""

    def sample(n: int, rng: Any) -> tuple[Array, Array]:
        x = rng.standard_normal((n, 2))
        rate = mean(x) * np.exp(bend * (x[:, 0] ** 2 - 1.0))
        rate = rate if np.isinf(size) else rate * rng.gamma(size, 1.0 / size, n)
        return x, np.where(rng.random(n) < zeros, 0.0, rng.poisson(rate).astype(float))

    return sample


REGRESSIONS: dict[str, Test] = {
    "conditional KSD": partial(refitted, kind="glm"),
    "aggregated": partial(refitted, kind="glm", test=gs.aggregated_test),
    "Pearson residuals": pearson_residuals,
    "Cameron–Trivedi": cameron_trivedi,
    "squares of covariates": squares,
}


def power_tables() -> Iterator[Table]:
    yield against(LINE, 100, REGRESSIONS, trials=200, sample_null=partial(pairs, LINE))(
        "counts: a Poisson regression",
        "Two covariates, and a Poisson regression fitted to the very hundred rows. Truth: a bent effect of "
        "one covariate, more dispersion, or zeros in the place of some counts. Tests of dispersion have "
        "their χ² and normal laws, and the row of the null tells their levels.",
        {f"bend {a:g}": regressed(bend=a) for a in (0.1, 0.2)}
        | {f"negative binomial, size {a:g}": regressed(size=a) for a in (10.0, 5.0)}
        | {f"{100 * a:g}% zeros": regressed(zeros=a) for a in (0.05, 0.1)},
    )
    truths = {
        "negative binomial, size 6": NegativeBinomial(3.0, 6.0),
        "5% extra zeros": ZeroInflated(Poisson(3.0), 0.05),
        "10% extra zeros": ZeroInflated(Poisson(3.0), 0.1),
        "10% extra zeros, same mean": ZeroInflated(Poisson(3.0 / 0.9), 0.1),
        "mean 3.5": Poisson(3.5),
        "binomial, 6 trials": Binomial(6, 0.5),
        "geometric": Geometric(0.25),
    }
    yield against(Poisson(3.0), 100, OURS | RIVALS)(
        "counts: Poisson of mean 3", "A hundred counts; the data follow other laws." + ABOUT, truths
    )
    many = {
        "negative binomial, variance 1.5 times as large": NegativeBinomial(100.0, 200.0),
        "mean 103": Poisson(103.0),
        "two means, 92 and 108": gs.Model(
            logpdf=lambda x: np.logaddexp(Poisson(92.0).logpdf(x), Poisson(108.0).logpdf(x)) - np.log(2),
            sample=lambda n, rng: rng.poisson(rng.choice([92.0, 108.0], (n, 1))).astype(float),
            domain=gs.Naturals(1),
            batched=True,
            name="two means",
        ),
        "1% zeros": ZeroInflated(Poisson(100.0), 0.01),
    }
    yield against(Poisson(100.0), 100, OURS | RIVALS)(
        "counts: Poisson of mean 100", "A hundred large counts." + ABOUT, many
    )
