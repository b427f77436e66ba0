"""Record sessions in a terminal and draw a report: `python docs/recordings.py` in the test environment.

A recording is an SVG file in which lines come one after the other, with no script and nothing from a network;
readers who asked for little motion, and printers, get all at once. Pictures of the report need Chromium.
"""

from __future__ import annotations

import base64
import os
import shlex
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from textwrap import wrap

DOCS = Path(__file__).parent
IMAGES = DOCS / "images"
COLUMNS = 104
LINE, GLYPH, MARGIN = 18, 7.85, 16
"""Pixels of a line, of a character and around them."""
TYPING, READING = 1.2, 0.12
"""Seconds for a command, and for each line that it prints."""

SESSIONS = {
    "terminal_check": [
        "goodstein datasets longleaf --output trees.csv",
        "goodstein check trees.csv normal --fit --columns dbh --shuffle --seed 1 --output report.html",
    ],
    "terminal_mistakes": [
        "goodstein datasets skye_lavas --output lavas.csv",
        "goodstein test lavas.csv dirichlet --fit",
        "goodstein test lavas.csv dirichelt --fit --close",
        "goodstein test lavas.csv dirichlet --fit --close --columns A,F,N",
        "goodstein compare lavas.csv dirichlet:fit logistic_normal:fit --close --shuffle --seed 1",
    ],
}


def run(command: str, folder: Path) -> list[str]:
    """What a command prints, wrapped as a terminal does it."""
    words = shlex.split(command)
    program = [sys.executable, "-m", "goodstein.command.main", *words[1:]]
    done = subprocess.run(
        program, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    lines = done.stdout.rstrip("\n").split("\n")
    return [part for line in lines for part in wrap(line, COLUMNS, drop_whitespace=False) or [""]]


def recording(commands: list[str], folder: Path) -> str:
    """A session as an animated picture."""
    rows, clock = [], 0.6
    for command in commands:
        rows.append((clock, f'<tspan class="ask">$</tspan> {escape(command)}'))
        clock += TYPING
        for line in run(command, folder):
            rows.append((clock, escape(line)))
            clock += READING
        rows.append((clock, ""))
        clock += TYPING
    width, height = round(COLUMNS * GLYPH + 2 * MARGIN), len(rows) * LINE + 2 * MARGIN
    places = [MARGIN + (k + 1) * LINE - 5 for k in range(len(rows))]
    text = "\n".join(
        f'<text x="{MARGIN}" y="{y}" style="animation-delay:{when:.2f}s">{line}</text>'
        for y, (when, line) in zip(places, rows, strict=True)
        if line
    )
    label = escape("; ".join(commands), quote=True)
    view = f'viewBox="0 0 {width} {height}" role="img" aria-label="{label}"'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" {view}>
<style>
rect {{ fill: #16191d }}
text {{ fill: #e4e7eb; font: 13px "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre;
  animation: come .01s both }}
.ask {{ fill: #56b4e9 }}
@keyframes come {{ from {{ opacity: 0 }} to {{ opacity: 1 }} }}
@media (prefers-reduced-motion: reduce), print {{ text {{ animation: none }} }}
</style>
<rect width="{width}" height="{height}" rx="8"/>
{text}
</svg>
"""


def pictures(report: Path) -> None:
    """The report on a wide screen and on a small one."""
    sys.path.insert(0, str(DOCS.parent / "tests"))
    from browser import Browser

    with Browser() as page:
        for name, width, height in (("report_wide", 1280, 1000), ("report_small", 390, 800)):
            page.open(report, width=width, height=height)
            shot = page("Page.captureScreenshot", format="png")["data"]
            (IMAGES / f"{name}.png").write_bytes(base64.b64decode(shot))


def main() -> None:
    os.environ["COLUMNS"] = str(COLUMNS)
    with tempfile.TemporaryDirectory() as folder:
        for name, commands in SESSIONS.items():
            (IMAGES / f"{name}.svg").write_text(recording(commands, Path(folder)), encoding="utf-8")
        pictures(Path(folder) / "report.html")


if __name__ == "__main__":
    main()
