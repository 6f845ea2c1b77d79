"""The chat on a real terminal, against a real server."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from rich.console import Console

from app.cli.chat import tool_arguments
from app.cli.confirmation_text import Typed, typed_answer
from app.cli.stream_view import STATUS_STYLE, StreamView
from app.core.errors import InvalidInput
from app.events.durable import CallStatus
from app.execution.confirmation.options import ONCE_OR_NOT
from app.tools.files.write_file import write_file
from app.tools.shell.bash import bash
from tests.cli.program import Terminal, on_terminal
from tests.support.scripted_anthropic.server import ScriptedAnthropic
from tests.support.scripted_anthropic.turns import Turn, text, thinking, tool_use
from tests.support.service import Running, serving, settings_for

QUESTION: dict[str, Any] = {"options": [offer.to_dict() for offer in ONCE_OR_NOT], "editable": True}
BASH = {"parameters": bash.parameters, "argument_aliases": dict(bash.argument_aliases)}


@pytest.fixture
async def running(tmp_path) -> AsyncIterator[Running]:
    async with serving(settings_for(tmp_path)) as service:
        yield service


def chat(running: Running, *words: str):
    """`tollgate chat` on a terminal."""
    folder = running.service.settings.data_dir
    return on_terminal(folder, ["chat", "--url", running.url, *words])


async def ask_to_delete(terminal: Terminal) -> None:
    await terminal.expect("› ")
    terminal.type("/bash rm -rf --one-file-system gone\n")
    await terminal.expect("  | rm -rf --one-file-system gone")
    await terminal.expect("e {…} = edit arguments: ")


async def test_a_tool_streams_into_its_card_and_leaving_is_zero(running):
    async with chat(running, "--new") as terminal:
        await terminal.expect("› ")
        terminal.type("/bash echo one; echo two >&2\n")
        await terminal.expect("● bash: echo one; echo two >&2")
        await terminal.expect("✓ bash done")
        await terminal.expect("› ")
        assert "  │ one\n" in terminal.shown
        assert "  │ two\n" in terminal.shown
        terminal.type("/quit\n")
        assert await terminal.ended() == 0


@pytest.mark.parametrize(
    ("answer", "end"),
    [("d", "declined"), ("1", "declined"), ("a", "✓ bash done")],
)
async def test_a_question_is_answered_by_letter_or_number(running, answer, end):
    async with chat(running, "--new") as terminal:
        await ask_to_delete(terminal)
        terminal.type(f"{answer}\n")
        await terminal.expect(end)


async def test_enter_alone_and_nonsense_choose_nothing(running):
    async with chat(running, "--new") as terminal:
        await ask_to_delete(terminal)
        for nothing in ("\n", "y\n", "9\n"):
            terminal.type(nothing)
            await terminal.expect("No valid choice.")
        terminal.type("2\n")
        await terminal.expect("approved by local")


async def test_ctrl_c_cancels_first_and_leaves_then(running):
    async with chat(running, "--new") as terminal:
        await terminal.expect("› ")
        terminal.type("/bash echo ready; sleep 300\n")
        await terminal.expect("│ ready")
        terminal.type("\x03")
        await terminal.expect("■ bash cancelled")
        await terminal.expect("› ")
        terminal.type("\x03")
        assert await terminal.ended() == 0


async def test_the_newest_session_is_taken_up_again_with_its_history(running):
    async with chat(running) as terminal:
        await terminal.expect("› ")
        terminal.type("/calculator 6*7\n")
        await terminal.expect("│ 42")
        await terminal.expect("› ")
    async with chat(running) as terminal:
        await terminal.expect("● calculator: 6*7")
        await terminal.expect("› ")


async def test_an_open_question_is_put_again_to_whoever_comes(running):
    async with chat(running, "--new") as terminal:
        await ask_to_delete(terminal)
    async with chat(running) as terminal:
        await terminal.expect("e {…} = edit arguments: ")
        terminal.type("d\n")
        await terminal.expect("declined by local")


async def test_without_a_model_the_reason_is_reported_and_the_chat_goes_on(running):
    async with chat(running, "--new") as terminal:
        await terminal.expect("› ")
        terminal.type("hello\n")
        await terminal.expect("No model is configured")
        await terminal.expect("ANTHROPIC_API_KEY")
        await terminal.expect("› ")
        terminal.type("/grap x=1\n")
        await terminal.expect("Did you mean grep?")


async def test_a_model_is_seen_thinking_calling_a_tool_and_answering_once(tmp_path):
    async with ScriptedAnthropic() as provider:
        provider.script(
            Turn(
                thinking("I should look."),
                text("Let me ", "look."),
                tool_use("bash", {"command": "echo found"}),
            ),
            Turn(text("It says ", "found", ".")),
        )
        settings = settings_for(
            tmp_path, anthropic_api_key="key", anthropic_base_url=provider.base_url
        )
        async with serving(settings) as running, chat(running, "--new") as terminal:
            await terminal.expect("› ")
            terminal.type("what is there?\n")
            await terminal.expect("— run success")
            shown = terminal.shown
    for piece in ("  I should look.", "Let me look.\n", "  │ found\n", "It says found.\n"):
        assert shown.count(piece) == 1
    assert shown.count("what is there?") == 1


async def test_an_arrow_key_asks_no_model(tmp_path):
    async with ScriptedAnthropic(Turn(text("Good day."))) as provider:
        settings = settings_for(
            tmp_path, anthropic_api_key="key", anthropic_base_url=provider.base_url
        )
        async with serving(settings) as running, chat(running, "--new") as terminal:
            await terminal.expect("› ")
            terminal.type("\x1b[A\x1bOB\n")
            await terminal.expect("› ")
            terminal.type("hel\x1b[Dlo\n")
            await terminal.expect("— run success")
        assert [asked.messages[0]["content"][0]["text"] for asked in provider.requests] == ["hello"]


async def test_the_lists_are_shown(running):
    async with chat(running, "--new") as terminal:
        await terminal.expect("› ")
        terminal.type("/tools\n")
        await terminal.expect("/calculator")
        terminal.type("/sessions\n")
        await terminal.expect("* ses_")
        terminal.type("/sessions ses_none\n")
        await terminal.expect("not found")
        terminal.type("/help\n")
        await terminal.expect("/quit")


async def test_no_server_is_one_clear_line(tmp_path):
    async with on_terminal(tmp_path, ["chat", "--url", "http://127.0.0.1:9"]) as terminal:
        assert await terminal.ended() == 1
        assert "Is `tollgate serve` running?" in terminal.shown
        assert terminal.shown.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("", None),
        (" ", None),
        ("y", None),
        ("0", None),
        ("3", None),
        ("²", None),
        ("1", "decline"),
        ("2", "approve_once"),
        ("a", "approve_once"),
        ("D", "decline"),
    ],
)
def test_only_a_clear_choice_counts(line, option):
    typed = typed_answer(QUESTION, line)
    assert (typed and typed.option_id) == option


def test_a_letter_chooses_the_approval_that_does_not_last():
    lasting = {"option_id": "approve_always", "label": "Always", "kind": "allow"}
    question = {**QUESTION, "options": [lasting, *QUESTION["options"]]}
    assert typed_answer(question, "a") == Typed("approve_once")


def test_a_reason_and_other_arguments_stand_behind_the_letter():
    assert typed_answer(QUESTION, "d use git rm") == Typed("decline", "use git rm")
    edited = Typed("approve_once", None, {"command": "ls"})
    assert typed_answer(QUESTION, 'e {"command": "ls"}') == edited
    assert typed_answer(QUESTION, "a sure") is None
    assert typed_answer(QUESTION, "e") is None
    for wrong in ("e {", "e [1]"):
        with pytest.raises(InvalidInput):
            typed_answer(QUESTION, wrong)


def test_the_one_text_argument_takes_the_rest_of_the_line():
    assert tool_arguments(BASH, 'X=1 echo "$X"') == {"command": 'X=1 echo "$X"'}
    assert tool_arguments(BASH, "cmd='ls -la' timeout=5") == {"cmd": "ls -la", "timeout": 5}
    assert tool_arguments(BASH, "") == {}


def test_several_arguments_are_words():
    row = {"parameters": write_file.parameters}
    assert tool_arguments(row, "path=a content='b c'") == {"path": "a", "content": "b c"}
    with pytest.raises(InvalidInput):
        tool_arguments(row, "path='a")


def test_every_end_of_a_call_looks_different():
    statuses = set(CallStatus.__args__)  # type: ignore[attr-defined]
    assert set(STATUS_STYLE) == statuses
    assert len({words for _, _, words in STATUS_STYLE.values()}) == len(statuses)


def shown(*events: Mapping[str, Any]) -> str:
    """What a view prints for some events."""
    console = Console(width=100, color_system=None, force_terminal=False)
    view = StreamView(console)
    with console.capture() as capture:
        for event in events:
            view.event(event)
    return capture.get()


def delta(text: str, start: int, end: int, *, snapshot: bool = False) -> dict[str, object]:
    return {
        "type": "text_delta",
        "message_id": "m",
        "chunk_from": start,
        "chunk_to": end,
        "text": text,
        "snapshot": snapshot,
    }


def message(text: str) -> dict[str, object]:
    block = {"type": "text", "text": text}
    return {"type": "message_completed", "message_id": "m", "role": "assistant", "content": [block]}


def test_text_that_comes_again_is_shown_once():
    assert shown(delta("ab", 0, 2), delta("abcd", 0, 4, snapshot=True), message("abcd")) == "abcd\n"


def test_what_was_lost_of_a_message_is_filled_in_at_its_end():
    assert shown(delta("ab", 0, 2), message("abcd")) == "abcd\n"
    assert shown(delta("a", 0, 1), delta("d", 3, 4), message("abcd")).endswith("\nabcd\n")


def test_events_of_later_versions_are_left_out():
    assert shown({"type": "something_new", "seq": 1}) == ""


def test_the_value_and_the_files_of_code_are_shown_below_what_it_printed():
    head = {"tool_call_id": "c", "tool_name": "execute_python"}
    streamed = head | {"type": "tool_result_streamed", "stream": "stdout", "text": "out\n"}
    file = {"name": "a.csv", "media_type": "text/csv", "artifact_id": "art_1"}
    ended = head | {
        "type": "tool_call_completed",
        "status": "success",
        "duration_ms": 1.0,
        "raw_result": {"type": "terminal", "data": {"value": "'x\x1b'", "files": [file]}},
        "content": [],
    }
    assert shown(streamed | {"chunk_from": 0, "chunk_to": 1}, ended) == (
        "  │ out\n  │ Value: 'x\\x1b'\n  │ File: a.csv (text/csv, artifact art_1)\n"
        "  ✓ execute_python done, 0.00 s\n"
    )


def test_output_cannot_write_outside_its_card():
    started = {"type": "tool_call_started", "tool_call_id": "c", "title": "x\x1b[2J\ny"}
    streamed = {
        "type": "tool_result_streamed",
        "tool_call_id": "c",
        "stream": "stdout",
        "chunk_from": 0,
        "chunk_to": 1,
        "text": "a\x1b[H[bold]b\rc\r\nd\u2028e\n",
    }
    assert shown(started, streamed) == "● x\\x1b[2J\ny\n  │ a[bold]b\n  │ c\n  │ d\u2028e\n"


async def test_what_waits_in_another_session_is_said(running):
    async with chat(running, "--new") as first:
        await ask_to_delete(first)
        async with chat(running, "--new") as second:
            await second.expect("1 request is pending in other sessions: tollgate approvals list")
            await second.expect("› ")
        first.type("d\n")
        await first.expect("declined by local")
        await first.expect("› ")
        async with chat(running, "--new") as third:
            await third.expect("› ")
            first.type("/bash rm -rf --one-file-system gone\n")
            await third.expect("Pending in another session: bash: rm -rf --one-file-system gone")
            assert "tollgate approvals show cfm_" in third.shown
            await first.expect("e {…} = edit arguments: ")
            first.type("d\n")
            await first.expect("declined by local")
            assert "Pending" not in first.shown
