"""Files of a user's: where they may be, and how they are written whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Any

from goodstein.errors import InputError, ResourceError, must, shown


def as_path(path: Any) -> Path:
    """The path of a file that is there or can be made."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise must("path", "the name of a file", path)
    try:
        found = Path(path).resolve()  # a test may change the working directory, and a link have other names
        # A device may have no end, and a folder no lines.
        other = found.exists() and not found.is_file()
    except (OSError, ValueError) as error:  # too long, or with a zero byte
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{shown(path)} cannot be the name of a file: {why}.", argument="path") from None
    if not found.parent.is_dir():
        raise InputError(f"there is no folder {str(found.parent)!r}. Make it first.", argument="path")
    if other:
        raise InputError(f"{str(found)!r} is no file. Choose another path.", argument="path")
    return found


def unwritable(path: Path, error: OSError) -> ResourceError:
    """What is raised where the disk is full or gone."""
    reason = f"{str(path)!r} cannot be written: {error.strerror}."
    return ResourceError(reason, remedy="Make room on the disk, or see to it that it can be written to.")


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file, text in UTF-8; where that fails, what was there before stays as it was."""
    found = as_path(path)
    part = None
    try:
        # Beside it, since a file can be moved in one step only where it is.
        handle, part = mkstemp(prefix=f".{found.name}.", dir=found.parent)
        with open(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        # Readable by all whom the user allows, as any other file; temporary ones are not.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, found.stat().st_mode if found.exists() else 0o666 & ~mask)
        os.replace(part, found)
    except OSError as error:
        if part is not None:
            with suppress(OSError):
                os.unlink(part)
        raise unwritable(found, error) from error
