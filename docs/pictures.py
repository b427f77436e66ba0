"""Draw the pictures of the README: `python docs/pictures.py` in the test environment."""

from pathlib import Path

import matplotlib

import goodstein as gs

IMAGES = Path(__file__).parent / "images"


def main() -> None:
    matplotlib.use("Agg")
    x = gs.datasets.skye_lavas()
    fit = gs.families.Dirichlet.fit
    result = gs.ksd_test(x, fit(x), null=gs.ParametricBootstrap(fit, n_resamples=999), rng=1)
    result.plot().figure.savefig(IMAGES / "skye_dirichlet.png", dpi=120)


if __name__ == "__main__":
    main()
