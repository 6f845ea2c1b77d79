"""Checks for texts typed into other programs, and for names that show what they are."""

from __future__ import annotations

import unicodedata

_CONTROLS = frozenset({"Cc", "Cs", "Co", "Cn", "Zl", "Zp"})
_KEPT = "\n\t"
# Emoji are joined and chosen between by these.
_SHAPING = "\u200d\ufe0e\ufe0f"


def text_problem(text: str) -> str | None:
    """Return why a text cannot be pasted unchanged, or None.

    Line breaks and tabs may stand. Escape sequences, other controls and halves of characters would
    be keys to the program that gets them, or nothing at all.
    """
    for character in text:
        if unicodedata.category(character) in _CONTROLS and character not in _KEPT:
            return f"it contains the control character U+{ord(character):04X}"
    return None


def name_problem(name: str) -> str | None:
    """Return why a name is not a valid group name, or None.

    Nothing in it may be invisible: two names that look alike must not be two groups.
    """
    if name != name.strip() or not name:
        return "it starts or ends with a space, or is empty"
    for character in name:
        category = unicodedata.category(character)
        hidden = category == "Cf" and character not in _SHAPING
        if category in _CONTROLS or hidden:
            return f"it contains the invisible character U+{ord(character):04X}"
    return None
