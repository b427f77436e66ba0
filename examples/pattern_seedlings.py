"""Clumps, distances or chance: three classic maps of points, one pattern each.

Redwood seedlings (Strauss 1975, Ripley 1977) stand in clumps, biological cells (Crick & Lawrence 1975)
keep their distance, and Japanese pines (Numata 1961) are the textbook's example of chance. Each is tested
for a Poisson process whose intensity is fitted to it, and again to every simulated pattern.

Run it with `python examples/pattern_seedlings.py`; it needs no extra.
"""

import goodstein as gs


def main() -> None:
    for name in ("redwood", "cells", "japanese_pines"):
        about = gs.datasets.about(name)
        points, window = about.load(), about.domain
        model = gs.families.PoissonProcess.fit(points, window)
        result = gs.aggregated_test(points, model, null=gs.ParametricBootstrap(None, 99), rng=1)
        best = min(result.members, key=lambda member: member.adjusted_pvalue)
        found = (
            f"what fails first is {best.looks_at}"
            if result.pvalue <= 0.05
            else "nothing speaks against chance"
        )
        print(f"{name}: {len(points)} points, Poisson p = {result.pvalue:.3f}; {found}")


if __name__ == "__main__":
    main()
