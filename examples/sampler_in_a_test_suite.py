"""A test that fails when a sampler is wrong, and hardly ever otherwise.

Hamiltonian Monte Carlo in plain NumPy, for the eight schools of `mcmc_posterior.py` with the schools
integrated out: a right version, and one with a slip that is easily made, the Jacobian of log τ counted twice.
`gs.testing.assert_samples` is meant for the test suites of people who write samplers. The null hypothesis is
that the draws are from the posterior; a right sampler fails once in a million runs.

Run it with `python examples/sampler_in_a_test_suite.py`; it needs no extra.
"""

import numpy as np

import goodstein as gs

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
CHAINS, DRAWS, BURN = 4, 1500, 100


def log_posterior(theta: np.ndarray, jacobian: float = 1.0) -> np.ndarray:
    """Of (μ, log τ), up to a constant: y_j ~ N(μ, σ_j² + τ²), μ ~ N(0, 5²), τ ~ half-Cauchy(5)."""
    mu, tau = theta[:, :1], np.exp(theta[:, 1:])
    variance = ERRORS**2 + tau**2
    fit = -0.5 * (np.log(variance) + (EFFECTS - mu) ** 2 / variance).sum(axis=1)
    return fit - mu[:, 0] ** 2 / 50 + jacobian * theta[:, 1] - np.log(25 + tau[:, 0] ** 2)


def score(theta: np.ndarray, jacobian: float = 1.0) -> np.ndarray:
    """Its gradient."""
    mu, tau = theta[:, :1], np.exp(theta[:, 1:])
    variance = ERRORS**2 + tau**2
    residual = (EFFECTS - mu) / variance
    slope = tau[:, 0] ** 2 * (residual**2 - 1 / variance).sum(axis=1)
    return np.column_stack(
        [residual.sum(axis=1) - mu[:, 0] / 25, slope + jacobian - 2 * tau[:, 0] ** 2 / (25 + tau[:, 0] ** 2)]
    )


def hamiltonian(rng: np.random.Generator, jacobian: float = 1.0) -> np.ndarray:
    """Draws, (chain, draw, parameter), by six leapfrog steps each."""
    step, scale = 0.5, np.array([3.0, 1.0])
    theta = np.array([4.0, 1.0]) + scale * rng.normal(size=(CHAINS, 2))
    kept = np.empty((CHAINS, DRAWS, 2))
    for k in range(-BURN, DRAWS):
        momentum = rng.normal(size=theta.shape)
        new, moving = theta, momentum + 0.5 * step * scale * score(theta, jacobian)
        for _ in range(6):
            new = new + step * scale * moving
            moving = moving + step * scale * score(new, jacobian)
        moving = moving - 0.5 * step * scale * score(new, jacobian)
        gain = log_posterior(new, jacobian) - 0.5 * (moving**2).sum(axis=1)
        gain -= log_posterior(theta, jacobian) - 0.5 * (momentum**2).sum(axis=1)
        taken = np.log(rng.random(CHAINS)) < gain
        theta = np.where(taken[:, None], new, theta)
        if k >= 0:
            kept[:, k] = theta
    return kept


def main() -> None:
    posterior = gs.Model(score=score, domain=gs.Euclidean(2), name="posterior of (μ, log τ)")
    for title, jacobian in (("with the Jacobian once", 1.0), ("with it twice", 2.0)):
        draws = hamiltonian(np.random.default_rng(1), jacobian)
        try:
            named = gs.Chains([{"μ": chain[:, 0], "log τ": chain[:, 1]} for chain in draws])
            gs.testing.assert_samples(named, posterior, false_alarms=1e-6)
            print(f"Hamiltonian Monte Carlo {title}: passed.")
        except AssertionError as failure:
            print(f"Hamiltonian Monte Carlo {title}: failed.\n{failure}")
    rows = gs.thin(hamiltonian(np.random.default_rng(1)), posterior, 40)
    print(f"Forty draws that stand for all {CHAINS * DRAWS}: rows {', '.join(map(str, rows[:8]))}, …")


if __name__ == "__main__":
    main()
