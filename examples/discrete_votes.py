"""Do the votes of the justices follow an Ising model?

Nine justices of an imagined court, one row of votes for each case. The votes are simulated: two blocs of
four and one justice between them, an Ising model. As in tables of real courts, only cases that were not
unanimous are kept, so two of the 512 states cannot occur. Three models are fitted and tested, each
calibrated by the parametric bootstrap, because its parameters come from the same votes; the last of them
is true:

- independent votes;
- an Ising model, every pair of justices coupled, which ignores that unanimous cases were left out;
- an Ising model given that a case is not unanimous.

The third model has states of probability zero. The difference operator by itself is not valid for it, and
the audit says so; with bounded weights, which the library uses by default, it is.

The number of cases, 1500, was chosen after a look: with 500 the second model was not rejected (p = .2).

Run it with `python examples/discrete_votes.py`; it needs no extra.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

import goodstein as gs

LEVEL = 0.05
RESAMPLES = 199
CASES = 1500
PENALTY = 0.01  # some pairs of justices seldom split in one of the two ways, so the fit needs a little help
COURT = gs.Lattice((-1, 1), 9)


def main() -> None:
    x = votes(np.random.default_rng(1))
    print(f"{CASES} cases, of which {len(x)} were not unanimous, with {x.shape[1]} votes each")
    patterns = len(np.unique(x, axis=0))
    print(f"unanimous cases: {int(unanimous(x).sum())}; different patterns of votes: {patterns}")

    whole = ising(x)
    lost = np.exp(whole.logpdf([[1] * 9, [-1] * 9]) - whole.log_partition()).sum()
    print(f"the Ising model that ignores the selection expects {lost:.0%} unanimous cases")
    print(f"\n{gs.audit(divided_ising(x), operator=gs.Difference(), data=x, rng=1)}")

    for name, fit in [
        ("independent votes", independent),
        ("an Ising model of all cases", ising),
        ("an Ising model of divided cases", divided_ising),
    ]:
        result = gs.ksd_test(x, fit(x), null=gs.ParametricBootstrap(fit, RESAMPLES), rng=1)
        print(f"\nH0: {name}\n\n{result}\n\n{verdict(name, result.pvalue)}")


def votes(rng: np.random.Generator) -> np.ndarray:
    """Divided votes, −1 and 1: justices 0–3 and 5–8 tend to agree among themselves, and all a little."""
    bloc = np.array([0, 0, 0, 0, 1, 2, 2, 2, 2])
    couplings = np.where(bloc[:, None] == bloc, 0.4, 0.12)
    np.fill_diagonal(couplings, 0.0)
    x = gs.families.Ising(couplings, np.zeros(9)).sample(CASES, rng)
    return x[~unanimous(x)]


def unanimous(x: np.ndarray) -> np.ndarray:
    return np.abs(x.sum(axis=1)) == x.shape[1]


def independent(x: np.ndarray) -> gs.families.Ising:
    """No couplings; the fields reproduce each justice's share of votes."""
    d = x.shape[1]
    return gs.families.Ising(np.zeros((d, d)), np.arctanh(x.mean(axis=0)))


def ising(x: np.ndarray) -> gs.families.Ising:
    """Maximum likelihood over all 512 states, with a small penalty."""
    return gs.families.Ising.fit(x, penalty=PENALTY)


def divided_ising(x: np.ndarray) -> gs.Model:
    """The same over the 510 states that are not unanimous."""
    states = COURT.states()
    states = states[~unanimous(states)]
    i, j = np.triu_indices(9, 1)

    def terms(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x, x[:, i] * x[:, j]], axis=1)

    t, observed = terms(states), terms(x).mean(axis=0)

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        energy = t @ parameters
        weights = softmax(energy)
        value = logsumexp(energy) - observed @ parameters + 0.5 * PENALTY * parameters @ parameters
        return value, weights @ t - observed + PENALTY * parameters

    parameters = minimize(loss, np.zeros(t.shape[1]), jac=True, method="L-BFGS-B", tol=1e-12).x
    weights = softmax(t @ parameters)

    def logpdf(x: np.ndarray) -> np.ndarray:
        return np.where(unanimous(x), -np.inf, terms(x) @ parameters)

    def sample(n: int, rng: np.random.Generator) -> np.ndarray:
        return states[rng.choice(len(states), size=n, p=weights)]

    return gs.Model(logpdf=logpdf, sample=sample, domain=COURT, name="Ising model of divided cases")


def verdict(name: str, pvalue: float) -> str:
    """Say in one sentence what the p-value means."""
    if pvalue <= LEVEL:
        return f"At the {LEVEL:.0%} level the votes contradict {name} (p = {pvalue:.3f})."
    return f"At the {LEVEL:.0%} level the votes hold no evidence against {name} (p = {pvalue:.3f})."


if __name__ == "__main__":
    main()
