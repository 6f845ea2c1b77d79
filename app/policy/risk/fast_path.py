"""Fast path of the parser, for commands without expansions."""

from __future__ import annotations

import re

_QUOTED = r"'[^'\n]*+'|\"[^\"$`\\\n]*+\""
_PLAIN_WORD = re.compile(rf"(?>(?:[^\s'\"]++|{_QUOTED})+)")
_PLAIN_QUOTE = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_ENDS = r"[;\n)|]|&(?!>)|\Z"
_RESERVED = "if|then|elif|else|fi|while|until|for|select|do|done|case|esac|in|function|coproc|time"
_PLAIN_COMMAND = re.compile(
    rf"(?!(?=[itewufsdc])(?:{_RESERVED})(?:[ \t]|{_ENDS}))"
    rf"(?:(?>(?:[\w./:@%,^-]++|{_QUOTED})+)|\[(?=[ \t]))"
    rf"(?>(?:[ \t]++(?>(?:[\w./:@%,^=+*?\[\]-]++|{_QUOTED})+))*)"
    rf"(?=[ \t]*+(?:{_ENDS}))",
    re.ASCII,
)


def plain_words(text: str, at: int) -> tuple[list[str], int] | None:
    """Return the words of a plain command at `at`, and its end; None: parse it in parts."""
    match = _PLAIN_COMMAND.match(text, at)
    if match is None:
        return None
    found = match[0]
    if "'" not in found and '"' not in found:
        return found.split(), match.end()
    words = [
        _PLAIN_QUOTE.sub(_unquoted, word) if "'" in word or '"' in word else word
        for word in _PLAIN_WORD.findall(found)
    ]
    return words, match.end()


def _unquoted(match: re.Match[str]) -> str:
    return match.group(1) or match.group(2) or ""
