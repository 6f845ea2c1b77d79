"""`tollgate completion`: generates a shell completion script from the command tree.

The script contains all words, so completion starts no program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from app.core.errors import InvalidInput

Tree = Mapping[tuple[str, ...], list[str]]

_BASH = """\
# Completion of tollgate for bash. Source it, or put it where bash-completion finds it:
#   tollgate completion bash > ~/.local/share/bash-completion/completions/tollgate
_tollgate() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" path="" words="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$path ${{COMP_WORDS[index]}}" in
      {known}) path="$path ${{COMP_WORDS[index]}}" ;;
    esac
  done
  case "$path" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _tollgate tollgate
"""
_ZSH = """\
#compdef tollgate
# Completion of tollgate for zsh. Source it after compinit, or put it into a folder of fpath:
#   tollgate completion zsh > ~/.zsh/completions/_tollgate
_tollgate() {{
  local so_far="" index
  local -a found
  for ((index = 2; index < CURRENT; index++)); do
    case "$so_far ${{words[index]}}" in
      ({known}) so_far="$so_far ${{words[index]}}" ;;
    esac
  done
  case "$so_far" in
{cases}
  esac
  compadd -- $found || _files
}}
if [[ "$funcstack[1]" = _tollgate ]]; then
  _tollgate "$@"
else
  compdef _tollgate tollgate
fi
"""
_FISH = """\
# Completion of tollgate for fish:
#   tollgate completion fish > ~/.config/fish/completions/tollgate.fish
function __tollgate_words
  set -l so_far ""
  for word in (commandline -opc)[2..-1]
    switch "$so_far $word"
      case {known}
        set so_far "$so_far $word"
    end
  end
  switch "$so_far"
{cases}
  end
end
complete -c tollgate -a '(__tollgate_words)'
"""
# The script: text between the known paths, and the words that follow each.
_SHELLS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "bash": (_BASH, " | ", '    {path}) words="{words}" ;;'),
        "zsh": (_ZSH, " | ", "    ({path}) found=({words}) ;;"),
        "fish": (_FISH, " ", "    case {path}\n      string split ' ' -- '{words}'"),
    }
)


def script(shell: str) -> str:
    """Return the script.

    Raises:
        InvalidInput: The shell is not supported.
    """
    import typer.main

    from app.cli.main import app

    if shell not in _SHELLS:
        raise InvalidInput(
            f"Invalid shell {shell!r}: must be one of {', '.join(_SHELLS)}", field="shell"
        )
    text, between, case = _SHELLS[shell]
    tree = dict(words_of(typer.main.get_command(app)))
    known = between.join(_quoted(path) for path in tree if path)
    cases = "\n".join(
        case.format(path=_quoted(path), words=" ".join(words)) for path, words in tree.items()
    )
    return text.format(known=known, cases=cases)


def words_of(
    command: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Return the words that can follow each command: its subcommands and options."""
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
