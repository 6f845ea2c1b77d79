"""Conversion of search text to an always valid full-text expression.

Only words of `app.knowledge.memory.words` get into the expression, each in quotes: anything that
looks like syntax is text, or has the meaning in docs/memory.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

from app.domain.memory import MatchMode
from app.knowledge.memory.words import normalised, pieces_of, words_of

MAX_WORDS = 64
"""Maximum number of words in one search; the others are counted as omitted."""

_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»「」『』＂", '"'))
_BEGINNING = re.compile(r"\w\*")
_UNITS = re.compile(r'"([^"]*)"|([^\s"]+)')
# Stop words; used only if nothing else is left.
_ENGLISH = (
    "a an and are as at be by can did do does for from had has have how i in is it its me my of on"
    " or our should so than that the their them there they this to us use was we were what when"
    " where which who whom whose why will with would you your"
)
# Chinese stop characters: pairs across one have no meaning either.
_CHINESE = re.compile(
    "为什么|什么时候|什么|怎么样|怎么|怎样|如何|多少|多久|哪个|哪些|哪里|哪儿|是否|是不是|有没有|可以|应该"
    "|我们|你们|他们|这个|那个|一个"
)
_PARTICLES = "的了吗呢吧是用在有我你他她它要去谁几"
_SAYS_NOTHING = frozenset(
    [*(words_of(word)[1] for word in _ENGLISH.split()), *(words_of(one)[0] for one in _PARTICLES)]
)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """Parsed search text.

    Attributes:
        expression: for the column of words; None without words.
        left_out: number of words above the limit.
    """

    expression: str | None
    left_out: int = 0


def read_question(text: str, mode: MatchMode) -> SearchQuery:
    """Parse a search text; any text is valid.

    `"…"` is a phrase, `word*` a prefix; everything else are words, of which `and` requires all and
    `or` any.
    """
    terms = dict.fromkeys(_terms(text))
    if mode == "or":
        cut = dict.fromkeys(_terms(_CHINESE.sub(" ", text)))
        terms = {term: None for term in cut if term.strip('"') not in _SAYS_NOTHING} or terms
    wanted = list(terms)[:MAX_WORDS]
    if not wanted:
        return SearchQuery(None)
    return SearchQuery(f" {mode.upper()} ".join(wanted), len(terms) - len(wanted))


def is_open(text: str) -> bool:
    """Return whether other words may match: not for quoted phrases and prefixes."""
    if not text.strip():
        return False
    return '"' not in text.translate(_QUOTES) and _BEGINNING.search(text) is None


def tag_word(tag: str) -> str:
    """Encode a tag as one index word of digits, which has no stem."""
    return str(int(sha256(normalised(tag).strip().encode("utf-8", "replace")).hexdigest()[:15], 16))


def _terms(text: str) -> list[str]:
    found: list[str] = []
    for phrase, unit in _UNITS.findall(text.translate(_QUOTES)):
        if phrase:
            # An index also limits phrases; a text this long is not a phrase.
            words = words_of(phrase)[: MAX_WORDS * 2]
            found += [f'"{" ".join(words)}"'] if words else []
        elif unit:
            found += _words(unit)
    return found


def _words(unit: str) -> list[str]:
    """Return the words of a unit without spaces; the last may be a prefix."""
    form = normalised(unit)
    found: list[str] = []
    for piece in pieces_of(form):
        if not piece.is_run and form[piece.end :].startswith("*"):
            found.append(f'"{piece.beginning()}"*')
        else:
            found += [f'"{word}"' for word in piece.asked()]
    return found
