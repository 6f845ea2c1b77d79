"""An approval holds for what a person saw that a call would hit, and for nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.execution.calls import CallRequest
from app.execution.confirmation import step, targets
from app.execution.outcome import CallOutcome
from tests.execution.lab import Event, Lab

DELETIONS = [
    "rm -rf build",
    "rm build/*.txt",
    "find build -name '*.txt' -delete",
    "find build -type f -delete",
    "cd build && rm ./*.txt",
    "python3 -c \"import shutil; shutil.rmtree('build')\"",
]


@pytest.fixture
def root(house: Lab) -> Path:
    folder = Path(house.context["project"].root)
    (folder / "build" / "deep").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "deep/c.txt"):
        (folder / "build" / name).write_text(name, encoding="utf-8")
    return folder


def start(house: Lab, command: str, **changes: Any) -> asyncio.Task[list[CallOutcome]]:
    request = CallRequest("rm", "bash", {"command": command})
    return asyncio.create_task(house.run(request, **{"run_id": "run_1", **changes}))


async def asked(house: Lab, count: int = 1) -> Event:
    return await house.watcher.until("tool_confirmation_request", count=count)


@pytest.mark.parametrize("command", DELETIONS[:3])
async def test_what_is_still_the_same_runs(house: Lab, root: Path, command: str):
    running = start(house, command)
    question = await asked(house)
    await house.answer("approve_once", question)

    assert (await running)[0].status == "success"
    assert not (root / "build" / "a.txt").exists()
    assert len(house.watcher.of("tool_confirmation_request")) == 1


@pytest.mark.parametrize("command", DELETIONS)
async def test_a_file_that_came_meanwhile_is_asked_about(house: Lab, root: Path, command: str):
    running = start(house, command)
    first = await asked(house)
    (root / "build" / "new.txt").write_text("not seen", encoding="utf-8")
    await house.answer("approve_once", first)
    second = await asked(house, 2)

    assert (root / "build" / "a.txt").exists()
    assert "new: build/new.txt" in second["asked_again"]
    assert second["description"].startswith(second["asked_again"])
    assert second["risk"]["rules"][0]["rule_id"] == "targets_changed"
    assert second["digest"] != first["digest"]
    assert second["target_list"]["count"] == first["target_list"]["count"] + 1
    await house.answer("approve_once", second)
    assert (await running)[0].status == "success"
    assert not (root / "build" / "new.txt").exists()


def remove(root: Path) -> None:
    (root / "build" / "b.txt").unlink()


def replace(root: Path) -> None:
    (root / "build" / "b.txt").unlink()
    (root / "build" / "b.txt").mkdir()


@pytest.mark.parametrize("change", [remove, replace])
async def test_what_is_gone_or_something_else_is_asked_about_too(
    house: Lab, root: Path, change: Callable[[Path], None]
):
    running = start(house, "rm -rf build")
    first = await asked(house)
    change(root)
    await house.answer("approve_once", first)
    second = await asked(house, 2)

    assert "build/b.txt" in second["asked_again"]
    await house.answer("decline", second)
    assert (await running)[0].status == "declined"
    assert (root / "build" / "a.txt").exists()


@pytest.mark.parametrize("command", ["rm build/*.txt", "rm -r build/*", "rm build/a.txt"])
@pytest.mark.parametrize("was_link", [False, True])
async def test_a_link_that_leads_elsewhere_meanwhile_is_asked_about(
    house: Lab, root: Path, command: str, *, was_link: bool
):
    (root / "build").rename(root / "old")
    for name in ("a.txt", "b.txt", "deep/c.txt"):
        (root / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "src" / name).write_text("kept", encoding="utf-8")
    if was_link:
        (root / "build").symlink_to("old")
    else:
        (root / "old").rename(root / "build")
    running = start(house, command)
    first = await asked(house)
    if was_link:
        (root / "build").unlink()
    else:
        (root / "build").rename(root / "old")
    (root / "build").symlink_to("src")
    await house.answer("approve_once", first)
    second = await asked(house, 2)

    assert [target["path"] for target in second["targets"]] == [
        target["path"] for target in first["targets"]
    ]
    assert second["targets"][0]["real"].startswith(str(root / "src"))
    assert "new: src" in second["asked_again"]
    await house.answer("decline", second)
    assert (await running)[0].status == "declined"
    assert (root / "src" / "a.txt").exists()


async def test_a_pattern_reaches_through_links_as_a_shell_does(house: Lab, root: Path):
    (root / ".kept" / "in").mkdir(parents=True)
    (root / ".kept" / "in" / "x.txt").write_text("kept", encoding="utf-8")
    (root / "link").symlink_to(".kept")
    (root / "link2").symlink_to("/usr")
    running = start(house, "rm */in/*.txt")
    question = await asked(house)

    assert [target["names"] for target in question["targets"]] == [["link/in/x.txt"]]
    assert question["target_list"]["count"] == 1
    await house.answer("decline", question)
    await running


async def test_names_with_line_breaks_are_not_taken_for_other_names(house: Lab, root: Path):
    digests = set()
    for names in (("za\nfile zb", "zc"), ("za", "zb\nfile zc")):
        for name in names:
            (root / name).write_text("x", encoding="utf-8")
        found = await targets.targets_of([f"{root}/z*"], house.context["project"])
        digests.add(found.digest)
        for name in names:
            (root / name).unlink()

    assert len(digests) == 2


async def test_the_question_lists_what_is_in_folders_and_behind_patterns(house: Lab, root: Path):
    running = start(house, "rm -rf build *.md; rm -f none")
    (root / "x.md").write_text("x", encoding="utf-8")
    question = await asked(house)

    shown = {Path(target["path"]).name: target for target in question["targets"]}
    assert (shown["build"]["type"], shown["build"]["files"]) == ("directory", 3)
    assert shown["build"]["names"] == ["build/a.txt", "build/b.txt", "build/deep/c.txt"]
    assert shown["none"]["type"] == "missing"
    assert question["target_list"]["more"] is False
    await house.answer("decline", question)
    await running


async def test_a_file_that_would_be_emptied_is_bound_as_well(house: Lab, root: Path):
    running = start(house, ": > build/a.txt")
    first = await asked(house)
    (root / "build" / "a.txt").unlink()
    (root / "build" / "a.txt").mkdir()
    await house.answer("approve_once", first)
    await running

    # A folder cannot be emptied so: there is nothing left to ask, and nothing is lost.
    assert len(house.watcher.of("tool_confirmation_request")) == 1
    assert (root / "build" / "a.txt").is_dir()


@pytest.mark.parametrize("command", ["shred -u build/a.txt", "truncate -s 0 build/a.txt"])
async def test_what_destroys_a_file_names_it(house: Lab, root: Path, command: str):
    running = start(house, command)
    question = await asked(house)

    assert [target["files"] for target in question["targets"]] == [1]
    await house.answer("decline", question)
    await running


async def test_file_tools_that_ask_are_bound(house: Lab, root: Path):
    await house.runtime.rules.create(
        {"tool": "file_delete", "decision": "ask", "justification": "looked at"}, actor="ann"
    )
    request = CallRequest("rm", "file_delete", {"path": "build/a.txt"})
    running = asyncio.create_task(house.run(request, run_id="run_1"))
    first = await asked(house)
    assert [target["path"] for target in first["targets"]] == [str(root / "build" / "a.txt")]
    (root / "build" / "a.txt").unlink()
    (root / "build" / "a.txt").symlink_to("b.txt")
    await house.answer("approve_once", first)
    second = await asked(house, 2)

    await house.answer("decline", second)
    assert (await running)[0].status == "declined"
    assert (root / "build" / "a.txt").is_symlink()


async def test_a_lasting_approval_that_came_too_late_is_taken_back(house: Lab, root: Path):
    running = start(house, "rm -rf build")
    first = await asked(house)
    offered = {option["option_id"]: option for option in first["options"]}
    assert offered["approve_session"]["covers"].endswith("patterns contain at that time")
    (root / "build" / "new.txt").write_text("not seen", encoding="utf-8")
    await house.answer("approve_session", first)
    second = await asked(house, 2)

    assert (root / "build" / "a.txt").exists()
    rows = await house.rows("SELECT revoked_by FROM grants")
    assert rows == [("system",)]
    await house.answer("decline", second)
    assert (await running)[0].status == "declined"
    again = start(house, "rm -rf build")
    await house.answer("decline", await asked(house, 3))
    assert (await again)[0].status == "declined"


def start_behind_two(house: Lab, command: str) -> asyncio.Task[list[CallOutcome]]:
    """The same in a batch whose places are taken until there is a file `go`."""
    waits = "until test -e go; do sleep 0.01; done"
    commands = [waits, f"{waits}; true", command]
    requests = [
        CallRequest(f"c{at}", "bash", {"command": each}) for at, each in enumerate(commands)
    ]
    return asyncio.create_task(house.run(*requests, run_id="run_1", workers=2))


async def test_a_lasting_approval_is_taken_back_after_a_wait_as_well(
    house: Lab, root: Path, monkeypatch: pytest.MonkeyPatch
):
    looked = asyncio.Semaphore(0)

    async def look(*given: Any) -> targets.Targets:
        found = await targets.targets_of(*given)
        looked.release()
        return found

    monkeypatch.setattr(step, "targets_of", look)
    running = start_behind_two(house, "rm -rf build")
    first = await asked(house)
    await house.watcher.until("tool_call_started", count=3)
    await house.answer("approve_session", first)
    for _ in range(2):
        await looked.acquire()
    (root / "build" / "new.txt").write_text("not seen", encoding="utf-8")
    (root / "go").touch()
    second = await asked(house, 2)

    assert await house.rows("SELECT revoked_by FROM grants") == [("system",)]
    await house.answer("decline", second)
    assert (await running)[2].status == "declined"
    again = start(house, "rm -rf build")
    await house.answer("decline", await asked(house, 3))
    assert (await again)[0].status == "declined"


async def test_what_another_approval_covers_is_not_asked_about_after_a_wait(house: Lab, root: Path):
    running = start_behind_two(house, "rm -rf build")
    await asked(house)
    (root / "build" / "new.txt").write_text("not seen", encoding="utf-8")
    other = start(house, "rm -rf build", run_id="run_2")
    await house.answer("approve_session", await asked(house, 2))
    assert (await other)[0].status == "success"
    (root / "go").touch()

    assert [outcome.status for outcome in await running] == ["success"] * 3
    assert len(house.watcher.of("tool_confirmation_request")) == 2


async def test_a_lasting_approval_covers_what_is_there_later(house: Lab, root: Path):
    running = start(house, "rm -rf build")
    await house.answer("approve_session", await asked(house))
    assert (await running)[0].status == "success"
    (root / "build").mkdir()
    (root / "build" / "other.txt").write_text("later", encoding="utf-8")

    assert (await start(house, "rm -rf build"))[0].status == "success"
    assert not (root / "build").exists()


async def test_a_tree_that_is_too_large_is_bound_by_its_count_and_its_first_part(
    house: Lab, root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(targets, "MAX_LISTED", 3)
    running = start(house, "rm -rf build")
    first = await asked(house)
    assert first["target_list"]["more"] is True
    (root / "build" / "zz.txt").write_text("not seen", encoding="utf-8")
    await house.answer("approve_once", first)
    second = await asked(house, 2)

    assert second["target_list"]["count"] == first["target_list"]["count"] + 1
    await house.answer("decline", second)
    await running


async def test_what_takes_too_long_to_look_at_is_said_and_not_bound(
    house: Lab, root: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(targets, "LOOK_S", 0)
    running = start(house, "rm -rf build")
    question = await asked(house)

    assert "target_list" not in question
    await house.answer("approve_once", question)
    assert (await running)[0].status == "success"


async def test_calls_of_one_batch_are_asked_about_again_one_by_one(house: Lab, root: Path):
    requests = [
        CallRequest(f"c{at}", "bash", {"command": f"rm -rf build/{name}"})
        for at, name in enumerate(("deep", "*.txt"))
    ]
    running = asyncio.create_task(house.run(*requests, run_id="run_1", workers=1))
    await house.answer("approve_once", await asked(house))
    pattern = await asked(house, 2)
    (root / "build" / "d.txt").write_text("not seen", encoding="utf-8")
    await house.answer("approve_once", pattern)
    again = await asked(house, 3)
    await house.answer("decline", again)

    assert [outcome.status for outcome in await running] == ["success", "declined"]
    assert not (root / "build" / "deep").exists()
    assert (root / "build" / "a.txt").exists()


async def test_the_audit_says_what_was_shown_and_what_changed(house: Lab, root: Path):
    running = start(house, "rm -rf build")
    first = await asked(house)
    (root / "build" / "new.txt").write_text("not seen", encoding="utf-8")
    await house.answer("approve_once", first)
    second = await asked(house, 2)
    await house.answer("decline", second)
    await running

    rows = await house.rows(
        "SELECT detail FROM audit WHERE kind = 'confirmation.asked' ORDER BY seq"
    )
    reported = [str(row[0]) for row in rows]
    assert first["target_list"]["digest"] in reported[0]
    assert second["target_list"]["digest"] in reported[1]
    assert "new: build/new.txt" in reported[1]


@pytest.mark.parametrize(
    ("command", "real"),
    [
        ("rm link", "build/a.txt"),
        ("rm linked/a.txt", "build/a.txt"),
        ("rm -r linked/deep", "build/deep"),
        ("rm linked/*.txt", "build/*.txt"),
        ("rm dangling", "build/new.txt"),
        ("rm outside", "/usr/lib"),
        ("rm chain", "build/a.txt"),
    ],
)
async def test_a_person_sees_where_links_lead(house: Lab, root: Path, command: str, real: str):
    for name, leads_to in {
        "link": "build/a.txt",
        "linked": "build",
        "dangling": "build/new.txt",
        "outside": "/usr/lib",
        "chain": "link",
    }.items():
        (root / name).symlink_to(leads_to)
    running = start(house, command)
    question = await asked(house)
    (target,) = question["targets"]

    assert target["path"] == str(root / command.rsplit(maxsplit=1)[-1])
    assert target["real"] == str(root / real)
    await house.answer("decline", question)
    await running


async def test_a_person_sees_where_the_names_behind_a_pattern_lead(house: Lab, root: Path):
    (root / "build" / "b.txt").unlink()
    (root / "build" / "b.txt").symlink_to("../secret.txt")
    running = start(house, "rm build/*.txt")
    question = await asked(house)
    (target,) = question["targets"]

    assert target["names"] == ["build/a.txt", "build/b.txt"]
    assert target["links"] == [{"path": "build/b.txt", "real": str(root / "secret.txt")}]
    assert "real" not in target
    (root / "build" / "b.txt").unlink()
    (root / "build" / "b.txt").symlink_to("../other.txt")
    await house.answer("approve_once", question)
    second = await asked(house, 2)

    assert "new: other.txt" in second["asked_again"]
    await house.answer("decline", second)
    await running


async def test_ordinary_paths_are_shown_alone(house: Lab, root: Path):
    running = start(house, "rm -r build")
    question = await asked(house)

    (target,) = question["targets"]
    assert not target.keys() & {"real", "links"}
    await house.answer("decline", question)
    await running


async def test_links_that_lead_to_each_other_are_asked_about(house: Lab, root: Path):
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    running = start(house, "rm one")
    question = await asked(house)

    assert [target["path"] for target in question["targets"]] == [str(root / "one")]
    await house.answer("approve_once", question)
    assert (await running)[0].status == "success"
    assert not (root / "one").is_symlink()


async def test_what_hides_in_the_place_that_a_link_leads_to_is_written_out(house: Lab, root: Path):
    (root / "link").symlink_to("a\u202eb.txt")
    running = start(house, "rm link")
    question = await asked(house)

    assert question["targets"][0]["real"] == str(root / "a\\u202eb.txt")
    await house.answer("decline", question)
    await running
