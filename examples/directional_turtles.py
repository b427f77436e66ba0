"""Do the headings of turtles and pigeons, and the winds of a mountain pass, follow von Mises' law?

Seventy-six turtles were watched as they set out after laying their eggs, most of them towards the sea and
some straight away from it. Forty-one homing pigeons of a control group vanished from sight in the bearings
given here. The winds of the Col de la Roa were read five times a night; readings of one night depend on each
other, and so do nights in a row, so that one reading of every second night is kept: the test takes rows for
independent. Von Mises' distribution, the normal law of the circle, is fitted to each and tested with the
parametric bootstrap.

Run it with `python examples/directional_turtles.py`; it needs no extra.
"""

import numpy as np

import goodstein as gs

LEVEL = 0.05


def main() -> dict[str, float]:
    turtles = np.random.default_rng(1).permutation(gs.datasets.turtles())  # published in order of size
    control = gs.datasets.pigeons()[gs.datasets.about("pigeons").table()["treatment"] == "c"]
    winds = gs.datasets.winds()[::10]

    pvalues = {}
    for name, angles in [
        ("headings of turtles", turtles),
        ("bearings of pigeons", control),
        ("winds", winds),
    ]:
        fitted = gs.families.VonMises.fit(angles)
        null = gs.ParametricBootstrap(gs.families.VonMises.fit, n_resamples=399)
        result = gs.ksd_test(angles, fitted, null=null, rng=1)
        print(f"H0: {len(angles)} {name} follow a von Mises distribution\n\n{result}\n")
        pvalues[name] = result.pvalue
    for name, p in pvalues.items():
        print(verdict(name, p))
    return pvalues


def verdict(name: str, p: float) -> str:
    """One sentence on a p-value."""
    if p <= LEVEL:
        return (
            f"The {name} are not von Mises distributed (p = {p:.3f}): samples that are would seldom look as "
            "different."
        )
    return (
        f"The {name} hold no evidence against a von Mises distribution (p = {p:.3f}): samples that have one "
        "often look as different."
    )


if __name__ == "__main__":
    main()
