"""Rules about commands that functions, aliases and files of a script run."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from app.policy.risk.model import FileRun, Given
from tests.policy.verdicts import argv, deny, verdict

NO_PUBLISH = deny("ask for a release", **argv("npm", "publish", "..."))
RUN = 'run() { npm "$1"; }; run test'


@pytest.mark.parametrize(
    "script",
    [
        'f() { npm "${2-publish}"; }; f test',
        "f() { bash; }; echo npm publish | f",
        "f() { alias n='npm publish'; }; f; n",
        "alias n='npm '\nalias p=publish\nn p",
    ],
)
def test_a_deny_finds_what_a_function_or_an_alias_runs(script: str):
    assert verdict(script, NO_PUBLISH) == "deny"


@pytest.mark.parametrize(
    "script",
    [
        f"{RUN}; command_not_found_handle() {{ run publish; }}; nonesuch",
        f"{RUN}; export -f run; bash -c '\"$@\"' _ run publish",
        f"{RUN}; export -f run; bash -c 'ru\\n publish'",
        f"{RUN}; go() {{ run publish; }}; export -f run go; bash -c go",
        "echo npm publish > a; bash ./*",
        'f() { . ./"$1"; }; echo npm publish > a; f a',
    ],
)
def test_what_a_function_or_a_file_may_run_is_not_let_through(script: str):
    assert verdict(script, NO_PUBLISH) in {"ask", "deny"}


@pytest.mark.parametrize(
    ("command", "path", "text"),
    [
        ("sh go.sh", "go.sh", "npm publish"),
        ("npm run go", "package.json", '{"scripts": {"go": "npm publish"}}'),
        ("git p", ".git/config", "[alias]\n\tp = !npm publish\n"),
        ("make", "Makefile", "all:\n\tnpm publish\n"),
    ],
)
def test_a_deny_finds_what_a_written_file_runs(command: str, path: str, text: str):
    place = f"/workspace/{path}"

    def written(_: Sequence[FileRun]) -> tuple[Given, ...]:
        return (Given(place, place, text, "d"),)

    assert verdict(command, NO_PUBLISH, written=written) == "deny"


@pytest.mark.parametrize(
    "script",
    [
        'f() { npm "${1-publish}"; }; f test',
        f"{RUN}; bash -c 'npm ci'",
        'echo x > log; . "$HOME/tools/env.sh"',
    ],
)
def test_a_deny_leaves_scripts_that_run_something_else(script: str):
    assert verdict(script, NO_PUBLISH) == "allow"
