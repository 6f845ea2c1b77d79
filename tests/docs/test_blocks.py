"""Every block of every page does what the page says, in a fresh folder with a running service."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from PIL import Image
from websockets.sync.client import connect

from app.api.ws.commands import client_command
from app.catalog.builtin import register_all_tools
from app.catalog.json_schema import compile_schema
from app.config.settings import load_settings
from app.governance.rule_file import parse_rules
from app.knowledge.skills.document import read_document
from app.policy.rules.compile import load_rule
from app.tools.skills.events import EventReader
from scripts.dockerfile import parse
from tests.docs.blocks import Block, all_blocks, blocks_of, main
from tests.docs.reader import Reader
from tests.support.binaries import require_binary
from tests.support.source import ROOT

BLOCKS = all_blocks()
HERE = [b for b in BLOCKS if b.fate == "run" and b.language != "python" and b.note != "run by"]
HELLO = {"name": "bash", "arguments": {"command": "echo hello"}}
ASKED = ("tool_confirmation_request", "run_finished", "error")
ELSEWHERE = ("file", "lines of", "run by")  # such a file itself is run: `test_examples.py`


def names(block: Block) -> str:
    return block.place


def test_something_is_done_with_every_block():
    idle = [
        f"{block.place}: {block.language or 'no language'}" for block in BLOCKS if not block.fate
    ]
    assert idle == []


def test_what_is_drawn_holds_nothing_to_run():
    command = re.compile(
        r"^(\$ |tollgate |curl |\.venv/|(GET|POST|PATCH|PUT|DELETE) +/)", re.MULTILINE
    )
    assert [b.place for b in BLOCKS if b.fate == "drawn" and command.search(b.text)] == []


def test_most_blocks_are_run_or_checked_and_the_table_counts_them(capsys):
    main()
    table = capsys.readouterr().out
    total = re.search(r"^all +(\d+) +(\d+) +(\d+) +(\d+)$", table, re.MULTILINE)
    assert total is not None
    run, checked, excused, _ = map(int, total.groups())
    assert run + checked > 8 * excused
    assert "README.md" in table


def test_a_block_is_read_with_its_comment_its_indent_and_its_line():
    text = (
        "A\n\n- b\n\n  <!-- not run: it is only shown -->\n  ```sh\n  one\n    two\n  ```\n"
        "\n```\nx\n```\n"
    )
    shown, bare = blocks_of("page.md", text)
    assert (shown.line, shown.text, shown.note) == (6, "one\n  two\n", "not run")
    assert (shown.fate, bare.fate) == ("excused", "")


# --- What is run ---


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """Somebody at a terminal, with the service running."""
    for program in ("bash", "curl"):
        require_binary(program)
    someone = Reader(tmp_path)
    someone.furnish()
    someone.start()
    try:
        yield someone
    finally:
        someone.stop()


@pytest.mark.parametrize("page", sorted({block.page for block in HERE}))
def test_what_a_page_shows_works_in_its_order(reader: Reader, page: str):
    prepare = PREPARE.get(page, lambda _reader, _block: None)
    for block in BLOCKS:
        if block.page == page and (block in HERE or block.note == "saved"):
            prepare(reader, block)
            reader.follow(block)


@pytest.mark.parametrize(
    "block",
    [b for b in BLOCKS if b.fate == "run" and b.language == "python" and b.note not in ELSEWHERE],
    ids=names,
)
def test_python_on_a_page_runs(block: Block, tmp_path: Path):
    program = tmp_path / "block.py"
    program.write_text(block.text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def _administering(reader: Reader, block: Block) -> None:
    """Before its answer is shown: a call that waits for one."""
    if "{confirmation_id}" not in block.text:
        return
    reader.run(
        "tollgate tools enable bash && tollgate tools enable bash --agent reader", block.place
    )
    reader.ask("PATCH", "/api/v1/admin/tools/bash", {"requires_confirmation": True})
    session = reader.post("/sessions", {"agent_id": "reader"})["id"]
    commands = (
        {"type": "hello", "auth": {"token": reader.token()}},
        {"type": "subscribe", "session_id": session},
        {"type": "tool_call", "session_id": session, **HELLO},
    )
    with connect(f"ws{reader.url[4:]}/api/v1/ws") as socket:
        for command in commands:
            socket.send(json.dumps({"id": uuid4().hex, **command}))
        frames = (json.loads(frame) for frame in socket)
        asked = next(frame for frame in frames if frame["type"] in ASKED)
    assert asked["type"] == ASKED[0], asked
    reader.values["CONFIRMATION_ID"] = asked["confirmation_id"]
    reader.values["DIGEST"] = asked["digest"]


def _adding(reader: Reader, _: Block) -> None:
    shutil.copy(ROOT / "README.md", reader.folder)


def _governance(reader: Reader, block: Block) -> None:
    """The agent that the page talks of; it is made anew where the page makes it."""
    listed = reader.get("/admin/agents")
    has = "writer" in json.dumps(listed)
    makes = "POST /api/v1/admin/agents" in block.text
    if not has and not makes:
        reader.post("/admin/agents", {"id": "writer"})
    elif has and makes:
        reader.ask("DELETE", "/api/v1/admin/agents/writer")


def _memory(reader: Reader, _: Block) -> None:
    """Something to find and to forget."""
    body = {"scope": "user", "owner": "ann", "key": "retries", "content": "retry three times"}
    reader.ask("POST", "/api/v1/admin/memory", body)


def _rules(reader: Reader, block: Block) -> None:
    if "remove" in block.text:
        made = {
            "tool": "bash",
            "match": {"argv": ["halt"]},
            "decision": "deny",
            "justification": "No.",
        }
        reader.values["RULE"] = str(reader.post("/admin/rules", made)["id"])


def _skills(reader: Reader, _: Block) -> None:
    """An agent, two skills, and a photo."""
    reader.ask("POST", "/api/v1/admin/agents", {"id": "writer"})
    places = {"release-notes": "workspace/.tollgate/skills", "old": "skills"}
    for name, place in places.items():
        folder = reader.data / place / name
        folder.mkdir(parents=True, exist_ok=True)
        text = f"---\nname: {name}\ndescription: Does something. Use it now.\n---\n\n# {name}\n"
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
    Image.new("RGB", (64, 48), "teal").save(reader.data / "workspace" / "photo.png")


def _triggers(reader: Reader, _: Block) -> None:
    """A webhook, as the page describes it."""
    reader.post("/admin/agents", {"id": "builder"})
    body = {"name": "build-failed", "agent_id": "builder", "owner": "ann", "template": "{{body}}"}
    reader.values["SECRET"] = str(reader.post("/admin/webhooks", body)["secret"])


def _undo(reader: Reader, _: Block) -> None:
    """A run that has changed a file."""
    call = {"arguments": {"path": "notes.txt", "content": "new\n"}}
    done = reader.post("/tools/write_file/call", call)
    reader.values |= {"SESSION": str(done["session_id"]), "RUN": str(done["run_id"])}


PREPARE: dict[str, Callable[[Reader, Block], None]] = {
    "docs/adding-a-tool.md": _adding,
    "docs/administering.md": _administering,
    "docs/governance.md": _governance,
    "docs/memory.md": _memory,
    "docs/rules.md": _rules,
    "docs/skills.md": _skills,
    "docs/triggers.md": _triggers,
    "docs/undo.md": _undo,
}


# --- What is checked ---


def _settings(block: Block, folder: Path) -> None:
    """It is a `config.yml`, and every name in it is a setting."""
    (folder / "config.yml").write_text(block.text, encoding="utf-8")
    settings = load_settings(data_dir=folder).model_dump()
    for name, value in yaml.safe_load(block.text).items():
        assert name in settings
        if isinstance(value, dict) and name != "model_prices":  # its names are those of models
            assert value.keys() <= settings[name].keys()


def _rules_list(block: Block, _: Path) -> None:
    entries = parse_rules(block.text.encode(), block.place)
    assert [load_rule(f"r{at}", entry)[2] for at, entry in enumerate(entries)] == [[]] * len(
        entries
    )


def _command(block: Block, _: Path) -> None:
    client_command.validate_json(block.text)


def _skill(block: Block, _: Path) -> None:
    front = yaml.safe_load(block.text.split("---\n")[1])
    read = read_document(block.text.encode(), front["name"])
    assert (read.errors, read.warnings) == ((), ())


def _skill_entry(block: Block, _: Path) -> None:
    text = f"---\nname: made\ndescription: Does something. Use it now.\n{block.text}---\n\n# Made\n"
    read = read_document(text.encode(), "made")
    assert (read.errors, read.warnings) == ((), ())
    assert read.entry is not None


def _skill_events(block: Block, _: Path) -> None:
    events = EventReader()
    events.feed(block.text.encode())
    assert events.problem is None
    assert events.result is not None


def _call(block: Block, _: Path) -> None:
    """The arguments fit the tool's schema; `tests/execution/test_every_tool.py` makes the call."""
    call = json.loads(block.text)
    tool = register_all_tools(installed_plugins=False).snapshot().tools[call["name"]]
    compile_schema(tool.parameters, closed=True)[1](json.dumps(call["arguments"]).encode())


