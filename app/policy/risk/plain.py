"""The quick way to read a command in which nothing is expanded."""

from __future__ import annotations

import re

from app.policy.risk.call import names

_QUOTED = r"'[^'\n]*+'|\"[^\"$`\\\n]*+\""
_PLAIN_WORD = re.compile(rf"(?:[^\s'\"]++|{_QUOTED})++")
_PLAIN_QUOTE = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_PLAIN_COMMAND = re.compile(
    rf"(?:(?:[\w./:@%,^-]++|{_QUOTED})++|\[(?=[ \t]))"
    rf"(?:[ \t]++(?:[\w./:@%,^=+*?\[\]-]++|{_QUOTED})++)*+"
    r"(?=[ \t]*+(?:[;\n)|]|&(?!>)|\Z))",
    re.ASCII,
)
_RESERVED_WORDS = frozenset(
    names("if then elif else fi while until for select do done case esac in function coproc time")
)


def plain_words(text: str, at: int) -> tuple[list[str], int] | None:
    """The words of a plain command at `at`, and where it ends; None: read it part by part."""
    match = _PLAIN_COMMAND.match(text, at)
    if match is None:
        return None
    found = match.group()
    words = found.split()
    if words[0] in _RESERVED_WORDS:
        return None
    if "'" in found or '"' in found:
        words = [
            _PLAIN_QUOTE.sub(_unquoted, word) if "'" in word or '"' in word else word
            for word in _PLAIN_WORD.findall(found)
        ]
    return words, match.end()


def _unquoted(match: re.Match[str]) -> str:
    return match.group(1) or match.group(2) or ""
