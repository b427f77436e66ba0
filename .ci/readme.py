"""Run README.md and docs/start.md as a newcomer would: as printed, with what they say to install, elsewhere.

    python3 .ci/readme.py [PAGE ...]

Each page gets an empty virtual environment and an empty folder. Its `pip install` of this repository is run
here, all that is installed by it from outside comes from the package index that pip knows; other lines of
shell run in the empty folder, but those of make, which `.ci/run` runs itself. The blocks of Python run one
after another in one process, and print what the page shows below them, but for rounding.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/start.md")
BLOCK = re.compile(
    r"^```(sh|console|python|\{code-cell\})\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.M | re.S
)
NUMBER = r"-?\d+\.?\d*(?:e-?\d+)?"


def main() -> None:
    """Follow the pages that are named, or both."""
    for page in sys.argv[1:] or PAGES:
        with tempfile.TemporaryDirectory(prefix="as printed ") as folder:
            follow(page, Path(folder))
        print(f"{page}: everything runs as printed.")


def follow(page: str, folder: Path) -> None:
    """Do what a page says."""
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    tools, work = folder / "venv" / ("Scripts" if os.name == "nt" else "bin"), folder / "work"
    work.mkdir()
    venv.create(tools.parent, with_pip=True)
    # Neither this process's environment nor anything on its path beside the system's.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_"))}
    kept |= {"PATH": f"{tools}{os.pathsep}{os.defpath}", "MPLBACKEND": "Agg"}
    installs = [line for kind, text, _ in blocks if kind in ("sh", "console") for line in lines(text)]
    installs = [line for line in installs if line.startswith("pip install")]
    if not installs:
        raise SystemExit(f"{page}: it does not say what to install.")
    run(f"{installs[0]} -q --disable-pip-version-check", ROOT, kept)
    program, expected = [], []
    for kind, text, shown in blocks:
        if kind in ("sh", "console"):
            for line in lines(text):
                if not line.startswith(("pip install", "make ")):
                    run(line, work, kept)
        else:
            program += [re.sub(r"^:.*\n", "", text, flags=re.M), f"print({MARK!r})"]
            expected.append(shown)
    source = work / "page.py"
    source.write_text("\n".join(program), encoding="utf-8")
    printed = run(f'python "{source}"', work, kept).split(f"{MARK}\n")
    for found, shown in zip(printed, expected, strict=False):
        if shown and not alike(found, shown):
            raise SystemExit(f"{page} shows\n\n{shown}\nand its code prints\n\n{found}")
    for line in installs[1:]:  # last, so that nothing above has more than the first line brings
        run(f"{line} -q --disable-pip-version-check", ROOT, kept)


MARK = "-- end of block --"


def lines(text: str) -> list[str]:
    """The commands of a block of shell, without the comments behind them."""
    found = (re.sub(r"\s+#.*", "", line).removeprefix("$ ").strip() for line in text.splitlines())
    return [line for line in found if line and not line.startswith("#")]


def run(line: str, folder: Path, environment: dict[str, str]) -> str:
    """Run a line of shell, and return what it printed; its failure ends everything."""
    done = subprocess.run(
        line, shell=True, cwd=folder, env=environment, text=True, encoding="utf-8", stdout=subprocess.PIPE
    )
    if done.returncode:
        raise SystemExit(f"`{line}` ended with {done.returncode}.\n{done.stdout}")
    return done.stdout


def alike(found: str, shown: str) -> bool:
    """Whether two texts have the same words, and the same numbers to 2 %."""
    one, other = ([float(number) for number in re.findall(NUMBER, text)] for text in (found, shown))
    words = re.sub(NUMBER, "#", found).split() == re.sub(NUMBER, "#", shown).split()
    return words and all(abs(a - b) <= 0.01 + 0.02 * abs(b) for a, b in zip(one, other, strict=True))


if __name__ == "__main__":
    main()
