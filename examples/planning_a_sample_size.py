"""How many lavas must be collected to see that another island's differ?

Twenty-three lavas of the Isle of Skye, each split into alkalis, iron and magnesium, fit a logistic normal
distribution. Suppose that the lavas of a neighbouring island scatter in the same way, but hold more
alkalis. Before anybody sails there: how likely is a sample of the same size to show that the distribution
of Skye does not hold, how many rocks would show it with a power of 80 %, and how many would be needed by the
best of all tests, which knows in what the islands differ?

Run it with `python examples/planning_a_sample_size.py`; it needs no extra.
"""

from functools import partial

import numpy as np

import goodstein as gs

LEVEL, POWER = 0.05, 0.8
ENRICHED = (1.05, 1.1, 1.15)
"""Alkalis against iron and magnesium, relative to Skye."""


def main() -> None:
    x = gs.datasets.skye_lavas()
    skye = gs.families.LogisticNormal.fit(x)
    print(f"{len(x)} lavas of Skye; H0: those of the other island follow the same logistic normal law.\n")

    cells = [gs.Cell(skye, richer(skye, a), len(x), name=f"alkalis × {a:g}", effect=a) for a in ENRICHED]
    tests = {"IMQ": gs.ksd_test, "IMQ, whitened": partial(gs.ksd_test, kernel=gs.Whitened(gs.IMQ()))}
    study = gs.power_study(cells, tests, trials=60, level=LEVEL, bound_draws=(4000, 1000))
    print(study)

    test = tests[best := study.best(cells[1])]
    plan = gs.sample_size(skye, cells[1].alternative, test, power=POWER, level=LEVEL, trials=150, rng=1)
    print(f"\n{plan}\n")

    sample = cells[1].alternative.sample(plan.n, rng=2)
    result = test(sample, skye, null=gs.MonteCarlo(), rng=1)  # exact, however few they are
    print(
        f"With {len(x)} rocks the test with the {best} kernel sees {cells[1].name} with probability "
        f"{study.power(cells[1], best).value:.2f}; {plan.n} rocks see it with about {POWER:g}. A simulated "
        f"expedition that brings {plan.n} ends with p = {result.pvalue:.3f}."
    )


def richer(law: gs.families.LogisticNormal, factor: float) -> gs.families.LogisticNormal:
    """The same scatter around a composition whose first part is that many times larger, relatively."""
    shift = gs.Simplex(3).basis @ np.array([np.log(factor), 0.0, 0.0])
    return gs.families.LogisticNormal(law.mean + shift, law.cov)


if __name__ == "__main__":
    main()
