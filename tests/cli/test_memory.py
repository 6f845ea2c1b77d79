"""`tollgate memory`: listed, searched, exported and forgotten from a terminal."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.program import json_lines, tollgate
from tests.support.database import new_database


def saved(folder: Path, content: str, key: str) -> None:
    arguments = json.dumps({"content": content, "key": key})
    done = tollgate(folder, "call", "memory_save", "--json", arguments)
    assert done.returncode == 0, done.stderr


def test_memories_are_listed_searched_exported_and_forgotten(tmp_path: Path) -> None:
    new_database(tmp_path / "tollgate.db")
    saved(tmp_path, "用户喜欢龙井茶", "tea")
    saved(tmp_path, "prefers \x1b[31mVim", "editor")

    listed = tollgate(tmp_path, "memory", "list").stdout.splitlines()
    assert [line.split("  ", 2)[2].split("/", 1)[1] for line in listed] == [
        "editor  prefers \\x1b[31mVim",
        "tea  用户喜欢龙井茶",
    ]
    found = json.loads(tollgate(tmp_path, "memory", "search", "龙井", "--json").stdout)["memories"]
    assert [item["key"] for item in found] == ["tea"]
    lines = json_lines(tollgate(tmp_path, "memory", "export", "--scope", "user").stdout)
    assert [item["key"] for item in lines] == ["tea", "editor"]

    assert tollgate(tmp_path, "memory", "forget", found[0]["id"]).returncode == 0
    again = tollgate(tmp_path, "memory", "forget", found[0]["id"])
    assert (again.returncode, again.stderr) == (1, f"error: Memory '{found[0]['id']}' not found\n")
    counted = tollgate(tmp_path, "memory", "forget", "--query", "prefers")
    assert counted.stderr == f"1 would be deleted in {tmp_path}; use --yes to delete\n"
    assert tollgate(tmp_path, "memory", "forget", "--query", "prefers", "--yes").returncode == 0
    assert tollgate(tmp_path, "memory", "list").stderr == "No matching memories.\n"


def test_what_is_not_meant_is_a_usage_error(installation: Path) -> None:
    for words in (
        ("forget", "--yes"),
        ("forget", "mem_1", "--owner", "ann"),
        ("list", "--scope", "everybody"),
    ):
        refused = tollgate(installation, "memory", *words)
        assert (refused.returncode, refused.stdout) == (2, ""), refused.stderr
