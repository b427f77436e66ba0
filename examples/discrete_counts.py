"""Are these counts Poisson?

Deaths by horse kick in ten corps of the Prussian army in twenty years, the classic example of Poisson
counts (Bortkiewicz 1898), and accidents of 647 women in a munitions factory in five weeks, the classic
example of counts that are not (Greenwood and Yule 1920): some people meet with more accidents than others.
The Poisson model has the mean of the counts, and the test takes account of that. Counts need no upper limit.

Run it with `python examples/discrete_counts.py`; it needs no extra.
"""

import numpy as np

import goodstein as gs

LEVEL = 0.05
TABLES = {"deaths by horse kick": [109, 65, 22, 3, 1], "accidents of workers": [447, 132, 42, 21, 3, 2]}
"""How often 0, 1, 2, … were counted."""


def main() -> None:
    for name, frequencies in TABLES.items():
        counts = np.repeat(np.arange(float(len(frequencies))), frequencies)
        x = np.random.default_rng(1).permutation(counts)  # a table of frequencies tells no order
        print(
            f"\n{len(x)} counts, {name}: mean {x.mean():.2f}, variance {x.var():.2f}, largest {x.max():.0f}\n"
        )
        result = gs.ksd_test({name: x}, gs.families.Poisson.fit(x), rng=1)
        print(f"{result}\n\n{verdict(name, result.pvalue)}")
        if result.pvalue <= LEVEL:
            print(f"\n{result.explain(rng=1)}")
            other = gs.ksd_test(x, gs.families.NegativeBinomial.fit(x), rng=1)
            print(f"\nNegative binomial counts, whose rates vary: p = {other.pvalue:.3f}.")


def verdict(name: str, pvalue: float) -> str:
    """Say in one sentence what the p-value means."""
    if pvalue <= LEVEL:
        return f"At the {LEVEL:.0%} level the {name} are not Poisson counts with one mean (p = {pvalue:.3f})."
    return f"At the {LEVEL:.0%} level nothing speaks against Poisson counts of {name} (p = {pvalue:.3f})."


if __name__ == "__main__":
    main()
