"""What a command prints and writes: text for people, JSON for machines, files whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click

from goodstein.command.escaping import one_line, quoted, safe_lines, short
from goodstein.command.speech import spoken
from goodstein.errors import InputError
from goodstein.lazy import deferred
from goodstein.text import plain
from goodstein.version import __version__

files = deferred("goodstein.engine.files")

SCHEMA = 1
"""Version of the records that --json prints; it grows where a key changes its meaning or goes away."""


@dataclass(frozen=True)
class Printer:
    """Where a command speaks: results to standard output, everything else to standard error."""

    as_json: bool = False
    quiet: bool = False

    def note(self, text: str) -> None:
        """Something that the user should know, unless that is not wanted."""
        if not self.quiet:
            click.echo(f"goodstein: {one_line(spoken(text))}", err=True)

    def result(self, command: str, record: dict[str, Any], text: Callable[[], str]) -> None:
        """The result, as a record or as a text."""
        if self.as_json:
            click.echo(as_record(command, record))
        else:
            click.echo(safe_lines(spoken(text())))


def as_record(command: str, record: dict[str, Any]) -> str:
    """A result as JSON, with the version of its form."""
    head = {"schema": SCHEMA, "goodstein": __version__, "command": command}
    return json.dumps({**head, **plain(record)}, indent=2)


def writable(path: str, *endings: str, option: str = "--output") -> Path:
    """A file that can be written, or an error before any work is done."""
    found = Path(path)
    if endings and found.suffix.lower() not in endings:
        reason = f"{option}: {quoted(path, 200)} ends in {quoted(found.suffix)}."
        raise InputError(reason, remedy=f"It can be {', '.join(endings)}.")
    folder = files.as_path(path).parent
    try:
        TemporaryFile(dir=folder).close()
        if found.exists() and not os.access(found, os.W_OK):
            raise PermissionError
    except OSError:
        raise InputError(f"{short(path, 200)} may not be written.", remedy="Choose another folder.") from None
    return found


def write(path: Path, content: str | bytes) -> None:
    """Write a file whole, or leave what is there."""
    files.write_whole(path, content)
