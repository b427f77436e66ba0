"""Do counts of visits to a doctor follow a Poisson regression?

The RAND Health Insurance Experiment: how often people saw a doctor in a year, given the terms of their
insurance, physical limitations, chronic diseases and their own view of their health. The table has 20 190
rows, several years of most people, who are not named; of 1000 rows taken at random few belong to the same
person. Two regressions are fitted to one half of them and tested on the other half, so nothing that is
tested was fitted. The Poisson law has one parameter given x; the negative binomial has a second one for
the spread.

The test needs finitely many levels: 0, …, 99 visits. What the models place beyond is printed.

Run it with `python examples/conditional_visits.py`; it needs `pip install "goodstein[examples]"`, for the
data that come with statsmodels.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln
from scipy.stats import nbinom, poisson
from statsmodels.datasets import randhie

import goodstein as gs

ROWS, LEVELS = 1000, 100


def main() -> None:
    x, y = people(np.random.default_rng(1))
    fit, test = np.arange(ROWS // 2), np.arange(ROWS // 2, ROWS)
    print(f"{len(fit)} people to fit to, {len(test)} to test on: {y.mean():.2f} visits on average")

    pvalues = {}
    for name, model, beyond in [
        ("Poisson", *poisson_regression(x[fit], y[fit])),
        ("negative binomial", *negative_binomial_regression(x[fit], y[fit])),
    ]:
        result = gs.conditional_ksd_test(x[test], y[test], model, rng=1)
        print(f"\nH0: given x, visits follow the {name} regression\n")
        print(result)
        print(f"  Beyond {LEVELS - 1} visits the model places at most {beyond(x[test]).max():.1g}.")
        pvalues[name] = result.pvalue

    poor, better = pvalues.values()
    print(
        f"\nIf the Poisson regression were right, a discrepancy as large as the one found would have "
        f"probability p = {poor:.3f}; for the negative binomial regression it is p = {better:.3f}."
    )


def people(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Covariates, each with mean zero and variance one, and the number of visits, of rows taken at random."""
    table = randhie.load_pandas().data
    rows = rng.choice(len(table), ROWS, replace=False)
    x = table.drop(columns="mdvis").to_numpy()[rows]
    return (x - x.mean(axis=0)) / x.std(axis=0), table["mdvis"].to_numpy()[rows].astype(float)


def with_constant(x):
    return np.column_stack([np.ones(len(x)), x])


def poisson_regression(x, y):
    """The model with log mean linear in x, by maximum likelihood; and its mass beyond the lattice."""
    z = with_constant(x)
    found = minimize(
        lambda b: np.sum(np.exp(z @ b) - y * (z @ b)),
        np.zeros(z.shape[1]),
        jac=lambda b: z.T @ (np.exp(z @ b) - y),
    ).x

    def mean(x):
        return np.exp(with_constant(x) @ found)

    model = gs.ConditionalModel(
        logpdf=lambda y, x: y * np.log(mean(x)) - gammaln(y + 1),
        domain=gs.Lattice(LEVELS, 1),
        name="Poisson regression",
    )
    return model, lambda x: poisson.sf(LEVELS - 1, mean(x))


def negative_binomial_regression(x, y):
    """The same with variance mean + mean²/size."""
    z = with_constant(x)

    def log_likelihood(y, mean, size):
        return gammaln(y + size) - gammaln(y + 1) + y * np.log(mean) - (y + size) * np.log(mean + size)

    def objective(b):
        size = np.exp(b[-1])
        constant = size * np.log(size) - gammaln(size)
        return -np.sum(log_likelihood(y, np.exp(z @ b[:-1]), size) + constant)

    found = minimize(objective, np.zeros(z.shape[1] + 1)).x
    size = float(np.exp(found[-1]))

    def mean(x):
        return np.exp(with_constant(x) @ found[:-1])

    model = gs.ConditionalModel(
        logpdf=lambda y, x: log_likelihood(y, mean(x), size),
        domain=gs.Lattice(LEVELS, 1),
        name="negative binomial regression",
    )
    return model, lambda x: nbinom.sf(LEVELS - 1, size, size / (size + mean(x)))


if __name__ == "__main__":
    main()
