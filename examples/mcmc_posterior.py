"""Are these draws from the posterior they claim to be from?

The eight schools (Rubin 1981): the effect of coaching on test scores, measured in eight schools with known
standard errors. This posterior can be drawn from without Markov chains, on a grid for the spread between
schools and from normal distributions given it. The null hypothesis is that draws are from the posterior;
all that the test needs of it is the gradient of its logarithm, a sum over the schools.

Then the same question is asked of an approximation that a user might be tempted by: independent normal
distributions with the right means and variances, as mean-field variational inference aims at.

Run it with `python examples/mcmc_posterior.py`; it needs no extra.
"""

import numpy as np

import goodstein as gs

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
DRAWS = 500
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


def exact(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draws of (η₁, …, η₈, μ, log τ): log τ from a fine grid, μ given τ, and η given both, (n, 10).

    Given τ, y_j ~ N(μ, σ_j² + τ²) and μ ~ N(0, 5²), so that μ given y is normal with precision
    P = 1/25 + Σ w_j, w_j = 1/(σ_j² + τ²), and mean m = Σ w_j y_j/P; what is left of the density of τ is
    P^(−1/2) exp(P m²/2) Π w_j^(1/2) exp(−w_j y_j²/2) times its prior.
    """
    grid = np.linspace(-10.0, 6.0, 20_001)
    weights = 1 / (ERRORS**2 + np.exp(2 * grid)[:, None])
    precision = 1 / 25 + weights.sum(axis=1)
    mean = (weights * EFFECTS).sum(axis=1) / precision
    log_density = grid - np.log(25 + np.exp(2 * grid)) + (precision * mean**2 - np.log(precision)) / 2
    log_density += (np.log(weights) - weights * EFFECTS**2).sum(axis=1) / 2
    density = np.exp(log_density - log_density.max())
    k = rng.choice(len(grid), n, p=density / density.sum())
    mu = rng.normal(mean[k], precision[k] ** -0.5)
    tau = np.exp(grid[k])[:, None]
    shrunk = 1 / (1 + (tau / ERRORS) ** 2)
    eta = rng.normal(shrunk * tau * (EFFECTS - mu[:, None]) / ERRORS**2, np.sqrt(shrunk))
    return np.column_stack([eta, mu, grid[k]])


def main() -> None:
    schools = np.column_stack([np.arange(8), EFFECTS, ERRORS])
    posterior = gs.Posterior(
        prior_score, likelihood_score, schools, gs.Euclidean(10), name="eight schools, 10 parameters"
    )
    rng = np.random.default_rng(1)
    many = exact(10_000, rng)
    draws = exact(DRAWS, rng)
    normals = rng.normal(many.mean(axis=0), many.std(axis=0), draws.shape)
    pvalues = {}
    for title, sample in (("exact draws", draws), ("draws of independent normals", normals)):
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
    main()
