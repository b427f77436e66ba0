"""Do the headings of turtles and pigeons, and the winds of a mountain pass, follow von Mises' law?

Seventy-six turtles were watched as they set out after laying their eggs, most of them towards the sea and
some straight away from it. Forty-one homing pigeons of a control group vanished from sight in the bearings
given here. The winds of the Col de la Roa were read five times a night; readings of one
night depend on each other, so that only every fifth is kept, which the test needs because it takes rows for
independent. Von Mises' distribution, the normal law of the circle, is fitted to each and tested with the
parametric bootstrap.

    python examples/directional_turtles.py FOLDER
"""

from pathlib import Path

import numpy as np

import goodstein as gs
from data_folder import data_folder

LEVEL = 0.05


def main(data: Path) -> dict[str, float]:
    folder = data / "directional"
    turtles = np.radians(np.loadtxt(folder / "turtles_B3.csv", skiprows=1))
    pigeons = np.genfromtxt(folder / "pigeons.csv", delimiter=",", skip_header=1, dtype=None, encoding=None)
    control = np.radians([float(bearing) for treatment, bearing in pigeons if treatment == "c"])
    winds = np.loadtxt(folder / "wind_col_de_la_roa.csv", skiprows=1)[::5]

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
    main(
        data_folder(
            "directional/turtles_B3.csv", "directional/pigeons.csv", "directional/wind_col_de_la_roa.csv"
        )
    )
