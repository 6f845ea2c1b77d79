"""A real bash runs what is called safe: it may do nothing that would have been asked about, and
the words of a command are those that were told."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings

from app.policy.risk.assess import assess_command
from app.policy.risk.model import Verdict
from tests.policy.risk.bash_scripts import SCRIPTS, SHOWN

_LONGEST_S = 60.0
_DEEPEST = 4


class Shell:
    """A folder with a home in it, and few programs: a shell, `ls`, an `rm` that only tells that
    it ran, and `show`, which tells its words."""

    def __init__(self, root: Path) -> None:
        self.start, self.home = root / "work", root / "work" / "home"
        self._bin, self._removed, self._words = root / "bin", root / "removed", root / "words"
        self._bin.mkdir()
        reported = f'for word; do printf "%s\\0" "$word"; done > {self._words}'
        programs = (("rm", f"echo removed > {self._removed}"), ("ls", ":"), ("show", reported))
        for name, text in programs:
            (self._bin / name).write_text(f"#!/bin/sh\n{text}\n")
            (self._bin / name).chmod(0o755)
        (self._bin / "bash").symlink_to("/bin/bash")

    def does_harm(self, script: str) -> bool:
        """Run `script`; whether it removed anything or wrote what a login runs."""
        shutil.rmtree(self.start, ignore_errors=True)
        self._removed.unlink(missing_ok=True)
        # So deep that no `cd` fails: an analysis takes it that they succeed.
        for names in itertools.product(("home", "sub"), repeat=_DEEPEST):
            self.start.joinpath(*names).mkdir(parents=True, exist_ok=True)
        self._run(script)
        return self._removed.exists() or (self.home / ".bashrc").exists()

    def shown(self, script: str) -> list[str] | None:
        """The words that `show` got from `script`; None: it was not run."""
        self._words.unlink(missing_ok=True)
        self.start.mkdir(exist_ok=True)
        self._run(script)
        if not self._words.exists():
            return None
        return self._words.read_bytes().decode("utf-8", "replace").split("\0")[:-1]

    def _run(self, script: str) -> None:
        with subprocess.Popen(
            ["/bin/bash", "-c", script],
            cwd=self.start,
            env={"PATH": str(self._bin), "HOME": str(self.home), "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                process.wait(_LONGEST_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("bash"))


@pytest.mark.requirement("CNF-01")
@given(script=SCRIPTS)
@settings(max_examples=400, deadline=None, derandomize=True)
def test_what_is_safe_does_no_harm_in_a_real_shell(shell: Shell, script: str) -> None:
    report = assess_command(script, cwd=str(shell.start), home=str(shell.home))

    assert report.verdict is not Verdict.ALLOW or not shell.does_harm(script)


@pytest.mark.requirement("CNF-01")
@given(script=SHOWN)
@settings(max_examples=400, deadline=None, derandomize=True)
def test_the_words_that_are_reported_are_those_of_a_real_shell(shell: Shell, script: str) -> None:
    segments = assess_command(script).segments
    reported = next(segment.argv for segment in segments if segment.argv[0] == "show")

    if None not in reported:
        assert shell.shown(script) in (None, list(reported[1:]))


def test_the_real_shell_tells_words(shell: Shell) -> None:
    assert shell.shown('c="a b"; show $c "$c"') == ["a", "b", "a b"]


@pytest.mark.parametrize("script", ["rm x", "cd home; echo x > .bashrc", "c=rm; (c=ls); $c x"])
def test_the_real_shell_tells_of_harm(shell: Shell, script: str) -> None:
    assert shell.does_harm(script)
