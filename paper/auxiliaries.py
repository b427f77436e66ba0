"""The auxiliary functions of the paper: where they put weight, and whether they make a valid test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import laws
import numpy as np
from claims import Finding, listed
from setting import Row, Setting
from verdicts import DIFFERS, REPRODUCED
from writing import figure, table

import goodstein as gs
from goodstein.auditing.boundary import exponents
from goodstein.families import Dirichlet
from goodstein.pipeline.compose import compose_model

PART = "auxiliaries"
TITLE = "The auxiliary functions"
POWERS = (4, 2, 1, 0.5)
SIMPLEX = {
    "geometric mean": gs.GeometricMean(),
    "minimum distance": gs.BoundaryDistance(),
    "product of parts": gs.ProductOfParts(),
}
CONCENTRATIONS = (0.5, 1.0, 1.5, 2.0)
DIMENSIONS = (3, 10, 20)
RADII = (np.arange(4000) + 0.5) / 4000


def weight(p: float, *, uniform: bool = False) -> np.ndarray:
    """The density at RADII of ‖x‖ under g⁽ᵖ⁾·q, q the Gaussian null or the uniform law in R³."""
    q = RADII**2 * (1.0 if uniform else np.exp(-0.5 * RADII**2))
    found = q * (1.0 - RADII**p)
    return found / found.mean()


def run(setting: Setting) -> None:
    rows = [_ball_row(p) for p in POWERS]
    for name, auxiliary in SIMPLEX.items():
        cases = [(3, alpha) for alpha in setting.choose(CONCENTRATIONS, CONCENTRATIONS[:1])]
        cases += [(d, 0.5) for d in setting.choose(DIMENSIONS[1:], ())]
        rows += [_simplex_row(name, auxiliary, d, alpha) for d, alpha in cases]
    setting.write(PART, rows)


def _ball_row(p: float) -> Row:
    gaussian, uniform = weight(p), weight(p, uniform=True)
    return {
        "domain": "ball",
        "g": f"1 − r^{p:g}",
        "p": p,
        **_audited(laws.gaussian(), gs.BallPower(p)),
        "mean_radius": float((gaussian * RADII).mean()),
        "mean_radius_uniform": float((uniform * RADII).mean()),
        "inner_half": float(gaussian[RADII < 0.5].sum() / gaussian.sum()),
    }


def _simplex_row(name: str, auxiliary: Any, d: int, alpha: float) -> Row:
    return {
        "domain": "simplex",
        "g": name,
        "d": d,
        "alpha": alpha,
        **_audited(Dirichlet([alpha] * d), auxiliary),
    }


def _audited(law: Any, auxiliary: Any) -> Row:
    """What gs.audit says, with the worst exponents at the boundary."""
    operator = gs.Standardised(auxiliary)
    model, domain, _ = compose_model(law, None, operator)
    faces = exponents(model, domain, operator, None, np.random.default_rng(0))
    worst = min(faces, key=lambda face: min(face.density + face.weight, 2 * face.weight + face.density - 1))
    return {
        "density": worst.density,
        "weight": worst.weight,
        "identity": worst.identity,
        "variance": worst.variance,
        "valid": gs.audit(law, operator=operator, rng=0).valid,
    }


# What is drawn and said


def draw(setting: Setting) -> None:
    import mpltern  # noqa: F401 - makes the ternary projection known
    from samples import triangle
    from style import COLOURS, canvas

    rows = setting.read(PART)
    with canvas(setting, f"{PART}_ball", nrows=1, ncols=2, figsize=(9.0, 3.6)) as (_, axes):
        for p, colour in zip(POWERS, COLOURS, strict=False):
            mean = next(row["mean_radius"] for row in rows if row["p"] == p)
            axes[0].plot(RADII, 1.0 - RADII**p, color=colour, label=f"p = {p:g}")
            axes[1].plot(RADII, weight(p), color=colour, label=f"p = {p:g}, mean {mean:.3f}")
            axes[1].vlines(mean, 0.0, 1.95, color=colour, lw=0.8, ls=":")
        axes[0].set(title="g(r) = 1 − rᵖ", xlabel="r = ‖x‖", ylabel="g", xlim=(0, 1), ylim=(0, 1.02))
        axes[1].set(title="Weight: density of ‖x‖ under g·q", xlabel="r", xlim=(0, 1), ylim=(0, 2.6))
        axes[0].legend(loc="lower left")
        axes[1].legend(loc="upper left", ncols=2)
    grid = triangle(100)
    options = {"nrows": 1, "ncols": 3, "figsize": (10.0, 3.6), "subplot_kw": {"projection": "ternary"}}
    with canvas(setting, f"{PART}_simplex", **options) as (fig, axes):
        for ax, (name, auxiliary) in zip(axes, SIMPLEX.items(), strict=True):
            g = auxiliary.value(grid, gs.Simplex(3))
            shades = ax.tricontourf(*grid.T, g / g.max(), levels=np.linspace(0, 1 + 1e-9, 11), cmap="viridis")
            row = next(row for row in rows if row["g"] == name and row["d"] == 3 and row["alpha"] == 0.5)
            ax.set_title(f"{name} ~ $\\delta^{{{row['weight']:.2g}}}$\n{_said(row)} for α = ½", pad=10)
            for label, text in zip(
                (ax.set_tlabel, ax.set_llabel, ax.set_rlabel), ("x₁", "x₂", "x₃"), strict=True
            ):
                label(text)
            ax.tick_params(labelsize=7)
        fig.colorbar(shades, ax=axes, label="g / largest g", shrink=0.7, pad=0.05)


def report(setting: Setting) -> str:
    rows = setting.read(PART)
    ball = [row for row in rows if row["domain"] == "ball"]
    simplex = [row for row in rows if row["domain"] == "simplex"]
    return "\n\n".join(
        [
            f"## {TITLE}",
            "The paper's Figure 2 (d) shows g⁽ᵖ⁾(r) = 1 − rᵖ on the ball; on the simplex it names the "
            "geometric mean g⁽¹⁾ and the minimum distance g⁽²⁾. An operator weighs its data by g. "
            "Near a face at distance δ let q ~ δ^(α−1) and g ~ δ^a: Stein's identity needs a > 1 − α, "
            "a finite variance a > 1 − α/2. The exponents and the verdicts are those of `gs.audit`, which "
            "asks for both.",
            figure(
                f"{PART}_ball",
                "The auxiliary functions on the ball, and the density of the radius if N(0, I) in the "
                "ball of R³ is weighted by them (dotted: its mean).",
            ),
            table(
                [
                    "ball of R³, N(0, I)",
                    "a",
                    "mean radius under g·q",
                    "… with uniform q",
                    "weight in r < ½",
                    "audit",
                ],
                [
                    [
                        row["g"],
                        f"{row['weight']:.2f}",
                        f"{row['mean_radius']:.3f}",
                        f"{row['mean_radius_uniform']:.3f}",
                        f"{100 * row['inner_half']:.1f} %",
                        _said(row),
                    ]
                    for row in ball
                ],
            ),
            figure(
                f"{PART}_simplex",
                "The auxiliary functions on the simplex of three parts, each divided by its maximum.",
            ),
            table(
                ["Dirichlet(α, …, α)", "d", "α", "q ~ δ^", "g ~ δ^", "identity", "finite variance", "audit"],
                [
                    [
                        row["g"],
                        row["d"],
                        f"{row['alpha']:g}",
                        f"{row['density']:.2f}".replace("-", "−"),
                        f"{row['weight']:.2f}",
                        "holds" if row["identity"] else "fails",
                        "yes" if row["variance"] else "no",
                        _said(row),
                    ]
                    for row in simplex
                ],
            ),
            listed(PART, findings(rows)),
        ]
    )


def summary(setting: Setting) -> str:
    rows = setting.read(PART)
    ball = {row["p"]: row for row in rows if row["domain"] == "ball"}
    wrong = [row["g"] for row in rows if row["d"] == 3 and row["alpha"] == 0.5 and not row["valid"]]
    return (
        f"the mean radius under g·q is {ball[0.5]['mean_radius']:.2f} at p = ½ and "
        f"{ball[4]['mean_radius']:.2f} at p = 4: a larger p moves weight outwards, not to the centre. "
        f"For Dirichlet(½, ½, ½) the audit refuses: {', '.join(wrong) or 'none'}."
    )


def findings(rows: Sequence[Row]) -> dict[tuple[str, str], Finding]:
    """Verdicts on the claims of published.csv."""
    ball = sorted((row for row in rows if row["domain"] == "ball"), key=lambda row: row["p"])
    radius = [row["mean_radius"] for row in ball]
    inwards = radius == sorted(radius, reverse=True)
    powers = all(abs(row["weight"] - row["p"]) < 0.05 for row in ball)
    half = {
        row["g"]: row for row in rows if row["domain"] == "simplex" and row["d"] == 3 and row["alpha"] == 0.5
    }
    mean, minimum = half["geometric mean"], half["minimum distance"]
    last = ball[-1]
    return {
        ("ball", "weight"): Finding(
            REPRODUCED if inwards else DIFFERS,
            f"The mean radius under g·q is {radius[0]:.3f} at p = {ball[0]['p']:g} and "
            f"{radius[-1]:.3f} at p = {last['p']:g}; the share of the weight in r < ½ goes from "
            f"{100 * ball[0]['inner_half']:.0f} to {100 * last['inner_half']:.0f} %. With a large p g "
            "is nearly constant up to the boundary.",
        ),
        ("ball", "distance"): Finding(
            REPRODUCED if powers else DIFFERS,
            "At distance δ from the boundary every g⁽ᵖ⁾ vanishes like "
            + ", ".join(sorted({f"δ^{row['weight']:.2f}" for row in ball}))
            + ": 1 − (1 − δ)ᵖ ≈ pδ is linear, whatever p.",
        ),
        ("simplex", "geometric mean"): _simplex_finding(mean),
        ("simplex", "minimum distance"): _simplex_finding(
            minimum,
            " The printed formula has, in coordinate i, the distance to the face xᵢ = 0 alone; read so, the "
            "test is not valid (*per face* in the power table).",
        ),
    }


def _simplex_finding(row: Row, more: str = "") -> Finding:
    flux = f"{row['density'] + row['weight']:.2f}".replace("-", "−")
    then = (
        "which vanishes"
        if row["identity"]
        else "which grows, although g itself vanishes as the paper asks: Stein's identity fails"
    )
    return Finding(
        REPRODUCED if row["valid"] else DIFFERS,
        f"For the paper's own null, Dirichlet(½, ½, ½), q·g ~ δ^{flux} at a face, {then}.{more}",
    )


def _said(row: Row) -> str:
    return "valid" if row["valid"] else "not valid"
