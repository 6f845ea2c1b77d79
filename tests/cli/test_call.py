import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.cli.confirmation_text import confirmation_lines
from app.events.union import server_message
from tests.cli.program import COMMAND, PATIENCE_S, environment, json_lines, on_terminal, tollgate
from tests.support import forked
from tests.support.database import new_database
from tests.support.service import serving, settings_for

RISKY = "command=rm -rf --one-file-system gone"
FORBIDDEN = "command=rm -rf --preserve-root /"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def call(data_dir: Path, workspace: Path, *words: str, stdin: str | None = None):
    """`tollgate call …` in a workspace."""
    return tollgate(data_dir, "call", "--workspace", str(workspace), *words, stdin=stdin)


def is_running(pid: str) -> bool:
    """Whether a process lives; one that only waits to be reaped does not."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")")[-1].split()[0] != "Z"
        )
    except FileNotFoundError:
        return False


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def test_a_result_is_printed_and_success_is_zero(installation, workspace):
    """By an interpreter of its own, as people start it."""
    done = subprocess.run(
        [*COMMAND, "call", "--workspace", str(workspace), "calculator", "expression=6*7"],
        cwd=installation,
        env=environment(installation),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


def test_standard_output_of_a_command_is_exactly_what_it_printed(installation, workspace):
    done = call(installation, workspace, "bash", "command=printf 'a\\nb'; echo no >&2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "a\nb", "no\n")


def test_the_value_and_the_files_of_code_come_beside_what_it_printed(installation, workspace):
    code = 'print("out"); open("a.txt", "w").write("x")'
    words = ("execute_python", f"code={code}", "strictness=lenient", "--yes")
    done = call(installation, workspace, *words)
    assert (done.returncode, done.stdout) == (0, "out\n")
    value, file = done.stderr.splitlines()[-2:]
    assert value == "Value: 1"
    assert file.startswith("File: a.txt (text/plain, artifact art_")


def test_a_command_in_the_background_is_said_to_end_with_this_one(installation, workspace):
    done = call(installation, workspace, "bash", "command=sleep 600", "background=true")
    assert (done.returncode, done.stdout[:25]) == (0, "Running in the background")
    assert (
        done.stderr
        == "(it stops with this command; under `tollgate serve` it would keep running)\n"
    )


def test_a_failing_tool_gives_one_and_says_why(installation, workspace):
    done = call(installation, workspace, "bash", "command=echo out; exit 7")
    assert (done.returncode, done.stdout) == (1, "out\n")
    assert "Exit code: 7" in done.stderr


@pytest.mark.requirement("CNF-07")
def test_what_asks_is_denied_where_nobody_can_be_asked(installation, workspace):
    (workspace / "gone").mkdir()
    done = call(installation, workspace, "bash", RISKY)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.splitlines() == [
        "denied: No one is available to approve it, so it was not run",
        "(no terminal available for confirmation; use --yes to approve)",
    ]
    assert (workspace / "gone").is_dir()


def test_yes_approves_what_asks(installation, workspace):
    (workspace / "gone").mkdir()
    assert call(installation, workspace, "bash", "--yes", RISKY).returncode == 0
    assert not (workspace / "gone").exists()


def test_yes_does_not_approve_what_is_denied(installation, workspace):
    done = call(installation, workspace, "bash", "--yes", "--events", FORBIDDEN)
    completed = json_lines(done.stdout)[-3]
    assert (done.returncode, completed["status"]) == (3, "denied")


def test_events_are_wire_messages_in_order_and_nothing_else(installation, workspace):
    done = call(installation, workspace, "bash", "--events", "command=echo hi")
    events = json_lines(done.stdout)
    assert kinds(events) == [
        "run_started",
        "message_completed",
        "tool_call_started",
        "tool_result_streamed",
        "tool_call_completed",
        "message_completed",
        "run_finished",
    ]
    for line in done.stdout.splitlines():
        server_message.validate_json(line)
    assert [event["seq"] for event in events if "seq" in event] == [1, 2, 3, 4, 5, 6]
    assert events[3]["text"] == "hi\n"


def test_a_confirmation_stands_between_start_and_output(installation, workspace):
    done = call(installation, workspace, "bash", "--yes", "--events", RISKY + "; echo hi")
    assert kinds(json_lines(done.stdout))[2:7] == [
        "tool_call_started",
        "tool_confirmation_request",
        "tool_confirmation_resolved",
        "tool_result_streamed",
        "tool_call_completed",
    ]


def test_a_call_that_nobody_could_answer_is_distinguished_in_its_events(installation, workspace):
    done = call(installation, workspace, "bash", "--events", RISKY)
    by_kind = {event["type"]: event for event in json_lines(done.stdout)}
    assert done.returncode == 3
    assert "tool_confirmation_request" not in by_kind
    assert by_kind["tool_call_completed"]["status"] == "denied"
    assert by_kind["tool_call_completed"]["error"]["code"] == "unattended"
    assert "tool_result_streamed" not in by_kind


@pytest.mark.parametrize("source", ["word", "stdin"])
def test_arguments_may_come_as_json(installation, workspace, source):
    text = json.dumps({"expression": "2**10"})
    words = ["--json", text if source == "word" else "-"]
    done = call(installation, workspace, "calculator", *words, stdin=text)
    assert (done.returncode, done.stdout) == (0, "1024\n")


def test_every_wrong_argument_is_named_at_once(installation, workspace):
    done = call(installation, workspace, "list_dir", "pth=x", "recursive=perhaps")
    assert (done.returncode, done.stdout) == (1, "")
    assert "pth" in done.stderr
    assert "recursive" in done.stderr


def test_text_that_is_no_json_is_an_error_of_the_arguments(installation, workspace):
    done = call(installation, workspace, "calculator", "--json", '{"expression":')
    assert done.returncode == 1
    assert "JSON" in done.stderr


def test_an_unknown_tool_gets_a_suggestion_and_its_events_are_paired(installation, workspace):
    done = call(installation, workspace, "grap", "--events")
    events = json_lines(done.stdout)
    assert done.returncode == 1
    assert kinds(events).count("tool_call_started") == 1
    assert kinds(events).count("tool_call_completed") == 1
    assert "Did you mean grep?" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("calculator", "no-equals-sign"),
        ("calculator", "expression=1", "expression=2"),
        ("calculator", "expression=1", "--json", "{}"),
        ("calculator", "--nonsense"),
    ],
)
def test_words_that_make_no_sense_are_a_usage_error(installation, workspace, words):
    done = call(installation, workspace, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


def test_a_workspace_that_is_not_there_is_not_made(installation, tmp_path):
    done = call(installation, tmp_path / "nowhere", "calculator", "expression=1")
    assert done.returncode == 2
    assert not (tmp_path / "nowhere").exists()


def test_a_setting_that_does_not_fit_is_one_clear_line(installation):
    done = tollgate(installation, "call", "calculator", "expression=1", TOLLGATE_PORT="none")
    assert done.returncode == 2
    assert done.stderr.startswith("error: Invalid settings: port:")
    assert done.stderr.count("\n") == 1


def test_a_data_directory_that_cannot_be_made_is_one_clear_line(installation, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    wrong = str(tmp_path / "file" / "data")
    done = tollgate(installation, "call", "--data-dir", wrong, "calculator", "expression=1")
    assert done.returncode == 2
    assert "TOLLGATE_DATA_DIR" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_the_whole_tree_and_the_events_are_complete(installation, workspace):
    command = "command=sleep 300 & echo $! $$; wait"
    process = forked.start(
        ["call", "bash", "--events", command, "--workspace", str(workspace)],
        cwd=installation,
        environment=environment(installation),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if '"tool_result_streamed"' in line:
            break
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate()
    events = json_lines("".join(lines) + rest)
    pids = next(e["text"] for e in events if e["type"] == "tool_result_streamed").split()
    assert process.returncode == 130
    assert [event["status"] for event in events if "status" in event] == ["cancelled", "cancelled"]
    assert kinds(events)[-1] == "run_finished"
    assert [pid for pid in pids if is_running(pid)] == []


def test_a_reader_that_goes_away_ends_the_call(installation, workspace):
    process = forked.start(
        ["call", "bash", "command=yes", "--workspace", str(workspace)],
        cwd=installation,
        environment=environment(installation),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout.read(2) == "y\n"
    process.stdout.close()
    assert process.wait() == 128 + signal.SIGPIPE


@pytest.mark.parametrize(
    ("answer", "runs"), [("y\n", True), ("\n", False), ("n too risky\n", False)]
)
async def test_on_a_terminal_only_a_clear_yes_approves(installation, workspace, answer, runs):
    (workspace / "gone").mkdir()
    words = ["call", "bash", RISKY, "--workspace", str(workspace)]
    async with on_terminal(installation, words) as terminal:
        await terminal.expect("rm -rf --one-file-system gone")
        await terminal.expect("anything else declines: ")
        terminal.type(answer)
        assert await terminal.ended() == (0 if runs else 3)
    assert (workspace / "gone").exists() is not runs


async def test_the_end_of_the_terminal_s_input_cancels_the_call_and_declines_nothing(
    installation, workspace
):
    (workspace / "gone").mkdir()
    words = ["call", "bash", "--events", RISKY, "--workspace", str(workspace)]
    async with on_terminal(installation, words) as terminal:
        await terminal.expect("anything else declines: ")
        terminal.type("\x04")
        await terminal.expect('"outcome":"cancelled"')
        assert await terminal.ended() == 3
    assert (workspace / "gone").is_dir()


def test_a_call_of_this_process_waits_for_nobody_whatever_is_set(installation, workspace):
    (workspace / "gone").mkdir()
    words = ("call", "--workspace", str(workspace), "bash", RISKY)
    done = tollgate(installation, *words, TOLLGATE_UNATTENDED="suspend")
    assert done.returncode == 3
    assert "denied: No one is available to approve it" in done.stderr
    assert "eclined" not in done.stderr


async def test_ctrl_c_at_the_question_cancels_the_call(installation, workspace):
    words = ["call", "bash", RISKY, "--workspace", str(workspace)]
    async with on_terminal(installation, words) as terminal:
        await terminal.expect("anything else declines: ")
        terminal.type("\x03")
        assert await terminal.ended() == 130


def test_a_question_shows_the_whole_command_and_hides_nothing():
    request = {
        "tool_name": "bash",
        "subject": {"type": "command", "command": "rm x\n\u202egnp", "cwd": "/w\x1b[2K"},
        "risk": {"level": "high", "rules": [{"rule_id": "delete", "reason": "it deletes"}]},
        "targets": [
            {"path": "/w/a\u200b", "type": "directory", "files": 12},
            {"path": "/w/b", "type": "missing"},
            {"path": "/w/*.o", "type": "unknown", "files": 2, "names": ["a.o", "b\u200b.o"]},
            {"path": "/w/c", "real": "/w/d\u200b/c", "type": "file", "files": 1},
            {
                "path": "/w/*.s",
                "type": "unknown",
                "files": 2,
                "names": ["a.s", "b.s"],
                "links": [{"path": "b.s", "real": "/w/.env"}],
            },
        ],
        "requested_by": {"caller": "agent", "agent_id": "writer"},
    }
    assert confirmation_lines(request) == [
        "Allow bash to run?",
        "  | rm x",
        "  | \\u202egnp",
        "  in /w\\x1b[2K",
        "  risk: high",
        "  - it deletes (delete)",
        "  affects /w/a\\u200b (folder with 12 files)",
        "  affects /w/b (does not exist)",
        "  affects /w/*.o (2 files): a.o, b\\u200b.o",
        "  affects /w/c → /w/d\\u200b/c",
        "  affects /w/*.s (2 files): a.s, b.s → /w/.env",
        "  requested by the agent writer",
    ]


COUNTS = """
from collections.abc import AsyncIterator
from typing import Any

