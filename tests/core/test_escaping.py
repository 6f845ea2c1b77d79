"""What hides or is drawn as nothing is written out."""

import pytest

from app.core.escaping import unpadded, visible


@pytest.mark.parametrize(
    "mark",
    [
        *("\x1b", "\u202e", "\u200b", "\ufeff", "\u2028", "\udc80", "\ue000"),
        *("\u034f", "\u115f", "\u3164", "\uffa0", "\u17b4", "\u180b"),
        *("\U000e0061", "\U000e0100"),
    ],
    ids=ascii,
)
def test_what_cannot_be_seen_is_written_out(mark: str):
    shown = visible(f"rm{mark} x")
    assert mark not in shown
    assert f"{ord(mark):x}" in shown


@pytest.mark.parametrize("text", ["ls -la\n", "密码 é ü", "\u2764\ufe0f", "e\u0301"], ids=ascii)
def test_what_can_be_seen_stays(text: str):
    assert visible(text) == text


def test_emptiness_is_counted():
    assert unpadded(f"ls{' ' * 400}; rm x") == "ls⟨400 spaces⟩; rm x"
