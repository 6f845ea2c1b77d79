"""Characters that make a reviewer see something else than what runs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from app.policy.risk.call import RuleMatch, deny

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_JOINED_EMOJI = re.compile("(?<=[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f])\u200d")
_JOINER = re.compile("[\u200c\u200d]")
_CURSIVE = re.compile(
    "[\u0620-\u064a\u066e-\u06d3\u06d5\u06ee\u06ef\u06fa-\u06ff\u0710-\u072f\u074d-\u077f\u07ca-\u07ea"
    "\u0840-\u0858\u0860-\u086a\u08a0-\u08c9\u1820-\u18aa\ua840-\ua871]"
)
"""Letters joined to the next one in writing: Arabic and related scripts, Mongolian."""
_KILLS_THE_VOWEL = 9
"""Combining class of signs at which Indic letters are joined, or not."""


def findings(command: str) -> Iterator[RuleMatch]:
    # Fast check for the remaining usual characters, without line ends and tabs.
    if command.isascii() and command.replace("\n", "").replace("\t", "").isprintable():
        return
    if match := _CONTROL.search(command):
        yield deny("control_character", f"contains the control character {match.group()!r}")
    if match := _HIDDEN.search(_JOINER.sub(_kept, _JOINED_EMOJI.sub("", command))):
        shown = f"U+{ord(match.group()):04X}"
        yield deny("hidden_character", f"contains the invisible or bidirectional character {shown}")


def _kept(joiner: re.Match[str]) -> str:
    """Return the joiner itself, or nothing if a script needs it to spell a word."""
    text = joiner.string
    before = text[joiner.start() - 1 : joiner.start()]
    letter = text[: joiner.start()].rstrip(_MARKS)[-1:]
    after = text[joiner.end() : joiner.end() + 1]
    if _KILLS_THE_VOWEL in map(unicodedata.combining, before + after):
        return ""
    if joiner.group() == "\u200d":
        return "" if _CURSIVE.match(letter) else joiner.group()
    # A Persian ending is separated from any word: of its own letters, others, or digits.
    return "" if letter.isalnum() and _CURSIVE.match(after) else joiner.group()


_MARKS = "".join(
    map(chr, [*range(0x610, 0x61B), *range(0x64B, 0x660), 0x670, *range(0x6D6, 0x6ED)])
)
