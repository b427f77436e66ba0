"""Do the magnetic directions of ancient lavas follow Fisher's law?

Specimens of Precambrian volcanic rock carry the direction of the earth's field at the time when they
cooled, as declination and inclination. Fisher's distribution, von Mises-Fisher on the sphere, is what
palaeomagnetists assume; it has one mode and is round. Kent's distribution lets it be oval. Both are fitted
to the data and tested, and every simulated sample of the parametric bootstrap is fitted anew.

    python examples/directional_magnetic.py FOLDER
"""

from pathlib import Path

import numpy as np

import goodstein as gs
from data_folder import data_folder

LEVEL = 0.05


def directions(path: Path) -> np.ndarray:
    """Unit vectors (north, east, down) of declination and inclination in degrees."""
    declination, inclination = np.radians(np.loadtxt(path, delimiter=",", skiprows=1)).T
    return np.column_stack(
        [
            np.cos(inclination) * np.cos(declination),
            np.cos(inclination) * np.sin(declination),
            np.sin(inclination),
        ]
    )


def main(data: Path) -> dict[str, float]:
    x = directions(data / "directional" / "magnetic_remanence_B6.csv")
    length = np.linalg.norm(x.mean(axis=0))
    print(f"{len(x)} directions of magnetic remanence, mean resultant length {length:.3f}")

    pvalues = {}
    for name, family in [
        ("uniform", None),
        ("von Mises-Fisher", gs.families.VonMisesFisher),
        ("Kent", gs.families.Kent),
    ]:
        if family is None:
            result = gs.ksd_test(x, gs.families.UniformOnSphere(3), rng=1)
        else:
            null = gs.ParametricBootstrap(family.fit, n_resamples=399)
            result = gs.ksd_test(x, family.fit(x), null=null, rng=1)
        print(f"\nH0: the directions are {name}\n\n{result}")
        pvalues[name] = result.pvalue

    print()
    print(verdict(pvalues))
    return pvalues


def verdict(pvalues: dict[str, float]) -> str:
    """Say in one sentence what the p-values mean."""
    refuted = [f"{name} (p = {p:.3f})" for name, p in pvalues.items() if p <= LEVEL]
    left = [f"{name} (p = {p:.3f})" for name, p in pvalues.items() if p > LEVEL]
    if not left:
        return (
            f"At the {LEVEL:.0%} level the rocks contradict every law tried here, {' and '.join(refuted)}: "
            "if one of these were true, directions that differ from it as much would be that rare."
        )
    ending = f", and hold no evidence against {' and '.join(left)}"
    return f"At the {LEVEL:.0%} level the rocks contradict {' and '.join(refuted) or 'nothing'}{ending}."


if __name__ == "__main__":
    main(data_folder("directional/magnetic_remanence_B6.csv"))
