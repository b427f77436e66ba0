"""Errors as one line with what is wrong, where and how to fix it, and the code with which a command ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from goodstein.command.escaping import one_line, quoted
from goodstein.command.observations import Observed
from goodstein.command.speech import OPTIONS, renamed
from goodstein.errors import Explained

BAD_INPUT, INTERNAL, INTERRUPTED = 2, 1, 130
"""Codes; a result, whatever its verdict, is 0."""

TRACEBACK = "GOODSTEIN_TRACEBACK"
"""A variable of the environment: where it is set, tracebacks are shown."""


@contextmanager
def about(observed: Observed | None) -> Iterator[None]:
    """Errors of the library about rows, said of the file in which these rows stand."""
    try:
        yield
    except Explained as error:
        if observed is None or error.argument not in ("data", "x"):
            raise
        where = ""
        if error.rows is not None and len(error.rows) and max(error.rows) < len(observed.data):
            first = int(error.rows[0])
            if observed.lines is not None:
                where = f"Row {first} is line {observed.lines[first]} of the file."
        remedy = " ".join(filter(None, (error.remedy, where))) or None
        raise error.told(observed.source, remedy=remedy) from error


def message(error: Exception) -> str:
    """What is said of an error."""
    if isinstance(error, Explained) and error.argument is not None:
        subject = OPTIONS.get(error.argument, error.argument)
        text = f"{subject}{'' if error.predicate else ':'} {error.bare}"
    else:
        text = str(error)
    return one_line(renamed(text))


def run(command: Callable[[], Any]) -> int:
    """Run a command and return its code; everything that goes wrong becomes one line."""
    if sys.stdout is None:
        return _fail("standard output is closed. Send it to a file, or to /dev/null.", BAD_INPUT)
    try:
        code = command()
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted; nothing was written.", INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return BAD_INPUT
    except click.UsageError as error:
        return _fail(f"{_sentence(error.format_message())}{_help(error)}", BAD_INPUT)
    except click.ClickException as error:
        return _fail(error.format_message(), BAD_INPUT)
    except OSError as error:
        # Nobody reads any more, or the disk is full; Python would complain again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return INTERNAL
        where = "standard output" if error.filename is None else quoted(error.filename, 200)
        return _fail(f"{where} cannot be written: {error.strerror}.", BAD_INPUT)
    except (Explained, ImportError) as error:
        _shown(error)
        return _fail(message(error), BAD_INPUT)
    except MemoryError:
        return _fail("memory ran out. Pass fewer rows (--rows) or fewer --workers.", BAD_INPUT)
    except Exception as error:
        _shown(error)
        kind = f"{type(error).__name__}: {error}"
        return _fail(f"something went wrong inside: {kind}. With {TRACEBACK}=1 it says where.", INTERNAL)


def _help(error: click.UsageError) -> str:
    """Where to read on; for an argument that was left out, an example."""
    if error.ctx is None:
        return ""
    shown = [line.strip() for line in (error.ctx.command.epilog or "").splitlines()]
    example = next((line for line in shown if line.startswith("goodstein ")), None)
    if isinstance(error, click.MissingParameter) and example:
        return f" For example: {example}"
    return f" Help: {error.ctx.command_path} --help."


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!", ")")) else f"{text}."


def _shown(error: Exception) -> None:
    if os.environ.get(TRACEBACK):
        raise error


def _fail(text: str, code: int) -> int:
    click.echo(f"goodstein: {one_line(text)}", err=True)
    return code
