"""Programs of skills, run through the whole gate and in the real sandbox."""

from __future__ import annotations

import asyncio
import json
from io import BytesIO
from typing import Any

import pytest

from app.operations.protocols.files import FileOperations
from tests.execution.lab import Lab
from tests.execution.skill_lab import compute, enable, put, running, user_folder

STAGES = ["load", "detect", "locate", "review"]


@pytest.fixture
def files(house: Lab) -> FileOperations:
    operations: FileOperations = house.context["project"].operations.files
    return operations


def picture() -> bytes:
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (320, 200), (240, 240, 240))
    ImageDraw.Draw(image).rectangle((40, 40, 119, 99), fill=(200, 30, 30))
    stored = BytesIO()
    image.save(stored, "PNG")
    return stored.getvalue()


@pytest.mark.requirement("SKL-03", "SKL-04", "EVT-07")
async def test_the_example_measures_an_image_in_four_stages(house: Lab, files: FileOperations):
    await files.write("photos/a b.png", picture())
    outcome = await house.call(
        "execute_skill", name="image-statistics", args={"image": "photos/a b.png"}
    )
    assert (outcome.status, outcome.result.error) == ("success", None)
    figures = outcome.result.data["data"]
    assert (figures["width"], figures["height"], figures["background"]) == (320, 200, [240] * 3)
    (region,) = figures["regions"]
    assert region["box"] == [40, 40, 120, 100]
    # Live to who watches, and for good in the log.
    live = [event["stage"] for event in house.watcher.of("process_progress")]
    assert list(dict.fromkeys(live)) == STAGES
    kept = house.watcher.of("process_event", status="started")
    assert [event["stage"] for event in kept] == STAGES
    percents = [event["progress"]["percent"] for event in house.watcher.of("process_progress")]
    assert (percents, percents[-1]) == (sorted(percents), 100)
    assert house.watcher.of("process_event", status="completed")


@pytest.mark.requirement("SKL-03")
async def test_the_annotated_image_is_kept_and_shown(house: Lab, files: FileOperations):
    await files.write("a.png", picture())
    outcome = await house.call("execute_skill", name="image-statistics", args={"image": "a.png"})
    raw = outcome.result.raw_result
    assert raw is not None
    assert raw.type == "image"
    (shown,) = raw.data["images"]
    data = await house.runtime.artifacts.load(
        shown["artifact_id"], session_id=house.session.id, max_bytes=1 << 20
    )
    assert data.startswith(b"\x89PNG")
    assert data != picture()


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ({}, "invalid_arguments", "args: missing required image"),
        ({"image": 7}, "invalid_arguments", "args: image"),
        ({"image": "a.png", "more": 1}, "invalid_arguments", "more"),
        ({"image": "missing.png"}, "file_not_found", "missing.png"),
        ({"image": "../../etc/passwd"}, "outside_workspace", "outside"),
        ({"image": "/etc/passwd"}, "outside_workspace", "outside"),
        ({"image": "text.png"}, "skill_failed", "exited with status 1"),
    ],
)
async def test_what_cannot_be_measured_is_reported(
    house: Lab, files: FileOperations, args: dict[str, Any], code: str, said: str
):
    await files.write("text.png", b"no image")
    outcome = await house.call("execute_skill", name="image-statistics", args=args)
    assert (outcome.success, outcome.result.code) == (False, code)
    assert said in str(outcome.result.error)


@pytest.mark.requirement("EVT-08")
async def test_what_the_child_says_is_progress_output_and_a_result(house: Lab):
    await running(
        house,
        "talker",
        'print("noise"); print("warn", file=sys.stderr)\n'
        'say("progress", stage="one", percent=50, message="half")\n'
        'say("result", data={"got": args})',
    )
    outcome = await house.call("execute_skill", name="talker", args={"x": [1, "ü"]})
    data = outcome.result.data
    assert (data["data"], data["exit_code"]) == ({"got": {"x": [1, "ü"]}}, 0)
    assert (data["output"], data["stderr"]) == ("noise\n", "warn\n")
    event = await house.watcher.until("process_progress")
    assert (event["stage"], event["message"], event["progress"]["percent"]) == ("one", "half", 50)
    streamed = "".join(e["text"] for e in house.watcher.of("tool_result_streamed"))
    assert ("noise" in streamed, "warn" in streamed, '"event"' in streamed) == (True, True, False)


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        ("sys.exit(3)", "skill_failed", "status 3"),
        ('say("result", data=1); sys.exit(1)', "skill_failed", "status 1"),
        ("os.kill(os.getpid(), 9)", "skill_failed", "SIGKILL"),
        ("pass", "skill_bad_output", "without a result"),
        ('say("result", data=1); say("result", data=2)', "skill_bad_output", "more than one"),
        ('say("result", data={}, artifacts=["none"])', "skill_bad_output", "'none'"),
        ('say("result", data={"n": "x"})', "skill_bad_output", "does not match its schema"),
        ('say("result", data="x" * (2 << 20))', "skill_bad_output", "exceeds"),
    ],
)
async def test_a_program_that_goes_wrong_is_reported(house: Lab, script: str, code: str, said: str):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    await running(house, "wrong", script, schemas={"output_schema": schema})
    outcome = await house.call("execute_skill", name="wrong")
    assert (outcome.success, outcome.result.code) == (False, code), outcome.result.error
    assert said in str(outcome.result.error)


