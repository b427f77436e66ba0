"""The two sample distributions of the paper: a mixture in the disc and a Dirichlet law on the simplex."""

from __future__ import annotations

from typing import Any

import laws
import numpy as np
from setting import Setting
from style import canvas, corners
from verdicts import agrees

import goodstein as gs
from goodstein.auditing.conditions import exponents
from goodstein.families import Dirichlet
from goodstein.pipeline.compose import compose

PART = "samples"
ALPHA = (0.2, 0.5, 0.5)
NEAR = 0.01
SHOWN = 600
"""Draws in the figure."""
EDGE = "least density on the boundary / at the centre"
MIXTURE, DIRICHLET = "mixture in the disc", "Dirichlet(.2, .5, .5)"


def run(setting: Setting) -> None:
    draws = setting.choose(200_000, 20_000)
    rows = [(MIXTURE, *one) for one in _mixture(draws)] + [(DIRICHLET, *one) for one in _dirichlet(draws)]
    fields = ("law", "quantity", "measured", "exact", "draws")
    setting.write(PART, [dict(zip(fields, row, strict=True)) for row in rows])


def _mixture(draws: int) -> list[tuple[str, float, float, int]]:
    law = laws.mixture(d=2)
    near = law.domain.boundary_distance(law.sample(draws, rng=0)) < NEAR
    # Over the radius and the angle; the density of the mixture without truncation.
    r, angle = np.meshgrid(_middles(1000), np.pi * _middles(200), indexing="ij")
    points = np.column_stack([(r * np.cos(angle)).ravel(), (r * np.sin(angle)).ravel()])
    weight = (np.exp(law.logpdf(points)).reshape(r.shape) * r).sum(axis=1)
    mass = 2.0 * np.pi * weight.sum() / r.size
    share = weight[_middles(1000) > 1.0 - NEAR].sum() / weight.sum()
    angle = 2.0 * np.pi * _middles(4000)
    edge = law.model.logpdf(np.column_stack([np.cos(angle), np.sin(angle)]))
    mean, centre = law.logpdf([[1.0, 0.0], [0.0, 0.0]])
    accepted = law.acceptance_rate(draws, rng=1)
    return [
        ("draws of the mixture that fall into the disc", accepted, mass, draws),
        ("draws within .01 of the boundary", float(near.mean()), share, draws),
        (EDGE, float(np.exp(edge.min() - centre)), np.exp(-0.5), 0),
        ("density at a mean / at the centre", float(np.exp(mean - centre)), np.cosh(1) / np.exp(0.5), 0),
    ]


def _dirichlet(draws: int) -> list[tuple[str, float, float | None, int]]:
    law = Dirichlet(ALPHA)
    x = law.sample(draws, rng=0)
    near = law.domain.boundary_distance(x) < NEAR
    problem = compose(None, law, operator=gs.Standardised(gs.ProductOfParts()), without_data=True)
    model, domain, operator = problem.model, problem.domain, problem.operator
    faces = exponents(model, domain, operator.boundary_weight, None, np.random.default_rng(0))
    return [
        ("draws within .01 of the boundary", float(near.mean()), None, draws),
        # x₁ follows Beta(.2, 1), whose distribution function is x^.2.
        ("draws with x₁ < .01", float((x[:, 0] < NEAR).mean()), NEAR ** ALPHA[0], draws),
        *(
            (f"exponent of the density at x_{i} = 0", face.density, alpha - 1.0, 0)
            for i, (face, alpha) in enumerate(zip(faces, ALPHA, strict=True), 1)
        ),
    ]


def _middles(count: int) -> np.ndarray:
    return (np.arange(count) + 0.5) / count


# What is drawn and said


def draw(setting: Setting) -> None:
    with canvas(setting, PART, nrows=1, ncols=2, figsize=(9.0, 4.2)) as (fig, axes):
        _draw_disc(fig, axes[0])
        axes[1].remove()
        ax = fig.add_subplot(1, 2, 2, projection="ternary")
        law, grid = Dirichlet(ALPHA), triangle(120)
        shades = ax.tricontourf(*grid.T, law.logpdf(grid) / np.log(10.0), levels=12, cmap="Blues")
        ax.plot(*law.sample(SHOWN, rng=0).T, ".", color="black", ms=2.0, alpha=0.6)
        corners(ax, "x₁", "x₂", "x₃")
        ax.set_title("Dirichlet(.2, .5, .5) on the simplex", pad=10)
        fig.colorbar(shades, ax=ax, label="log₁₀ density", shrink=0.8, pad=0.12)


def _draw_disc(fig: Any, ax: Any) -> None:
    law = laws.mixture(d=2)
    angle, r = np.linspace(0.0, 2.0 * np.pi, 241), np.linspace(0.0, 1.0, 81)
    x, y = r[:, None] * np.cos(angle), r[:, None] * np.sin(angle)
    points = np.column_stack([x.ravel(), y.ravel()])
    density = np.exp(law.model.logpdf(points)).reshape(x.shape) / law.acceptance_rate(rng=1)
    shades = ax.contourf(x, y, density, levels=12, cmap="Blues", vmin=0.2, vmax=0.6)
    ax.plot(*law.sample(SHOWN, rng=0).T, ".", color="black", ms=2.0, alpha=0.6)
    ax.plot(np.cos(angle), np.sin(angle), color="black", lw=1.0)
    ax.plot([-1, 1], [0, 0], "x", color="#D55E00", ms=7, mew=2, clip_on=False)
    ax.set(aspect="equal", xlabel="x₁", ylabel="x₂", xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    ax.set(xlim=(-1.06, 1.06), ylim=(-1.06, 1.06))
    ax.set_title("Mixture of N(±e₁, I) in the unit disc", pad=14)
    fig.colorbar(shades, ax=ax, label="density", shrink=0.8)


def triangle(count: int) -> np.ndarray:
    """Points of a triangular grid inside the simplex."""
    i, j = np.meshgrid(np.arange(count), np.arange(count), indexing="ij")
    inside = i + j < count
    parts = np.stack([i, j, count - 1 - i - j], axis=-1)[inside]
    return (parts + 1.0 / 3.0) / count


def values(setting: Setting) -> dict[str, Any]:
    rows = setting.read(PART)
    measured = {(row["law"], row["quantity"]): row["measured"] for row in rows}
    faces = [measured[DIRICHLET, f"exponent of the density at x_{i} = 0"] for i in (1, 2, 3)]
    return {
        "rows": [row | {"quantity": _low(row["quantity"]), "draws": row["draws"] or None} for row in rows],
        "shown": SHOWN,
        "edge": measured[MIXTURE, EDGE],
        "faces": faces,
        "poles": POLES if all(face < -0.1 for face in faces) else ".",
        "positive": agrees(measured[MIXTURE, EDGE] > 0),
        "on_faces": agrees(min(faces) <= 0),
    }


POLES = ": it does not vanish. With αᵢ < 1 it is infinite, so that g has to vanish fast enough."


def _low(text: str) -> str:
    """With the index below the line."""
    return text.replace("x_1", "x₁").replace("x_2", "x₂").replace("x_3", "x₃")
