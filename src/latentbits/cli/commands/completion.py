"""`latentbits completion`: Tab completes commands, options and the names of models."""

from __future__ import annotations

import click

__all__ = ["completion"]

VARIABLE = "_LATENTBITS_COMPLETE"
"""By this variable, which click derives from the program's name, a shell asks for completions."""


@click.command(
    short_help="Let Tab complete commands and options in your shell.",
    epilog='Example: latentbits completion bash >> ~/.bashrc (or: eval "$(latentbits completion bash)")',
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that teaches SHELL the completions of latentbits.

    \b
        bash    latentbits completion bash >> ~/.bashrc
        zsh     latentbits completion zsh >> ~/.zshrc
        fish    latentbits completion fish > ~/.config/fish/completions/latentbits.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click knows these three"
    program = click.get_current_context().find_root().command
    click.echo(kind(program, {}, "latentbits", VARIABLE).source())
