"""Are the cells of bone scattered at random?

Forty bricks of bone, each with the positions of its osteocyte lacunae, from four samples of one bone
(Baddeley, Howard, Boyde & Reid 1987). The bricks differ in depth, from 30 to 110 microns, so only the
uppermost 30 microns are used, which all of them have: forty patterns in one window. Twelve points were
recorded at x = 81.82 microns although the bricks are said to be 81 wide, so the window is 81.82 wide.

The intensity of the Poisson process is that of the same patterns, so the parametric bootstrap estimates
it anew for every simulated sample. Bricks of one sample of bone need not be independent; the test takes
them to be, and notes that those next to each other in the list are alike.

Run it with `python examples/patterns_osteocytes.py`; it needs no extra.
"""

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import pdist

import goodstein as gs

NEAR = 16.0
WINDOW = gs.datasets.about("osteocytes").domain


def fit(patterns: Sequence[np.ndarray]) -> gs.families.PoissonProcess:
    """The Poisson process with the mean number of points."""
    return gs.families.PoissonProcess.fit(patterns, WINDOW)


def close_pairs(patterns: Sequence[np.ndarray]) -> int:
    """Pairs of points in the same pattern that are near each other."""
    return sum(int((pdist(pattern) < NEAR).sum()) for pattern in patterns if len(pattern) > 1)


def main() -> None:
    patterns = gs.datasets.osteocytes()
    counts = np.array([len(pattern) for pattern in patterns])
    print(f"{len(patterns)} bricks of bone, {counts.min()} to {counts.max()} osteocytes each")
    print(f"mean {counts.mean():.2f}, variance {counts.var(ddof=1):.2f} (equal for a Poisson process)")

    model = fit(patterns)
    expected = close_pairs(model.sample(10 * len(patterns), rng=1)) / 10
    print(f"pairs less than {NEAR:g} microns apart: {close_pairs(patterns)}; {expected:.0f} if Poisson")

    null = gs.ParametricBootstrap(fit, n_resamples=99)
    result = gs.point_pattern_ksd_test(patterns, model, null=null, rng=1)
    print("\nH0: the osteocytes are a Poisson process of constant intensity, the same in all bricks\n")
    print(result)
    print()
    print(verdict(result.pvalue))


def verdict(p: float) -> str:
    """Say in one sentence what the p-value means, where it means something."""
    if p <= 0.05:
        found = "contradicts osteocytes that are scattered independently and evenly"
    else:
        found = "is what osteocytes scattered independently and evenly would look like"
    return f"If bricks of one sample of bone are independent, the pattern of the cells {found} (p = {p:.3f})."


if __name__ == "__main__":
    main()
