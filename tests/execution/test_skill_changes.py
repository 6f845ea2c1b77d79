"""Making, changing, removing and switching skills by `skill_manage`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from app.domain.skills import SkillViewer
from tests.execution.lab import Lab
from tests.execution.skill_lab import compute, document, project_folder, put, row_of, user_folder

HERE = SkillViewer(None, "default")
Arguments = dict[str, Any]


async def manage(lab: Lab, action: str, /, call_id: str = "m1", **arguments: Any) -> Any:
    return (await lab.call("skill_manage", call_id, action=action, **arguments)).result


async def approved(lab: Lab, action: str, count: int = 1, /, **arguments: Any) -> Any:
    """A call that asks, approved; `count` says which question of the session it is."""
    call = asyncio.create_task(manage(lab, action, f"a{count}", **arguments))
    asked = await lab.watcher.until("tool_confirmation_request", count)
    await lab.answer("approve_once", asked)
    return await call


@pytest.mark.requirement("SKL-02")
async def test_a_skill_is_made_changed_and_removed(house: Lab):
    made = await manage(house, "create", "m1", name="notes", content=document("notes"))
    assert (made.success, made.data["skill"]["status"]) == (True, "untrusted")
    folder = project_folder(house) / "notes"
    path = "references/deep/a.md"
    await manage(house, "write_file", "m2", name="notes", file_path=path, file_content="A")
    assert (folder / path).read_text(encoding="utf-8") == "A"
    changed = {"name": "notes", "old_string": "Body", "new_string": "Better"}
    assert (await manage(house, "patch", "m3", **changed)).success
    patched = {"name": "notes", "file_path": path, "old_string": "A", "new_string": "B"}
    assert (await manage(house, "patch", "m4", **patched)).success
    assert (folder / path).read_text(encoding="utf-8") == "B"
    assert "Better" in (folder / "SKILL.md").read_text(encoding="utf-8")
    assert (await manage(house, "remove_file", "m5", name="notes", file_path=path)).success
    await manage(house, "edit", "m6", name="notes", content=document("notes", body="All new"))
    assert "All new" in (folder / "SKILL.md").read_text(encoding="utf-8")
    await manage(house, "write_file", "m7", name="notes", file_path="assets/x", file_content="")
    gone = await manage(house, "delete", "m8", name="notes")
    assert gone.data["changed"] == ["SKILL.md", "assets/x"]
    assert not (folder / "SKILL.md").exists()


@pytest.mark.requirement("SKL-02")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"action": "create", "name": "n", "content": "x"}, "validation_failed"),
        ({"action": "create", "name": "n", "content": document("m")}, "validation_failed"),
        ({"action": "create", "name": "n", "content": document("n", more="x: 1\n")}, None),
        ({"action": "create", "name": "there", "content": document("there")}, "already_exists"),
        ({"action": "create", "name": "N", "content": document("N")}, "invalid_arguments"),
        ({"action": "create", "name": "../n", "content": "x"}, "invalid_arguments"),
        ({"action": "create", "name": "n"}, "invalid_arguments"),
        ({"action": "enable", "name": "n"}, "invalid_arguments"),
        ({"action": "edit", "name": "n", "content": document("n")}, "skill_not_found"),
        ({"action": "delete", "name": "n"}, "skill_not_found"),
        ({"action": "edit", "name": "there", "content": "---\n"}, "validation_failed"),
        (
            {"action": "patch", "name": "there", "old_string": "name:", "new_string": "nam:"},
            "validation_failed",
        ),
        ({"action": "patch", "name": "there", "old_string": "?", "new_string": "!"}, "no_match"),
        (
            {"action": "create", "name": "x", "scope": "builtin", "content": document("x")},
            "invalid_arguments",
        ),
    ],
)
async def test_what_is_no_skill_is_not_written(house: Lab, arguments: Arguments, code: str | None):
    made = put(project_folder(house), "there", {"SKILL.md": document("there")})
    before = (made / "SKILL.md").read_bytes()
    outcome = await house.call("skill_manage", **arguments)
    assert outcome.success is False
    assert outcome.result.code == (code or "validation_failed")
    assert (made / "SKILL.md").read_bytes() == before
    assert [path.name for path in project_folder(house).iterdir()] == ["there"]


@pytest.mark.parametrize(
    "path",
    [
        "SKILL.md",
        "main.py",
        "scripts",
        "scripts/",
        "scripts/../SKILL.md",
        "scripts/../../other/SKILL.md",
        "../../../a.txt",
        "/etc/x",
        "~/x",
        "other/x",
        "scripts/a\nb",
        "scripts\\..\\x",
    ],
)
async def test_files_are_written_only_where_the_standard_has_them(house: Lab, path: str):
    put(project_folder(house), "there", {"SKILL.md": document("there")})
    result = await manage(house, "write_file", name="there", file_path=path, file_content="x = 1")
    assert result.success is False
    assert result.code in ("outside_workspace", "validation_failed")


async def test_a_category_goes_into_metadata(house: Lab):
    text = document("notes")
    await manage(house, "create", name="notes", content=text, category="writing")
    stored = (project_folder(house) / "notes/SKILL.md").read_text(encoding="utf-8")
    assert 'metadata:\n  category: "writing"\n---' in stored
    row = await row_of(house, "project:default:notes")
    assert (row.problems, row.warnings) == ((), ())
    twice = await manage(
        house,
        "create",
        "m2",
        name="more",
        content=document("more", more="metadata: {a: b}\n"),
        category="x",
    )
    assert twice.code == "validation_failed"


async def test_a_skill_for_everybody_asks_before_it_is_written(house: Lab):
    call = asyncio.create_task(
        manage(house, "create", scope="user", name="shared", content=document("shared"))
    )
    asked = await house.watcher.until("tool_confirmation_request")
    assert not user_folder(house).exists()
    await house.answer("approve_once", asked)
    assert (await call).data["skill"]["status"] == "visible"


async def test_a_person_enables_exactly_the_version_that_was_shown(house: Lab):
    files = {"SKILL.md": compute("mine"), "scripts/main.py": "print(1)"}
    made = put(project_folder(house), "mine", files)
    digest = (await row_of(house, "project:default:mine")).digest
    result = await approved(house, "enable", name="mine", digest=digest)
    assert (result.data["status"], result.data["is_trusted"]) == ("visible", True)
    (made / "scripts/main.py").write_text("print(2)", encoding="utf-8")
    late = await approved(house, "enable", 2, name="mine", digest=digest)
    assert (late.success, late.code) == (False, "digest_mismatch")
    off = await approved(house, "disable", 3, name="mine")
    assert off.data["status"] == "disabled"
    rows = await house.rows("SELECT actor FROM audit WHERE kind = 'governance.skill'")
    assert len(rows) == 2


async def test_what_an_agent_changes_in_a_skill_takes_its_trust_away(house: Lab):
    put(project_folder(house), "mine", {"SKILL.md": document("mine")})
    digest = (await row_of(house, "project:default:mine")).digest
    await approved(house, "enable", name="mine", digest=digest)
    changed = await manage(
        house, "write_file", "w1", name="mine", file_path="scripts/a.py", file_content="x"
    )
    assert changed.data["skill"]["status"] == "untrusted"


async def test_a_change_in_the_workspace_can_be_undone(house: Lab):
    await manage(house, "create", name="notes", content=document("notes"))
    rows = await house.rows("SELECT path FROM checkpoints")
    assert rows == [(".tollgate/skills/notes/SKILL.md",)]


async def test_without_a_project_there_is_no_skill_of_one(house: Lab):
    del house.context["project"]
    result = await manage(house, "create", name="notes", content=document("notes"))
    assert (result.success, result.code) == (False, "project_required")
