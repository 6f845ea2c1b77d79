"""Characters that make a reviewer see something else than what runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import Hit, deny

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_JOINED_EMOJI = re.compile("(?<=[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f])\u200d")


def findings(command: str) -> Iterator[Hit]:
    # What is left of usual text without its line ends and tabs can be told at once.
    if command.isascii() and command.replace("\n", "").replace("\t", "").isprintable():
        return
    if match := _CONTROL.search(command):
        yield deny("control_character", f"contains the control character {match.group()!r}")
    if match := _HIDDEN.search(_JOINED_EMOJI.sub("", command)):
        shown = f"U+{ord(match.group()):04X}"
        yield deny("hidden_character", f"contains the invisible or bidirectional character {shown}")
