"""Are trees scattered at random? That depends on the scale at which one looks.

Five maps of trees or cells. If places were taken at random, they would be
independent and uniform on the map. Seedlings grow near the trees from which they come, in clumps much
smaller than the median distance between two of them, which is the usual bandwidth: with it a test sees
nothing. The aggregated test looks at several scales at once. Its own collection serves all kinds of
departures; whoever expects clumps names small bandwidths, before looking at the data.

A test of uniformity finds maps that are more uneven than chance. Where trees compete, or cells have a size,
they are more even than chance, and p is large; `gs.point_pattern_ksd_test` tests models of that.

Run it with `python examples/aggregated_seedlings.py`; it needs no extra.
"""

import numpy as np

import goodstein as gs

MAPS = {
    "redwood": "redwood seedlings",
    "finnish_pines": "young Finnish pines",
    "japanese_pines": "Japanese black pines",
    "new_zealand_trees": "trees in New Zealand",
    "cells": "cells, seen from above",
}
SMALL = [gs.IMQ(gs.Median(scale)) for scale in (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)]
"""From clumps of a sixteenth of the median distance on."""
NULL = gs.MonteCarlo(399)
"""The null distribution from simulated maps, which is exact for maps of any size."""


def main() -> None:
    print("p-values of the hypothesis that places are random:\n")
    print(f"{'':<24}{'n':>5}{'one bandwidth':>17}{'aggregated':>14}{'small scales':>16}")
    clumps, rng = {}, np.random.default_rng(1)
    for name, title in MAPS.items():
        table = gs.datasets.about(name)
        x = rng.permutation(table.load())  # the order of the lists means nothing, and it is not random
        random = gs.families.Uniform(table.domain)
        one = gs.ksd_test(x, random, null=NULL, rng=1)
        several = gs.aggregated_test(x, random, null=NULL, rng=1)
        clumps[name] = gs.aggregated_test(x, random, kernels=SMALL, null=NULL, rng=1)
        values = f"{one.pvalue:>17.3f}{several.pvalue:>14.3f}{clumps[name].pvalue:>16.4f}"
        print(f"{title:<24}{len(x):>5}{values}")

    redwood, pines = clumps["redwood"], clumps["japanese_pines"]
    print(f"\nThe redwood seedlings at small scales:\n\n{redwood}")
    print(
        f"\nThey do not stand at random places (p = {redwood.pvalue:.4f}), and it is at the bandwidth "
        f"{redwood.kernel.bandwidth:.2f} that this shows most, on a map whose side is 1. The Japanese pines "
        f"show nothing of the kind at any scale (p = {pines.pvalue:.3f})."
    )


if __name__ == "__main__":
    main()
