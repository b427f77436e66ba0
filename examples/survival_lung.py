"""Do patients' survival times follow a given hazard, or any of a family of hazards?

Two questions of censored durations:

1. Remission of 23 leukaemia patients (aml) and survival of 26 patients with ovarian cancer: is the hazard
   constant, or does it grow linearly (Weibull with shape 2)? Its level is unknown and stays so.
2. Survival of 228 patients with advanced lung cancer: is there any exponential, any Weibull distribution
   that fits? The parameters are estimated on the same data, so every simulated sample of the parametric
   bootstrap, censored like the data, is fitted anew.

Run it with `python examples/survival_lung.py`; it needs no extra.
"""

import numpy as np

import goodstein as gs

LEVEL = 0.05
PUBLISHED = {
    ("aml", "constant"): 0.585,
    ("ovarian", "constant"): 0.681,
    ("aml", "linear"): 0.001,
    ("ovarian", "linear"): 0.063,
}
"""Fernández, Rivera, Xu, Gretton (2020), table 1."""


def main() -> dict[tuple[str, str], float]:
    """Print the tests and what they mean; return the p-values."""
    tables = {name: shuffled(gs.datasets.about(name).load()) for name in ("aml", "ovarian", "lung")}
    lung = tables.pop("lung")
    return proportional(tables) | fitted(lung)


def shuffled(data: gs.Censored) -> gs.Censored:
    """In another order: that of the tables, by arm or by duration, would look like dependence."""
    return data.take(np.random.default_rng(1).permutation(len(data)))


def proportional(tables: dict[str, gs.Censored]) -> dict[tuple[str, str], float]:
    """Hazards that are known up to a factor."""
    pvalues = {}
    print("1. Is the hazard constant, or proportional to time?\n")
    print(f"{'data':<10}{'hazard':<11}{'p-value':>8}{'published':>11}")
    for name, data in tables.items():
        for hazard, model in (
            ("constant", gs.families.Exponential()),
            ("linear", gs.families.Weibull(scale=1.0, shape=2.0)),
        ):
            result = gs.ksd_test(data, model, operator=gs.ProportionalHazards(), rng=1)
            pvalues[name, hazard] = result.pvalue
            print(f"{name:<10}{hazard:<11}{result.pvalue:>8.3f}{PUBLISHED[name, hazard]:>11.3f}")
    print("\nThe published test has another weight, horizon and kernel, so its p-values need not be ours.")
    for name, data in tables.items():
        print(
            f"{name} ({data.describe()}): {verdict(pvalues[name, 'constant'], 'a constant hazard')}; ", end=""
        )
        print(f"{verdict(pvalues[name, 'linear'], 'a hazard that grows linearly')}.")
    return pvalues


def fitted(lung: gs.Censored) -> dict[tuple[str, str], float]:
    """Families whose parameters are fitted to the same data."""
    pvalues = {}
    print("\n2. Which family describes survival with advanced lung cancer?")
    for name, family in (("exponential", gs.families.Exponential), ("Weibull", gs.families.Weibull)):
        null = gs.ParametricBootstrap(family.fit, n_resamples=399)
        result = gs.ksd_test(lung, family.fit(lung), null=null, rng=1)
        print(f"\nH0: survival times, in days, follow some {name} distribution\n")
        print(result)
        pvalues["lung", name] = result.pvalue
        print(f"\nThat is, {verdict(result.pvalue, f'the {name} family')}.")
    return pvalues


def verdict(pvalue: float, hypothesis: str) -> str:
    """What a p-value says of a hypothesis, in words."""
    if pvalue <= LEVEL:
        return (
            f"the data contradict {hypothesis} (p = {pvalue:.3f}: so large a misfit would be rare under it)"
        )
    return f"the data hold no evidence against {hypothesis} (p = {pvalue:.3f})"


if __name__ == "__main__":
    main()
