"""Words that a program looks for, and that name no file: the pattern of `grep -n .env README.md`.

A word is one only where every other word is known: an option that comes with a variable or with
`*` may bring a pattern of its own, and what looked like the pattern is a file then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.policy.risk.call import names
from app.policy.rules.globs import GLOBBED

_FOLDERS = frozenset(["", "/bin", "/usr/bin", "/usr/local/bin"])


@dataclass(frozen=True, slots=True)
class _Search:
    """How a program takes its pattern: as its first operand, unless an option brings it.

    Attributes:
        flags, valued: letters of options without a value, and with one.
        long, long_valued: options in full.
        leaves_out: options whose value names files that are not read.
        pattern: the patterns that are texts alone; None for all.
    """

    flags: str
    valued: str = ""
    long: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    leaves_out: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None


_GREP = _Search(
    "0123456789EFGPHILTUVZabchilnoqrsvwxyzRp",
    "ABCm",
    frozenset(
        names(
            "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case "
            "word-regexp line-regexp invert-match count color colour files-without-match "
            "files-with-matches only-matching quiet silent no-messages byte-offset with-filename "
            "no-filename initial-tab line-number null null-data recursive "
            "dereference-recursive text"
        )
    ),
    frozenset(["max-count", "after-context", "before-context", "context"]),
    frozenset(["exclude", "exclude-dir"]),
)
_RIPGREP = _Search(
    "0FHILNPSUacilnopqsuvwxz",
    "ABCm",
    frozenset(
        names(
            "fixed-strings ignore-case case-sensitive smart-case word-regexp line-regexp count "
            "invert-match files-with-matches files-without-match only-matching quiet with-filename "
            "no-filename line-number no-line-number hidden no-ignore no-heading heading multiline "
            "pcre2 text null vimgrep column stats json no-config"
        )
    ),
    frozenset(["max-count", "after-context", "before-context", "context", "max-depth", "color"]),
)
_PART = r"(?:(?!{end})[^\\\n]|\\.)*"
_ADDRESS = rf"(?:\d+|\$|/{_PART.format(end='/')}/)"
_SED = _Search(
    "nErsuzi",
    long=frozenset(names("quiet silent regexp-extended in-place separate unbuffered null-data")),
    pattern=re.compile(
        rf"(?:{_ADDRESS}(?:,{_ADDRESS})?!?)?(?:[dpq=]|"
        rf"s(?P<end>[^\w\s\\]){_PART.format(end='(?P=end)')}(?P=end)"
        rf"{_PART.format(end='(?P=end)')}(?P=end)[gpiI\d]*)"
    ),
)
_AWK = _Search(
    "",
    "Fv",
    pattern=re.compile(
        rf"!?/{_PART.format(end='/')}/\s*(?:\{{\s*print(?:\s+\$\d+(?:\s*,\s*\$\d+)*)?\s*\}})?"
    ),
)
_JQ = _Search(
    "rcnsSMCaj",
    long=frozenset(
        names(
            "raw-output compact-output null-input slurp sort-keys monochrome-output color-output "
            "ascii-output join-output exit-status tab"
        )
    ),
    pattern=re.compile(r"[.\w\[\]]+"),
)
_SEARCHES = {
    name: search
    for listed, search in (
        ("grep egrep fgrep ggrep gegrep gfgrep", _GREP),
        ("rg", _RIPGREP),
        ("sed gsed", _SED),
        ("awk gawk mawk nawk", _AWK),
        ("jq", _JQ),
    )
    for name in names(listed)
}
_FIND_NAMES = frozenset(["-name", "-iname"])
_FIND_LISTS = frozenset(
    names(
        "-name -iname -type -maxdepth -mindepth -not ! -o -or -a -and -print -print0 -ls -mtime "
        "-mmin -size -empty -newer -L -H -P"
    )
)


def pattern_words(argv: Sequence[str | None], *, alone: bool) -> frozenset[int]:
    """The places in `argv` of words that are looked for and name no file.

    Args:
        alone: there is no other command that reads what this one finds.
    """
    program = argv[0] if argv else None
    folder, _, name = (program or "").rpartition("/")
    if folder not in _FOLDERS:
        return frozenset()
    if name in {"find", "gfind"}:
        return frozenset(_of_find(argv)) if alone else frozenset()
    at = 1
    if name == "git" and tuple(argv[1:2]) == ("grep",):
        name, at = "grep", 2
    search = _SEARCHES.get(name)
    if search is None:
        return frozenset()
    found = _of_search(search, argv, at)
    return frozenset() if found is None else frozenset(found)


def _of_search(search: _Search, argv: Sequence[str | None], at: int) -> list[int] | None:
    """None where a word is not known, or is an option that may bring the pattern."""
    left_out: list[int] = []
    first = None
    while at < len(argv):
        word = argv[at]
        if word is None:
            return None
        if word == "--":
            # What follows brings no options.
            first = at + 1 if first is None else first
            break
        if word[:1] == "-" and word != "-":
            taken = _option(search, word)
            if taken is None or not _is_plain(argv[at + 1 : at + 1 + taken]):
                return None
            if word.lstrip("-").partition("=")[0] in search.leaves_out:
                left_out.append(at + taken)
            at += 1 + taken
            continue
        if word[:1] in "*?[":
            return None  # it may become options
        first = at if first is None else first
        at += 1
    return [*left_out, *_if_pattern(search, argv, first)]


def _option(search: _Search, word: str) -> int | None:
    """How many of the next words are its value; None where it is not known."""
    if word.startswith("--"):
        name, is_joined, _ = word[2:].partition("=")
        if name in search.long:
            return 0
        known = name in search.long_valued or name in search.leaves_out
        return int(not is_joined) if known else None
    for at, letter in enumerate(word[1:], 2):
        if letter in search.valued:
            return int(at == len(word))
        if letter not in search.flags:
            return None
    return 0


def _is_plain(words: Sequence[str | None]) -> bool:
    """Whether each is one word and stays it."""
    return all(word is not None and not GLOBBED.search(word) for word in words)


def _if_pattern(search: _Search, argv: Sequence[str | None], at: int | None) -> list[int]:
    word = argv[at] if at is not None and at < len(argv) else None
    if at is None or word is None or GLOBBED.search(word):
        return []
    return [at] if search.pattern is None or search.pattern.fullmatch(word) else []


def _of_find(argv: Sequence[str | None]) -> Iterator[int]:
    """The names that `find` compares, where it does nothing but list."""
    options = [word for word in argv[1:] if word is None or word[:1] in "-!"]
    if None in argv or not _FIND_LISTS.issuperset(options):
        return
    yield from (at + 1 for at, word in enumerate(argv[:-1]) if word in _FIND_NAMES)
