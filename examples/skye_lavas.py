"""Which family describes the composition of the Skye lavas?

Twenty-three lavas, each split into alkalis, iron and magnesium. Two families of distributions on the
triangle of compositions are fitted to them and tested. The parameters come from the same data, so every
simulated sample of the parametric bootstrap is fitted anew: that is what keeps the level.

Run it with `make demo` or `python examples/skye_lavas.py`; it needs no extra.
"""

import goodstein as gs

LEVEL = 0.05


def main() -> None:
    x = gs.datasets.skye_lavas()
    print(f"{len(x)} lavas from the Isle of Skye: alkalis, iron, magnesium (proportions)")
    print("mean composition:", ", ".join(f"{share:.3f}" for share in x.mean(axis=0)))

    pvalues = {}
    for name, family in [
        ("logistic normal", gs.families.LogisticNormal),
        ("Dirichlet", gs.families.Dirichlet),
    ]:
        null = gs.ParametricBootstrap(family.fit, n_resamples=999)
        result = gs.ksd_test(x, family.fit(x), null=null, rng=1)
        print(f"\nH0: the lavas follow a {name} distribution\n")
        print(result)
        pvalues[name] = result.pvalue

    print()
    print(verdict(pvalues))


def verdict(pvalues: dict[str, float]) -> str:
    """Say in one sentence which families the data speak against."""
    refuted = [f"the {name} family (p = {p:.3f})" for name, p in pvalues.items() if p <= LEVEL]
    open_ = [f"the {name} family (p = {p:.3f})" for name, p in pvalues.items() if p > LEVEL]
    parts = []
    if refuted:
        parts.append("the lavas contradict " + " and ".join(refuted))
    if open_:
        parts.append("they hold no evidence against " + " and ".join(open_))
    sentence = ", while ".join(parts) if refuted else parts[0].replace("they", "the lavas", 1)
    return f"At the {LEVEL:.0%} level {sentence}."


if __name__ == "__main__":
    main()
