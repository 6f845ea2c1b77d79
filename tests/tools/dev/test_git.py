"""`git` on real repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import InvalidArguments
from app.toolkit.context import ToolContext
from app.tools.dev.git.git import git
from app.tools.dev.git.output import read_blame, read_log, read_status
from tests.support.binaries import require_binary
from tests.tools.calls import call, call_as

WHO = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
    "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
}


def run(root: Path, *arguments: str) -> str:
    program = require_binary("git")
    done = subprocess.run(
        [program, *arguments],
        cwd=root,
        env={"PATH": os.defpath, **WHO},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def run_unguarded(root: Path) -> None:
    """What a person would type; it may fail."""
    environment = {"PATH": os.defpath, "HOME": str(root)}
    subprocess.run(["git", "diff"], cwd=root, env=environment, capture_output=True, check=False)


@pytest.fixture(autouse=True)
def repository(root: Path) -> None:
    run(root, "init", "-q", "-b", "main")
    (root / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    (root / "old.txt").write_text("a\nb\nc\nd\n", encoding="utf-8")
    run(root, "add", ".")
    run(root, "commit", "-q", "-m", "First\n\nWith a body.")
    (root / "a.txt").write_text("one\n2\n", encoding="utf-8")
    run(root, "commit", "-q", "-am", "Second")


@pytest.mark.requirement("DEV-02")
async def test_a_status_names_branch_and_every_changed_file(here: ToolContext, root: Path):
    run(root, "mv", "old.txt", "new name.txt")
    (root / "a.txt").write_text("changed\n", encoding="utf-8")
    (root / "中.txt").write_text("new\n", encoding="utf-8")
    result = await call(git, here)
    assert result.error is None
    assert {key: result.data[key] for key in ("branch", "ahead", "clean", "truncated")} == {
        "branch": "main",
        "ahead": 0,
        "clean": False,
        "truncated": False,
    }
    assert result.data["files"] == [
        {"path": "a.txt", "state": "changed", "staged": None, "unstaged": "modified"},
        {
            "path": "new name.txt",
            "state": "changed",
            "staged": "renamed",
            "unstaged": None,
            "old_path": "old.txt",
        },
        {"path": "中.txt", "state": "untracked"},
    ]
    assert result.for_model().splitlines() == [
        "Branch: main",
        "unstaged modified: a.txt",
        "staged renamed: new name.txt (from old.txt)",
        "untracked: 中.txt",
    ]
    assert result.data["sandbox"]["level"]


@pytest.mark.requirement("DEV-02")
@pytest.mark.parametrize("name", ["git_diff", "GitDiff"])
async def test_a_diff_shows_what_is_not_staged_and_what_is(
    here: ToolContext, root: Path, name: str
):
    (root / "a.txt").write_text("one\n3\n", encoding="utf-8")
    unstaged = await call_as(name, git, here)
    assert "-2\n+3\n" in unstaged.data["diff"]
    assert (unstaged.data["added"], unstaged.data["removed"]) == (1, 1)
    assert unstaged.raw_result is not None
    assert unstaged.raw_result.type == "diff"
    assert (await call(git, here, action="diff", staged=True)).for_model() == "No differences"
    run(root, "add", "a.txt")
    staged = await call(git, here, action="diff", cached=True, path="a.txt")
    assert "-2\n+3\n" in staged.data["diff"]
    between = await call(git, here, action="diff", rev="HEAD~1..HEAD", stat=True)
    assert "a.txt | 2 +-" in between.data["diff"]


@pytest.mark.requirement("DEV-02")
async def test_a_log_comes_in_pages(here: ToolContext, root: Path):
    first = await call(git, here, action="log", limit=1)
    assert [commit["subject"] for commit in first.data["commits"]] == ["Second"]
    assert first.data["truncated"] is True
    assert first.for_model().endswith("[More follows: continue with offset=1]")
    rest = await call(git, here, action="log", limit=5, offset=1)
    (commit,) = rest.data["commits"]
    assert {key: commit[key] for key in ("author", "email", "date", "subject", "body")} == {
        "author": "Ann",
        "email": "ann@example.org",
        "date": "2026-01-02T03:04:05+00:00",
        "subject": "First",
        "body": "With a body.",
    }
    assert (await call(git, here, action="log", path="old.txt")).data["count"] == 1


@pytest.mark.requirement("DEV-02")
async def test_show_tells_a_commit_or_a_file_of_it(here: ToolContext, root: Path):
    commit = await call(git, here, action="show")
    assert commit.data["subject"] == "Second"
    assert commit.data["commit"] == run(root, "rev-parse", "HEAD")
    assert "-two\n+2\n" in commit.data["diff"]
    assert "Author: Ann <ann@example.org>" in commit.for_model()
    file = await call(git, here, action="show", rev="HEAD~1:a.txt")
    assert file.data["content"] == "one\ntwo\n"


@pytest.mark.requirement("DEV-02")
async def test_blame_tells_who_wrote_which_line(here: ToolContext, root: Path):
    result = await call(git, here, action="blame", path="a.txt")
    assert [(line["line"], line["summary"], line["text"]) for line in result.data["lines"]] == [
        (1, "First", "one"),
        (2, "Second", "2"),
    ]
    assert result.data["lines"][0]["date"] == "2026-01-02T03:04:05+00:00"
    second = await call(git, here, action="blame", path="a.txt", offset=1, limit=1)
    assert [line["text"] for line in second.data["lines"]] == ["2"]
    late = await call(git, here, action="blame", path="a.txt", offset=2)
    assert late.code == "line_out_of_range"


async def test_a_large_diff_is_cut_and_says_so(here: ToolContext, root: Path):
    (root / "a.txt").write_text("line\n" * 200_000, encoding="utf-8")
    result = await call(git, here, action="diff")
    assert result.success
    assert result.data["truncated"] is True
    assert len(result.data["diff"]) <= 400_000
    assert result.for_model().endswith("narrow it with path, rev or limit]")


async def test_a_folder_without_a_repository_is_reported(
    here: ToolContext, root: Path, tmp_path: Path
):
    run(tmp_path, "init", "-q")  # one above the workspace is none of its business
    (root / ".git").rename(tmp_path / "moved")
    result = await call(git, here)
    assert result.code == "not_a_repository"
    missing = await call(git, here, repo="nowhere")
    assert missing.success is False


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "log", "rev": "--output=/tmp/x"},
        {"action": "diff", "rev": "-O/etc/passwd"},
        {"action": "show", "rev": "HEAD\nx"},
        {"action": "blame"},
        {"action": "log", "staged": True},
        {"action": "push"},
        {"action": "diff", "path": "a\0b"},
    ],
)
async def test_what_git_could_take_for_an_option_is_refused(
    here: ToolContext, arguments: dict[str, Any]
):
    with pytest.raises(InvalidArguments):
        await call(git, here, **arguments)


async def test_a_path_is_never_an_option_or_a_pattern(here: ToolContext, root: Path):
    (root / "--output=x").write_text("y\n", encoding="utf-8")
    status = await call(git, here, path="--output=x")
    assert [file["path"] for file in status.data["files"]] == ["--output=x"]
    assert (await call(git, here, path=":(top)*")).data["files"] == []
    assert not (root / "x").exists()


async def test_blame_survives_a_commit_of_an_impossible_year(here: ToolContext, root: Path):
    commit = run(root, "cat-file", "commit", "HEAD")
    author = next(line for line in commit.splitlines() if line.startswith("author "))
    forged = commit.replace(author, "author Ann <ann@example.org> 99999999999999999 +0000")
    (root / "forged").write_text(forged + "\n", encoding="utf-8")
    made = run(root, "hash-object", "-t", "commit", "-w", "--literally", "forged")
    result = await call(git, here, action="blame", path="a.txt", rev=made)
    assert result.error is None
    assert None in {line["date"] for line in result.data["lines"]}


PLANTED = {
    "core.fsmonitor": "{run}",
    "core.pager": "{run}",
    "pager.diff": "{run}",
    "diff.external": "{run}",
    "gpg.program": "{run}",
    "log.showSignature": "true",
    "filter.evil.clean": "{run}",
    "filter.evil.smudge": "{run}",
    "filter.evil.process": "{run}",
    "filter.evil.required": "true",
    "diff.evil.command": "{run}",
    "diff.evil.textconv": "{run}",
    "core.hooksPath": "hooks",
    "core.sshCommand": "{run}",
    "alias.status": "!{run}",
}


async def test_nothing_that_a_repository_plants_is_run(here: ToolContext, root: Path):
    planted = root / "planted.sh"
    planted.write_text(f"#!/bin/sh\ntouch {root}/RAN\ncat\n", encoding="utf-8")
    planted.chmod(0o755)
    (root / ".gitattributes").write_text("*.txt filter=evil diff=evil\n", encoding="utf-8")
    (root / "hooks").mkdir()
    for hook in ("post-index-change", "pre-commit", "fsmonitor-watchman"):
        (root / "hooks" / hook).write_text(planted.read_text(encoding="utf-8"), encoding="utf-8")
        (root / "hooks" / hook).chmod(0o755)
    for key, value in PLANTED.items():
        run(root, "config", key, value.format(run=planted))
    # Same size, new content: git has to run the filter to know.
    (root / "a.txt").write_text("one\n9\n", encoding="utf-8")
    for action in ("status", "diff", "log", "show"):
        result = await call(git, here, action=action)
        assert result.error is None
    assert (await call(git, here, action="blame", path="a.txt")).error is None
    assert not (root / "RAN").exists()
    # The trap does work: an unguarded git falls into it.
    run_unguarded(root)
    assert (root / "RAN").exists()


async def test_a_filter_that_cannot_be_switched_off_is_refused(here: ToolContext, root: Path):
    with (root / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write('[filter "a=b"]\n\tclean = touch RAN\n')
    result = await call(git, here, action="diff")
    assert result.code == "git_failed"
    assert "[filter]" in str(result.error)


def test_records_that_are_cut_or_strange_are_left_out():
    assert read_log("abc\x1fdef") == []
    assert read_log("a\x1fb\x1e") == []
    assert read_blame("abc 1 1 1\nauthor A") == []
    assert read_status("# branch.oid (initial)\0# branch.head (detached)\0")["commit"] is None
    conflict = "u UU N... 100644 100644 100644 100644 a b c both.txt\0"
    assert read_status(conflict)["files"] == [{"path": "both.txt", "state": "unmerged"}]
