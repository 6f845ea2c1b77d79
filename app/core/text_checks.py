"""Checks of texts for other programs, and of names for invisible characters."""

from __future__ import annotations

import unicodedata

_CONTROLS = frozenset({"Cc", "Cs", "Co", "Cn", "Zl", "Zp"})
_KEPT = "\n\t"
# Joiners and variation selectors of emoji.
_SHAPING = "\u200d\ufe0e\ufe0f"


def text_problem(text: str) -> str | None:
    """Return why a text cannot be pasted unchanged, or None.

    Line breaks and tabs are allowed. The program could interpret escape sequences, other controls
    and lone surrogates as keys, or ignore them.
    """
    for character in text:
        if unicodedata.category(character) in _CONTROLS and character not in _KEPT:
            return f"it contains the control character U+{ord(character):04X}"
    return None


def name_problem(name: str) -> str | None:
    """Return why a name is not a valid group name, or None.

    Invisible characters are refused, because two groups could then have the same visible name.
    """
    if name != name.strip() or not name:
        return "it starts or ends with a space, or is empty"
    for character in name:
        category = unicodedata.category(character)
        hidden = category == "Cf" and character not in _SHAPING
        if category in _CONTROLS or hidden:
            return f"it contains the invisible character U+{ord(character):04X}"
    return None
