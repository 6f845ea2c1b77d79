"""Golden texts of messages, by content level."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.channels.notifications.content import ContentWriter
from app.channels.notifications.facts import RequestFacts
from app.channels.notifications.transport import ContentLevel
from app.core.redaction import Redactor
from app.domain.owners import SessionOwner

SECRET = "hunter2-is-no-word"
FACTS = RequestFacts(
    kind="confirmation",
    item_id="cfm_1",
    session_id="ses_1",
    owner=SessionOwner("ann", "default", "builder"),
    agent="Builder",
    tool_name="bash",
    title="bash: git push --force",
    risk="high",
    expires_at="2026-01-01T00:10:00.000Z",
    details="Command:\ngit push --force\nFolder: /workspace",
    digest="9f86",
)
WRITER = ContentWriter(Redactor([SECRET]).text)

SUMMARY = """\
Agent: Builder
Tool: bash
Request: bash: git push --force
Risk: high
Expires: 2026-01-01T00:10:00.000Z"""


@pytest.mark.requirement("APR-2")
@pytest.mark.parametrize(
    ("level", "subject", "body"),
    [
        ("none", "Tollgate: approval needed", ""),
        ("summary", "Approval needed: bash: git push --force", SUMMARY),
        (
            "full",
            "Approval needed: bash: git push --force",
            f"{SUMMARY}\n\nCommand:\ngit push --force\nFolder: /workspace",
        ),
    ],
)
def test_a_request_is_described_by_the_content_level(level: ContentLevel, subject: str, body: str):
    assert WRITER.subject(FACTS, "opened", level) == subject
    assert WRITER.body(FACTS, "opened", level) == body


@pytest.mark.parametrize(
    ("level", "subject", "body"),
    [
        ("none", "Tollgate: request ended", ""),
        (
            "summary",
            "Declined by bob: bash: git push --force",
            "Declined by bob\nAgent: Builder\nTool: bash\nRequest: bash: git push --force\n"
            "Risk: high",
        ),
    ],
)
def test_the_end_is_described_too(level: ContentLevel, subject: str, body: str):
    ended = FACTS.ended("declined", "bob")
    assert WRITER.subject(ended, "closed", level) == subject
    assert WRITER.body(ended, "closed", level) == body


@pytest.mark.parametrize(
    ("event", "kind", "subject"),
    [
        ("reminder", "confirmation", "Tollgate: reminder: approval needed"),
        ("escalated", "confirmation", "Tollgate: escalated: approval needed"),
        ("opened", "question", "Tollgate: answer needed"),
    ],
)
def test_other_states_have_their_own_subject(event, kind, subject: str):
    assert WRITER.subject(replace(FACTS, kind=kind), event, "none") == subject


@pytest.mark.parametrize("level", ["summary", "full"])
def test_secrets_are_masked_and_control_characters_escaped(level: ContentLevel):
    hostile = replace(
        FACTS,
        title=f"bash: echo {SECRET}\x1b[2J\u202e",
        agent="Mallory\r\nBcc: all@example.org",
        details=f"echo {SECRET}\x07",
    )
    text = WRITER.subject(hostile, "opened", level) + WRITER.body(hostile, "opened", level)
    assert SECRET not in text
    assert not {"\x1b", "\x07", "\r", "\u202e"} & set(text)
    assert "\\x1b[2J\\u202e" in text
    assert "Agent: Mallory\\x0d Bcc: all@example.org" in text


def test_long_texts_are_bounded():
    long = replace(FACTS, title="x" * 5000, details="y" * 50_000)
    assert len(WRITER.subject(long, "opened", "full")) == 200
    assert len(WRITER.body(long, "opened", "full")) < 3000


def test_facts_survive_storage():
    assert RequestFacts.from_json(FACTS.to_json()) == FACTS
    assert RequestFacts.from_json(replace(FACTS, owner=None).to_json()).owner is None
