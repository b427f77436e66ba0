"""Are the sizes and textures of cell nuclei normally distributed?

Cell nuclei of 569 breast tumours, 357 benign and 212 malignant (Street, Wolberg and Mangasarian 1993):
radius, texture and smoothness, each of the worst nuclei of a tumour, as logarithms. A normal distribution,
and a mixture of one for each diagnosis, are fitted to one half of the tumours and tested on the other half
by the finite-set test, whose time grows linearly with the data. It also says where it looked: all
locations have moved to the place where the training rows disagree most with the model.

The three columns were chosen after a look at others, so this shows how the test is used and is no finding
about tumours.

Run it with `python examples/fssd_nuclei.py`; it needs `pip install "goodstein[sklearn]"`, for the data.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer

import goodstein as gs

COLUMNS = ("radius", "texture", "smoothness")


def main() -> None:
    y, diagnosis = logarithms()
    order = np.random.default_rng(1).permutation(len(y))
    fit, test = order[: len(y) // 2], order[len(y) // 2 :]
    names, counts = np.unique(diagnosis[fit], return_counts=True)
    normal = gs.families.Normal.fit(y[fit])
    parts = [gs.families.Normal.fit(y[fit][diagnosis[fit] == name]) for name in names]
    mixture = gs.families.GaussianMixture(
        counts / counts.sum(), np.array([part.mean for part in parts]), np.array([part.cov for part in parts])
    )
    print(f"{len(fit)} tumours to fit to, {len(test)} to test on; logarithms of {', '.join(COLUMNS)}")

    pvalues = {}
    for name, model in [("one normal distribution", normal), (f"a mixture of {len(names)}", mixture)]:
        result = gs.fssd_test(y[test], model, kernel=gs.Whitened(gs.Gaussian()), train_fraction=0.3, rng=1)
        print(f"\nH0: the logarithms follow {name}\n")
        print(result)
        print(f"  It looked at nuclei like this: {nucleus(result.operator.locations[0])}")
        pvalues[name] = result.pvalue

    first, second = pvalues.items()
    print(
        f"\nIf the logarithms followed {first[0]}, a discrepancy as large as the one found would have "
        f"probability p = {first[1]:.4f}; for {second[0]}, one for each diagnosis, it is "
        f"p = {second[1]:.4f}."
    )


def logarithms() -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of the measurements, (569, 3), and the diagnosis of each tumour."""
    table = load_breast_cancer()
    columns = [list(table.feature_names).index(f"worst {name}") for name in COLUMNS]
    return np.log(table.data[:, columns]), table.target_names[table.target]


def nucleus(location: np.ndarray) -> str:
    """The measurements whose logarithms these are."""
    return ", ".join(f"{name} {value:.3g}" for name, value in zip(COLUMNS, np.exp(location), strict=True))


if __name__ == "__main__":
    main()
