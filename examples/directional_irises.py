"""Does the shape of Fisher's irises follow Fisher's law?

Three lengths of a flower, divided by their norm, are a direction in space: its shape, without its size.
Fisher's distribution, von Mises-Fisher on the sphere, is the first thing to try for directions; it has one
mode and is round. Kent's distribution lets it be oval. Both are fitted to fifty flowers of Iris versicolor
and tested, and every simulated sample of the parametric bootstrap is fitted anew.

The species and the three lengths were chosen after a look at others, so this shows how the tests are used
and is no finding about flowers.

Run it with `python examples/directional_irises.py`; it needs `pip install "goodstein[sklearn]"`, for the
data.
"""

import numpy as np
from sklearn.datasets import load_iris

import goodstein as gs

LEVEL = 0.05
LENGTHS = ("sepal length (cm)", "petal length (cm)", "petal width (cm)")


def directions() -> np.ndarray:
    """Unit vectors of the three lengths, (50, 3)."""
    iris = load_iris()
    columns = [iris.feature_names.index(name) for name in LENGTHS]
    x = iris.data[iris.target == list(iris.target_names).index("versicolor")][:, columns]
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def main() -> dict[str, float]:
    x = directions()
    length = np.linalg.norm(x.mean(axis=0))
    print(f"{len(x)} shapes of Iris versicolor, mean resultant length {length:.3f}")

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
            f"At the {LEVEL:.0%} level the shapes contradict every law tried here, {' and '.join(refuted)}: "
            "if one of these were true, directions that differ from it as much would be that rare."
        )
    ending = f", and hold no evidence against {' and '.join(left)}"
    return f"At the {LEVEL:.0%} level the shapes contradict {' and '.join(refuted) or 'nothing'}{ending}."


if __name__ == "__main__":
    main()
