"""`tollgate completion`: a script for bash, made from the command tree.

It holds every word already, so that a shell asks no program when somebody presses the tab key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Tree = Mapping[tuple[str, ...], list[str]]

_SCRIPT = """\
# Completion of tollgate for bash. Source it, or put it where bash-completion finds it:
#   tollgate completion > ~/.local/share/bash-completion/completions/tollgate
# In zsh: autoload -U +X bashcompinit && bashcompinit && source <(tollgate completion)
_tollgate() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" path="" words="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$path ${{COMP_WORDS[index]}}" in
{known}) path="$path ${{COMP_WORDS[index]}}" ;;
    esac
  done
  case "$path" in
{words}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _tollgate tollgate
"""


def script() -> str:
    """The whole script."""
    import typer.main

    from app.cli.main import app

    tree = dict(words_of(typer.main.get_command(app)))
    known = " |\\\n".join(f"      {_quoted(path)}" for path in tree if path)
    words = "\n".join(f'    {_quoted(path)}) words="{" ".join(tree[path])}" ;;' for path in tree)
    return _SCRIPT.format(known=known, words=words)


def words_of(
    command: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """What may follow each command: the commands below it, and its options."""
    below: Mapping[str, Any] = getattr(command, "commands", {})
    options = [
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--")
    ]
    yield path, [*sorted(below), *sorted({*options, "--help"})]
    for name in sorted(below):
        yield from words_of(below[name], (*path, name))


def _quoted(path: tuple[str, ...]) -> str:
    return '"' + "".join(f" {word}" for word in path) + '"'
