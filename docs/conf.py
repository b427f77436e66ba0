"""How the documentation is built: `make docs`, or `python -m sphinx docs docs/_build/html`.

Pages with code cells are notebooks in Markdown: they are executed, and a warning, an error or a link that
leads nowhere fails the build. Documents that live elsewhere in the repository are brought in, so that nothing
is written twice.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
from pathlib import Path

from sphinx.util.nodes import make_refnode

import goodstein

HERE = Path(__file__).parent
ROOT = HERE.parent

project = "goodstein"
author = "the goodstein developers"
copyright = "the goodstein developers, BSD-3-Clause"
version = release = goodstein.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_nb", "sphinx_design"]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb"}
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
templates_path = ["_templates"]
default_role = "code"

# What one process computes in a tile is not shared among threads of a library below it.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["MATPLOTLIBRC"] = str(HERE / "matplotlibrc")
nb_execution_mode = "force"  # a cache knows the pages, not the library
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_output_stderr = "remove-warn"  # a page does not warn; with warnings as errors it cannot

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
nitpick_ignore_regex = [  # other packages, and what is not public
    ("py:.*", r"(scipy|numpy|concurrent)\..*"),
    ("py:.*", r"goodstein\.(data|domains|kernels|stein)\..*"),
    ("py:mod", ".*"),
    ("py:(attr|meth)", "[a-z_]+"),
    ("py:.*", r"Contributions\.sorted|Diagnosis|as_patterns"),
]

html_theme = "pydata_sphinx_theme"
html_title = "goodstein"
html_static_path = ["_static"]
html_css_files = ["goodstein.css"]
html_sidebars = {"index": [], "start": []}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "goodstein"},
    "header_links_before_dropdown": 4,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

BROUGHT = {
    "validation/size.md": "size",
    "validation/power.md": "power",
    "validation/unseen.md": "unseen",
    "paper/REPORT.md": "paper",
    "benchmarks/RESULTS.md": "speed",
    "benchmarks/COST.md": "cost",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
}
"""Documents of the repository, and what they are called here, below `brought/`."""

LINK = re.compile(r"\]\((?:\.\./|(?=docs/))*(?P<path>[\w/]+\.(?:md|py))(?P<place>#[^)]*)?\)")


def at_home(path: str, folder: str) -> str | None:
    """Where a page of this site has what lies at a path of the repository."""
    if path in BROUGHT:
        return f"/brought/{BROUGHT[path]}.md"
    if path.startswith("examples/"):
        return f"/brought/examples.md#{Path(path).stem}"
    if folder == "brought" and path.startswith("docs/"):
        return path.removeprefix("docs")
    return None


def relinked(text: str, folder: str) -> str:
    def link(found: re.Match[str]) -> str:
        target = at_home(found["path"], folder)
        return found[0] if target is None else f"]({target}{found['place'] or ''})"

    return LINK.sub(link, text)


def write(path: Path, text: str) -> None:
    """Leave a file alone that is as it should be: Sphinx reads again what is newer."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def examples() -> str:
    """The programs of the repository on one page."""
    parts = [
        "# Programs",
        "Longer than a page: each runs as it is, from an empty folder, `python examples/name.py`, with the "
        "data that come with the package or with the extra that it names.",
    ]
    for program in sorted((ROOT / "examples").glob("*.py")):
        title = ast.get_docstring(ast.parse(program.read_text(encoding="utf-8"))).split("\n")[0]
        shown = f"```{{literalinclude}} ../../examples/{program.name}\n:language: python\n```"
        parts.append(f"## {program.stem}\n\n{title}\n\n::::{{dropdown}} {program.name}\n{shown}\n::::")
    return "\n\n".join(parts) + "\n"


def bring(app) -> None:
    folder = HERE / "brought"
    folder.mkdir(exist_ok=True)
    for source, name in BROUGHT.items():
        write(folder / f"{name}.md", relinked((ROOT / source).read_text(encoding="utf-8"), "brought"))
    write(folder / "examples.md", examples())
    shutil.copytree(ROOT / "paper" / "figures", folder / "figures", dirs_exist_ok=True)


def relink(app, page: str, source: list[str]) -> None:
    if page.partition("/")[0] != "brought":
        source[0] = relinked(source[0], page.rpartition("/")[0])


def elsewhere(app, env, node, shown):
    """A public name that is meant by its short name, or by the module in which it is written."""
    if node.get("refdomain") != "py":
        return None
    known, parts = env.domains["py"].objects, node["reftarget"].split(".")
    for i in range(len(parts)):
        entry = known.get(".".join(["goodstein", *parts[i:]]))
        if entry is not None:
            return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, shown)
    return None


def setup(app) -> None:
    app.connect("builder-inited", bring)
    app.connect("source-read", relink)
    app.connect("missing-reference", elsewhere)
