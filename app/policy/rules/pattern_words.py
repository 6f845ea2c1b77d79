"""Search patterns, which name no file: the pattern of `grep -n .env README.md`.

A word surely is one only where every other word is known: an option that comes with a variable
or with `*` may bring a pattern of its own, and what looked like the pattern is a file then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from app.policy.risk.call import names
from app.policy.rules.globs import GLOBBED


class PatternWords(NamedTuple):
    """Places of words in a command.

    Attributes:
        surely: they name no file.
        perhaps: they name none unless another word becomes an option that brings a pattern.
    """

    surely: frozenset[int] = frozenset()
    perhaps: frozenset[int] = frozenset()


_NONE = PatternWords()
_FOLDERS = frozenset(["", "/bin", "/usr/bin", "/usr/local/bin"])


@dataclass(frozen=True, slots=True)
class _Search:
    """Position of a program's pattern: the first operand, unless given in an option.

    Attributes:
        flags, valued: letters of options without a value, and with one.
        long, long_valued: options in full.
        brings, long_brings: options whose value is a pattern.
        is_first: the first operand is a pattern where no option brings one.
        leaves_out: options whose value names files that are not read.
        pattern: the patterns that are texts alone; None for all.
    """

    flags: str
    valued: str = ""
    long: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    leaves_out: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    brings: str = ""
    long_brings: frozenset[str] = frozenset()
    is_first: bool = True


_REGEXP = frozenset(["regexp"])
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
    brings="e",
    long_brings=_REGEXP,
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
    brings="e",
    long_brings=_REGEXP,
)
_AG = _Search(
    "0aDcfFHilLnoQrRsStuUvwz",
    "mW",
    frozenset(
        names(
            "literal fixed-strings ignore-case case-sensitive smart-case word-regexp count "
            "invert-match files-with-matches files-without-matches only-matching silent hidden "
            "color nocolor column numbers nonumbers heading noheading group nogroup vimgrep stats "
            "follow all-text all-types unrestricted null"
        )
    ),
    frozenset(["max-count", "width", "depth"]),
    frozenset(["ignore", "ignore-dir"]),
)
_GIT_LOG = _Search(
    "0123456789picmsu",
    "n",
    frozenset(
        names(
            "oneline all branches graph decorate stat shortstat numstat name-only name-status "
            "patch no-patch reverse no-color no-merges merges first-parent abbrev-commit "
            "pickaxe-regex pickaxe-all regexp-ignore-case all-match invert-grep fixed-strings "
            "extended-regexp"
        )
    ),
    frozenset(["max-count", "skip", "since", "until", "after", "before"]),
    brings="SG",
    long_brings=frozenset(["grep", "author", "committer"]),
    is_first=False,
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
    brings="e",
    long_brings=frozenset(["expression"]),
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
        ("grep egrep fgrep ggrep gegrep gfgrep zgrep zegrep zfgrep bzgrep xzgrep", _GREP),
        ("rg", _RIPGREP),
        ("ag", _AG),
        ("sed gsed", _SED),
        ("awk gawk mawk nawk", _AWK),
        ("jq", _JQ),
    )
    for name in names(listed)
}
_FD = _Search(
    "HIsigFaLp01q",
    "tdeSjc",
    frozenset(
        names(
            "hidden no-ignore no-ignore-vcs case-sensitive ignore-case glob regex fixed-strings "
            "absolute-path follow full-path print0 max-one-result quiet unrestricted"
        )
    ),
    frozenset(names("type max-depth min-depth exact-depth extension size color threads")),
    frozenset(["exclude"]),
)
_LOCATE = _Search(
    "icbewr0qAL",
    "ln",
    frozenset(names("ignore-case count basename existing wholename regex null quiet all follow")),
    frozenset(["limit"]),
)
_LISTERS = {
    **dict.fromkeys(["fd", "fdfind"], _FD),
    **dict.fromkeys(["locate", "plocate", "mlocate"], _LOCATE),
}
"""Programs that say which names there are, and open no file."""
_GIT_SEARCHES = {
    "grep": replace(_GREP, long_brings=frozenset()),
    "log": _GIT_LOG,
}
_FIND_NAMES = frozenset(["-name", "-iname"])
_FIND_LISTS = frozenset(
    names(
        "-name -iname -type -maxdepth -mindepth -not ! -o -or -a -and -print -print0 -ls -mtime "
        "-mmin -size -empty -newer -L -H -P"
    )
)


def pattern_words(argv: Sequence[str | None], *, alone: bool) -> PatternWords:
    """Return the indexes in `argv` of search patterns.

    Args:
        alone: no other command reads the matches.
    """
    program = argv[0] if argv else None
    folder, _, name = (program or "").rpartition("/")
    if folder not in _FOLDERS:
        return _NONE
    if name in {"find", "gfind"}:
        return PatternWords(frozenset(_of_find(argv))) if alone else _NONE
    if name in _LISTERS:
        return _of_search(_LISTERS[name], argv, 1) if alone else _NONE
    if name == "git":
        search, at = _GIT_SEARCHES.get(argv[1] or "") if len(argv) > 1 else None, 2
    else:
        search, at = _SEARCHES.get(name), 1
    return _NONE if search is None else _of_search(search, argv, at)


def _of_search(search: _Search, argv: Sequence[str | None], at: int) -> PatternWords:
    surely: set[int] = set()
    first: int | None = None
    is_brought, is_open = not search.is_first, False
    while at < len(argv):
        word = argv[at]
        if word == "--":
            # Later words contain no options.
            first = at + 1 if first is None else first
            break
        if word is None or word[:1] in "*?[":
            is_open = True  # it may become options
        elif word[:1] == "-" and word != "-":
            option = _option(search, word)
            if option is None or not _is_plain(argv[at + 1 : at + 1 + option.taken]):
                is_brought = True  # perhaps; and what follows may be its value
                break
            if not is_open:
                surely.update(_texts(search, argv, at, option))
            is_brought = is_brought or option.brings
            at += 1 + option.taken
            continue
        first = at if first is None else first
        at += 1
    if is_brought:
        return PatternWords(frozenset(surely))
    found = _if_pattern(search, argv, first)
    if is_open:
        return PatternWords(frozenset(surely), frozenset(found))
    return PatternWords(frozenset([*surely, *found]))


class _Option(NamedTuple):
    """An option that is known.

    Attributes:
        taken: how many of the next words are its value.
        leaves_out: its value names files that are not read.
        is_text: its value is a pattern.
        brings: and the first operand is none then.
        joined: its value where it is in the same word.
    """

    taken: int = 0
    leaves_out: bool = False
    is_text: bool = False
    brings: bool = False
    joined: str | None = None


def _texts(search: _Search, argv: Sequence[str | None], at: int, option: _Option) -> Sequence[int]:
    """The place of its value, where that names no file that is read."""
    if option.leaves_out:
        return [at + option.taken]
    if option.is_text:
        return _if_pattern(search, argv, at + option.taken, option.joined)
    return []


def _option(search: _Search, word: str) -> _Option | None:
    """None where it is not known."""
    if word.startswith("--"):
        name, is_joined, value = word[2:].partition("=")
        if name in search.long:
            return _Option()
        brings, leaves_out = name in search.long_brings, name in search.leaves_out
        if not (brings or leaves_out or name in search.long_valued):
            return None
        joined, first = value if is_joined else None, brings and search.is_first
        return _Option(int(not is_joined), leaves_out, brings, first, joined)
    for at, letter in enumerate(word[1:], 2):
        is_last = at == len(word)
        if letter in search.brings:
            joined = None if is_last else word[at:]
            return _Option(int(is_last), False, True, search.is_first, joined)
        if letter in search.valued:
            return _Option(int(is_last))
        if letter not in search.flags:
            return None
    return _Option()


def _is_plain(words: Sequence[str | None]) -> bool:
    """Return whether each is one word after expansion."""
    return all(word is not None and not GLOBBED.search(word) for word in words)


def _if_pattern(
    search: _Search, argv: Sequence[str | None], at: int | None, joined: str | None = None
) -> list[int]:
    """The place, where a pattern of the program is there, or `joined` is one."""
    word = joined
    if joined is None:
        word = argv[at] if at is not None and at < len(argv) else None
    if at is None or word is None or GLOBBED.search(word):
        return []
    return [at] if search.pattern is None or search.pattern.fullmatch(word) else []


def _of_find(argv: Sequence[str | None]) -> Iterator[int]:
    """Yield the names that `find` compares, if it only lists."""
    options = [word for word in argv[1:] if word is None or word[:1] in "-!"]
    if None in argv or not _FIND_LISTS.issuperset(options):
        return
    yield from (at + 1 for at, word in enumerate(argv[:-1]) if word in _FIND_NAMES)
