"""The auxiliary functions of the paper: where they put weight, and whether they make a valid test."""

from __future__ import annotations

from typing import Any

import laws
import numpy as np
from samples import triangle
from setting import Row, Setting
from style import COLOURS, canvas, corners
from verdicts import agrees

import goodstein as gs
from goodstein.auditing.conditions import exponents
from goodstein.families import Dirichlet
from goodstein.pipeline.compose import compose

PART = "auxiliaries"
POWERS = (4, 2, 1, 0.5)
SIMPLEX = {
    "geometric mean": gs.GeometricMean(),
    "minimum distance": gs.BoundaryDistance(),
    "product of parts": gs.ProductOfParts(),
}
CASES = ((3, 0.5), (3, 1.0), (3, 1.5), (3, 2.0), (10, 0.5), (20, 0.5))
"""Parts, and their concentration."""
RADII = (np.arange(4000) + 0.5) / 4000


def weight(p: float, *, uniform: bool = False) -> np.ndarray:
    """The density at RADII of ‖x‖ under g⁽ᵖ⁾·q, q the Gaussian null or the uniform law in R³."""
    q = RADII**2 * (1.0 if uniform else np.exp(-0.5 * RADII**2))
    found = q * (1.0 - RADII**p)
    return found / found.mean()


def run(setting: Setting) -> None:
    rows = [_ball_row(p) for p in POWERS]
    for name, auxiliary in SIMPLEX.items():
        for d, alpha in setting.choose(CASES, CASES[:1]):
            row = {"domain": "simplex", "g": name, "d": d, "alpha": alpha}
            rows.append(row | _audited(Dirichlet([alpha] * d), auxiliary))
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


def _audited(law: Any, auxiliary: Any) -> Row:
    """What gs.audit says, with the worst exponents at the boundary."""
    operator = gs.Standardised(auxiliary)
    problem = compose(None, law, None, operator, without_data=True)
    model, domain = problem.model, problem.domain
    faces = exponents(model, domain, operator.boundary_weight, None, np.random.default_rng(0))
    worst = min(faces, key=lambda face: min(face.density + face.weight, 2 * face.weight + face.density - 1))
    found = {name: getattr(worst, name) for name in ("density", "weight", "identity", "variance")}
    return found | {"valid": gs.audit(law, operator=operator, rng=0).valid}


# What is drawn and said


def draw(setting: Setting) -> None:
    rows = setting.read(PART)
    ball, half = rows.by("p"), rows.where(d=3, alpha=0.5).by("g")
    with canvas(setting, f"{PART}_ball", nrows=1, ncols=2, figsize=(9.0, 3.6)) as (_, axes):
        for p, colour in zip(POWERS, COLOURS, strict=False):
            mean = ball[p]["mean_radius"]
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
            exponent, said = half[name]["weight"], VALID[half[name]["valid"]]
            ax.set_title(f"{name} ~ $\\delta^{{{exponent:.2g}}}$\n{said} for α = ½", pad=10)
            corners(ax, "x₁", "x₂", "x₃")
            ax.tick_params(labelsize=7)
        fig.colorbar(shades, ax=axes, label="g / largest g", shrink=0.7, pad=0.05)


VALID = ("not valid", "valid")


def values(setting: Setting) -> dict[str, Any]:
    rows = setting.read(PART)
    for row in rows:
        row |= {"audit": VALID[row["valid"]], "holds": ("fails", "holds")[row["identity"]]}
        row |= {"finite": ("no", "yes")[row["variance"]], "flux": row["density"] + row["weight"]}
        row["then"] = "which vanishes" if row["identity"] else GROWS
    ball, half = rows.where(domain="ball").sorted("p"), rows.where(d=3, alpha=0.5)
    radii = ball.all("mean_radius")
    return {
        "ball": rows.where(domain="ball"),
        "simplex": rows.where(domain="simplex"),
        "least": ball[0],
        "largest": ball[-1],
        "refused": ", ".join(half.where(valid=0).all("g")) or "none",
        "half": half.by("g"),
        "slopes": ", ".join(sorted({f"δ^{row['weight']:.2f}" for row in ball})),
        "inwards": agrees(radii == sorted(radii, reverse=True)),
        "distance": agrees(all(abs(row["weight"] - row["p"]) < 0.05 for row in ball)),
        "verdict": {row["g"]: agrees(row["valid"]) for row in half},
    }


GROWS = "which grows, although g itself vanishes as the paper asks: Stein's identity fails"
