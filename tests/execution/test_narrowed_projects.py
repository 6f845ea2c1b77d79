"""Projects seen through some of their folders, and calls of sub-agents in them."""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import InvalidInput, NotFound, TollgateError
from app.execution.calls import CallRequest
from app.execution.outcome import CallOutcome
from app.execution.projects import MAX_NARROWED
from app.execution.subagent import Subagent
from app.governance.agents import SubagentScope
from tests.execution.lab import Lab
from tests.operations.conftest import fill_folder, open_descriptors

pytestmark = pytest.mark.requirement("CTX-11")
SECRET = "SECRET of b"


@dataclass
class NoProcess:
    """A sub-agent's process that has no tool: every call runs in the service."""

    tools: frozenset[str] = field(default_factory=frozenset)

    async def execute(self, *_: Any) -> Any:
        raise AssertionError("nothing is routed here")


def subagent(task_id: str = "task_1") -> Subagent:
    return Subagent(
        task_id=task_id,
        label="reader",
        parent_tool_call_id="call_parent",
        scope=SubagentScope(),
        depth=1,
        process=NoProcess(),
    )


@pytest.fixture
def root(house: Lab) -> Path:
    folder = Path(house.runtime.projects.get("default").root)
    fill_folder(folder, {"a/x.txt": "in a\n", "b/x.txt": SECRET, "c/d/z.txt": "in c/d\n"})
    return folder


async def by_subagent(
    house: Lab, name: str, /, *, roots: tuple[str, ...] = ("a",), task: str = "task_1", **given: Any
) -> CallOutcome:
    project = house.runtime.projects.narrowed("default", roots)
    request = CallRequest(f"sub_{name}", name, given)
    outcomes = await house.run(request, project=project, subagent=subagent(task), caller="subagent")
    return outcomes[0]


def everything(outcome: CallOutcome) -> str:
    return f"{outcome.text} {outcome.result}"


async def test_a_narrowed_project_is_opened_once_and_keeps_the_paths_of_the_whole(
    house: Lab, root: Path
):
    projects = house.runtime.projects
    narrowed = projects.narrowed("default", ("./a/", "c/d", "a"))

    assert narrowed is projects.narrowed("default", ("a", "c/d"))
    assert (narrowed.id, narrowed.root, narrowed.roots) == ("default", str(root), ("a", "c/d"))
    assert projects.narrowed("default", ()) is projects.get("default")
    assert projects.narrowed("default", ("c/d", "c")).roots == ("c",)


@pytest.mark.parametrize(
    ("roots", "error", "reported"),
    [
        (("nothing",), NotFound, "folder 'nothing' does not exist"),
        (("a/x.txt/y",), InvalidInput, "not a folder"),
        (("A",), NotFound, "folder 'A' does not exist"),
        (("a", "/etc"), InvalidInput, "relative"),
        (("..",), InvalidInput, "below"),
        (("a/../b",), InvalidInput, "below"),
        ((".",), InvalidInput, "omit workspace_roots"),
        (("",), InvalidInput, "empty"),
        (("a\0b",), InvalidInput, "NUL"),
        (("a/x.txt",), InvalidInput, "not a folder"),
        (("link",), InvalidInput, "link"),
        (("link/d",), InvalidInput, "link"),
        (tuple(f"d{n}" for n in range(17)), InvalidInput, "the maximum is 16"),
    ],
)
async def test_roots_that_are_no_folders_of_the_workspace_are_refused_by_name(
    house: Lab, root: Path, roots: tuple[str, ...], error: type[TollgateError], reported: str
):
    (root / "link").symlink_to("c")
    with pytest.raises(error, match=reported) as caught:
        house.runtime.projects.narrowed("default", roots)
    assert caught.value.message.startswith("workspace_roots: ")
    assert caught.value.details["field"] == "workspace_roots"


async def test_narrowed_projects_are_bounded_and_give_back_what_they_held(house: Lab, root: Path):
    projects = house.runtime.projects
    for number in range(3 * MAX_NARROWED):
        (root / f"r{number}").mkdir()
    for number in range(MAX_NARROWED):
        projects.narrowed("default", (f"r{number}",))
    gc.collect()
    before = open_descriptors()
    for number in range(MAX_NARROWED, 3 * MAX_NARROWED):
        projects.narrowed("default", (f"r{number}",))
    gc.collect()
    assert open_descriptors() == before


async def test_a_changed_project_is_narrowed_again(house: Lab, root: Path, tmp_path: Path):
    projects = house.runtime.projects
    made = await projects.create("Site", str(root), actor="ann")
    assert projects.narrowed(made.id, ("a",)).root == str(root)
    fill_folder(tmp_path / "other", {"a/x.txt": "other"})
    await projects.change(made.id, {"root": str(tmp_path / "other")}, actor="ann")
    assert projects.narrowed(made.id, ("a",)).root == str(tmp_path / "other")