from app.toolkit.context import ToolContext
from app.toolkit.result import ToolResult
from app.toolkit.tool import ToolArgs, tool


class Args(ToolArgs):
    pass


@tool(kind="read")
async def count_up(args: Args, ctx: ToolContext) -> AsyncIterator[Any]:
    \"\"\"Count, and say what came of it.\"\"\"
    yield "counting one\\n"
    yield "counting two\\n"
    yield ToolResult.ok({"sum": 3}, text="the sum is 3")


@tool(kind="read")
async def repeat(args: Args, ctx: ToolContext) -> AsyncIterator[Any]:
    \"\"\"Say something, and end with the same.\"\"\"
    yield "one\\n"
    yield "two"
    yield ToolResult.ok(text="one\\ntwo")


TOOLS = (count_up, repeat)
"""


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("counting")
    new_database(folder / "tollgate.db")
    (folder / "plugins").mkdir()
    (folder / "plugins" / "counts.py").write_text(COUNTS, encoding="utf-8")
    return folder


def test_a_result_beside_the_live_output_is_shown(counting: Path, workspace: Path):
    done = call(counting, workspace, "count_up")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "counting one\ncounting two\nthe sum is 3\n"


def test_a_result_that_was_streamed_is_not_repeated(counting: Path, workspace: Path):
    assert call(counting, workspace, "repeat").stdout == "one\ntwo"


async def test_the_chat_shows_a_result_beside_the_live_output(counting: Path):
    async with serving(settings_for(counting)) as running:
        words = ["chat", "--url", running.url, "--new"]
        async with on_terminal(counting, words) as terminal:
            await terminal.expect("› ")
            terminal.type("/count_up\n")
            await terminal.expect("│ counting two")
            await terminal.expect("│ the sum is 3")
            await terminal.expect("✓ count_up done")
