"""Where data come from: a file, standard input or a table that ships; what it is, and how large."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from goodstein.command.escaping import quoted, short
from goodstein.command.strings import nearest
from goodstein.errors import InputError

MOST_TEXT = 1 << 30
MOST_JSON = 1 << 28
MOST_NUMBERS = 1 << 28
"""Bytes of a file of text and of JSON, and numbers of an array, that are taken into memory."""

MOST_NAMES = 2000
"""Names of files among which one is looked for that was meant."""

HEAD = 4096
"""Bytes from which the kind of a file is known."""

ENDINGS = {
    "csv": "csv",
    "txt": "csv",
    "dat": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "json": "json",
    "geojson": "json",
    "npy": "npy",
    "parquet": "parquet",
    "pq": "parquet",
}

BEGINNINGS = {
    b"PAR1": "parquet",
    b"\x93NUMPY": "npy",
}
"""With what files of a kind begin."""

FOREIGN = {
    b"PK\x03\x04": ("a zip archive, as spreadsheets and NPZ files are", "Save it as CSV, or unpack it."),
    b"\x1f\x8b": ("compressed with gzip", "Unpack it first."),
    b"\x80\x04": ("a pickle, which could run anything", "Save the numbers as CSV, NPY or Parquet."),
    b"\x80\x05": ("a pickle, which could run anything", "Save the numbers as CSV, NPY or Parquet."),
    b"\x89HDF": ("an HDF5 file", "Save the table as CSV or Parquet."),
    b"ARROW1": ("an Arrow file", "Save it as Parquet."),
    b"SQLite": ("a database", "Export the table as CSV."),
    b"\xd0\xcf\x11\xe0": ("an old spreadsheet", "Save it as CSV."),
    b"%PDF": ("a PDF document", "Save the table as CSV."),
    b"\xff\xfe": ("text in UTF-16", "Save it as UTF-8."),
    b"\xfe\xff": ("text in UTF-16", "Save it as UTF-8."),
    b"<": ("a page of HTML or XML", "Download the table itself, as CSV or JSON."),
}


@dataclass(frozen=True)
class Source:
    """Bytes with a name: those of a file, or those that came through a pipe."""

    name: str
    kind: str
    size: int
    path: Path | None = None
    content: bytes = b""

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The bytes, to be read once."""
        if self.path is None:
            yield io.BytesIO(self.content)
            return
        with _reported(self.name), open(self.path, "rb") as file:
            yield file

    def require_size(self, most: int, remedy: str) -> None:
        """Raise where it is larger than what is taken into memory."""
        if self.size > most:
            reason = f"{self.name} is {in_bytes(self.size)}, more than the {in_bytes(most)} that are read."
            raise InputError(reason, remedy=remedy)


def find(text: str) -> Source:
    """The source that a user names, ``-`` for standard input; its kind is known by ending and beginning."""
    if text == "-":
        if sys.stdin is None or sys.stdin.isatty():
            what = "closed" if sys.stdin is None else "a terminal"
            raise InputError(f"standard input is {what}.", remedy="Pipe data into it, or name a file.")
        stream: BinaryIO = sys.stdin.buffer
        return _of_stream(stream, "standard input")
    path, name = Path(text), short(text, 200)
    with _reported(name):
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            raise InputError(f"{name} is a folder.", remedy="Name a file in it.")
        with open(path, "rb") as file:
            if not stat.S_ISREG(found.st_mode):
                return _of_stream(file, name)
            head = file.read(HEAD)
    ending = path.suffix.lstrip(".").lower()
    if not found.st_size:
        raise _empty(name)
    return Source(name, _kind(head, ending, name), found.st_size, path)


def _of_stream(stream: BinaryIO, name: str) -> Source:
    content = stream.read(MOST_TEXT + 1)
    if len(content) > MOST_TEXT:
        raise InputError(
            f"{name} holds more than {in_bytes(MOST_TEXT)}.",
            remedy="Save it as a file, best as Parquet, or pass fewer rows.",
        )
    if not content.strip():
        raise _empty(name)
    return Source(name, _kind(content[:HEAD], "", name), len(content), None, content)


def _kind(head: bytes, ending: str, name: str) -> str:
    """What a file is, by its ending and by how it begins, which must agree."""
    said = ENDINGS.get(ending)
    seen = next((found for mark, found in BEGINNINGS.items() if head.startswith(mark)), None)
    if seen is None and head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        seen = "json"
    if seen is None:
        what, remedy = next((words for mark, words in FOREIGN.items() if head.startswith(mark)), ("", ""))
        if not what and b"\0" in head:
            what, remedy = (
                "no text, for it holds zero bytes",
                "Name a file of one of the kinds that are read.",
            )
        if what:
            raise InputError(f"{name} is {what}.", remedy=remedy)
    if said is None:
        if ending and seen is None:
            remedy = f"Rename it, if it is a table of text. {nearest(ending, ENDINGS)}"
            raise InputError(f"{name}: files that end in .{short(ending, 20)} are not known.", remedy=remedy)
        return seen or "csv"
    if seen != (None if said in ("csv", "tsv") else said):
        raise InputError(f"{name} ends in .{ending}, but it is {seen or 'text'}.", remedy="Rename it.")
    return said


def _empty(name: str) -> InputError:
    return InputError(f"{name} is empty.", remedy="A test needs a table with at least two rows.")


def in_bytes(size: int) -> str:
    """A size as a person says it.

    >>> from goodstein.command.sources import in_bytes
    >>> in_bytes(5 * 1024**3)
    '5.0 GB'
    """
    number, units = float(size), ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"]
    while number >= 1024 and len(units) > 1:
        number, units = number / 1024, units[1:]
    return f"{number:.{0 if units[0] == 'bytes' else 1}f} {units[0]}"


@contextmanager
def _reported(name: str) -> Iterator[None]:
    """Say in one line why a file cannot be read."""
    try:
        yield
    except FileNotFoundError:
        try:
            beside = sorted(os.listdir(Path(name).parent))[:MOST_NAMES]
        except OSError:
            beside = []
        close = nearest(Path(name).name, beside)
        remedy = close if close.startswith("Did") else "Check the name; a table that ships is dataset:NAME."
        raise InputError(f"there is no file {quoted(name, 200)}.", remedy=remedy) from None
    except PermissionError:
        raise InputError(f"{name} may not be read.", remedy="Check its permissions.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name} cannot be read: {short(str(error), 120)}.") from None
