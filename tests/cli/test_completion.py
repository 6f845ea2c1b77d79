"""Words that a shell completes, and the short form of --help."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.program import tollgate
from tests.support.binaries import require_binary

ASK = """
source {script}
COMP_WORDS=({words}) COMP_CWORD={index}
_tollgate
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    path = folder / "tollgate.bash"
    path.write_text(tollgate(folder, "completion").stdout, encoding="utf-8")
    return path


def completed(script: Path, *words: str) -> set[str]:
    text = ASK.format(script=script, words=" ".join(words), index=len(words) - 1)
    done = subprocess.run(
        [require_binary("bash"), "--norc", "-c", text],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("tollgate", "to"), {"token", "tools"}),
        (("tollgate", "token", "r"), {"revoke", "rotate"}),
        (("tollgate", "tools", "disable", "bash", "--f"), {"--force"}),
        (("tollgate", "audit", "--tool", "bash", "--sin"), {"--since"}),
        (("tollgate", "nothing"), set[str]()),
    ],
)
def test_bash_completes_commands_and_options(script: Path, words, wanted: set[str]):
    assert completed(script, *words) == wanted


def test_every_command_is_there(script: Path):
    listed = completed(script, "tollgate", "''")
    helped = tollgate(script.parent, "-h").stdout
    assert {"serve", "chat", "call", "token", "tools", "backup", "login"} <= listed
    for word in listed - {"--version", "--help"}:
        assert f"  {word} " in helped or f"  {word}\n" in helped, word


@pytest.mark.parametrize("words", [(), ("token",), ("token", "create"), ("audit",)])
def test_the_short_form_of_help_is_the_long_one(tmp_path: Path, words: tuple[str, ...]):
    short, long = (tollgate(tmp_path, *words, option) for option in ("-h", "--help"))
    assert (short.returncode, long.returncode) == (0, 0)
    assert short.stdout == long.stdout
