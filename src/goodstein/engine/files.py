"""Files of a user's: where they may be, and how they are written whole or not at all."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from goodstein.errors import InputError, ResourceError, must, shown


def as_path(path: Any, *, folder: bool = False, argument: str = "path") -> Path:
    """Return the path of a file, or of a folder, that is there or can be made."""
    kind = "folder" if folder else "file"
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise must(argument, f"the name of a {kind}", path)
    try:
        # A test may change the working directory, and a link have other names.
        found = Path(os.fsdecode(path)).resolve()
        there = found.exists()
    except (OSError, ValueError) as error:  # too long, a loop of links, or a null character
        why = getattr(error, "strerror", None) or error
        name = shown(os.fspath(path))
        raise InputError(f"no {kind} can have the name {name}: {why}.", argument=argument) from None
    # A device may have no end, and a folder no lines.
    if there and not (found.is_dir() if folder else found.is_file()):
        raise InputError(f"{str(found)!r} is no {kind}. Choose another path.", argument=argument)
    if not found.parent.is_dir():
        raise InputError(f"there is no folder {str(found.parent)!r}. Make it first.", argument=argument)
    place = found if folder and there else found.parent
    if not os.access(place, os.W_OK) or (there and not os.access(found, os.W_OK)):
        raise InputError(f"{str(found)!r} may not be written. Choose another path.", argument=argument)
    return found


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file, text in UTF-8; where that fails, what was there before stays as it was."""
    found = as_path(path)
    # Beside it, since a file can be moved in one step only where it is; a name that nobody can have foreseen.
    part = found.with_name(f".goodstein-{os.urandom(8).hex()}")
    try:
        # "x" makes a new file with the permissions of any other, and opens none that is there, nor a link.
        with open(part, "xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        if found.exists():
            os.chmod(part, found.stat().st_mode)
        os.replace(part, found)
    except OSError as error:
        reason = f"{str(found)!r} cannot be written: {error.strerror}."
        remedy = "Make room on the disk, or see to it that it can be written to."
        raise ResourceError(reason, remedy=remedy) from error
    finally:
        with suppress(OSError):  # it is gone where all went well
            os.unlink(part)


def csv_text(lines: Iterable[Iterable[Any]]) -> str:
    """Return lines of comma-separated values.

    An apostrophe stands before words that a spreadsheet would take for a formula, names of columns included.
    """
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([_harmless(cell) for cell in line] for line in lines)
    return out.getvalue()


def _harmless(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
