"""Are these draws from the posterior they claim to be from?

The eight schools (Rubin 1981): the effect of coaching on test scores, measured in eight schools with known
standard errors. Reference draws of the posterior come from long Markov chains, thinned until they are
nearly independent. The null hypothesis is that they are draws from the posterior; all that the test needs
of it is the gradient of its logarithm, a sum over the schools.

Then the same question is asked of an approximation that a user might be tempted by: independent normal
distributions with the right means and variances, as mean-field variational inference aims at.

    python examples/mcmc_posterior.py FOLDER
"""

import csv
import json
from pathlib import Path

import numpy as np

import goodstein as gs
from data_folder import data_folder

FILES = [f"mcmc/posteriordb_eight_schools_noncentered_{part}" for part in ("data.json", "draws.csv")]
EVERY = 20
"""Of 10 000 draws each twentieth is tested."""
LEVEL = 0.05


def prior_score(theta: np.ndarray) -> np.ndarray:
    """Of (η₁, …, η₈, μ, log τ): η_j ~ N(0, 1), μ ~ N(0, 5²), τ ~ half-Cauchy(5), and dτ = τ d log τ."""
    mu, tau = theta[:, 8], np.exp(theta[:, 9])
    return np.column_stack([-theta[:, :8], -mu / 25, 1 - 2 * tau**2 / (25 + tau**2)])


def likelihood_score(theta: np.ndarray, schools: np.ndarray) -> np.ndarray:
    """Of y_j ~ N(μ + τη_j, σ_j²), one row for each of the given schools (number, y, σ)."""
    number, y, sigma = schools[:, 0].astype(int), schools[:, 1], schools[:, 2]
    mu, tau, eta = theta[8], np.exp(theta[9]), theta[number]
    residual = (y - mu - tau * eta) / sigma**2
    gradient = np.zeros((len(schools), 10))
    gradient[np.arange(len(schools)), number] = tau * residual
    gradient[:, 8] = residual
    gradient[:, 9] = residual * tau * eta
    return gradient


def read(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """The schools, (8, 3), and the draws in unconstrained coordinates, (10 000, 10)."""
    facts = json.loads((folder / FILES[0]).read_text())
    schools = np.column_stack([np.arange(8), facts["y"], facts["sigma"]])
    with open(folder / FILES[1], newline="") as file:
        rows = np.array([[float(cell) for cell in row[:10]] for row in list(csv.reader(file))[1:]])
    effects, mu, tau = rows[:, :8], rows[:, 8:9], rows[:, 9:]
    return schools, np.hstack([(effects - mu) / tau, mu, np.log(tau)])


def main(data: Path) -> None:
    schools, every = read(data)
    posterior = gs.Posterior(
        prior_score, likelihood_score, schools, gs.Euclidean(10), name="eight schools, 10 parameters"
    )
    draws = every[::EVERY]
    rng = np.random.default_rng(1)
    normals = rng.normal(every.mean(axis=0), every.std(axis=0), draws.shape)
    pvalues = {}
    for title, sample in (("reference draws", draws), ("draws of independent normals", normals)):
        for operator in (gs.Langevin(), gs.Stochastic(batch_size=4)):
            result = gs.ksd_test(sample, posterior, operator=operator, rng=1)
            pvalues.setdefault(title, []).append(result.pvalue)
            print(f"\nH0: these {len(sample)} {title} are from the posterior\n\n{result}")
    print(f"\n{verdict(pvalues)}")


def verdict(pvalues: dict[str, list[float]]) -> str:
    """Say in one sentence which draws are not from the posterior."""
    parts = []
    for title, (full, half) in pvalues.items():
        found = "are not from it" if full <= LEVEL else "may well be from it"
        parts.append(f"the {title} {found} (p = {full:.3f}; with four schools at a time {half:.3f})")
    return f"True draws from the posterior give p ≤ {LEVEL} once in 20 times; so {parts[0]}, and {parts[1]}."


if __name__ == "__main__":
    main(data_folder(*FILES))
