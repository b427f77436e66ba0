"""Do counts of published articles follow a Poisson regression?

915 doctoral students in biochemistry: how many articles they published in the last three years of their
PhD, given sex, marriage, young children, the prestige of the department and the articles of the mentor.
Two regressions are fitted to one half of the students and tested on the other half, so nothing that is
tested was fitted. The Poisson law has one parameter given x; the negative binomial has a second one for
the spread.

The test needs finitely many levels: 0, …, 99 articles. What the models place beyond is printed.

Run it with `python examples/conditional_articles.py FOLDER`.
"""

import csv
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln
from scipy.stats import nbinom, poisson

import goodstein as gs
from data_folder import data_folder

LEVELS = 100


def main(data: Path) -> None:
    x, y = students(data / "discrete" / "biochemists_articles.csv")
    order = np.random.default_rng(1).permutation(len(y))
    fit, test = order[: len(y) // 2], order[len(y) // 2 :]
    print(f"{len(fit)} students to fit to, {len(test)} to test on: {y.mean():.2f} articles on average")

    pvalues = {}
    for name, model, beyond in [
        ("Poisson", *poisson_regression(x[fit], y[fit])),
        ("negative binomial", *negative_binomial_regression(x[fit], y[fit])),
    ]:
        result = gs.conditional_ksd_test(x[test], y[test], model, rng=1)
        print(f"\nH0: given x, articles follow the {name} regression\n")
        print(result)
        print(f"  Beyond {LEVELS - 1} articles the model places at most {beyond(x[test]).max():.1g}.")
        pvalues[name] = result.pvalue

    poor, better = pvalues.values()
    print(
        f"\nIf the Poisson regression were right, a discrepancy as large as the one found would have "
        f"probability p = {poor:.3f}; for the negative binomial regression it is p = {better:.3f}."
    )


def students(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Covariates, each with mean zero and variance one, and the number of articles."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = [
        [row["fem"] == "Women" for row in rows],
        [row["mar"] == "Married" for row in rows],
        *([float(row[name]) for row in rows] for name in ("kid5", "phd", "ment")),
    ]
    x = np.array(columns, dtype=float).T
    return (x - x.mean(axis=0)) / x.std(axis=0), np.array([float(row["art"]) for row in rows])


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
    main(data_folder("discrete/biochemists_articles.csv"))
