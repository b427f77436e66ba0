"""Do counts of visits to a doctor follow a Poisson regression?

The RAND Health Insurance Experiment: how often people saw a doctor in a year, given the terms of their
insurance, physical limitations, chronic diseases and their own view of their health. The table has 20 190
rows, several years of most people, who are not named; of 1000 rows taken at random few belong to the same
person. Regressions are fitted by statsmodels and tested on the very rows, and the null distribution takes
account of the fit. The Poisson law has one parameter given x; the negative binomial has a second one for
the spread, and the zero-inflated Poisson law one for people who never go.

Run it with `python examples/conditional_visits.py`; it needs `pip install "goodstein[examples]"`, for
statsmodels and the data that come with it.
"""

import numpy as np
import statsmodels.api as sm
from statsmodels.datasets import randhie

import goodstein as gs

ROWS = 1000


def main() -> None:
    x, y = people(np.random.default_rng(1))
    print(f"{len(y)} people: {y.mean():.2f} visits on average, {(y == 0).mean():.0%} went never")

    regressions = {
        "Poisson": sm.GLM(y, x, family=sm.families.Poisson()),
        "zero-inflated Poisson": sm.ZeroInflatedPoisson(y, x),
        "negative binomial": sm.NegativeBinomial(y, x),
    }
    pvalues = {}
    for name, regression in regressions.items():
        options = {} if isinstance(regression, sm.GLM) else {"disp": 0, "maxiter": 500}
        results = regression.fit(**options)
        found = gs.ksd_test(gs.Paired.of_fit(results), results, rng=1)
        print(f"\nH0: given x, visits follow the {name} regression\n")
        print(found)
        pvalues[name] = found.pvalue

    said = ", ".join(f"{name} p = {pvalue:.3f}" for name, pvalue in pvalues.items())
    print(f"\nDiscrepancies as large as those found have, were the regression right, probability: {said}.")


def people(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A one, covariates with mean zero and variance one, and numbers of visits, of rows taken at random."""
    table = randhie.load_pandas().data
    rows = rng.choice(len(table), ROWS, replace=False)
    x = table.drop(columns="mdvis").to_numpy()[rows]
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    return sm.add_constant(x), table["mdvis"].to_numpy()[rows].astype(float)


if __name__ == "__main__":
    main()
