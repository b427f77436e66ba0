"""How many factors make the form of a cell nucleus? Latent components, tested and compared.

Eight measurements of the cell nuclei of 357 benign breast tumours (Street, Wolberg and Mangasarian 1993).
Probabilistic principal components explain their logarithms by a few latent factors and noise of equal
variance. The model is fitted to half of the tumours, taken at random, and tested on the other half, so
that its parameters are fixed. The test sees the latent factors only through draws from their posterior, as
it would in a model without a closed form.

Then two numbers of factors are compared: the relative test asks which model is closer to the held-out
tumours, whether or not either of them is true.

The two numbers were chosen after a look at others, so this shows how the tests are used and is no finding
about tumours.

Run it with `python examples/latent_nuclei.py`; it needs `pip install "goodstein[sklearn]"`, for the data.
"""

import math

import numpy as np
from sklearn.datasets import load_breast_cancer

import goodstein as gs

COLUMNS = (
    "radius",
    "texture",
    "perimeter",
    "area",
    "smoothness",
    "compactness",
    "symmetry",
    "fractal dimension",
)
FEW, MANY = 1, 3
LEVEL = 0.05


def read() -> np.ndarray:
    """Logarithms of the mean of each measurement, (tumours, measurements)."""
    table = load_breast_cancer()
    columns = [list(table.feature_names).index(f"mean {name}") for name in COLUMNS]
    benign = table.target == list(table.target_names).index("benign")
    return np.log(table.data[benign][:, columns])


def main() -> None:
    x = read()
    order = np.random.default_rng(1).permutation(len(x))
    fitted, held_out = x[order[::2]], x[order[1::2]]
    # Units of the half that is fitted, so that the noise may have one variance.
    centre, scale = fitted.mean(axis=0), fitted.std(axis=0)
    fitted, held_out = (fitted - centre) / scale, (held_out - centre) / scale
    print(
        f"{len(x)} tumours, {len(COLUMNS)} measurements; fitted to {len(fitted)}, tested on {len(held_out)}"
    )

    models, pvalues = {}, {}
    for factors in (FEW, MANY):
        models[factors] = gs.families.ProbabilisticPCA.fit(fitted, factors).latent()
        result = gs.ksd_test(held_out, models[factors], operator=gs.Latent(draws=200), rng=1)
        pvalues[factors] = result.pvalue
        print(f"\nH0: {number(factors)}\n\n{result}")
    relative = gs.relative_ksd_test(held_out, models[FEW], models[MANY], operator=gs.Latent(draws=200), rng=1)
    print(f"\nH0: the model with {number(FEW)}, P, is at least as close as that with {MANY}, Q\n\n{relative}")
    print(f"\n{verdict(pvalues, relative.pvalue)}")
    print("(The numbers of factors were chosen after a look at the data: this is an illustration.)")


def number(factors: int) -> str:
    return f"{factors} latent factor{'s' if factors > 1 else ''}"


def verdict(pvalues: dict[int, float], relative: float) -> str:
    """Say in one sentence what the three p-values mean."""
    parts = [
        f"they {'contradict' if p <= LEVEL else 'are compatible with'} {number(factors)} (p = {p:.3f})"
        for factors, p in pvalues.items()
    ]
    if math.isnan(relative):
        comparison = "the two models are too alike to be compared"
    elif relative <= LEVEL:
        comparison = f"the model with {MANY} is closer to them than that with {FEW} (p = {relative:.2g})"
    else:
        comparison = f"nothing shows that {MANY} are closer to them than {FEW} (p = {relative:.2g})"
    return f"The held-out tumours, at the {LEVEL:.0%} level: {', '.join(parts)}, and {comparison}."


if __name__ == "__main__":
    main()