async def test_time_that_is_over_ends_all_that_it_started(house: Lab):
    script = (
        "import subprocess\n"
        'subprocess.Popen([sys.executable, "-c", "while True: pass"])\n'
        'say("progress", stage="on")\n'
        "while True: pass"
    )
    await running(house, "endless", script, timeout=1)
    outcome = await house.call("execute_skill", name="endless", timeout=1)
    assert (outcome.status, outcome.result.code) == ("timeout", "timeout")
    assert "within 1 s" in str(outcome.result.error)


async def test_a_skill_that_is_cancelled_is_gone_with_its_room(house: Lab):
    await running(house, "waiting", 'say("progress", stage="on")\nwhile True: pass')
    call = asyncio.create_task(house.call("execute_skill", name="waiting"))
    await house.watcher.until("process_progress", stage="on")
    place = house.runtime.settings.data_dir / "tmp"
    assert list(place.glob("*/*/skill/SKILL.md"))
    call.cancel()
    await asyncio.wait({call})
    assert call.cancelled()
    assert not list(place.glob("*/*/skill"))


async def test_words_of_the_command_lead_to_the_skill_and_files_to_copies(house: Lab):
    schemas = {
        "input_schema": {
            "type": "object",
            "properties": {
                "files": {"type": "array", "items": {"type": "string", "format": "workspace-path"}}
            },
        }
    }
    await house.context["project"].operations.files.write("one.txt", b"1")
    await house.context["project"].operations.files.write("sub/one.txt", b"2")
    script = (
        'texts = [open(path).read() for path in args["files"]]\n'
        'open("made.txt", "w").write("new")\n'
        'say("result", data={"texts": texts, "cwd": os.path.basename(os.getcwd())},'
        ' artifacts=["made.txt", os.environ["SKILL_WORK_DIR"] + "/made.txt"])'
    )
    await running(house, "copies", script, schemas=schemas)
    outcome = await house.call(
        "execute_skill", name="copies", args={"files": ["one.txt", "sub/one.txt"]}
    )
    assert outcome.result.data["data"] == {"texts": ["1", "2"], "cwd": "work"}
    assert [item["name"] for item in outcome.result.data["artifacts"]] == ["made.txt"] * 2


async def test_a_version_that_nobody_enabled_runs_only_when_a_person_says_so(house: Lab):
    put(
        user_folder(house),
        "new",
        {
            "SKILL.md": compute("new"),
            "scripts/main.py": 'import json\nprint(json.dumps({"event": "result", "data": 7}))',
        },
    )
    refused = await house.call("execute_skill", "c1", name="new")
    assert refused.result.code == "skill_not_trusted"
    digest = refused.result.data["digest"]
    call = asyncio.create_task(house.call("execute_skill", "c2", name="new", digest=digest))
    asked = await house.watcher.until("tool_confirmation_request")
    assert digest[:12] in json.dumps(asked)
    await house.answer("approve_once", asked)
    assert (await call).result.data["data"] == 7


async def test_another_version_than_the_one_asked_about_does_not_run(house: Lab):
    made = put(
        user_folder(house), "new", {"SKILL.md": compute("new"), "scripts/main.py": "print(1)"}
    )
    digest = (await house.call("execute_skill", "c1", name="new")).result.data["digest"]
    call = asyncio.create_task(house.call("execute_skill", "c2", name="new", digest=digest))
    asked = await house.watcher.until("tool_confirmation_request")
    (made / "scripts/main.py").write_text("print(2)", encoding="utf-8")
    await house.answer("approve_once", asked)
    assert (await call).result.code == "skill_changed"


async def test_a_declined_version_does_not_run(house: Lab):
    put(user_folder(house), "new", {"SKILL.md": compute("new"), "scripts/main.py": "print(1)"})
    digest = (await house.call("execute_skill", "c1", name="new")).result.data["digest"]
    call = asyncio.create_task(house.call("execute_skill", "c2", name="new", digest=digest))
    asked = await house.watcher.until("tool_confirmation_request")
    await house.answer("decline", asked)
    assert (await call).status == "declined"


async def test_a_skill_without_a_program_is_read_not_run(house: Lab):
    text = "---\nname: words\ndescription: D\n---\nx\n"
    put(user_folder(house), "words", {"SKILL.md": text})
    await enable(house, "user:words")
    outcome = await house.call("execute_skill", name="words")
    assert outcome.result.code == "skill_not_runnable"


async def test_the_real_folder_stays_as_it_is(house: Lab):
    script = (
        'here = os.environ["SKILL_DIR"]\n'
        "for folder, _, files in os.walk(here):\n"
        "    os.chmod(folder, 0o700)\n"
        'open(here + "/scripts/main.py", "w").write("changed")\n'
        'say("result", data={"file": os.path.exists(here + "/SKILL.md")})'
    )
    await running(house, "vandal", script)
    before = (user_folder(house) / "vandal/scripts/main.py").read_bytes()
    await house.call("execute_skill", name="vandal")
    assert (user_folder(house) / "vandal/scripts/main.py").read_bytes() == before
