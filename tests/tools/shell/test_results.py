"""What an exit status means."""

import pytest

from app.tools.shell.results import exit_meaning


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        ("nosuch", 127, "command not found"),
        ("./data.txt", 126, "found, but cannot be executed"),
        ("timeout 1 sleep 9", 124, "the command's own time limit ran out"),
        ("x", 130, "interrupted"),
        ("x", 137, "killed, possibly for using too much memory"),
        ("x", 139, "crashed with a segmentation fault"),
        ("grep 'a|b' file", 1, "no lines matched"),
        ("cat f | LC_ALL=C /usr/bin/grep x > out", 1, "no lines matched"),
        ("cd src && diff a b", 1, "the files differ"),
        ("grep x f; false", 1, None),
        ("grep x f", 2, None),
        ("echo 'unbalanced", 1, None),
        ("", 1, None),
    ],
)
def test_a_known_status_is_explained(command, code, text):
    assert exit_meaning(command, code) == text
