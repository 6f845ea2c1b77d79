"""Questions of tools on a terminal: by number, in own words, or not at all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.cli.questions import DECLINE, HOW_TO_TELL, Form
from tests.cli.program import on_terminal
from tests.support.database import new_database
from tests.support.service import Running, serving, settings_for

CHOICES = [
    {"id": "choice_1", "label": "red", "description": "like blood"},
    {"id": "choice_2", "label": "blue", "description": ""},
]
ONE: dict[str, Any] = {
    "questions": [{"id": "q1", "question": "Which?", "choices": CHOICES, "multi_select": False}]
}
TWO: dict[str, Any] = {
    "questions": [
        {"id": "a", "question": "Which?", "choices": CHOICES, "multi_select": True},
        {"id": "b", "question": "Why\u202e?", "choices": [], "multi_select": False},
    ]
}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    async with serving(settings_for(tmp_path)) as service:
        yield service


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("2", {"choices": ["choice_2"]}),
        (" green ", {"text": "green"}),
        ("3", {"text": "3"}),
        ("1,2", {"text": "1,2"}),
        ("²", {"text": "²"}),
    ],
)
def test_a_line_is_a_choice_or_own_words(line: str, answer: dict[str, Any]):
    form = Form(ONE)
    assert form.lines() == ["? Which?", "  1) red - like blood", "  2) blue"]
    assert form.take(line)
    assert form.is_complete
    assert form.answer == answer


def test_several_questions_are_asked_one_after_another():
    form = Form(TWO)
    assert not form.take("  ")
    assert form.take("2, 1, 2")
    assert not form.is_complete
    assert form.lines() == ["? Why\\u202e?"]
    assert form.prompt() == HOW_TO_TELL
    assert form.take("because")
    assert form.answer == {"a": {"choices": ["choice_2", "choice_1"]}, "b": {"text": "because"}}


async def test_a_question_is_answered_in_the_chat(running: Running):
    folder = running.service.settings.data_dir
    async with on_terminal(folder, ["chat", "--url", running.url, "--new"]) as terminal:
        await terminal.expect("› ")
        terminal.type('/ask_user question="Which one?" choices=\'["red", "blue"]\'\n')
        await terminal.expect("? Which one?")
        await terminal.expect("2) blue")
        await terminal.expect(HOW_TO_TELL)
        terminal.type("2\n")
        await terminal.expect("→ answered by local")
        await terminal.expect('"user_response":"blue"')
        await terminal.expect("✓ ask_user done")
        await terminal.expect("› ")
        terminal.type('/ask_user question="And why?"\n')
        await terminal.expect(HOW_TO_TELL)
        terminal.type(f"{DECLINE}\n")
        await terminal.expect("→ declined by local")
        await terminal.expect("chose not to answer")


async def test_a_question_is_still_asked_after_coming_back(running: Running):
    folder = running.service.settings.data_dir
    words = ["chat", "--url", running.url]
    async with on_terminal(folder, [*words, "--new"]) as terminal:
        await terminal.expect("› ")
        terminal.type('/ask_user question="Which one?"\n')
        await terminal.expect(HOW_TO_TELL)
        terminal.type("/quit\n")
        assert await terminal.ended() == 0
    async with on_terminal(folder, words) as terminal:
        await terminal.expect("? Which one?")
        await terminal.expect(HOW_TO_TELL)
        terminal.type("the green one\n")
        await terminal.expect("→ answered by local")
        await terminal.expect("the green one")


async def test_a_call_of_a_terminal_asks_there(tmp_path: Path):
    new_database(tmp_path / "tollgate.db")
    words = ["call", "ask_user", "question=Which one?", 'choices=["red", "blue"]']
    async with on_terminal(tmp_path, words) as terminal:
        await terminal.expect("? Which one?")
        await terminal.expect(HOW_TO_TELL)
        terminal.type("1\n")
        await terminal.expect('"user_response":"red"')
        assert await terminal.ended() == 0
