"""The shape of the package: what `import-linter` cannot see, and what must not grow again."""

import ast
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "goodstein"
FILES = sorted(PACKAGE.rglob("*.py"))


def module(path):
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


@cache
def trees():
    return {module(path): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


@cache
def settings():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def layers():
    """The number of the layer of every module that is listed, the highest first."""
    listed = settings()["tool"]["importlinter"]["contracts"][0]["layers"]
    return {
        f"goodstein.{name}": number
        for number, line in enumerate(listed)
        for name in line.replace("|", ":").replace(" ", "").split(":")
    }


def layer_of(name, known):
    parts = name.split(".")
    return next(known[key] for k in range(len(parts), 1, -1) if (key := ".".join(parts[:k])) in known)


def test_what_is_loaded_late_lies_below_like_every_import():
    known, found = layers(), 0
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "deferred":
                target = node.args[0].value
                assert (PACKAGE.parent / Path(*target.split("."))).with_suffix(".py").exists(), target
                same_room = name.split(".")[1] == target.split(".")[1]
                assert same_room or layer_of(name, known) < layer_of(target, known), (name, target)
                found += 1
    assert found > 10


def test_every_module_of_a_shared_room_has_a_layer():
    known = layers()
    for name in trees():
        if name.count(".") == 2:
            layer_of(name, known)


def test_no_module_of_ours_is_imported_inside_a_function():
    inside = [
        (name, node.lineno)
        for name, tree in trees().items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("goodstein")
    ]
    assert inside == []


def test_types_are_checked_alike_whatever_is_installed():
    # `make lint` installs no extra: of a package that mypy follows only where it is, it says two things.
    typed = {"numpy", "click", "goodstein", *sys.stdlib_module_names}
    skipped = {name.removesuffix(".*") for name in settings()["tool"]["mypy"]["overrides"][0]["module"]}
    imported = {
        name.split(".")[0]
        for tree in trees().values()
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported - typed - skipped == set()


def test_the_root_has_few_modules_and_no_module_hides_behind_an_underscore():
    root = [path.stem for path in PACKAGE.glob("*.py") if path.stem != "__init__"]
    assert len(root) <= 9
    assert [path for path in FILES if path.stem.startswith("_") and path.stem != "__init__"] == []


def test_no_module_gives_a_constant_twice():
    # The second hides the first, above as well as below it; ruff sees this of functions and classes only.
    twice = []
    for name, tree in trees().items():
        given = [
            part.id
            for node in tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            for part in ast.walk(target)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        ]
        twice += [(name, part) for part in set(given) if given.count(part) > 1]
    assert twice == []


@pytest.mark.parametrize("word", ["TODO", "FIXME"])
def test_nothing_is_left_to_do(word):
    assert [path for path in FILES if word in path.read_text(encoding="utf-8")] == []
