"""The command `goodstein` and its subcommands, each loaded when it is called."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import click

from goodstein.command import trouble
from goodstein.command.strings import nearest
from goodstein.lazy import deferred
from goodstein.version import __version__

COMMANDS = {
    "check": deferred("goodstein.command.checking"),
    "test": deferred("goodstein.command.testing"),
    "compare": deferred("goodstein.command.comparing"),
    "audit": deferred("goodstein.command.auditing"),
    "fit": deferred("goodstein.command.fitting"),
    "power": deferred("goodstein.command.planning"),
    "datasets": deferred("goodstein.command.listing"),
}
"""Commands, in the order in which they are listed, and their modules."""


class Commands(click.Group):
    """Commands that are loaded by name; errors become one line and a code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = COMMANDS[cmd_name].command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that was called, or an error that offers the nearest."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"there is no command {args[0]!r}. {nearest(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def main(self, *arguments: Any, standalone_mode: bool = True, **options: Any) -> Any:
        """Run, and end the process with the code, unless that is left to the caller."""
        run: Any = partial(super().main, *arguments, **{**options, "standalone_mode": False})
        return sys.exit(trouble.run(run)) if standalone_mode else run()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, message="goodstein %(version)s")
def cli() -> None:
    """Does this model fit this data? Goodness-of-fit tests by kernel Stein discrepancies.

    The code is 0 whatever the verdict, 2 for bad input and 130 for an interruption.
    """


def main() -> None:
    """The entry point."""
    cli.main(prog_name="goodstein")


if __name__ == "__main__":
    main()
