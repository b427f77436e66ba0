"""Messages advise only what the function that was called has."""

from __future__ import annotations

import ast
import inspect
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import goodstein as gs

SOURCE = Path(gs.__file__).parent
ARGUMENTS = ("operator", "operators", "kernel", "kernels", "null", "domain", "audit", "fraction")


def advised(message: str) -> Iterator[tuple[str | None, str]]:
    """Arguments that a message names, each with the function in whose brackets it stands."""
    inside: list[str | None] = []
    for token in re.finditer(r"([\w.]*)\(|\)|`(\w+)`|\b(\w+)=", message):
        if token[0].endswith("("):
            inside.append(token[1].rpartition(".")[2] or (inside[-1] if inside else None))
        elif token[0] == ")":
            inside = inside[:-1]
        elif (name := token[2] or token[3]) in ARGUMENTS:
            yield (inside[-1] if inside else None), name


def wrong_advice(message: str, function: str) -> list[str]:
    """What a message of a function names as its argument, or as another function's, and is none."""
    wrong = []
    for owner, name in advised(message):
        there = getattr(gs, owner or function, None)
        if there is not None and name not in inspect.signature(there).parameters:
            wrong.append(f"{owner or function}({name}=...)")
    return wrong


def test_the_reader_of_messages_reads():
    assert list(advised("Use null=MonteCarlo() or f(..., kernel=IMQ(domain=1)), or `operators`.")) == [
        (None, "null"),
        ("f", "kernel"),
        ("IMQ", "domain"),
        (None, "operators"),
    ]
    assert wrong_advice("Use operator=Mirrored().", "aggregated_test") == ["aggregated_test(operator=...)"]


DIRICHLET = gs.families.Dirichlet([2.0, 3.0, 4.0])
FLAT = gs.Model(score=lambda x: 0.0 * x, domain=gs.Simplex(3), name="flat")
RARE = gs.families.Ising(np.zeros((3, 3)), mu=6.0)


def compositions(zeros: int) -> np.ndarray:
    x = DIRICHLET.sample(60, rng=1)
    x[:zeros] = [0.0, 0.5, 0.5]
    return x


SITUATIONS = {
    "zeros of a composition": (compositions(3), DIRICHLET, {}),
    "no sampler": (compositions(0), FLAT, {"null": gs.MonteCarlo(19)}),
    "invalid operator": (compositions(0), FLAT, {"operator": gs.Langevin()}),
    "operator of discrete data": (compositions(0), DIRICHLET, {"operator": gs.Difference()}),
    "no operator": (compositions(0), DIRICHLET, {"operator": 3}),
    "kernel of discrete data": (compositions(0), DIRICHLET, {"kernel": gs.Hamming()}),
    "derivatives on a lattice": (RARE.sample(60, rng=1), RARE, {"operator": gs.Langevin()}),
    "rare states": (RARE.sample(60, rng=1), RARE, {"operator": gs.Difference()}),
    "outside the domain": (np.full((60, 3), 2.0), gs.Model(score=np.negative, domain=gs.Box([0] * 3, 1)), {}),
    "few events": (gs.Censored(np.full(30, 0.01), np.arange(30) < 1), gs.families.Exponential(1.0), {}),
    "no events": (gs.Censored(np.full(30, 0.01), np.zeros(30)), gs.families.Exponential(1.0), {}),
    "weak regularisation": (compositions(0), FLAT, {"operator": gs.Regularised(None, 1e-5)}),
    "fitted to the same rows": (compositions(0), gs.families.Dirichlet.fit(compositions(0)), {}),
    "few rows": (compositions(0)[:5], DIRICHLET, {}),
    "angles on a sphere": (
        gs.families.VonMisesFisher([0, 0, 1.0], 1.0).sample(60, rng=1),
        gs.families.VonMisesFisher([0, 0, 1.0], 1.0),
        {"operator": gs.Coordinate(auxiliary=False)},
    ),
    "latent": (
        np.linspace(-1, 1, 60),
        gs.LatentModel(lambda x, z: z - x, lambda x, m, rng: rng.normal(size=(len(x), m, 1)), name="latent"),
        {"operator": gs.Langevin()},
    ),
}
TESTS = ("ksd_test", "aggregated_test", "fssd_test", "regularised_test", "select", "mmd_test", "m3d_test")


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("name", [*TESTS, "audit"])
def test_advice_fits_the_function_that_was_called(name, situation):
    data, model, given = SITUATIONS[situation]
    function = getattr(gs, name)
    has = inspect.signature(function).parameters
    options = {key: value for key, value in given.items() if key in has}
    options |= {f"{key}s": [value] for key, value in given.items() if f"{key}s" in has}
    quick = {"null": gs.WildBootstrap(19), "n_resamples": 19, "n_draws": 60}
    options = {key: value for key, value in quick.items() if key in has} | options
    first = {"model": model, "data": data} if name == "audit" else {"data": data, "model": model}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(**first, rng=1, **options)
            said = [str(result)]
        except Exception as error:
            said = [str(error)]
    said += [str(w.message) for w in caught]
    assert [wrong for message in said for wrong in wrong_advice(message, name)] == []


def test_no_message_names_an_argument_without_asking_who_was_called():
    """`errors.given` writes arguments that not every function has; no other words may."""
    allowed = {"tests_of_fit", "command/speech.py"}  # the functions themselves, and who rewrites their words
    found = []
    for path in SOURCE.rglob("*.py"):
        where = path.relative_to(SOURCE).as_posix()
        if where in allowed or where.partition("/")[0] in allowed:
            continue
        source = path.read_text()
        if not re.search(r"(operator|kernel|null)=", source):
            continue
        tree = ast.parse(source)
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        parts = {id(part) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for part in n.values}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                text = "".join(v.value if isinstance(v, ast.Constant) else "X" for v in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
                text = node.value
            else:
                continue
            if id(node) in docs or not re.search(r"\w \w", text):
                continue
            named = [name for owner, name in advised(text) if owner is None and f"{name}=" in text]
            found += [f"{where}: {text}"] if set(named) & {"operator", "kernel", "null"} else []
    assert found == []
