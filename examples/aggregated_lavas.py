"""Which family describes the Skye lavas, without a kernel or operator of one's choice?

Twenty-three lavas, each split into alkalis, iron and magnesium, and two families of distributions on the
triangle of compositions. Whether a test finds a misfit depends on operator and bandwidth, and to try several
and report the best is not a test. The aggregated test takes a whole collection of them and has one p-value.
Its table shows every member: p, as if it had been the only one, and adjusted p, the probability that any
member of the collection shows so much evidence by chance. The smallest adjusted p is that of the test.

Run it with `python examples/aggregated_lavas.py`; it needs no extra.
"""

import goodstein as gs

LEVEL = 0.05
RESAMPLES = 199
FAMILIES = {"logistic normal": gs.families.LogisticNormal, "Dirichlet": gs.families.Dirichlet}


def main() -> None:
    x = gs.datasets.skye_lavas()
    print(f"{len(x)} lavas from the Isle of Skye: alkalis, iron, magnesium (proportions)")
    for name, family in FAMILIES.items():
        null = gs.ParametricBootstrap(family.fit, RESAMPLES)
        result = gs.aggregated_test(x, family.fit(x), null=null, rng=1)
        print(f"\nH0: the lavas follow some {name} distribution\n")
        print(result)
        print(f"\n{verdict(result, name)}")


def verdict(result, name: str) -> str:
    """What the test says of the family, and which members say it."""
    alone = min(member.pvalue for member in result.members)
    if result.pvalue > LEVEL:
        return (
            f"No evidence against the {name} family, p = {result.pvalue:.3f}. The smallest p of a member, "
            f"{alone:.3f}, must not be reported in its place: it was picked out of {len(result.members)}."
        )
    seen = sum(member.adjusted_pvalue <= LEVEL for member in result.members)
    return (
        f"The lavas contradict the {name} family, p = {result.pvalue:.3f}; with {RESAMPLES} simulations it "
        f"cannot be below {1 / (RESAMPLES + 1):.3f}. Adjusted for all others {seen} of {len(result.members)} "
        "members still see it."
    )


if __name__ == "__main__":
    main()
