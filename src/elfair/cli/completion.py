"""``elfair completion``: commands, options and files completed by the shell."""

from __future__ import annotations

import click

from elfair.cli.output import json_option, tell

#: The variable by which a shell asks for completions.
VARIABLE = "_ELFAIR_COMPLETE"
SHELLS = ("bash", "zsh", "fish")


@click.command(short_help="Print what makes a shell complete commands.")
@click.argument("shell", metavar="{" + "|".join(SHELLS) + "}")
@json_option
@click.pass_context
def completion(ctx: click.Context, shell: str, as_json: bool) -> None:
    r"""Print a script that makes a shell complete commands, options and files.

    \b
    bash: elfair completion bash > ~/.local/share/bash-completion/completions/elfair
    zsh:  elfair completion zsh >> ~/.zshrc
    fish: elfair completion fish > ~/.config/fish/completions/elfair.fish
    """
    from click.shell_completion import get_completion_class

    from elfair.errors import InputError

    if shell not in SHELLS:
        raise InputError(
            f"the shell must be one of {', '.join(SHELLS)}. Got {shell!r} instead.",
            hint="name the shell that you type commands into.",
        )
    kind, whole = get_completion_class(shell), ctx.find_root().command
    assert kind is not None
    script = kind(whole, {}, "elfair", VARIABLE).source()
    tell(script, {"shell": shell, "script": script}, as_json=as_json)
