"""`tollgate rules`: listed, tested, added and removed from a terminal."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.program import tollgate
from tests.support.database import new_database

GOOD = """
- tool: bash
  match: {argv: [git, push, "..."]}
  decision: deny
  justification: open a pull request instead
  examples: {match: ["git -C app push"], not_match: ["git status"]}
  expires_at: 2030-01-01T00:00:00Z
"""
BAD = """
- tool: bash
  match: {command: [rm]}
  decision: ask
  justification: look first
  examples: {match: ["ls"]}
"""


def test_a_rule_is_added_listed_tested_and_removed(tmp_path: Path) -> None:
    new_database(tmp_path / "tollgate.db")
    added = tollgate(tmp_path, "rules", "add", "-", stdin=GOOD)
    rule_id = added.stdout.strip()
    assert added.returncode == 0, added.stderr

    listed = json.loads(tollgate(tmp_path, "rules", "list", "--json").stdout)["rules"]
    assert [(rule["id"], rule["problems"], rule["hits"]) for rule in listed] == [(rule_id, [], 0)]
    assert listed[0]["definition"]["match"] == {"argv": ["git", "push", "..."]}
    assert tollgate(tmp_path, "rules", "list").stdout.splitlines() == [
        f'{rule_id}  on       deny   bash  {{"argv": ["git", "push", "..."]}}  global',
        "    open a pull request instead",
    ]
    tested = tollgate(tmp_path, "rules", "test")
    assert (tested.returncode, tested.stdout) == (0, f"{rule_id}  ok, 2 examples\n")

    assert tollgate(tmp_path, "rules", "remove", rule_id).returncode == 0
    assert json.loads(tollgate(tmp_path, "rules", "list", "--json").stdout) == {"rules": []}
    again = tollgate(tmp_path, "rules", "remove", rule_id)
    assert (again.returncode, again.stderr) == (
        1,
        f"error: Rule '{rule_id}' not found in the database\n",
    )


def test_the_examples_of_a_file_are_run(tmp_path: Path) -> None:
    path = tmp_path / "rules.yml"
    path.write_text(GOOD + BAD)

    tested = tollgate(tmp_path, "rules", "test", str(path))

    assert tested.returncode == 1
    assert tested.stdout.splitlines() == [
        "file:1  ok, 2 examples",
        "file:2  FAILED",
        "    examples.match[0]: 'ls' is not matched",
    ]
    found = json.loads(tollgate(tmp_path, "rules", "test", str(path), "--json").stdout)
    assert (found["ok"], [row["ok"] for row in found["rules"]]) == (False, [True, False])


def test_of_a_file_with_an_invalid_rule_nothing_is_added(tmp_path: Path) -> None:
    new_database(tmp_path / "tollgate.db")
    refused = tollgate(tmp_path, "rules", "add", "-", stdin=GOOD + BAD)

    assert refused.returncode == 2
    assert "rule 2" in refused.stderr
    assert json.loads(tollgate(tmp_path, "rules", "list", "--json").stdout) == {"rules": []}
