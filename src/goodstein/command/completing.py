"""``goodstein completion``: what a shell needs to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from goodstein.command.options import examples

SHELLS = ("bash", "zsh", "fish")


@click.command(
    "completion",
    epilog=examples(
        "goodstein completion bash >> ~/.bashrc",
        "goodstein completion zsh >> ~/.zshrc",
        "goodstein completion fish > ~/.config/fish/completions/goodstein.fish",
    ),
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print a script with which bash, zsh or fish completes goodstein's commands and options."""
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(context.find_root().command, {}, "goodstein", "_GOODSTEIN_COMPLETE").source())