# What a sub-agent tries that was given `a` alone: tool and arguments.
ATTACKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("read_file", {"path": "b/x.txt"}),
    ("read_file", {"path": "a/../b/x.txt"}),
    ("read_file", {"path": "a/link"}),
    ("read_file", {"path": "a/folder/x.txt"}),
    ("read_file", {"paths": ["a/x.txt", "b/x.txt"]}),
    ("list_dir", {"path": "b"}),
    ("list_dir", {}),
    ("grep", {"pattern": "SECRET"}),
    ("grep", {"pattern": "SECRET", "path": "b"}),
    ("grep", {"pattern": "SECRET", "path": "a", "glob": "../b/*"}),
    ("grep", {"pattern": "SECRET", "path": "a/folder"}),
    ("find_files", {"pattern": "../b/*", "path": "a"}),
    ("find_files", {"pattern": "**/*"}),
    ("write_file", {"path": "b/new.txt", "content": "mine"}),
    ("write_file", {"path": "a/link", "content": "mine"}),
    ("edit_file", {"path": "b/x.txt", "old_string": "SECRET", "new_string": "mine"}),
    ("file_delete", {"path": "b/x.txt"}),
    ("file_mkdir", {"path": "b/new"}),
    ("file_exists", {"path": "b/x.txt"}),
    (
        "patch",
        {
            "patch": "*** Begin Patch\n*** Update File: a/x.txt\n*** Move to: b/moved.txt\n"
            "@@\n-in a\n+in b\n*** End Patch"
        },
    ),
    ("bash", {"command": "cat ../b/x.txt; cat {root}/b/x.txt"}),
    ("bash", {"command": "cat x.txt", "working_dir": "b"}),
    ("bash", {"command": "cat x.txt", "working_dir": "a/folder"}),
    (
        "execute_python",
        {"code": "print(open('{root}/b/x.txt').read())", "sandbox_level": "lenient"},
    ),
)


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is made of what only Linux has")
@pytest.mark.parametrize(("tool", "given"), ATTACKS)
async def test_a_sub_agent_that_was_given_one_folder_reaches_no_other_by_any_tool(
    house: Lab, root: Path, tool: str, given: dict[str, Any]
):
    (root / "a/link").symlink_to("../b/x.txt")
    (root / "a/folder").symlink_to("../b")
    filled: dict[str, Any] = {
        key: value.replace("{root}", str(root)) if isinstance(value, str) else value
        for key, value in given.items()
    }
    outcome = await by_subagent(house, tool, **filled)

    assert outcome.result.code != "tool_not_found"
    assert SECRET not in everything(outcome)
    assert (root / "b/x.txt").read_text() == SECRET
    assert [child.name for child in (root / "b").iterdir()] == ["x.txt"]
    assert (root / "a/x.txt").read_text() == "in a\n"


async def test_what_the_agent_itself_has_read_is_not_served_to_its_sub_agent(
    house: Lab, root: Path
):
    first = await house.call("read_file", path="b/x.txt")
    again = await house.call("read_file", "c2", path="b/x.txt")
    stolen = await by_subagent(house, "read_file", path="b/x.txt")

    assert (first.cached, again.cached) == (False, True)
    assert stolen.status == "error"
    assert SECRET not in everything(stolen)


async def test_a_sub_agent_works_in_its_folders_as_everybody_does(house: Lab, root: Path):
    reported = await by_subagent(house, "read_file", roots=("a", "c/d"), path="c/d/z.txt")
    written = await by_subagent(house, "write_file", path="a/new.txt", content="new")
    assert (reported.status, written.status) == ("success", "success")
    assert (root / "a/new.txt").read_text() == "new"


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is made of what only Linux has")
async def test_a_sub_agent_has_a_shell_of_its_own_which_starts_in_its_first_folder(
    house: Lab, root: Path
):
    await house.call("bash", command="cd b; export KEY=parents", keep_state=True)
    first = await by_subagent(
        house, "bash", command="pwd; echo $KEY; export KEY=mine", keep_state=True
    )
    second = await by_subagent(house, "bash", command="echo $KEY", keep_state=True)
    left = await by_subagent(house, "bash", command="cd ../b", keep_state=True)
    lost = await by_subagent(house, "bash", command="cat x.txt", keep_state=True)
    back = await by_subagent(house, "bash", command="pwd", keep_state=True)
    parents = await house.call("bash", "c2", command="pwd; echo $KEY", keep_state=True)

    def output(outcome: CallOutcome) -> list[str]:
        return str(outcome.result.data["stdout"]).split()

    assert output(first) == [str(root / "a")]
    assert output(second) == ["mine"]
    assert left.status == "success"
    assert lost.status == "error"
    assert SECRET not in everything(lost)
    assert output(back) == [str(root / "a")]
    assert output(parents) == [str(root / "b"), "parents"]


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is made of what only Linux has")
async def test_a_sub_agent_finds_no_process_but_its_own(house: Lab, root: Path):
    started = await house.call("bash", command="cat", background=True)
    parents = started.result.data["process_id"]
    own = await by_subagent(house, "bash", command="cat", background=True)
    mine = own.result.data["process_id"]

    typed = await by_subagent(house, "process", action="kill", process_id=parents)
    listed = await by_subagent(house, "process", action="list")
    others = await by_subagent(house, "process", task="task_2", action="list")
    all_of_it = await house.call("process", "c2", action="list")

    assert (typed.status, typed.result.code) == ("error", "process_not_found")
    assert [row["process_id"] for row in listed.result.data["processes"]] == [mine]
    assert others.result.data["processes"] == []
    assert [row["process_id"] for row in all_of_it.result.data["processes"]] == [parents, mine]
