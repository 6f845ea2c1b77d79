"""The files that a host of repositories reads: who reviews, what a report asks for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from app.cli.main import app as program
from tests.docs.pages import read
from tests.support.source import ROOT

TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
KINDS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}
TARGET = re.compile(r"^([\w-]+):", re.MULTILINE)


def form(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded


def test_each_path_with_reviewers_exists_and_has_some():
    lines = [line.split() for line in read(".github/CODEOWNERS").splitlines()]
    rules = [words for words in lines if words and not words[0].startswith("#")]
    assert rules[0][0] == "*", "what no later line names needs a reviewer too"
    assert [path for path, *_ in rules[1:] if not (ROOT / path.lstrip("/")).exists()] == []
    assert all(owners and all(o.startswith("@") for o in owners) for _, *owners in rules)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_an_issue_form_asks_for_named_fields_once_each(path: Path):
    found = form(path)
    assert {"name", "description", "body"} <= found.keys()
    fields = [part for part in found["body"] if part["type"] != "markdown"]
    assert {part["type"] for part in found["body"]} <= KINDS
    assert all(part["attributes"]["label"] for part in fields)
    ids = [part["id"] for part in fields]
    assert len(set(ids)) == len(ids) > 0
    assert any(part.get("validations", {}).get("required") for part in fields)


def test_a_report_of_a_bug_asks_for_commands_that_exist():
    text = read(".github/ISSUE_TEMPLATE/bug.yml") + read("SECURITY.md")
    named = set(re.findall(r"`tollgate ([\w-]+)", text))
    commands = {*getattr(get_command(program), "commands", {}), "--version"}
    assert named == {"--version", "doctor"}
    assert named <= commands


def test_a_pull_request_is_asked_for_checks_that_exist():
    text = read(".github/pull_request_template.md")
    for command in re.findall(r"`make ([\w-]+)`", text):
        assert command in TARGET.findall(read("Makefile"))
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (ROOT / ".github" / target).is_file()


def test_the_security_policy_says_where_to_report_and_leads_to_the_threat_model():
    text = read("SECURITY.md")
    assert "Report a vulnerability" in text
    assert "docs/security.md" in text
    assert "blank_issues_enabled: false" in read(".github/ISSUE_TEMPLATE/config.yml")
