"""Separation of a program's texts and comments from its code.

A quote in a comment or regular expression starts no text: misreading it would hide the code after
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

_LINE_TEXT = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_TEXT = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
_SLASHES = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_HASH = r"(?<!\S)#(?!\{)[^\n]*"
_REGEX = (
    r"(?:(?:^|[=(,:;!&|?{}\[~\n<>+*%]|\b(?:return|typeof|case|in|split|grep|if|unless|and|or|not"
    r"|when|while|until)\b)\s*|\b(?<![$@%&\w>.-])(?:m|qr)\s*)"
    r"(?P<regex>/(?![/*])(?>(?:\\.|\[(?>(?:\\.|[^\]\\\n]){0,200})\]|[^/\\\n\[]){1,400})/[a-z]*)(?P<called>\.exec\b)?"
)
_BRACKETED = r"\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]|<[^<>]*>"
_PERL_QUOTES = (
    r"(?<![$@%&\w>-])(?:"
    r"(?:s|tr|y)(?P<delimiter>[^\w\s=)}\]>])(?>(?:\\.|(?!(?P=delimiter)).){0,400})(?P=delimiter)"
    r"(?>(?:\\.|(?!(?P=delimiter)).){0,400})(?P=delimiter)"
    rf"|(?:s|tr|y)\s*(?:{_BRACKETED})\s*(?:{_BRACKETED})"
    rf"|(?:m|q|qq|qw|qr|qx)(?:\s*(?:{_BRACKETED})|"
    r"(?P<mark>[^\w\s=(){}\[\]<>,;])(?>(?:\\.|(?!(?P=mark)).){0,400})(?P=mark)))"
)
_RUBY_QUOTES = (
    rf"%[qQwWiIrx]?(?:{_BRACKETED}|(?P<mark>[|!/])(?>(?:(?!(?P=mark)).){{0,400}})(?P=mark))"
)

_COMMENTS = {
    **dict.fromkeys(("node", "java", "groovy", "scala", "swift"), _SLASHES),
    "php": rf"{_SLASHES}|{_HASH}",
    **dict.fromkeys(("perl", "ruby", "R", "julia", "elixir", "octave", "gnuplot"), _HASH),
    "lua": r"--\[\[.*?(?:\]\]|\Z)|--[^\n]*",
    "haskell": r"--[^\n]*|\{-.*?(?:-\}|\Z)",
}
_QUOTES = {
    "node": rf"(?P<template>`(?:[^`\\]|\\.)*`)|{_REGEX}",
    "perl": rf"(?P<kept>{_PERL_QUOTES})|{_REGEX}",
    "ruby": rf"(?P<kept>{_RUBY_QUOTES})|{_REGEX}",
    "lua": r"(?P<kept>\[(?P<level>=*)\[.*?(?:\](?P=level)\]|\Z))",
}
_MANY_LINES = frozenset(["perl", "ruby", "php"])
_AFTER_TEXT = re.compile(
    r"\s+(?!(?:in|of|instanceof|as|from|if|unless|x|eq|ne|lt|gt|le|ge|cmp|and|or|xor|not|for"
    r"|foreach|while|until|do|then|else|end|when|rescue)\b)[A-Za-z_$@][\w]*|[\w$@]"
)
_SEARCHES = re.compile(
    r"(?:^|[=(,:;!&|]~?|(?<![$@%&>.-])\b(?:return|split|grep|if|unless|and|or|not|when|while|until"
    r"|print|puts))\s*$"
)
"""Tokens before a regular expression, but never before a division."""
_EVALUATES = re.compile(r"\(\?\??\{|[$@][\w:]*\s*(?:->)?\s*[{\[(]|#\{")
"""Code executed inside a regular expression or a quote."""
_INTERPOLATED = re.compile(r"#\{([^}]*)\}|@\{\[(.*?)\]\}")
_HERE = re.compile(r"<<[~-]?\s*[\"'A-Z]|<<<")


@dataclass(slots=True)
class ReadCode:
    """`code` is the program without its texts and comments; `texts` are the texts.

    `certain` is False if a quote may have another meaning than assumed.
    """

    code: str = ""
    texts: list[str] = field(default_factory=list)
    certain: bool = True


def read_code(language: str, program: str) -> ReadCode:
    """Replace texts with `""`; a text used as index or required becomes `.text(`."""
    found = ReadCode()
    pieces: list[str] = []
    end = 0
    for token in _tokens(language).finditer(program):
        pieces.append(program[end : token.start()])
        pieces.extend(_replaced(language, token, found))
        end = token.end()
    pieces.append(program[end:])
    found.code = "".join(pieces)
    bare = found.code.replace('""', "")
    if "'" in bare or '"' in bare or (language in _MANY_LINES and _HERE.search(found.code)):
        found.certain = False
    return found


@lru_cache(maxsize=64)
def _tokens(language: str) -> re.Pattern[str]:
    text = _TEXT if language in _MANY_LINES else _LINE_TEXT
    parts = [f"(?P<text>{text})"]
    if comment := _COMMENTS.get(language):
        parts.insert(0, f"(?P<comment>{comment})")
    if quotes := _QUOTES.get(language):
        parts.append(quotes)
    return re.compile("|".join(parts), re.DOTALL)


def _replaced(language: str, token: re.Match[str], found: ReadCode) -> Iterator[str]:
    kinds = token.groupdict()
    if kinds.get("comment"):
        yield " "
    elif kinds.get("template"):
        yield from _template(token.group())
    elif regex := kinds.get("regex"):
        before = token.group()[: token.start("regex") - token.start()]
        yield before
        yield "//" if _only_searches(token, before, regex) else _unquoted(regex)
        if kinds["called"]:
            # Code executed by a regular expression counts as a search.
            yield ".match"
    elif kinds.get("kept"):
        yield '""' if language == "perl" and _is_data(token) else _unquoted(token.group())
    else:
        yield from _text(language, token, found)


def _only_searches(token: re.Match[str], before: str, regex: str) -> bool:
    start = token.string[max(0, token.start() - 20) : token.start()] + before
    return bool(_SEARCHES.search(start)) and not _EVALUATES.search(regex)


def _is_data(token: re.Match[str]) -> bool:
    """Return whether it is a text, search or replacement of Perl that runs nothing."""
    text = token.group()
    flags = re.match(r"[a-z]*", token.string[token.end() :])
    before = token.string[max(0, token.start() - 8) : token.start()].rstrip()
    return not (
        text.startswith("qx")
        or before.endswith(("sub", "->", "{"))
        or (text[0] == "s" and flags and "e" in flags.group())
        or _EVALUATES.search(text)
    )


def _template(token: str) -> Iterator[str]:
    start = token.find("${")
    yield "`` " if start < 0 else f"`` {_unquoted(token[start:])} "


def _unquoted(text: str) -> str:
    return text.replace("'", " ").replace('"', " ")


_INDEXED = re.compile(r"[\w)\]]\s*\[$")


def _text(language: str, token: re.Match[str], found: ReadCode) -> Iterator[str]:
    text = token.group()[1:-1]
    found.texts.append(text)
    if _AFTER_TEXT.match(token.string, token.end()):
        found.certain = False
    before = token.string[max(0, token.start() - 80) : token.start()].rstrip()
    after = token.string[token.end() : token.end() + 80].lstrip()
    opened = before.endswith("[") and after.startswith("]") and _INDEXED.search(before)
    indexed = opened or before.endswith(("require(", "import("))
    inner = _INTERPOLATED.search(text) if language in {"ruby", "perl"} else None
    if inner:
        yield f" {inner.group(1) or inner.group(2) or ''} "
    else:
        yield f".{text}(" if indexed else '""'
