"""Where the words of a command lie: absolute, normalised, and marked where it cannot be told."""

from __future__ import annotations

import pytest

from app.policy.risk.call import UNKNOWN, resolve


@pytest.mark.parametrize(
    ("path", "cwd", "found"),
    [
        ("/etc/hosts", "/w", "/etc/hosts"),
        ("a/b", "/w", "/w/a/b"),
        ("a/../b/./c//d/", "/w", "/w/b/c/d"),
        ("/", "/w", "/"),
        ("../../..", "/w", "/"),
        ("", "/w", "/w"),
        ("a", "/", "/a"),
        ("~/x", "/w", "/home/bob/x"),
        ("a", "here/there", "/here/there/a"),
        ("a", None, f"{UNKNOWN}/a"),
        ("/a", None, "/a"),
        (f"/{UNKNOWN}/a", "/w", f"{UNKNOWN}/a"),
        (f"{UNKNOWN}/../a", "/w", f"/w/{UNKNOWN}/a"),
    ],
)
def test_a_path_is_absolute_and_normal_or_begins_with_what_is_not_known(
    path: str, cwd: str | None, found: str
):
    assert resolve(path, cwd, "/home/bob") == found