def _saved(block: Block, _: Path) -> None:
    """It can be read; the commands of its page use it."""
    assert yaml.safe_load(block.text)


def _dockerfile(block: Block, _: Path) -> None:
    """`tests/packaging/test_container.py` builds it."""
    assert parse(block.text)[-1].base.startswith("tollgate:")


def _compose(block: Block, _: Path) -> None:
    """It changes the service of compose.yaml; `tests/packaging/test_container.py` runs it."""
    original = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    assert yaml.safe_load(block.text)["services"].keys() == original["services"].keys()


CHECKS: dict[str, Callable[[Block, Path], None]] = {
    "settings": _settings,
    "rules": _rules_list,
    "command": _command,
    "skill": _skill,
    "skill entry": _skill_entry,
    "skill events": _skill_events,
    "call": _call,
}
QUOTED: dict[str, Callable[[Block, Path], None]] = {
    "examples/language_servers.yml": _settings,
    "examples/container/Dockerfile": _dockerfile,
    "examples/rules/protect_paths.yml": _rules_list,
    "examples/container/compose.override.yaml": _compose,
}


def check_of(block: Block) -> Callable[[Block, Path], None]:
    """How a block is checked."""
    if block.page == "docs/tools.md":
        return _call
    if block.note == "saved":
        return _saved
    return QUOTED[block.value] if block.note == "file" else CHECKS[block.value]


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.fate == "checked"], ids=names)
def test_data_on_a_page_is_what_the_page_says(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    check_of(block)(block, tmp_path)
