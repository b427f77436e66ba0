"""One writer of a file at a time, on all systems; a writer that was killed blocks nobody."""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

from goodstein.errors import InputError, warn

_held: set[tuple[int, str]] = set()
"""Process and path: locks between processes do not keep threads apart."""
_guard = threading.Lock()


class Lock:
    """The right to write to a file, refused at once where somebody else has it.

    The operating system locks a file beside it, ``<path>.lock``, and lets go of it when the process ends,
    however it ends. Not the file itself: a POSIX lock ends when its process closes the file anywhere. Nor by
    ``flock``, which forked workers inherit and would keep after their parent was killed.
    """

    def __init__(self, path: Path) -> None:
        path = path.resolve()
        self._beside = Path(f"{path}.lock")
        self._key = (os.getpid(), str(path))
        with _guard:
            if self._key in _held:
                raise _busy(path, "in another thread of this process")
            _held.add(self._key)
        try:
            self._file = self._opened(path)
        except BaseException:
            self._forget()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # While it is locked, so that whoever has opened it meanwhile sees that it is gone. Windows removes no
        # open file, its own or anybody's.
        if sys.platform != "win32":
            self._beside.unlink(missing_ok=True)
        os.close(self._file)
        if sys.platform == "win32":
            with suppress(OSError):
                self._beside.unlink()
        self._forget()

    def _forget(self) -> None:
        with _guard:
            _held.discard(self._key)

    def _opened(self, path: Path) -> int:
        while True:
            file = os.open(self._beside, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                if not _locked(file, path):
                    raise _busy(path, os.read(file, 200).decode(errors="replace"))
                if self._leads_to(file):
                    with suppress(OSError):  # only to say later who it was
                        os.ftruncate(file, 0)
                        os.write(file, f"by process {os.getpid()} on {socket.gethostname()}".encode())
                    return file
            except BaseException:
                os.close(file)
                raise
            os.close(file)  # removed by its last owner between opening and locking

    def _leads_to(self, file: int) -> bool:
        """Whether the path is still that of the open file."""
        try:
            return os.path.samestat(os.fstat(file), os.stat(self._beside))
        except FileNotFoundError:
            return False


def _busy(path: Path, who: str) -> InputError:
    return InputError(
        f"another study is being written to {str(path)!r}{who and ' '}{who}.",
        argument="path",
        remedy="Wait until it has ended, then the same call goes on from there; or choose another path.",
    )


def _locked(file: int, path: Path) -> bool:
    """Lock an open file; False where somebody else has."""
    try:
        if sys.platform == "win32":
            import msvcrt

            # What is locked cannot be read either: a byte that no file has.
            os.lseek(file, 1 << 30, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            os.lseek(file, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            os.lseek(file, 0, os.SEEK_SET)
            return False
        # Some network drives know no locks.
        warn(
            f"{str(path)!r} cannot be locked ({error.strerror}). Make sure that no other study is written to "
            "it meanwhile.",
            UserWarning,
        )
    return True
