"""Words that a shell completes, and the short form of --help."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from scripts.parts import FISH, ZSH
from tests.cli.program import Terminal, tollgate
from tests.support.binaries import needs, require_binary

ASK = """
source {script}
COMP_WORDS=({words}) COMP_CWORD={index}
_tollgate
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("completion")


def written(folder: Path, *words: str) -> Path:
    """The script for a shell, in a file."""
    path = folder / "-".join(("script", *words))
    done = tollgate(folder, "completion", *words)
    assert done.returncode == 0, done.stderr
    path.write_text(done.stdout, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def script(folder: Path) -> Path:
    return written(folder)


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


COMPLETED = (
    (("tollgate", "to"), {"token", "tools"}),
    (("tollgate", "token", "r"), {"revoke", "rotate"}),
    (("tollgate", "tools", "disable", "bash", "--f"), {"--force"}),
    (("tollgate", "audit", "--tool", "bash", "--sin"), {"--since"}),
    (("tollgate", "nothing"), set[str]()),
)


@pytest.mark.parametrize(("words", "wanted"), COMPLETED)
def test_bash_completes_commands_and_options(script: Path, words, wanted: set[str]):
    assert completed(script, *words) == wanted


def test_every_command_is_there(script: Path):
    listed = completed(script, "tollgate", "''")
    helped = tollgate(script.parent, "-h").stdout
    assert {"serve", "chat", "call", "token", "tools", "backup", "login"} <= listed
    for word in listed - {"--version", "--help"}:
        assert f"  {word} " in helped or f"  {word}\n" in helped, word


@needs(FISH)
@pytest.mark.parametrize(("words", "wanted"), COMPLETED)
def test_fish_completes_commands_and_options(folder: Path, words, wanted: set[str]):
    line = f"source {written(folder, 'fish')}; complete -C '{' '.join(words)}'"
    done = subprocess.run(
        [require_binary("fish"), "--no-config", "-c", line],
        capture_output=True,
        encoding="utf-8",
        check=True,
        env={**os.environ, "HOME": str(folder)},
        cwd=folder,
    )
    assert done.stderr == ""
    assert set(done.stdout.split()) == wanted


def _zsh(folder: Path, terminal: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [require_binary("zsh"), "-f", "-i"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb", "PS1": "> "},
        cwd=folder,
        start_new_session=True,
    )


@needs(ZSH)
async def test_zsh_completes_commands_options_and_files(folder: Path):
    """On a terminal, as its completion works nowhere else."""
    script = written(folder, "zsh")
    (folder / "own-rules.yml").touch()
    master, slave = pty.openpty()
    process = _zsh(folder, slave)
    os.close(slave)
    terminal = Terminal(process, master)
    try:
        terminal.type("autoload -U compinit && compinit -u -d dump && source ")
        terminal.type(f"{script} && tollgate() {{ print -r -- ran: $*. }} && print rea''dy\n")
        await terminal.expect("ready")
        for typed, whole in (
            ("tok\t", "token"),
            ("token ro\t", "token rotate"),
            ("tools disable bash --fo\t", "tools disable bash --force"),
            ("audit --tool bash --sin\t", "audit --tool bash --since"),
            ("rules test own\t", "rules test own-rules.yml"),
        ):
            terminal.type(f"tollgate {typed}\n")
            await terminal.expect(f"ran: {whole}.")
    finally:
        process.kill()
        process.wait()
        os.close(master)


def test_a_shell_without_a_script_is_named(folder: Path):
    done = tollgate(folder, "completion", "tcsh")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: Invalid shell 'tcsh': must be one of bash, zsh, fish\n"


@pytest.mark.parametrize("words", [(), ("token",), ("token", "create"), ("audit",)])
def test_the_short_form_of_help_is_the_long_one(tmp_path: Path, words: tuple[str, ...]):
    short, long = (tollgate(tmp_path, *words, option) for option in ("-h", "--help"))
    assert (short.returncode, long.returncode) == (0, 0)
    assert short.stdout == long.stdout
