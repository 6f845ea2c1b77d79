from __future__ import annotations

import os.path
import posixpath
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import OutsideWorkspace, ToolFailed
from app.operations.globs import compile_glob
from app.operations.paths import join_path, leaves_lexically, split_path

NAMES = st.sampled_from(["a", "b", "..", ".", "", "ws", "ws_evil", "~", "名"])
RELATIVE = st.lists(NAMES, min_size=1, max_size=8).map("/".join)
ANY_TEXT = st.text(st.characters() | st.sampled_from("/.\0~"), max_size=300)


def code_of(call: Callable[[], object]) -> str | None:
    try:
        call()
    except ToolFailed as error:
        return str(error.details.get("code", error.code))
    return None


@pytest.mark.requirement("CTX-08", "B-16")
@pytest.mark.parametrize("path", ["/ws_evil/f", "/ws_evil", "/w", "/", "/etc/ws/f"])
def test_a_sibling_with_the_same_prefix_is_outside(path: str):
    with pytest.raises(OutsideWorkspace):
        split_path(path, ("/ws",))


def test_absolute_paths_inside_become_relative():
    assert split_path("/real/ws//a/./b", ("/ws", "/real/ws")) == ("a", "b")
    assert split_path("/ws", ("/ws",)) == ()
    assert join_path(()) == "."


@pytest.mark.requirement("CTX-08")
@given(RELATIVE.filter(lambda path: path and path[0] != "/" and path.split("/")[0] != "~"))
def test_lexical_leaving_agrees_with_normalising(path: str):
    parts = split_path(path, ("/ws",))

    steps = ["/".join(parts[:count]) or "." for count in range(len(parts) + 1)]
    leaves = any(posixpath.normpath(step).split("/")[0] == ".." for step in steps)

    assert leaves_lexically(parts) is leaves


@pytest.mark.requirement("CTX-08")
@given(ANY_TEXT)
def test_any_text_gives_components_or_a_typed_error(path: str):
    refused = code_of(lambda: split_path(path, ("/ws",)))
    if refused:
        assert refused in ("outside_workspace", "invalid_path")
        return
    parts = split_path(path, ("/ws",))
    assert all(part and part != "." and "/" not in part and "\0" not in part for part in parts)
    if path.startswith("/"):
        inside = os.path.join("/ws", *parts)  # noqa: PTH118 - text only
        assert [p for p in path.split("/") if p not in ("", ".")] == inside.split("/")[1:]


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", "a/b/c.py", True),
        ("*.py", "c.pyc", False),
        ("a/*.py", "a/b/c.py", False),
        ("a/**/*.py", "a/c.py", True),
        ("a/**/*.py", "a/b/d/c.py", True),
        ("**/test_*", "x/test_1.py", True),
        ("src/**", "src/a/b", True),
        ("*.{ts,tsx}", "x/a.tsx", True),
        ("*.{ts,tsx}", "x/a.js", False),
        ("[!a]?.txt", "bb.txt", True),
        ("[!a]?.txt", "ab.txt", False),
        ("[a-c]x", "bx", True),
        ("a+(b).txt", "a+(b).txt", True),
        ("说明*", "docs/说明书.md", True),
        (r"\*", "*", True),
        (r"\*", "x", False),
    ],
)
def test_globs_match_as_documented(pattern: str, path: str, expected):
    assert compile_glob(pattern)(path) is expected


@given(st.text(st.sampled_from("ab*?[]!{},/\\.^-"), max_size=30))
def test_any_glob_compiles_or_is_a_typed_error(pattern: str):
    refused = code_of(lambda: compile_glob(pattern))
    if refused:
        assert refused == "invalid_pattern"
        return
    assert compile_glob(pattern)("a/b.py") in (True, False)
